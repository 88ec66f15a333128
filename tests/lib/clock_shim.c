/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts a server's wall clock: set LD_PRELOAD to this, and CLOCKSHIM to a file
 * of 8 bytes (nanoseconds, signed, host order), the offset. The test rewrites
 * the file in place while the server runs. If 8 more bytes follow and are not
 * 0, they are the time in nanoseconds, and the clock stands still. The
 * monotonic clock is not affected. (libfaketime hangs redis-server at its
 * start.) */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static const volatile int64_t *frozen;

/* The C library's function, which needs no system call; NULL until it is
 * found. */
static int (*real_gettime)(clockid_t clock, struct timespec *out);

__attribute__((constructor)) static void map_offset(void)
{
    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CLOCKSHIM");
    if (path == NULL) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct stat file;
    size_t size = fstat(fd, &file) == 0 && file.st_size >= 16 ? 16 : 8;
    void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) {
        offset = page;
        frozen = size == 16 ? offset + 1 : NULL;
    }
}

static int true_time(clockid_t clock, struct timespec *out)
{
    if (real_gettime != NULL) {
        return real_gettime(clock, out);
    }
    return (int)syscall(SYS_clock_gettime, clock, out);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    int64_t ns = is_wall && frozen != NULL ? *frozen : 0;
    if (ns == 0) {
        int status = true_time(clock, out);
        if (status != 0 || !is_wall || offset == NULL) {
            return status;
        }
        ns = out->tv_sec * INT64_C(1000000000) + out->tv_nsec + *offset;
    }
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return status;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
