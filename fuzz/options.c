/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write */
/* The command line: an accepted argument is within the bounds of its table; a
 * refused one gives one line, with exit code 64.
 *
 * Input: a byte that selects the command, then the arguments, each ended by
 * NUL. */
#include "said.h"

#include "cmd.h"
#include "exit_code.h"
#include "opt.h"

#define WORDS_MAX 100

static const struct cli_cmd *const commands[] = {
    &cli_cmd_run, &cli_cmd_acquire, &cli_cmd_extend, &cli_cmd_release,
    &cli_cmd_ls,  &cli_cmd_top,     &cli_cmd_break,  &cli_cmd_doctor,
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static bool is_inside(const char *at, const char *text, size_t size)
{
    return at == NULL || (at >= text && at <= text + size);
}

static void check_option(const struct cli_args *args, const struct cli_opt *opt,
                         const char *text, size_t size)
{
    const void *field = (const char *)args + opt->offset;
    int64_t number = 0;
    if (opt->kind == CLI_OPT_TEXT) {
        const char *at;
        memcpy(&at, field, sizeof(at));
        FUZZ_CHECK(is_inside(at, text, size));
        return;
    }
    if (opt->kind != CLI_OPT_NUMBER && opt->kind != CLI_OPT_DURATION &&
        opt->kind != CLI_OPT_CHOICE) {
        return;
    }
    memcpy(&number, field, sizeof(number));
    if (opt->kind == CLI_OPT_CHOICE) {
        int64_t n = 0;
        while (opt->choices[n] != NULL) {
            n++;
        }
        FUZZ_CHECK(number == CLI_UNSET || (number >= 0 && number < n));
    } else if (number != CLI_UNSET) {
        FUZZ_CHECK(number >= opt->min);
        FUZZ_CHECK(opt->kind == CLI_OPT_DURATION || number <= opt->max);
    }
}

static void check_args(const struct cli_args *args, const struct cli_opt *opts,
                       const char *text, size_t size)
{
    for (; opts->name != NULL; opts++) {
        check_option(args, opts, text, size);
    }
    for (size_t i = 0; i < args->n_words && i < CLI_WORDS_MAX; i++) {
        FUZZ_CHECK(args->words[i] != NULL);
        FUZZ_CHECK(is_inside(args->words[i], text, size));
    }
}

/* @return the arguments, which point into @p text. */
static size_t split(char *text, size_t size, char *words[WORDS_MAX + 1])
{
    size_t n = 0;
    for (size_t at = 0; at < size && n < WORDS_MAX; n++) {
        words[n] = text + at;
        at += strlen(text + at) + 1;
    }
    words[n] = NULL;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const struct cli_cmd *cmd = commands[fuzz_u8(&in) % N_COMMANDS];
    char *text = fuzz_text(in.at, in.left);
    char *words[WORDS_MAX + 1];
    struct cli_args args;
    char **rest = words;
    size_t n = split(text, in.left, words);
    cli_args_init(&args);
    said_lines = 0;
    int code = cli_opt_parse_leading(&args, NULL, NULL, &rest);
    FUZZ_CHECK(rest >= words && rest <= words + n);
    for (char **word = rest; code == 0 && *word != NULL; word++) {
        (void)cli_opt_takes_next(cmd->opts, *word);
    }
    if (code == 0) {
        code = cli_opt_parse(&args, cmd->name, cmd->opts, rest);
    }
    FUZZ_CHECK(code == 0 || code == CLI_EXIT_USAGE);
    FUZZ_CHECK(said_lines == (code != 0));
    if (code == 0) {
        FUZZ_CHECK(args.command == NULL ||
                   (args.command > words && args.command <= words + n));
        check_args(&args, cli_opts_common, text, in.left);
        if (cmd->opts != NULL) {
            check_args(&args, cmd->opts, text, in.left);
        }
    }
    free(text);
    return 0;
}
