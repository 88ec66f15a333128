/* SPDX-License-Identifier: Apache-2.0 */
/* QUEUES AND HAND-OVER: BOUNDS, FAULTS, RULES, AND A STATE
 *
 * Of queue.c, which has the claims and the steps. Each value is set by -D in
 * model/configurations. */
#ifndef MODEL_QUEUE_STATE_H
#define MODEL_QUEUE_STATE_H

#ifndef NODES
#define NODES 3
#endif
#ifndef LIVE
#define LIVE NODES
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef READERS
#define READERS 0
#endif
/* Faults: how many of each there may be in one run. */
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* a bit for each client that may give up */
#endif
#ifndef KEEPERS
#define KEEPERS 0 /* a bit for each client that never releases */
#endif
#ifndef BREAKS
#define BREAKS 0 /* connections that close with a request in flight */
#endif
#ifndef FORGETS
#define FORGETS 0 /* waiters that a node drops: a push had no receiver */
#endif
/* The rules; 1 is the product, 0 a mutant. */
#ifndef ANSWERS_TRAVEL
#define ANSWERS_TRAVEL 1 /* 0: all at once: fewer states, not a mutant */
#endif
#ifndef YIELDS
#define YIELDS 1 /* an incomplete owner yields to an earlier ticket */
#endif
#ifndef YIELD_NAMES_GRANT
#define YIELD_NAMES_GRANT 1 /* YIELD is executed only for its own grant */
#endif
#ifndef IGNORES_STALE
#define IGNORES_STALE 1 /* a grant must exceed the last "not yours" */
#endif
#ifndef YIELDS_AGAIN
#define YIELDS_AGAIN 1 /* "yours" after a YIELD: the YIELD was lost */
#endif
#ifndef SHARED_MOVES
#define SHARED_MOVES 1 /* a shared grant moves the counter too */
#endif
#ifndef RAISE_MOVES
#define RAISE_MOVES 1 /* a sharer's CONFIRM raises the counter too */
#endif
/* Which votes count. 0: all; 1: not of a node that is being raised; 2: nor of a
 * node whose raise had no reply, unless it replied "not yours" since; 3: those
 * at or above the value of the raise; 4: these, and those of nodes where every
 * raise had a reply. */
#ifndef RAISED
#define RAISED 4
#endif
/* Clocks that are ahead: the counter of the last node begins at FAR, those of
 * the two before it at AHEAD and BETWEEN. A node refuses to be raised by more
 * than BOUND. */
#ifndef FAR
#define FAR 0
#endif
#ifndef AHEAD
#define AHEAD 0
#endif
#ifndef BETWEEN
#define BETWEEN 0
#endif
#ifndef BOUND
#define BOUND COUNTER_MAX
#endif
/* What such a refusal reports: 0: no bound, as if the reply were lost. */
#ifndef BOUND_IS_ANSWER
#define BOUND_IS_ANSWER 1
#endif
/* 0: nodes are also raised to a value that a majority may refuse. */
#ifndef RAISES_SURELY
#define RAISES_SURELY 1
#endif
/* If all nodes have granted, and no majority can be raised to one value, all
 * are raised to the middle one, in steps. */
#ifndef STEPS
#define STEPS 1
#endif
#ifndef ALIGNS
#define ALIGNS 1 /* RELEASE raises the counter to the fence */
#endif

#include <stdint.h>

#define MAJORITY (NODES / 2 + 1)
#define COUNTER_MAX 15

enum verb { NOTHING, ACQUIRE, CONFIRM, YIELD };
enum verdict { SILENCE, YOURS, NOT_YOURS };
enum phase { IDLE, WAITING, HOLDING, DONE, CRASHED };

/* Between one client and one node. */
struct link {
    uint64_t own : 4;        /* at the node: the sharer's own counter */
    uint64_t vote : 4;       /* at the client: last counter replied as
                                "yours" */
    uint64_t stale : 4;      /* at the client: last counter replied as "not
                                yours" */
    uint64_t ahead : 1;      /* at the client: an earlier ticket waits there */
    uint64_t unanswered : 4; /* at the client: a raise without a reply */
    uint64_t verb : 2;       /* request in flight */
    uint64_t counter : 4;    /* of that request */
    uint64_t verdict : 2;    /* reply in flight */
    uint64_t answer : 4;     /* counter in that reply */
    uint64_t answer_ahead : 1;
    uint64_t ghost_verb : 2; /* request of a closed connection */
    uint64_t ghost_counter : 4;
    uint64_t pushes : 16;     /* grants pushed, a bit each */
    uint64_t most : 4;        /* at the client: bound of raises; 0: unknown */
    uint64_t answer_most : 4; /* in the reply in flight: the same */
    uint64_t lost : 1;        /* at the client: the reply to a raise was lost */
};

