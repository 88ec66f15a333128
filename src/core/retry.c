/* SPDX-License-Identifier: Apache-2.0 */
/* WHEN A FAILED ATTEMPT IS MADE AGAIN
 *
 *   the attempt ended   the next one begins after
 *   TAKEN               top/2 .. top, but at most one base after the end of the
 *                       rival's lease
 *   anything else       0 .. top
 *
 *   top = base, 2 base, 4 base … cap; each span is drawn from the whole range,
 *   by the seed and the number of the attempt alone
 *
 * A wait ends at its timeout; a try when the name is taken, or when no missing
 * node can reply (`is_hopeless`), at the latest after TRY_LIMIT_MS. Both end
 * after TOO_SLOW_MAX attempts that were TOO_SLOW, and a wait without a timeout
 * if no majority has replied for NEVER_REACHED_LIMIT_MS.
 *
 * Why it is safe: each attempt has an owner of its own, so a late grant to an
 * earlier attempt is no vote for this one, and its RELEASE frees nothing else.
 * Why it ends: clients that split the votes would do so for ever if they came
 * back together. The random part is the whole range, so they drift apart in a
 * few attempts.
 *
 * Cost: one round trip for an attempt that fails, and its RELEASE, for which
 * the caller does not wait. A wait of W sends about log2(cap / base) attempts
 * at first, and then one in 3/4 cap (TAKEN), or in 1/2 cap. With a queue a
 * waiter does not retry at all: lease_wait.c. */
#include "core/retry.h"

#include "base/assert.h"

/* A try returns within a second: 100 ms are left for the caller. It lasts that
 * long only if no rival has a majority. */
#define TRY_LIMIT_MS 900

/* If a store was never reached in this time, the call fails: a wait without a
 * timeout would hide a wrong URL. 200 ms are left for the caller, so that the
 * error is reported within 5 s. */
#define NEVER_REACHED_LIMIT_MS 4800

/* Consecutive TOO_SLOW attempts after which the call fails. Three: one may have
 * met a pause of this process or of a server; three in a row show that the
 * lease is too short for this network. */
#define TOO_SLOW_MAX 3

void hf_retry_init(struct hf_retry *retry, struct hf_instant now,
                   struct hf_span wait, bool has_reached, struct hf_span base,
                   struct hf_span cap, uint64_t seed)
{
    HF_ASSERT(base.ns > 0 && cap.ns >= base.ns);
    HF_ASSERT(wait.ns >= 0);
    *retry = (struct hf_retry){
        .began = now,
        .until = hf_instant_add(now, wait),
        .base = base,
        .cap = cap,
        .seed = seed,
        .has_reached = has_reached,
    };
}

static bool is_try(const struct hf_retry *retry)
{
    HF_ASSERT(!hf_instant_before(retry->until, retry->began));
    return retry->until.ns == retry->began.ns;
}

struct hf_instant hf_retry_limit(const struct hf_retry *retry)
{
    HF_ASSERT(retry->base.ns > 0);
    if (is_try(retry)) {
        return hf_instant_add(retry->began, hf_span_ms(TRY_LIMIT_MS));
    }
    if (hf_instant_is_never(retry->until) && retry->is_refused) {
        return hf_instant_add(retry->refused_since,
                              hf_span_ms(NEVER_REACHED_LIMIT_MS));
    }
    if (hf_instant_is_never(retry->until) && !retry->has_reached) {
        return hf_instant_add(retry->began, hf_span_ms(NEVER_REACHED_LIMIT_MS));
    }
    return retry->until;
}

/* splitmix64: each draw depends on seed and number of the attempt alone.
 * Source: Steele, Lea, Flood, "Fast Splittable PRNGs" (OOPSLA 2014). */
