/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write them: 250ms, 10s, 5m, 1h30m, 2d; a plain number is
 * seconds, and may have a fraction (0.5). */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Longest duration: a century, so that sums never overflow. */
#define CLI_DURATION_MS_MAX (INT64_C(100) * 366 * 86400 * 1000)

/* @return false if `text` is not a duration, is finer than a millisecond, or
 * is a longer one. */
bool cli_duration_parse(const char *text, int64_t *ms);

/* Room for cli_duration_text(). */
#define CLI_DURATION_TEXT 32

/* The way people write it: 1h30m, 12s, 250ms. */
const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT]);

#endif
