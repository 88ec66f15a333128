/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by draw_faults.c and plots.c while they draw: draw_faults.c
 * makes the plan and adds single faults, then sim_plots_add() those that belong
 * together. A change of the draws, or of their order, gives each seed another
 * story, though not another run to a story that is written down. */
#ifndef HF_SIM_STORY_PLAN_H
#define HF_SIM_STORY_PLAN_H

#include "story/story_parts.h"

/* A story that is being drawn. */
struct sim_plan {
    struct sim_story *story;
    struct sim_random random;
    int64_t ttl_ns;
    int64_t centres_ns[4]; /* times around which faults are clustered */
};

/* True in `percent` of 100 draws. */
static inline bool sim_plan_chance(struct sim_plan *plan, int percent)
{
    return sim_chance(&plan->random, percent);
}

/* Both ends included. */
static inline int64_t sim_plan_between(struct sim_plan *plan, int64_t low,
                                       int64_t high)
{
    return sim_draw_between(&plan->random, low, high);
}

/* Only of kinds that every story of the regime has; others depend on the
 * seed. */
bool sim_plan_has(const struct sim_plan *plan, enum sim_fault_kind kind);

/* Draw one of the story's processes, or nodes; and a time: in half of the
 * draws near the others, since faults that meet find more. */
int sim_plan_process(struct sim_plan *plan);
int sim_plan_node(struct sim_plan *plan);
int64_t sim_plan_time(struct sim_plan *plan);

/* Draw a span relative to the lease: near a third of it, where renewals are
 * due, or past its end. */
int64_t sim_plan_span(struct sim_plan *plan);

/* Draw the amount of such a fault: nanoseconds, or a number
 * (sim_fault_form()). */
int64_t sim_plan_amount(struct sim_plan *plan, enum sim_fault_kind kind);

/* Add a fault, shortened so that it begins and ends before the calm. */
void sim_plan_add(struct sim_plan *plan, struct sim_fault fault);

/* Add faults that belong together, which chance would rarely combine. */
void sim_plots_add(struct sim_plan *plan);

#endif
