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
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef COUNTERS
#define COUNTERS 3
#endif
/* Faults. */
#ifndef AMNESIAS
#define AMNESIAS 0 /* how often a node may lose its data */
#endif
/* 0: all data; 1: the newest part (of the counter); 2: the newest part, and an
 * old lease is back */
#ifndef LOSS
#define LOSS 0
#endif
#ifndef CLOCKS
#define CLOCKS 0 /* 0: right; 1: any reading; 2: up to one tick slow */
#endif
#ifndef RESTART_TICKS
#define RESTART_TICKS 1 /* the least time for which a node is down */
#endif
/* The rules. */
/* 0: the greatest of a majority's grants is the fence */
#ifndef SECOND_PHASE
#define SECOND_PHASE 1
#endif
#ifndef CONFIRM_ACTUAL
#define CONFIRM_ACTUAL 1 /* 0: also replies "ok T" at a greater counter */
#endif
#ifndef RAISE_ANY
#define RAISE_ANY 0 /* 1: T may be any value, not only the greatest grant */
#endif
/* When a raise may take a free node. 1: if c <= T; 2: if c < T, or c = T and
 * the sender is the last owner. */
#ifndef RAISE_TAKES
#define RAISE_TAKES 0
#endif
#ifndef RENEWS
#define RENEWS 0 /* 1: a round counts any "yours"; 2: only "yours, c = T" */
#endif
#ifndef TAKES_BACK
#define TAKES_BACK 0 /* a holder takes a free node; 2: its last owner */
#endif
#ifndef FRESH_OWNER
#define FRESH_OWNER 1 /* 0: client 2 reuses the owner of client 1 */
#endif
#ifndef HINTS
#define HINTS 0 /* 1: ACQUIRE may name any counter to begin at */
#endif
#ifndef ALIGNS
#define ALIGNS 0 /* 1: RELEASE(T) raises a free counter to T */
#endif
#ifndef FLOOR
#define FLOOR 0 /* 0: none; 1: when a counter is made; 2: at every grant */
#endif
#ifndef RAISE_FLOOR
#define RAISE_FLOOR 0 /* 1: and at every raise */
#endif
#ifndef SHARED_BELOW_FLOOR
#define SHARED_BELOW_FLOOR 0 /* 1: a sharer may raise its own to any T <= c */
#endif
/* 1: a node that lost its data stays down until the clients that asked it
 * before are done */
#ifndef QUARANTINE
#define QUARANTINE 0
#endif
#ifndef SHARED_MOVES
#define SHARED_MOVES 1 /* 0: a shared grant does not move the counter */
#endif
#ifndef SHARED_RAISE_MOVES
#define SHARED_RAISE_MOVES 1 /* 0: a sharer's CONFIRM raises its own alone */
#endif
#ifndef ONLY
#define ONLY 0 /* check one claim alone: 1, 2: C1, C2; 3: E1 */
#endif

#include <stdint.h>

#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
#define NO_HOLDER 0

enum phase { IDLE, ASKING, COMPLETE, OVER };
enum memory { SOUND, AWAY, BACK };

struct node {
    uint8_t holders; /* a bit for each owner */
    uint8_t last;    /* the owner that was granted the counter, + 1 */
    uint8_t counter;
    uint8_t memory;
    uint8_t renewed;       /* a bit for each client whose renewal the node
                              confirmed */
    uint8_t own[CLIENTS];  /* by owner: its counter while it holds */
    uint8_t told[CLIENTS]; /* by client: bit v: the node has replied "yours, c =
                              v" */
};

struct client {
    uint8_t phase;
    uint8_t fence;
    uint8_t least; /* greatest fence completed before the client began */
    uint8_t hint;
    uint8_t renewal;       /* 0; 1: begun; 2: succeeded */
    uint8_t renewal_least; /* greatest fence that excludes it, at the begin of
                              the renewal */
    uint8_t is_old;        /* it began before a node lost its data */
};

struct state {
    struct node nodes[NODES];
    struct client clients[CLIENTS];
    uint8_t time;
    uint8_t amnesias;
};

#include "checker.h"

