/* SPDX-License-Identifier: Apache-2.0 */
/* Polls the store, and compares each snapshot with the one before. A snapshot
 * takes a few round trips independent of the number of names. Polling takes at
 * most a fifth of the time, so that watching does not load a store with very
 * many names.
 *
 * Signals end it: their handler interrupts the client, which may be waiting for
 * a server, and the pause between two snapshots. */
#include "ls/view_follow.h"

#include "clocks.h"
#include "exit_code.h"
#include "format.h"
#include "ls/view_diff.h"
#include "message.h"
#include "store.h"
#include "timefmt.h"
#include "width.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Default of --interval: a change is seen at once, as people see it. */
#define INTERVAL_MS 250

/* The pause is at least so many times the duration of a snapshot: however many
 * names there are, the servers are scanned a fifth of the time at most. */
#define REST 4

/* The column where a change begins, after time and name. */
#define AT_NAME 24

/* Indentation of folded lines. */
#define INDENT 4

/* Room for an escaped name and the text of a line. */
#define LINE_ROOM (4 * HF_NAME_MAX + 4096)

struct follow {
    struct hf_client *client;
    const char *name;
    const char *pattern;
    bool is_json;
    bool is_away;       /* the store is unreachable, and a line said so */
    bool is_incomplete; /* too few servers count, and a line said so */
    int64_t interval_ms;
    struct cli_out out;
    struct cli_view views[2];
    int latest; /* its index in views */
    bool has_view;
    struct hf_instant seen; /* when the latest was read */
};

/* ---- Signals ----------------------------------------------------------- */

/* NULL and -1 once the client is about to be closed: a signal may be repeated,
 * as `timeout` does, and then has nothing to do. */
static struct hf_client *volatile to_interrupt;
static volatile sig_atomic_t is_stopped;
static volatile sig_atomic_t wake_fd;

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    is_stopped = 1;
    hf_client_interrupt(to_interrupt);
    (void)!eventfd_write(wake_fd, 1);
    errno = saved;
}

static bool catch_signals(struct hf_client *client)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction action = {.sa_handler = on_signal};
    to_interrupt = client;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct sigaction before;
        (void)sigaction(ends[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) { /* nohup */
            (void)sigaction(ends[i], &action, NULL);
        }
    }
    (void)sigaction(SIGPIPE, &ignore, NULL);
    return true;
}

static void drop_signals(void)
{
    int fd = wake_fd;
    to_interrupt = NULL;
    wake_fd = -1;
    (void)close(fd);
}

/* ---- Lines ------------------------------------------------------------- */

/* The width is asked for each line: the terminal may be resized while we
 * follow. */
static void put_line(struct cli_out *out, const char *text)
{
    cli_width_fold(out, text, INDENT, cli_width(STDOUT_FILENO));
    cli_out_text(out, "\n");
}

static void put_time(struct cli_out *out)
{
    int64_t wall_ms = cli_time_wall_ms();
    char digits[] = {'.', (char)('0' + wall_ms / 100 % 10),
                     (char)('0' + wall_ms / 10 % 10),
                     (char)('0' + wall_ms % 10)};
    cli_time_text(out, wall_ms / 1000);
    cli_out_bytes(out, digits, sizeof(digits));
    cli_out_text(out, "  ");
}

/* "db3 pid 4711 (nightly job)", "3 readers". */
static void put_who(struct cli_out *out, const struct cli_row *row)
{
    if (row == NULL) {
        cli_out_text(out, "no holder");
        return;
    }
    if (row->holder_kind == HF_HOLDER_SHARED) {
        cli_out_int(out, row->sharers);
        cli_out_text(out, row->sharers == 1 ? " reader" : " readers");
    } else if (row->host[0] == '\0') {
        cli_out_text(out, "another kind of client");
    } else {
        (void)cli_out_shown(out, row->host, strlen(row->host));
        cli_out_text(out, " pid ");
        cli_out_int(out, row->pid);
    }
    if (row->label[0] != '\0') {
        cli_out_text(out, " (");
        (void)cli_out_shown(out, row->label, strlen(row->label));
        cli_out_text(out, ")");
    }
}

static void put_fence(struct cli_out *out, const struct cli_row *row)
{
    if (row != NULL && row->fence > 0) {
        cli_out_text(out, ", fence ");
        cli_out_uint(out, row->fence);
    }
}

static void put_count(struct cli_out *out, const char *label, int64_t count,
                      int64_t delta)
{
    cli_out_text(out, label);
    cli_out_int(out, count);
    cli_out_text(out, delta > 0 ? " (+" : " (");
    cli_out_int(out, delta);
    cli_out_text(out, ")");
}

