/* SPDX-License-Identifier: Apache-2.0 */
/* FENCES, WHATEVER CLOCKS, NETWORKS AND PAUSES DO
 *
 * Fully asynchronous: any message may be lost, delayed without end, repeated
 * and reordered; any lease may end at any time; a client may stop at any time.
 *
 * The network is a set that only grows: a message that was sent may be executed
 * at any later time, any number of times. So an ACQUIRE of a client that has
 * begun may always be executed, and so may a CONFIRM of every T that it may
 * have computed. RELEASE and YIELD are special cases of "a lease ends", and a
 * grant from a queue is "a lease ends, then ACQUIRE is executed", so hand-over
 * is included. The replies of a node to a client are the set `told`. The client
 * may have received any subset of them, so its memory needs no state.
 *
 * Claims
 *   C1  two that completed have different fences, but for readers
 *   C2  completed before another began: smaller fence
 *   E1  no renewal succeeds that began after one that excludes it completed
 *       with a greater fence
 *
 * Bounds: NODES; CLIENTS, one owner each; READERS, a bit for each client that
 * shares; COUNTERS, the greatest value of a counter. */
#include "fence_state.h"

/* ---- At a node --------------------------------------------------------- */

static int owner_of(int who)
{
    return FRESH_OWNER || who != 1 ? who : 0;
}

static bool is_holder(const struct node *node, int who)
{
    return (node->holders >> owner_of(who) & 1) != 0;
}

static bool admits(const struct node *node, int who)
{
    return node->holders == NO_HOLDER ||
           (is_reader(who) && (node->holders & ~READERS) == 0);
}

static void install(struct node *node, int who, uint8_t counter)
{
    node->holders |= (uint8_t)(1 << owner_of(who));
    node->own[owner_of(who)] = counter;
    node->last = (uint8_t)(owner_of(who) + 1);
    if (node->counter < counter) {
        node->counter = counter;
    }
    node->told[who] |= (uint8_t)(1 << counter);
}

static void remove_holder(struct node *node, int owner)
{
    node->holders &= (uint8_t) ~(1 << owner);
    node->own[owner] = 0;
    if (!TAKES_BACK && RAISE_TAKES != 2) {
        node->last = 0; /* no client asks */
    }
}

/* ---- All that can happen ----------------------------------------------- */

static bool has_time(void)
{
    return FLOOR != 0 && CLOCKS != 1;
}

static void reach_at(const struct state *next, enum kind kind, int who,
                     int node, int value)
{
    struct step step = {(uint8_t)kind, (uint8_t)who, (uint8_t)node,
                        (uint8_t)value};
    reach(next, step);
}

/* Greatest completed fence: of the clients that exclude `who`, or of all. */
static uint8_t greatest(const struct state *state, int who, bool excluding)
{
    uint8_t most = 0;
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *client = &state->clients[k];
        bool counts = !excluding || !is_reader(k) || !is_reader(who);
        if (counts && client->phase == COMPLETE && client->fence > most) {
            most = client->fence;
        }
    }
    return most;
}

static void begin(const struct state *state, int who)
{
    if (!FRESH_OWNER && who == 1 && state->clients[0].phase != COMPLETE) {
        return;
    }
    struct state next = *state;
    struct client *client = &next.clients[who];
    client->phase = ASKING;
    client->least = greatest(state, who, false);
    for (uint8_t hint = 0; hint <= (HINTS ? COUNTERS : 0); hint++) {
        client->hint = hint;
        reach_at(&next, BEGIN, who, 0, hint);
    }
}

/* GRANT at a clock that shows `floor`. Right clocks have more ticks than a
 * name has grants, so that a counter never passes the time. */
static void grant(const struct state *state, int who, int i, uint8_t floor)
{
    struct state next = *state;
    struct node *node = &next.nodes[i];
    bool is_joining = node->holders != NO_HOLDER;
    uint8_t counter = node->counter;
    if (SHARED_MOVES || !is_joining) {
        counter++;
    }
    if (state->clients[who].hint > counter) {
        counter = state->clients[who].hint;
    }
    bool has_floor = FLOOR == 2 || (FLOOR == 1 && node->counter == 0);
    if (has_floor && floor > counter) {
        counter = floor;
    }
    if (counter > COUNTERS || (has_time() && counter > state->time)) {
        return;
    }
    install(node, who, counter);
    reach_at(&next, ACQUIRED, who, i + 1, counter);
}

static void acquire(const struct state *state, int who, int i)
{
    const struct node *node = &state->nodes[i];
    if (is_holder(node, who)) { /* a retry, or a stale copy */
        struct state next = *state;
        uint8_t own = node->own[owner_of(who)];
        next.nodes[i].told[who] |= (uint8_t)(1 << own);
        reach_at(&next, ACQUIRED, who, i + 1, own);
    } else if (admits(node, who) && FLOOR != 0 && CLOCKS == 1) {
        for (uint8_t floor = 0; floor <= COUNTERS; floor++) {
            grant(state, who, i, floor);
        }
    } else if (admits(node, who)) {
        grant(state, who, i, state->time);
        if (FLOOR != 0 && CLOCKS == 2 && state->time > 1) {
            grant(state, who, i, (uint8_t)(state->time - 1));
        }
    }
}

