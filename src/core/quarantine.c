/* SPDX-License-Identifier: Apache-2.0 */
/* WHETHER A SERVER'S GRANTS COUNT
 *
 *   marker         server's identity   cause                       ruling
 *   whole          as in the marker    no change                   votes
 *   whole          other, durable      restarted with all data     votes
 *   not whole      same, or durable    being watched               quarantine
 *   not whole      same, or durable    watched for a span          votes
 *   any            other               restarted, or promoted      quarantine
 *   of another     any                 two databases of the       quarantine
 *   database                           server were exchanged
 *   none           any                 new, restarted, emptied     quarantine
 *
 * The operator may declare that a server has all locks, or has not: that writes
 * a marker with the present identity, which is whole or is not.
 *
 * The span is max_ttl, and at least 10 s.
 *
 * WATCHING. A marker that proves nothing is replaced by one with a fresh
 * value, the present identity, and "not whole". Scripts that grant compare the
 * value. So only grants from before that write can have been lost, and their
 * leases expire within a span after it. A client reads its clock after it has
 * seen the new value at the server. That instant is later than the write, so a
 * span after it every lost lease has expired. The client keeps the instant in
 * memory, and its host keeps it as an entry in the marker, under the identity
 * of the host's clock, so that short-lived commands can continue each other's
 * watch. A client that finds a full span sets "whole" for all clients.
 *
 * An entry is never written together with a fresh value: its instant would be
 * earlier than that write, and a lost lease might outlive the span. A second
 * write adds it, after the value was read from the server, or its write was
 * confirmed. If the server loses its data in between, the value is gone, and
 * the script, which compares it, writes nothing, however late it arrives.
 *
 * While the value stays the same, entries are added and "whole" is set; neither
 * is removed. A restart with all data, and the first replica of a server (a new
 * replid without replid2), keep the value, since nothing was lost.
 *
 * Uptime and wall clocks prove nothing: a replica may be up for weeks before it
 * is promoted, and a host may boot with a wrong clock that is corrected later.
 *
 * Quarantine is enough for exclusion (C4). Unique fences (C1) also need the
 * clock floor of the scripts: with quarantine alone C1 fails in the model in 10
 * steps.
 *
 * Cost: none; nothing is sent from here. The node has no vote for a span. */
#include "core/quarantine.h"

#include "base/assert.h"

#include <string.h>

struct hf_span hf_quarantine_span(int64_t max_ttl_ms)
{
    HF_ASSERT(max_ttl_ms > 0);
    return hf_span_ms(max_ttl_ms > HF_QUARANTINE_MS_MIN ? max_ttl_ms
                                                        : HF_QUARANTINE_MS_MIN);
}

static bool same_id(const char a[HF_SERVER_ID_MAX],
                    const char b[HF_SERVER_ID_MAX])
{
    size_t a_len = strnlen(a, HF_SERVER_ID_MAX);
    HF_ASSERT(a_len <= HF_SERVER_ID_MAX); /* so both are read within bounds */
    return a_len == strnlen(b, HF_SERVER_ID_MAX) && memcmp(a, b, a_len) == 0;
}

static void copy_id(char to[HF_SERVER_ID_MAX],
                    const char from[HF_SERVER_ID_MAX])
{
    memcpy(to, from, HF_SERVER_ID_MAX);
}

/* True if the server was promoted: it has a new replid, and the old one as
 * replid2. A new replid alone means that its first replica was attached. */
static bool is_promoted(const struct hf_identity *identity,
                        const struct hf_marker *marker)
{
    HF_ASSERT(marker->exists);
    return identity->has_replid2 && !same_id(identity->replid, marker->replid);
}

/* A server without a run id (quarantine=off without the right to INFO) always
 * matches its marker. */
static bool is_named(const struct hf_identity *identity,
                     const struct hf_marker *marker)
{
    HF_ASSERT(marker->exists);
    return identity->run_id[0] == '\0' ||
           (same_id(identity->run_id, marker->run_id) &&
            !is_promoted(identity, marker));
}

/* False if the data of two databases of the server were exchanged. */
static bool is_in_database(const struct hf_identity *identity,
                           const struct hf_marker *marker)
{
    return marker->database == 0 || identity->database == 0 ||
           marker->database == identity->database;
}

/* True if the server restarted with all its data: every write was on disk
 * before its reply, when the marker was written and now. False if this client
 * knows a later run id than the marker's: then the marker is an old copy, and
 * later data was lost. */
static bool is_durable(const struct hf_identity *identity,
                       const struct hf_marker *marker,
                       const struct hf_known_server *known)
{
    HF_ASSERT(marker->exists);
    bool is_latest = !known->has_met || same_id(known->run_id, marker->run_id);
    return marker->is_durable && identity->knows_durability &&
           identity->is_durable && !is_promoted(identity, marker) && is_latest;
}

static bool is_other_shape(const struct hf_shape *marked,
                           const struct hf_shape *ours)
{
    HF_ASSERT(ours->max_ttl_ms > 0 && ours->nodes > 0);
    bool is_old = marked->fence_keep_ms == 0;
    return marked->max_ttl_ms != ours->max_ttl_ms ||
           marked->nodes != ours->nodes ||
           marked->fence_base != ours->fence_base ||
           (!is_old && marked->fence_keep_ms != ours->fence_keep_ms);
}

