/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Instants and spans are different types, so that the compiler finds
 * mistakes. hf_instant_add(), hf_instant_until(), hf_span_add() and
 * hf_span_ms() saturate: what a node replies may be any span. hf_span_us() does
 * not. An instant is a reading of CLOCK_BOOTTIME (io/clock.h); the folders
 * below io/ read no clock. */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct hf_instant {
    int64_t ns;
};

struct hf_span {
    int64_t ns;
};

/* Later than every reading of the clock. */
#define HF_NEVER ((struct hf_instant){INT64_MAX})

/* Earlier than every reading of the clock. */
#define HF_LONG_AGO ((struct hf_instant){INT64_MIN})

static inline struct hf_span hf_span_ms(int64_t ms)
{
    if (ms > INT64_MAX / 1000000) {
        return (struct hf_span){INT64_MAX};
    }
    if (ms < INT64_MIN / 1000000) {
        return (struct hf_span){INT64_MIN};
    }
    return (struct hf_span){ms * 1000000};
}

static inline struct hf_span hf_span_us(int64_t us)
{
    return (struct hf_span){us * 1000};
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

static inline struct hf_span hf_span_add(struct hf_span a, struct hf_span b)
{
    struct hf_span sum;
    if (__builtin_add_overflow(a.ns, b.ns, &sum.ns)) {
        sum.ns = b.ns > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

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

static inline bool hf_instant_before(struct hf_instant a, struct hf_instant b)
{
    return a.ns < b.ns;
}

static inline struct hf_instant hf_instant_min(struct hf_instant a,
                                               struct hf_instant b)
{
    return a.ns < b.ns ? a : b;
}

static inline struct hf_instant hf_instant_max(struct hf_instant a,
                                               struct hf_instant b)
{
    return a.ns > b.ns ? a : b;
}

static inline struct hf_span hf_span_min(struct hf_span a, struct hf_span b)
{
    return a.ns < b.ns ? a : b;
}

static inline struct hf_span hf_span_max(struct hf_span a, struct hf_span b)
{
    return a.ns > b.ns ? a : b;
}

#endif
