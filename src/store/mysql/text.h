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
void hf_my_text_fini(struct hf_my_text *text);

void hf_my_text_add(struct hf_my_text *text, const char *data, size_t len);

/* A call of a procedure of the schema, its arguments, and its end. */
void hf_my_call(struct hf_my_text *text, const char *procedure);
void hf_my_bytes(struct hf_my_text *text, const void *data, size_t len);
void hf_my_bytes_of(struct hf_my_text *text, const char *chars);
void hf_my_number(struct hf_my_text *text, int64_t number);
void hf_my_null(struct hf_my_text *text);
void hf_my_end(struct hf_my_text *text);

#endif
