/* SPDX-License-Identifier: Apache-2.0 */
/* Three processes for one command:
 *
 *     shell ── wrapper ── keeper ── command
 *
 * The shell knows the wrapper's group; the keeper and the command have one
 * each, in the same session. So a stop by the terminal, a SIGSTOP or a kill -9
 * of the wrapper does not affect the keeper, which holds the lease. If the
 * wrapper dies, its end of the link closes, and the keeper kills the command.
 * If the keeper dies, all descendants become children of the wrapper, a
 * subreaper, and it kills the command. The keeper may also hang: stopped,
 * frozen, traced by a debugger, or in a system call that does not return. For
 * that case there is the last timer, which expires between SIGKILL and the
 * end of the lease. The keeper sets it before the command is started, sets it
 * again at each renewal, and switches it off when no process is left to kill.
 * When it expires, the wrapper kills the keeper and the command. Only the
 * failure of both processes lets the command outlive the lease. If both die,
 * the kernel kills the command itself. If both are stopped, the command
 * continues (docs/caveats.md).
 *
 * In a terminal the command's group is in the foreground, as a shell's job
 * would be. Ctrl-Z stops the command. The keeper detects that and sends a
 * message, and the wrapper stops its own group, for which the shell waits. fg
 * and bg continue the wrapper, which sends a message. The keeper then gives the
 * terminal to the command, if the shell gave it to the wrapper, and continues
 * the command. The wrapper's group may have other processes, such as a pager
 * that reads the command's output. If one of them wants the terminal, the
 * kernel signals all of the group, and the wrapper gives it the terminal. It
 * does not if SIGTTIN is ignored: then the command has no terminal until it
 * reads it (keep_terminal() in keeper.c).
 *
 * Cost: one fork more than a parent that holds the lock itself, a socket pair,
 * a timer and a page of shared memory. While the command runs, the wrapper
 * sleeps in one poll(): renewals do not wake it. */
#include "run/wrapper.h"

#include "base/assert.h"
#include "clocks.h"
#include "exit_code.h"
#include "message.h"
#include "run/keeper.h"
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A shell that learns of our end before it learns that its other processes were
 * continued takes the job for stopped. So long it gets to learn it. */
#define LEARN_MS 50

/* Killed processes end within milliseconds. One that is there after this time
 * is stuck in the kernel, as on a dead disk, and is reported as a survivor. */
#define KILL_MS 5000

struct wrapper {
    struct cli_run *run;
    int link; /* our end of the socket pair */
    int signals;
    pid_t keeper;
    int code;               /* the exit code; -1: still running */
    int resumed;            /* how often we were continued, % CLI_LINK_TIMES */
    struct hf_instant lent; /* when our group was given the terminal, or
                               HF_LONG_AGO */
};

static const char *name_of(const struct wrapper *wrapper)
{
    return wrapper->run->args->name;
}

/* The keeper is dead, or has a SIGKILL pending: it writes no more. */
static void say_lost(const struct wrapper *wrapper)
{
    struct cli_shared *shared = wrapper->run->link.shared;
    if (atomic_exchange(&shared->is_kept, false)) {
        cli_status_say(&shared->status, "lost");
    }
}

/* The keeper has died or hangs, so the wrapper kills the command.
 * @return a process of the command that is left; 0: none. */
static pid_t end_all(struct wrapper *wrapper)
{
    struct cli_ipc *link = &wrapper->run->link;
    struct cli_term term;
    pid_t group = atomic_load(&link->shared->group);
    HF_ASSERT(wrapper->keeper > 1);
    pid_t survivor =
        cli_kill_tree_end(&wrapper->run->kill_tree, group, wrapper->keeper,
                          hf_instant_add(cli_time_now(), hf_span_ms(KILL_MS)));
    cli_term_find(&term, group);
    if (group > 0) {
        (void)cli_term_move(&term, group, link->wrapper_group);
    }
    cli_term_close(&term);
    say_lost(wrapper);
    return survivor;
}

