/* SPDX-License-Identifier: Apache-2.0 */
/* A small exact model checker: every state within the bounds, breadth first.
 *
 * A model is one C file that includes this header after it has defined
 *
 *     struct state           all of the world, plain bytes, no pointers
 *     struct step            kind, who, node, value: what a transition is
 * and that then defines
 *     state_init()           the first state (it is zeroed before)
 *     state_next()           calls reach() for every possible next state
 *     state_canonical()      turns a state into the one that stands for all
 *                            that are the same but for names
 *     state_print(), step_print()
 *     state_is_goal()        only with HAS_GOAL
 *
 * Exact: whole states are kept and compared, so that nothing is taken for
 * visited that was not. Breadth first: a counter-example is a shortest one.
 * Only canonical states are kept; a trace is played again from the start, so
 * that node 1 stays node 1 from line to line.
 *
 * With HAS_GOAL it also checks that from every state a goal can still be
 * reached ("AG EF goal"): no deadlock, and no corner without a way out.
 *
 * The last line of output is for machines:
 *     RESULT holds|fails|trapped|too-big STATES DEPTH CLAIM */
#ifndef MODEL_CHECKER_H
#define MODEL_CHECKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef STATES_MAX
#define STATES_MAX 120000000u
#endif

struct step {
    uint8_t kind;
    uint8_t who;
    uint8_t node;
    uint8_t value;
};

static void state_init(struct state *state);
static void state_next(const struct state *state);
static void state_canonical(struct state *state);
static void state_print(const struct state *state);
static void step_print(struct step step);
#ifdef HAS_GOAL
static bool state_is_goal(const struct state *state);
#endif

#define NO_STATE UINT32_MAX

static struct {
    struct state *states;
    uint32_t *parents;
    uint32_t *table; /* open addressing; index + 1, 0: empty */
    uint32_t n_states;
    uint32_t room;
    uint32_t table_mask;
    uint32_t here;     /* the state whose successors are being generated */
    const char *claim; /* the claim that the next transition breaks */
    /* While a trace is replayed: the canonical state to look for. */
    const struct state *wanted;
    struct state found;
    struct step found_step;
    bool is_found;
#ifdef HAS_GOAL
    uint32_t *from;
    uint32_t *to;
    uint64_t n_edges;
    uint64_t edge_room;
#endif
} checker;

static void *checker_grow(void *memory, uint64_t bytes)
{
    void *grown = realloc(memory, bytes);
    if (grown == NULL) {
        printf("RESULT too-big %u 0 out of memory\n", checker.n_states);
        exit(3);
    }
    return grown;
}

