/* SPDX-License-Identifier: Apache-2.0 */
/* A filter gets its input and gives its output at the same time, in any order:
 * both pipes are served by one poll(2). It may end without reading its input.
 * If this process dies, the kernel sends it SIGTERM; nothing is written then.
 */
#include "value_io.h"

#include "exit_code.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int cli_value_read(struct cli_value_buffer *buffer, int fd)
{
    buffer->len = 0;
    while (buffer->len < sizeof(buffer->data)) {
        ssize_t n = read(fd, buffer->data + buffer->len,
                         sizeof(buffer->data) - buffer->len);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        buffer->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int cli_value_too_long(const char *name)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_plain(&out, name);
    cli_out_text(&out, ": a value has at most ");
    cli_out_int(&out, HF_VALUE_MAX);
    cli_out_text(&out, " bytes; this one has more");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* ---- The filter -------------------------------------------------------- */

struct pipes {
    int in[2];   /* its stdin */
    int out[2];  /* its stdout */
    int fail[2]; /* closed by exec, else the errno of it */
};

static void shut(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static void shut_all(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        shut(&pipes->in[i]);
        shut(&pipes->out[i]);
        shut(&pipes->fail[i]);
    }
}

static bool open_all(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    return pipe2(pipes->in, O_CLOEXEC) == 0 &&
           pipe2(pipes->out, O_CLOEXEC) == 0 &&
           pipe2(pipes->fail, O_CLOEXEC) == 0 &&
           fcntl(pipes->in[1], F_SETFL, O_NONBLOCK) == 0;
}

static void become(const struct pipes *pipes, pid_t parent, char **command)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(CLI_EXIT_INTERNAL);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (dup2(pipes->in[0], STDIN_FILENO) >= 0 &&
        dup2(pipes->out[1], STDOUT_FILENO) >= 0) {
        (void)execvp(command[0], command);
    }
    int error = errno;
    ssize_t n = write(pipes->fail[1], &error, sizeof(error));
    _exit(n > 0 ? CLI_EXIT_CANNOT_RUN : CLI_EXIT_INTERNAL);
}

/* Write what the pipe takes. A filter that does not read all is not an error.
 */
static void feed(struct pipes *pipes, const char **data, size_t *len)
{
    ssize_t n = *len > 0 ? write(pipes->in[1], *data, *len) : 0;
    if (n > 0) {
        *data += n;
        *len -= (size_t)n;
    }
    bool is_over = n < 0 && errno != EAGAIN && errno != EINTR;
    if (*len == 0 || is_over) {
        shut(&pipes->in[1]);
    }
}

/* @return false: its end, an error, or the buffer is full. */
static bool drain(const struct pipes *pipes, struct cli_value_buffer *out,
                  int *error)
{
    ssize_t n =
        read(pipes->out[0], out->data + out->len, sizeof(out->data) - out->len);
    if (n < 0 && errno != EINTR) {
        *error = errno;
    }
    out->len += n > 0 ? (size_t)n : 0;
    return n != 0 && *error == 0 && out->len < sizeof(out->data);
}

static int serve(struct pipes *pipes, const char *data, size_t len,
                 struct cli_value_buffer *out)
{
    int error = 0;
    bool goes_on = true;
    out->len = 0;
    if (len == 0) {
        shut(&pipes->in[1]);
    }
    while (goes_on) {
        struct pollfd fds[2] = {{.fd = pipes->out[0], .events = POLLIN},
                                {.fd = pipes->in[1], .events = POLLOUT}};
        if (poll(fds, 2, -1) < 0) {
            if (errno != EINTR) {
                return errno;
            }
            continue;
        }
        if (fds[1].fd >= 0 && fds[1].revents != 0) {
            feed(pipes, &data, &len);
        }
        if (fds[0].revents != 0) {
            goes_on = drain(pipes, out, &error);
        }
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

bool cli_filter_run(struct cli_filter *filter, char **command, const void *data,
                    size_t len, struct cli_value_buffer *out)
{
    struct pipes pipes;
    pid_t self = getpid();
    *filter = (struct cli_filter){.error = 0};
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored: there would be no status */
    pid_t pid = open_all(&pipes) ? fork() : -1;
    if (pid == 0) {
        become(&pipes, self, command);
    }
    if (pid < 0) {
        filter->error = errno;
        shut_all(&pipes);
        return false;
    }
    shut(&pipes.in[0]);
    shut(&pipes.out[1]);
    shut(&pipes.fail[1]);
    int error = serve(&pipes, data, len, out);
    ssize_t n = read(pipes.fail[0], &filter->error, sizeof(filter->error));
    filter->is_exec_error = n > 0;
    shut_all(&pipes); /* what it still writes is SIGPIPE */
    int reaped = reap(pid, &filter->status);
    error = error != 0 ? error : reaped;
    filter->error = filter->is_exec_error ? filter->error : error;
    return filter->error == 0;
}
