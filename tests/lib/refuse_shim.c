/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses one call of a program to the C library, the Nth that can fail: set
 * LD_PRELOAD to this, and REFUSESHIM to a file of a struct refuse_page. Counts
 * the calls of all processes whose program is named "holdfast", in the order in
 * which they come.
 *
 * Each function takes up to six integers or pointers and returns one, so one
 * form serves for all: a register that a function does not have is not read. */
#include "refuse_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

typedef long call_fn(long a, long b, long c, long d, long e, long f);

static struct refuse_page *page;

__attribute__((constructor)) static void map_page(void)
{
    const char *path = getenv("REFUSESHIM");
    if (path == NULL ||
        strcmp(program_invocation_short_name, "holdfast") != 0) {
        return;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        abort();
    }
    page = at;
}

/* @return the error for this call; 0: it is made. */
static int refused(const char *name, int error, bool is_interruptible)
{
    if (page == NULL) {
        return 0;
    }
    if (page->refusal == REFUSAL_INTERRUPT) {
        error = is_interruptible ? EINTR : 0;
    }
    if (error == 0 || ++page->calls != page->at) {
        return 0;
    }
    strncpy(page->name, name, sizeof(page->name) - 1);
    return error;
}

static long make(call_fn **real, const char *name, const long arg[6])
{
    if (*real == NULL) {
        *(void **)real = dlsym(RTLD_NEXT, name);
    }
    return (*real)(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* `name` of the C library fails with `error`, if that is not 0, and may be
 * interrupted; it returns `value` then. A call that does not wait is never
 * interrupted: those of files, of /proc and of descriptors with O_NONBLOCK. */
#define REFUSE(name, error, is_interruptible, value)                           \
    long refuse_##name(long a, long b, long c, long d, long e,                 \
                       long f) __asm__(#name);                                 \
    long refuse_##name(long a, long b, long c, long d, long e, long f)         \
    {                                                                          \
        static call_fn *real;                                                  \
        const long arg[6] = {a, b, c, d, e, f};                                \
        int number = refused(#name, error, is_interruptible);                  \
        if (number == 0) {                                                     \
            return make(&real, #name, arg);                                    \
        }                                                                      \
        errno = number;                                                        \
        return value;                                                          \
    }

#define FAILS(name, error) REFUSE(name, error, false, -1)
#define WAITS(name, error) REFUSE(name, error, true, -1)
#define RETURNS(name, error) REFUSE(name, error, false, number)

/* Descriptors, memory and processes: a limit. */
FAILS(open, EMFILE)
FAILS(openat, EMFILE)
FAILS(socket, EMFILE)
FAILS(socketpair, EMFILE)
FAILS(pipe2, EMFILE)
FAILS(eventfd, EMFILE)
FAILS(epoll_create1, EMFILE)
FAILS(epoll_ctl, ENOSPC)
FAILS(timerfd_create, EMFILE)
FAILS(signalfd, EMFILE)
FAILS(dup2, EMFILE)
REFUSE(opendir, EMFILE, false, 0)
FAILS(mmap, ENOMEM)
FAILS(fork, EAGAIN)
FAILS(clone, EAGAIN)
RETURNS(pthread_create, EAGAIN)

/* Files: a disk, or a right. */
FAILS(read, EIO)
FAILS(pread, EIO)
FAILS(write, EIO)
FAILS(pwrite, ENOSPC)
FAILS(writev, EIO)
FAILS(ftruncate, ENOSPC)
RETURNS(posix_fallocate, ENOSPC)
FAILS(fsync, EIO)
FAILS(fdatasync, EIO)
FAILS(msync, EIO)
WAITS(flock, ENOLCK)
FAILS(fcntl, ENOLCK)
FAILS(mkdir, ENOSPC)
FAILS(fchmod, EPERM)
FAILS(fchown, EPERM)
FAILS(stat, EACCES)
FAILS(lstat, EACCES)
FAILS(fstat, EIO)
FAILS(statx, EACCES)
FAILS(statfs, EIO)
FAILS(fstatfs, EIO)
FAILS(access, EACCES)
FAILS(readlink, EACCES)
FAILS(readlinkat, EACCES)

/* The network. */
FAILS(connect, ECONNREFUSED)
WAITS(send, ECONNRESET)
WAITS(sendto, ECONNRESET)
REFUSE(recv, ECONNRESET, (d & MSG_DONTWAIT) == 0, -1) /* libmariadb's */
FAILS(setsockopt, ENOPROTOOPT)
FAILS(getsockopt, ENOPROTOOPT)

/* Waiting: these do not fail but by a fault of the program. */
WAITS(epoll_wait, 0)
WAITS(epoll_pwait2, 0)
WAITS(poll, 0)
WAITS(nanosleep, 0)
WAITS(sigtimedwait, 0)

/* The rest: what a kernel or a filter lacks. */
FAILS(getrandom, ENOSYS)
FAILS(prctl, EINVAL)
FAILS(ioctl, ENOTTY)
FAILS(setpgid, EPERM)
FAILS(tcsetpgrp, ENOTTY)
FAILS(kill, EPERM)
