/* SPDX-License-Identifier: Apache-2.0 */
#include "store/advisory/key.h"

#include "base/fail.h"
#include "store/session/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The URL ------------------------------------------------------------ */

/* A decimal number from `least` to `most`, up to `end`, and nothing else. */
static bool read_number(const char *text, const char *end, int64_t least,
                        int64_t most, int64_t *out)
{
    const char *digits = text + (*text == '-');
    char *stop;
    if (digits == end ||
        strspn(digits, "0123456789") != (size_t)(end - digits)) {
        return false;
    }
    errno = 0;
    *out = strtoll(text, &stop, 10);
    return errno == 0 && stop == end && *out >= least && *out <= most;
}

static bool read_key(const char *text, struct hf_advisory_rule *out)
{
    const char *comma = strchr(text, ',');
    const char *end = text + strlen(text);
    int64_t first, second;
    out->kind = HF_ADVISORY_FIXED;
    out->fixed.is_pair = comma != NULL;
    if (strcmp(text, "rails") == 0) {
        out->kind = HF_ADVISORY_RAILS;
        return true;
    }
    if (comma == NULL) {
        bool is_read = read_number(text, end, INT64_MIN, INT64_MAX, &first);
        out->fixed.bits = is_read ? (uint64_t)first : 0;
        return is_read;
    }
    if (!read_number(text, comma, INT32_MIN, INT32_MAX, &first) ||
        !read_number(comma + 1, end, INT32_MIN, INT32_MAX, &second)) {
        return false;
    }
    out->fixed.bits = (uint64_t)(uint32_t)first << 32 | (uint32_t)second;
    return true;
}

enum hf_status hf_advisory_read(const struct hf_url *url, bool *is_advisory,
                                struct hf_advisory_rule *out,
                                struct hf_error *error)
{
    static const struct hf_session_words words = {"advisory", "schema holdfast",
                                                  "key of an advisory lock"};
    const char *key;
    memset(out, 0, sizeof(*out));
    enum hf_status status =
        hf_session_read(url, &words, is_advisory, &key, error);
    if (status != HF_OK) {
        return status;
    }
    if (key != NULL && !read_key(key, out)) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"key\": \"%.60s\" is no key: write a "
                       "bigint (12345), two ints (1,2), or rails",
                       key);
    }
    return HF_OK;
}

/* ---- Keys of names ------------------------------------------------------ */

static uint32_t crc32_of(const void *data, size_t len)
{
    const unsigned char *at = data;
    uint32_t crc = UINT32_MAX;
    for (; len > 0; len--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT32_C(0xedb88320) : 0);
        }
    }
    return ~crc;
}

/* The first 64 bits of the digest, most significant byte first. */
static uint64_t sha256_of(const char *prefix, const void *name, size_t name_len)
{
    uint8_t digest[HF_SESSION_DIGEST_LEN];
    uint64_t bits = 0;
    hf_session_digest(prefix, name, name_len, digest);
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | digest[i];
    }
    return bits;
}

struct hf_advisory_key hf_advisory_key_of(const struct hf_advisory_rule *rule,
                                          const char *prefix, const void *name,
                                          size_t name_len)
{
    if (rule->kind == HF_ADVISORY_FIXED) {
        return rule->fixed;
    }
    if (rule->kind == HF_ADVISORY_RAILS) {
        uint64_t first = crc32_of(name, name_len) & INT32_MAX;
        return (struct hf_advisory_key){first << 32, true};
    }
    return (struct hf_advisory_key){sha256_of(prefix, name, name_len), false};
}
