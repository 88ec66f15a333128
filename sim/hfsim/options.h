/* SPDX-License-Identifier: Apache-2.0 */
/* What hfsim was asked for. */
#ifndef HF_SIM_OPTIONS_H
#define HF_SIM_OPTIONS_H

#include "oracle/oracle.h"
#include "story/scenario.h"
#include "story/story.h"

/* Instead of a rule: nothing is to break. */
#define SIM_EXPECT_WELL (-1)

struct sim_options {
    uint64_t first, last;
    bool is_many;
    int regime; /* < 0: drawn */
    unsigned jobs;
    int64_t seconds;
    bool traces, shrinks, is_outside, is_bench;
    bool is_rare;      /* fail if a rare state is not reached */
    bool is_terse;     /* neither shrink nor list what was never reached */
    bool is_done;      /* all that was wanted was a text */
    const char *svg;   /* NULL: none */
    const char *write; /* NULL: none */
    const struct sim_scenario *scenario;
    int expected; /* a rule */
    char **files;
    int n_files;
};

/* @return false: it has said what is wrong with them. */
bool sim_options_read(struct sim_options *options, int argc, char **argv);

/* A file as a string, to be freed; NULL: it has said why. */
char *sim_read_whole(const char *path);

/* What a line "# expect: RULE" of a story says. */
int sim_expected_of(const char *text);

bool sim_is_expected(const struct sim_verdict *verdict, int expected);

#endif
