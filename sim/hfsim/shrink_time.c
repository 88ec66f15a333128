/* SPDX-License-Identifier: Apache-2.0 */
/* SHRINKING TIME
 *
 * A story that breaks a rule after minutes is mostly idle time. Each gap before
 * a fault or a turn is closed, or made shorter by a half of it, a quarter …:
 *   - for all that follows it: faults, turns and the calm move earlier
 *     together;
 *   - for the faults and the calm alone;
 *   - for one fault alone, which moves closer to the one before.
 * At the end the calm follows the last fault. Every move makes some time
 * earlier by a millisecond at least, and none later, so this ends.
 *
 * The begin of a turn depends on the run, since its lane may wait. The code
 * assumes that it begins after the sum of its lane's think and hold times
 * before it. That is an estimate: a trial decides whether the move is kept. */
#include "hfsim/shrink_parts.h"

/* A gap is tried whole, and down to a sixteenth of it: smaller moves cost a
 * trial each and hardly shorten a story. */
#define PARTS 16

enum scope { ALL, FAULTS, ONE_FAULT };

/* Faults and turns that begin at `from_ns` or later move earlier by `by_ns`. */
struct move {
    enum scope scope;
    size_t fault; /* the one */
    int64_t from_ns, by_ns;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Shorten the think time of each lane's first turn that begins at `from_ns` or
 * later. */
static void pull_turns(struct sim_story *story, int64_t from_ns, int64_t by_ns)
{
    int64_t end_ns[SIM_PROCESSES_MAX][SIM_LANES_MAX] = {{0}};
    bool is_pulled[SIM_PROCESSES_MAX][SIM_LANES_MAX] = {{false}};
    for (size_t i = 0; i < story->n_turns; i++) {
        struct sim_turn *turn = &story->turns[i];
        int64_t *end = &end_ns[turn->process][turn->lane];
        bool *pulled = &is_pulled[turn->process][turn->lane];
        int64_t begin_ns = *end + turn->think_ns;
        if (!*pulled && begin_ns >= from_ns) {
            *pulled = true;
            turn->think_ns -= smaller(by_ns, turn->think_ns);
        }
        *end = begin_ns + turn->hold_ns;
    }
}

static bool pull(struct sim_shrinker *shrinker, const struct move *move)
{
    struct sim_story trial;
    sim_story_copy(&trial, &shrinker->best);
    for (size_t i = 0; i < trial.n_faults; i++) {
        bool is_one = move->scope != ONE_FAULT || i == move->fault;
        if (is_one && trial.faults[i].at_ns >= move->from_ns) {
            trial.faults[i].at_ns -= move->by_ns;
        }
    }
    if (move->scope != ONE_FAULT) {
        trial.calm_ns -= move->by_ns;
    }
    if (move->scope == ALL) {
        pull_turns(&trial, move->from_ns, move->by_ns);
    }
    return sim_shrink_keep(shrinker, &trial);
}

/* Close the gap of `gap_ns` before the move's instant. */
static void close_gap(struct sim_shrinker *shrinker, struct move move,
                      int64_t gap_ns)
{
    for (int64_t part = 1; part <= PARTS; part *= 2) {
        move.by_ns = part == 1 ? gap_ns : gap_ns / part / SIM_MS * SIM_MS;
        if (move.by_ns < SIM_MS || pull(shrinker, &move)) {
            return;
        }
    }
}

static void close_before_fault(struct sim_shrinker *shrinker, size_t at,
                               enum scope scope)
{
    const struct sim_fault *faults = shrinker->best.faults;
    int64_t before_ns = at > 0 ? faults[at - 1].at_ns : 0;
    struct move move = {
        .scope = scope, .fault = at, .from_ns = faults[at].at_ns};
    close_gap(shrinker, move, faults[at].at_ns - before_ns);
}

/* The estimated begin of a turn. */
static int64_t begin_of(const struct sim_story *story, size_t at)
{
    const struct sim_turn *turn = &story->turns[at];
    int64_t begin_ns = turn->think_ns;
    for (size_t i = 0; i < at; i++) {
        const struct sim_turn *before = &story->turns[i];
        if (before->process == turn->process && before->lane == turn->lane) {
            begin_ns += before->think_ns + before->hold_ns;
        }
    }
    return begin_ns;
}

static void close_before_turn(struct sim_shrinker *shrinker, size_t at)
{
    struct move move = {.scope = ALL, .from_ns = begin_of(&shrinker->best, at)};
    close_gap(shrinker, move, shrinker->best.turns[at].think_ns);
}

static int64_t faults_end(const struct sim_story *story)
{
    int64_t end_ns = SIM_MS;
    for (size_t i = 0; i < story->n_faults; i++) {
        int64_t over_ns = story->faults[i].at_ns + story->faults[i].span_ns;
        end_ns = over_ns > end_ns ? over_ns : end_ns;
    }
    return end_ns;
}

/* Without faults, the calm may begin at once. */
static void pull_calm(struct sim_shrinker *shrinker)
{
    int64_t idle_ns = shrinker->best.calm_ns - faults_end(&shrinker->best);
    for (int64_t part = 1; part <= PARTS; part *= 2) {
        struct sim_story trial;
        if (idle_ns / part < SIM_MS) {
            return;
        }
        sim_story_copy(&trial, &shrinker->best);
        trial.calm_ns -= idle_ns / part;
        if (sim_shrink_keep(shrinker, &trial)) {
            return;
        }
    }
}

void sim_shrink_time(struct sim_shrinker *shrinker)
{
    for (int scope = ALL; scope <= ONE_FAULT; scope++) {
        for (size_t at = 0; at < shrinker->best.n_faults; at++) {
            close_before_fault(shrinker, at, (enum scope)scope);
        }
    }
    for (size_t at = 0; at < shrinker->best.n_turns; at++) {
        close_before_turn(shrinker, at);
    }
    pull_calm(shrinker);
}
