/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns on any bytes, as Redis' SCAN MATCH understands them. */
#ifndef HF_BASE_GLOB_H
#define HF_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* `*`, `?`, `[a-z]`, `[^a-z]`, `\` takes the next byte as it is. Linear in
 * memory, at worst the product of both lengths in time. */
bool hf_glob_match(const void *pattern, size_t pattern_len, const void *text,
                   size_t text_len);

#endif
