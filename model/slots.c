/* SPDX-License-Identifier: Apache-2.0 */
/* PERMITS: AT MOST SO MANY HOLDERS, OVER SEVERAL NODES
 *
 * SLOTS=1: each permit is a slot, an exclusive lock of its own over all nodes.
 * A caller enters the queues of all slots under one ticket, keeps the slot
 * that it completes first and leaves the others.
 *
 * SLOTS=0: what suggests itself and is wrong: each node counts to PERMITS, and
 * whoever got a permit from a majority holds one. With two permits at three
 * nodes there are six, and three callers need but two each.
 *
 * One slot's counters, stale grants and lost requests are queue.c's subject; a
 * vote is here just heard, or not yet. No lease ends.
 *
 * Claims: never more than PERMITS hold; from every state all can finish. */
#ifndef NODES
#define NODES 3
#endif
#ifndef CALLERS
#define CALLERS 3
#endif
#ifndef PERMITS
#define PERMITS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef YIELDS
#define YIELDS 1 /* who is not done yields a node to an earlier ticket */
#endif
#ifndef LEAVES
#define LEAVES 1 /* who completed one slot leaves the others */
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* a bit for each caller that may give up */
#endif

#include <stdint.h>

#define MAJORITY (NODES / 2 + 1)
#define LINES (SLOTS ? PERMITS : 1) /* queues at a node for this name */
#define ROOM (SLOTS ? 1 : PERMITS)  /* holders that each of them admits */

/* One slot at one node. Each member has a bit for each caller; the lowest bit
 * in the queue has the earliest ticket. */
struct line {
    uint8_t holders;
    uint8_t queue;
    uint8_t entered; /* its ACQUIRE has been executed */
    uint8_t heard;   /* the caller knows that it holds here */
};

struct node {
    struct line lines[LINES];
};

enum phase { IDLE, WAITING, HOLDING, DONE };

struct state {
    struct node nodes[NODES];
    uint8_t phase[CALLERS];
    uint8_t slot[CALLERS]; /* HOLDING: which */
};

#define HAS_GOAL
#include "checker.h"

enum kind { START, ENTERED, HEARD, YIELDED, COMPLETED, LEFT, DONE_NOW, QUIT };

static void step_print(struct step step)
{
    static const char *const text[] = {
        "starts to wait", "ACQUIRE executed", "hears of its grant",
        "YIELD executed", "HOLDS slot",       "RELEASE executed",
        "is done",        "gives up"};
    printf("caller %u %s", step.who + 1u, text[step.kind]);
    if (step.kind != START && step.kind < DONE_NOW) {
        printf(" [slot %u]", (unsigned)step.value);
    }
    if (step.node != 0) {
        printf(" at node %u", (unsigned)step.node);
    }
}

static void bits_print(const char *name, uint8_t bits)
{
    printf("%s", name);
    for (int k = 0; k < CALLERS; k++) {
        if (bits >> k & 1) {
            printf("%d", k + 1);
        }
    }
}

static void state_print(const struct state *state)
{
    static const char *const phases[] = {"idle", "waits", "HOLDS", "done"};
    for (int i = 0; i < NODES; i++) {
        printf("node %d:", i + 1);
        for (int n = 0; n < LINES; n++) {
            bits_print(" of ", state->nodes[i].lines[n].holders);
            bits_print(" queue ", state->nodes[i].lines[n].queue);
        }
        printf("; ");
    }
    for (int k = 0; k < CALLERS; k++) {
        printf("%d %s ", k + 1, phases[state->phase[k]]);
    }
}

static void state_init(struct state *state)
{
    (void)state;
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

static bool state_is_goal(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        if (state->phase[k] != DONE) {
            return false;
        }
    }
    return true;
}

static int count(uint8_t bits)
{
    int n = 0;
    for (; bits != 0; bits >>= 1) {
        n += bits & 1;
    }
    return n;
}

static void serve(struct line *line)
{
    for (int k = 0; k < CALLERS && count(line->holders) < ROOM; k++) {
        if ((line->queue >> k & 1) != 0) {
            line->queue &= (uint8_t) ~(1 << k);
            line->holders |= (uint8_t)(1 << k);
        }
    }
}

static void take_out(struct line *line, int who)
{
    uint8_t others = (uint8_t) ~(1 << who);
    line->holders &= others;
    line->queue &= others;
    line->heard &= others;
    serve(line);
}

static void reach_at(const struct state *next, enum kind kind, int who,
                     int node, int slot)
{
    struct step step = {(uint8_t)kind, (uint8_t)who, (uint8_t)node,
                        (uint8_t)slot};
    int holding = 0;
    for (int k = 0; k < CALLERS; k++) {
        holding += next->phase[k] == HOLDING;
    }
    if (holding > PERMITS) {
        broken("more holders than permits");
    }
    reach(next, step);
}

static void complete(const struct state *state, int who)
{
    for (int n = 0; n < LINES; n++) {
        int votes = 0;
        for (int i = 0; i < NODES; i++) {
            votes += state->nodes[i].lines[n].heard >> who & 1;
        }
        if (votes >= MAJORITY) {
            struct state next = *state;
            next.phase[who] = HOLDING;
            next.slot[who] = (uint8_t)n;
            reach_at(&next, COMPLETED, who, 0, n);
        }
    }
}

static void happen_at(const struct state *state, int who, int i, int n)
{
    const struct line *line = &state->nodes[i].lines[n];
    enum phase phase = state->phase[who];
    bool is_mine = (line->holders >> who & 1) != 0;
    bool is_here = is_mine || (line->queue >> who & 1) != 0;
    bool has_let_go =
        phase == DONE || (phase == HOLDING && LEAVES && state->slot[who] != n);
    struct state next = *state;
    struct line *mine = &next.nodes[i].lines[n];
    if ((line->entered >> who & 1) == 0) { /* however late */
        mine->entered |= (uint8_t)(1 << who);
        if (!has_let_go) {
            mine->queue |= (uint8_t)(1 << who);
            serve(mine);
        }
        reach_at(&next, ENTERED, who, i + 1, n);
        return;
    }
    if (has_let_go && is_here) {
        take_out(mine, who);
        reach_at(&next, LEFT, who, i + 1, n);
        return;
    }
    if (phase != WAITING || !is_mine) {
        return;
    }
    if ((line->heard >> who & 1) == 0) {
        mine->heard |= (uint8_t)(1 << who);
        reach_at(&next, HEARD, who, i + 1, n);
        next = *state;
    }
    if (YIELDS && (line->queue & ((1 << who) - 1)) != 0) {
        mine->queue |= (uint8_t)(1 << who);
        mine->holders &= (uint8_t) ~(1 << who);
        mine->heard &= (uint8_t) ~(1 << who);
        serve(mine);
        reach_at(&next, YIELDED, who, i + 1, n);
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        struct state next = *state;
        if (state->phase[k] == IDLE) {
            next.phase[k] = WAITING;
            reach_at(&next, START, k, 0, 0);
            continue;
        }
        if (state->phase[k] == WAITING) {
            complete(state, k);
            if ((LEAVERS >> k & 1) != 0) {
                next.phase[k] = DONE;
                reach_at(&next, QUIT, k, 0, 0);
            }
        }
        if (state->phase[k] == HOLDING) {
            next.phase[k] = DONE;
            next.slot[k] = 0;
            reach_at(&next, DONE_NOW, k, 0, 0);
        }
        for (int i = 0; i < NODES; i++) {
            for (int n = 0; n < LINES; n++) {
                happen_at(state, k, i, n);
            }
        }
    }
}
