/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines are CLOCK_BOOTTIME, absolute: a timer whose time passes during a
 * suspend fires right after it, since leases run on meanwhile. The wall clock
 * is for output alone: it may jump. clock_gettime() of a clock that exists
 * cannot fail. */
#include "clocks.h"

#include <sys/timerfd.h>
#include <time.h>

int64_t cli_time_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void cli_time_set_timer(int fd, int64_t at_ns)
{
    struct itimerspec when = {.it_interval = {0, 0}};
    if (at_ns != INT64_MAX) {
        /* Never 0, which would disarm it. */
        at_ns = at_ns < 1 ? 1 : at_ns;
        when.it_value.tv_sec = (time_t)(at_ns / 1000000000);
        when.it_value.tv_nsec = (long)(at_ns % 1000000000);
    }
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int64_t cli_time_wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
