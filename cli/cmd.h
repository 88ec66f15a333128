/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: one file each, one word in CLI_CMD_MAP below. No code compares
 * commands: the differences are in struct cli_cmd of each.
 *
 * To add one:
 * 1. cmd_NAME.c: `const struct cli_cmd cli_cmd_NAME`, with its options, its
 *    help and its function; args are parsed and checked against the table. It
 *    exits with the codes of exit_code.h alone, and calls the public library.
 * 2. add it to CLI_CMD_MAP.
 * 3. docs/holdfast.1: its synopsis, which scripts/checks/man compares with
 *    `usage`, and its options; tests/cli/man.t.sh compares.
 * 4. tests/cli/NAME.t.sh.
 * 5. CHANGELOG.md. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "args.h"
#include "opt.h"

/* @return the exit code. */
typedef int cli_cmd_fn(struct cli_args *args);

/* The words that completion of shells offers for a command. */
enum cli_offer {
    CLI_OFFER_NAMES, /* of locks, from the store */
    CLI_OFFER_COMMANDS,
    CLI_OFFER_DATABASES,
    CLI_OFFER_NOTHING
};

struct cli_cmd {
    const char *name;
    const char *usage;   /* follows "holdfast NAME "; as in holdfast(1) */
    const char *summary; /* one line, lower case; NULL: not shown */
    const char *text;    /* help, before the options; lines of 78 */
    const struct cli_opt *opts;
    unsigned words_max;   /* of words that are no options; --name counts */
    const char *too_many; /* refuses more; NULL: words are names */
    enum cli_offer offers;
    bool takes_name;    /* the word is a lock's name */
    bool takes_names;   /* or they are several */
    bool takes_command; /* "--" COMMAND */
    bool is_of_values;  /* the first word is a value's name */
    cli_cmd_fn *run;
};

/* X(name): all commands, in the order in which `holdfast help` lists them. */
#define CLI_CMD_MAP(X)                                                         \
    X(run)                                                                     \
    X(acquire)                                                                 \
    X(extend)                                                                  \
    X(release)                                                                 \
    X(ls)                                                                      \
    X(top)                                                                     \
    X(break)                                                                   \
    X(get)                                                                     \
    X(put)                                                                     \
    X(update)                                                                  \
    X(guard)                                                                   \
    X(doctor)                                                                  \
    X(help)                                                                    \
    X(complete)

#define CLI_CMD_DECLARE(name) extern const struct cli_cmd cli_cmd_##name;
CLI_CMD_MAP(CLI_CMD_DECLARE)
#undef CLI_CMD_DECLARE

/* The same, ended by NULL. */
extern const struct cli_cmd *const cli_cmds[];

/* By name, or NULL. */
const struct cli_cmd *cli_cmd_find(const char *name);

/* "unknown command", with the nearest. @return the exit code. */
int cli_cmd_unknown(const char *name);

/* Print help for a command. @return the exit code. */
int cli_cmd_help_print(const struct cli_cmd *cmd);

#endif
