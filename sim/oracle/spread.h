/* SPDX-License-Identifier: Apache-2.0 */
/* SPREAD: a lock that was renewed twice is at every node that it could reach.
 */
#ifndef HF_SIM_ORACLE_SPREAD_H
#define HF_SIM_ORACLE_SPREAD_H

#include "oracle/state.h"

/* The turn has this part now: its renewals count from here on. */
void sim_spread_begin(struct sim_oracle *oracle, struct sim_part *part);

/* The process of the turn has run: a renewal that was confirmed since the last
 * look begins another round of the check. */
void sim_spread_look(struct sim_oracle *oracle, const struct sim_live *live,
                     struct sim_part *part);

/* A node has executed a script of this name: note which parts have their owner
 * there now. */
void sim_spread_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node);

#endif
