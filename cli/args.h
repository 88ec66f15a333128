/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the command line, checked and converted.
 *
 *     struct cli_args args;
 *     cli_args_init(&args);                                  defaults
 *     code = cli_opt_parse(&args, "ls", opts, argv + 1);     opt.h
 *     if (code == 0 && args.ttl_ms != CLI_UNSET) …
 *
 * cli_opt_parse() fills the options, `words` and `command`. main.c then makes
 * `name` and `names` of the words, for a command that takes them (cmd.h), and
 * has checked their number and their length.
 *
 * Owner: all texts point into argv, but a `name` of several: it is in memory of
 * main.c, which stays to the end. Nothing is to be freed. Durations are
 * milliseconds. A field that its command has no option for has its default. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most words that are kept. */
#define CLI_WORDS_MAX HF_NAMES_MAX

/* A duration or number that was not given. */
#define CLI_UNSET INT64_C(-1)

/* The choices of --on-lost, --on-no-proc, --on-fail and --on-unreachable, in
 * the order of the words of the option; CLI_UNSET: not given. */
enum cli_on_lost { CLI_LOST_KILL, CLI_LOST_WARN };
enum cli_on_no_proc { CLI_NO_PROC_FAIL, CLI_NO_PROC_RUN };
enum cli_on_fail { CLI_FAIL_KEEP, CLI_FAIL_RELEASE };
enum cli_on_unreachable { CLI_UNREACHABLE_FAIL, CLI_UNREACHABLE_RUN };

struct cli_args {
    /* common */
    const char *url;
    bool is_json;
    int n_verbose; /* -v, -vv */
    bool is_quiet;
    bool wants_help;
    /* run, acquire */
    bool is_try;
    bool is_shared;
    bool is_unfair;
    bool is_again;
    int64_t permits;
    int64_t wait_ms;
    int64_t once_ms;
    int64_t ttl_ms;
    int64_t min_hold_ms;
    int64_t max_hold_ms;
    int64_t kill_grace_ms;
    int64_t on_fail;
    int64_t on_lost;
    int64_t on_unreachable;
    int64_t on_no_proc;
    int64_t conflict_code;
    int64_t while_pid;
    int64_t status_fd;
    const char *label;
    const char *name; /* of the lock; several names are separated by blanks, as
                         in messages and HOLDFAST_NAME */
    struct hf_name names[HF_NAMES_MAX];
    size_t n_names;
    /* others */
    const char *owner;
    bool is_now;
    bool is_follow;
    int64_t interval_ms;
    bool is_init;
    bool is_for_setup; /* doctor: also open a store that is not set up */
    bool is_forced;
    bool is_quarantine;
    bool wants_schema;
    /* guard */
    const char *table;
    const char *lock_of_row;
    const char *column;
    const char *reset_name;
    bool is_install;
    /* get, put */
    bool is_with_version;
    bool is_delete;
    int64_t if_version;
    /* words that are no options, and those after "--" */
    const char *words[CLI_WORDS_MAX];
    size_t n_words; /* may be more than were kept */
    char **command; /* NULL without "--" */
};

/* Nothing is given: numbers are CLI_UNSET, the rest is zero. Then options fill
 * it in. */
void cli_args_init(struct cli_args *args);

#endif
