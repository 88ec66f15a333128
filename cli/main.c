/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast(1): find the command, parse its options, run it. */
#include "cmd.h"

#include "base/nearest.h"
#include "descriptors.h"
#include "exit_code.h"
#include "message.h"
#include "password.h"

#include <errno.h>
#include <holdfast/holdfast.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ADDRESS(name) &cli_cmd_##name,
const struct cli_cmd *const cli_cmds[] = {CLI_CMD_MAP(ADDRESS) NULL};
#undef ADDRESS

const struct cli_cmd *cli_cmd_find(const char *name)
{
    for (size_t i = 0; cli_cmds[i] != NULL; i++) {
        if (strcmp(cli_cmds[i]->name, name) == 0) {
            return cli_cmds[i];
        }
    }
    return NULL;
}

static const char *known_elsewhere(const char *name)
{
    static const char *const words[][2] = {
        {"list", "ls"},        {"status", "ls"},         {"lock", "run"},
        {"unlock", "release"}, {"version", "--version"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(name, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return NULL;
}

int cli_cmd_unknown(const char *name)
{
    struct hf_nearest nearest;
    struct cli_out out;
    hf_nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; cli_cmds[i] != NULL; i++) {
        if (cli_cmds[i]->summary != NULL) {
            hf_nearest_try(&nearest, cli_cmds[i]->name);
        }
    }
    const char *elsewhere = known_elsewhere(name);
    nearest.best = elsewhere != NULL ? elsewhere : nearest.best;
    cli_message_begin(&out);
    cli_out_text(&out, "unknown command ");
    (void)cli_out_shown(&out, name, strlen(name));
    if (nearest.best != NULL) {
        cli_out_text(&out, ": did you mean ");
        cli_out_text(&out, nearest.best);
        cli_out_text(&out, "?");
    }
    cli_out_text(&out, " (see holdfast help)");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* The usage goes with each refusal: a mistyped line is mended without
 * --help. */
static int refuse(const struct cli_cmd *cmd, const char *text)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, cmd->name);
    cli_out_text(&out, ": ");
    cli_out_text(&out, text);
    cli_out_text(&out, " (usage: holdfast ");
    cli_out_text(&out, cmd->name);
    cli_out_text(&out, " ");
    cli_out_text(&out, cmd->usage);
    cli_out_text(&out, ")");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* The line as it was probably meant. The first word that is no option is the
 * name, the next begins the command. */
static void put_word(struct cli_out *out, char *word)
{
    cli_password_hide(word);
    cli_out_text(out, " ");
    cli_out_quoted(out, word);
}

static int propose_dashes(const struct cli_cmd *cmd, char **all, char **words)
{
    struct cli_out out;
    unsigned n_words = 0;
    bool is_value = false, is_placed = false, names_next = false;
    cli_message_begin(&out);
    cli_out_text(&out, cmd->name);
    cli_out_text(&out, ": no -- before the command; probably meant: holdfast");
    for (; all < words; all++) { /* options, of the store, and the command */
        put_word(&out, *all);
    }
    for (; *words != NULL; words++) {
        bool is_named = names_next || strncmp(*words, "--name=", 7) == 0;
        bool is_word =
            names_next || (!is_value && (*words[0] != '-' || is_named));
        if (is_word && !is_placed && n_words == 1 && !is_named) {
            cli_out_text(&out, " --");
            is_placed = true;
        }
        n_words += is_word ? 1 : 0;
        names_next = !is_value && strcmp(*words, "--name") == 0;
        is_value = !is_value && !is_placed &&
                   cli_opt_takes_next(cmd->opts, *words) && !is_named;
        put_word(&out, *words);
    }
    cli_out_text(&out, is_placed      ? ""
                       : n_words == 0 ? " NAME -- COMMAND"
                                      : " -- COMMAND");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* "run" or "update" without "--". The options around the name come first: the
 * line that is proposed must not be refused for them. */
static int lacks_dashes(const struct cli_cmd *cmd, struct cli_args *args,
                        char **all, char **words)
{
    char **at = words;
    int code = cli_opt_parse_leading(args, cmd->name, cmd->opts, &at);
    if (code == 0 && args->n_words == 0 && *at != NULL) {
        at++;
        code = cli_opt_parse_leading(args, cmd->name, cmd->opts, &at);
    }
    return code != 0 ? code : propose_dashes(cmd, all, words);
}

static bool has_dashes(char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, "--") == 0) {
            return true;
        }
    }
    return false;
}

