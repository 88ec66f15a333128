/* SPDX-License-Identifier: Apache-2.0 */
/* Names are any bytes; most are UTF-8. Which of them a terminal may be given is
 * decided here, for all that is printed. */
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

/* Must a terminal not see it? Controls, which it obeys; and what is invisible
 * or turns the direction of writing, so that one name looks like another. */
bool cli_utf8_is_unsafe(uint32_t code);

/* Columns on a terminal: 2 for East Asian wide characters and emoji, 0 for
 * the common combining marks, else 1. */
size_t cli_utf8_columns(uint32_t code);

#endif
