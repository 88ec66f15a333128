/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns on any bytes, with the syntax of Redis' SCAN MATCH, and with
 * `[!a-z]`, as in a shell, for `[^a-z]`. */
#ifndef HF_BASE_GLOB_H
#define HF_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Syntax: `*`, `?`, `[a-z]`, `[!a-z]`, `[^a-z]`; `\` escapes the next byte.
 * Allocates nothing; the time is at most the product of both lengths. */
bool hf_glob_match(const void *pattern, size_t pattern_len, const void *text,
                   size_t text_len);

#endif
