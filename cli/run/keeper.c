/* SPDX-License-Identifier: Apache-2.0 */
/* One run: open the store, acquire, start the command, watch, release. After
 * every event the deadline is checked first (keeper_deadline.c).
 *
 * Cost: while the command runs, the keeper sleeps in one poll(). A renewal
 * wakes it, and costs it one timerfd_settime() of its own, and one of the
 * last timer. Its requests are those of an acquisition, of its renewals and of
 * a release; if the store watches processes, two renewals more, of which the
 * first delays the start of the command. */
#include "run/keeper.h"

#include "acquire.h"
#include "base/assert.h"
#include "clocks.h"
#include "env.h"
#include "exit_code.h"
#include "message.h"
#include "nested.h"
#include "run/title.h"
#include "store.h"
#include "timefmt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start the command, with the lock or without. Outside the range of exit codes,
 * since 0 is one. */
#define START (-1)

/* ---- Becoming the keeper ------------------------------------------------ */

static bool open_wake(struct cli_keeper *keeper)
{
    struct epoll_event in = {.events = EPOLLIN};
    keeper->wake = epoll_create1(EPOLL_CLOEXEC);
    return keeper->wake >= 0 &&
           epoll_ctl(keeper->wake, EPOLL_CTL_ADD, keeper->link, &in) == 0 &&
           epoll_ctl(keeper->wake, EPOLL_CTL_ADD, keeper->signals, &in) == 0;
}

static int set_up(struct cli_keeper *keeper)
{
    sigset_t all, wanted;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    cli_title_keeper();
    (void)sigemptyset(&keeper->handed);
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGCHLD);
    cli_keeper_signals_init(&keeper->own);
    cli_keeper_signals_add(keeper, &wanted);
    keeper->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    keeper->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (keeper->signals < 0 || keeper->timer < 0 || !open_wake(keeper)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "keeper", errno);
    }
    return 0;
}

/* ---- Acquiring the lock -------------------------------------------------- */

/* --on-unreachable run. The line is printed with --quiet, too: the command is
 * unprotected. */
static int warn_unprotected(const struct cli_keeper *keeper, const char *why)
{
    struct cli_out out;
    HF_ASSERT(keeper->lock == NULL);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, keeper->args->name, strlen(keeper->args->name));
    cli_out_text(&out, ": running WITHOUT the lock: ");
    cli_out_plain(&out, why);
    return cli_message_end(&out, START);
}

/* From the second round on our environment has the lock of the last round. */
static int refuse_ancestor(const struct cli_keeper *keeper)
{
    return keeper->is_again ? 0
                            : cli_nested_refuse(keeper->client, keeper->args);
}

/* A server that answered, if only to say that it refuses to write, may know a
 * holder, and so may one in quarantine. The request gives each of them the time
 * to connect. */
static bool check_reached(const struct cli_keeper *keeper)
{
    struct cli_info info;
    struct cli_node node;
    struct hf_error error;
    const struct hf_name *name = &keeper->args->names[0];
    bool is_reached = cli_inspect(keeper->client, name->name, name->name_len,
                                  &info, &error) == HF_OK;
    for (int i = 0; i < hf_client_nodes(keeper->client); i++) {
        cli_node(keeper->client, i, &node);
        is_reached = is_reached || node.health == HF_NODE_UP ||
                     node.health == HF_NODE_QUARANTINED;
    }
    return is_reached;
}

/* START only if no server was reached: an answer may mean that the lock is
 * held. */
static int refuse(struct cli_keeper *keeper, const struct cli_acquire *take)
{
    return take->outcome == HF_UNAVAILABLE &&
                   keeper->args->on_unreachable == CLI_UNREACHABLE_RUN &&
                   !check_reached(keeper)
               ? warn_unprotected(keeper, take->error.text)
               : cli_acquire_failed(take, keeper->args);
}

