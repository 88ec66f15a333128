/* SPDX-License-Identifier: Apache-2.0 */
/* A crowd of threads that share a semaphore's permits: how many hold one at
 * once, and in which slots. */
#ifndef CLIENT_CROWD_H
#define CLIENT_CROWD_H

#include "client_world.h"

enum { N = 3, CROWD = 8, ROUNDS = 60 };

struct crowd {
    const char *name;
    int inside; /* guarded only by the semaphore */
    int most;
    int in_slot[N];
    uint64_t fences[N];
    atomic_int doubled; /* permits that were given beside their holder, or twice
                         * with one fence */
    atomic_int failures; /* of anything else */
};

/* @return false: more than N are inside, or the permit is another's, too. */
static inline bool enter(struct crowd *crowd, int slot, uint64_t fence)
{
    int inside = __atomic_add_fetch(&crowd->inside, 1, __ATOMIC_RELAXED);
    int most = __atomic_load_n(&crowd->most, __ATOMIC_RELAXED);
    while (inside > most &&
           !__atomic_compare_exchange_n(&crowd->most, &most, inside, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    bool is_alone =
        __atomic_fetch_add(&crowd->in_slot[slot], 1, __ATOMIC_RELAXED) == 0;
    uint64_t last =
        __atomic_exchange_n(&crowd->fences[slot], fence, __ATOMIC_RELAXED);
    return inside <= N && is_alone && fence > last;
}

static inline void leave(struct crowd *crowd, int slot)
{
    __atomic_fetch_sub(&crowd->in_slot[slot], 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&crowd->inside, 1, __ATOMIC_RELAXED);
}

/* The first ones stay until all permits are taken. */
static inline void await_others(struct crowd *crowd)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (__atomic_load_n(&crowd->most, __ATOMIC_RELAXED) < N &&
           now_ms() < end_ms) {
        pause_ms(1);
    }
}

#endif
