/* SPDX-License-Identifier: Apache-2.0 */
/* EXCLUSION BY TIME: BOUNDS, FAULTS, RULES, AND A STATE
 *
 * Of timed.c, which has the claims and the steps. Each value is set by -D in
 * model/configurations. */
#ifndef MODEL_TIMED_STATE_H
#define MODEL_TIMED_STATE_H

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
#ifndef TTL
#define TTL 2 /* lease that ACQUIRE asks for */
#endif
#ifndef CLAIM
#define CLAIM TTL /* lease of a place, and of a grant out of the queue */
#endif
#ifndef RENEWED
#define RENEWED TTL /* lease that CONFIRM asks for */
#endif
#ifndef SENDS
#define SENDS 1
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
/* Faults. */
#ifndef JUMPS
#define JUMPS 0 /* how often the clock of one node leaps one tick ahead */
#endif
#ifndef AMNESIAS
#define AMNESIAS 0
#endif
#ifndef QUARANTINE
#define QUARANTINE 0 /* ticks without a request after a data loss */
#endif
/* The parts of the model. */
#ifndef QUEUE
#define QUEUE 0
#endif
#ifndef CONFIRMS
#define CONFIRMS 0
#endif
#ifndef YIELDS
#define YIELDS 0
#endif
/* The rules; 1 is the product unless stated otherwise. */
/* A repeated request: 0: keeps the expiry; 1: takes the later of both; 2: sets
 * it. */
#ifndef EXPIRY
#define EXPIRY 1
#endif
/* From when a claim counts: 0: its receipt; 1: the sending of the last request
 * answered "queued"; 2: the sending of the last request. */
#ifndef CLAIM_SINCE
#define CLAIM_SINCE 1
#endif
#ifndef CLAIM_EXCEEDS
#define CLAIM_EXCEEDS 1 /* its counter exceeds the one in that reply */
#endif
#ifndef YIELD_FORGETS
#define YIELD_FORGETS 1 /* votes up to the one given back are stale */
#endif
#ifndef TAKES_BACK
#define TAKES_BACK 0 /* a holder's CONFIRM takes a free node back */
#endif
#ifndef FRESH_OWNER
#define FRESH_OWNER 1 /* 0: a second attempt reuses the owner */
#endif

#include <stdint.h>

#define AGE_MAX (RENEWED > TTL ? RENEWED : TTL) /* no effect from then on */

struct link {
    uint8_t left;  /* at the node: ticks of the lease; 0: no holder */
    uint8_t own;   /* at the node: counter of that holder */
    uint8_t place; /* at the node: ticks of the place in the queue */
    uint8_t asks;  /* ACQUIREs sent: a bit for each age in ticks */
    uint8_t confirms;
    uint8_t pushes;               /* grants pushed: a bit for each counter */
    uint8_t good[COUNTERS + 1];   /* "yours, c": ticks for which it is valid */
    uint8_t queued[COUNTERS + 1]; /* "queued, c" in flight: ticks for which a
                                     claim counted from it would be valid */
    uint8_t heard;                /* at the client: greatest c in a "queued" */
    uint8_t claim; /* at the client: ticks for which a claim is valid */
    uint8_t stale; /* at the client: votes up to that value do not count */
};

struct node {
    uint8_t counter;
    uint8_t quarantine;
    struct link links[CLIENTS];
};

enum phase { IDLE, TRYING, OVER };

struct client {
    uint8_t phase;
    uint8_t sends;
    uint8_t is_reused;
};

struct state {
    struct node nodes[NODES];
    struct client clients[CLIENTS];
    uint8_t jumps;
    uint8_t amnesias;
};

#include "checker.h"

enum kind {
    SEND,
    ACQUIRED,
    SEND_CONFIRM,
    CONFIRMED,
    HEARD_QUEUED,
    COUNTED,
    YIELDED,
    QUIT,
    RELEASED,
    SERVED,
    JUMP,
    AMNESIA,
    TICK
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "sends ACQUIRE to all",
        "ACQUIRE executed, sent so many ticks ago:",
        "sends CONFIRM to all",
        "CONFIRM executed, sent so many ticks ago:",
        "hears 'queued' with c =",
        "counts the pushed grant",
        "YIELD executed",
        "gives up or back",
        "RELEASE executed",
        "the queue is served",
        "THE CLOCK LEAPS",
        "MEMORY LOST",
        "a tick",
    };
    if (step.kind < SERVED) {
        printf("client %u: ", step.who + 1u);
    }
    printf("%s", text[step.kind]);
    if (step.kind == ACQUIRED || step.kind == CONFIRMED || step.value != 0) {
        printf(" %u", (unsigned)step.value);
    }
    if (step.node != 0) {
        printf(" at node %u", (unsigned)step.node);
    }
}

static void state_print(const struct state *state)
{
    static const char *const phases[] = {"idle", "tries", "over"};
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &state->nodes[i];
        printf("node %d: c=%d", i + 1, node->counter);
        for (int k = 0; k < CLIENTS; k++) {
            const struct link *link = &node->links[k];
            if (link->left > 0) {
                printf(" of %d for %d", k + 1, link->left);
            }
            if (link->place > 0) {
                printf(" waits %d for %d", k + 1, link->place);
            }
        }
        printf("; ");
    }
    for (int k = 0; k < CLIENTS; k++) {
        printf("\n       client %d %s, votes good for", k + 1,
               phases[state->clients[k].phase]);
        for (int i = 0; i < NODES; i++) {
            const struct link *link = &state->nodes[i].links[k];
            uint8_t best = 0;
            for (int v = link->stale + 1; v <= COUNTERS; v++) {
                best = link->good[v] > best ? link->good[v] : best;
            }
            printf(" %d", best);
        }
    }
}

static void state_init(struct state *state)
{
    state->jumps = JUMPS;
    state->amnesias = AMNESIAS;
}

static void state_canonical(struct state *state)
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

#endif
