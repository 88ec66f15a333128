/* SPDX-License-Identifier: Apache-2.0 */
/* WHAT A SERVER REMEMBERS
 *
 *   marker    identity         what happened                      verdict
 *   same ids  -                nothing                            votes
 *   other id  -                restarted, or promoted             quarantine
 *   other id  always, always   restarted, nothing can be lost     votes
 *   gone      -                flushed or evicted under us        quarantine
 *   never     up < span        new, or restarted empty            quarantine
 *   never     up longer        first use of an old server         votes
 *   any       up > 1 h + ttl   every lease of before is over      votes
 *
 * The span is max_ttl, and at least 10 s.
 *
 * "Up" is told by the server's wall clock, which may be stepped: it ends a
 * quarantine only with an hour to spare. A marker that is gone although we
 * knew it says nothing of a restart, so uptime does not help there.
 *
 * A quarantine runs on the clock of the client that saw the loss first; the
 * marker carries its end, by the server's clock, to clients that come later.
 * Quarantine alone keeps holders apart (C4); fences need the clock floor of
 * the scripts besides (in the model C1 fails in 10 steps with quarantine
 * alone). */
#include "core/quarantine.h"

#include <string.h>

/* Uptime is believed beyond max_ttl only by this much: wall clocks are stepped
 * by whole hours, seldom by more. */
#define UPTIME_SLACK_MS 3600000

struct hf_span hf_quarantine_span(int64_t max_ttl_ms)
{
    return hf_span_ms(max_ttl_ms > HF_QUARANTINE_MS_MIN ? max_ttl_ms
                                                        : HF_QUARANTINE_MS_MIN);
}

static bool same_id(const char a[HF_SERVER_ID_MAX],
                    const char b[HF_SERVER_ID_MAX])
{
    size_t a_len = strnlen(a, HF_SERVER_ID_MAX);
    return a_len == strnlen(b, HF_SERVER_ID_MAX) && memcmp(a, b, a_len) == 0;
}

static void copy_id(char to[HF_SERVER_ID_MAX],
                    const char from[HF_SERVER_ID_MAX])
{
    memcpy(to, from, HF_SERVER_ID_MAX);
}

/* Promoted in place: a new replid, and the old one kept as replid2. A new
 * replid alone is a server whose first replica was attached. */
static bool is_promoted(const struct hf_identity *identity,
                        const struct hf_marker *marker)
{
    return identity->has_replid2 && !same_id(identity->replid, marker->replid);
}

/* Its memory is whole though it restarted: everything was on disk before it
 * was answered, then and now. */
static bool is_durable(const struct hf_identity *identity,
                       const struct hf_marker *marker)
{
    return marker->fsync_always && identity->knows_fsync &&
           identity->fsync_always && !is_promoted(identity, marker);
}

/* Did the server lose what it knew, as far as identity and marker tell? */
static bool has_lost(const struct hf_identity *identity,
                     const struct hf_marker *marker,
                     const struct hf_acquaintance *known, int64_t span_ms)
{
    if (!marker->exists) {
        return known->has_met || identity->uptime_ms < span_ms;
    }
    if (same_id(identity->run_id, marker->run_id)) {
        return is_promoted(identity, marker);
    }
    return !is_durable(identity, marker);
}

/* All that it may have lost is over, by a margin for stepped clocks. */
static bool
is_long_over(const struct hf_identity *identity, const struct hf_marker *marker,
             const struct hf_acquaintance *known, int64_t max_ttl_ms)
{
    bool is_flushed = !marker->exists && known->has_met;
    bool is_promotion =
        marker->exists && same_id(identity->run_id, marker->run_id);
    return !is_flushed && !is_promotion &&
           identity->uptime_ms > max_ttl_ms + UPTIME_SLACK_MS;
}

/* End of a quarantine that is under way already; HF_LONG_AGO if none. */
static struct hf_instant until_of(const struct hf_identity *identity,
                                  const struct hf_marker *marker,
                                  const struct hf_acquaintance *known,
                                  struct hf_span span, struct hf_instant now)
{
    if (!marker->exists) {
        return HF_LONG_AGO;
    }
    if (known->has_met && same_id(known->value, marker->value)) {
        return known->until; /* our own clock is better than the server's */
    }
    int64_t left_ms = marker->until_ms - identity->time_ms;
    if (marker->until_ms == 0 || left_ms <= 0) {
        return HF_LONG_AGO;
    }
    return hf_instant_add(now, hf_span_min(hf_span_ms(left_ms), span));
}

/* The marker as it is to be; `value` stays empty if others must notice. */
static void renew_marker(const struct hf_identity *identity,
                         const struct hf_marker *old, int64_t max_ttl_ms,
                         int64_t nodes, struct hf_marker *out)
{
    memset(out, 0, sizeof(*out));
    out->exists = true;
    copy_id(out->run_id, identity->run_id);
    copy_id(out->replid, identity->replid);
    out->until_ms = old->exists ? old->until_ms : 0;
    out->max_ttl_ms = max_ttl_ms;
    out->nodes = nodes;
    out->fsync_always = identity->knows_fsync && identity->fsync_always;
}

static bool is_stale(const struct hf_marker *old, const struct hf_marker *fresh)
{
    return !old->exists || !same_id(old->run_id, fresh->run_id) ||
           !same_id(old->replid, fresh->replid) ||
           old->fsync_always != fresh->fsync_always;
}

void hf_quarantine_judge(const struct hf_identity *identity,
                         const struct hf_marker *marker,
                         const struct hf_acquaintance *known,
                         int64_t max_ttl_ms, int64_t nodes, bool strict,
                         struct hf_instant now, struct hf_judgement *out)
{
    memset(out, 0, sizeof(*out));
    out->trust = HF_TRUST_MISMATCH;
    out->until = HF_LONG_AGO;
    if (marker->exists &&
        (marker->max_ttl_ms != max_ttl_ms || marker->nodes != nodes)) {
        return;
    }

    struct hf_span span = hf_quarantine_span(max_ttl_ms);
    bool lost = has_lost(identity, marker, known, span.ns / 1000000);
    bool needs_time =
        lost && !is_long_over(identity, marker, known, max_ttl_ms);
    struct hf_instant until = until_of(identity, marker, known, span, now);
    renew_marker(identity, marker, max_ttl_ms, nodes, &out->marker);
    out->write = is_stale(marker, &out->marker);
    if (needs_time) {
        int64_t until_ms = identity->time_ms + span.ns / 1000000;
        until = hf_instant_max(until, hf_instant_add(now, span));
        if (out->marker.until_ms < until_ms) {
            out->marker.until_ms = until_ms;
        }
    }
    if (marker->exists && !lost) {
        copy_id(out->marker.value, marker->value);
    }
    /* Whom we meet for the first time has nothing of ours to forget. Not lost,
     * and met before: so there is a marker. */
    out->forgot =
        known->has_met && (lost || !same_id(known->value, marker->value));
    out->until = until;
    out->trust = strict && hf_instant_before(now, until) ? HF_TRUST_QUARANTINE
                                                         : HF_TRUST_VOTES;
}
