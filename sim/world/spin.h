/* SPDX-License-Identifier: Apache-2.0 */
/* A livelock: something is done again and again, and time does not go on. It is
 * told as a breach of LIVE that names the instant and what spins; the batch
 * adds the seed. Three kinds are seen:
 *   - events without end at one instant (the world's loop);
 *   - a process that runs on without end and never sleeps (its clock reads);
 *   - a step that calls nothing of the simulator: it is killed by a timer of
 *     CPU time, and says where it was. */
#ifndef HF_SIM_SPIN_H
#define HF_SIM_SPIN_H

#include "world/world.h"

/* One world at a time: from its beginning to its end. */
void sim_spin_begin(const struct sim_world *world);
void sim_spin_end(void);

/* An event is about to be fired. @return true: it was one too many; the breach
 * is told. */
bool sim_spin_event(struct sim_world *world, const struct sim_event *event);

/* A process that runs has read its clock. @return true: once too often. */
bool sim_spin_clock(struct sim_process *process);

#endif
