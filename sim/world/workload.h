/* SPDX-License-Identifier: Apache-2.0 */
/* The workload of a process is its lanes: each makes one turn of the story
 * after the other, as one user of the process would. world.h has the struct.
 */
#ifndef HF_SIM_WORKLOAD_H
#define HF_SIM_WORKLOAD_H

#include "world/world.h"

/* ---- All lanes of a process ---------------------------------------------- */

/* From inside its fiber: run the turns of a process. @return when the next
 * step is due, in the world's time. */
int64_t sim_lanes_run(struct sim_process *process);

/* The process crashes: end its turns for the oracle. */
void sim_lanes_crash(struct sim_process *process);

/* No turn needs a client now: a command closes its client then. */
bool sim_lanes_are_idle(const struct sim_process *process);

/* The story has no further turn for the process; the world ends when that is so
 * of all. */
bool sim_lanes_are_over(const struct sim_process *process);

/* The library's on_state callback of the process. */
void sim_lanes_changed(struct sim_process *process, struct hf_lock *lock,
                       int state);

/* ---- One lane ------------------------------------------------------------ */

/* The first name of the turn. */
static inline int sim_turn_first_name(const struct sim_turn *turn)
{
    return __builtin_ctz(turn->names | 1U << SIM_NAMES_MAX);
}

/* One step of its writes (guarded_write.c): a read, or the write that follows
 * it. Only while the lane holds its lock. */
void sim_lane_write(struct sim_lane *lane);

/* Between the two steps of an update, the read and the write: the lock may be
 * lost between them. */
bool sim_lane_is_writing(const struct sim_lane *lane);

/* ---- workload.c ---------------------------------------------------------- */

/* Add a note about the lane to the trace, if there is one. `text` is borrowed;
 * NULL: none. */
void sim_lane_note(struct sim_lane *lane, enum sim_note_kind kind,
                   const char *text);

/* The lane's turn is over. */
void sim_lane_rest(struct sim_lane *lane);

/* A blocking call needs that: another lane's lock could only be released by the
 * very process that is blocked. */
bool sim_lane_is_alone(const struct sim_lane *lane);

/* ---- workload_names.c ---------------------------------------------------- */

/* Let `request` ask for the turn's names; `names` has SIM_NAMES_MAX places. */
void sim_lane_ask_for(const struct sim_lane *lane, struct hf_request *request,
                      struct hf_name *names);

/* The fence of the lane's lock of the turn's first name. */
uint64_t sim_lane_fence(const struct sim_lane *lane);

/* ---- workload_calls.c ---------------------------------------------------- */

/* Run a turn that is no acquisition. */
void sim_lane_call(struct sim_lane *lane);

/* By the marks at the nodes: a command was started in the period already. */
bool sim_lane_check_marked(struct sim_lane *lane);

/* @return false: no command may start. */
bool sim_lane_mark(struct sim_lane *lane);
void sim_lane_withdraw(struct sim_lane *lane);

/* Release the lock with a reservation. */
void sim_lane_reserve(struct sim_lane *lane);

/* ---- workload_foreign.c -------------------------------------------------- */

/* Begin a turn of a plain client of another library: ask the nodes for the
 * lock. */
void sim_foreign_begin(struct sim_lane *lane);

/* The lane's timer is due: retry, release, or end the turn. */
void sim_foreign_go_on(struct sim_lane *lane);

#endif
