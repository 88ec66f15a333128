/* SPDX-License-Identifier: Apache-2.0 */
/* The reports that hfsim prints about its runs. */
#ifndef HF_SIM_REPORT_H
#define HF_SIM_REPORT_H

#include "hfsim/batch.h"
#include "hfsim/options.h"
#include "world/world.h"

/* Print one run: the broken rule, if any, and its counters. `what`: "seed 7",
 * or the file. `digest`: of its notes; equal for equal runs. */
void sim_report_one(const char *what, const struct sim_story *story,
                    const struct sim_verdict *verdict, uint64_t digest);

/* Print the command that repeats this run with its trace. Only if `what` is
 * "seed N": a file repeats itself. */
void sim_report_replay(const char *what, const struct sim_options *options);

/* Print the counters of a batch, and what it did not reach. */
void sim_report_tally(const struct sim_tally *tally,
                      const struct sim_options *options);

/* Print the broken rule, or the signal, of a batch's first failing seed, and
 * the command that repeats it. */
void sim_report_failed(const struct sim_outcome *outcome,
                       const struct sim_options *options);

/* Print the broken rules by regimes. @return false: a rule was never broken in
 * regimes that do not promise it, so its check may be vacuous. */
bool sim_report_outside(const struct sim_tally *tally);

/* A batch lists the rare states that were not reached unless its output is to
 * be short, also without --rare. */
bool sim_report_lists_rare(const struct sim_options *options);

/* Print what the batch did not reach: acquisitions, in all and in each regime;
 * and if `is_rare`, rare states. @return true: something was missing. */
bool sim_report_missing(const struct sim_tally *tally, bool is_rare);

#endif
