/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a process could reach, told from the story's faults and from what
 * the network did with messages; never from the library's own figures. A node
 * is judged well only if nothing at all has been wrong for a while, so "not
 * well" proves nothing, and "well" proves that the library had a chance. */
#ifndef HF_SIM_ORACLE_REACH_H
#define HF_SIM_ORACLE_REACH_H

#include "world/world.h"

/* After the end of a fault: to notice, to reconnect with back-off, to
 * retransmit. */
#define SIM_SETTLE_NS INT64_C(3000000000)

/* The process has run, without a standstill, since `from_ns`. */
bool sim_reach_is_running(const struct sim_process *process, int64_t from_ns);

/* Nodes (bit i is node i) that the process could reach, and that voted for it,
 * at any time since `from_ns`. */
unsigned sim_reach_well(const struct sim_process *process, int64_t from_ns);

#endif
