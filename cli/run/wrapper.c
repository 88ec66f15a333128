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
 * the command. The keeper may also stand still: stopped, frozen, held by a
 * debugger, in a system call that does not return. For that there is the guard,
 * a timer between SIGKILL and the end of the lease. It is set before the
 * command is started, moves with each renewal, and is switched off when no
 * process is left to end. When it expires, the wrapper kills the keeper and the
 * command. Only both of them together can be taken out. If both die, the kernel
 * kills the command itself. If both stand still, nothing does
 * (docs/caveats.md).
 *
 * In a terminal the command's group is in the foreground, as the shell's job
 * would be. Ctrl-Z stops the command; the keeper sees it and says so; the
 * wrapper stops its own group, which is what the shell waits for. fg and bg
 * continue the wrapper, who says so; the keeper hands over the terminal, if
 * the shell gave it to the wrapper, and continues the command. */
#include "run/wrapper.h"

#include "exit_code.h"
#include "message.h"
#include "run/descend.h"
#include "run/keeper.h"
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

/* The keeper is dead or as good as dead, so the wrapper ends the command.
 * @return a process of the command that is left; 0: none. */
static pid_t end_all(struct wrapper *wrapper)
{
    struct cli_link *link = &wrapper->run->link;
    struct cli_term term;
    pid_t group = atomic_load(&link->shared->group);
    pid_t survivor =
        cli_descend_end(&wrapper->run->descend, group, wrapper->keeper,
                        cli_when_now_ns() + KILL_NS);
    cli_term_find(&term, group);
    if (group > 0) {
        (void)cli_term_move(&term, group, link->wrapper_group);
    }
    cli_term_close(&term);
    return survivor;
}

static void put_ended(struct cli_out *out, pid_t survivor)
{
    if (survivor == 0) {
        cli_out_text(out, "; the command was ended");
    } else {
        cli_descend_put_survivor(out, survivor);
    }
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
    cli_out_text(&out, ", and the lock frees itself when its lease is over");
    wrapper->code = cli_message_end(&out, CLI_EXIT_INTERNAL);
}

/* The guard expired. A keeper that runs would have moved it, or would have
 * ended the command and switched the guard off. */
static void check_guard(struct wrapper *wrapper)
{
    struct cli_out out;
    if (!cli_link_read_guard(&wrapper->run->link)) {
        return;
    }
    (void)kill(wrapper->keeper, SIGKILL);
    pid_t survivor = end_all(wrapper);
    cli_message_begin(&out);
    (void)cli_out_shown(&out, name_of(wrapper), strlen(name_of(wrapper)));
    cli_out_text(&out, ": lost: the process that kept the lock stood still, "
                       "and could not renew it");
    put_ended(&out, survivor);
    wrapper->code = cli_message_end(&out, CLI_EXIT_LOST);
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

static void on_command_stopped(struct wrapper *wrapper, int number)
{
    if (!cli_signals_stop(0, number)) {
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
        /* The keeper goes on waiting. */
        cli_line_stop(&wrapper->run->link.shared->line);
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
    struct pollfd fds[3] = {
        {.fd = wrapper->run->link.guard, .events = POLLIN},
        {.fd = wrapper->signals, .events = POLLIN},
        {.fd = wrapper->link, .events = POLLIN},
    };
    while (wrapper->code < 0) {
        int n = poll(fds, 3, -1);
        if (n > 0 && fds[0].revents != 0) {
            check_guard(wrapper);
        }
        if (n > 0 && fds[1].revents != 0 && wrapper->code < 0) {
            read_signals(wrapper);
        }
        if (n > 0 && fds[2].revents != 0 && wrapper->code < 0) {
            read_link(wrapper, &fds[2]);
        }
    }
    return wrapper->code;
}

/* Without signals we cannot hand any on: better none than a deaf one. */
static int give_up(struct wrapper *wrapper, int error)
{
    (void)kill(wrapper->keeper, SIGKILL);
    (void)end_all(wrapper);
    return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", error);
}

/* @return 0 to go on, or the exit code. */
static int find_proc(struct cli_run *run)
{
    int error = cli_descend_open(&run->descend);
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

int cli_wrapper(struct cli_run *run)
{
    struct wrapper wrapper = {.run = run, .code = -1};
    int code = find_proc(run);
    if (code != 0) {
        return code;
    }
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
    cli_config_forget(&run->config); /* the store is the keeper's */
    (void)close(run->link.fds[1]);
    wrapper.link = run->link.fds[0];
    sigset_t wanted = run->signals.relayed;
    (void)sigaddset(&wanted, SIGCHLD);
    wrapper.signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return wrapper.signals < 0 ? give_up(&wrapper, errno) : watch(&wrapper);
}
