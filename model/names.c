/* SPDX-License-Identifier: Apache-2.0 */
/* SEVERAL NAMES AT ONCE: ALL OR NOTHING, AND NO DEADLOCK
 *
 * A caller asks for all its names at once, without waiting. When all have
 * replied, it keeps the names before the first refused one, in byte order, and
 * releases the others. It then waits in the queue of the first missing name.
 * When it has that name, it asks for the rest in the same way. So a waiter
 * holds only names that are smaller than the one it waits for, and no cycle of
 * waiters is possible.
 *
 * A name is one lock with a queue; queue.c models how nodes agree on it.
 * Requests are in flight for any time: they are executed, and their replies
 * received, in any order.
 *
 * Claims: a caller that works holds all its names, exclusively or shared as
 * asked; from every state all can finish, after which every name is free. */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef NAMES
#define NAMES 2
#endif
/* Which names each caller wants, a bit each, and which of those shared. */
#ifndef WANTS
#define WANTS                                                                  \
    {                                                                          \
        3, 3                                                                   \
    }
#endif
#ifndef SHARES
#define SHARES                                                                 \
    {                                                                          \
        0                                                                      \
    }
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* a bit for each caller that may give up */
#endif
/* The rules; 1 is the product. */
#ifndef GIVES_BACK
#define GIVES_BACK 1 /* the locks after the first missing one are released */
#endif
#ifndef IN_ORDER
#define IN_ORDER 1 /* 0: every second caller begins with its greatest name */
#endif
#ifndef OPTIMISTIC
#define OPTIMISTIC 1 /* 0: the names are requested one after another */
#endif

#include <stdint.h>

/* The state of a caller's request for one name. */
enum request {
    NOTHING,
    ASKED, /* the request or its reply is in flight */
    HAS,
    MISSED,
    QUEUED, /* enqueue was requested, or it is queued */
    LEAVING /* RELEASE is in flight */
};

enum phase { IDLE, ASKING, WAITING, WORKING, ENDING, DONE };

/* One name. */
struct lock {
    uint8_t holders;
    uint8_t n_queued;
    uint8_t queue[CALLERS]; /* in order of arrival; caller + 1 */
};

struct caller {
    uint8_t phase;
    uint8_t requests[NAMES];
    uint8_t answers[NAMES]; /* ASKED: the reply in flight: HAS, MISSED */
};

struct state {
    struct lock locks[NAMES];
    struct caller callers[CALLERS];
};

#define HAS_GOAL
#include "checker.h"

static const uint8_t wants[CALLERS] = WANTS;
static const uint8_t shares[CALLERS] = SHARES;

enum kind {
    ASKS,
    TRIED,
    HEARD,
    KEEPS,
    ENTERED,
    GRANTED,
    RELEASED,
    WORKS,
    STOPS,
    ENDED,
    QUIT
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "asks for all that it lacks",
        "request executed",
        "hears the answer",
        "keeps what it may, gives back the rest",
        "enters the queue",
        "hears of its grant",
        "RELEASE executed",
        "WORKS",
        "stops, gives all back",
        "is done",
        "gives up",
    };
    printf("caller %u %s", step.who + 1u, text[step.kind]);
    if (step.node != 0) {
        printf(" [%c]", 'a' + step.node - 1);
    }
}

static void state_print(const struct state *state)
{
    static const char *const phases[] = {"idle",  "asks",  "waits",
                                         "WORKS", "stops", "done"};
    for (int n = 0; n < NAMES; n++) {
        const struct lock *lock = &state->locks[n];
        printf("%c: of", 'a' + n);
        for (int k = 0; k < CALLERS; k++) {
            if (lock->holders >> k & 1) {
                printf(" %d", k + 1);
            }
        }
        printf(" queue");
        for (int q = 0; q < lock->n_queued; q++) {
            printf(" %d", lock->queue[q]);
        }
        printf("; ");
    }
    for (int k = 0; k < CALLERS; k++) {
        printf("%d %s ", k + 1, phases[state->callers[k].phase]);
    }
}

