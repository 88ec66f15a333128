/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a story. */
#ifndef HF_SIM_FAULTS_H
#define HF_SIM_FAULTS_H

#include "world/world.h"

/* Put all faults of the story into the heap. */
void sim_faults_plan(struct sim_world *world);

/* End all faults now. */
void sim_faults_end(struct sim_world *world);

#endif
