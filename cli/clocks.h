/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: one for decisions, and one for output. */
#ifndef CLI_CLOCKS_H
#define CLI_CLOCKS_H

#include <stdint.h>

#define CLI_NS_PER_MS INT64_C(1000000) /* nanoseconds in a millisecond */

/* CLOCK_BOOTTIME in nanoseconds: it counts suspend, as leases do. */
int64_t cli_time_now_ns(void);

/* Set a timerfd of CLOCK_BOOTTIME to @p at_ns; INT64_MAX: off. */
void cli_time_set_timer(int fd, int64_t at_ns);

/* Unix time in milliseconds: for output and logs, never for decisions. */
int64_t cli_time_wall_ms(void);

#endif
