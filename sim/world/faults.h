/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a story, as events of the world. Each kind has one function:
 * for the passages between processes and nodes, for a process, or for a node;
 * it changes the state that world, node and process read at their next step. A
 * fault that needs older data of a node also plans when that is saved. Cost:
 * one event for each fault. */
#ifndef HF_SIM_FAULTS_H
#define HF_SIM_FAULTS_H

#include "world/world.h"

/* Put all faults of the story into the heap: once, at time 0, when processes
 * and nodes exist. */
void sim_faults_plan(struct sim_world *world);

/* End all faults now: the caller reports the calm to the oracle. */
void sim_faults_end(struct sim_world *world);

#endif
