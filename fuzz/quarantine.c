/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of itself, and what its marker says: whatever they are,
 * the verdict keeps the promises of core/quarantine.h. */
#include "fuzz.h"

#include "core/quarantine.h"

#define MS_MAX (INT64_C(1) << 53)

/* Often one of a few, so that ids meet. */
static void read_id(struct fuzz_input *in, char id[HF_SERVER_ID_MAX])
{
    uint8_t what = fuzz_u8(in);
    memset(id, 0, HF_SERVER_ID_MAX);
    memset(id, 'a' + what % 3, what % 5 == 0 ? 0 : 40);
}

/* Around the edges, or anywhere within what a store may pass on. */
static int64_t read_ms(struct fuzz_input *in)
{
    static const int64_t edges[] = {0,       1,       9999,    10000,
                                    60000,   60001,   3660000, 3660001,
                                    3720000, 1 << 30, MS_MAX};
    uint8_t what = fuzz_u8(in);
    return what < 11 ? edges[what]
                     : (int64_t)(fuzz_u64(in) & (uint64_t)(MS_MAX - 1));
}

static bool is_same(const char *a, const char *b)
{
    return memcmp(a, b, HF_SERVER_ID_MAX) == 0;
}

struct scene {
    struct hf_identity identity;
    struct hf_marker marker;
    struct hf_acquaintance known;
    int64_t max_ttl_ms;
    int64_t nodes;
    bool strict;
    struct hf_instant now;
};

static void read_scene(struct fuzz_input *in, struct scene *scene)
{
    uint8_t bits = fuzz_u8(in);
    uint8_t more = fuzz_u8(in);
    memset(scene, 0, sizeof(*scene));
    read_id(in, scene->identity.run_id);
    read_id(in, scene->identity.replid);
    scene->identity.has_replid2 = (bits & 1) != 0;
    scene->identity.knows_fsync = (bits & 2) != 0;
    scene->identity.fsync_always = (bits & 4) != 0;
    scene->identity.uptime_ms = read_ms(in);
    scene->identity.time_ms = read_ms(in);
    scene->marker.exists = (bits & 8) != 0;
    read_id(in, scene->marker.value);
    read_id(in, scene->marker.run_id);
    read_id(in, scene->marker.replid);
    scene->marker.until_ms = read_ms(in);
    scene->marker.fsync_always = (bits & 16) != 0;
    scene->max_ttl_ms = (more & 1) != 0 ? 60000 : 5000;
    scene->nodes = (more & 2) != 0 ? 1 : 5;
    scene->marker.max_ttl_ms = (more & 12) != 0 ? scene->max_ttl_ms : 7;
    scene->marker.nodes = (more & 48) != 0 ? scene->nodes : 3;
    scene->known.has_met = (bits & 32) != 0;
    read_id(in, scene->known.value);
    scene->now.ns = read_ms(in);
    scene->known.until = (bits & 64) != 0
                             ? HF_LONG_AGO
                             : (struct hf_instant){read_ms(in) * 1000};
    scene->strict = (bits & 128) == 0;
}

/* Under the eyes of a client that knew it, or by its own ids, it lost what it
 * knew; and neither disk nor a long life says otherwise. */
static bool has_surely_lost(const struct scene *s)
{
    bool is_gone = !s->marker.exists && s->known.has_met;
    bool is_young =
        !s->marker.exists &&
        s->identity.uptime_ms < (s->max_ttl_ms > HF_QUARANTINE_MS_MIN
                                     ? s->max_ttl_ms
                                     : HF_QUARANTINE_MS_MIN);
    bool was_durable = s->marker.fsync_always && s->identity.fsync_always &&
                       s->identity.knows_fsync;
    bool is_other =
        s->marker.exists && !is_same(s->identity.run_id, s->marker.run_id) &&
        !was_durable && s->identity.uptime_ms <= s->max_ttl_ms + 3600000;
    return is_gone || is_young || is_other;
}

static void check(const struct scene *s, const struct hf_judgement *judgement)
{
    bool is_mismatch =
        s->marker.exists &&
        (s->marker.max_ttl_ms != s->max_ttl_ms || s->marker.nodes != s->nodes);
    FUZZ_CHECK((judgement->trust == HF_TRUST_MISMATCH) == is_mismatch);
    if (is_mismatch) {
        FUZZ_CHECK(!judgement->write && !judgement->forgot);
        return;
    }
    struct hf_span span = hf_quarantine_span(s->max_ttl_ms);
    FUZZ_CHECK(span.ns >= HF_QUARANTINE_MS_MIN * INT64_C(1000000));
    if (judgement->trust == HF_TRUST_QUARANTINE) {
        FUZZ_CHECK(s->strict && hf_instant_before(s->now, judgement->until));
    }
    FUZZ_CHECK(!judgement->forgot || s->known.has_met);
    if (has_surely_lost(s)) {
        FUZZ_CHECK(judgement->forgot == s->known.has_met);
        FUZZ_CHECK(!s->strict || judgement->trust == HF_TRUST_QUARANTINE);
        /* not shorter than any lease that it may have forgotten */
        FUZZ_CHECK(
            !hf_instant_before(judgement->until, hf_instant_add(s->now, span)));
        FUZZ_CHECK(judgement->write);
        FUZZ_CHECK(judgement->marker.until_ms >=
                   s->identity.time_ms + span.ns / 1000000);
    }
    if (!s->marker.exists) {
        FUZZ_CHECK(judgement->write && judgement->marker.value[0] == '\0');
    }
    if (judgement->write) {
        FUZZ_CHECK(judgement->marker.exists);
        FUZZ_CHECK(is_same(judgement->marker.run_id, s->identity.run_id));
        FUZZ_CHECK(judgement->marker.nodes == s->nodes &&
                   judgement->marker.max_ttl_ms == s->max_ttl_ms);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct scene scene;
    struct hf_judgement judgement;
    read_scene(&in, &scene);
    hf_quarantine_judge(&scene.identity, &scene.marker, &scene.known,
                        scene.max_ttl_ms, scene.nodes, scene.strict, scene.now,
                        &judgement);
    check(&scene, &judgement);
    return 0;
}