static uint64_t draw(const struct hf_retry *retry)
{
    HF_ASSERT(retry->attempts > 0);
    uint64_t z =
        retry->seed + (uint64_t)retry->attempts * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* base, 2 base, 4 base … cap. */
static struct hf_span ceiling(const struct hf_retry *retry)
{
    HF_ASSERT(retry->base.ns > 0);
    struct hf_span span = retry->base;
    for (uint32_t i = 1; i < retry->attempts && span.ns < retry->cap.ns; i++) {
        span = hf_span_scale(span, 2);
    }
    return hf_span_min(span, retry->cap);
}

/* Full jitter. If a rival holds the lock: at least half, and at most one base
 * after its lease expires, so that a dead holder delays us no longer. */
static struct hf_instant
next_attempt(const struct hf_retry *retry, enum hf_outcome outcome,
             const struct hf_lease *lease, struct hf_instant now)
{
    HF_ASSERT(retry->attempts > 0);
    struct hf_span top = ceiling(retry);
    uint64_t random = draw(retry);
    if (outcome != HF_OUT_TAKEN) {
        return hf_instant_add(now, hf_span_draw(top, random));
    }
    struct hf_span half = hf_span_div(top, 2);
    struct hf_span pause = hf_span_add(half, hf_span_draw(half, random));
    struct hf_instant free_at = hf_instant_add(now, hf_lease_rival_left(lease));
    if (hf_instant_before(free_at, hf_instant_add(now, pause))) {
        return hf_instant_add(free_at, hf_span_draw(retry->base, random));
    }
    return hf_instant_add(now, pause);
}

static unsigned reachable(const struct hf_nodes *nodes, uint16_t refusing)
{
    HF_ASSERT(nodes->quorum > 0);
    unsigned there = (unsigned)(nodes->voting | nodes->repairing);
    return (unsigned)__builtin_popcount(there & ~(unsigned)refusing);
}

static void note_reach(struct hf_retry *retry, const struct hf_nodes *nodes,
                       const struct hf_retry_event *event)
{
    HF_ASSERT((event->refusing & ~hf_nodes_all(nodes)) == 0);
    bool can_reach = event->outcome != HF_OUT_UNREACHED ||
                     reachable(nodes, event->refusing) >= nodes->quorum;
    bool is_refused = !can_reach && reachable(nodes, 0) >= nodes->quorum;
    retry->has_reached |= can_reach;
    if (is_refused && !retry->is_refused) {
        retry->refused_since = event->now;
    }
    retry->is_refused = is_refused;
}

static struct hf_retry_next on_queued(struct hf_retry *retry)
{
    HF_ASSERT(!is_try(retry));
    retry->has_reached = true;
    retry->is_refused = false;
    return (struct hf_retry_next){HF_RETRY_WAIT, hf_retry_limit(retry)};
}

static enum hf_retry_decision end_decision(enum hf_outcome outcome)
{
    HF_ASSERT(outcome >= HF_OUT_TAKEN);
    if (outcome == HF_OUT_UNREACHED) {
        return HF_RETRY_UNREACHED;
    }
    return outcome == HF_OUT_TOO_SLOW ? HF_RETRY_TOO_SLOW : HF_RETRY_BUSY;
}

/* Whether the attempt that has just failed was the last one. */
static bool is_over(const struct hf_retry *retry,
                    const struct hf_retry_event *event, struct hf_instant last)
{
    HF_ASSERT(retry->attempts > 0);
    /* After a split vote every node may have replied: none is missing then. */
    bool is_out = event->is_hopeless && event->outcome == HF_OUT_UNREACHED;
    if (is_try(retry) && (event->outcome == HF_OUT_TAKEN || is_out)) {
        return true;
    }
    return retry->too_slow >= TOO_SLOW_MAX ||
           !hf_instant_before(event->now, last);
}

static struct hf_retry_next
on_failed(struct hf_retry *retry, const struct hf_nodes *nodes,
          const struct hf_lease *lease, const struct hf_retry_event *event)
{
    enum hf_outcome outcome = event->outcome;
    HF_ASSERT(outcome >= HF_OUT_TAKEN && outcome <= HF_OUT_TOO_SLOW);
    retry->attempts++;
    retry->too_slow = outcome == HF_OUT_TOO_SLOW ? retry->too_slow + 1 : 0;
    note_reach(retry, nodes, event);
    /* The last attempt is made just before the end, not a pause earlier. */
    struct hf_instant last = hf_instant_sub(hf_retry_limit(retry), retry->base);
    if (is_over(retry, event, last)) {
        return (struct hf_retry_next){end_decision(outcome), event->now};
    }
    struct hf_instant at =
        hf_instant_min(next_attempt(retry, outcome, lease, event->now), last);
    HF_ASSERT(!hf_instant_before(at, event->now));
    return (struct hf_retry_next){HF_RETRY_AGAIN, at};
}

struct hf_retry_next
hf_retry_step(struct hf_retry *retry, const struct hf_nodes *nodes,
              const struct hf_lease *lease, const struct hf_retry_event *event)
{
    HF_ASSERT(event->outcome >= HF_OUT_QUEUED &&
              event->outcome <= HF_OUT_TOO_SLOW);
    return event->outcome == HF_OUT_QUEUED
               ? on_queued(retry)
               : on_failed(retry, nodes, lease, event);
}
