/* SPDX-License-Identifier: Apache-2.0 */
/* Three processes for one command:
 *
 *     shell ── wrapper ── keeper ── command
 *
 * The shell knows the wrapper's group; the keeper and the command have one
 * each, in the same session. So a terminal's stop, a SIGSTOP or a kill -9 that
 * reaches the wrapper does not reach the keeper, who holds the lease. The
 * wrapper's death closes its end of the link: the keeper ends the command. The
 * keeper's death makes the wrapper, a subreaper, heir of everything: it ends
 * the command. Should the keeper be stopped, the wrapper does so too when the
 * lease is about to end, at the guard that the keeper moves in the page they
 * share. Only both of them together can be taken out; the kernel then kills the
 * command itself.
 *
 * In a terminal the command's group is in the foreground, as the shell's job
 * would be. Ctrl-Z stops the command; the keeper sees it and says so; the
 * wrapper stops its own group, which is what the shell waits for. fg and bg
 * continue the wrapper, who says so; the keeper hands over the terminal, if
 * the shell gave it to the wrapper, and continues the command. */
#include "wrapper.h"

#include "descend.h"
#include "exit_code.h"
#include "keeper.h"
#include "message.h"
#include "when.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that does not die in this time is in the hands of the kernel. */
#define KILL_NS (5000 * CLI_NS_PER_MS)

struct wrapper {
    struct cli_run *run;
    int link; /* our end */
    int signals;
    pid_t keeper;
    int code; /* -1: goes on */
};

static const char *name_of(const struct wrapper *wrapper)
{
    return wrapper->run->args->name;
}

/* The keeper cannot keep its promise any more: do it for it. */
static void end_all(struct wrapper *wrapper)
{
    struct cli_link *link = &wrapper->run->link;
    struct cli_term term;
    pid_t group = atomic_load(&link->shared->group);
    (void)cli_descend_end(group, cli_when_now_ns() + KILL_NS);
    cli_term_find(&term, group);
    if (group > 0) {
        (void)cli_term_move(&term, group, link->wrapper_group);
    }
    cli_term_close(&term);
}

static void on_keeper_killed(struct wrapper *wrapper, int number)
{
    struct cli_out out;
    end_all(wrapper);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, name_of(wrapper), strlen(name_of(wrapper)));
    cli_out_text(&out, ": the process that kept the lock was killed (");
    cli_signals_name(&out, number);
    cli_out_text(&out, "); the command was ended, and the lock frees itself "
                       "when its lease is over");
    wrapper->code = cli_message_end(&out, CLI_EXIT_INTERNAL);
}

/* @return milliseconds until the guard, rounded up; -1: no guard. */
static int guard_timeout(const struct wrapper *wrapper)
{
    int64_t guard = atomic_load(&wrapper->run->link.shared->guard_ns);
    if (guard == 0) {
        return -1;
    }
    int64_t left =
        (guard - cli_when_now_ns() + CLI_NS_PER_MS - 1) / CLI_NS_PER_MS;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* The keeper should have acted, or moved the guard: it was stopped. */
static void check_guard(struct wrapper *wrapper)
{
    if (guard_timeout(wrapper) != 0) {
        return;
    }
    (void)kill(wrapper->keeper, SIGKILL);
    end_all(wrapper);
    wrapper->code = cli_message(
        CLI_EXIT_LOST, name_of(wrapper),
        "lost: the process that kept the lock was stopped, and could not "
        "renew it; the command was ended");
}

static void on_child(struct wrapper *wrapper)
{
    int status;
    if (waitpid(wrapper->keeper, &status, WNOHANG) != wrapper->keeper) {
        return;
    }
    if (WIFEXITED(status)) {
        wrapper->code = WEXITSTATUS(status);
    } else {
        on_keeper_killed(wrapper, WTERMSIG(status));
    }
}

/* Stop, as the signal would have stopped us had it not been held back.
 * @return false if nobody is there to continue us: the kernel does not stop
 * a group whose parents are all in another session. */
static bool stop(pid_t whom, int number)
{
    sigset_t set, pending;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)kill(whom, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    /* Stopped here, until SIGCONT. */
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

static void on_command_stopped(struct wrapper *wrapper, int number)
{
    if (!stop(0, number)) {
        cli_link_send(wrapper->link, CLI_LINK_UNSTOPPED, number);
    }
}

static void on_signal(struct wrapper *wrapper, int number)
{
    bool is_started = atomic_load(&wrapper->run->link.shared->group) != 0;
    if (number == SIGCHLD) {
        on_child(wrapper);
    } else if (number == SIGCONT) {
        cli_link_send(wrapper->link, CLI_LINK_RESUMED, 0);
    } else if (number == SIGTSTP && !is_started) {
        (void)stop(getpid(), number);
    } else {
        cli_link_send(wrapper->link, CLI_LINK_SIGNAL, number);
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
    struct cli_link_word word;
    while ((word = cli_link_read(wrapper->link)).what == CLI_LINK_STOPPED) {
        on_command_stopped(wrapper, word.value);
    }
    if (word.what == CLI_LINK_GONE) {
        watched->fd = -1; /* SIGCHLD says the rest */
    }
}

static int watch(struct wrapper *wrapper)
{
    struct pollfd fds[2] = {
        {.fd = wrapper->signals, .events = POLLIN},
        {.fd = wrapper->link, .events = POLLIN},
    };
    while (wrapper->code < 0) {
        int n = poll(fds, 2, guard_timeout(wrapper));
        if (n > 0 && fds[0].revents != 0) {
            read_signals(wrapper);
        }
        if (n > 0 && fds[1].revents != 0 && wrapper->code < 0) {
            read_link(wrapper, &fds[1]);
        }
        if (wrapper->code < 0) {
            check_guard(wrapper);
        }
    }
    return wrapper->code;
}

/* Without signals we cannot hand any on: better none than a deaf one. */
static int give_up(struct wrapper *wrapper, int error)
{
    (void)kill(wrapper->keeper, SIGKILL);
    end_all(wrapper);
    return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", error);
}

int cli_wrapper(struct cli_run *run)
{
    struct wrapper wrapper = {.run = run, .code = -1};
    if (!cli_link_open(&run->link)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "socketpair", errno);
    }
    cli_signals_block(&run->signals);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    wrapper.keeper = fork();
    if (wrapper.keeper == 0) {
        (void)close(run->link.fds[0]);
        cli_keeper(run);
    }
    if (wrapper.keeper < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "fork", errno);
    }
    (void)close(run->link.fds[1]);
    wrapper.link = run->link.fds[0];
    sigset_t wanted = run->signals.relayed;
    (void)sigaddset(&wanted, SIGCHLD);
    wrapper.signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return wrapper.signals < 0 ? give_up(&wrapper, errno) : watch(&wrapper);
}