static bool asks_for_help(char **words)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* Without a command, the words after "--" are like others. */
static void take_rest_as_words(struct cli_args *args)
{
    char **rest = args->command;
    for (; rest != NULL && *rest != NULL; rest++) {
        if (args->n_words < CLI_WORDS_MAX) {
            args->words[args->n_words] = *rest;
        }
        args->n_words++;
    }
    args->command = NULL;
}

static int out_of_range(const char *before, int64_t max, const char *after,
                        size_t n)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, before);
    cli_out_int(&out, max);
    cli_out_text(&out, after);
    cli_out_int(&out, (int64_t)n);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* Messages need it to the very end. */
static void join_names(struct cli_args *args)
{
    static char joined[HF_NAMES_MAX * (HF_NAME_MAX + 1)];
    struct cli_out out;
    cli_out_init_text(&out, joined, sizeof(joined));
    for (size_t i = 0; i < args->n_names; i++) {
        cli_out_text(&out, i > 0 ? " " : "");
        cli_out_text(&out, args->words[i]);
    }
    args->name = joined;
}

static int take_names(const struct cli_cmd *cmd, struct cli_args *args)
{
    size_t n = cmd->is_of_values ? 1 : args->n_words; /* a value follows */
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(args->words[i]);
        if (len == 0 || len > HF_NAME_MAX) {
            return out_of_range("a name has 1 to ", HF_NAME_MAX,
                                " bytes; this one has ", len);
        }
        args->names[i] = (struct hf_name){
            .name = args->words[i],
            .name_len = len,
            .mode = args->is_shared ? HF_SHARED : HF_EXCLUSIVE,
        };
    }
    args->n_names = n;
    args->name = args->words[0];
    if (args->n_names > 1) {
        join_names(args);
    }
    return 0;
}

static int check_names(const struct cli_cmd *cmd, struct cli_args *args)
{
    if (args->n_words == 0) {
        return refuse(cmd, cmd->is_of_values ? "which value? a name is missing"
                                             : "which lock? a name is missing");
    }
    if (cmd->is_of_values && args->n_words > cmd->words_max) {
        return refuse(cmd, cmd->too_many);
    }
    if (args->n_words > 1 && !cmd->takes_names && !cmd->is_of_values) {
        return refuse(cmd, "one name at a time");
    }
    if (args->n_words > HF_NAMES_MAX) {
        return out_of_range("at most ", HF_NAMES_MAX,
                            " names at a time; these are ", args->n_words);
    }
    return take_names(cmd, args);
}

static int check_words(const struct cli_cmd *cmd, struct cli_args *args)
{
    if (!cmd->takes_command) {
        take_rest_as_words(args);
    }
    if (cmd->takes_name) {
        return check_names(cmd, args);
    }
    if (args->n_words > cmd->words_max) {
        return refuse(cmd, cmd->too_many);
    }
    return 0;
}

static int run(const struct cli_cmd *cmd, struct cli_args *args, char **all,
               char **words)
{
    if (cmd->takes_command && !has_dashes(words)) {
        return asks_for_help(words) ? cli_cmd_help_print(cmd)
                                    : lacks_dashes(cmd, args, all, words);
    }
    int code = cli_opt_parse(args, cmd->name, cmd->opts, words);
    if (code == 0 && args->wants_help) {
        return cli_cmd_help_print(cmd);
    }
    if (code == 0) {
        code = check_words(cmd, args);
    }
    if (code == 0 && cmd->takes_command && args->command[0] == NULL) {
        return refuse(cmd, "no command behind --");
    }
    if (!cmd->takes_command || cmd->is_of_values) {
        (void)signal(SIGXFSZ, SIG_IGN); /* the write says it, with EFBIG */
    }
    return code != 0 ? code : cmd->run(args);
}

static int print_version(void)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, "holdfast ");
    cli_out_text(&out, hf_version());
    cli_out_text(&out, "\n");
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

int main(int argc, char **argv)
{
    struct cli_args args;
    cli_descriptors_keep();
    cli_args_init(&args);
    char **all = argc > 0 ? argv + 1 : argv;
    char **words = all;
    if (*words != NULL &&
        (strcmp(*words, "--version") == 0 || strcmp(*words, "-V") == 0)) {
        return print_version();
    }
    int code = cli_opt_parse_leading(&args, NULL, NULL, &words);
    if (code != 0) {
        return code;
    }
    if (args.wants_help) {
        return cli_cmd_help.run(&args);
    }
    if (*words == NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "which command? (see holdfast help)");
    }
    const struct cli_cmd *cmd = cli_cmd_find(*words);
    return cmd != NULL ? run(cmd, &args, all, words + 1)
                       : cli_cmd_unknown(*words);
}
