/* SPDX-License-Identifier: Apache-2.0 */
/* The reports that hfsim prints about its runs. */
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

/* Print the broken rules by regimes. @return false: a rule was never broken in
 * regimes that do not promise it, so its check may be vacuous. */
bool sim_report_outside(const struct sim_tally *tally);

/* Does the report of a batch list the rare states that were not reached, also
 * without --rare? */
bool sim_report_lists_rare(const struct sim_options *options);

/* Print what the batch did not reach: acquisitions, in all and in each regime;
 * and if `is_rare`, rare states. @return true: something was missing. */
bool sim_report_missing(const struct sim_tally *tally, bool is_rare);

#endif