enum kind {
    BEGIN,
    ACQUIRED,
    ENDED,
    CONFIRMED,
    COMPLETED,
    RENEWAL,
    RENEWED,
    RENEWAL_DONE,
    ALIGNED,
    AMNESIA,
    RETURNED,
    TICK
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "begins",
        "ACQUIRE executed",
        "lease ends, or RELEASE",
        "CONFIRM executed",
        "COMPLETES",
        "begins to renew",
        "renewal executed",
        "renewal SUCCEEDS",
        "RELEASE aligns the counter",
        "MEMORY LOST",
        "back after quarantine",
        "clocks tick",
    };
    printf("client %u: %s", step.who + 1u, text[step.kind]);
    if (step.node != 0) {
        printf(" at node %u", (unsigned)step.node);
    }
    if (step.value != 0) {
        printf(" [%u]", (unsigned)step.value);
    }
}

static void state_print(const struct state *state)
{
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &state->nodes[i];
        printf("node %d: c=%d of", i + 1, node->counter);
        for (int k = 0; k < CLIENTS; k++) {
            if (node->holders >> k & 1) {
                printf(" %d@%d", k + 1, node->own[k]);
            }
        }
        printf("; ");
    }
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *client = &state->clients[k];
        printf("\n       client %d (%s)", k + 1,
               (READERS >> k & 1) ? "reader" : "writer");
        if (client->phase == COMPLETE) {
            printf(" FENCE %d", client->fence);
        }
        printf(" told");
        for (int i = 0; i < NODES; i++) {
            printf(" {");
            for (int v = 1; v <= COUNTERS; v++) {
                if (state->nodes[i].told[k] >> v & 1) {
                    printf("%d", v);
                }
            }
            printf("}");
        }
    }
}

static void state_init(struct state *state)
{
    state->time = 1;
    state->amnesias = AMNESIAS;
}

/* ---- Symmetry: nodes, and clients of one mode, have no names ------------ */

static bool is_reader(int who)
{
    return (READERS >> who & 1) != 0;
}

static void sort_nodes(struct state *state)
{
    for (int i = 1; i < NODES; i++) {
        for (int k = i; k > 0; k--) {
            struct node *a = &state->nodes[k - 1];
            struct node *b = &state->nodes[k];
            if (memcmp(a, b, sizeof *a) <= 0) {
                break;
            }
            struct node swap = *a;
            *a = *b;
            *b = swap;
        }
    }
}

static void swap_bits(uint8_t *bits, int a, int b)
{
    if ((*bits >> a & 1) != (*bits >> b & 1)) {
        *bits ^= (uint8_t)(1 << a | 1 << b);
    }
}

static void swap_bytes(uint8_t *bytes, int a, int b)
{
    uint8_t swap = bytes[a];
    bytes[a] = bytes[b];
    bytes[b] = swap;
}

static void swap_clients(struct state *state, int a, int b)
{
    struct client swap = state->clients[a];
    state->clients[a] = state->clients[b];
    state->clients[b] = swap;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &state->nodes[i];
        swap_bits(&node->holders, a, b);
        swap_bits(&node->renewed, a, b);
        swap_bytes(node->own, a, b);
        swap_bytes(node->told, a, b);
        if (node->last == a + 1) {
            node->last = (uint8_t)(b + 1);
        } else if (node->last == b + 1) {
            node->last = (uint8_t)(a + 1);
        }
    }
}

/* The least of all states that differ only in names. */
static void try_orders(struct state *state, int from, struct state *least)
{
    if (from == CLIENTS) {
        struct state sorted = *state;
        sort_nodes(&sorted);
        if (memcmp(&sorted, least, sizeof sorted) < 0) {
            *least = sorted;
        }
        return;
    }
    for (int k = from; k < CLIENTS; k++) {
        if (is_reader(k) == is_reader(from)) {
            swap_clients(state, from, k);
            try_orders(state, from + 1, least);
            swap_clients(state, from, k);
        }
    }
}

static void state_canonical(struct state *state)
{
    struct state least = *state;
    sort_nodes(&least);
    if (FRESH_OWNER) {
        struct state work = *state;
        try_orders(&work, 0, &least);
    }
    *state = least;
}

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
            for (int i = 0; i < NODES && SECOND_PHASE; i++) {
                if (state->nodes[i].memory != AWAY &&
                    may_raise_to(state, k, fence)) {
                    confirm(state, k, i, fence);
                }
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