struct node {
    uint8_t holders; /* a bit each: a writer, or a group of readers */
    uint8_t queue;   /* a bit each; the lowest is first */
    uint8_t counter;
    uint8_t unused[5];
    struct link links[CLIENTS];
};

struct client {
    uint8_t phase;
    uint8_t fence;
    uint8_t least; /* greatest fence completed when it began */
    uint8_t top;   /* greatest value to which it raised other nodes */
};

struct state {
    struct node nodes[LIVE];
    struct client clients[CLIENTS];
    uint8_t crashes;
    uint8_t breaks;
    uint8_t forgets;
    uint8_t unused[8 - (CLIENTS * 4 + 3) % 8];
};

#define HAS_GOAL
#include "checker.h"

enum kind {
    START,
    EXECUTED,
    GHOST,
    ANSWERED,
    PUSHED,
    SENT_CONFIRM,
    SENT_YIELD,
    COMPLETED,
    RELEASES,
    FREED,
    CRASH,
    LEAVE,
    BREAK,
    FORGET
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "starts to wait",
        "its request is executed",
        "its ghost of a request is executed",
        "gets the answer",
        "gets the pushed grant",
        "sends CONFIRM",
        "sends YIELD",
        "HOLDS",
        "is done",
        "its RELEASE is executed, or its lease is over",
        "crashes",
        "gives up",
        "its connection breaks",
        "its place is forgotten",
    };
    printf("client %u %s", step.who + 1u, text[step.kind]);
    if (step.node != 0) {
        printf(" at node %u", (unsigned)step.node);
    }
    if (step.value != 0) {
        printf(" [%u]", (unsigned)step.value);
    }
}

static void state_print(const struct state *state)
{
    static const char *const phases[] = {"idle", "waits", "HOLDS", "done",
                                         "crashed"};
    static const char *const verbs[] = {"", "ACQUIRE", "CONFIRM", "YIELD"};
    for (int i = 0; i < LIVE; i++) {
        const struct node *node = &state->nodes[i];
        printf("node %d: c=%d of", i + 1, node->counter);
        for (int k = 0; k < CLIENTS; k++) {
            if (node->holders >> k & 1) {
                printf(" %d@%d", k + 1, node->links[k].own);
            }
        }
        printf(" queue");
        for (int k = 0; k < CLIENTS; k++) {
            if (node->queue >> k & 1) {
                printf(" %d", k + 1);
            }
        }
        for (int k = 0; k < CLIENTS; k++) {
            const struct link *link = &node->links[k];
            if (link->verb != NOTHING) {
                printf(" (%d: %s %d)", k + 1, verbs[link->verb], link->counter);
            }
        }
        printf("; ");
    }
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *client = &state->clients[k];
        printf("\n       client %d %s %s", k + 1,
               (READERS >> k & 1) ? "(reader)" : "(writer)",
               phases[client->phase]);
        if (client->phase >= HOLDING) {
            printf(" fence %d", client->fence);
        }
        printf(" votes");
        for (int i = 0; i < LIVE; i++) {
            printf(" %d>%d", state->nodes[i].links[k].vote,
                   state->nodes[i].links[k].stale);
        }
    }
}

static void state_canonical(struct state *state);

static void state_init(struct state *state)
{
    state->crashes = CRASHES;
    state->breaks = BREAKS;
    state->forgets = FORGETS;
    if (FAR > 0) {
        state->nodes[LIVE - 1].counter = FAR;
        state->nodes[LIVE - 2].counter = AHEAD;
        state->nodes[LIVE > 2 ? LIVE - 3 : 0].counter = BETWEEN;
        state_canonical(state);
    }
}

/* Nodes are alike. */
static void state_canonical(struct state *state)
{
    for (int i = 1; i < LIVE; i++) {
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

static bool state_is_goal(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        bool keeps = (KEEPERS >> k & 1) != 0;
        if (state->clients[k].phase < (keeps ? HOLDING : DONE)) {
            return false;
        }
    }
    return true;
}

static bool is_reader(int who)
{
    return (READERS >> who & 1) != 0;
}

static bool is_holder(const struct node *node, int who)
{
    return (node->holders >> who & 1) != 0;
}

#endif
