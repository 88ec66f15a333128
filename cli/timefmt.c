/* SPDX-License-Identifier: Apache-2.0 */
#include "timefmt.h"

#include "base/duration.h"

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

void cli_time_text(struct cli_out *out, int64_t unix_s)
{
    time_t at = (time_t)unix_s;
    time_t now = time(NULL);
    struct tm then, today;
    char text[64];
    if (localtime_r(&at, &then) == NULL || localtime_r(&now, &today) == NULL) {
        cli_out_int(out, unix_s);
        return;
    }
    bool is_today =
        then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
    size_t n = strftime(text, sizeof(text),
                        is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
    cli_out_bytes(out, text, n);
}

const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT])
{
    struct cli_out out;
    char exact[HF_DURATION_TEXT_MAX];
    cli_out_init_text(&out, text, CLI_DURATION_TEXT);
    int64_t left = ms < 0 ? 0 : ms;
    /* Beyond a minute milliseconds are noise, beyond a day seconds. */
    if (left >= 86400000) {
        left -= left % 60000;
    } else if (left >= 60000) {
        left -= left % 1000;
    }
    if (left < 60000 && left > 1000 && left % 1000 != 0) {
        cli_out_int(&out, left / 1000);
        cli_out_text(&out, ".");
        cli_out_int(&out, left % 1000 / 100);
        cli_out_text(&out, "s");
        return text;
    }
    hf_duration_emit(exact, left);
    cli_out_text(&out, exact);
    return text;
}
