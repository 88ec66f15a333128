/* SPDX-License-Identifier: Apache-2.0 */
/* Source: The Unicode Standard 15.0, table 3-7, well-formed byte sequences. */
#include "utf8.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The second byte decides what the first alone does not. */
static bool is_second(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return is_tail(second);
    }
}

size_t cli_utf8_len(const unsigned char *p, size_t len)
{
    size_t n;
    if (len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        n = 2;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        n = 3;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        n = 4;
    } else {
        return 0;
    }
    if (len < n || !is_second(p[0], p[1])) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if (!is_tail(p[i])) {
            return 0;
        }
    }
    return n;
}
