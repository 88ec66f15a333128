/* SPDX-License-Identifier: Apache-2.0 */
/* The report: the results of each group of clients under the same faults, in
 * Markdown tables. */
#ifndef HF_TESTS_REPORT_H
#define HF_TESTS_REPORT_H

#include "judge.h"

/* The results of one kind of fault, over all rounds with it. */
struct tally {
    char name[32];
    bool keeps_exclusion;
    bool keeps_order;
    size_t n_times;
    size_t n_held;
    size_t n_overlaps;
    size_t n_refused;
    size_t n_lost_unguarded;
    int64_t *stalls; /* a sample for each round that healed */
    int64_t *nexts;
    int64_t *alls;
    size_t n_samples;
};

/* Several histories of one group, added up. */
struct group {
    char name[32];
    bool is_judged;
    size_t n_histories;
    size_t n_rounds;
    size_t n_faults;
    int64_t duration;
    struct verdict sum; /* rounds: not used */
    struct tally *tallies;
    size_t n_tallies;
};

void group_add(struct group *group, const struct history *history,
               const struct verdict *verdict);

void group_free(struct group *group);

void report_write(FILE *out, const struct group *groups, size_t n);

#endif
