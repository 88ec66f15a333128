/* SPDX-License-Identifier: Apache-2.0 */
/* Whether, and when, a failed attempt is followed by another.
 *
 * Back-off is exponential with full jitter, and bounded by the rival's
 * remaining lease: a dead holder is followed as soon as its lease ends. A
 * split vote leaves the lock free: even a try goes on until an owner has it,
 * otherwise five cron jobs that start together would all stand back.
 * Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015). */
#ifndef HF_CORE_RETRY_H
#define HF_CORE_RETRY_H

#include "base/time.h"
#include "core/lease.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_retry {
    struct hf_instant began;
    struct hf_instant until; /* HF_NEVER: waits for ever; began: a try */
    struct hf_span base;     /* of the back-off: the store's */
    struct hf_span cap;
    uint64_t seed;
    uint32_t attempts;
    uint32_t too_slow; /* attempts in a row whose lease was used up */
    bool has_reached;  /* a majority answered once */
    bool is_refused;   /* a majority cannot answer, since `refused_since`: nodes
                          report errors that waiting does not mend */
    struct hf_instant refused_since;
};

enum hf_retry_kind {
    HF_RETRY_AGAIN,     /* another attempt at `at` */
    HF_RETRY_BUSY,      /* it is over: HF_BUSY */
    HF_RETRY_UNREACHED, /* it is over: HF_UNAVAILABLE or a nearer reason */
    HF_RETRY_TOO_SLOW   /* it is over: no lease this short can be had */
};

struct hf_retry_verdict {
    enum hf_retry_kind kind;
    struct hf_instant at;
};

/* wait negative: for ever; 0: a try. `reached`: this client has reached a
 * majority before. `seed`: any random number, for the jitter. */
void hf_retry_init(struct hf_retry *retry, struct hf_instant now,
                   struct hf_span wait, bool reached, struct hf_span base,
                   struct hf_span cap, uint64_t seed);

/* The attempt of `lease` ended with `outcome` (TAKEN, SPLIT, UNREACHED or
 * TOO_SLOW). `refusing`: nodes
 * that reported an error which waiting may not mend (a full disk): a wait
 * without end ends when that has lasted as long as for a store that was never
 * reached. `hopeless`: every node that is missing said definitely no; it ends a
 * try that was UNREACHED. */
struct hf_retry_verdict
hf_retry_after(struct hf_retry *retry, const struct hf_nodes *nodes,
               const struct hf_lease *lease, enum hf_outcome outcome,
               uint16_t refusing, bool hopeless, struct hf_instant now);

/* When an attempt that is under way must be given up, whatever it waits for:
 * the wait is over, or nothing was ever reached for too long. */
struct hf_instant hf_retry_limit(const struct hf_retry *retry);

#endif
