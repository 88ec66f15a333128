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

#include "io/clock.h"

#include <time.h>

static int64_t jumped_ns;
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

#endif
