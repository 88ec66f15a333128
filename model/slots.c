/* SPDX-License-Identifier: Apache-2.0 */
/* PERMITS: AT MOST SO MANY HOLDERS, OVER SEVERAL NODES
 *
 * SLOTS=1: each permit is a slot, an exclusive lock of its own over all nodes.
 * A caller enters the queues of all slots, keeps the slot that it completes
 * first and leaves the others (client/multi_name.c).
 *
 * SLOTS=0: the obvious design, which is wrong: each node counts to PERMITS, and
 * a caller that got a permit from a majority holds one. With two permits at
 * three nodes there are six, and three callers need but two each.
 *
 * One slot's counters, stale grants and lost requests are in queue.c; here a
 * vote counts at once or, with HEARS, when the grant has been received. No
 * lease ends. All callers wait from the start, and enter each queue at any
 * time.
 *
 * Claims: never more than PERMITS hold; from every state all can finish. */
#ifndef NODES
#define NODES 3
#endif
#ifndef LIVE
#define LIVE NODES /* how many nodes answer */
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
/* Each slot has tickets of its own. 1: in the opposite order. */
#ifndef CROSSED
#define CROSSED 0
#endif
#ifndef HEARS
#define HEARS 0 /* 1: a grant is received some time after it was made */
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* a bit for each caller that may give up */
#endif
#ifndef KEEPERS
#define KEEPERS 0 /* a bit for each caller that never releases */
#endif
/* The rules; 1 is the product, 0 a mutant. */
#ifndef YIELDS
#define YIELDS 1 /* an attempt without a slot yields to an earlier ticket */
#endif
#ifndef LEAVES
#define LEAVES 1 /* after one slot, a caller leaves the other queues */
#endif

#include <stdint.h>

#define MAJORITY (NODES / 2 + 1)
#define LINES (SLOTS ? PERMITS : 1) /* queues at a node for this name */
#define ROOM (SLOTS ? 1 : PERMITS)  /* holders that each queue admits */

/* One slot at one node, a bit for each caller. */
struct line {
    uint8_t holders;
    uint8_t queue;
    uint8_t entered; /* its ACQUIRE was executed, or never will be */
    uint8_t heard;   /* the caller has received the grant here */
};

struct node {
    struct line lines[LINES];
};

enum phase { WAITING, HOLDING, DONE };

struct state {
    struct node nodes[LIVE];
    uint8_t phase[CALLERS];
    uint8_t slot[CALLERS]; /* HOLDING: the slot */
};

#define HAS_GOAL
#include "checker.h"

enum kind { ENTERED, HEARD, YIELDED, COMPLETED, LEFT, DONE_NOW, QUIT };

