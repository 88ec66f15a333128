/* SPDX-License-Identifier: Apache-2.0 */
#include "hfsim/options.h"

#include "hfsim/batch.h"

#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Seeds of a run without --seeds: each regime has dozens, in a few minutes. */
#define SEEDS_DEFAULT 1000

static const char usage[] =
    "usage: hfsim [OPTION...] [STORY...]\n"
    "\n"
    "Run Holdfast in a simulated world, and say which guarantee breaks.\n"
    "\n"
    "What to run: 1,000 seeds, unless one of these is given:\n"
    "      --seed N           one seed; the same to the byte each time\n"
    "      --seeds A..B       these seeds (\"--seeds N\": 1..N)\n"
    "      --scenario NAME    a story that comes with hfsim\n"
    "      STORY              a file; \"# expect: C4\" in it says what breaks\n"
    "How:\n"
    "      --regime NAME      what goes wrong; else it is drawn\n"
    "      --jobs N           so many at once (1)\n"
    "      --seconds S        begin no new seed after so long\n"
    "      --expect RULE      succeed if this breaks, fail if it does not\n"
    "      --outside          go on after a breach; show how often each rule\n"
    "                         breaks where it is not promised, and fail if "
    "one\n"
    "                         never does\n"
    "      --rare             fail if one of the rare states is not reached\n"
    "      --bench            measure: no trace\n"
    "What to show:\n"
    "      --trace            every note of the story\n"
    "      --svg FILE         a picture of it\n"
    "      --write FILE       the story itself (\"-\": to standard output)\n"
    "      --shrink           what is left if all is cut that can be\n"
    "      --terse            of many: one line, and do not shrink\n"
    "      --list             names of regimes, rules, faults, scenarios\n"
    "      --help\n"
    "\n"
    "A broken promise is shrunk to a short story and shown. Exit: 0 all is\n"
    "well, 1 a promise was broken, 64 usage. See docs/simulation.md.\n";

enum {
    OPT_SEED = 256,
    OPT_SEEDS,
    OPT_SCENARIO,
    OPT_REGIME,
    OPT_JOBS,
    OPT_SECONDS,
    OPT_EXPECT,
    OPT_OUTSIDE,
    OPT_BENCH,
    OPT_RARE,
    OPT_TRACE,
    OPT_SVG,
    OPT_WRITE,
    OPT_SHRINK,
    OPT_TERSE,
    OPT_LIST,
    OPT_HELP
};