static void put_held(struct cli_out *out, const struct cli_row *row)
{
    struct cli_holder holder = {.kind = HF_HOLDER_NONE};
    if (row != NULL) {
        cli_row_read(row, &holder);
    }
    cli_format_held(out, &holder);
    put_fence(out, row);
}

static int64_t count_waiting(const struct cli_row *row)
{
    return row == NULL ? 0 : (int64_t)cli_row_waiting(row);
}

static void put_change(struct cli_out *out, enum cli_change change,
                       const struct cli_row *before, const struct cli_row *now,
                       int64_t delta)
{
    switch (change) {
    case CLI_CHANGE_HELD:
        put_held(out, now);
        return;
    case CLI_CHANGE_ACQUIRED:
        cli_out_text(out, "acquired by ");
        put_who(out, now);
        put_fence(out, now);
        return;
    case CLI_CHANGE_HANDED:
        cli_out_text(out, "handed over: ");
        put_who(out, before);
        cli_out_text(out, " -> ");
        put_who(out, now);
        put_fence(out, now);
        return;
    case CLI_CHANGE_ENDED:
        cli_out_text(out, "ended, and kept taken, by ");
        put_who(out, now);
        return;
    case CLI_CHANGE_RELEASED:
        cli_out_text(out, "released by ");
        put_who(out, before);
        return;
    case CLI_CHANGE_EXPIRED:
        cli_out_text(out, "expired: ");
        put_who(out, before);
        return;
    case CLI_CHANGE_READERS:
        put_count(out, "readers ", now != NULL ? now->sharers : 0, delta);
        return;
    case CLI_CHANGE_WAITING:
        put_count(out, "waiting ", count_waiting(now), delta);
        return;
    }
}

static const char *change_word(enum cli_change change)
{
    switch (change) {
#define WORD(symbol, word)                                                     \
    case symbol:                                                               \
        return word;
        CLI_CHANGE_MAP(WORD)
#undef WORD
    }
    return "";
}

/* ---- JSON -------------------------------------------------------------- */

static void open_json(struct cli_out *out, const char *event)
{
    cli_out_json_open(out);
    cli_out_json_text(out, "event", event);
    cli_out_json_int(out, "time_ms", cli_time_wall_ms());
}

static void put_from_json(struct cli_out *out, const struct cli_row *row)
{
    struct cli_holder holder;
    cli_row_read(row, &holder);
    cli_out_json_key(out, "from");
    cli_out_json_open(out);
    cli_format_holder_json(out, &holder, false);
    cli_out_text(out, "}");
}

static void put_change_json(struct cli_out *out, enum cli_change change,
                            const struct cli_row *named,
                            const struct cli_row *before,
                            const struct cli_row *now, int64_t delta)
{
    static const struct cli_row free_row = {
        .owner = "", .host = "", .label = ""};
    struct cli_holder holder;
    open_json(out, change_word(change));
    cli_out_json_bytes(out, "name", named->name, named->name_len);
    cli_row_read(now != NULL ? now : &free_row, &holder);
    cli_format_holder_json(out, &holder, false);
    cli_out_json_int(out, "waiting", count_waiting(now));
    if (delta != 0) {
        cli_out_json_int(out, "delta", delta);
    } else if (before != NULL) {
        put_from_json(out, before);
    }
    cli_out_json_close(out);
}

/* ---- Snapshots --------------------------------------------------------- */

static void on_change(void *user, enum cli_change change,
                      const struct cli_row *before, const struct cli_row *now,
                      int64_t delta)
{
    struct follow *follow = user;
    struct cli_out *out = &follow->out;
    struct cli_out line;
    char text[LINE_ROOM];
    const struct cli_row *row = now != NULL ? now : before;
    if (follow->is_json) {
        put_change_json(out, change, row, before, now, delta);
    } else {
        cli_out_init_text(&line, text, sizeof(text));
        put_time(&line);
        size_t used = cli_out_shown(&line, row->name, row->name_len);
        cli_out_pad(&line, used < AT_NAME ? AT_NAME - used : 1);
        put_change(&line, change, before, now, delta);
        put_line(out, text);
    }
    (void)cli_out_flush(out);
}

