/* SPDX-License-Identifier: Apache-2.0 */
/* Options: a table for each command, and one parser for all.
 *
 * Options may be anywhere before "--", long ones as --wait=5s or --wait 5s,
 * short ones as -w5s, -w 5s or joined (-nq). An error is one line with a
 * suggestion, and exit 64.
 *
 *     static const struct cli_opt opts[] = {
 *         {.letter = 't', .name = "ttl", .kind = CLI_OPT_DURATION,
 *          .offset = offsetof(struct cli_args, ttl_ms), .meta = "DUR",
 *          .min = 1, .help = "length of the lease"},
 *         {.name = NULL},
 *     };
 *     cli_args_init(&args);
 *     code = cli_opt_parse(&args, "extend", opts, argv);
 *
 * An option that is not given leaves its field as it was. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "args.h"
#include "out.h"

#include <stdbool.h>
#include <stddef.h>

enum cli_opt_kind {
    CLI_OPT_FLAG,     /* bool */
    CLI_OPT_COUNT,    /* int: how often it is given */
    CLI_OPT_TEXT,     /* const char * */
    CLI_OPT_WORD,     /* its value is a word, as if it were no option */
    CLI_OPT_DURATION, /* int64_t, milliseconds */
    CLI_OPT_NUMBER,   /* int64_t from min to max */
    CLI_OPT_CHOICE,   /* int64_t, index in choices */
    CLI_OPT_LATER     /* reserved: refused in this version */
};

struct cli_opt {
    char letter;      /* 0: none */
    const char *name; /* without "--" */
    enum cli_opt_kind kind;
    size_t offset;    /* of its field in struct cli_args; not of WORD */
    const char *meta; /* placeholder of the value: "DUR"; NULL: takes none */
    int64_t min, max; /* NUMBER; DURATION: min */
    const char *const *choices; /* NULL-terminated */
    const char *help; /* lines of at most 48 columns; NULL: not shown */
};

/* Options of every command; ended by one without a name. */
extern const struct cli_opt cli_opts_common[];

/* Parse `argv` (NULL-terminated) for a command with `opts` beside the common
 * ones. @return 0, or the exit code after a line on stderr. */
int cli_opt_parse(struct cli_args *args, const char *command,
                  const struct cli_opt *opts, char **argv);

/* The same, but only up to the first word that is no option, to which `argv` is
 * moved. Without a command: the common options. */
int cli_opt_parse_leading(struct cli_args *args, const char *command,
                          const struct cli_opt *opts, char ***argv);

/* The option in this word that takes a value, also at the end of joined ones.
 * `value` is set to what the word has of it; NULL: the next word is the value.
 * @return NULL: there is none. */
const struct cli_opt *cli_opt_read(const struct cli_opt *opts, const char *word,
                                   const char **value);

/* True if this word is an option that takes the next word as its value. Used to
 * suggest where a command begins. */
bool cli_opt_takes_next(const struct cli_opt *opts, const char *word);

/* The options as help shows them. */
void cli_opt_help(struct cli_out *out, const struct cli_opt *opts);

#endif