static const struct option longs[] = {
    {"seed", required_argument, NULL, OPT_SEED},
    {"seeds", required_argument, NULL, OPT_SEEDS},
    {"scenario", required_argument, NULL, OPT_SCENARIO},
    {"regime", required_argument, NULL, OPT_REGIME},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"expect", required_argument, NULL, OPT_EXPECT},
    {"outside", no_argument, NULL, OPT_OUTSIDE},
    {"bench", no_argument, NULL, OPT_BENCH},
    {"rare", no_argument, NULL, OPT_RARE},
    {"trace", no_argument, NULL, OPT_TRACE},
    {"svg", required_argument, NULL, OPT_SVG},
    {"write", required_argument, NULL, OPT_WRITE},
    {"shrink", no_argument, NULL, OPT_SHRINK},
    {"terse", no_argument, NULL, OPT_TERSE},
    {"list", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* ---- Names --------------------------------------------------------------- */

static const char *regime_at(size_t i)
{
    return i < SIM_REGIMES ? sim_regime_name((enum sim_regime)i) : NULL;
}

static const char *rule_at(size_t i)
{
    return i < SIM_RULES ? sim_rule_name((enum sim_rule)i) : NULL;
}

static const char *fault_at(size_t i)
{
    return i < SIM_FAULTS ? sim_fault_name((enum sim_fault_kind)i) : NULL;
}

static const char *scenario_at(size_t i)
{
    const struct sim_scenario *scenario = sim_scenario_at(i);
    return scenario == NULL ? NULL : scenario->name;
}

static void list(const char *what, const char *(*at)(size_t i))
{
    printf("%s:", what);
    for (size_t i = 0; at(i) != NULL; i++) {
        printf(" %s", at(i));
    }
    putchar('\n');
}

/* The longest run, eleven days: more is a slip of the keyboard. */
#define SECONDS_MAX 1000000

/* More than the rules, which are the longest list. */
#define NAMES_MAX 64

/* @return the index of a name; -1: there is none, and that was reported. */
static int find(const char *what, const char *word, const char *(*at)(size_t i))
{
    const char *known[NAMES_MAX + 1] = {NULL};
    for (size_t i = 0; i < NAMES_MAX && at(i) != NULL; i++) {
        known[i] = at(i);
        if (strcasecmp(word, known[i]) == 0) {
            return (int)i;
        }
    }
    const char *near = hf_nearest(word, known);
    fprintf(stderr, "hfsim: no %s is called \"%s\"%s%s%s (--list)\n", what,
            word, near == NULL ? "" : ": did you mean \"",
            near == NULL ? "" : near, near == NULL ? "" : "\"?");
    return -1;
}

/* ---- Values -------------------------------------------------------------- */

static bool read_number(const char *what, const char *text, uint64_t *out,
                        char **end)
{
    errno = 0;
    *out = strtoull(text, end, 10);
    if (!isdigit((unsigned char)*text) || errno != 0) {
        fprintf(stderr, "hfsim: --%s: \"%s\" is not a number\n", what, text);
        return false;
    }
    return true;
}

static bool read_whole_number(const char *what, const char *text, uint64_t *out)
{
    char *end;
    if (!read_number(what, text, out, &end)) {
        return false;
    }
    if (*end != '\0') {
        fprintf(stderr, "hfsim: --%s: \"%s\" is not a number\n", what, text);
        return false;
    }
    return true;
}

static bool read_seeds(struct sim_options *options, const char *text)
{
    char *end;
    uint64_t number;
    if (!read_number("seeds", text, &number, &end)) {
        return false;
    }
    options->is_many = true;
    if (*end == '\0') {
        options->first = 1;
        options->last = number;
        return true;
    }
    options->first = number;
    if (strncmp(end, "..", 2) != 0) {
        fprintf(stderr, "hfsim: --seeds: \"%s\" is not A..B\n", text);
        return false;
    }
    return read_whole_number("seeds", end + 2, &options->last);
}

static bool read_small(const char *what, const char *text, uint64_t most,
                       uint64_t *out)
{
    if (!read_whole_number(what, text, out)) {
        return false;
    }
    if (*out < 1 || *out > most) {
        fprintf(stderr, "hfsim: --%s: from 1 to %" PRIu64 "\n", what, most);
        return false;
    }
    return true;
}

/* ---- The whole ----------------------------------------------------------- */

static bool show_list(struct sim_options *options)
{
    list("regimes", regime_at);
    list("rules", rule_at);
    list("faults", fault_at);
    list("scenarios", scenario_at);
    options->is_done = true;
    return true;
}

static bool read_value(struct sim_options *options, int option)
{
    uint64_t number = 0;
    bool is_well = true;
    switch (option) {
    case OPT_SEED:
        options->is_many = false;
        return read_whole_number("seed", optarg, &options->first);
    case OPT_SEEDS:
        return read_seeds(options, optarg);
    case OPT_JOBS:
        is_well = read_small("jobs", optarg, SIM_JOBS_MAX, &number);
        options->n_jobs = (unsigned)number;
        return is_well;
    case OPT_SECONDS:
        is_well = read_small("seconds", optarg, SECONDS_MAX, &number);
        options->limit_s = (int64_t)number;
        return is_well;
    case OPT_REGIME:
        options->regime = find("regime", optarg, regime_at);
        return options->regime >= 0;
    case OPT_EXPECT:
        options->expected = find("rule", optarg, rule_at);
        return options->expected >= 0;
    case OPT_SCENARIO:
        options->scenario = sim_scenario_find(optarg);
        return options->scenario != NULL ||
               find("scenario", optarg, scenario_at) >= 0;
    default:
        return false;
    }
}

static bool read_option(struct sim_options *options, int option)
{
    switch (option) {
    case OPT_OUTSIDE:
        options->is_outside = true;
        return true;
    case OPT_BENCH:
        options->is_bench = true;
        return true;
    case OPT_RARE:
        options->is_rare = true;
        return true;
    case OPT_TRACE:
        options->traces = true;
        return true;
    case OPT_SVG:
        options->svg = optarg;
        return true;
    case OPT_WRITE:
        options->write = optarg;
        return true;
    case OPT_SHRINK:
        options->shrinks = true;
        return true;
    case OPT_TERSE:
        options->is_terse = true;
        return true;
    case OPT_LIST:
        return show_list(options);
    case OPT_HELP:
        fputs(usage, stdout);
        options->is_done = true;
        return true;
    default:
        return read_value(options, option);
    }
}

bool sim_options_read(struct sim_options *options, int argc, char **argv)
{
    int option;
    *options = (struct sim_options){.first = 1,
                                    .last = SEEDS_DEFAULT,
                                    .is_many = true,
                                    .regime = -1,
                                    .n_jobs = 1,
                                    .expected = SIM_EXPECT_WELL};
    while (!options->is_done &&
           (option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == '?') {
            fputs("try hfsim --help\n", stderr);
            return false;
        }
        if (!read_option(options, option)) {
            return false;
        }
    }
    options->files = argv + optind;
    options->n_files = argc - optind;
    if (options->is_done) {
        return true;
    }
    bool is_one =
        !options->is_many || options->scenario != NULL || options->n_files > 0;
    if (!is_one && (options->svg != NULL || options->traces)) {
        fputs("hfsim: --trace and --svg are of one story: give --seed, "
              "--scenario or a file\n",
              stderr);
        return false;
    }
    return true;
}

char *sim_read_whole(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        fprintf(stderr, "hfsim: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    if (getdelim(&text, &size, '\0', in) < 0) {
        fprintf(stderr, "hfsim: %s: is empty\n", path);
        free(text);
        text = NULL;
    }
    fclose(in);
    return text;
}

int sim_expected_of(const char *text)
{
    static const char head[] = "# expect: ";
    const char *at = strstr(text, head);
    if (at == NULL) {
        return SIM_EXPECT_WELL;
    }
    at += sizeof(head) - 1;
    size_t len = strcspn(at, " \r\n");
    for (int rule = 0; rule < SIM_RULES; rule++) {
        const char *name = sim_rule_name((enum sim_rule)rule);
        if (strlen(name) == len && strncmp(at, name, len) == 0) {
            return rule;
        }
    }
    return SIM_EXPECT_WELL;
}

bool sim_is_expected(const struct sim_verdict *verdict, int expected)
{
    return verdict->is_broken ? (int)verdict->rule == expected
                              : expected == SIM_EXPECT_WELL;
}
