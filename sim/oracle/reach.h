/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a process could reach: derived from the story's faults and from
 * the delays of the network, never from the library's own state. A node counts
 * as well only if no fault has touched it for a while: "well" proves that a
 * request could succeed, "not well" proves nothing. */
#ifndef HF_SIM_ORACLE_REACH_H
#define HF_SIM_ORACLE_REACH_H

#include "world/world.h"

/* The time after a fault to detect its end, to reconnect with back-off, and to
 * retransmit. */
#define SIM_SETTLE_NS INT64_C(3000000000)

/* How long a fault has an effect: a message that it delays, or sends again,
 * comes after its end, and holds up those behind it. */
int64_t sim_reach_span_ns(const struct sim_fault *fault);

/* A process that was paused since `from_ns` is excused for being late. */
bool sim_reach_is_running(const struct sim_process *process, int64_t from_ns);

/* Nodes (bit i is node i) that the process could reach, and that had no reason
 * not to vote, at any time since `from_ns`. */
unsigned sim_reach_well(const struct sim_process *process, int64_t from_ns);

#endif
