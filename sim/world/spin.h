/* SPDX-License-Identifier: Apache-2.0 */
/* A livelock: work repeats, and simulated time does not advance. The first two
 * of three kinds are reported as a breach of LIVE that names the time and the
 * source; the batch adds the seed.
 *   - endless events at one time (counted in the world's loop);
 *   - a process that runs without sleeping (counted by its clock reads);
 *   - a step that does not call the simulator: a timer of CPU time ends hfsim
 *     with a message that names the time. */
#ifndef HF_SIM_SPIN_H
#define HF_SIM_SPIN_H

#include "world/world.h"

/* One world at a time: from its beginning to its end. */
void sim_spin_begin(const struct sim_world *world);

/* The world has ended: stop the timer of CPU time. */
void sim_spin_end(void);

/* An event is about to fire. @return true: there are too many at this time; the
 * breach is reported. */
bool sim_spin_event(struct sim_world *world, const struct sim_event *event);

/* A process has read its clock. @return true: too often without a sleep. */
bool sim_spin_clock(struct sim_process *process);

#endif
