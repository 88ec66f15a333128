/* SPDX-License-Identifier: Apache-2.0 */
/* RISK: AT_RISK and LOST are reported in time. */
#ifndef HF_SIM_ORACLE_RISK_H
#define HF_SIM_ORACLE_RISK_H

#include "oracle/state.h"

/* The turn has this part now: its states are due from here on. */
void sim_risk_begin(struct sim_oracle *oracle, const struct sim_live *live,
                    struct sim_part *part);

/* The process of the turn has run: were AT_RISK and LOST reported in time? */
void sim_risk_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part);

#endif
