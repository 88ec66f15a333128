/* SPDX-License-Identifier: Apache-2.0 */
/* Since when a process could reach a node, from the faults of the story: for
 * rules that need it at this moment (reach.h: over a time that has passed). */
#ifndef HF_SIM_ORACLE_DISTURBED_H
#define HF_SIM_ORACLE_DISTURBED_H

#include "oracle/state.h"

/* @return since when process and node are up, the node votes for the process,
 * and no fault touches the two; INT64_MAX: that is not so now. */
int64_t sim_reach_since(struct sim_oracle *oracle, int process, unsigned node);

/* @return since when the process runs without a pause; INT64_MAX: not now. */
int64_t sim_reach_runs_since(struct sim_oracle *oracle, int process);

/* The process has run: note which nodes vote for it. */
void sim_reach_look(struct sim_oracle *oracle, int process);

/* The longest delay of one message, without a fault. */
int64_t sim_reach_way_ns(const struct sim_world *world);

/* Renewals begin a third of a lease apart: with fewer than six round trips in a
 * lease they may come too late. */
bool sim_reach_is_fast(const struct sim_story *story, int64_t ttl_ms);

#endif
