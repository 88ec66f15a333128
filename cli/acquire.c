/* SPDX-License-Identifier: Apache-2.0 */
/* One poll(2) waits for the client and for a signal, so neither delays the
 * other; the wait line is drawn in between. A signal that ends the wait
 * cancels the operation, and the library releases in the background what a
 * node may have granted meanwhile.
 *
 * A lock from a hand-over is confirmed before it is returned: see confirm(). */
#include "acquire.h"

#include "exit_code.h"
#include "message.h"
#include "signals.h"
#include "snapshot.h"
#include "timefmt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct cli_acquire *take = user;
    take->lock = lock;
    take->outcome = status;
    take->error = *error;
    take->is_over = true;
}

/* From what the client has heard already, so that a reader of --status-fd costs
 * the servers no request. */
static void say_place(struct cli_acquire *take)
{
    struct cli_waiting waiting;
    if (take->status->fd < 0 || !cli_waiting(take->op, &waiting) ||
        take->ahead == (int64_t)waiting.ahead) {
        return;
    }
    take->ahead = waiting.ahead;
    cli_status_ahead(take->status, waiting.ahead);
}

static void process(struct cli_acquire *take)
{
    hf_client_process(take->client);
    if (!take->is_over) {
        say_place(take);
    }
}

static void wait_for(struct cli_acquire *take, struct cli_line *line)
{
    struct pollfd fds[2] = {
        {.fd = hf_client_fd(take->client), .events = POLLIN},
        {.fd = take->stop_fd, .events = POLLIN},
    };
    process(take);
    while (!take->is_over) {
        int n = poll(fds, 2, cli_line_timeout(line));
        if (n > 0 && fds[1].revents != 0) {
            take->signal = take->stop(take->user);
            if (take->signal != 0) {
                return;
            }
        }
        if (n > 0 && fds[0].revents != 0) {
            process(take);
        }
        if (!take->is_over) {
            cli_line_tick(line, take->client, take->op, take->request);
        }
    }
}

void cli_acquire_request(struct hf_request *request,
                         const struct cli_args *args)
{
    hf_request_init(request, NULL);
    request->name = args->names[0].name;
    request->name_len = args->names[0].name_len;
    request->mode = args->names[0].mode;
    request->more = args->names + 1;
    request->n_more = args->n_names - 1;
    request->permits = args->permits != CLI_UNSET ? (uint32_t)args->permits : 0;
    request->unfair = args->is_unfair;
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

static int refuse_ttl(const struct cli_args *args, int64_t max_ms)
{
    struct cli_out out;
    char text[CLI_DURATION_TEXT];
    cli_message_begin(&out);
    cli_out_text(&out, "-t/--ttl ");
    cli_out_text(&out, cli_duration_text(args->ttl_ms, text));
    cli_out_text(&out, ": this store allows at most ");
    cli_out_text(&out, cli_duration_text(max_ms, text));
    cli_out_text(&out, " (max_ttl); the ttl is not how long the ");
    cli_out_text(&out, args->command != NULL
                           ? "command may run: the lease is renewed"
                           : "lock can be held: extend renews it");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

int cli_acquire_ttl(struct hf_request *request, const struct hf_client *client,
                    const struct cli_args *args)
{
    int64_t max_ms = hf_client_max_ttl_ms(client);
    if (args->ttl_ms > max_ms) {
        return refuse_ttl(args, max_ms);
    }
    if (args->ttl_ms == CLI_UNSET) {
        request->ttl_ms = CLI_TTL_MS < max_ms ? CLI_TTL_MS : max_ms;
    }
    return 0;
}

const char *cli_acquire_check(const struct cli_args *args)
{
    if (args->is_try && args->wait_ms != CLI_UNSET) {
        return "--try does not wait: leave out --wait";
    }
    if (args->is_shared && args->permits != CLI_UNSET) {
        return "--shared is for any number of readers, --permits for at most "
               "N holders: give one of them";
    }
    if (args->n_names > 1 && args->permits != CLI_UNSET) {
        return "--permits takes one name";
    }
    return NULL;
}

/* A lock that was handed over is valid for some seconds at first, and the
 * renewal that extends it to the whole lease is in flight. Wait for it: a
 * command that starts before might have to be killed at once, and a detached
 * lock might expire before its new owner extends it. */
static void confirm(struct cli_acquire *take)
{
    enum hf_status status = HF_UNAVAILABLE;
    if (hf_lock_remaining_ms(take->lock) > take->request->ttl_ms / 2) {
        return;
    }
    while (status == HF_UNAVAILABLE) { /* until the lock is lost, at most */
        status = hf_lock_extend(take->lock, 0, &take->error);
    }
    if (status == HF_OK) {
        return;
    }
    (void)hf_lock_release(take->lock);
    take->lock = NULL;
    take->outcome = status;
}

/* Without this descriptor neither replies nor timeouts would wake the loop. */
static bool check_descriptor(struct cli_acquire *take)
{
    struct cli_out out;
    if (hf_client_fd(take->client) >= 0) {
        return true;
    }
    cli_out_init_text(&out, take->error.text, sizeof(take->error.text));
    cli_out_text(&out, cli_message_of(errno));
    take->outcome = HF_NO_MEMORY;
    return false;
}

enum hf_status cli_acquire(struct cli_acquire *take)
{
    struct cli_line line;
    take->op = NULL;
    take->ahead = -1;
    take->is_over = false;
    take->signal = 0;
    take->lock = NULL;
    if (!check_descriptor(take)) {
        return take->outcome;
    }
    take->outcome = hf_op_start_acquire(take->client, take->request, on_done,
                                        take, &take->op, &take->error);
    if (take->outcome != HF_OK) {
        return take->outcome;
    }
    bool can_wait = take->request->wait_ms != 0;
    cli_line_init(&line, can_wait && !take->is_quiet, take->foreground,
                  take->gate);
    if (can_wait) {
        cli_status_say(take->status, "waiting");
    }
    wait_for(take, &line);
    cli_line_clear(&line);
    if (!take->is_over) {
        hf_op_cancel(take->op);
        take->outcome = HF_CANCELLED;
    }
    if (take->outcome == HF_OK) {
        confirm(take);
    }
    return take->outcome;
}

int cli_acquire_stopped(const struct cli_args *args, int number)
{
    struct cli_out out;
    cli_message_begin(&out);
    (void)cli_out_shown(&out, args->name, strlen(args->name));
    cli_out_text(&out, ": stopped by ");
    cli_signals_name(&out, number);
    cli_out_text(&out, " while waiting");
    return cli_message_end(&out, CLI_EXIT_SIGNAL + number);
}

int cli_acquire_failed(const struct cli_acquire *take,
                       const struct cli_args *args)
{
    const char *text = take->error.text[0] != '\0'
                           ? take->error.text
                           : hf_status_text(take->outcome);
    int code = cli_exit_code(take->outcome);
    if (take->outcome == HF_CANCELLED && take->signal > 0) {
        return cli_acquire_stopped(args, take->signal);
    }
    if (take->outcome == HF_LOST) {
        text = "the lock was lost again as soon as it was taken";
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
