/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files of the workload. */
#ifndef HF_SIM_WORKLOAD_H
#define HF_SIM_WORKLOAD_H

#include "world/world.h"

/* The first name of the turn. */
static inline int sim_lane_name(const struct sim_turn *turn)
{
    return __builtin_ctz(turn->names | 1U << SIM_NAMES_MAX);
}

/* One step of its writes: a read, or the write that follows it. */
void sim_lane_write(struct sim_lane *lane);

/* Has the lane read a value that it will write at its next step? */
bool sim_lane_is_writing(const struct sim_lane *lane);

/* ---- workload.c ---------------------------------------------------------- */

void sim_lane_note(struct sim_lane *lane, enum sim_note_kind kind,
                   const char *text);

/* The lane's turn is over. */
void sim_lane_rest(struct sim_lane *lane);

/* Is every other lane of the process between two turns? */
bool sim_lane_is_alone(const struct sim_lane *lane);

/* ---- workload_calls.c ---------------------------------------------------- */

/* Run a turn that is no acquisition. */
void sim_lane_call(struct sim_lane *lane);

/* Was a command started in the period? */
bool sim_lane_is_marked(struct sim_lane *lane);

/* @return false: no command may start. */
bool sim_lane_mark(struct sim_lane *lane);
void sim_lane_withdraw(struct sim_lane *lane);

/* Release the lock with a reservation. */
void sim_lane_reserve(struct sim_lane *lane);

/* ---- workload_foreign.c -------------------------------------------------- */

void sim_foreign_begin(struct sim_lane *lane);
void sim_foreign_go_on(struct sim_lane *lane);

#endif
