/* SPDX-License-Identifier: Apache-2.0 */
/* Faster strtod() and sprintf() for Lua. Lua converts its numbers with these
 * two, at 500 and 2,000 instructions each, an eighth of a run. Nearly all
 * numbers of the scripts are whole: they take the short ways here, with the
 * same result to the bit. All others go to libc.
 *
 * Linked with --wrap, in place of libc's, where Lua comes from an archive.
 * Debian's was compiled with _FORTIFY_SOURCE: its sprintf() is __sprintf_chk().
 */
#include "redis/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* A text of so many digits fits into 64 bits. */
#define DIGITS_MAX 19

/* "%.14g" writes greater numbers with an exponent. */
#define GENERAL_MAX 1e14

/* The least whole number that int64_t does not hold. */
#define TWO_TO_63 9223372036854775808.0

/* Bytes that a text may have: Lua's buffers are smaller. */
#define SIZE_MOST 4096

double __real_strtod(const char *text, char **end);
double __wrap_strtod(const char *text, char **end);
int __wrap_sprintf(char *to, const char *format, ...);
int __wrap___sprintf_chk(char *to, int flag, size_t size, const char *format,
                         ...);

double __wrap_strtod(const char *text, char **end)
{
    uint64_t number = 0;
    size_t len = 0;
    while (text[len] >= '0' && text[len] <= '9' && len < DIGITS_MAX) {
        number = number * 10 + (uint64_t)(text[len++] - '0');
    }
    if (len == 0 || text[len] != '\0' || end == NULL) {
        return __real_strtod(text, end);
    }
    *end = (char *)(uintptr_t)(text + len); /* as strtod() drops the const */
    return (double)number; /* rounded to nearest, as by strtod() */
}

/* Write a whole number of at least 0, with zeros before it up to the width.
 * @return its length; 0: it is another number. */
static size_t put_whole(char *to, double number, double limit, size_t width)
{
    char digits[SIM_NUMBER_MAX];
    bool is_whole = number >= 0 && number < limit && !signbit(number) &&
                    number == (double)(int64_t)number;
    if (!is_whole) {
        return 0;
    }
    size_t len = sim_integer_format(digits, (int64_t)number);
    size_t pad = len < width ? width - len : 0;
    memset(to, '0', pad);
    memcpy(to + pad, digits, len);
    to[pad + len] = '\0';
    return pad + len;
}

/* The formats of the scripts, and of Lua's tostring(). @return 0: another. */
static size_t put(char *to, const char *format, va_list args)
{
    if (strcmp(format, "%.14g") == 0) {
        return put_whole(to, va_arg(args, double), GENERAL_MAX, 0);
    }
    if (strcmp(format, "%.0f") == 0) {
        return put_whole(to, va_arg(args, double), TWO_TO_63, 0);
    }
    if (strcmp(format, "%016.0f") == 0) {
        return put_whole(to, va_arg(args, double), TWO_TO_63, 16);
    }
    return 0;
}

static int print(char *to, size_t size, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t len = put(to, format, args);
    int result = len > 0 ? (int)len : vsnprintf(to, size, format, again);
    va_end(again);
    return result;
}

int __wrap_sprintf(char *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = print(to, SIZE_MOST, format, args);
    va_end(args);
    return len;
}

int __wrap___sprintf_chk(char *to, int flag, size_t size, const char *format,
                         ...)
{
    (void)flag;
    va_list args;
    va_start(args, format);
    int len = print(to, size < SIZE_MOST ? size : SIZE_MOST, format, args);
    va_end(args);
    return len;
}