static void put_ended(struct cli_out *out, pid_t survivor)
{
    if (survivor == 0) {
        cli_out_text(out, "; the command was ended");
    } else {
        cli_kill_tree_put_survivor(out, survivor);
    }
}

/* A store that watches processes has this one among them, which ends after its
 * message, and the command's group. */
static const char *when_free(const struct wrapper *wrapper, pid_t survivor)
{
    if (!atomic_load(&wrapper->run->link.shared->frees_at_end)) {
        return ", and the lock frees itself when its lease or session is over";
    }
    return survivor == 0 ? ", and the lock frees itself now"
                         : ", and the lock frees itself when the process group "
                           "of the command has ended";
}

static void on_keeper_killed(struct wrapper *wrapper, int number)
{
    struct cli_out out;
    pid_t survivor = end_all(wrapper);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, name_of(wrapper), strlen(name_of(wrapper)));
    cli_out_text(&out, ": the process that kept the lock was killed (");
    cli_signals_name(&out, number);
    cli_out_text(&out, ")");
    put_ended(&out, survivor);
    cli_out_text(&out, when_free(wrapper, survivor));
    wrapper->code = cli_message_end(&out, CLI_EXIT_INTERNAL);
}

/* The last timer expired: the keeper hangs. Otherwise it would have set it
 * again, or killed the command and switched it off. */
static void check_last_timer(struct wrapper *wrapper)
{
    struct cli_out out;
    if (!cli_ipc_read_last_timer(&wrapper->run->link)) {
        return;
    }
    HF_ASSERT(wrapper->keeper > 1);
    (void)kill(wrapper->keeper, SIGKILL);
    pid_t survivor = end_all(wrapper);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, name_of(wrapper), strlen(name_of(wrapper)));
    cli_out_text(&out, ": lost: the process that kept the lock stood still, "
                       "and could not renew it");
    put_ended(&out, survivor);
    wrapper->code = cli_message_end(&out, CLI_EXIT_LOST);
}

static void on_keeper_ended(struct wrapper *wrapper, int status)
{
    if (WIFEXITED(status)) {
        wrapper->code = WEXITSTATUS(status);
    } else {
        on_keeper_killed(wrapper, WTERMSIG(status));
    }
}

/* The first process of a container adopts the orphans of others, too. */
static void on_child(struct wrapper *wrapper)
{
    int status;
    pid_t pid = 0;
    while (wrapper->code < 0 && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == wrapper->keeper) {
            on_keeper_ended(wrapper, status);
        }
    }
}

/* SIGCONT is not left to the signalfd: a Ctrl-Z would discard it there, and
 * stop nothing, since the command is stopped already. */
static void on_continued(struct wrapper *wrapper)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCONT);
    (void)sigtimedwait(&set, NULL, &(struct timespec){0});
    int resumed = (wrapper->resumed + 1) % CLI_LINK_TIMES;
    if (cli_ipc_send(wrapper->link, CLI_LINK_RESUMED, resumed)) {
        wrapper->resumed = resumed; /* else the keeper never counts it */
    }
}

/* What stops with the command: in a terminal our group, as by Ctrl-Z. Without
 * one no shell would continue the others of the group. */
static pid_t stopped_with_us(void)
{
    struct cli_term term = {.fd = -1};
    cli_term_open(&term);
    bool has_terminal = term.fd >= 0;
    cli_term_close(&term);
    return has_terminal ? 0 : getpid();
}

static void on_command_stopped(struct wrapper *wrapper, int value)
{
    int number = value % CLI_LINK_SIGNALS;
    HF_ASSERT(value >= 0 && number > 0);
    if (value / CLI_LINK_SIGNALS != wrapper->resumed) {
        return; /* we were continued since then, and so is the command */
    }
    if (cli_signals_stop(stopped_with_us(), number)) {
        on_continued(wrapper);
    } else {
        (void)cli_ipc_send(wrapper->link, CLI_LINK_UNSTOPPED, number);
    }
}

