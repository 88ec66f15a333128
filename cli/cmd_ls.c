/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast ls: list locks; show one name node by node; follow changes. */
#include "cmd.h"

#include "exit_code.h"
#include "format.h"
#include "ls/view.h"
#include "ls/view_follow.h"
#include "ls/view_name.h"
#include "ls/view_table.h"
#include "message.h"
#include "snapshot.h"
#include "store.h"
#include "width.h"

#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.letter = 'f',
     .name = "follow",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_follow),
     .help = "print each change, until interrupted"},
    {.name = "interval",
     .kind = CLI_OPT_DURATION,
     .offset = offsetof(struct cli_args, interval_ms),
     .meta = "DUR",
     .min = 10,
     .help = "polling interval of --follow (250ms)"},
    {.name = "name",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, name),
     .meta = "NAME",
     .help = "this exact name, not as a pattern"},
    {.name = NULL},
};

/* On a terminal silence could be taken for a failure; a program that reads us
 * gets no line that is no lock. */
static void put_nothing(struct cli_out *out, const char *pattern)
{
    if (isatty(STDOUT_FILENO) == 0) {
        return;
    }
    cli_out_text(out, "nothing is locked");
    if (pattern != NULL) {
        cli_out_text(out, " that matches ");
        cli_out_plain(out, pattern);
    }
    cli_out_text(out, "\n");
}

static int table(struct cli_out *out, struct hf_client *client,
                 const char *pattern)
{
    struct cli_view view;
    struct hf_error error = {.text = ""};
    cli_view_init(&view);
    enum hf_status status = cli_view_look(&view, client, pattern, &error);
    if (status == HF_OK && view.count == 0) {
        put_nothing(out, pattern);
    } else if (status == HF_OK) {
        cli_view_table(out, &view, cli_width(STDOUT_FILENO));
    }
    cli_view_fini(&view);
    return status == HF_OK ? 0 : cli_store_fail(status, "ls", &error);
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct cli_out *out = user;
    struct cli_holder holder;
    cli_holder_read(&holder, hf_info_holder(info));
    cli_out_json_open(out);
    cli_out_json_bytes(out, "name", name, name_len);
    cli_format_holder_json(out, &holder, hf_info_is_split(info));
    cli_out_json_int(out, "waiting", hf_info_waiting(info));
    cli_out_json_close(out);
    return out->error == 0;
}

/* For programs nothing is folded, so that nothing need be kept. */
static int lines(struct cli_out *out, struct hf_client *client,
                 const char *pattern)
{
    struct hf_error error = {.text = ""};
    enum hf_status status =
        hf_client_list(client, pattern, on_name, out, &error);
    return status == HF_OK ? 0 : cli_store_fail(status, "ls", &error);
}

static int put_few(struct hf_client *client, int code, const char *subject,
                   const char *text)
{
    struct cli_out line;
    cli_message_begin(&line);
    (void)cli_out_shown(&line, subject, strlen(subject));
    cli_out_text(&line, text);
    cli_out_text(&line, ", as too few servers count");
    cli_store_put_nodes(&line, client);
    return cli_message_end(&line, code);
}

static int list(struct cli_out *out, struct hf_client *client,
                const struct cli_args *args)
{
    const char *pattern = args->n_words > 0 ? args->words[0] : NULL;
    int code = args->is_json ? lines(out, client, pattern)
                             : table(out, client, pattern);
    return code == 0 && !args->is_quiet &&
                   !cli_store_check_complete(client, NULL)
               ? put_few(client, 0, "ls", ": locks may be missing")
               : code;
}

static int look(struct hf_client *client, const struct cli_args *args,
                const char *name)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    int code = name != NULL ? cli_view_name(&out, client, name, args->is_json)
                            : list(&out, client, args);
    if (!cli_out_flush(&out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
    }
    return code;
}

/* ls -q NAME: the exit code is the answer, as of grep -q. A name that is only
 * reserved after the end of its holder is not held. */
static int check_held(struct hf_client *client, const char *name)
{
    struct cli_info info;
    struct hf_error error = {.text = ""};
    enum hf_status status =
        cli_inspect(client, name, strlen(name), &info, &error);
    if (status != HF_OK) {
        return cli_store_fail(status, name, &error);
    }
    bool is_free = info.holder.kind == HF_HOLDER_NONE ||
                   info.holder.kind == HF_HOLDER_ENDED;
    if (!is_free || info.split) {
        return 0;
    }
    return cli_store_check_complete(client, &info)
               ? CLI_EXIT_NO
               : put_few(client, CLI_EXIT_UNREACHABLE, name,
                         ": it may be held");
}

/* A word with a wildcard or a backslash is a pattern; --name is always
 * exact. */
static const char *name_of(const struct cli_args *args)
{
    bool is_name = args->name == NULL && args->n_words > 0 &&
                   strpbrk(args->words[0], "*?[\\") == NULL;
    return is_name ? args->words[0] : args->name;
}

static int check(const struct cli_args *args, const char *name)
{
    if (args->interval_ms != CLI_UNSET && !args->is_follow) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "--interval needs --follow: it is its polling "
                           "interval");
    }
    if (args->name != NULL && args->n_words > 0) {
        return cli_message(CLI_EXIT_USAGE, "ls",
                           "--name takes no pattern beside it");
    }
    return name != NULL && name[0] == '\0'
               ? cli_message(CLI_EXIT_USAGE, "ls", "the name is empty")
               : 0;
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    const char *name = name_of(args);
    int code = check(args, name);
    if (code == 0) {
        code = cli_store_find(args, &client);
    }
    if (code != 0) {
        return code;
    }
    if (args->is_follow) {
        code = cli_view_follow(client, args, name);
    } else if (args->is_quiet && !args->is_json && name != NULL) {
        code = check_held(client, name);
    } else {
        code = look(client, args, name);
    }
    hf_client_close(client);
    return code;
}

const struct cli_cmd cli_cmd_ls = {
    .name = "ls",
    .usage = "[--json] [--follow] [PATTERN]",
    .summary = "list locks with holder, start, fence and waiters",
    .text =
        "PATTERN has *, ?, [a-z] and \\ as in a shell. An exact NAME is shown "
        "node by\nnode with its queue, nodes with the same state in one line, "
        "and a semaphore slot\nby slot. --follow misses changes that are "
        "undone within one interval. ls -q NAME\nprints nothing: exit 0 if "
        "NAME is held, 1 if it is not. On a terminal columns\nare cut or "
        "omitted to fit; other output has all columns in full.\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one pattern at a time",
    .run = run,
};
