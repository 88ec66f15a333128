/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text. */
#ifndef CLI_TIMEFMT_H
#define CLI_TIMEFMT_H

#include "out.h"

#include <stdint.h>

/* "02:00:04", with the day before it if that is not today. */
void cli_time_text(struct cli_out *out, int64_t unix_s);

/* Room for cli_duration_text(). */
#define CLI_DURATION_TEXT 32

/* A span as people write it, rounded down: 1h30m, 1.5s, 250ms. */
const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT]);

#endif
