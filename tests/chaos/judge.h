/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a history kept the guarantees. Each finding is of one of these kinds.
 * It is either a violation, or excused because a fault of this round is outside
 * the assumptions of the guarantee; then it is only counted. */
#ifndef HF_TESTS_JUDGE_H
#define HF_TESTS_JUDGE_H

#include "history.h"

#include <stdio.h>

/* Symbol, and the text if there is no finding. */
#define FINDING_MAP(X)                                                         \
    X(FINDING_OVERLAP, "no two believe at once that they hold")                \
    X(FINDING_PERMITS, "no more permits than there are")                       \
    X(FINDING_TWICE, "no fence twice")                                         \
    X(FINDING_ORDER, "fences rise in the order of time")                       \
    X(FINDING_STALE, "the guarded register takes no smaller fence")            \
    X(FINDING_LOST, "the guarded register loses no update")                    \
    X(FINDING_STUCK, "every client acquires again after each heal")            \
    X(FINDING_MALFORMED, "the history is whole")

enum finding {
#define FINDING_ENUM(symbol, text) symbol,
    FINDING_MAP(FINDING_ENUM)
#undef FINDING_ENUM
        N_FINDINGS
};

/* One round of faults; its names are used in no other. Times in ns. */
struct round {
    size_t n_held;
    size_t n_overlaps;
    size_t n_refused;        /* by the guarded register */
    size_t n_lost_unguarded; /* updates */
    bool has_healed;
    int64_t stall; /* longest time without an acquisition */
    int64_t next;  /* from the heal to the first acquisition */
    int64_t all;   /* from the heal until each client has acquired */
};

struct verdict {
    size_t inside[N_FINDINGS];
    size_t excused[N_FINDINGS];
    int64_t longest_overlap[2]; /* [0] inside, [1] excused */
    size_t n_outcomes[5];
    size_t n_told_lost;
    size_t n_refused;
    size_t n_lost_unguarded;
    size_t n_writes_unguarded;
    bool has_fences;
    struct round *rounds; /* by epoch */
    size_t n_rounds;
};

/* Print the violations to `out`, some of each kind. */
void judge(const struct history *history, int64_t bound_ns,
           struct verdict *verdict, FILE *out);

void judge_free(struct verdict *verdict);

#endif
