/* SPDX-License-Identifier: Apache-2.0 */
/* A duration is a sum of NUMBER UNIT, with the units in descending order: so
 * 1h30m has one reading, and 30m1h is refused as a typing error.
 *
 * The arithmetic is of integers. A fraction is kept as a number and its scale,
 * and what is not a whole number of milliseconds is refused, so no lease is
 * rounded to a length that was not written. strtod() would also read "1e3",
 * "inf", and a comma in some locales. Each step is checked for overflow. */
#include "base/duration.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* 285,000 years; sums of such numbers do not overflow. */
#define MS_MAX (INT64_C(1) << 53)

struct unit {
    const char *name;
    int64_t ms;
};

/* Largest first; but "ms" before "m", since "m" is a prefix of it. */
static const struct unit units[] = {
    {"d", 86400000}, {"h", 3600000}, {"ms", 1}, {"m", 60000}, {"s", 1000},
};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/** Parse digits, and a fraction of at most 9 digits: value = *number / *scale.
 * @return the rest after them; NULL: there is no number. */
static const char *read_number(const char *at, int64_t *number, int64_t *scale)
{
    *number = 0;
    *scale = 1;
    if (!is_digit(*at)) {
        return NULL;
    }
    for (; is_digit(*at); at++) {
        *number = *number * 10 + (*at - '0');
        if (*number > MS_MAX) {
            return NULL;
        }
    }
    if (*at != '.') {
        return at;
    }
    at++;
    if (!is_digit(*at)) {
        return NULL;
    }
    for (; is_digit(*at); at++) {
        if (*scale >= 1000000000 ||
            __builtin_mul_overflow(*number, INT64_C(10), number)) {
            return NULL;
        }
        *number += *at - '0';
        *scale *= 10;
    }
    return at;
}

/* Parse the unit at @p at; at the end of the text: seconds; NULL: unknown. */
static const struct unit *read_unit(const char **at)
{
    for (size_t i = 0; i < N_UNITS; i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*at, units[i].name, len) == 0) {
            *at += len;
            return &units[i];
        }
    }
    return **at == '\0' ? &units[N_UNITS - 1] : NULL;
}

bool hf_duration_parse(const char *text, int64_t *out_ms)
{
    int64_t sum = 0;
    int64_t last_ms = INT64_MAX; /* units descend: 1h30m, never 30m1h */
    const char *at = text;
    do {
        int64_t number, scale, product;
        at = read_number(at, &number, &scale);
        const char *unit_at = at;
        const struct unit *unit = at == NULL ? NULL : read_unit(&at);
        if (unit == NULL || unit->ms >= last_ms ||
            (at == unit_at && last_ms != INT64_MAX) ||
            __builtin_mul_overflow(number, unit->ms, &product) ||
            product % scale != 0 || product / scale > MS_MAX) {
            return false;
        }
        sum += product / scale;
        last_ms = unit->ms;
        if (sum > MS_MAX) {
            return false;
        }
    } while (*at != '\0');
    HF_ASSERT(sum >= 0 && sum <= MS_MAX);
    *out_ms = sum;
    return true;
}

void hf_duration_emit(char out[HF_DURATION_TEXT_MAX], int64_t ms)
{
    static const struct unit down[] = {
        {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
    };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
        if (ms >= down[i].ms) {
            int n = snprintf(out + used, HF_DURATION_TEXT_MAX - used,
                             "%" PRId64 "%s", ms / down[i].ms, down[i].name);
            used += (size_t)n;
            ms %= down[i].ms;
        }
    }
    if (used == 0) {
        memcpy(out, "0s", 3);
    }
}
