/* SPDX-License-Identifier: Apache-2.0 */
/* A key at a terminal, typed at a moment that is too short to be hit: set
 * LD_PRELOAD to this, and KEYSHIM to one of
 *
 *     read      Ctrl-C after poll(2) has found input in the terminal, before
 *               read(2). As the kernel does, it empties the queue, and sends
 *               SIGINT, which does not end a read(2) that begins later.
 *     continue  Ctrl-Z after we were stopped and continued, before
 *               sigpending(2) is asked for SIGCONT. The kernel discards a
 *               pending SIGCONT.
 *     continued the same, after sigpending(2) has seen SIGCONT.
 *     start     Ctrl-Z for our parent when we have started a process and give
 *               it its group. The parent has LATE_NS to act before we go on.
 *
 * Once for each process. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define LATE_NS 500000000 /* long for a process that is only woken */

static bool is_typed;

static bool is_moment(const char *name)
{
    const char *moment = getenv("KEYSHIM");
    return !is_typed && moment != NULL && strcmp(moment, name) == 0;
}

static void type(int number)
{
    is_typed = true;
    (void)kill(getpid(), number);
}

static bool has_input(int fd)
{
    int bytes = 0;
    return isatty(fd) == 1 && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

ssize_t read(int fd, void *buf, size_t size)
{
    static ssize_t (*real)(int fd, void *buf, size_t size);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "read");
    }
    if (is_moment("read") && has_input(fd)) {
        (void)tcflush(fd, TCIFLUSH);
        type(SIGINT);
    }
    return real(fd, buf, size);
}

int sigpending(sigset_t *set)
{
    static int (*real)(sigset_t * set);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "sigpending");
    }
    int result = real(set);
    if (result != 0 || sigismember(set, SIGCONT) != 1) {
        return result;
    }
    if (is_moment("continue")) {
        type(SIGTSTP);
        return real(set);
    }
    if (is_moment("continued")) {
        type(SIGTSTP);
    }
    return result;
}

int setpgid(pid_t pid, pid_t group)
{
    static int (*real)(pid_t pid, pid_t group);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "setpgid");
    }
    if (pid > 0 && is_moment("start")) {
        is_typed = true;
        (void)kill(getppid(), SIGTSTP);
        /* sleeps: the starter is to be late */
        (void)nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    }
    return real(pid, group);
}
