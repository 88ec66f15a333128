/* SPDX-License-Identifier: Apache-2.0 */
/* Runs many seeds in worker processes. A seed that breaks a promise, or crashes
 * its worker, ends the batch. The lowest failing seed does not depend on the
 * number of workers.
 *
 *     struct sim_batch plan = {.first = 1, .last = 600, .regime = -1,
 *                              .jobs = 2};
 *     struct sim_tally tally;
 *     sim_batch_run(&plan, &tally);                blocks until all have ended
 *     if (tally.has_failed) … tally.failed.seed, tally.failed.verdict …
 *
 * It forks, so the caller must have no other thread, and no child that it waits
 * for. The tally is a copy: nothing of it is to be freed. */
#ifndef HF_SIM_BATCH_H
#define HF_SIM_BATCH_H

#include "hfsim/coverage.h"
#include "oracle/oracle.h"

/* Processes at a time: more than the processors of a test machine. */
#define SIM_JOBS_MAX 64

struct sim_batch {
    uint64_t first, last;
    int regime; /* < 0: drawn */
    unsigned n_jobs;
    int64_t limit_s;   /* no new seed starts after this time; 0: no limit */
    bool goes_on;      /* do not stop at a broken promise */
    bool is_listening; /* rare states are counted; costs a little */
};

/* The outcome of one seed. */
struct sim_outcome {
    uint64_t seed;
    enum sim_regime regime;
    int signal; /* that killed the worker; 0: none */
    struct sim_verdict verdict;
    struct sim_rares rares;
};

/* The sums over a batch. Zeroed at first. */
struct sim_tally {
    uint64_t n_seeds;
    int64_t cpu_ns;
    struct sim_verdict sum;                    /* its counters */
    uint64_t n_broken[SIM_RULES][SIM_REGIMES]; /* seeds that broke the rule */
    bool is_unkept[SIM_RULES][SIM_REGIMES];    /* … though it was promised */
    uint64_t n_tried[SIM_REGIMES];
    uint64_t n_grants[SIM_REGIMES];
    uint64_t n_rare[SIM_RARES];
    bool has_failed;
    struct sim_outcome failed; /* of the lowest failing seed */
};

/* Run the plan's seeds in worker processes, and add each outcome to `tally`.
 * Returns when the workers have ended. The crash of one is a failure of its
 * seed. */
void sim_batch_run(const struct sim_batch *plan, struct sim_tally *tally);

#endif
