/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns on any bytes, as in a shell. The same for all stores: one that
 * filters names itself may only pass more of them (store/redis/keys.h). */
#ifndef HF_BASE_GLOB_H
#define HF_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Syntax: `*`, `?`, `[a-z]`, `[!a-z]`, `[^a-z]`; `\` escapes the next byte. In
 * brackets `]` is a member if it is the first, and `-` if it is the last one.
 * Brackets without an end reach to the end of the pattern. Allocates nothing;
 * the time is at most the product of both lengths. */
bool hf_glob_match(const void *pattern, size_t pattern_len, const void *text,
                   size_t text_len);

#endif
