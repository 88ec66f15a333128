/* SPDX-License-Identifier: Apache-2.0 */
/* The options of hfsim. */
#ifndef HF_SIM_OPTIONS_H
#define HF_SIM_OPTIONS_H

#include "oracle/oracle.h"
#include "story/scenario.h"
#include "story/story.h"

/* Instead of a rule: no rule is expected to be broken. */
#define SIM_EXPECT_WELL (-1)

struct sim_options {
    uint64_t first, last; /* seeds, both included */
    bool is_many;         /* --seeds, or the default; not --seed */
    int regime;           /* < 0: drawn */
    unsigned n_jobs;      /* worker processes */
    int64_t limit_s;      /* no new seed starts after this time; 0: no limit */
    bool traces, shrinks, is_outside, is_bench;
    bool is_rare;      /* fail if a rare state is not reached */
    bool is_terse;     /* neither shrink nor list states not reached */
    bool is_done;      /* an option printed a text; there is nothing to run */
    const char *svg;   /* NULL: none */
    const char *write; /* NULL: none */
    const struct sim_scenario *scenario;
    int expected; /* a rule */
    char **files;
    int n_files;
};

/* Set all members; texts are borrowed from `argv`. @return false: an option is
 * wrong, and that was reported. */
bool sim_options_read(struct sim_options *options, int argc, char **argv);

/* A file as a string; the caller frees it. NULL: the error was reported. */
char *sim_read_whole(const char *path);

/* The expected rule, from the line "# expect: RULE" of a story. */
int sim_expected_of(const char *text);

/* Whether the run ended as expected: it broke that rule first, or, with
 * SIM_EXPECT_WELL, none. */
bool sim_is_expected(const struct sim_verdict *verdict, int expected);

#endif
