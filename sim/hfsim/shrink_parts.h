/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by shrink.c and shrink_time.c. */
#ifndef HF_SIM_SHRINK_PARTS_H
#define HF_SIM_SHRINK_PARTS_H

#include "oracle/oracle.h"
#include "story/story_parts.h"

struct sim_shrinker {
    struct sim_story best;
    enum sim_rule rule;
    unsigned n_strays; /* of `best`: sim_story_strays() */
    unsigned n_runs;
    bool has_cut; /* in this round */
};

/* Keep `trial`, which is consumed, if it still breaks the rule, within the
 * regime. */
bool sim_shrink_keep(struct sim_shrinker *shrinker, struct sim_story *trial);

/* Move faults and turns earlier, and the calm with them. */
void sim_shrink_time(struct sim_shrinker *shrinker);

#endif