static void step_print(struct step step)
{
    static const char *const text[] = {"ACQUIRE executed", "hears of its grant",
                                       "YIELD executed",   "HOLDS",
                                       "RELEASE executed", "is done",
                                       "gives up"};
    printf("caller %u %s", step.who + 1u, text[step.kind]);
    if (step.kind < DONE_NOW) {
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
    static const char *const phases[] = {"waits", "HOLDS", "done"};
    for (int i = 0; i < LIVE; i++) {
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

/* ---- Symmetry: nodes have no names, nor have slots ---------------------- */

static void sort_nodes(struct state *state)
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

/* Swap the slots 0 and 1. */
static void swap_slots(struct state *state)
{
    for (int i = 0; i < LIVE; i++) {
        struct line *lines = state->nodes[i].lines;
        struct line swap = lines[0];
        lines[0] = lines[LINES - 1];
        lines[LINES - 1] = swap;
    }
    for (int k = 0; k < CALLERS; k++) {
        if (state->phase[k] == HOLDING) {
            state->slot[k] ^= 1;
        }
    }
}

static void state_canonical(struct state *state)
{
    struct state other = *state;
    sort_nodes(state);
    if (LINES == 2 && !CROSSED) {
        swap_slots(&other);
        sort_nodes(&other);
        if (memcmp(&other, state, sizeof other) < 0) {
            *state = other;
        }
    }
}

static bool state_is_goal(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        bool keeps = (KEEPERS >> k & 1) != 0;
        if (state->phase[k] < (keeps ? HOLDING : DONE)) {
            return false;
        }
    }
    return true;
}

/* ---- At a node --------------------------------------------------------- */

static int count(uint8_t bits)
{
    int n = 0;
    for (; bits != 0; bits >>= 1) {
        n += bits & 1;
    }
    return n;
}

/* The caller whose ticket is the place-th in slot n. */
static int ticket_at(int n, int place)
{
    return CROSSED && n % 2 == 1 ? CALLERS - 1 - place : place;
}

static bool waits_ahead(const struct line *line, int n, int who)
{
    for (int place = 0; ticket_at(n, place) != who; place++) {
        if ((line->queue >> ticket_at(n, place) & 1) != 0) {
            return true;
        }
    }
    return false;
}

static void serve(struct line *line, int n)
{
    for (int place = 0; place < CALLERS; place++) {
        int k = ticket_at(n, place);
        if (count(line->holders) < ROOM && (line->queue >> k & 1) != 0) {
            line->queue &= (uint8_t) ~(1 << k);
            line->holders |= (uint8_t)(1 << k);
        }
    }
}

static void enter(struct line *line, int n, int who)
{
    line->entered |= (uint8_t)(1 << who);
    line->queue |= (uint8_t)(1 << who);
    serve(line, n);
}

static void take_out(struct line *line, int n, int who)
{
    line->holders &= (uint8_t) ~(1 << who);
    line->queue &= (uint8_t) ~(1 << who);
    serve(line, n);
}

/* YIELD: the caller drops the vote and keeps its ticket. */
static void yield(struct line *line, int n, int who)
{
    line->holders &= (uint8_t) ~(1 << who);
    line->heard &= (uint8_t) ~(1 << who);
    enter(line, n, who);
}

/* ---- Transitions ------------------------------------------------------- */

/* The caller leaves every slot that it does not hold. Its RELEASE arrives after
 * all of its ACQUIREs, so an ACQUIRE that is still in flight has no effect. */
static bool has_let_go(const struct state *state, int who, int n)
{
    enum phase phase = state->phase[who];
    return phase == DONE ||
           (phase == HOLDING && LEAVES && state->slot[who] != n);
}

static void let_go(struct state *state, int who)
{
    for (int n = 0; n < LINES; n++) {
        for (int i = 0; i < LIVE && has_let_go(state, who, n); i++) {
            state->nodes[i].lines[n].entered |= (uint8_t)(1 << who);
            state->nodes[i].lines[n].heard &= (uint8_t) ~(1 << who);
        }
    }
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
        for (int i = 0; i < LIVE; i++) {
            const struct line *line = &state->nodes[i].lines[n];
            votes += (HEARS ? line->heard : line->holders) >> who & 1;
        }
        if (votes >= MAJORITY) {
            struct state next = *state;
            next.phase[who] = HOLDING;
            next.slot[who] = (uint8_t)n;
            let_go(&next, who);
            reach_at(&next, COMPLETED, who, 0, n);
        }
    }
}

static void end(const struct state *state, int who, enum kind kind)
{
    struct state next = *state;
    next.phase[who] = DONE;
    next.slot[who] = 0;
    let_go(&next, who);
    reach_at(&next, kind, who, 0, 0);
}

static void happen_at(const struct state *state, int who, int i, int n)
{
    const struct line *line = &state->nodes[i].lines[n];
    bool is_mine = (line->holders >> who & 1) != 0;
    bool is_here = is_mine || (line->queue >> who & 1) != 0;
    struct state next = *state;
    struct line *mine = &next.nodes[i].lines[n];
    if ((line->entered >> who & 1) == 0) {
        enter(mine, n, who);
        reach_at(&next, ENTERED, who, i + 1, n);
        return;
    }
    if (is_here && has_let_go(state, who, n)) {
        take_out(mine, n, who);
        reach_at(&next, LEFT, who, i + 1, n);
        return;
    }
    if (state->phase[who] != WAITING || !is_mine) {
        return;
    }
    if (HEARS && (line->heard >> who & 1) == 0) {
        mine->heard |= (uint8_t)(1 << who);
        reach_at(&next, HEARD, who, i + 1, n);
        next = *state;
    }
    if (YIELDS && waits_ahead(line, n, who)) {
        yield(mine, n, who);
        reach_at(&next, YIELDED, who, i + 1, n);
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CALLERS; k++) {
        if (state->phase[k] == WAITING) {
            complete(state, k);
            if ((LEAVERS >> k & 1) != 0) {
                end(state, k, QUIT);
            }
        }
        if (state->phase[k] == HOLDING && (KEEPERS >> k & 1) == 0) {
            end(state, k, DONE_NOW);
        }
        for (int i = 0; i < LIVE; i++) {
            for (int n = 0; n < LINES; n++) {
                happen_at(state, k, i, n);
            }
        }
    }
}
