/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines are CLOCK_BOOTTIME, absolute: a timer whose time passes during a
 * suspend fires right after it, since leases run on meanwhile. The wall clock
 * is for output alone: it may jump. clock_gettime() of a clock that exists
 * cannot fail. */
#include "clocks.h"

#include <sys/timerfd.h>
#include <time.h>

struct hf_instant cli_time_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (struct hf_instant){(int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
}

void cli_time_set_timer(int fd, struct hf_instant at)
{
    struct itimerspec when = {.it_interval = {0, 0}};
    if (!hf_instant_is_never(at)) {
        /* Never 0, which would disarm it. */
        int64_t ns = at.ns < 1 ? 1 : at.ns;
        when.it_value.tv_sec = (time_t)(ns / 1000000000);
        when.it_value.tv_nsec = (long)(ns % 1000000000);
    }
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int64_t cli_time_wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
