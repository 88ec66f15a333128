/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a story down to the parts that break a guarantee. */
#ifndef HF_SIM_SHRINK_H
#define HF_SIM_SHRINK_H

#include "oracle/oracle.h"
#include "story/story.h"

/* Cut `story` in place, as long as it breaks `rule`. SIM_RULES stands for a
 * crash of the run. @return the number of trials; 0: the story does not break
 * the rule. */
unsigned sim_shrink(struct sim_story *story, enum sim_rule rule);

#endif
