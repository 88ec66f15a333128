/* SPDX-License-Identifier: Apache-2.0 */
/* Statements as text. Bytes are hexadecimal literals, so that no collation and
 * no sql_mode changes their meaning.
 *
 *     hf_mysql_call(&text, "release");
 *     hf_mysql_bytes(&text, name, name_len);
 *     hf_mysql_number(&text, 0);
 *     hf_mysql_end(&text);                 CALL holdfast.release(x'61',0)
 *
 * After a failure, for lack of memory, `has_failed` stays set and the text is
 * not complete. */
#ifndef HF_MYSQL_TEXT_H
#define HF_MYSQL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_mysql_text {
    char *data; /* not NUL-terminated */
    size_t len;
    size_t cap;
    bool has_failed;
};

/* Make it empty; its memory is kept. */
void hf_mysql_text_reset(struct hf_mysql_text *text);

/* Free its memory. It is empty, and may be used again. */
void hf_mysql_text_fini(struct hf_mysql_text *text);

/* Append text as it is. */
void hf_mysql_text_add(struct hf_mysql_text *text, const char *data,
                       size_t len);

/* A call of a procedure of the schema, its arguments, and its end. */
void hf_mysql_call(struct hf_mysql_text *text, const char *procedure);

/* An argument of any bytes. */
void hf_mysql_bytes(struct hf_mysql_text *text, const void *data, size_t len);

/* The same of a string. */
void hf_mysql_bytes_of(struct hf_mysql_text *text, const char *chars);

/* An argument that is a number. */
void hf_mysql_number(struct hf_mysql_text *text, int64_t number);

/* An argument that is NULL. */
void hf_mysql_null(struct hf_mysql_text *text);

/* The end of the call. */
void hf_mysql_end(struct hf_mysql_text *text);

#endif