static void state_init(struct state *state)
{
    (void)state;
}

static void state_canonical(struct state *state)
{
    (void)state; /* neither callers nor names are alike: no symmetry */
}

static bool state_is_goal(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        if (state->callers[k].phase != DONE) {
            return false;
        }
    }
    for (int n = 0; n < NAMES; n++) {
        if (state->locks[n].holders != 0 || state->locks[n].n_queued != 0) {
            return false;
        }
    }
    return true;
}

/* ---- At a name --------------------------------------------------------- */

static bool is_wanted(int who, int n)
{
    return (wants[who] >> n & 1) != 0;
}

static bool is_shared(int who, int n)
{
    return (shares[who] >> n & 1) != 0;
}

static bool admits(const struct state *state, int who, int n)
{
    for (int k = 0; k < CALLERS; k++) {
        bool excludes = !is_shared(k, n) || !is_shared(who, n);
        if ((state->locks[n].holders >> k & 1) != 0 && excludes) {
            return false;
        }
    }
    return true;
}

static void drop(struct lock *lock, int who)
{
    uint8_t left = 0;
    for (int q = 0; q < lock->n_queued; q++) {
        if (lock->queue[q] != who + 1) {
            lock->queue[left++] = lock->queue[q];
        }
    }
    for (int q = left; q < lock->n_queued; q++) {
        lock->queue[q] = 0;
    }
    lock->n_queued = left;
}

static void serve(struct state *state, int n)
{
    struct lock *lock = &state->locks[n];
    while (lock->n_queued > 0 && admits(state, lock->queue[0] - 1, n)) {
        int who = lock->queue[0] - 1;
        drop(lock, who);
        lock->holders |= (uint8_t)(1 << who);
    }
}

/* ---- At a caller ------------------------------------------------------- */

static void reach_at(const struct state *next, enum kind kind, int who, int n)
{
    struct step step = {(uint8_t)kind, (uint8_t)who, (uint8_t)(n + 1), 0};
    for (int k = 0; k < CALLERS; k++) {
        if (next->callers[k].phase != WORKING) {
            continue;
        }
        for (int name = 0; name < NAMES; name++) {
            const struct lock *lock = &next->locks[name];
            bool is_alone = lock->holders == 1 << k || is_shared(k, name);
            if (is_wanted(k, name) &&
                ((lock->holders >> k & 1) == 0 || !is_alone)) {
                broken("works without all of its names");
            }
        }
    }
    reach(next, step);
}

/* The n-th name in the caller's order. */
static int name_at(int who, int n)
{
    return IN_ORDER || who % 2 == 0 ? n : NAMES - 1 - n;
}

static void ask_for_rest(const struct state *state, int who)
{
    struct state next = *state;
    struct caller *caller = &next.callers[who];
    caller->phase = ASKING;
    for (int at = 0; at < NAMES; at++) {
        int n = name_at(who, at);
        if (!is_wanted(who, n) || caller->requests[n] == HAS) {
            continue;
        }
        if (caller->requests[n] == LEAVING) {
            return; /* requests to one name stay in order: this one first */
        }
        caller->requests[n] = ASKED;
        if (!OPTIMISTIC) {
            break;
        }
    }
    reach_at(&next, ASKS, who, -1);
}

/* All nodes have replied: keep the first locks, release the rest, wait. */
static void judge(const struct state *state, int who)
{
    struct state next = *state;
    struct caller *caller = &next.callers[who];
    bool is_missing = false;
    for (int at = 0; at < NAMES; at++) {
        int n = name_at(who, at);
        if (caller->requests[n] == ASKED) {
            return;
        }
        if (caller->requests[n] == MISSED) {
            caller->requests[n] = is_missing ? NOTHING : QUEUED;
            is_missing = true;
        } else if (caller->requests[n] == HAS && is_missing && GIVES_BACK) {
            caller->requests[n] = LEAVING;
        }
    }
    caller->phase = WAITING;
    reach_at(&next, KEEPS, who, -1);
}

