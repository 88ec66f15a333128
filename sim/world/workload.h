/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files of the workload. */
#ifndef HF_SIM_WORKLOAD_H
#define HF_SIM_WORKLOAD_H

#include "world/world.h"

/* The first name of the turn. */
static inline int sim_workload_name(const struct sim_turn *turn)
{
    return __builtin_ctz(turn->names | 1U << SIM_NAMES_MAX);
}

/* One step of its writes: a read, or the write that follows it. */
void sim_workload_write(struct sim_workload *lane);

/* Has the lane read a value that it will write at its next step? */
bool sim_workload_is_writing(const struct sim_workload *lane);

/* ---- workload.c ---------------------------------------------------------- */

/* Add a note about the lane to the trace, if there is one. `text` is borrowed;
 * NULL: none. */
void sim_workload_note(struct sim_workload *lane, enum sim_note_kind kind,
                       const char *text);

/* The lane's turn is over. */
void sim_workload_rest(struct sim_workload *lane);

/* Is every other lane of the process between two turns? */
bool sim_workload_is_alone(const struct sim_workload *lane);

/* ---- workload_names.c ---------------------------------------------------- */

/* Let `request` ask for the turn's names; `names` has SIM_NAMES_MAX places. */
void sim_workload_ask_for(const struct sim_workload *lane,
                          struct hf_request *request, struct hf_name *names);

/* The fence of the lane's lock of the turn's first name. */
uint64_t sim_workload_fence(const struct sim_workload *lane);

/* ---- workload_calls.c ---------------------------------------------------- */

/* Run a turn that is no acquisition. */
void sim_workload_call(struct sim_workload *lane);

/* Was a command started in the period? */
bool sim_workload_check_marked(struct sim_workload *lane);

/* @return false: no command may start. */
bool sim_workload_mark(struct sim_workload *lane);
void sim_workload_withdraw(struct sim_workload *lane);

/* Release the lock with a reservation. */
void sim_workload_reserve(struct sim_workload *lane);

/* ---- workload_foreign.c -------------------------------------------------- */

/* Begin a turn of a plain client of another library: ask the nodes for the
 * lock. */
void sim_foreign_begin(struct sim_workload *lane);

/* The lane's timer is due: retry, release, or end the turn. */
void sim_foreign_go_on(struct sim_workload *lane);

#endif
