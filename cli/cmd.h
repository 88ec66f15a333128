/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: one file each, one line in the table of main.c.
 *
 * To add one:
 * 1. cmd_NAME.c: `const struct cli_cmd cli_cmd_NAME`, with its options, its
 *    help and its function; args are parsed and checked against the table.
 * 2. declare it below, and put it into the table in main.c.
 * 3. docs/holdfast.1: its synopsis and options; tests/cli/man.t.sh compares.
 * 4. tests/cli/NAME.t.sh.
 * 5. CHANGELOG.md. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "args.h"
#include "opt.h"

/* @return the exit code. */
typedef int cli_cmd_fn(struct cli_args *args);

struct cli_cmd {
    const char *name;
    const char *usage;   /* follows "holdfast NAME " */
    const char *summary; /* one line, lower case; NULL: not shown */
    const char *text;    /* help, before the options; lines of 78 */
    const struct cli_opt *opts;
    unsigned words_max; /* of words that are no options; --name counts */
    bool takes_name;    /* the word is a lock's name */
    bool takes_names;   /* or they are several */
    bool takes_command; /* "--" COMMAND */
    bool is_of_values;  /* the first word is a value's name */
    cli_cmd_fn *run;
};

extern const struct cli_cmd cli_cmd_run;
extern const struct cli_cmd cli_cmd_acquire;
extern const struct cli_cmd cli_cmd_extend;
extern const struct cli_cmd cli_cmd_release;
extern const struct cli_cmd cli_cmd_ls;
extern const struct cli_cmd cli_cmd_top;
extern const struct cli_cmd cli_cmd_break;
extern const struct cli_cmd cli_cmd_guard;
extern const struct cli_cmd cli_cmd_doctor;
extern const struct cli_cmd cli_cmd_get;
extern const struct cli_cmd cli_cmd_put;
extern const struct cli_cmd cli_cmd_update;
extern const struct cli_cmd cli_cmd_help;
extern const struct cli_cmd cli_cmd_complete;

/* All commands, ended by NULL (main.c). */
extern const struct cli_cmd *const cli_cmds[];

/* By name, or NULL. */
const struct cli_cmd *cli_cmd_find(const char *name);

/* "unknown command", with the nearest. @return the exit code. */
int cli_cmd_unknown(const char *name);

/* Print help for a command. @return the exit code. */
int cli_cmd_help_print(const struct cli_cmd *cmd);

#endif
