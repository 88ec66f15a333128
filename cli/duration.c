/* SPDX-License-Identifier: Apache-2.0 */
#include "duration.h"

#include "out.h"

#include <string.h>

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define UNITS (sizeof(units) / sizeof(units[0]))
#define UNIT_SECONDS 3 /* the index of "s", the unit of a plain number */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* More digits behind the point than this say nothing about milliseconds. */
#define SCALE_MAX INT64_C(1000000000)

/* Digits with an optional fraction: *number / *scale. */
static bool number_parse(const char **at, int64_t *number, int64_t *scale)
{
    const char *p = *at;
    int64_t value = 0;
    int64_t parts = 1;
    if (!is_digit(*p)) {
        return false;
    }
    for (; is_digit(*p); p++) {
        if (value > CLI_DURATION_MS_MAX / 10) {
            return false;
        }
        value = value * 10 + (*p - '0');
    }
    if (*p == '.' && is_digit(p[1])) {
        for (p++; is_digit(*p); p++) {
            if (parts == SCALE_MAX || value > (INT64_MAX - 9) / 10) {
                return false;
            }
            value = value * 10 + (*p - '0');
            parts *= 10;
        }
    }
    *at = p;
    *number = value;
    *scale = parts;
    return true;
}

/* The unit at `p`, which is a whole word of letters; UNITS if none. */
static size_t unit_find(const char *p, size_t *len)
{
    size_t n = 0;
    while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z')) {
        n++;
    }
    *len = n;
    for (size_t i = 0; i < UNITS; i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, p, n) == 0) {
            return i;
        }
    }
    return UNITS;
}

bool cli_duration_parse(const char *text, int64_t *ms)
{
    int64_t total = 0;
    size_t last = 0;
    const char *p = text;
    do {
        int64_t number, scale, product;
        size_t len = 0;
        size_t unit = UNIT_SECONDS;
        if (!number_parse(&p, &number, &scale)) {
            return false;
        }
        if (*p != '\0') {
            unit = unit_find(p, &len);
        } else if (last != 0) {
            return false; /* "1h30": minutes or seconds? */
        }
        /* Units fall: "30m1h" and "1s1s" are slips. */
        if (unit == UNITS || unit + 1 <= last) {
            return false;
        }
        last = unit + 1;
        p += len;
        /* Never rounded: a lease of 0 is not what "0.0001" means. */
        if (__builtin_mul_overflow(number, units[unit].ms, &product) ||
            product % scale != 0 || product / scale > CLI_DURATION_MS_MAX) {
            return false;
        }
        total += product / scale;
        if (total > CLI_DURATION_MS_MAX) {
            return false;
        }
    } while (*p != '\0');
    *ms = total;
    return true;
}

const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_TEXT])
{
    struct cli_out out;
    cli_out_init_text(&out, text, CLI_DURATION_TEXT);
    int64_t left = ms < 0 ? 0 : ms;
    /* Beyond a minute milliseconds are noise, beyond a day seconds. */
    if (left >= 86400000) {
        left -= left % 60000;
    } else if (left >= 60000) {
        left -= left % 1000;
    }
    if (left < 60000 && left > 1000 && left % 1000 != 0) {
        cli_out_int(&out, left / 1000);
        cli_out_text(&out, ".");
        cli_out_int(&out, left % 1000 / 100);
        cli_out_text(&out, "s");
        return text;
    }
    for (size_t i = 0; i < UNITS; i++) {
        if (left >= units[i].ms) {
            cli_out_int(&out, left / units[i].ms);
            cli_out_text(&out, units[i].name);
            left %= units[i].ms;
        }
    }
    if (text[0] == '\0') {
        cli_out_text(&out, "0s");
    }
    return text;
}
