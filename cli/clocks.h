/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: one for decisions, and one for output. */
#ifndef CLI_CLOCKS_H
#define CLI_CLOCKS_H

#include "base/time.h"

#include <stdint.h>

/* CLOCK_BOOTTIME: it counts suspend, as leases do. */
struct hf_instant cli_time_now(void);

/* Set a timerfd of CLOCK_BOOTTIME to @p at; HF_NEVER: off. */
void cli_time_set_timer(int fd, struct hf_instant at);

/* Unix time in milliseconds: for output and logs, never for decisions. */
int64_t cli_time_wall_ms(void);

#endif
