/* SPDX-License-Identifier: Apache-2.0 */
/* A timerfd of CLOCK_BOOTTIME, the clock of hf_clock_now(). */
#include "io/alarm.h"

#include "base/assert.h"
#include "io/standard_fds.h"

#include <sys/timerfd.h>
#include <unistd.h>

bool hf_alarm_open(struct hf_alarm *alarm)
{
    if (alarm->fd < 0) {
        *alarm = HF_ALARM_CLOSED;
        alarm->fd = hf_standard_fds_avoid(
            timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    }
    return alarm->fd >= 0;
}

void hf_alarm_close(struct hf_alarm *alarm)
{
    if (alarm->fd >= 0) {
        close(alarm->fd);
    }
    *alarm = HF_ALARM_CLOSED;
}

void hf_alarm_set(struct hf_alarm *alarm, struct hf_instant at)
{
    HF_ASSERT(alarm->fd >= 0);
    struct itimerspec when = {0};
    if (!hf_instant_is_never(at)) {
        int64_t ns = at.ns > 0 ? at.ns : 1; /* 0 would disarm it */
        when.it_value.tv_sec = (time_t)(ns / 1000000000);
        when.it_value.tv_nsec = (long)(ns % 1000000000);
    }
    int failed = timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL);
    HF_ASSERT(failed == 0);
    alarm->at = at;
}

void hf_alarm_set_earlier(struct hf_alarm *alarm, struct hf_instant at)
{
    if (hf_instant_before(at, alarm->at)) {
        hf_alarm_set(alarm, at);
    }
}
