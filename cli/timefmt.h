/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, one for decisions and one for output, and times as text. */
#ifndef CLI_TIMEFMT_H
#define CLI_TIMEFMT_H

#include "out.h"

#include <stdint.h>

#define CLI_NS_PER_MS INT64_C(1000000) /* nanoseconds in a millisecond */

/* CLOCK_BOOTTIME in nanoseconds: it counts suspend, as leases do. */
int64_t cli_time_now_ns(void);

/* Set a timerfd of CLOCK_BOOTTIME to @p at_ns; INT64_MAX: off. */
void cli_time_set_timer(int fd, int64_t at_ns);

/* Unix time in milliseconds: for output and logs, never for decisions. */
int64_t cli_time_wall_ms(void);

/* "02:00:04", with the day before it if that is not today. */
void cli_time_text(struct cli_out *out, int64_t unix_s);

/* Room for cli_duration_text(). */
#define CLI_DURATION_TEXT 32

/* A span as people write it, rounded down: 1h30m, 1.5s, 250ms. */
const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT]);

#endif
