/* SPDX-License-Identifier: Apache-2.0 */
/* C1, C2 and E1: the order of the fences of one name. */
#ifndef HF_SIM_ORACLE_CHAIN_H
#define HF_SIM_ORACLE_CHAIN_H

#include "oracle/state.h"

/* The chain of a name, or of the permit "NAME#N", made at its first use. Owner:
 * the oracle. NULL: no story has such a name. */
struct sim_chain *sim_oracle_chain(struct sim_oracle *oracle, const char *name,
                                   size_t len);

/* NULL is ignored. */
void sim_chain_free(struct sim_chain *chain);

/* C1, C2. `part` of the turn was acquired. */
void sim_chain_completed(struct sim_oracle *oracle, const struct sim_live *live,
                         const struct sim_part *part);

/* E1. The process of the turn has run. */
void sim_part_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part);

#endif
