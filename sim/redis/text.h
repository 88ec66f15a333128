/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, numbers as Redis reads and writes them, and RESP. */
#ifndef SIM_REDIS_TEXT_H
#define SIM_REDIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All zero: empty. A NUL follows what was added. */
struct sim_text {
    char *data;
    size_t len;
    size_t cap;
};

/* Allocate memory; abort if there is none. */
void *sim_alloc(size_t size);
void *sim_realloc(void *old, size_t size);

/* Make room for `more` bytes and a NUL. */
void sim_text_reserve(struct sim_text *text, size_t more);

/* Free its memory. Empty again. */
void sim_text_fini(struct sim_text *text);

/* Append bytes. */
static inline void sim_text_add(struct sim_text *text, const void *data,
                                size_t len)
{
    if (text->cap - text->len <= len) {
        sim_text_reserve(text, len);
    }
    if (len > 0) {
        memcpy(text->data + text->len, data, len);
    }
    text->len += len;
    text->data[text->len] = '\0';
}

__attribute__((format(printf, 2, 3))) void
sim_text_print(struct sim_text *text, const char *format, ...);

/* As a C string in double quotes, as redis-cli prints it. */
void sim_text_quote(struct sim_text *text, const char *data, size_t len);

/* ---- Numbers ------------------------------------------------------------- */

/* Bytes of a number's text, without a NUL: "%.17g" has at most 24. */
enum { SIM_NUMBER_MAX = 40 };

/* @return the length; no NUL. */
size_t sim_integer_format(char to[SIM_NUMBER_MAX], int64_t number);

/* "%.17g", and "inf". @return the length; no NUL. */
size_t sim_double_format(char to[SIM_NUMBER_MAX], double number);

/* Redis' string2ll: no sign but '-', no leading zero, no other characters. */
bool sim_integer_parse(const char *data, size_t len, int64_t *out);

/* Redis' string2d. `data` is followed by a NUL. */
bool sim_double_parse(const char *data, size_t len, double *out);

/* Lua's number to Redis' integer: towards zero. */
int64_t sim_double_truncate(double number);

/* ---- RESP ---------------------------------------------------------------- */

/* Append a reply, or an element of the array before it. sim_reply_array() is
 * followed by `n` of these. A double is sent as a bulk. */
void sim_reply_integer(struct sim_text *out, int64_t number);
void sim_reply_bulk(struct sim_text *out, const char *data, size_t len);
void sim_reply_double(struct sim_text *out, double number);
void sim_reply_array(struct sim_text *out, size_t n);
void sim_reply_null(struct sim_text *out);
void sim_reply_status(struct sim_text *out, const char *text);

/* Reply "ERR …"; line ends in the text become spaces. */
__attribute__((format(printf, 2, 3))) void
sim_reply_error(struct sim_text *out, const char *format, ...);

#endif
