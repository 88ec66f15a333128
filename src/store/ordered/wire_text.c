/* SPDX-License-Identifier: Apache-2.0 */
/* A failure is kept in the text, and tested once at its end:
 * hf_wire_text_take() returns NULL then. So requests are composed without a
 * test after each piece, and a request is sent complete or not at all. The
 * room doubles: a text of n bytes is copied O(log n) times.
 *
 * Base64 is RFC 4648, with padding; reading also accepts none. */
#include "store/ordered/wire_text.h"

#include "base/text_size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hf_wire_text_fini(struct hf_wire_text *text)
{
    free(text->bytes);
    *text = (struct hf_wire_text){0};
}

static bool reserve(struct hf_wire_text *text, size_t more)
{
    size_t cap = text->cap == 0 ? 1024 : text->cap;
    while (cap < text->len + more) {
        cap *= 2;
    }
    if (cap != text->cap) {
        char *bytes = realloc(text->bytes, cap);
        if (bytes == NULL) {
            text->has_failed = true;
            return false;
        }
        text->bytes = bytes;
        text->cap = cap;
    }
    return true;
}

void hf_wire_text_add(struct hf_wire_text *text, const void *bytes, size_t len)
{
    if (len > 0 && reserve(text, len)) {
        memcpy(text->bytes + text->len, bytes, len);
        text->len += len;
    }
}

void hf_wire_text_say(struct hf_wire_text *text, const char *string)
{
    hf_wire_text_add(text, string, strlen(string));
}

void hf_wire_text_number(struct hf_wire_text *text, uint64_t number)
{
    char shown[HF_TEXT_NUMBER];
    snprintf(shown, sizeof(shown), "%" PRIu64, number);
    hf_wire_text_say(text, shown);
}

/* In no more room than it needs: some are kept for each entry. */
char *hf_wire_text_take(struct hf_wire_text *text)
{
    hf_wire_text_add(text, "", 1);
    char *taken = text->has_failed ? NULL : realloc(text->bytes, text->len);
    if (taken != NULL) {
        text->bytes = NULL;
    }
    hf_wire_text_fini(text);
    return taken;
}

void hf_wire_text_base64(struct hf_wire_text *text, const void *bytes,
                         size_t len)
{
    const unsigned char *from = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t word = (uint32_t)from[i] << 16 |
                        (uint32_t)(n > 1 ? from[i + 1] : 0) << 8 |
                        (uint32_t)(n > 2 ? from[i + 2] : 0);
        char four[] = {digits[word >> 18 & 63], digits[word >> 12 & 63],
                       n > 1 ? digits[word >> 6 & 63] : '=',
                       n > 2 ? digits[word & 63] : '='};
        hf_wire_text_add(text, four, sizeof(four));
    }
}

size_t hf_wire_base64_read(const char *text, size_t len, char *out)
{
    uint32_t word = 0;
    unsigned bits = 0;
    size_t n = 0;
    while (len > 0 && text[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        const char *at = text[i] == '\0' ? NULL : strchr(digits, text[i]);
        if (at == NULL) {
            return SIZE_MAX;
        }
        word = (word << 6 | (uint32_t)(at - digits)) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (char)(word >> bits & 255);
        }
    }
    return n;
}