static int acquire_lock(struct cli_keeper *keeper,
                        const struct hf_request *request)
{
    struct cli_acquire take = {
        .client = keeper->client,
        .request = request,
        .status = keeper->status,
        .stop_fd = keeper->wake,
        .stop = cli_keeper_stop,
        .user = keeper,
        .is_quiet = keeper->args->is_quiet,
        .foreground = keeper->run->link.wrapper_group,
        .gate = &keeper->run->link.shared->line,
    };
    bool is_once = keeper->args->once_ms != CLI_UNSET;
    if (!cli_keeper_may_begin(keeper, &take)) {
        return refuse(keeper, &take);
    }
    /* A wait is not begun; of a try it is asked why it did not succeed. */
    bool can_wait = request->wait_ms != 0;
    int code = can_wait ? refuse_ancestor(keeper) : 0;
    if (code != 0) {
        return code;
    }
    enum hf_status status = cli_acquire(&take);
    keeper->was_taken = status == HF_OK || status == HF_LOST;
    code = status == HF_BUSY && !can_wait ? refuse_ancestor(keeper) : 0;
    if (code != 0) {
        return code;
    }
    if (status == HF_CANCELLED && take.signal == CLI_STOP_GONE) {
        return CLI_EXIT_INTERNAL; /* the wrapper has ended */
    }
    if (status != HF_OK) {
        return refuse(keeper, &take);
    }
    keeper->lock = take.lock;
    if (is_once && !cli_keeper_mark(keeper, &take)) {
        return refuse(keeper, &take);
    }
    return START;
}

/* ---- Starting the command ------------------------------------------------ */

/* If the store detects the end of processes, the lock is free only when
 * wrapper, keeper and command have all ended. @return 0, or the exit code: a
 * command must not be started if the store cannot watch it. */
static int add_wrapper(struct cli_keeper *keeper)
{
    enum hf_status status =
        keeper->lock != NULL
            ? hf_lock_add_process(keeper->lock, keeper->run->link.wrapper)
            : HF_OK;
    if (status == HF_OK) {
        return 0;
    }
    if (status == HF_LOST) {
        return cli_message(CLI_EXIT_LOST, keeper->args->name,
                           "the lock was lost again as soon as it was taken");
    }
    return cli_message(CLI_EXIT_UNREACHABLE, keeper->args->name,
                       "the store did not confirm which processes keep the "
                       "lock; the command was not started");
}

/* An interactive bash ignores SIGTTIN in $(...), whose processes are of its own
 * group. There a pager behind us could not ask for the terminal, so it stays
 * with the group until the command reads it. @return true: only SIGTTIN shows
 * that (cli_keeper_stopped()). */
static bool keep_terminal(struct cli_keeper *keeper)
{
    pid_t ours = keeper->run->link.wrapper_group;
    if (!keeper->run->signals.ignored_read) {
        cli_term_find(&keeper->term, ours);
        return false;
    }
    keeper->term = (struct cli_term){.fd = -1};
    cli_term_open(&keeper->term);
    bool is_ours = cli_term_group(&keeper->term) == ours;
    cli_term_close(&keeper->term);
    return is_ours;
}

static int start_command(struct cli_keeper *keeper)
{
    struct cli_run *run = keeper->run;
    struct cli_child_start how = {
        .command = keeper->args->command,
        .signals = &run->signals,
        .term = &keeper->term,
        .foreground = run->link.wrapper_group,
        .shared = run->link.shared,
        .until = hf_instant_sub(keeper->deadline, keeper->margin),
    };
    /* With the lock, something ends the command when the lease does. */
    HF_ASSERT((keeper->lock == NULL) == hf_instant_is_never(keeper->deadline));
    int code = add_wrapper(keeper);
    if (code != 0) {
        return code;
    }
    cli_env(keeper->args, keeper->lock);
    how.stops_to_read = keep_terminal(keeper);
    if (!cli_child_start(&keeper->child, &how)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "fork", errno);
    }
    cli_keeper_add_group(keeper);
    return 0;
}

/* ---- Watching ------------------------------------------------------------ */

static void set_timer(struct cli_keeper *keeper)
{
    struct hf_instant at = cli_keeper_next(keeper);
    if (at.ns != keeper->timer_at.ns) {
        keeper->timer_at = at;
        cli_time_set_timer(keeper->timer, at);
    }
}

/* Orphans of the command become our children, and are reaped too. */
static void reap(struct cli_keeper *keeper)
{
    int status;
    pid_t pid;
    cli_keeper_signals_read(keeper);
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != keeper->child.pid) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            cli_keeper_stopped(keeper, WSTOPSIG(status));
            continue;
        }
        HF_ASSERT(WIFEXITED(status) || WIFSIGNALED(status));
        keeper->child.status = status;
        keeper->child.is_over = true;
        atomic_store(&keeper->run->link.shared->group, 0);
    }
    keeper->is_alone = pid < 0 && errno == ECHILD;
}