/* Give our group the terminal, if the command has it. @return true if it is in
 * the foreground then. */
static bool lend_terminal(const struct wrapper *wrapper)
{
    struct cli_ipc *link = &wrapper->run->link;
    struct cli_term term;
    pid_t group = atomic_load(&link->shared->terminal_group);
    cli_term_find(&term, group);
    cli_term_open(&term);
    bool is_lent = cli_term_move(&term, group, link->wrapper_group);
    bool is_ours = is_lent || cli_term_group(&term) == link->wrapper_group;
    cli_term_close(&term);
    return is_ours;
}

/* SIGCONT would discard a Ctrl-Z that is pending, which stops the group anyway:
 * fg continues it. */
static void continue_group(struct wrapper *wrapper)
{
    sigset_t pending;
    (void)sigpending(&pending);
    if (sigismember(&pending, SIGTSTP) != 1) {
        wrapper->lent = cli_time_now();
        (void)kill(0, SIGCONT);
    }
}

/* A process of our group was stopped since it is in the background. The signal
 * is ours to follow if the whole job is there. */
static void on_wanted(struct wrapper *wrapper, int number)
{
    if (lend_terminal(wrapper)) {
        atomic_store(&wrapper->run->link.shared->is_lent, true);
        continue_group(wrapper);
    } else if (cli_signals_stop(getpid(), number)) {
        on_continued(wrapper);
    }
}

/* The keeper has given the terminal back. A process of our group that wanted it
 * before is not to stay stopped when we have ended. */
static void end_wanted(struct wrapper *wrapper)
{
    struct signalfd_siginfo info;
    while (read(wrapper->signals, &info, sizeof(info)) == sizeof(info)) {
        bool is_wanted = info.ssi_signo == SIGTTIN || info.ssi_signo == SIGTTOU;
        if (is_wanted && lend_terminal(wrapper)) {
            continue_group(wrapper);
        }
    }
    struct hf_span left = hf_instant_until(
        cli_time_now(), hf_instant_add(wrapper->lent, hf_span_ms(LEARN_MS)));
    if (left.ns > 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = left.ns}, NULL);
    }
}

static void on_signal(struct wrapper *wrapper, int number)
{
    bool is_started = atomic_load(&wrapper->run->link.shared->group) != 0;
    if (number == SIGCHLD) {
        on_child(wrapper);
    } else if (number == SIGCONT) {
        on_continued(wrapper);
    } else if (number == SIGTTIN || number == SIGTTOU) {
        on_wanted(wrapper, number);
    } else if (number == SIGTSTP && !is_started) {
        /* The keeper continues to wait for the lock. */
        cli_line_stop(&wrapper->run->link.shared->line);
    } else {
        (void)cli_ipc_send(wrapper->link, CLI_LINK_SIGNAL, number);
    }
}

static void read_signals(struct wrapper *wrapper)
{
    struct signalfd_siginfo info;
    while (wrapper->code < 0 &&
           read(wrapper->signals, &info, sizeof(info)) == sizeof(info)) {
        on_signal(wrapper, (int)info.ssi_signo);
    }
}

static void read_link(struct wrapper *wrapper, struct pollfd *watched)
{
    struct cli_ipc_word word;
    while ((word = cli_ipc_read(wrapper->link)).kind == CLI_LINK_STOPPED) {
        on_command_stopped(wrapper, word.value);
    }
    if (word.kind == CLI_LINK_GONE) {
        watched->fd = -1; /* SIGCHLD will follow */
    }
}

enum { POLLED_LAST_TIMER, POLLED_SIGNALS, POLLED_LINK, N_POLLED };

