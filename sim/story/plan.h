/* SPDX-License-Identifier: Apache-2.0 */
/* What draw_faults.c and plots.c share while they draw. */
#ifndef HF_SIM_STORY_PLAN_H
#define HF_SIM_STORY_PLAN_H

#include "story/story_parts.h"

struct sim_plan {
    struct sim_story *story;
    struct sim_random random;
    int64_t ttl_ns;
    int64_t centres_ns[4]; /* around which things come together */
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

/* Is it what makes this regime? */
bool sim_plan_has(const struct sim_plan *plan, enum sim_fault_kind kind);

int sim_plan_process(struct sim_plan *plan);
int sim_plan_node(struct sim_plan *plan);
int64_t sim_plan_time(struct sim_plan *plan);

/* Around a lease: a third, where renewals are due, and past its end. */
int64_t sim_plan_span(struct sim_plan *plan);
int64_t sim_plan_amount(struct sim_plan *plan, enum sim_fault_kind kind);

/* Shortened so that it begins and is over before the calm. */
void sim_plan_add(struct sim_plan *plan, struct sim_fault fault);

void sim_plots_add(struct sim_plan *plan);

#endif
