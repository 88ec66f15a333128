/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast complete -- WORD...: completions of the last word, one a line. For
 * the completions of shells (completions/), which so have no lists of their
 * own that grow old. */
#include "cmd.h"

#include "guard.h"
#include "store.h"
#include "text_size.h"
#include "utf8.h"

#include <string.h>
#include <unistd.h>

/* A key was pressed: better no names than to wait for a store that is away. */
#define SECONDS_MAX 2

/* Most names that are offered: a shell asks before it shows more than 100. */
#define NAMES_MAX 200

struct completion {
    struct cli_out out;
    const char *begun; /* the word so far */
    size_t begun_len;
    unsigned n_names;
};

static void offer(struct completion *it, const char *text, size_t len)
{
    if (len >= it->begun_len && memcmp(text, it->begun, it->begun_len) == 0) {
        cli_out_bytes(&it->out, text, len);
        cli_out_text(&it->out, "\n");
    }
}

static void offer_text(struct completion *it, const char *text)
{
    offer(it, text, strlen(text));
}

static void offer_options(struct completion *it, const struct cli_opt *opts)
{
    char text[HF_TEXT_PHRASE];
    struct cli_out name;
    for (; opts != NULL && opts->name != NULL; opts++) {
        if (opts->kind == CLI_OPT_LATER) {
            continue;
        }
        cli_out_init_text(&name, text, sizeof(text));
        cli_out_text(&name, "--");
        cli_out_text(&name, opts->name);
        offer_text(it, text);
    }
}

static void offer_commands(struct completion *it)
{
    for (size_t i = 0; cli_cmds[i] != NULL; i++) {
        if (cli_cmds[i]->summary != NULL) {
            offer_text(it, cli_cmds[i]->name);
        }
    }
}

static void offer_databases(struct completion *it)
{
    for (size_t i = 0; cli_guards[i].name != NULL; i++) {
        offer_text(it, cli_guards[i].name);
    }
}

/* ---- Names --------------------------------------------------------------- */

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct completion *it = user;
    (void)info;
    if (cli_utf8_is_safe(name, name_len)) {
        offer(it, name, name_len);
        it->n_names++;
    }
    return it->n_names < NAMES_MAX;
}

/* What was typed may have wildcards of its own: they are escaped, and stand for
 * themselves. */
static bool make_pattern(const struct completion *it, char *text, size_t room)
{
    struct cli_out out;
    if (2 * it->begun_len + 2 > room) {
        return false;
    }
    cli_out_init_text(&out, text, room);
    for (size_t i = 0; i < it->begun_len; i++) {
        if (strchr("*?[]\\", it->begun[i]) != NULL) {
            cli_out_text(&out, "\\");
        }
        cli_out_bytes(&out, it->begun + i, 1);
    }
    cli_out_text(&out, "*");
    return true;
}

static void offer_names(struct completion *it, struct cli_args *args)
{
    char pattern[2 * HF_NAME_MAX + 2];
    struct hf_client *client;
    args->is_quiet = true;
    (void)alarm(SECONDS_MAX);
    if (!make_pattern(it, pattern, sizeof(pattern)) ||
        cli_store_find(args, &client) != 0) {
        return;
    }
    enum hf_status status = hf_client_list(client, pattern, on_name, it, NULL);
    (void)status; /* the names listed so far are offered */
    hf_client_close(client);
}

/* ---- The words before ---------------------------------------------------- */

struct before {
    const struct cli_cmd *cmd;
    const char *url;
    const struct cli_opt *open; /* the option that takes the last word */
    unsigned n_words;           /* after it, that are no options */
    bool has_dashes;
};

static void take_value(struct before *before, const struct cli_opt *opt,
                       const char *value)
{
    before->url = opt->letter == 'u' ? value : before->url;
}

/* As cli_opt_parse() does: names must be those of the store that the line would
 * use. */
static void read_word(struct before *before, const char *word)
{
    const struct cli_opt *open = before->open;
    const char *value;
    before->open = NULL;
    if (strcmp(word, "--") == 0) {
        before->has_dashes = true;
        return;
    }
    if (open != NULL) {
        take_value(before, open, word);
        return;
    }
    if (word[0] != '-' || word[1] == '\0') {
        before->n_words += before->cmd != NULL;
        before->cmd = before->cmd != NULL ? before->cmd : cli_cmd_find(word);
        return;
    }
    const struct cli_opt *opt = cli_opt_read(
        before->cmd != NULL ? before->cmd->opts : NULL, word, &value);
    if (opt != NULL && value != NULL) {
        take_value(before, opt, value);
    } else {
        before->open = opt;
    }
}

static void offer_value(struct completion *it, const struct cli_opt *opt)
{
    for (size_t i = 0; opt->choices != NULL && opt->choices[i] != NULL; i++) {
        offer_text(it, opt->choices[i]);
    }
}

static void offer_words(struct completion *it, enum cli_offer offers,
                        struct cli_args *args)
{
    switch (offers) {
    case CLI_OFFER_NAMES:
        offer_names(it, args);
        break;
    case CLI_OFFER_COMMANDS:
        offer_commands(it);
        break;
    case CLI_OFFER_DATABASES:
        offer_databases(it);
        break;
    case CLI_OFFER_NOTHING:
        break;
    }
}

static void offer_all(struct completion *it, const struct before *before,
                      struct cli_args *args)
{
    const struct cli_cmd *cmd = before->cmd;
    if (before->open != NULL) {
        offer_value(it, before->open);
    } else if (it->begun[0] == '-') {
        offer_options(it, cmd != NULL ? cmd->opts : NULL);
        offer_options(it, cli_opts_common);
    } else if (cmd != NULL && cmd->offers == CLI_OFFER_DATABASES &&
               before->n_words > 0) {
        /* Offer nothing: after the kind of database comes an address, which
         * is not known here, or a file, whose name the shell completes. */
    } else {
        offer_words(it, cmd != NULL ? cmd->offers : CLI_OFFER_COMMANDS, args);
    }
}

static int run(struct cli_args *args)
{
    struct before before = {.cmd = NULL};
    struct completion it = {.n_names = 0};
    char **word = args->command;
    for (; word[1] != NULL; word++) {
        read_word(&before, *word);
    }
    it.begun = *word;
    it.begun_len = strlen(*word);
    args->url = before.url;
    cli_out_init(&it.out, STDOUT_FILENO);
    if (!before.has_dashes) {
        offer_all(&it, &before, args);
    }
    return cli_out_flush(&it.out) ? 0 : 1;
}

const struct cli_cmd cli_cmd_complete = {
    .name = "complete",
    .usage = "-- WORD...",
    .text = "For the completions of shells: prints completions of the last "
            "word.\n",
    .takes_command = true,
    .run = run,
};