static int watch(struct wrapper *wrapper)
{
    struct pollfd fds[N_POLLED] = {
        [POLLED_LAST_TIMER] = {.fd = wrapper->run->link.last_timer,
                               .events = POLLIN},
        [POLLED_SIGNALS] = {.fd = wrapper->signals, .events = POLLIN},
        [POLLED_LINK] = {.fd = wrapper->link, .events = POLLIN},
    };
    while (wrapper->code < 0) {
        int n = poll(fds, N_POLLED, -1);
        if (n > 0 && fds[POLLED_LAST_TIMER].revents != 0) {
            check_last_timer(wrapper);
        }
        if (n > 0 && fds[POLLED_SIGNALS].revents != 0 && wrapper->code < 0) {
            read_signals(wrapper);
        }
        if (n > 0 && fds[POLLED_LINK].revents != 0 && wrapper->code < 0) {
            read_link(wrapper, &fds[POLLED_LINK]);
        }
    }
    end_wanted(wrapper);
    HF_ASSERT(wrapper->code >= 0);
    return wrapper->code;
}

/* Without a signalfd no signal could be forwarded, so the run fails. */
static int give_up(struct wrapper *wrapper, int error)
{
    HF_ASSERT(wrapper->keeper > 1 && error > 0);
    (void)kill(wrapper->keeper, SIGKILL);
    (void)end_all(wrapper);
    return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", error);
}

/* Another code has precedence, such as that of a lost lock. */
static void pass_on_interrupt(const struct cli_run *run, int code)
{
    const struct cli_interrupt *interrupt = &run->link.shared->interrupt;
    if (code == CLI_EXIT_SIGNAL + interrupt->number) {
        cli_interrupt_pass_on(interrupt);
    }
}

/* Before the lock is acquired: with it, descendants that /proc hides could
 * outlive it. The limit on descriptors is no lack of /proc. */
static int find_proc(struct cli_run *run)
{
    int error = cli_kill_tree_open(&run->kill_tree);
    if (error == EMFILE || error == ENFILE) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "/proc", error);
    }
    if (error == 0 || run->args->on_no_proc == CLI_NO_PROC_RUN) {
        return 0;
    }
    return cli_message(CLI_EXIT_CONFIG, run->args->name,
                       "/proc does not show the processes that the command "
                       "will start, so they could not be ended in time; mount "
                       "the /proc of this pid namespace");
}

/* Before there is a command that could have the terminal. SIGTTOU is blocked by
 * cli_signals_block(). */
static void block_reading(void)
{
    sigset_t reading;
    (void)sigemptyset(&reading);
    (void)sigaddset(&reading, SIGTTIN);
    (void)sigprocmask(SIG_BLOCK, &reading, NULL);
}

int cli_wrapper(struct cli_run *run)
{
    struct wrapper wrapper = {.run = run, .code = -1, .lent = HF_LONG_AGO};
    int code = find_proc(run);
    if (code != 0) {
        return code;
    }
    if (!cli_ipc_open(&run->link)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "socketpair", errno);
    }
    run->link.shared->status = (struct cli_status){
        .fd = (int)run->args->status_fd, .name = run->args->name};
    cli_signals_block(&run->signals);
    block_reading();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    wrapper.keeper = fork();
    if (wrapper.keeper == 0) {
        (void)close(run->link.fds[0]);
        cli_keeper(run);
    }
    if (wrapper.keeper < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "fork", errno);
    }
    cli_config_forget(&run->config); /* only the keeper opens the store */
    (void)close(run->link.fds[1]);
    wrapper.link = run->link.fds[0];
    sigset_t wanted = run->signals.relayed;
    (void)sigaddset(&wanted, SIGCHLD);
    (void)sigaddset(&wanted, SIGTTIN);
    (void)sigaddset(&wanted, SIGTTOU);
    wrapper.signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    code = wrapper.signals < 0 ? give_up(&wrapper, errno) : watch(&wrapper);
    pass_on_interrupt(run, code);
    return code;
}
