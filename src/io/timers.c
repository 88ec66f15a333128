/* SPDX-License-Identifier: Apache-2.0 */
/* Timers are few, so the list is searched for the next one: O(n) to find it,
 * O(n^2) to fire all. A timer is idle before its handler runs, so the handler
 * may set it again. A handler that sets its timer to now again and again would
 * keep the loop here; so as many handlers run as there were timers, and the
 * rest fire in the next turn. A timer is in one list, once (asserted). */
#include "io/timers.h"

#include "base/assert.h"

#include <stddef.h>

void hf_timers_add(struct hf_timer **list, struct hf_timer *timer)
{
    HF_ASSERT(timer->fire != NULL);
    for (const struct hf_timer *t = *list; t != NULL; t = t->next) {
        HF_ASSERT(t != timer); /* twice in the list would be a circle */
    }
    timer->next = *list;
    *list = timer;
}

void hf_timers_remove(struct hf_timer **list, struct hf_timer *timer)
{
    struct hf_timer **at = list;
    while (*at != NULL && *at != timer) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = timer->next;
    }
}

struct hf_instant hf_timers_next(const struct hf_timer *list)
{
    struct hf_instant next = HF_NEVER;
    for (const struct hf_timer *t = list; t != NULL; t = t->next) {
        next = hf_instant_min(next, t->at);
    }
    return next;
}

/* Searches the whole list again for each timer: a handler may change it. */
void hf_timers_fire(struct hf_timer **list, struct hf_instant now)
{
    unsigned most = 0;
    for (const struct hf_timer *t = *list; t != NULL; t = t->next) {
        most++;
    }
    for (; most > 0; most--) {
        struct hf_timer *due = NULL;
        for (struct hf_timer *t = *list; t != NULL; t = t->next) {
            if (!hf_instant_before(now, t->at) &&
                (due == NULL || hf_instant_before(t->at, due->at))) {
                due = t;
            }
        }
        if (due == NULL) {
            return;
        }
        due->at = HF_NEVER;
        due->fire(due, now);
    }
}
