/* SPDX-License-Identifier: Apache-2.0 */
/* FENCES: BOUNDS, FAULTS, RULES, AND A STATE
 *
 * Of fence.c, which has the claims and the steps. Each value is set by -D in
 * model/configurations. */
#ifndef MODEL_FENCE_STATE_H
#define MODEL_FENCE_STATE_H

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

/* The counters that a node has told a client. */
static void print_told(unsigned told)
{
    printf(" {");
    for (int v = 1; v <= COUNTERS; v++) {
        if (told >> v & 1) {
            printf("%d", v);
        }
    }
    printf("}");
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
            print_told(state->nodes[i].told[k]);
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

#endif