static bool has_all(const struct caller *caller, int who)
{
    for (int n = 0; n < NAMES; n++) {
        if (is_wanted(who, n) && caller->requests[n] != HAS) {
            return false;
        }
    }
    return true;
}

static bool waits(const struct caller *caller)
{
    for (int n = 0; n < NAMES; n++) {
        if (caller->requests[n] == QUEUED) {
            return true;
        }
    }
    return false;
}

/* Release all names, also those whose grant is still in flight. */
static void let_go(const struct state *state, int who, enum kind kind)
{
    struct state next = *state;
    struct caller *caller = &next.callers[who];
    caller->phase = ENDING;
    for (int n = 0; n < NAMES; n++) {
        caller->requests[n] =
            caller->requests[n] == NOTHING ? NOTHING : LEAVING;
        caller->answers[n] = NOTHING;
    }
    reach_at(&next, kind, who, -1);
}

/* ---- Transitions ------------------------------------------------------- */

static bool is_queued(const struct lock *lock, int who)
{
    for (int q = 0; q < lock->n_queued; q++) {
        if (lock->queue[q] == who + 1) {
            return true;
        }
    }
    return false;
}

static void happen_at(const struct state *state, int who, int n)
{
    struct state next = *state;
    struct lock *lock = &next.locks[n];
    struct caller *caller = &next.callers[who];
    uint8_t request = caller->requests[n];
    bool is_mine = (lock->holders >> who & 1) != 0;
    if (request == ASKED && caller->answers[n] == NOTHING) {
        bool is_ours = admits(state, who, n) && lock->n_queued == 0;
        caller->answers[n] = is_ours ? HAS : MISSED;
        lock->holders |= (uint8_t)(is_ours ? 1 << who : 0);
        reach_at(&next, TRIED, who, n);
    } else if (request == ASKED) {
        caller->requests[n] = caller->answers[n];
        caller->answers[n] = NOTHING;
        reach_at(&next, HEARD, who, n);
    } else if (request == QUEUED && is_mine) {
        caller->requests[n] = HAS;
        reach_at(&next, GRANTED, who, n);
    } else if (request == QUEUED && !is_queued(lock, who)) {
        lock->queue[lock->n_queued++] = (uint8_t)(who + 1);
        serve(&next, n);
        reach_at(&next, ENTERED, who, n);
    } else if (request == LEAVING) {
        caller->requests[n] = NOTHING;
        lock->holders &= (uint8_t) ~(1 << who);
        drop(lock, who);
        serve(&next, n);
        reach_at(&next, RELEASED, who, n);
    }
}

static void advance(const struct state *state, int who)
{
    const struct caller *caller = &state->callers[who];
    struct state next = *state;
    switch ((enum phase)caller->phase) {
    case IDLE:
        ask_for_rest(state, who);
        break;
    case ASKING:
    case WAITING:
        if (has_all(caller, who)) {
            next.callers[who].phase = WORKING;
            reach_at(&next, WORKS, who, -1);
        } else if (caller->phase == ASKING) {
            judge(state, who);
        } else if (!waits(caller)) {
            ask_for_rest(state, who);
        }
        if ((LEAVERS >> who & 1) != 0) {
            let_go(state, who, QUIT);
        }
        break;
    case WORKING:
        let_go(state, who, STOPS);
        break;
    case ENDING:
        for (int n = 0; n < NAMES; n++) {
            if (caller->requests[n] != NOTHING) {
                return;
            }
        }
        next.callers[who].phase = DONE;
        reach_at(&next, ENDED, who, -1);
        break;
    case DONE:
        break;
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        advance(state, k);
        for (int n = 0; n < NAMES; n++) {
            happen_at(state, k, n);
        }
    }
}
