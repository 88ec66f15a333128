/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast break: take a lock from its holder. */
#include "clocks.h"
#include "cmd.h"

#include "acquire.h"
#include "exit_code.h"
#include "format.h"
#include "message.h"
#include "opts_wait.h"
#include "signals.h"
#include "snapshot.h"
#include "store.h"
#include "timefmt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "now",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_now),
     .help = "do not wait until the holder's lease has\n"
             "ended: until then two holders may run"},
    {.letter = 'n',
     .name = "try",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_try),
     .help = "do not wait: break it only if its holder has\n"
             "released it (a reservation is left)"},
    {.letter = 'w',
     .name = "wait",
     .kind = CLI_OPT_DURATION,
     .offset = offsetof(struct cli_args, wait_ms),
     .meta = "DUR",
     .help = "break it only if the holder's lease ends in\n"
             "that time; default: no timeout"},
    CLI_OPT_NAME,
    {.name = NULL},
};

struct breaking {
    const struct cli_args *args;
    struct hf_client *client;
    struct cli_holder from; /* its holder before */
    struct cli_holder to;   /* its holder now */
    int64_t two_may_run_ms;
};

/* ---- Signals ----------------------------------------------------------- */

/* The break gives the name back before the signal ends us. */
static volatile sig_atomic_t stopped_by;
static struct hf_client *volatile interrupted;

static void on_signal(int number)
{
    stopped_by = number;
    hf_client_interrupt(interrupted);
}

static void catch_signals(struct hf_client *client)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    interrupted = client;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action = {.sa_handler = on_signal};
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

/* ---- Messages ---------------------------------------------------------- */

static void put_name(struct cli_out *out, const struct cli_args *args)
{
    (void)cli_out_shown(out, args->name, strlen(args->name));
}

static void put_who(struct cli_out *out, const struct cli_holder *holder)
{
    if (holder->kind == HF_HOLDER_SHARED) {
        cli_out_text(out, "its sharers");
    } else if (holder->host[0] == '\0') {
        cli_out_text(out, "another kind of client");
    } else {
        (void)cli_out_shown(out, holder->host, strlen(holder->host));
        cli_out_text(out, " pid ");
        cli_out_int(out, holder->pid);
    }
}

static void say_wait(const struct breaking *breaking, int64_t wait_ms)
{
    struct cli_out out;
    cli_out_init(&out, STDERR_FILENO);
    cli_out_text(&out, "waiting for the lease of ");
    put_name(&out, breaking->args);
    if (breaking->from.kind == HF_HOLDER_NONE) {
        cli_out_text(&out, ", which a server in quarantine may have lost,");
    } else {
        cli_out_text(&out, "'s holder (");
        put_who(&out, &breaking->from);
        cli_out_text(&out, ")");
    }
    cli_out_text(&out, " to end, at most until ");
    cli_time_text(&out, (cli_time_wall_ms() + wait_ms + 999) / 1000);
    (void)cli_message_end(&out, 0);
}

static bool may_wait(void *user, const struct hf_holder *holder,
                     int64_t wait_ms)
{
    struct breaking *breaking = user;
    const struct cli_args *args = breaking->args;
    cli_holder_read(&breaking->from, holder);
    if (stopped_by != 0 || args->is_try ||
        (args->wait_ms != CLI_UNSET && wait_ms > args->wait_ms)) {
        return false;
    }
    if (!args->is_quiet) {
        say_wait(breaking, wait_ms);
    }
    return true;
}

static void print_owner(struct cli_out *out, const char *key,
                        const struct cli_holder *holder)
{
    if (holder->owner[0] != '\0') {
        cli_out_json_text(out, key, holder->owner);
    } else {
        cli_out_json_key(out, key);
        cli_out_text(out, "null");
    }
}

