/* SPDX-License-Identifier: Apache-2.0 */
/* Catches what the command writes to stderr: it must be one line, without a
 * control character that a terminal would execute. For targets with
 *
 *     link: -Wl,--wrap=write
 *
 * Text that does not begin like a message of the command (libFuzzer's, a
 * sanitizer's) is written unchanged. */
#ifndef FUZZ_SAID_H
#define FUZZ_SAID_H

#include "fuzz.h"

#include <sys/types.h>
#include <unistd.h>

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

static bool said_is_open; /* in the middle of a line */
static unsigned said_lines;
static unsigned char said_last;

static void said_check(const unsigned char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_end = text[i] == '\n' && i + 1 == len;
        bool is_c1 = said_last == 0xc2 && text[i] >= 0x80 && text[i] < 0xa0;
        FUZZ_CHECK(is_end || (text[i] >= ' ' && text[i] != 0x7f && !is_c1));
        said_last = text[i];
    }
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    static const char mark[] = "holdfast: ";
    bool begins =
        len >= sizeof(mark) - 1 && memcmp(data, mark, sizeof(mark) - 1) == 0;
    if (fd != STDERR_FILENO || (!said_is_open && !begins)) {
        return __real_write(fd, data, len);
    }
    said_is_open = ((const char *)data)[len - 1] != '\n';
    said_lines += !said_is_open;
    said_check(data, len);
    return (ssize_t)len;
}

#endif
