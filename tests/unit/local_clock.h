/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that tests set forward: leases are long enough for a slow machine,
 * and yet a test need not wait for their end. For one file of a program that is
 * linked with --wrap=clock_gettime. The wall clock is set forward, too, since
 * the floor of counters follows it; CLOCK_MONOTONIC is not, since the kernel
 * uses it to wait for the gate. If no process waits, the clock of leases may
 * stand still: then a lease of 20 ms does not expire, either. A forked child
 * inherits its parent's clock. */
#ifndef HF_TESTS_LOCAL_CLOCK_H
#define HF_TESTS_LOCAL_CLOCK_H

#include "core/limits.h"
#include "io/clock.h"

#include <time.h>

static _Atomic int64_t jumped_ns;
static int64_t still_ns; /* 0: it runs */

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int failed = __real_clock_gettime(clock, out);
    if (failed != 0 || clock == CLOCK_MONOTONIC) {
        return failed;
    }
    int64_t ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec;
    if (still_ns != 0 && clock == CLOCK_BOOTTIME) {
        ns = still_ns;
    }
    ns += jumped_ns;
    out->tv_sec = (time_t)(ns / 1000000000);
    out->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

static inline void jump_ms(int64_t ms)
{
    jumped_ns += ms * 1000000;
}

/* To 20 ms after the floor of counters has risen: it rises each 4.2 s, and
 * between two requests of a case it would refuse the counter of the second. The
 * store reads the coarse clock, which is up to 4 ms late. */
static inline void jump_to_floor(void)
{
    struct timespec now;
    int64_t step_ns = INT64_C(1000) << HF_FLOOR_BITS;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t wall_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    jumped_ns += step_ns - wall_ns % step_ns + 20000000;
}

#endif
