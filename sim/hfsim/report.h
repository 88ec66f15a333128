/* SPDX-License-Identifier: Apache-2.0 */
/* What hfsim prints of its runs. */
#ifndef HF_SIM_REPORT_H
#define HF_SIM_REPORT_H

#include "hfsim/batch.h"
#include "hfsim/options.h"
#include "world/world.h"

void sim_report_one(const char *what, const struct sim_story *story,
                    const struct sim_verdict *verdict, uint64_t digest);
void sim_report_replay(const char *what, const struct sim_options *options);
void sim_report_tally(const struct sim_tally *tally,
                      const struct sim_options *options);
void sim_report_failed(const struct sim_outcome *outcome,
                       const struct sim_options *options);

/* Rules by regimes. @return false: a rule was never seen broken where it is
 * not promised: it checks nothing. */
bool sim_report_outside(const struct sim_tally *tally);

/* Has the batch tried what it is for? It says what was missing: acquisitions,
 * in all and in each regime; and if `is_rare`, rare states. */
bool sim_report_missing(const struct sim_tally *tally, bool is_rare);

#endif
