/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe_child.h"

#include "exit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct pipes {
    int in[2];   /* its stdin */
    int out[2];  /* its stdout */
    int err[2];  /* its stderr, or not open */
    int fail[2]; /* closed by exec, else the errno of it */
    int pidfd;   /* readable once the command has ended; -1: not known */
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static void close_all(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->in[i]);
        close_fd(&pipes->out[i]);
        close_fd(&pipes->err[i]);
        close_fd(&pipes->fail[i]);
    }
    close_fd(&pipes->pidfd);
}

static bool open_all(struct pipes *pipes, bool has_err)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1};
    return pipe2(pipes->in, O_CLOEXEC) == 0 &&
           pipe2(pipes->out, O_CLOEXEC) == 0 &&
           (!has_err || pipe2(pipes->err, O_CLOEXEC) == 0) &&
           pipe2(pipes->fail, O_CLOEXEC) == 0 &&
           fcntl(pipes->in[1], F_SETFL, O_NONBLOCK) == 0;
}

static void execute(const struct pipes *pipes, pid_t parent, char **command)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(CLI_EXIT_INTERNAL);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (dup2(pipes->in[0], STDIN_FILENO) >= 0 &&
        dup2(pipes->out[1], STDOUT_FILENO) >= 0 &&
        (pipes->err[1] < 0 || dup2(pipes->err[1], STDERR_FILENO) >= 0)) {
        (void)execvp(command[0], command);
    }
    int error = errno;
    ssize_t n = write(pipes->fail[1], &error, sizeof(error));
    _exit(n > 0 ? CLI_EXIT_CANNOT_RUN : CLI_EXIT_INTERNAL);
}

/* Write as much as the pipe takes. A command that does not read all is no
 * error. */
static void feed(struct pipes *pipes, const char **data, size_t *len)
{
    ssize_t n = *len > 0 ? write(pipes->in[1], *data, *len) : 0;
    if (n > 0) {
        *data += n;
        *len -= (size_t)n;
    }
    bool is_over = n < 0 && errno != EAGAIN && errno != EINTR;
    if (*len == 0 || is_over) {
        close_fd(&pipes->in[1]);
    }
}

/* Read into `text`. The pipe is closed at its end and after an error. */
static int drain(int *fd, struct cli_pipe_child_text *text)
{
    ssize_t n = read(*fd, text->data + text->len, text->room - text->len);
    int error = n < 0 && errno != EINTR ? errno : 0;
    text->len += n > 0 ? (size_t)n : 0;
    if (n == 0 || error != 0) {
        close_fd(fd);
    }
    return error;
}

/* Bytes a read: stderr beyond its room is drained, or the command would block
 * on a full pipe. */
#define DROPPED_MAX 512

/* The first part of stderr is kept: the cause comes before its consequences. */
static int drain_err(int *fd, struct cli_pipe_child_text *text)
{
    char rest[DROPPED_MAX];
    struct cli_pipe_child_text dropped = {.data = rest, .room = sizeof(rest)};
    return drain(fd, text->len < text->room ? text : &dropped);
}

/* Read the pipes that are ready. poll(2) leaves a closed pipe, -1, at 0. */
static int serve_ready(struct pipes *pipes, struct cli_pipe_child *child,
                       const struct pollfd fds[3])
{
    int error = 0;
    if (fds[2].revents != 0) {
        error = drain_err(&pipes->err[0], &child->err);
    }
    if (fds[0].revents != 0 && error == 0) {
        error = drain(&pipes->out[0], &child->out);
    }
    if (child->out.len == child->out.room) {
        close_fd(&pipes->out[0]); /* a further write gets SIGPIPE */
    }
    return error;
}

static bool has_output(const struct pipes *pipes)
{
    return pipes->out[0] >= 0 || pipes->err[0] >= 0;
}

/* The command may read on after it has closed its outputs. After its own end
 * the rest of the input is dropped: a process that it left behind may keep the
 * pipe open without reading it. Without a pidfd that end is not seen, and the
 * outputs decide. */
static bool has_work(const struct pipes *pipes)
{
    return has_output(pipes) || (pipes->in[1] >= 0 && pipes->pidfd >= 0);
}

static int serve(struct pipes *pipes, struct cli_pipe_child *child)
{
    const char *data = child->input;
    size_t len = child->input_len;
    int error = 0;
    if (len == 0) {
        close_fd(&pipes->in[1]);
    }
    while (error == 0 && has_work(pipes)) {
        struct pollfd fds[4] = {
            {.fd = pipes->out[0], .events = POLLIN},
            {.fd = pipes->in[1], .events = POLLOUT},
            {.fd = pipes->err[0], .events = POLLIN},
            {.fd = has_output(pipes) ? -1 : pipes->pidfd, .events = POLLIN}};
        if (poll(fds, 4, -1) < 0) {
            error = errno == EINTR ? 0 : errno;
            continue;
        }
        if (fds[1].revents != 0) {
            feed(pipes, &data, &len);
        }
        if (fds[3].revents != 0) {
            close_fd(&pipes->in[1]);
        }
        error = serve_ready(pipes, child, fds);
    }
    return error;
}

static int reap(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

bool cli_pipe_child_run(struct cli_pipe_child *child)
{
    struct pipes pipes;
    pid_t self = getpid();
    child->error = 0;
    child->status = 0;
    child->is_exec_error = false;
    child->out.len = child->err.len = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored: there would be no status */
    pid_t pid = open_all(&pipes, child->err.room > 0) ? fork() : -1;
    if (pid == 0) {
        execute(&pipes, self, child->command);
    }
    if (pid < 0) {
        child->error = errno;
        close_all(&pipes);
        return false;
    }
    close_fd(&pipes.in[0]);
    close_fd(&pipes.out[1]);
    close_fd(&pipes.err[1]);
    close_fd(&pipes.fail[1]);
    pipes.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int error = serve(&pipes, child);
    ssize_t n = read(pipes.fail[0], &child->error, sizeof(child->error));
    child->is_exec_error = n > 0;
    close_all(&pipes);
    int reaped = reap(pid, &child->status);
    error = error != 0 ? error : reaped;
    child->error = child->is_exec_error ? child->error : error;
    return child->error == 0;
}

int cli_pipe_child_error_code(const struct cli_pipe_child *child)
{
    return !child->is_exec_error    ? CLI_EXIT_INTERNAL
           : child->error == ENOENT ? CLI_EXIT_NOT_FOUND
                                    : CLI_EXIT_CANNOT_RUN;
}