/* Whether T may be the greatest counter that a majority replied to it. */
static bool may_raise_to(const struct state *state, int who, uint8_t fence)
{
    int granted = 0;
    bool is_named = RAISE_ANY;
    for (int i = 0; i < NODES; i++) {
        uint8_t told = state->nodes[i].told[who];
        granted += (told & ((2 << fence) - 1)) != 0;
        is_named = is_named || (told >> fence & 1) != 0;
    }
    return is_named && granted >= QUORUM;
}

static bool is_above_floor(const struct state *state, uint8_t fence)
{
    return !RAISE_FLOOR || !has_time() || fence >= state->time;
}

/* CONFIRM from a holder of the node: raises the counter to T. */
static bool can_raise(const struct state *state, const struct node *node,
                      int who, uint8_t fence)
{
    uint8_t own = node->own[owner_of(who)];
    if (own >= fence) {
        return own == fence || !CONFIRM_ACTUAL;
    }
    return is_above_floor(state, fence) ||
           (SHARED_BELOW_FLOOR && is_reader(who) && fence <= node->counter);
}

static void raise_own(struct node *node, int who, uint8_t fence)
{
    uint8_t *own = &node->own[owner_of(who)];
    if (*own < fence) {
        *own = fence;
    }
    if (node->counter < fence && (SHARED_RAISE_MOVES || !is_reader(who))) {
        node->counter = fence;
    }
    node->told[who] |= (uint8_t)(1 << fence);
}

static void confirm(const struct state *state, int who, int i, uint8_t fence)
{
    const struct node *node = &state->nodes[i];
    bool is_last = node->last == owner_of(who) + 1;
    bool takes = (RAISE_TAKES == 1 && node->counter <= fence) ||
                 (RAISE_TAKES == 2 && (node->counter < fence ||
                                       (node->counter == fence && is_last)));
    struct state next = *state;
    if (is_holder(node, who) && can_raise(state, node, who, fence)) {
        raise_own(&next.nodes[i], who, fence);
    } else if (node->holders == NO_HOLDER && takes) {
        install(&next.nodes[i], who, fence);
    } else {
        return;
    }
    reach_at(&next, CONFIRMED, who, i + 1, fence);
}

/* Completed with T if a majority has replied "yours, c = T". */
static void complete(const struct state *state, int who, uint8_t fence)
{
    int votes = 0;
    for (int i = 0; i < NODES; i++) {
        votes += state->nodes[i].told[who] >> fence & 1;
    }
    bool is_enough =
        votes >= QUORUM || (!SECOND_PHASE && may_raise_to(state, who, fence));
    if (!is_enough) {
        return;
    }
    struct state next = *state;
    next.clients[who].phase = COMPLETE;
    next.clients[who].fence = fence;
    for (int k = 0; k < CLIENTS; k++) {
        bool excludes = !is_reader(k) || !is_reader(who);
        if (k != who && excludes && ONLY <= 1 &&
            state->clients[k].phase == COMPLETE &&
            state->clients[k].fence == fence) {
            broken("C1");
        }
    }
    if (fence <= state->clients[who].least && (ONLY == 0 || ONLY == 2)) {
        broken("C2");
    }
    reach_at(&next, COMPLETED, who, 0, fence);
}

/* CONFIRM from a holder of the lock: renews, and may take back. */
static void renew_at(const struct state *state, int who, int i)
{
    struct state next = *state;
    struct node *node = &next.nodes[i];
    uint8_t fence = state->clients[who].fence;
    bool is_free = node->holders == NO_HOLDER;
    if (is_holder(node, who)) {
        uint8_t own = node->own[owner_of(who)];
        if (own < fence && can_raise(state, node, who, fence)) {
            raise_own(node, who, fence);
        } else if (own != fence && RENEWS == 2) {
            return;
        }
    } else if (TAKES_BACK && admits(node, who) && node->counter < fence &&
               is_above_floor(state, fence)) {
        install(node, who, fence);
    } else if (TAKES_BACK && is_free && !is_reader(who) &&
               node->counter == fence &&
               (node->last == owner_of(who) + 1 || TAKES_BACK == 2)) {
        install(node, who, fence);
    } else if (RAISE_TAKES == 1 && is_free) {
        install(node, who, fence);
    } else {
        return;
    }
    node->renewed |= (uint8_t)(1 << who);
    reach_at(&next, RENEWED, who, i + 1, fence);
}

