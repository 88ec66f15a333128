/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by draw_faults.c and plots.c while they draw. */
#ifndef HF_SIM_STORY_PLAN_H
#define HF_SIM_STORY_PLAN_H

#include "story/story_parts.h"

struct sim_plan {
    struct sim_story *story;
    struct sim_random random;
    int64_t ttl_ns;
    int64_t centres_ns[4]; /* times around which faults are clustered */
};

static inline bool sim_plan_chance(struct sim_plan *plan, int percent)
{
    return sim_chance(&plan->random, percent);
}

static inline int64_t sim_plan_between(struct sim_plan *plan, int64_t low,
                                       int64_t high)
{
    return sim_draw_between(&plan->random, low, high);
}

/* Is this kind of fault required in the story's regime? */
bool sim_plan_has(const struct sim_plan *plan, enum sim_fault_kind kind);

int sim_plan_process(struct sim_plan *plan);
int sim_plan_node(struct sim_plan *plan);
int64_t sim_plan_time(struct sim_plan *plan);

/* Draw a span relative to the lease: near a third of it, where renewals are
 * due, or past its end. */
int64_t sim_plan_span(struct sim_plan *plan);
int64_t sim_plan_amount(struct sim_plan *plan, enum sim_fault_kind kind);

/* Add a fault, shortened so that it begins and ends before the calm. */
void sim_plan_add(struct sim_plan *plan, struct sim_fault fault);

void sim_plots_add(struct sim_plan *plan);

#endif
