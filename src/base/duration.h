/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as text: "250ms", "10s", "5m", "1h30m", "2d". A plain number is
 * seconds. Fractions are allowed: "1.5s", "0.25". */
#ifndef HF_BASE_DURATION_H
#define HF_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/** @return false, with *out_ms unchanged, if @p text is not a duration, is
 * negative, is not a whole number of milliseconds, or exceeds 2^53 ms. */
bool hf_duration_parse(const char *text, int64_t *out_ms);

/* Size of any text that hf_duration_emit() writes, with its NUL. */
#define HF_DURATION_TEXT_MAX 48

/* Write @p ms >= 0 as text that hf_duration_parse() accepts: "1h30m". */
void hf_duration_emit(char out[HF_DURATION_TEXT_MAX], int64_t ms);

#endif
