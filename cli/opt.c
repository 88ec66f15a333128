/* SPDX-License-Identifier: Apache-2.0 */
#include "opt.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "exit_code.h"
#include "message.h"
#include "timefmt.h"

#include <string.h>

#define FIELD(field) offsetof(struct cli_args, field)

const struct cli_opt cli_opts_common[] = {
    {.letter = 'u',
     .name = "url",
     .kind = CLI_OPT_TEXT,
     .offset = FIELD(url),
     .meta = "URL",
     .help = "the store (holdfast help stores); else\n"
             "HOLDFAST_URL, ~/.config/holdfast/config,\n"
             "/etc/holdfast/config, or this machine"},
    {.name = "json",
     .kind = CLI_OPT_FLAG,
     .offset = FIELD(is_json),
     .help = "print JSON, one object a line"},
    {.letter = 'v',
     .name = "verbose",
     .kind = CLI_OPT_COUNT,
     .offset = FIELD(n_verbose),
     .help = "log connections, retries and late renewals\n"
             "on stderr; -vv: each request too"},
    {.letter = 'q',
     .name = "quiet",
     .kind = CLI_OPT_FLAG,
     .offset = FIELD(is_quiet),
     .help = "no notices; errors are still printed"},
    {.letter = 'h',
     .name = "help",
     .kind = CLI_OPT_FLAG,
     .offset = FIELD(wants_help),
     .help = "this text"},
    {.name = NULL},
};

void cli_args_init(struct cli_args *args)
{
    *args = (struct cli_args){
        .permits = CLI_UNSET,
        .wait_ms = CLI_UNSET,
        .once_ms = CLI_UNSET,
        .ttl_ms = CLI_UNSET,
        .min_hold_ms = CLI_UNSET,
        .max_hold_ms = CLI_UNSET,
        .kill_grace_ms = CLI_UNSET,
        .on_fail = CLI_UNSET,
        .on_lost = CLI_LOST_KILL,
        .on_unreachable = CLI_UNREACHABLE_FAIL,
        .on_no_proc = CLI_NO_PROC_FAIL,
        .conflict_code = CLI_UNSET,
        .while_pid = CLI_UNSET,
        .status_fd = CLI_UNSET,
        .interval_ms = CLI_UNSET,
        .if_version = CLI_UNSET,
    };
}

struct parse {
    struct cli_args *args;
    const char *command; /* NULL: before it is known */
    const struct cli_opt *opts;
    char **argv; /* the next word */
};

static const struct cli_opt *find_in(const struct cli_opt *opts, char letter,
                                     const char *name, size_t len)
{
    for (; opts != NULL && opts->name != NULL; opts++) {
        if (letter != 0 ? opts->letter == letter
                        : strlen(opts->name) == len &&
                              memcmp(opts->name, name, len) == 0) {
            return opts;
        }
    }
    return NULL;
}

static const struct cli_opt *find(const struct cli_opt *opts, char letter,
                                  const char *name, size_t len)
{
    const struct cli_opt *opt = find_in(opts, letter, name, len);
    return opt != NULL ? opt : find_in(cli_opts_common, letter, name, len);
}

static void opt_name(struct cli_out *out, const struct cli_opt *opt)
{
    cli_out_text(out, "--");
    cli_out_text(out, opt->name);
}

static int end_with_hint(struct cli_out *out, const struct parse *parse)
{
    cli_out_text(out, parse->command != NULL ? " (see holdfast " : " (see ");
    cli_out_text(out, parse->command != NULL ? parse->command : "holdfast");
    cli_out_text(out, " --help)");
    return cli_message_end(out, CLI_EXIT_USAGE);
}

static void nearest_in(struct hf_nearest *nearest, const struct cli_opt *opts)
{
    for (; opts != NULL && opts->name != NULL; opts++) {
        hf_nearest_try(nearest, opts->name);
    }
}

/* Habits from flock(1) and similar tools. */
static const struct {
    const char *word; /* long, or one letter */
    const char *hint;
} elsewhere[] = {
    {"timeout", "did you mean --wait?"},
    {"nonblock", "did you mean --try?"},
    {"nb", "did you mean --try?"},
    {"exclusive", "that is the default"},
    {"x", "exclusive is the default"},
    {"command", "a shell is named: -- sh -c 'COMMAND'"},
    {"c", "a shell is named: -- sh -c 'COMMAND'"},
};

