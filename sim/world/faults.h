/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, happens here. */
#ifndef HF_SIM_FAULTS_H
#define HF_SIM_FAULTS_H

#include "world/world.h"

/* Put all faults of the story into the heap. */
void sim_faults_plan(struct sim_world *world);

/* Everything works again, at once. */
void sim_faults_end(struct sim_world *world);

/* A process that ended starts again then, unless it has by then or its host is
 * down. */
void sim_faults_start_later(struct sim_process *process, int64_t at_ns);

#endif
