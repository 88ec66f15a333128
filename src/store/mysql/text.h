/* SPDX-License-Identifier: Apache-2.0 */
/* Statements as text. Bytes are hexadecimal literals, so that no collation and
 * no sql_mode changes their meaning.
 *
 *     hf_my_call(&text, "release");
 *     hf_my_bytes(&text, name, name_len);
 *     hf_my_number(&text, 0);
 *     hf_my_end(&text);                    CALL holdfast.release(x'61',0)
 *
 * After a failure, for lack of memory, `has_failed` stays set and the text is
 * not complete. */
#ifndef HF_MYSQL_TEXT_H
#define HF_MYSQL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_my_text {
    char *data; /* not NUL-terminated */
    size_t len;
    size_t cap;
    bool has_failed;
};

/* Make it empty; its memory is kept. */
void hf_my_text_reset(struct hf_my_text *text);

/* Free its memory. It is empty, and may be used again. */
void hf_my_text_fini(struct hf_my_text *text);

/* Append text as it is. */
void hf_my_text_add(struct hf_my_text *text, const char *data, size_t len);

/* A call of a procedure of the schema, its arguments, and its end. */
void hf_my_call(struct hf_my_text *text, const char *procedure);

/* An argument of any bytes. */
void hf_my_bytes(struct hf_my_text *text, const void *data, size_t len);

/* The same of a string. */
void hf_my_bytes_of(struct hf_my_text *text, const char *chars);

/* An argument that is a number. */
void hf_my_number(struct hf_my_text *text, int64_t number);

/* An argument that is NULL. */
void hf_my_null(struct hf_my_text *text);

/* The end of the call. */
void hf_my_end(struct hf_my_text *text);

#endif