/* Suggest an option for one of another tool, for commands that acquire a lock.
 * @return false: there is none. */
static bool put_elsewhere(struct cli_out *out, const struct parse *parse,
                          const char *word, size_t len)
{
    bool takes = find_in(parse->opts, 'n', NULL, 0) != NULL;
    for (size_t i = 0; takes && i < sizeof(elsewhere) / sizeof(elsewhere[0]);
         i++) {
        if (strlen(elsewhere[i].word) == len &&
            memcmp(elsewhere[i].word, word, len) == 0) {
            cli_out_text(out, ": ");
            cli_out_text(out, elsewhere[i].hint);
            return true;
        }
    }
    return false;
}

/* Before the command only the common options are known. */
static void put_where(struct cli_out *out, const struct parse *parse)
{
    bool is_before = parse->command == NULL && *parse->argv != NULL;
    cli_out_text(out, is_before ? " before the command" : "");
}

static int unknown_long(const struct parse *parse, const char *name, size_t len)
{
    struct hf_nearest nearest;
    struct cli_out out;
    hf_nearest_init(&nearest, name, len);
    nearest_in(&nearest, parse->opts);
    nearest_in(&nearest, cli_opts_common);
    cli_message_begin(&out);
    cli_out_text(&out, "unknown option --");
    (void)cli_out_shown(&out, name, len);
    put_where(&out, parse);
    if (!put_elsewhere(&out, parse, name, len) && nearest.best != NULL) {
        cli_out_text(&out, ": did you mean --");
        cli_out_text(&out, nearest.best);
        cli_out_text(&out, "?");
    }
    return end_with_hint(&out, parse);
}

static int unknown_letter(const struct parse *parse, const char *letter)
{
    struct cli_out out;
    char other = (char)(*letter ^ 0x20);
    const struct cli_opt *opt = find(parse->opts, other, NULL, 0);
    cli_message_begin(&out);
    cli_out_text(&out, "unknown option -");
    (void)cli_out_shown(&out, letter, 1);
    put_where(&out, parse);
    if (!put_elsewhere(&out, parse, letter, 1) && opt != NULL) {
        cli_out_text(&out, ": did you mean -");
        cli_out_bytes(&out, &opt->letter, 1);
        cli_out_text(&out, " (");
        opt_name(&out, opt);
        cli_out_text(&out, ")?");
    }
    return end_with_hint(&out, parse);
}

static void bad_value(struct cli_out *out, const struct cli_opt *opt,
                      const char *value)
{
    cli_message_begin(out);
    opt_name(out, opt);
    cli_out_text(out, " ");
    (void)cli_out_shown(out, value, strlen(value));
    cli_out_text(out, ": ");
}

/* Longest duration: a century, so that sums never overflow. */
#define DURATION_MS_MAX (INT64_C(100) * 366 * 86400 * 1000)

/* Bytes of a number that is compared with zeros: more digits are no number. */
#define ZEROS_MAX 64

/* True if it is a duration but for its size: it is one with zeros for digits.
 */
static bool is_too_long(const char *value)
{
    char zeros[ZEROS_MAX];
    int64_t ignored;
    size_t len = strlen(value);
    if (len >= sizeof(zeros) || strchr(value, '.') != NULL) {
        return false;
    }
    for (size_t i = 0; i <= len; i++) {
        zeros[i] = value[i];
        if (value[i] >= '0' && value[i] <= '9') {
            zeros[i] = '0';
        }
    }
    return hf_duration_parse(zeros, &ignored);
}

