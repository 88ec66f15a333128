/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write them: "250ms", "10s", "5m", "1h30m", "2d"; a plain
 * number is seconds; "1.5s" and "0.25" are fine. */
#ifndef HF_BASE_DURATION_H
#define HF_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* @return false, and *out_ms unchanged, if @p text is no duration, is negative,
 * is finer than a millisecond, or is longer than 2^53 ms. */
bool hf_duration_parse(const char *text, int64_t *out_ms);

/* Room for any duration that hf_duration_emit() writes, with its NUL. */
#define HF_DURATION_TEXT_MAX 48

/* Write @p ms >= 0 so that hf_duration_parse() reads the same: "1h30m". */
void hf_duration_emit(char out[HF_DURATION_TEXT_MAX], int64_t ms);

#endif