/* A line without a name: the store is unreachable, or back. */
static void put_store(struct follow *follow, const char *event,
                      const char *text)
{
    struct cli_out *out = &follow->out;
    struct cli_out line;
    char said[LINE_ROOM];
    if (follow->is_json) {
        open_json(out, event);
        if (text[0] != '\0') {
            cli_out_json_text(out, "text", text);
        }
        cli_out_json_close(out);
    } else {
        cli_out_init_text(&line, said, sizeof(said));
        put_time(&line);
        cli_out_text(&line, "(");
        cli_out_text(&line, event);
        cli_out_text(&line, text[0] != '\0' ? ": " : "");
        cli_out_plain(&line, text);
        cli_out_text(&line, ")");
        put_line(out, said);
    }
    (void)cli_out_flush(out);
}

/* Locks that servers in quarantine have lost seem to have ended: this line goes
 * first. */
static void put_completeness(struct follow *follow)
{
    bool is_complete = cli_store_check_complete(follow->client, NULL);
    char text[LINE_ROOM];
    struct cli_out out;
    if (is_complete == !follow->is_incomplete) {
        return;
    }
    cli_out_init_text(&out, text, sizeof(text));
    if (!is_complete) {
        cli_out_text(&out, "too few servers count");
        cli_store_put_nodes(&out, follow->client);
    }
    put_store(follow, is_complete ? "complete" : "incomplete", text);
    follow->is_incomplete = !is_complete;
}

static void compare(struct follow *follow)
{
    struct hf_instant at = cli_time_now();
    struct cli_view *now = &follow->views[follow->latest];
    struct cli_view *before = &follow->views[1 - follow->latest];
    if (follow->is_away) {
        put_store(follow, "back", "");
    }
    follow->is_away = false;
    put_completeness(follow);
    cli_view_diff(follow->has_view ? before : NULL, now,
                  hf_span_ms_floor(hf_instant_until(follow->seen, at)),
                  on_change, follow);
    cli_view_fini(before);
    follow->seen = at;
    follow->has_view = true;
}

/* True if the error may be temporary. A server that has been of use, and is not
 * now, may be a primary again: of a fail-over, or with its settings back. */
static bool is_outage(const struct follow *follow, enum hf_status status)
{
    return status == HF_UNAVAILABLE || status == HF_QUARANTINED ||
           (status == HF_CONFIG && follow->has_view);
}

/* @return 0, or the exit code. */
static int look(struct follow *follow)
{
    struct hf_error error = {.text = ""};
    struct cli_view *view = &follow->views[1 - follow->latest];
    enum hf_status status =
        follow->name != NULL
            ? cli_view_look_name(view, follow->client, follow->name, &error)
            : cli_view_look(view, follow->client, follow->pattern, &error);
    if (status == HF_OK) {
        follow->latest = 1 - follow->latest;
        compare(follow);
        return 0;
    }
    cli_view_fini(view);
    if (is_stopped || status == HF_CANCELLED) {
        return 0;
    }
    if (!is_outage(follow, status)) {
        return cli_store_fail(status, "ls", &error);
    }
    if (!follow->is_away) {
        put_store(follow, "unreachable", error.text);
    }
    follow->is_away = true;
    return 0;
}

static int go_on(struct follow *follow)
{
    for (;;) {
        struct hf_instant began = cli_time_now();
        int code = look(follow);
        int64_t took_ms =
            hf_span_ms_floor(hf_instant_until(began, cli_time_now()));
        int64_t rest_ms = follow->interval_ms - took_ms;
        if (code != 0) {
            return code;
        }
        if (follow->out.error == EPIPE) {
            return 0;
        }
        if (follow->out.error != 0) {
            return cli_message_errno(CLI_EXIT_INTERNAL, "stdout",
                                     follow->out.error);
        }
        if (!follow->is_away && rest_ms < REST * took_ms) {
            rest_ms = REST * took_ms;
        }
        if (!cli_view_pause(follow->client, rest_ms > 0 ? rest_ms : 0, wake_fd,
                            STDOUT_FILENO) ||
            is_stopped) {
            return 0;
        }
    }
}

int cli_view_follow(struct hf_client *client, const struct cli_args *args,
                    const char *name)
{
    static struct follow follow;
    follow = (struct follow){
        .client = client,
        .name = name,
        .pattern = args->n_words > 0 ? args->words[0] : NULL,
        .is_json = args->is_json,
        .interval_ms =
            args->interval_ms != CLI_UNSET ? args->interval_ms : INTERVAL_MS,
    };
    cli_out_init(&follow.out, STDOUT_FILENO);
    if (!catch_signals(client)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "eventfd", errno);
    }
    int code = go_on(&follow);
    cli_view_fini(&follow.views[0]);
    cli_view_fini(&follow.views[1]);
    drop_signals();
    return code;
}