static uint64_t checker_hash(const struct state *state)
{
    const uint8_t *bytes = (const uint8_t *)state;
    uint64_t hash = 1469598103934665603ull;
    size_t at = 0;
    for (; at + 8 <= sizeof *state; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    for (; at < sizeof *state; at++) {
        hash = (hash ^ bytes[at]) * 1099511628211ull;
    }
    hash ^= hash >> 31;
    hash *= 0xbf58476d1ce4e5b9ull;
    return hash ^ (hash >> 32);
}

static void checker_make_room(void)
{
    uint32_t room = checker.room == 0 ? 1u << 12 : checker.room * 2;
    checker.states =
        checker_grow(checker.states, (uint64_t)room * sizeof(struct state));
    checker.parents = checker_grow(checker.parents, (uint64_t)room * 4);
    free(checker.table);
    checker.table = calloc((uint64_t)room * 2, 4);
    if (checker.table == NULL) {
        (void)checker_grow(NULL, UINT64_MAX / 2);
    }
    checker.room = room;
    checker.table_mask = room * 2 - 1;
    for (uint32_t i = 0; i < checker.n_states; i++) {
        uint64_t slot = checker_hash(&checker.states[i]) & checker.table_mask;
        while (checker.table[slot] != 0) {
            slot = (slot + 1) & checker.table_mask;
        }
        checker.table[slot] = i + 1;
    }
}

/* @return the number of a canonical state. A new state is stored. */
static uint32_t checker_visit(const struct state *state)
{
    if (checker.n_states == checker.room) {
        checker_make_room();
    }
    uint64_t slot = checker_hash(state) & checker.table_mask;
    for (; checker.table[slot] != 0; slot = (slot + 1) & checker.table_mask) {
        uint32_t index = checker.table[slot] - 1;
        if (memcmp(&checker.states[index], state, sizeof *state) == 0) {
            return index;
        }
    }
    if (checker.n_states >= STATES_MAX) {
        printf("RESULT too-big %u 0 bound on states\n", checker.n_states);
        exit(3);
    }
    uint32_t index = checker.n_states++;
    checker.states[index] = *state;
    checker.parents[index] = checker.here;
    checker.table[slot] = index + 1;
    return index;
}

/* ---- Traces ------------------------------------------------------------ */

static void checker_print_line(unsigned number, struct step step,
                               const struct state *state)
{
    printf("%3u  ", number);
    if (number > 0) {
        step_print(step);
    }
    printf("\n       ");
    state_print(state);
    printf("\n");
}

/* The step from `concrete` to a state whose canonical form is `wanted`. */
static void checker_replay(const struct state *concrete,
                           const struct state *wanted)
{
    checker.wanted = wanted;
    checker.is_found = false;
    state_next(concrete);
    checker.wanted = NULL;
}

static unsigned checker_print_trace(uint32_t last, struct state *concrete)
{
    uint32_t *path = checker_grow(NULL, 4 * 4096);
    unsigned length = 0;
    for (uint32_t at = last; at != NO_STATE; at = checker.parents[at]) {
        path[length++] = at;
    }
    memset(concrete, 0, sizeof *concrete);
    state_init(concrete);
    checker_print_line(0, (struct step){0}, concrete);
    for (unsigned i = 1; i < length; i++) {
        checker_replay(concrete, &checker.states[path[length - 1 - i]]);
        *concrete = checker.found;
        checker_print_line(i, checker.found_step, concrete);
    }
    free(path);
    return length;
}

static unsigned checker_depth(uint32_t at)
{
    unsigned depth = 0;
    while ((at = checker.parents[at]) != NO_STATE) {
        depth++;
    }
    return depth;
}

/* ---- For models -------------------------------------------------------- */

/* The transition that is reported next breaks a claim. */
static void broken(const char *claim)
{
    if (checker.claim == NULL) {
        checker.claim = claim;
    }
}

/* A reachable state exceeds a bound of the model: no result. */
__attribute__((unused)) static void out_of_bounds(const char *bound)
{
    printf("RESULT too-big %u 0 %s\n", checker.n_states, bound);
    exit(3);
}

static void reach(const struct state *next, struct step step)
{
    struct state canonical = *next;
    state_canonical(&canonical);
    if (checker.wanted != NULL) {
        checker.claim = NULL;
        if (!checker.is_found &&
            memcmp(&canonical, checker.wanted, sizeof canonical) == 0) {
            checker.is_found = true;
            checker.found = *next;
            checker.found_step = step;
        }
        return;
    }
    if (checker.claim != NULL) {
        const char *claim = checker.claim;
        checker.claim = NULL;
        struct state concrete;
        unsigned steps = checker_print_trace(checker.here, &concrete);
        checker_replay(&concrete, &canonical);
        checker_print_line(steps, checker.found_step, &checker.found);
        printf("broken: %s\nRESULT fails %u %u %s\n", claim, checker.n_states,
               steps, claim);
        exit(0);
    }
    uint32_t index = checker_visit(&canonical);
#ifdef HAS_GOAL
    if (checker.n_edges == checker.edge_room) {
        checker.edge_room =
            checker.edge_room == 0 ? 1u << 16 : checker.edge_room * 2;
        checker.from = checker_grow(checker.from, checker.edge_room * 4);
        checker.to = checker_grow(checker.to, checker.edge_room * 4);
    }
    checker.from[checker.n_edges] = checker.here;
    checker.to[checker.n_edges++] = index;
#else
    (void)index;
#endif
}

/* ---- AG EF goal -------------------------------------------------------- */

#ifdef HAS_GOAL
/* Search backwards from all goals: a state that is not reached cannot reach a
 * goal. */
static uint32_t checker_first_trapped(void)
{
    uint32_t n = checker.n_states;
    uint32_t *head = checker_grow(NULL, (uint64_t)n * 4);
    uint32_t *next = checker_grow(NULL, (checker.n_edges + 1) * 4);
    uint32_t *work = checker_grow(NULL, (uint64_t)n * 4);
    bool *can_finish = calloc(n, sizeof(bool));
    uint32_t n_work = 0;
    memset(head, 0xff, (uint64_t)n * 4);
    for (uint64_t edge = 0; edge < checker.n_edges; edge++) {
        next[edge] = head[checker.to[edge]];
        head[checker.to[edge]] = (uint32_t)edge;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (state_is_goal(&checker.states[i])) {
            can_finish[i] = true;
            work[n_work++] = i;
        }
    }
    for (uint32_t done = 0; done < n_work; done++) {
        for (uint32_t edge = head[work[done]]; edge != UINT32_MAX;
             edge = next[edge]) {
            uint32_t before = checker.from[edge];
            if (!can_finish[before]) {
                can_finish[before] = true;
                work[n_work++] = before;
            }
        }
    }
    uint32_t first = 0;
    while (first < n && can_finish[first]) {
        first++;
    }
    free(head);
    free(next);
    free(work);
    free(can_finish);
    return first == n ? NO_STATE : first;
}
#endif

int main(void)
{
    struct state first;
    memset(&first, 0, sizeof first);
    state_init(&first);
    state_canonical(&first);
    checker.here = NO_STATE;
    checker_visit(&first);
    for (checker.here = 0; checker.here < checker.n_states; checker.here++) {
        struct state state = checker.states[checker.here];
        state_next(&state);
    }
    unsigned depth = checker_depth(checker.n_states - 1);
#ifdef HAS_GOAL
    uint32_t trapped = checker_first_trapped();
    if (trapped != NO_STATE) {
        struct state concrete;
        unsigned steps = checker_print_trace(trapped, &concrete) - 1;
        printf("from here the clients cannot all finish\n"
               "RESULT trapped %u %u no way out\n",
               checker.n_states, steps);
        return 0;
    }
#endif
    printf("RESULT holds %u %u\n", checker.n_states, depth);
    return 0;
}

#endif
