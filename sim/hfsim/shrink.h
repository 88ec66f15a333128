/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a story down to what breaks a guarantee. */
#ifndef HF_SIM_SHRINK_H
#define HF_SIM_SHRINK_H

#include "oracle/oracle.h"
#include "story/story.h"

/* Cut `story` as long as it breaks `rule`, in place. Where the world dies
 * rather than break a rule, `rule` is SIM_RULES. @return how many runs it took;
 * 0: it does not break it. */
unsigned sim_shrink(struct sim_story *story, enum sim_rule rule);

#endif
