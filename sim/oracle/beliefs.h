/* SPDX-License-Identifier: Apache-2.0 */
/* C4 and PERMITS: which turns believe that they hold a name. A belief begins
 * with sim_beliefs_begin(); it ends when the turn does, or at its deadline. */
#ifndef HF_SIM_ORACLE_BELIEFS_H
#define HF_SIM_ORACLE_BELIEFS_H

#include "oracle/state.h"

/* The holder's belief begins now … */
void sim_beliefs_begin(struct sim_oracle *oracle, struct sim_live *live);
/* … or its deadline may have changed: its process has run. */
void sim_beliefs_look(struct sim_oracle *oracle, struct sim_live *live);

#endif
