/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mysql/text.h"

#include "base/text_size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the first allocation: a verb fits. */
#define LEAST 512

void hf_mysql_text_reset(struct hf_mysql_text *text)
{
    text->len = 0;
    text->has_failed = false;
}

void hf_mysql_text_fini(struct hf_mysql_text *text)
{
    free(text->data);
    memset(text, 0, sizeof(*text));
}

/** @return where `len` bytes go; NULL: no memory. */
static char *grow(struct hf_mysql_text *text, size_t len)
{
    if (text->has_failed) {
        return NULL;
    }
    if (text->len + len > text->cap) {
        size_t cap = 2 * text->cap + len + LEAST;
        char *data = realloc(text->data, cap);
        if (data == NULL) {
            text->has_failed = true;
            return NULL;
        }
        text->data = data;
        text->cap = cap;
    }
    text->len += len;
    return text->data + text->len - len;
}

void hf_mysql_text_add(struct hf_mysql_text *text, const char *data, size_t len)
{
    char *at = len > 0 ? grow(text, len) : NULL;
    if (at != NULL) {
        memcpy(at, data, len);
    }
}

static void add(struct hf_mysql_text *text, const char *chars)
{
    hf_mysql_text_add(text, chars, strlen(chars));
}

/* ---- Calls -------------------------------------------------------------- */

void hf_mysql_call(struct hf_mysql_text *text, const char *procedure)
{
    add(text, "CALL holdfast.");
    add(text, procedure);
    add(text, "(");
}

static void separate(struct hf_mysql_text *text)
{
    if (text->len > 0 && text->data[text->len - 1] != '(') {
        add(text, ",");
    }
}

static char *put_digits(char *at, const unsigned char *data, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        *at++ = digits[data[i] >> 4];
        *at++ = digits[data[i] & 15];
    }
    return at;
}

void hf_mysql_bytes(struct hf_mysql_text *text, const void *data, size_t len)
{
    separate(text);
    char *at = grow(text, 3 + 2 * len);
    if (at != NULL) {
        *at++ = 'x';
        *at++ = '\'';
        at = put_digits(at, data, len);
        *at = '\'';
    }
}

void hf_mysql_bytes_of(struct hf_mysql_text *text, const char *chars)
{
    hf_mysql_bytes(text, chars, strlen(chars));
}

void hf_mysql_number(struct hf_mysql_text *text, int64_t number)
{
    char digits[HF_TEXT_NUMBER];
    separate(text);
    (void)snprintf(digits, sizeof(digits), "%" PRId64, number);
    add(text, digits);
}

void hf_mysql_null(struct hf_mysql_text *text)
{
    separate(text);
    add(text, "NULL");
}

void hf_mysql_end(struct hf_mysql_text *text)
{
    add(text, ")");
}
