/* SPDX-License-Identifier: Apache-2.0 */
#include "run/while_pid.h"

#include "acquire.h"
#include "base/assert.h"
#include "exit_code.h"
#include "message.h"
#include "nested.h"
#include "owner_text.h"
#include "run/interrupt.h"
#include "run/title.h"
#include "signals.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* cli_acquire.signal: the process has ended. No signal has this number. */
#define STOP_ENDED 1000

/* What the keeper writes to its parent when the wait is over. */
struct keeper_report {
    int code;
    int signal; /* it cancelled the wait; 0: none did */
};

/* ---- The process -------------------------------------------------------- */

static int refuse_pid(pid_t pid, const char *text)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "--while-pid ");
    cli_out_int(&out, pid);
    cli_out_text(&out, ": ");
    cli_out_text(&out, text);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static int find_process(struct cli_while *keep)
{
    keep->pid = (pid_t)keep->args->while_pid;
    keep->pidfd = (int)syscall(SYS_pidfd_open, keep->pid, 0);
    if (keep->pidfd < 0 && errno != ESRCH && errno != EINVAL) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "pidfd_open", errno);
    }
    if (keep->pidfd < 0 || cli_while_is_over(keep)) {
        return refuse_pid(keep->pid, "no such process");
    }
    if (keep->args->on_lost == CLI_LOST_KILL &&
        syscall(SYS_pidfd_send_signal, keep->pidfd, 0, NULL, 0) < 0) {
        return refuse_pid(keep->pid, "another user's: it could not be ended "
                                     "if the lock is lost (--on-lost warn "
                                     "allows that)");
    }
    return 0;
}

/* ---- The keeper: acquiring the lock ------------------------------------- */

struct keeper_stop {
    int both; /* an epoll of the two */
    int signals;
    const struct cli_while *keep;
};

static int stop_taking(void *user)
{
    const struct keeper_stop *stop = user;
    struct signalfd_siginfo info;
    while (read(stop->signals, &info, sizeof(info)) == sizeof(info)) {
        if (cli_signals_ends((int)info.ssi_signo)) {
            return (int)info.ssi_signo;
        }
    }
    return cli_while_is_over(stop->keep) ? STOP_ENDED : 0;
}

static bool open_stop(struct keeper_stop *stop, const sigset_t *wanted)
{
    struct epoll_event in = {.events = EPOLLIN};
    stop->signals = signalfd(-1, wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    stop->both = epoll_create1(EPOLL_CLOEXEC);
    return stop->signals >= 0 && stop->both >= 0 &&
           epoll_ctl(stop->both, EPOLL_CTL_ADD, stop->signals, &in) == 0 &&
           epoll_ctl(stop->both, EPOLL_CTL_ADD, stop->keep->pidfd, &in) == 0;
}

static int take_failed(const struct cli_acquire *take,
                       const struct cli_args *args)
{
    return take->outcome == HF_CANCELLED && take->signal == STOP_ENDED
               ? refuse_pid((pid_t)args->while_pid, "ended while waiting")
               : cli_acquire_failed(take, args);
}

/* If the store detects the end of processes, the lock is free only when keeper
 * and process have both ended. */
static int add_process(struct cli_while *keep)
{
    HF_ASSERT(keep->pid > 0); /* a negative one is a process group */
    enum hf_status status = hf_lock_add_process(keep->lock, keep->pid);
    if (status == HF_OK || cli_while_is_over(keep)) {
        return 0;
    }
    return cli_message(CLI_EXIT_UNREACHABLE, keep->args->name,
                       "the store did not confirm which process holds the "
                       "lock");
}

static int acquire_lock(struct cli_while *keep, const sigset_t *wanted)
{
    struct hf_request request;
    struct keeper_stop stop = {.keep = keep};
    struct cli_status status = {.fd = -1, .name = keep->args->name};
    struct cli_acquire take = {
        .client = keep->client,
        .request = &request,
        .status = &status,
        .stop = stop_taking,
        .user = &stop,
        .is_quiet = keep->args->is_quiet,
        .foreground = getpgrp(),
        .gate = keep->gate,
    };
    if (!open_stop(&stop, wanted)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", errno);
    }
    take.stop_fd = stop.both;
    cli_acquire_request(&request, keep->args);
    int code = cli_acquire_ttl(&request, keep->client, keep->args);
    if (code == 0) {
        code = cli_nested_refuse(keep->client, keep->args);
    }
    if (code == 0 && cli_acquire(&take) != HF_OK) {
        keep->signal = take.signal;
        code = take_failed(&take, keep->args);
    }
    keep->lock = take.lock;
    keep->ttl_ms = request.ttl_ms;
    return code != 0 ? code : add_process(keep);
}

/* ---- The keeper: going into the background ------------------------------ */

/* A pipe, or a socket without a name: one of a pair. The program at its other
 * end reads it to its end before it goes on: $(... 2>&1), or a program that
 * captures stderr. A socket with a name leads to a logger. */
static bool is_captured(int fd)
{
    struct stat about;
    struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
    socklen_t len = sizeof(peer);
    if (fstat(fd, &about) != 0) {
        return false;
    }
    bool is_pair = S_ISSOCK(about.st_mode) &&
                   getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
                   peer.sun_family == AF_UNIX && len <= sizeof(sa_family_t);
    return is_pair || S_ISFIFO(about.st_mode);
}

/* stderr stays open for a line about a loss, unless a program reads it to its
 * end: that would wait for as long as we live. */
static void close_output(void)
{
    bool is_read = is_captured(STDERR_FILENO);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (is_read) {
        (void)dup2(null, STDERR_FILENO);
    }
}

/* Only SIGKILL can end the keeper before the process ends: otherwise the
 * process would lose the lock and continue. */
static void go_into_background(int report)
{
    sigset_t all;
    struct keeper_report none = {.code = 0};
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    close_output();
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)!write(report, &none, sizeof(none));
    (void)close(report);
}

