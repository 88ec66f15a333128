/* SPDX-License-Identifier: Apache-2.0 */
#include "take.h"

#include "duration.h"
#include "exit_code.h"
#include "message.h"
#include "show.h"
#include "signals.h"
#include "when.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Who waits less does not want to read. */
#define SHOW_AFTER_MS 1000

/* The line of the terminal on which the wait is shown. */
struct line {
    bool is_wanted; /* stderr is a terminal */
    bool is_shown;
    int64_t began_ns;
    int64_t next_ns;
};

static void line_init(struct line *line, bool is_wanted)
{
    line->is_wanted = is_wanted;
    line->is_shown = false;
    line->began_ns = cli_when_now_ns();
    line->next_ns = line->began_ns + SHOW_AFTER_MS * CLI_NS_PER_MS;
}

/* Ours to write on: in the foreground, and not paused. */
static bool line_fits(const struct cli_take *take)
{
    return tcgetpgrp(STDERR_FILENO) == take->foreground &&
           cli_message_fits(STDERR_FILENO);
}

static void line_show(struct line *line, const struct cli_take *take)
{
    struct hf_info info;
    struct cli_out out;
    char text[CLI_DURATION_TEXT];
    int64_t now = cli_when_now_ns();
    line->next_ns = now + SHOW_AFTER_MS * CLI_NS_PER_MS;
    int64_t waited = (now - line->began_ns) / CLI_NS_PER_MS;
    enum hf_status status =
        hf_client_inspect(take->client, take->request->name,
                          take->request->name_len, &info, NULL);
    if (!line_fits(take)) {
        return;
    }
    cli_out_init(&out, STDERR_FILENO);
    cli_out_text(&out, "\r\033[Kwaiting ");
    cli_out_text(&out, cli_duration_text(waited - waited % 1000, text));
    cli_out_text(&out, " for ");
    (void)cli_out_shown(&out, take->request->name, take->request->name_len);
    cli_out_text(&out, ": ");
    if (status == HF_OK) {
        cli_show_holder(&out, &info.holder);
    } else {
        cli_out_text(&out, hf_status_text(status));
    }
    (void)cli_out_flush(&out);
    line->is_shown = true;
}

static void line_clear(const struct line *line, const struct cli_take *take)
{
    if (line->is_shown && line_fits(take)) {
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    }
}

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct cli_take *take = user;
    take->lock = lock;
    take->outcome = status;
    take->error = *error;
    take->is_over = true;
}

/* Milliseconds until the line is due, rounded up; -1: not at all. */
static int line_timeout(const struct line *line)
{
    if (!line->is_wanted) {
        return -1;
    }
    int64_t left = line->next_ns - cli_when_now_ns();
    return left <= 0 ? 0 : (int)((left + CLI_NS_PER_MS - 1) / CLI_NS_PER_MS);
}

static void wait_for(struct cli_take *take, struct line *line)
{
    struct pollfd fds[2] = {
        {.fd = hf_client_fd(take->client), .events = POLLIN},
        {.fd = take->stop_fd, .events = POLLIN},
    };
    hf_client_process(take->client);
    while (!take->is_over) {
        int n = poll(fds, 2, line_timeout(line));
        if (n > 0 && fds[1].revents != 0) {
            take->signal = take->stop(take->user);
            if (take->signal != 0) {
                return;
            }
        }
        if (n > 0 && fds[0].revents != 0) {
            hf_client_process(take->client);
        }
        if (!take->is_over && line->is_wanted &&
            cli_when_now_ns() >= line->next_ns) {
            line_show(line, take);
        }
    }
}

void cli_take_request(struct hf_request *request, const struct cli_args *args)
{
    hf_request_init(request, args->name);
    if (args->ttl_ms != CLI_UNSET) {
        request->ttl_ms = args->ttl_ms;
    }
    request->wait_ms =
        args->wait_ms != CLI_UNSET ? args->wait_ms : HF_WAIT_FOREVER;
    if (args->is_try || args->once_ms != CLI_UNSET) {
        request->wait_ms = 0;
    }
    request->label = args->label;
}

enum hf_status cli_take(struct cli_take *take)
{
    struct line line;
    struct hf_op *op = NULL;
    take->is_over = false;
    take->signal = 0;
    take->lock = NULL;
    take->outcome = hf_op_start_acquire(take->client, take->request, on_done,
                                        take, &op, &take->error);
    if (take->outcome != HF_OK) {
        return take->outcome;
    }
    bool can_wait = take->request->wait_ms != 0;
    line_init(&line, can_wait && !take->is_quiet && isatty(STDERR_FILENO));
    if (can_wait) {
        cli_status_say(&take->status, "waiting");
    }
    wait_for(take, &line);
    line_clear(&line, take);
    if (!take->is_over) {
        hf_op_cancel(op);
        take->outcome = HF_CANCELLED;
    }
    return take->outcome;
}

static int stopped(const struct cli_take *take, const struct cli_args *args)
{
    struct cli_out out;
    cli_message_begin(&out);
    (void)cli_out_shown(&out, args->name, strlen(args->name));
    cli_out_text(&out, ": stopped by ");
    cli_signals_name(&out, take->signal);
    cli_out_text(&out, " while waiting");
    return cli_message_end(&out, CLI_EXIT_SIGNAL + take->signal);
}

int cli_take_failed(const struct cli_take *take, const struct cli_args *args)
{
    const char *text = take->error.text[0] != '\0'
                           ? take->error.text
                           : hf_status_text(take->outcome);
    int code = cli_exit_code(take->outcome);
    if (take->outcome == HF_CANCELLED && take->signal > 0) {
        return stopped(take, args);
    }
    if (take->outcome == HF_BUSY) {
        if (args->once_ms != CLI_UNSET) {
            return CLI_EXIT_OK;
        }
        if (args->conflict_code != CLI_UNSET) {
            code = (int)args->conflict_code;
        }
    }
    return cli_message(code, args->name, text);
}
