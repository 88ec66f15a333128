/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that grow: bodies, paths and keys of wires.
 *
 *     struct hf_wire_text text = {0};
 *     hf_wire_text_say(&text, "{\"lease\":");
 *     hf_wire_text_number(&text, number);
 *     hf_wire_text_base64(&text, bytes, len);
 *     char *string = hf_wire_text_take(&text);     NULL: a part is missing
 *
 *     if (text.has_failed) …                       or: bytes and len, not ended
 *     hf_wire_text_fini(&text);                    by a NUL
 *
 * If memory is short, a part is missing and `has_failed` stays set: the
 * caller looks once, before the text is used. Owner: the arguments are copied;
 * what was taken is the caller's, with free(). Threads: those of its owner. The
 * memory is not erased: not for secrets. */
#ifndef HF_ORDERED_WIRE_TEXT_H
#define HF_ORDERED_WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_wire_text {
    char *bytes; /* NULL: nothing yet, or no memory */
    size_t len;
    size_t cap;
    bool has_failed;
};

/* Free its memory. It is empty, and may be used again. */
void hf_wire_text_fini(struct hf_wire_text *text);

/* Append bytes. */
void hf_wire_text_add(struct hf_wire_text *text, const void *bytes, size_t len);

/* Append a string, without its NUL. */
void hf_wire_text_say(struct hf_wire_text *text, const char *string);

/* Append a number, in decimal. */
void hf_wire_text_number(struct hf_wire_text *text, uint64_t number);

/** Its bytes as a string. It is empty then. @return NULL: no memory. */
char *hf_wire_text_take(struct hf_wire_text *text);

/* Base64, as all bytes are in JSON. */
void hf_wire_text_base64(struct hf_wire_text *text, const void *bytes,
                         size_t len);

/** Decode. @param out  of @p len bytes at least; may be @p text itself.
 * @return its length; SIZE_MAX: it is no base64. */
size_t hf_wire_base64_read(const char *text, size_t len, char *out);

#endif