static void print_json(struct cli_out *out, const struct breaking *breaking)
{
    cli_out_json_open(out);
    cli_out_json_text(out, "name", breaking->args->name);
    cli_out_json_bool(out, "now", breaking->args->is_now);
    cli_out_json_key(out, "two_may_run_ms");
    if (breaking->two_may_run_ms < 0) {
        cli_out_text(out, "null");
    } else {
        cli_out_int(out, breaking->two_may_run_ms);
    }
    print_owner(out, "from", &breaking->from);
    print_owner(out, "to", &breaking->to);
    cli_out_json_close(out);
}

/* Until when the old holder may still believe that it holds. */
static void print_overlap(struct cli_out *out, int64_t left_ms)
{
    char text[CLI_DURATION_TEXT];
    if (left_ms < 0) {
        cli_out_text(out, "; its holder may go on without end");
    } else if (left_ms > 0) {
        cli_out_text(out, "; two may run until ");
        cli_time_text(out, (cli_time_wall_ms() + left_ms + 999) / 1000);
        cli_out_text(out, " (");
        cli_out_text(out, cli_duration_text(left_ms, text));
        cli_out_text(out, "), when its holder must have stopped");
    }
}

static void put_result(struct cli_out *out, const struct breaking *breaking)
{
    bool was_taken = breaking->from.kind != HF_HOLDER_NONE;
    bool is_taken = breaking->to.kind != HF_HOLDER_NONE;
    put_name(out, breaking->args);
    if (was_taken) {
        cli_out_text(out, breaking->from.kind == HF_HOLDER_ENDED
                              ? " was kept taken after the end of "
                              : " was taken from ");
        put_who(out, &breaking->from);
        cli_out_text(out, " and");
    }
    cli_out_text(out, is_taken ? " goes to " : " is free");
    if (is_taken) {
        put_who(out, &breaking->to);
    }
    print_overlap(out, breaking->two_may_run_ms);
}

/* The name stays broken: that must not be lost with the output. */
static int say_unreported(const struct breaking *breaking, int error)
{
    struct cli_out out;
    cli_message_begin(&out);
    put_result(&out, breaking);
    cli_out_text(&out, "; not reported: stdout: ");
    cli_out_text(&out, cli_message_of(error));
    return cli_message_end(&out, CLI_EXIT_INTERNAL);
}

static int print(const struct breaking *breaking)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    if (breaking->args->is_json) {
        print_json(&out, breaking);
    } else if (!breaking->args->is_quiet) {
        put_result(&out, breaking);
        cli_out_text(&out, "\n");
    }
    return cli_out_flush(&out) ? 0 : say_unreported(breaking, out.error);
}

/* ---- Breaking ---------------------------------------------------------- */

static enum hf_status look(const struct breaking *breaking,
                           struct cli_holder *out, struct hf_error *error)
{
    struct cli_info info;
    const struct cli_args *args = breaking->args;
    enum hf_status status = cli_inspect(breaking->client, args->name,
                                        strlen(args->name), &info, error);
    if (status == HF_OK) {
        *out = info.holder;
    }
    return status;
}

static enum hf_status call(struct breaking *breaking, struct hf_error *error)
{
    const struct cli_args *args = breaking->args;
    size_t len = strlen(args->name);
    return args->is_now
               ? hf_client_break(breaking->client, args->name, len, true,
                                 &breaking->two_may_run_ms, error)
               : hf_client_break_wait(breaking->client, args->name, len,
                                      may_wait, breaking, error);
}

/* The longest that the break will wait. It shortens a lease of Holdfast above
 * max_ttl, which was granted before the server's clock was set back. */
static int64_t longest_ms(const struct breaking *breaking)
{
    const struct cli_holder *from = &breaking->from;
    int64_t max_ms = hf_client_max_ttl_ms(breaking->client);
    bool is_bounded =
        from->kind == HF_HOLDER_HOLDFAST || from->kind == HF_HOLDER_SHARED;
    return is_bounded && from->remaining_ms > max_ms ? max_ms
                                                     : from->remaining_ms;
}

/* A break takes the name, and returns it if it is cancelled: a renewal between
 * is refused, and sharers do not get their locks back. So one that -n or -w
 * would cancel is not begun. The hundredth is for the drift that the break will
 * add. A lock without expiry is left to the break, which refuses it. */
