/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/text.h"

#include "base/decimal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Most replies fit, so that few texts grow. It doubles. */
#define FIRST_BYTES 256

/* Whole numbers below this are written in full by "%.17g". */
#define WHOLE_MAX 1e17

/* The least whole number that int64_t does not hold. */
#define TWO_TO_63 9223372036854775808.0

void *sim_alloc(size_t size)
{
    return sim_realloc(NULL, size);
}

void *sim_realloc(void *old, size_t size)
{
    void *memory = realloc(old, size);
    if (memory == NULL) {
        fprintf(stderr, "simulated redis: out of memory\n");
        abort();
    }
    return memory;
}

void sim_text_reserve(struct sim_text *text, size_t more)
{
    size_t cap = text->cap == 0 ? FIRST_BYTES : text->cap;
    while (cap - text->len <= more) {
        cap *= 2;
    }
    text->data = sim_realloc(text->data, cap);
    text->cap = cap;
}

void sim_text_fini(struct sim_text *text)
{
    free(text->data);
    *text = (struct sim_text){0};
}

/* The same arguments twice: to write, and again if there was no room. */
static void print(struct sim_text *text, const char *format, va_list args,
                  va_list again)
{
    size_t room = text->cap - text->len;
    char *end = room > 0 ? text->data + text->len : NULL;
    size_t len = (size_t)vsnprintf(end, room, format, args);
    if (room <= len) {
        sim_text_reserve(text, len);
        vsnprintf(text->data + text->len, len + 1, format, again);
    }
    text->len += len;
}

void sim_text_print(struct sim_text *text, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_start(again, format);
    print(text, format, args, again);
    va_end(again);
    va_end(args);
}

void sim_text_quote(struct sim_text *text, const char *data, size_t len)
{
    sim_text_add(text, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        char c = data[i];
        if (c == '"' || c == '\\') {
            sim_text_print(text, "\\%c", c);
        } else if (c >= ' ' && c <= '~') {
            sim_text_add(text, &c, 1);
        } else {
            sim_text_print(text, "\\x%02x", (unsigned char)c);
        }
    }
    sim_text_add(text, "\"", 1);
}

/* ---- Numbers ------------------------------------------------------------- */

size_t sim_integer_format(char to[SIM_NUMBER_MAX], int64_t number)
{
    char digits[1 + HF_DECIMAL_MAX];
    char *end = digits + sizeof(digits);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    if (rest < 10 && number >= 0) { /* most lengths and replies */
        to[0] = (char)('0' + rest);
        return 1;
    }
    char *at = hf_decimal_before(end, rest);
    if (number < 0) {
        *--at = '-';
    }
    memcpy(to, at, (size_t)(end - at));
    return (size_t)(end - at);
}

size_t sim_double_format(char to[SIM_NUMBER_MAX], double number)
{
    bool is_whole = number > -WHOLE_MAX && number < WHOLE_MAX &&
                    number == (double)(int64_t)number;
    if (is_whole && (number != 0 || !signbit(number))) {
        return sim_integer_format(to, (int64_t)number);
    }
    return (size_t)snprintf(to, SIM_NUMBER_MAX, "%.17g", number);
}

bool sim_integer_parse(const char *data, size_t len, int64_t *out)
{
    bool is_negative = len > 1 && data[0] == '-';
    size_t at = is_negative ? 1 : 0;
    uint64_t number = 0;
    if (len == 1 && data[0] == '0') {
        *out = 0;
        return true;
    }
    if (at == len || data[at] < '1' || data[at] > '9') {
        return false;
    }
    for (; at < len; at++) {
        if (data[at] < '0' || data[at] > '9' ||
            __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(data[at] - '0'),
                                   &number)) {
            return false;
        }
    }
    if (number > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
        return false;
    }
    *out = (int64_t)(is_negative ? 0 - number : number);
    return true;
}

bool sim_double_parse(const char *data, size_t len, double *out)
{
    int64_t whole;
    if (len < 19 && sim_integer_parse(data, len, &whole)) {
        *out = (double)whole;
        return true;
    }
    char *end;
    errno = 0;
    double number = strtod(data, &end);
    if (len == 0 || isspace((unsigned char)data[0]) || end != data + len ||
        (errno == ERANGE && (isinf(number) || number == 0)) || isnan(number)) {
        return false;
    }
    *out = number;
    return true;
}

/* Out of range, where C leaves it undefined, as x86-64 processors do. */
int64_t sim_double_truncate(double number)
{
    return number >= -TWO_TO_63 && number < TWO_TO_63 ? (int64_t)number
                                                      : INT64_MIN;
}

/* ---- RESP ---------------------------------------------------------------- */

static void add_line(struct sim_text *out, char kind, int64_t number)
{
    char line[SIM_NUMBER_MAX + 3];
    line[0] = kind;
    size_t len = 1 + sim_integer_format(line + 1, number);
    line[len++] = '\r';
    line[len++] = '\n';
    sim_text_add(out, line, len);
}

void sim_reply_integer(struct sim_text *out, int64_t number)
{
    add_line(out, ':', number);
}

void sim_reply_bulk(struct sim_text *out, const char *data, size_t len)
{
    add_line(out, '$', (int64_t)len);
    sim_text_add(out, data, len);
    sim_text_add(out, "\r\n", 2);
}

void sim_reply_double(struct sim_text *out, double number)
{
    char text[SIM_NUMBER_MAX];
    sim_reply_bulk(out, text, sim_double_format(text, number));
}

void sim_reply_array(struct sim_text *out, size_t n)
{
    add_line(out, '*', (int64_t)n);
}

void sim_reply_null(struct sim_text *out)
{
    sim_text_add(out, "$-1\r\n", 5);
}

void sim_reply_status(struct sim_text *out, const char *text)
{
    sim_text_add(out, "+", 1);
    sim_text_add(out, text, strlen(text));
    sim_text_add(out, "\r\n", 2);
}

void sim_reply_error(struct sim_text *out, const char *format, ...)
{
    va_list args;
    va_list again;
    sim_text_add(out, "-", 1);
    size_t begin = out->len;
    va_start(args, format);
    va_start(again, format);
    print(out, format, args, again);
    va_end(again);
    va_end(args);
    while (out->len > begin && (out->data[out->len - 1] == '\r' ||
                                out->data[out->len - 1] == '\n')) {
        out->len--;
    }
    for (size_t i = begin; i < out->len; i++) {
        if (out->data[i] == '\r' || out->data[i] == '\n') {
            out->data[i] = ' ';
        }
    }
    sim_text_add(out, "\r\n", 2);
}
