/* SPDX-License-Identifier: Apache-2.0 */
/* A command at a terminal that prints the signals it gets, and the lines it
 * reads: "ready-now", "heard-CONT", "got-LINE". Ends at Ctrl-C, after
 * "heard-INT", with 4, and at the end of input with 0.
 *
 * It never waits in read(2). While Ctrl-C empties the queue of the terminal, a
 * poll() may find input there that read(2) then waits for: the kernel's
 * n_tty_poll() reads both ends of the queue without a lock. `read -t` of bash
 * is such a poll() and a read(2) that waits. A signal that came between the two
 * is heard with the next line that is typed: once in 55,000 times. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static char line[1024];
static size_t n_line;

/* The flag is one of the open file, which stdin shares with the shell. */
static int open_terminal(void)
{
    return open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static int open_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGCONT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* @return false after Ctrl-C. */
static bool hear(int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
        bool is_end = info.ssi_signo == SIGINT;
        (void)dprintf(1, "heard-%s\n", is_end ? "INT" : "CONT");
        if (is_end) {
            return false;
        }
    }
    return true;
}

/* A line may come in pieces while the shell hands over the terminal. */
static void print_lines(void)
{
    char *end;
    while ((end = memchr(line, '\n', n_line)) != NULL) {
        size_t n = (size_t)(end - line);
        (void)dprintf(1, "got-%.*s\n", (int)n, line);
        n_line -= n + 1;
        memmove(line, end + 1, n_line);
    }
}

int main(void)
{
    int signals = open_signals();
    struct pollfd fds[] = {
        {.fd = open_terminal(), .events = POLLIN},
        {.fd = signals, .events = POLLIN},
    };
    if (signals < 0 || fds[0].fd < 0) {
        return 1;
    }
    (void)dprintf(1, "ready-now\n");
    for (;;) {
        (void)poll(fds, 2, -1);
        ssize_t n = read(fds[0].fd, line + n_line, sizeof(line) - n_line);
        int error = errno;
        /* Before the line: a signal that continues us is older than it. */
        if (!hear(signals)) {
            return 4;
        }
        if (n == 0 || (n < 0 && error != EAGAIN && error != EINTR)) {
            return n == 0 ? 0 : 1;
        }
        n_line += n < 0 ? 0 : (size_t)n;
        print_lines();
    }
}
