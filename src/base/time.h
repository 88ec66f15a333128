/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Instants and spans are different types, so that the compiler finds
 * mistakes. All arithmetic on them is here and saturates, since a node may
 * reply any span; elsewhere `ns` is only read, to compare it or to
 * pass it to the kernel or a file (scripts/checks/spans), where an instant is a
 * plain number: store/local/record.c. An instant is a
 * reading of CLOCK_BOOTTIME (io/clock.h); the folders below io/ read no clock.
 *
 * HF_NEVER and HF_LONG_AGO are instants, not flags beside one: a timer that is
 * not set is the minimum's neutral element, and a lease that never was ended
 * before all others, so no comparison needs a second case. */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

/* A point in time: a reading of CLOCK_BOOTTIME, HF_NEVER or HF_LONG_AGO. */
struct hf_instant {
    int64_t ns;
};

/* A length of time; negative: backwards. */
struct hf_span {
    int64_t ns;
};

/* Longer than every span: also a wait without a limit, which ends at HF_NEVER,
 * and the lease of a key without expiry. */
#define HF_SPAN_MAX ((struct hf_span){INT64_MAX})

/* Later than every reading of the clock. */
#define HF_NEVER ((struct hf_instant){INT64_MAX})

/* Earlier than every reading of the clock. */
#define HF_LONG_AGO ((struct hf_instant){INT64_MIN})

/* Whether it is HF_NEVER: a timer that is not set, or no limit. */
static inline bool hf_instant_is_never(struct hf_instant at)
{
    return at.ns == INT64_MAX;
}

/* `by` times the span. */
static inline struct hf_span hf_span_scale(struct hf_span span, int64_t by)
{
    struct hf_span product;
    if (__builtin_mul_overflow(span.ns, by, &product.ns)) {
        product.ns = (span.ns < 0) == (by < 0) ? INT64_MAX : INT64_MIN;
    }
    return product;
}

/* Rounded towards 0. `by` is positive. */
static inline struct hf_span hf_span_div(struct hf_span span, int64_t by)
{
    HF_ASSERT(by > 0);
    return (struct hf_span){span.ns / by};
}

/* A span of so many milliseconds. */
static inline struct hf_span hf_span_ms(int64_t ms)
{
    return hf_span_scale((struct hf_span){1000000}, ms);
}

/* Outside of core a negative number of milliseconds means without a limit. */
static inline struct hf_span hf_span_ms_or_max(int64_t ms)
{
    return ms < 0 ? HF_SPAN_MAX : hf_span_ms(ms);
}

/* A span of so many microseconds. */
static inline struct hf_span hf_span_us(int64_t us)
{
    return hf_span_scale((struct hf_span){1000}, us);
}

/* Rounded up: a wait of 0.2 ms must not become a busy loop of 0 ms. */
static inline int64_t hf_span_ms_ceil(struct hf_span span)
{
    return span.ns <= 0 ? 0 : (span.ns - 1) / 1000000 + 1;
}

/* Rounded down: a remaining lease must not be overstated. */
static inline int64_t hf_span_ms_floor(struct hf_span span)
{
    return span.ns <= 0 ? 0 : span.ns / 1000000;
}

/* Rounded down, like hf_span_ms_floor(). */
static inline int64_t hf_span_us_floor(struct hf_span span)
{
    return span.ns <= 0 ? 0 : span.ns / 1000;
}

/* a - b: how much longer `a` is. Saturates at both ends. */
static inline struct hf_span hf_span_sub(struct hf_span a, struct hf_span b)
{
    struct hf_span diff;
    if (__builtin_sub_overflow(a.ns, b.ns, &diff.ns)) {
        diff.ns = b.ns > 0 ? INT64_MIN : INT64_MAX;
    }
    return diff;
}

/* a + b. Saturates: too long a sum is HF_SPAN_MAX. */
static inline struct hf_span hf_span_add(struct hf_span a, struct hf_span b)
{
    struct hf_span sum;
    if (__builtin_add_overflow(a.ns, b.ns, &sum.ns)) {
        sum.ns = b.ns > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

/* `by` later. HF_NEVER and HF_LONG_AGO stay what they are. */
static inline struct hf_instant hf_instant_add(struct hf_instant at,
                                               struct hf_span by)
{
    struct hf_instant sum;
    if (at.ns == INT64_MAX || at.ns == INT64_MIN) {
        return at;
    }
    if (__builtin_add_overflow(at.ns, by.ns, &sum.ns)) {
        return by.ns > 0 ? HF_NEVER : HF_LONG_AGO;
    }
    return sum;
}

/* `by` earlier. HF_NEVER and HF_LONG_AGO stay what they are. */
static inline struct hf_instant hf_instant_sub(struct hf_instant at,
                                               struct hf_span by)
{
    return hf_instant_add(at, hf_span_sub((struct hf_span){0}, by));
}

/* The span from `from` to `to`; negative if `to` is earlier. */
static inline struct hf_span hf_instant_until(struct hf_instant from,
                                              struct hf_instant to)
{
    struct hf_span diff;
    if (__builtin_sub_overflow(to.ns, from.ns, &diff.ns)) {
        diff.ns = to.ns > from.ns ? INT64_MAX : INT64_MIN;
    }
    return diff;
}

/* Whether `a` is earlier. "Due" is its contrary: !hf_instant_before(now, at).
 */
static inline bool hf_instant_before(struct hf_instant a, struct hf_instant b)
{
    return a.ns < b.ns;
}

/* The earlier of two: of two timers, the next that is due. */
static inline struct hf_instant hf_instant_min(struct hf_instant a,
                                               struct hf_instant b)
{
    return a.ns < b.ns ? a : b;
}

/* The later of two. */
static inline struct hf_instant hf_instant_max(struct hf_instant a,
                                               struct hf_instant b)
{
    return a.ns > b.ns ? a : b;
}

/* The shorter of two. */
static inline struct hf_span hf_span_min(struct hf_span a, struct hf_span b)
{
    return a.ns < b.ns ? a : b;
}

/* The longer of two. */
static inline struct hf_span hf_span_max(struct hf_span a, struct hf_span b)
{
    return a.ns > b.ns ? a : b;
}

/* 0 to `whole`, by a random number. `whole` is not negative. */
static inline struct hf_span hf_span_draw(struct hf_span whole, uint64_t random)
{
    HF_ASSERT(whole.ns >= 0); /* of -1 it would divide by 0 */
    return (struct hf_span){(int64_t)(random % ((uint64_t)whole.ns + 1))};
}

/* A smoothed round trip with one more measurement, which has the weight of one
 * eighth: as TCP's own estimate (RFC 6298). 0: nothing was measured yet. */
static inline struct hf_span hf_span_smooth(struct hf_span mean,
                                            struct hf_span took)
{
    return mean.ns == 0
               ? took
               : hf_span_add(mean, hf_span_div(hf_span_sub(took, mean), 8));
}

#endif
