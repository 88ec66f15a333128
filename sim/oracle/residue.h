/* SPDX-License-Identifier: Apache-2.0 */
/* RESIDUE of releases: an owner that was released, or given up, has to vanish
 * from each node that its RELEASE could reach. An owner is followed from its
 * first ACQUIRE at a node (sim_owner_ran()) until it is checked everywhere. */
#ifndef HF_SIM_ORACLE_RESIDUE_H
#define HF_SIM_ORACLE_RESIDUE_H

#include "oracle/state.h"

/* A node has executed a script of this chain. */
void sim_owner_ran(struct sim_oracle *oracle, struct sim_chain *chain, int node,
                   const struct sim_run *run);

/* The turn is over: from now on its owners have to vanish from the nodes.
 * `is_released`: RELEASE returned; else it was given up. */
void sim_owner_ended(struct sim_oracle *oracle, const struct sim_live *live,
                     bool is_released);

/* The turn ended: its owners that were not released before (the lock was handed
 * on, or the process crashed) are not checked. */
void sim_owner_handed_on(struct sim_oracle *oracle,
                         const struct sim_live *live);

/* The node has lost data: it needs no check any more. */
void sim_owner_forgot(struct sim_oracle *oracle, int node);

/* Check the owners that have ended. */
void sim_owner_look(struct sim_oracle *oracle);

/* The owner in the lock key at a node, borrowed until that node executes its
 * next request; NULL: the name is free there. */
const char *sim_owner_at(const struct sim_oracle *oracle,
                         const struct sim_chain *chain, unsigned node,
                         size_t *len);

#endif
