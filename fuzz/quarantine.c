/* SPDX-License-Identifier: Apache-2.0 */
/* The identity that a server reports, and its marker: for all values the
 * verdict keeps the promises of core/quarantine.h. */
#include "fuzz.h"

#include "core/quarantine.h"

#define MS_MAX (INT64_C(1) << 53)

/* Often one of a few values, so that ids are equal. */
static void read_id(struct fuzz_input *in, char id[HF_SERVER_ID_MAX])
{
    uint8_t what = fuzz_u8(in);
    memset(id, 0, HF_SERVER_ID_MAX);
    memset(id, 'a' + what % 3, what % 5 == 0 ? 0 : 40);
}

/* Near the bounds, or any value that a store may pass on. */
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
    struct hf_known_server known;
    struct hf_shape shape;
    bool strict;
    bool on_host;
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
    scene->identity.knows_durability = (bits & 2) != 0;
    scene->identity.is_durable = (bits & 4) != 0;
    scene->marker.exists = (bits & 8) != 0;
    read_id(in, scene->marker.value);
    read_id(in, scene->marker.run_id);
    read_id(in, scene->marker.replid);
    scene->marker.is_durable = (bits & 16) != 0;
    scene->marker.is_whole = (bits & 64) != 0;
    scene->marker.has_entry = (more & 64) != 0;
    scene->marker.entry = (struct hf_instant){read_ms(in) * 1000};
    scene->shape = (struct hf_shape){(more & 1) != 0 ? 60000 : 5000,
                                     (more & 2) != 0 ? 1 : 5, 3600000,
                                     (more & 128) != 0 ? 9 : 0};
    scene->marker.shape = scene->shape;
    if ((more & 12) == 0) {
        scene->marker.shape.max_ttl_ms = 7;
    }
    if ((more & 48) == 0) {
        scene->marker.shape.nodes = 3;
    }
    if ((more & 60) == 60) {
        scene->marker.shape.fence_keep_ms = read_ms(in);
    }
    if ((more & 56) == 8) {
        scene->marker.shape.fence_base = read_ms(in);
    }
    scene->known.has_met = (bits & 32) != 0;
    read_id(in, scene->known.value);
    read_id(in, scene->known.run_id);
    scene->now.ns = read_ms(in) * 1000;
    scene->known.since = (struct hf_instant){read_ms(in) * 1000};
    scene->strict = (bits & 128) == 0;
    scene->on_host = (more & 128) != 0;
    scene->identity.database = fuzz_u8(in) % 4;
    scene->marker.database = fuzz_u8(in) % 4;
}

static bool is_mismatch(const struct scene *s)
{
    const struct hf_shape *its = &s->marker.shape;
    return s->marker.exists && (its->max_ttl_ms != s->shape.max_ttl_ms ||
                                its->nodes != s->shape.nodes ||
                                its->fence_base != s->shape.fence_base ||
                                (its->fence_keep_ms != 0 &&
                                 its->fence_keep_ms != s->shape.fence_keep_ms));
}

static bool is_exchanged(const struct scene *s)
{
    return s->identity.database != 0 && s->marker.database != 0 &&
           s->identity.database != s->marker.database;
}

/* Sometimes the marker is this server's: its ids, durable before and now. */
static bool may_be_kept(const struct scene *s)
{
    bool is_promoted = s->identity.has_replid2 &&
                       !is_same(s->identity.replid, s->marker.replid);
    bool is_named = is_same(s->identity.run_id, s->marker.run_id);
    bool is_durable = s->marker.is_durable && s->identity.knows_durability &&
                      s->identity.is_durable;
    bool is_anonymous = s->identity.run_id[0] == '\0';
    return s->marker.exists && !is_exchanged(s) &&
           (is_anonymous || (!is_promoted && (is_named || is_durable)));
}

/* Whether a client or a host has watched this value for the full time. */
static bool was_watched(const struct scene *s)
{
    struct hf_span span = hf_quarantine_span(s->shape.max_ttl_ms);
    bool has_seen =
        s->known.has_met && is_same(s->known.value, s->marker.value);
    return (s->marker.has_entry &&
            !hf_instant_before(s->now,
                               hf_instant_add(s->marker.entry, span))) ||
           (has_seen &&
            !hf_instant_before(s->now, hf_instant_add(s->known.since, span)));
}

static void check_write(const struct scene *s, const struct hf_marker *out)
{
    bool is_fresh = out->value[0] == '\0';
    FUZZ_CHECK(out->exists);
    FUZZ_CHECK(s->identity.run_id[0] == '\0' ||
               is_same(out->run_id, s->identity.run_id));
    FUZZ_CHECK(memcmp(&out->shape, &s->shape, sizeof(s->shape)) == 0);
    if (!may_be_kept(s)) {
        FUZZ_CHECK(is_fresh && !out->is_whole && !out->has_entry);
    } else if (!is_fresh) { /* entries are added and "whole" is set; neither is
                               undone */
        FUZZ_CHECK(is_same(out->value, s->marker.value));
        FUZZ_CHECK(out->is_whole || !s->marker.is_whole);
        FUZZ_CHECK(!out->is_whole || s->marker.is_whole || was_watched(s));
        FUZZ_CHECK(out->has_entry || !s->marker.has_entry);
        FUZZ_CHECK(!out->has_entry || s->marker.has_entry || s->on_host);
    }
}

static void check(const struct scene *s,
                  const struct hf_quarantine_ruling *judgement)
{
    FUZZ_CHECK((judgement->trust == HF_TRUST_MISMATCH) == is_mismatch(s));
    if (is_mismatch(s)) {
        FUZZ_CHECK(!judgement->must_write && !judgement->is_reset);
        return;
    }
    struct hf_span span = hf_quarantine_span(s->shape.max_ttl_ms);
    FUZZ_CHECK(span.ns >= HF_QUARANTINE_MS_MIN * INT64_C(1000000));
    bool may_vote = may_be_kept(s) && (s->marker.is_whole || was_watched(s));
    if (s->strict && judgement->trust == HF_TRUST_VOTES) {
        FUZZ_CHECK(may_vote);
    }
    if (judgement->trust == HF_TRUST_QUARANTINE) {
        FUZZ_CHECK(s->strict && hf_instant_before(s->now, judgement->until));
        FUZZ_CHECK(
            !hf_instant_before(hf_instant_add(s->now, span), judgement->until));
    }
    FUZZ_CHECK(!judgement->is_reset || s->known.has_met);
    FUZZ_CHECK(!hf_instant_before(s->now, judgement->since) ||
               is_same(s->known.value, s->marker.value));
    if (!may_be_kept(s)) {
        FUZZ_CHECK(judgement->is_reset == s->known.has_met);
        FUZZ_CHECK(judgement->must_write);
    }
    if (judgement->must_write) {
        check_write(s, &judgement->marker);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct scene scene;
    struct hf_quarantine_ruling judgement;
    read_scene(&in, &scene);
    hf_quarantine_judge(
        &(struct hf_quarantine_input){
            .identity = &scene.identity,
            .marker = &scene.marker,
            .known = &scene.known,
            .shape = &scene.shape,
            .strict = scene.strict,
            .on_host = scene.on_host,
            .now = scene.now,
        },
        &judgement);
    check(&scene, &judgement);
    return 0;
}
