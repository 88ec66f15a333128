/* SPDX-License-Identifier: Apache-2.0 */
/* Names are any bytes; most are UTF-8. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `p`, which has `len` bytes to read; 0 if it is
 * not well-formed (overlong, surrogate, beyond U+10FFFF, cut). */
size_t cli_utf8_len(const unsigned char *p, size_t len);

#endif