enum { POLLED_TIMER, POLLED_SIGNALS, POLLED_LINK, POLLED_CLIENT, N_POLLED };

static void serve(struct cli_keeper *keeper, struct pollfd *fds)
{
    uint64_t ticks;
    if (fds[POLLED_TIMER].revents != 0) {
        (void)!read(keeper->timer, &ticks, sizeof(ticks));
        keeper->timer_at = HF_LONG_AGO; /* expired: it must be set again */
    }
    if (fds[POLLED_SIGNALS].revents != 0) {
        reap(keeper);
    }
    if (fds[POLLED_LINK].revents != 0 && !cli_keeper_receive(keeper)) {
        fds[POLLED_LINK].fd = -1;
        cli_keeper_end(keeper, CLI_WHY_WRAPPER);
    }
    bool is_over = keeper->child.is_over && !cli_keeper_is_draining(keeper);
    if (fds[POLLED_CLIENT].revents != 0 && !is_over) {
        hf_client_process(keeper->client);
        cli_keeper_look(keeper);
    }
}

static void watch(struct cli_keeper *keeper)
{
    struct pollfd fds[N_POLLED] = {
        [POLLED_TIMER] = {.fd = keeper->timer, .events = POLLIN},
        [POLLED_SIGNALS] = {.fd = keeper->signals, .events = POLLIN},
        [POLLED_LINK] = {.fd = keeper->link, .events = POLLIN},
        [POLLED_CLIENT] = {.fd = -1, .events = POLLIN},
    };
    if (keeper->client != NULL) { /* else there is no store to hear from */
        fds[POLLED_CLIENT].fd = hf_client_fd(keeper->client);
    }
    while (!keeper->child.is_over || cli_keeper_drains(keeper)) {
        set_timer(keeper);
        int n = poll(fds, N_POLLED, -1);
        if (cli_keeper_enforce(keeper)) {
            return;
        }
        if (n > 0) {
            serve(keeper, fds);
        }
        /* After the link: it may have the same signal from the wrapper. */
        cli_keeper_signals_hand_on(keeper, cli_time_now());
    }
    if (keeper->why != CLI_WHY_NONE) {
        /* The command ended; its descendants may not have. */
        cli_keeper_kill(keeper);
    }
}

/* ---- Releasing ----------------------------------------------------------- */

/* Length of the reservation: --min-hold counts from the start. */
static int64_t reserve_ms(const struct cli_keeper *keeper)
{
    HF_ASSERT(!hf_instant_is_never(keeper->started));
    int64_t hold_ms = keeper->args->min_hold_ms;
    int64_t gone_ms =
        hf_span_ms_floor(hf_instant_until(keeper->started, cli_time_now()));
    return hold_ms > gone_ms ? hold_ms - gone_ms : 0;
}

/* The lease alone keeps the name now, or nothing. */
static void say_free(const struct cli_keeper *keeper)
{
    (void)cli_message(0, keeper->args->name,
                      "it may be free before --min-hold is over: the store has "
                      "not confirmed the reservation");
}

/* @return false if the lock had another owner by then. */
static bool release_lock(struct cli_keeper *keeper, bool has_run)
{
    struct hf_lock *lock = keeper->lock;
    if (lock == NULL) {
        return true;
    }
    if (keeper->survivor == 0) {
        cli_ipc_set_last_timer(&keeper->run->link, HF_NEVER);
    }
    cli_keeper_unmark(keeper, has_run);
    keeper->lock = NULL;
    int64_t for_ms = has_run && !keeper->is_lost ? reserve_ms(keeper) : 0;
    enum hf_status status = for_ms > 0 ? hf_lock_release_reserved(lock, for_ms)
                                       : hf_lock_release(lock);
    keeper->is_denied = status == HF_DENIED;
    if (for_ms > 0 && status != HF_OK && status != HF_LOST) {
        say_free(keeper);
    }
    if (!keeper->is_lost) {
        bool is_freed =
            keeper->why == CLI_WHY_LOST ? status == HF_OK : status != HF_LOST;
        cli_keeper_say_end(keeper, is_freed ? "released" : "lost");
    }
    return status != HF_LOST;
}