static void renew(const struct state *state, int who)
{
    const struct client *client = &state->clients[who];
    struct state next = *state;
    if (client->renewal == 0) {
        next.clients[who].renewal = 1;
        next.clients[who].renewal_least = greatest(state, who, true);
        reach_at(&next, RENEWAL, who, 0, 0);
        return;
    }
    int votes = 0;
    for (int i = 0; i < NODES; i++) {
        bool has = (state->nodes[i].renewed >> who & 1) != 0;
        votes += has;
        if (!has && state->nodes[i].memory != AWAY) {
            renew_at(state, who, i);
        }
    }
    if (votes >= QUORUM) {
        next.clients[who].renewal = 2;
        if (client->renewal_least > client->fence && (ONLY == 0 || ONLY == 3)) {
            broken("E1");
        }
        reach_at(&next, RENEWAL_DONE, who, 0, 0);
    }
}

/* RELEASE(T), by a client that knows T: leave, and raise the counter to T. */
static void align(const struct state *state, int who)
{
    uint8_t heard = 0;
    for (int i = 0; i < NODES; i++) {
        heard |= state->nodes[i].told[who];
    }
    for (int i = 0; i < NODES; i++) {
        for (uint8_t fence = 1; fence <= COUNTERS; fence++) {
            struct state next = *state;
            struct node *node = &next.nodes[i];
            bool is_mine = is_holder(node, who);
            if ((heard >> fence & 1) == 0 || node->counter >= fence ||
                node->memory == AWAY ||
                (!is_mine && node->holders != NO_HOLDER)) {
                continue;
            }
            if (is_mine) {
                remove_holder(node, owner_of(who));
            }
            node->counter = fence;
            node->last = 0;
            reach_at(&next, ALIGNED, who, i + 1, fence);
        }
    }
}

static void forget(const struct state *state, int i)
{
    if (has_time() && state->time + RESTART_TICKS > COUNTERS) {
        return;
    }
    struct state next = *state;
    struct node *node = &next.nodes[i];
    next.amnesias--;
    node->memory = QUARANTINE ? AWAY : BACK;
    node->holders = NO_HOLDER;
    node->last = 0;
    memset(node->own, 0, sizeof node->own);
    for (int k = 0; k < CLIENTS; k++) {
        next.clients[k].is_old |= QUARANTINE && next.clients[k].phase == ASKING;
    }
    if (has_time()) {
        next.time = (uint8_t)(next.time + RESTART_TICKS);
    }
    uint8_t counter = state->nodes[i].counter;
    for (uint8_t left = 0; left < (LOSS == 0 ? 1 : counter); left++) {
        node->counter = left;
        reach_at(&next, AMNESIA, 0, i + 1, left);
        for (int k = 0; LOSS == 2 && k < CLIENTS; k++) {
            if ((state->nodes[i].told[k] >> left & 1) != 0) {
                struct state restored = next;
                install(&restored.nodes[i], k, left);
                reach_at(&restored, AMNESIA, k, i + 1, left);
            }
        }
    }
}

static void come_back(const struct state *state, int i)
{
    struct state next = *state;
    next.nodes[i].memory = BACK;
    for (int k = 0; k < CLIENTS; k++) {
        if (next.clients[k].is_old && next.clients[k].phase == ASKING) {
            next.clients[k].phase = OVER;
        }
    }
    reach_at(&next, RETURNED, 0, i + 1, 0);
}

static void happen_at(const struct state *state, int i)
{
    const struct node *node = &state->nodes[i];
    for (int k = 0; k < CLIENTS; k++) {
        if ((node->holders >> k & 1) != 0) {
            struct state next = *state;
            remove_holder(&next.nodes[i], k);
            reach_at(&next, ENDED, k, i + 1, 0);
        }
    }
    if (state->amnesias > 0 && node->counter > 0) {
        forget(state, i);
    }
    if (node->memory == AWAY) {
        come_back(state, i);
    }
}

static void confirm_anywhere(const struct state *state, int k, uint8_t fence)
{
    for (int i = 0; i < NODES; i++) {
        if (state->nodes[i].memory != AWAY && may_raise_to(state, k, fence)) {
            confirm(state, k, i, fence);
        }
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        enum phase phase = state->clients[k].phase;
        if (phase == IDLE) {
            begin(state, k);
            continue;
        }
        for (int i = 0; i < NODES; i++) {
            if (state->nodes[i].memory != AWAY) {
                acquire(state, k, i);
            }
        }
        for (uint8_t fence = 1; fence <= COUNTERS; fence++) {
            if (SECOND_PHASE) {
                confirm_anywhere(state, k, fence);
            }
            if (phase == ASKING) {
                complete(state, k, fence);
            }
        }
        if (ALIGNS) {
            align(state, k);
        }
        if (RENEWS && phase == COMPLETE && state->clients[k].renewal < 2) {
            renew(state, k);
        }
    }
    for (int i = 0; i < NODES; i++) {
        happen_at(state, i);
    }
    if (has_time() && state->time < COUNTERS) {
        struct state next = *state;
        next.time++;
        reach_at(&next, TICK, 0, 0, next.time);
    }
}
