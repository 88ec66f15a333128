/* SPDX-License-Identifier: Apache-2.0 */
/* FIFO: of two waiters the earlier ticket is served first. */
#ifndef HF_SIM_ORACLE_ORDER_H
#define HF_SIM_ORACLE_ORDER_H

#include "oracle/state.h"

/* The clocks of all nodes are equal, so tickets have one order. Otherwise the
 * clocks decide it, and FIFO is not promised. */
bool sim_order_is_total(const struct sim_story *story);

/* A node has executed a script: note where in the queue its owner stands, if
 * it does. */
void sim_order_asked(struct sim_oracle *oracle, struct sim_chain *chain,
                     int node, const struct sim_run *run);

/* The counter of a node rose to this value. */
void sim_order_moved(struct sim_oracle *oracle, struct sim_chain *chain,
                     uint64_t counter, const struct sim_run *run);

/* The part was acquired: compare its ticket with those served before. */
void sim_order_served(struct sim_oracle *oracle, const struct sim_live *live,
                      const struct sim_part *part);

#endif