static int run_command(struct cli_keeper *keeper)
{
    HF_ASSERT(!hf_instant_is_never(keeper->started)); /* cli_keeper_begin() */
    int code = start_command(keeper);
    if (code != 0) {
        (void)release_lock(keeper, false);
        return code;
    }
    if (keeper->lock != NULL) {
        cli_keeper_look(keeper);
    }
    watch(keeper);
    cli_keeper_signals_end(keeper);
    if (!cli_keeper_is_draining(keeper)) {
        cli_keeper_give_terminal(keeper);
    }
    bool has_run = atomic_load(&keeper->run->link.shared->exec_errno) == 0;
    bool was_ours = release_lock(keeper, has_run);
    return cli_keeper_code(keeper, was_ours);
}

/* A grace of more than half of the lease leaves no time for a retry after one
 * lost renewal: the command would be killed for no reason. */
static int check_grace(const struct cli_args *args, int64_t ttl_ms)
{
    struct cli_out out;
    char text[CLI_DURATION_TEXT];
    if (args->kill_grace_ms <= ttl_ms / 2) {
        return 0;
    }
    cli_message_begin(&out);
    cli_out_text(&out, "--kill-grace ");
    cli_out_text(&out, cli_duration_text(args->kill_grace_ms, text));
    cli_out_text(&out, ": at most half of the ttl, which is ");
    cli_out_text(&out, cli_duration_text(ttl_ms, text));
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* The grace is checked last: the ttl may be the store's. */
static int read_request(const struct cli_keeper *keeper,
                        struct hf_request *request)
{
    cli_acquire_request(request, keeper->args);
    int code = cli_acquire_ttl(request, keeper->client, keeper->args);
    return code != 0 ? code : check_grace(keeper->args, request->ttl_ms);
}

/* The notice goes first, before a wait that may be long; with --once it comes
 * only if the command is to run. */
int cli_keeper_round(struct cli_keeper *keeper)
{
    struct hf_request request;
    /* Nothing of an earlier round is left: a lost lock is never held. */
    HF_ASSERT(keeper->lock == NULL && keeper->child.pid == 0 &&
              !keeper->is_lost && keeper->why == CLI_WHY_NONE);
    int code = read_request(keeper, &request);
    if (code != 0) {
        return code;
    }
    bool is_silent = keeper->args->once_ms != CLI_UNSET;
    if (!is_silent && !keeper->is_again) {
        cli_store_notice(&keeper->run->config, keeper->args);
    }
    code = acquire_lock(keeper, &request);
    if (code != START) {
        return code;
    }
    if (is_silent) {
        cli_store_notice(&keeper->run->config, keeper->args);
    }
    cli_keeper_begin(keeper, request.ttl_ms);
    return run_command(keeper);
}

/* No lease is held. The grace is checked all the same, so that the line is
 * refused today rather than when the store is back. */
static int run_without_store(struct cli_keeper *keeper, const char *why)
{
    int64_t ttl_ms =
        keeper->args->ttl_ms != CLI_UNSET ? keeper->args->ttl_ms : CLI_TTL_MS;
    int code = check_grace(keeper->args, ttl_ms);
    if (code != 0) {
        return code;
    }
    (void)warn_unprotected(keeper, why);
    cli_keeper_begin(keeper, ttl_ms);
    return run_command(keeper);
}

/* Of the embedded store: on a disk that is full or read-only, it is no more
 * reached than a server that is away. */
static int run_with_store(struct cli_keeper *keeper)
{
    struct hf_error error = {.text = ""};
    struct cli_config *config = &keeper->run->config;
    enum hf_status status =
        cli_store_try(config, keeper->args, &keeper->client, &error);
    if (status == HF_OK) {
        return cli_keeper_again(keeper);
    }
    return status == HF_UNAVAILABLE &&
                   keeper->args->on_unreachable == CLI_UNREACHABLE_RUN
               ? run_without_store(keeper, error.text)
               : cli_store_open_failed(config, status, &error);
}

void cli_keeper(struct cli_run *run)
{
    struct cli_keeper keeper = {
        .run = run,
        .args = run->args,
        .link = run->link.fds[1],
        .status = &run->link.shared->status,
        .timer_at = HF_LONG_AGO,
        .started = HF_NEVER,
        .deadline = HF_NEVER,
        .terminated = HF_NEVER,
        .drain_end = HF_NEVER,
    };
    int code = set_up(&keeper);
    if (code == 0) {
        atomic_store(&run->link.shared->frees_at_end,
                     cli_store_frees_at_end(&run->config));
        code = run_with_store(&keeper);
    }
    hf_client_close(keeper.client);
    run->link.shared->interrupt = keeper.interrupt;
    _exit(code);
}
