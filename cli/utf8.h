/* SPDX-License-Identifier: Apache-2.0 */
/* Names are any bytes; most are UTF-8. These functions decide for all output
 * which characters a terminal may get. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `p`, which has `len` bytes to read; 0 if it is
 * not well-formed (overlong, surrogate, beyond U+10FFFF, cut). */
size_t cli_utf8_len(const unsigned char *p, size_t len);

/* The code point of the character of `n` bytes at `p`. */
uint32_t cli_utf8_code(const unsigned char *p, size_t n);

/* True if a terminal must not get it: control characters, and characters that
 * are invisible or change the direction of writing, by which one name could
 * look like another. */
bool cli_utf8_is_unsafe(uint32_t code);

/* True if a terminal may get all of a text: it has neither of these, and it is
 * well-formed. */
bool cli_utf8_is_safe(const void *text, size_t len);

/* Columns on a terminal: 2 for East Asian wide characters and emoji, 0 for
 * the common combining marks, else 1. */
size_t cli_utf8_columns(uint32_t code);

#endif
