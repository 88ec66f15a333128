/* SPDX-License-Identifier: Apache-2.0 */
/* What lane.c and errand.c share. */
#ifndef HF_SIM_LANE_H
#define HF_SIM_LANE_H

#include "world.h"

/* The first of its names. */
static inline int sim_lane_name(const struct sim_turn *turn)
{
    return __builtin_ctz(turn->names | 1U << SIM_NAMES_MAX);
}

/* One step of its writes: a read, or the write of what was read before. */
void sim_lane_write(struct sim_lane *lane);

/* It has read what it will write at the next step. */
bool sim_lane_is_writing(const struct sim_lane *lane);

#endif