static bool must_leave(const struct breaking *breaking)
{
    const struct cli_args *args = breaking->args;
    const struct cli_holder *from = &breaking->from;
    int64_t most_ms = args->wait_ms != CLI_UNSET ? args->wait_ms : 0;
    bool has_limit = args->is_try || args->wait_ms != CLI_UNSET;
    bool is_held = from->kind != HF_HOLDER_NONE &&
                   from->kind != HF_HOLDER_ENDED && from->remaining_ms >= 0;
    int64_t left_ms = longest_ms(breaking);
    return has_limit && is_held && left_ms + left_ms / 100 + 2 > most_ms;
}

/* Near the words of the library, which run and acquire print: in those a
 * backslash of a label is one. */
static void put_refusal(struct cli_out *out, const struct cli_holder *from)
{
    if (from->kind == HF_HOLDER_SHARED) {
        cli_out_text(out, "held by others who share it");
    } else {
        cli_format_who(out, from);
        cli_format_since(out, from);
    }
    if (from->kind == HF_HOLDER_HOLDFAST && from->label[0] != '\0') {
        cli_out_text(out, " (");
        cli_out_plain(out, from->label);
        cli_out_text(out, ")");
    }
    cli_out_text(out, ", lease ends in ");
    cli_out_int(out, from->remaining_ms / 1000);
    cli_out_text(out, ".");
    cli_out_int(out, from->remaining_ms % 1000 / 100);
    cli_out_text(out, " s");
}

static int leave(const struct breaking *breaking)
{
    struct cli_out out;
    cli_message_begin(&out);
    put_name(&out, breaking->args);
    cli_out_text(&out, ": ");
    put_refusal(&out, &breaking->from);
    return cli_message_end(&out, CLI_EXIT_BUSY);
}

static int break_name(struct breaking *breaking)
{
    struct hf_error error = {.text = ""};
    const struct cli_args *args = breaking->args;
    enum hf_status status = look(breaking, &breaking->from, &error);
    if (status == HF_OK && must_leave(breaking)) {
        return leave(breaking);
    }
    if (status == HF_OK) {
        status = call(breaking, &error);
    }
    if (status != HF_OK && stopped_by != 0) {
        return cli_acquire_stopped(args, stopped_by);
    }
    if (status != HF_OK) {
        return cli_store_fail(status, args->name, &error);
    }
    /* If that fails it is reported as free: the break was done. */
    (void)look(breaking, &breaking->to, &error);
    if (strcmp(breaking->to.owner, breaking->from.owner) == 0) {
        breaking->to.kind = HF_HOLDER_NONE; /* reported by few servers */
        breaking->to.owner[0] = '\0';
    }
    return print(breaking);
}

static int run(struct cli_args *args)
{
    struct breaking breaking = {.args = args};
    if (args->is_try && args->wait_ms != CLI_UNSET) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "--try does not wait: leave out --wait");
    }
    if (args->is_now && (args->is_try || args->wait_ms != CLI_UNSET)) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "--now does not wait: leave out --try and --wait");
    }
    int code = cli_store_find(args, &breaking.client);
    if (code != 0) {
        return code;
    }
    catch_signals(breaking.client);
    code = break_name(&breaking);
    interrupted = NULL;
    hf_client_close(breaking.client);
    return code;
}

const struct cli_cmd cli_cmd_break = {
    .name = "break",
    .usage = "[-n | -w DUR | --now] NAME",
    .summary = "take the lock from its holder",
    .text =
        "Waits until the holder's lease has ended; the name is not granted "
        "before. Prints\nthe holder and the end of its lease. The fence "
        "increases: a store that compares\nfences refuses writes of the old "
        "holder. A reservation (--min-hold) and the mark\nof --once are "
        "removed at once, so --once may run again.\n\n"
        "A break that is cancelled (-n, -w, Ctrl-C, SIGTERM) returns the lock "
        "to its\nholder, which keeps it unless a renewal was refused in "
        "between.\n",
    .opts = opts,
    .takes_name = true,
    .run = run,
};
