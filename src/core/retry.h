/* SPDX-License-Identifier: Apache-2.0 */
/* Whether and when a failed attempt is retried.
 *
 * Back-off is exponential with full jitter, and bounded by the rival's
 * remaining lease, so that a retry follows the expiry of a dead holder's lease
 * at once. After a split vote no owner holds the lock: even a try without
 * waiting is retried, otherwise five cron jobs that start together might all
 * fail.
 * Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015). */
#ifndef HF_CORE_RETRY_H
#define HF_CORE_RETRY_H

#include "base/time.h"
#include "core/lease.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_retry {
    struct hf_instant began;
    struct hf_instant until; /* HF_NEVER: no timeout; began: a try */
    struct hf_span base;     /* of the back-off: the store's */
    struct hf_span cap;
    uint64_t seed;
    uint32_t attempts;
    uint32_t too_slow; /* consecutive attempts that ended in TOO_SLOW */
    bool has_reached;  /* a majority has replied before */
    bool is_refused;   /* since `refused_since` nodes reply with errors that a
                          retry does not resolve, and there is no majority
                          without them */
    struct hf_instant refused_since;
};

/* How the running attempt has gone. */
struct hf_retry_event {
    enum hf_outcome outcome; /* QUEUED: it waits; TAKEN, SPLIT, UNREACHED,
                                TOO_SLOW: it has failed */
    uint16_t refusing; /* nodes that replied with an error which a retry may not
                          resolve (a full disk): even a wait without a timeout
                          fails when that has lasted as long as the limit for a
                          store that was never reached */
    bool is_hopeless;  /* every missing node has a permanent error: a try that
                          was UNREACHED ends */
    struct hf_instant now;
};

enum hf_retry_decision {
    HF_RETRY_WAIT,      /* it is queued: cancel it at `at` */
    HF_RETRY_AGAIN,     /* it failed: begin another attempt at `at` */
    HF_RETRY_BUSY,      /* fail with HF_BUSY */
    HF_RETRY_UNREACHED, /* fail with HF_UNAVAILABLE or a more precise error */
    HF_RETRY_TOO_SLOW   /* fail: round trips use up a lease this short */
};

/* What the caller has to do next. `at` is set for WAIT and AGAIN. */
struct hf_retry_next {
    enum hf_retry_decision decision;
    struct hf_instant at;
};

/* `wait`: HF_SPAN_MAX: no timeout; 0: a try. `has_reached`: this client has
 * reached a majority before. `seed`: any random number, for the jitter. */
void hf_retry_init(struct hf_retry *retry, struct hf_instant now,
                   struct hf_span wait, bool has_reached, struct hf_span base,
                   struct hf_span cap, uint64_t seed);

/* The only way to change a wait: the attempt of `lease` is queued, or failed.
 *
 * Queued takes replies of a majority: from now on it waits, also through
 * outages, until the wait is over, and hf_retry_limit() may be later than
 * before. A try has no place in a queue. */
struct hf_retry_next
hf_retry_step(struct hf_retry *retry, const struct hf_nodes *nodes,
              const struct hf_lease *lease, const struct hf_retry_event *event);

/* When a running attempt must be cancelled: its wait has timed out, or the
 * store was never reached for too long. */
struct hf_instant hf_retry_limit(const struct hf_retry *retry);

#endif