_Noreturn static void keeper(struct cli_while *keep, const sigset_t *wanted,
                             int report)
{
    cli_title_keeper();
    int code = cli_store_find(keep->args, &keep->client);
    if (code == 0) {
        code = acquire_lock(keep, wanted);
    }
    if (code == 0) {
        cli_while_listen(keep);
        code = cli_owner_text_show(keep->lock, keep->ttl_ms, keep->args);
    }
    if (code == 0) {
        go_into_background(report);
        cli_while_keep(keep);
    } else {
        struct keeper_report failed = {.code = code, .signal = keep->signal};
        (void)hf_lock_release(keep->lock);
        (void)!write(report, &failed, sizeof(failed));
    }
    hf_client_close(keep->client);
    _exit(code);
}

/* ---- The parent --------------------------------------------------------- */

/* Until the keeper has reported, a signal that ends the parent also ends the
 * keeper. Ctrl-Z stops only the parent, for which the shell waits; the keeper
 * continues, and keeps its place in the queue. */
static int await(const struct cli_while *keep, pid_t child, int report,
                 const sigset_t *wanted)
{
    struct signalfd_siginfo info;
    struct keeper_report it;
    struct pollfd fds[2] = {
        {.fd = report, .events = POLLIN},
        {.fd = signalfd(-1, wanted, SFD_CLOEXEC | SFD_NONBLOCK),
         .events = POLLIN},
    };
    for (;;) {
        (void)poll(fds, 2, -1);
        bool is_signal = read(fds[1].fd, &info, sizeof(info)) == sizeof(info);
        if (is_signal && info.ssi_signo == SIGTSTP) {
            cli_line_stop(keep->gate);
        } else if (is_signal) {
            (void)kill(child, (int)info.ssi_signo);
        }
        if (fds[0].revents != 0) {
            break;
        }
    }
    if (read(report, &it, sizeof(it)) == (ssize_t)sizeof(it)) {
        cli_interrupt_pass_on(&(struct cli_interrupt){.number = it.signal});
        return it.code;
    }
    return cli_message(CLI_EXIT_INTERNAL, NULL,
                       "the process that was to keep the lock was killed");
}

static int start(struct cli_while *keep, const sigset_t *wanted)
{
    int report[2];
    pid_t parent = getpid();
    if (pipe2(report, O_CLOEXEC) < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "pipe", errno);
    }
    pid_t child = fork();
    if (child < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "fork", errno);
    }
    if (child > 0) {
        (void)close(report[1]);
        return await(keep, child, report[0], wanted);
    }
    (void)close(report[0]);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(CLI_EXIT_INTERNAL);
    }
    keeper(keep, wanted, report[1]);
}

int cli_while_pid(struct cli_args *args)
{
    struct cli_while keep = {
        .args = args, .listener = -1, .peer = -1, .pidfd = -1};
    struct cli_signals held;
    /* A pipe that was inherited would stay open for as long as we do. */
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    int code = find_process(&keep);
    if (code != 0) {
        return code;
    }
    keep.gate = mmap(NULL, sizeof(*keep.gate), PROT_READ | PROT_WRITE,
                     /* cppcheck-suppress invalidFunctionArg; no file */
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (keep.gate == MAP_FAILED) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "mmap", errno);
    }
    cli_signals_block(&held);
    sigset_t wanted = held.relayed;
    (void)sigaddset(&wanted, SIGPIPE);
    (void)sigdelset(&wanted, SIGCONT);
    (void)sigprocmask(SIG_SETMASK, &wanted, NULL);
    (void)sigdelset(&wanted, SIGPIPE);
    return start(&keep, &wanted);
}