void hf_quarantine_declare(const struct hf_identity *identity,
                           const struct hf_shape *shape, bool is_whole,
                           struct hf_marker *out)
{
    HF_ASSERT(shape->max_ttl_ms > 0 && shape->nodes > 0);
    memset(out, 0, sizeof(*out));
    out->exists = true;
    copy_id(out->run_id, identity->run_id);
    copy_id(out->replid, identity->replid);
    out->database = identity->database;
    out->is_whole = is_whole;
    out->is_durable = identity->knows_durability && identity->is_durable;
    out->shape = *shape;
}

/* Keep the value, and update identity and durability. */
static void renew_marker(const struct hf_identity *identity,
                         const struct hf_marker *old,
                         const struct hf_shape *shape, struct hf_marker *out)
{
    HF_ASSERT(old->exists);
    *out = *old;
    out->shape = *shape;
    out->database =
        identity->database != 0 ? identity->database : old->database;
    if (identity->run_id[0] != '\0') {
        copy_id(out->run_id, identity->run_id);
        copy_id(out->replid, identity->replid);
    }
    if (identity->knows_durability) {
        out->is_durable = identity->is_durable;
    }
}

static bool is_stale(const struct hf_marker *old, const struct hf_marker *fresh)
{
    HF_ASSERT(old->exists && fresh->exists);
    return !same_id(old->run_id, fresh->run_id) ||
           !same_id(old->replid, fresh->replid) ||
           old->database != fresh->database ||
           old->is_durable != fresh->is_durable ||
           old->is_whole != fresh->is_whole ||
           old->has_entry != fresh->has_entry ||
           old->shape.fence_keep_ms != fresh->shape.fence_keep_ms;
}

/* When a process of this host first saw the value. An entry in the future is
 * ignored: the host's clock has restarted since. */
static struct hf_instant watched_since(const struct hf_marker *marker,
                                       struct hf_instant since)
{
    HF_ASSERT(!marker->is_whole);
    return marker->has_entry ? hf_instant_min(marker->entry, since) : since;
}

static void judge_kept(const struct hf_quarantine_input *in,
                       struct hf_quarantine_ruling *out)
{
    const struct hf_marker *marker = in->marker;
    struct hf_span span = hf_quarantine_span(in->shape->max_ttl_ms);
    out->suspicion = HF_SUSPECT_WATCHED;
    if (marker->is_whole) {
        return;
    }
    struct hf_instant until =
        hf_instant_add(watched_since(marker, out->since), span);
    HF_ASSERT(!hf_instant_before(in->now, out->since));
    if (!hf_instant_before(in->now, until)) {
        out->marker.is_whole = true;
        return;
    }
    out->until = until;
    if (in->on_host && !marker->has_entry) {
        out->marker.has_entry = true;
        out->marker.entry = out->since;
    }
}

/* The server has lost its data, or may have: it is watched from now on. */
static void judge_lost(const struct hf_quarantine_input *in,
                       struct hf_quarantine_ruling *out)
{
    const struct hf_known_server *known = in->known;
    bool was_there =
        known->has_met && same_id(known->run_id, in->identity->run_id);
    out->suspicion = in->marker->exists ? HF_SUSPECT_REPLACED
                     : was_there        ? HF_SUSPECT_EMPTIED
                                        : HF_SUSPECT_NO_TRACE;
    out->until =
        hf_instant_add(in->now, hf_quarantine_span(in->shape->max_ttl_ms));
    HF_ASSERT(hf_instant_before(in->now, out->until));
    hf_quarantine_declare(in->identity, in->shape, false, &out->marker);
    out->must_write = true;
}

void hf_quarantine_judge(const struct hf_quarantine_input *in,
                         struct hf_quarantine_ruling *out)
{
    const struct hf_identity *identity = in->identity;
    const struct hf_marker *marker = in->marker;
    const struct hf_known_server *known = in->known;
    memset(out, 0, sizeof(*out));
    out->trust = HF_TRUST_MISMATCH;
    out->since = in->now;
    out->until = HF_LONG_AGO;
    if (marker->exists && is_other_shape(&marker->shape, in->shape)) {
        return;
    }
    bool is_same = known->has_met && marker->exists &&
                   same_id(known->value, marker->value);
    bool is_kept =
        marker->exists && is_in_database(identity, marker) &&
        (is_named(identity, marker) || is_durable(identity, marker, known));
    out->is_reset = known->has_met && (!is_same || !is_kept);
    if (is_kept) {
        out->since = is_same ? hf_instant_min(known->since, in->now) : in->now;
        renew_marker(identity, marker, in->shape, &out->marker);
        judge_kept(in, out);
        out->must_write = is_stale(marker, &out->marker);
    } else {
        judge_lost(in, out);
    }
    HF_ASSERT(out->marker.exists); /* to be written, or as it is */
    out->trust = in->strict && hf_instant_before(in->now, out->until)
                     ? HF_TRUST_QUARANTINE
                     : HF_TRUST_VOTES;
}
