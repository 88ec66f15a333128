/* SPDX-License-Identifier: Apache-2.0 */
/* THE LIMITS OF A REGIME
 *
 * A regime limits how far the world deviates from Holdfast's assumptions; a
 * story beyond it may break guarantees that are not promised. In a drawn story
 * some faults need others to stay within the regime: a server that loses
 * seconds was configured to sync seldom, a clock that starts wrong is set
 * right, all faults end before the calm. A story that was cut or edited must
 * meet the same conditions, so they are checked here, apart from the drawing.
 */
#include "story/story_parts.h"

#include "core/limits.h"

/* The largest step of a node's clock back, and all its steps ahead: with larger
 * ones leases there would last almost for ever. */
#define JUMP_BACK_LEASES 120
#define JUMP_AHEAD_NS (3600 * SIM_S)

/* Times and spans are rounded to the microsecond, each separately. */
#define ROUNDING_NS 2000

static bool forgets(const struct sim_fault *fault)
{
    return fault->kind == SIM_FAULT_AGE || fault->kind == SIM_FAULT_EMPTY ||
           fault->kind == SIM_FAULT_REPLICA;
}

/* In SIM_FLOOR_ALONE only the clock floor separates old fences from new ones: a
 * node that loses its data must be down for a step of the floor, plus the
 * difference of the clocks. */
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

/* A durable server may lose only writes from a time when it was configured to
 * sync seldom, and while it still is. */
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

/* Only a restart that loses data may come with a wrong clock. */
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

/* Two steps make a clock wrong at a restart: one while the node is down, and
 * the opposite one soon after its start. Unequal numbers would leave it
 * wrong. */
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

static bool sets_outlier_right(const struct sim_story *story,
                               const struct sim_fault *step)
{
    return sim_is_outlier(story, (unsigned)step->node) &&
           step->amount == -story->node_wall_ns[step->node];
}

/* Steps of one clock add up: two may put it further ahead of the other nodes
 * than those accept (HF_FENCE_AHEAD_MAX). */
static int64_t ahead_ns(const struct sim_story *story, int node)
{
    int64_t ns = 0;
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *step = &story->faults[i];
        if (step->kind == SIM_FAULT_NODE_CLOCK && step->node == node &&
            step->amount > 0 && !sets_outlier_right(story, step)) {
            ns += step->amount;
        }
    }
    return ns;
}

static bool is_step_within(const struct sim_story *story,
                           const struct sim_fault *step)
{
    if (story->regime == SIM_BOOT_CLOCKS) {
        return is_set_right(story, step);
    }
    if (sets_outlier_right(story, step)) {
        return story->n_nodes > 1; /* a sole node's leases would last years */
    }
    return (step->amount <= 0 ||
            ahead_ns(story, step->node) <= JUMP_AHEAD_NS) &&
           step->amount >= -JUMP_BACK_LEASES * story->max_ttl_ms * SIM_MS;
}

bool sim_step_has_room(const struct sim_story *story,
                       const struct sim_fault *step)
{
    return step->amount <= 0 || story->regime == SIM_BOOT_CLOCKS ||
           sets_outlier_right(story, step) ||
           ahead_ns(story, step->node) + step->amount <= JUMP_AHEAD_NS;
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

/* A minority of the clocks may be far off. So may that of a sole node. */
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