static int refuse_duration(const struct cli_opt *opt, const char *value)
{
    struct cli_out out;
    char most[CLI_DURATION_TEXT];
    bool is_negative = value[0] == '-' && value[1] >= '0' && value[1] <= '9';
    bad_value(&out, opt, value);
    if (is_too_long(value)) {
        cli_out_text(&out, "must be at most ");
        cli_out_text(&out, cli_duration_text(DURATION_MS_MAX, most));
    } else {
        cli_out_text(&out, is_negative
                               ? "a duration is not negative"
                               : "not a duration (250ms, 10s, 5m, 1h30m; a "
                                 "plain number is seconds)");
    }
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static int take_duration(const struct cli_opt *opt, const char *value,
                         int64_t *field)
{
    struct cli_out out;
    char least[CLI_DURATION_TEXT];
    if (!hf_duration_parse(value, field) || *field > DURATION_MS_MAX) {
        return refuse_duration(opt, value);
    }
    if (*field < opt->min) {
        bad_value(&out, opt, value);
        cli_out_text(&out, "must be at least ");
        cli_out_text(&out, cli_duration_text(opt->min, least));
        return cli_message_end(&out, CLI_EXIT_USAGE);
    }
    return 0;
}

static int take_number(const struct cli_opt *opt, const char *value,
                       int64_t *field)
{
    struct cli_out out;
    int64_t number = 0;
    size_t n = strspn(value, "0123456789");
    bool is_number = n > 0 && n <= 18 && value[n] == '\0';
    for (size_t i = 0; is_number && i < n; i++) {
        number = number * 10 + (value[i] - '0');
    }
    if (!is_number || number < opt->min || number > opt->max) {
        bad_value(&out, opt, value);
        cli_out_text(&out, "must be a number from ");
        cli_out_int(&out, opt->min);
        cli_out_text(&out, " to ");
        cli_out_int(&out, opt->max);
        return cli_message_end(&out, CLI_EXIT_USAGE);
    }
    *field = number;
    return 0;
}

static int take_choice(const struct cli_opt *opt, const char *value,
                       int64_t *field)
{
    struct cli_out out;
    for (size_t i = 0; opt->choices[i] != NULL; i++) {
        if (strcmp(opt->choices[i], value) == 0) {
            *field = (int64_t)i;
            return 0;
        }
    }
    bad_value(&out, opt, value);
    cli_out_text(&out, "must be ");
    for (size_t i = 0; opt->choices[i] != NULL; i++) {
        cli_out_text(&out, i > 0 ? " or " : "");
        cli_out_text(&out, opt->choices[i]);
    }
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static void take_word(struct cli_args *args, const char *word)
{
    if (args->n_words < CLI_WORDS_MAX) {
        args->words[args->n_words] = word;
    }
    args->n_words++;
}

static int take(const struct parse *parse, const struct cli_opt *opt,
                const char *value)
{
    struct cli_out out;
    /* The tables give the field's type with its kind. */
    void *field = (char *)parse->args + opt->offset;
    switch (opt->kind) {
    case CLI_OPT_FLAG:
        *(bool *)field = true;
        return 0;
    case CLI_OPT_COUNT:
        ++*(int *)field;
        return 0;
    case CLI_OPT_TEXT:
        *(const char **)field = value;
        return 0;
    case CLI_OPT_WORD:
        take_word(parse->args, value);
        return 0;
    case CLI_OPT_DURATION:
        return take_duration(opt, value, field);
    case CLI_OPT_NUMBER:
        return take_number(opt, value, field);
    case CLI_OPT_CHOICE:
        return take_choice(opt, value, field);
    case CLI_OPT_LATER:
        break;
    }
    cli_message_begin(&out);
    opt_name(&out, opt);
    cli_out_text(&out, " is not in this version");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static int lacks_value(const struct parse *parse, const struct cli_opt *opt)
{
    struct cli_out out;
    cli_message_begin(&out);
    opt_name(&out, opt);
    cli_out_text(&out, " needs a value: ");
    opt_name(&out, opt);
    cli_out_text(&out, " ");
    cli_out_text(&out, opt->meta);
    return end_with_hint(&out, parse);
}

/* True if the option needs a value. A reserved option is refused before its
 * value is parsed. */
static bool has_value(const struct cli_opt *opt)
{
    return opt->kind != CLI_OPT_FLAG && opt->kind != CLI_OPT_COUNT &&
           opt->kind != CLI_OPT_LATER;
}

/* "--" is no value: "--name -- CMD" has forgotten it. */
static const char *next_value(struct parse *parse)
{
    const char *value = *parse->argv;
    if (value == NULL || strcmp(value, "--") == 0) {
        return NULL;
    }
    parse->argv++;
    return value;
}

static int parse_long(struct parse *parse, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;
    const struct cli_opt *opt = find(parse->opts, 0, name, len);
    struct cli_out out;
    if (opt == NULL) {
        return unknown_long(parse, name, len);
    }
    if (!has_value(opt)) {
        if (value != NULL && opt->kind != CLI_OPT_LATER) {
            cli_message_begin(&out);
            opt_name(&out, opt);
            cli_out_text(&out, " takes no value");
            return end_with_hint(&out, parse);
        }
        return take(parse, opt, value);
    }
    if (value == NULL) {
        value = next_value(parse);
    }
    return value != NULL ? take(parse, opt, value) : lacks_value(parse, opt);
}

static int parse_letters(struct parse *parse, const char *word)
{
    int code = 0;
    for (const char *p = word + 1; *p != '\0' && code == 0; p++) {
        const struct cli_opt *opt = find(parse->opts, *p, NULL, 0);
        if (opt == NULL) {
            return unknown_letter(parse, p);
        }
        if (!has_value(opt)) {
            code = take(parse, opt, NULL);
            continue;
        }
        const char *value = p[1] != '\0' ? p + 1 : next_value(parse);
        return value != NULL ? take(parse, opt, value)
                             : lacks_value(parse, opt);
    }
    return code;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

static int parse_option(struct parse *parse)
{
    const char *word = *parse->argv++;
    return word[1] == '-' ? parse_long(parse, word)
                          : parse_letters(parse, word);
}

int cli_opt_parse(struct cli_args *args, const char *command,
                  const struct cli_opt *opts, char **argv)
{
    struct parse parse = {args, command, opts, argv};
    while (*parse.argv != NULL) {
        const char *word = *parse.argv;
        int code = 0;
        if (strcmp(word, "--") == 0) {
            args->command = parse.argv + 1;
            return 0;
        }
        if (is_option(word)) {
            code = parse_option(&parse);
        } else {
            parse.argv++;
            take_word(args, word);
        }
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

int cli_opt_parse_leading(struct cli_args *args, const char *command,
                          const struct cli_opt *opts, char ***argv)
{
    struct parse parse = {args, command, opts, *argv};
    int code = 0;
    while (code == 0 && *parse.argv != NULL && is_option(*parse.argv)) {
        code = parse_option(&parse);
    }
    *argv = parse.argv;
    return code;
}

static const struct cli_opt *read_long(const struct cli_opt *opts,
                                       const char *name, const char **value)
{
    size_t len = strcspn(name, "=");
    const struct cli_opt *opt = find(opts, 0, name, len);
    *value = name[len] == '=' ? name + len + 1 : NULL;
    return opt != NULL && opt->meta != NULL ? opt : NULL;
}

const struct cli_opt *cli_opt_read(const struct cli_opt *opts, const char *word,
                                   const char **value)
{
    *value = NULL;
    if (!is_option(word)) {
        return NULL;
    }
    if (word[1] == '-') {
        return read_long(opts, word + 2, value);
    }
    for (const char *p = word + 1; *p != '\0'; p++) {
        const struct cli_opt *opt = find(opts, *p, NULL, 0);
        if (opt == NULL || opt->meta != NULL) {
            *value = opt != NULL && p[1] != '\0' ? p + 1 : NULL;
            return opt;
        }
    }
    return NULL;
}

bool cli_opt_takes_next(const struct cli_opt *opts, const char *word)
{
    const char *value;
    return cli_opt_read(opts, word, &value) != NULL && value == NULL;
}

/* Where the help of an option begins: after nearly all options, and 50 columns
 * are left for it. */
#define HELP_COLUMN 30

static void help_one(struct cli_out *out, const struct cli_opt *opt)
{
    size_t used = 8 + strlen(opt->name);
    char letter[] = {'-', opt->letter, ',', ' '};
    cli_out_text(out, "  ");
    cli_out_bytes(out, opt->letter != 0 ? letter : "    ", sizeof(letter));
    opt_name(out, opt);
    if (opt->meta != NULL) {
        cli_out_text(out, " ");
        cli_out_text(out, opt->meta);
        used += 1 + strlen(opt->meta);
    }
    cli_out_pad(out, used < HELP_COLUMN ? HELP_COLUMN - used : 2);
    for (const char *line = opt->help; line != NULL;) {
        const char *end = strchr(line, '\n');
        cli_out_bytes(out, line,
                      end != NULL ? (size_t)(end - line) : strlen(line));
        cli_out_text(out, "\n");
        if (end != NULL) {
            cli_out_pad(out, HELP_COLUMN);
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

void cli_opt_help(struct cli_out *out, const struct cli_opt *opts)
{
    for (; opts != NULL && opts->name != NULL; opts++) {
        if (opts->help != NULL && opts->kind != CLI_OPT_LATER) {
            help_one(out, opts);
        }
    }
}
