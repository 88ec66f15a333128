/* SPDX-License-Identifier: Apache-2.0 */
#include "store/named/key.h"

#include "base/fail.h"
#include "store/session/key.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the digest that are used: 192 bits, so that names of two never meet,
 * in a text below the server's limit. */
#define DIGEST_USED 24

bool hf_named_key_is(const struct hf_named_key *a, const struct hf_named_key *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* ---- The URL ------------------------------------------------------------ */

/* The bytes of the UTF-8 character at `at`; 0: it is none that a server keeps
 * in three bytes, or is a control character. */
static size_t character_at(const unsigned char *at)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : 3;
    if (at[0] < 0x20 || at[0] == 0x7f || (at[0] >= 0x80 && at[0] < 0xc2) ||
        at[0] >= 0xf0 || (at[0] == 0xe0 && at[1] < 0xa0) ||
        (at[0] == 0xed && at[1] >= 0xa0)) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

/* A blank at the end: servers differ in whether it counts. */
static bool read_key(const char *text, struct hf_named_key *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t len = 0, chars = 0;
    while (at[len] != '\0') {
        size_t step = character_at(at + len);
        if (step == 0 || ++chars > HF_NAMED_KEY_CHARS_MAX) {
            return false;
        }
        len += step;
    }
    if (len == 0 || text[len - 1] == ' ') {
        return false;
    }
    out->len = len;
    memcpy(out->text, text, len);
    return true;
}

enum hf_status hf_named_key_read(const struct hf_url *url, bool *is_named,
                                 struct hf_named_rule *out,
                                 struct hf_error *error)
{
    static const struct hf_session_words words = {
        "named", "database holdfast", "name of a lock of GET_LOCK()"};
    const char *key;
    memset(out, 0, sizeof(*out));
    enum hf_status status = hf_session_read(url, &words, is_named, &key, error);
    if (status != HF_OK) {
        return status;
    }
    if (key != NULL && !read_key(key, &out->fixed)) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"key\": \"%.80s\" is no name of a "
                       "server's lock: write 1 to 64 characters of UTF-8, of "
                       "at most three bytes each, without a blank at the end",
                       key);
    }
    out->is_fixed = key != NULL;
    return HF_OK;
}

/* ---- Keys of names ------------------------------------------------------ */

void hf_named_key_of(const struct hf_named_rule *rule, const char *prefix,
                     const void *name, size_t name_len,
                     struct hf_named_key *out)
{
    uint8_t digest[HF_SESSION_DIGEST_LEN];
    if (rule->is_fixed) {
        *out = rule->fixed;
        return;
    }
    hf_session_digest(prefix, name, name_len, digest);
    out->len = (size_t)snprintf(out->text, sizeof(out->text), "holdfast:");
    for (size_t i = 0; i < DIGEST_USED; i++) {
        (void)snprintf(out->text + out->len, 3, "%02x", digest[i]);
        out->len += 2;
    }
}
