/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of a store: a few per node, so a list is enough.
 *
 *     timer = (struct hf_timer){.at = HF_NEVER, .fire = on_due};
 *     hf_timers_add(&list, &timer);         hf_loop_add_timer()
 *     hf_timer_set(&timer, until);          as often as it changes
 *     until = hf_timers_next(list);         to wait no longer than that
 *     hf_timers_fire(&list, now);           calls on_due()
 *     hf_timers_remove(&list, &timer);      hf_loop_drop_timer()
 *
 * A store uses the list of its loop, by the functions of io/loop.h. Owner: a
 * timer is part of its owner, and leaves the list before its memory is freed.
 * Threads: with the client's mutex, as the loop. Nothing needs memory or fails.
 */
#ifndef HF_IO_TIMERS_H
#define HF_IO_TIMERS_H

#include "base/time.h"

struct hf_timer;

/* A timer is due, and is idle again. It may set, add and remove any timer, this
 * one too. In the thread that dispatches the loop. */
typedef void hf_timer_fn(struct hf_timer *timer, struct hf_instant now);

/* Embedded in its owner. */
struct hf_timer {
    struct hf_instant at; /* HF_NEVER: idle */
    hf_timer_fn *fire;
    struct hf_timer *next;
};

/* Set when it is due; HF_NEVER: not at all. In the list or not. */
static inline void hf_timer_set(struct hf_timer *timer, struct hf_instant at)
{
    timer->at = at;
}

/* Add a timer, with its function. It must not be in a list. */
void hf_timers_add(struct hf_timer **list, struct hf_timer *timer);

/* Take it out of the list, if it is there. */
void hf_timers_remove(struct hf_timer **list, struct hf_timer *timer);

/* The earliest; HF_NEVER if none. */
struct hf_instant hf_timers_next(const struct hf_timer *list);

/* Fire the timers due at `now`, the earliest first. The handlers may add, drop
 * and set timers. The number of handlers run is bounded by the length of the
 * list at the beginning. */
void hf_timers_fire(struct hf_timer **list, struct hf_instant now);

#endif
