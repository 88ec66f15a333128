/* SPDX-License-Identifier: Apache-2.0 */
/* WHAT LIES WITHIN A REGIME
 *
 * A regime says how far the world deviates from what Holdfast assumes; a story
 * that goes further breaks guarantees that were never given. The faults of a
 * drawn story keep to its regime one with another: a server that loses seconds
 * was told to sync seldom, a clock that starts wrong is set right, everything
 * is over before the calm. A story that is cut or changed must keep to it too,
 * so these conditions stand here, apart from the drawing. */
#include "story/story_parts.h"

#include "core/limits.h"

/* A node's clock is set back by less than this many leases, and forward by less
 * than an hour: else leases there would run for ever. */
#define JUMP_BACK_LEASES 120
#define JUMP_AHEAD_NS (3600 * SIM_S)

/* Instants and spans are drawn to the microsecond, each by itself. */
#define ROUNDING_NS 2000

static bool forgets(const struct sim_fault *fault)
{
    return fault->kind == SIM_FAULT_AGE || fault->kind == SIM_FAULT_EMPTY ||
           fault->kind == SIM_FAULT_REPLICA;
}

/* Where the clock floor alone keeps fences apart, a node that forgot is away
 * for a step of it, and for what clocks differ. */
int64_t sim_span_least_ns(const struct sim_story *story,
                          const struct sim_fault *fault)
{
    if (story->regime != SIM_FLOOR_ALONE || !forgets(fault)) {
        return 0;
    }
    int64_t low_ns = 0;
    int64_t high_ns = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        int64_t off_ns = story->node_wall_ns[i] +
                         story->calm_ns / 1000000 * story->node_rate_ppm[i];
        low_ns = off_ns < low_ns ? off_ns : low_ns;
        high_ns = off_ns > high_ns ? off_ns : high_ns;
    }
    return 43 * SIM_S / 10 + high_ns - low_ns;
}

int64_t sim_set_right_most_ns(const struct sim_story *story)
{
    int64_t most_ns =
        HF_QUARANTINE_MS_MIN * SIM_MS -
        (story->n_nodes == 1 ? story->max_ttl_ms * SIM_MS : 2 * SIM_S);
    return most_ns < 0 ? 0 : most_ns;
}

static bool is_within(int64_t at_ns, const struct sim_fault *fault,
                      int64_t more_ns)
{
    return at_ns >= fault->at_ns &&
           at_ns <= fault->at_ns + fault->span_ns + more_ns;
}

/* A durable server loses no more than what it was told not to sync, and is told
 * so still. */
static bool is_unsynced(const struct sim_story *story,
                        const struct sim_fault *age)
{
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        bool is_told = fault->kind == SIM_FAULT_EVERYSEC ||
                       fault->kind == SIM_FAULT_UNSYNCED;
        if (is_told && fault->node == age->node &&
            fault->at_ns <= age->at_ns - age->amount + ROUNDING_NS &&
            age->at_ns < fault->at_ns + fault->span_ns) {
            return true;
        }
    }
    return false;
}

/* Did its node restart right before, so that its clock may be wrong still? */
static bool is_at_boot(const struct sim_story *story,
                       const struct sim_fault *step, int64_t more_ns)
{
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        if (forgets(fault) && fault->node == step->node &&
            is_within(step->at_ns, fault, more_ns)) {
            return true;
        }
    }
    return false;
}

/* A clock that a node starts with is put wrong while it is down, and set right
 * by the same soon after: there is one of each. */
static bool is_set_right(const struct sim_story *story,
                         const struct sim_fault *step)
{
    int others = 0;
    int same = 0;
    bool is_down = is_at_boot(story, step, 0);
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        if (fault->kind == SIM_FAULT_NODE_CLOCK && fault->node == step->node) {
            same += fault->amount == step->amount;
            others += fault->amount == -step->amount;
            is_down = is_down || (fault->amount == -step->amount &&
                                  is_at_boot(story, fault, 0));
        }
    }
    return same == others && is_down &&
           is_at_boot(story, step, sim_set_right_most_ns(story) + ROUNDING_NS);
}

static bool is_step_within(const struct sim_story *story,
                           const struct sim_fault *step)
{
    if (story->regime == SIM_BOOT_CLOCKS) {
        return is_set_right(story, step);
    }
    if (sim_is_outlier(story, (unsigned)step->node) &&
        step->amount == -story->node_wall_ns[step->node]) {
        return story->n_nodes > 1; /* a sole node's leases would last years */
    }
    return step->amount <= JUMP_AHEAD_NS &&
           step->amount >= -JUMP_BACK_LEASES * story->max_ttl_ms * SIM_MS;
}

bool sim_fault_is_within(const struct sim_story *story,
                         const struct sim_fault *fault)
{
    if (fault->at_ns + fault->span_ns > story->calm_ns ||
        fault->span_ns < sim_span_least_ns(story, fault)) {
        return false;
    }
    if (fault->kind == SIM_FAULT_NODE_CLOCK) {
        return is_step_within(story, fault);
    }
    return story->regime != SIM_RESTART_DURABLE || !forgets(fault) ||
           is_unsynced(story, fault);
}

/* A minority of the clocks may be far off. A sole node agrees with itself. */
static unsigned outliers_most(const struct sim_story *story)
{
    return story->n_nodes == 1 ? 1 : (story->n_nodes - 1) / 2;
}

unsigned sim_story_strays(const struct sim_story *story)
{
    unsigned strays = 0;
    unsigned outliers = 0;
    for (size_t i = 0; i < story->n_faults; i++) {
        strays += !sim_fault_is_within(story, &story->faults[i]);
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        outliers += sim_is_outlier(story, i);
    }
    return strays + (outliers > outliers_most(story));
}
