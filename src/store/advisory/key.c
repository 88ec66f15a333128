/* SPDX-License-Identifier: Apache-2.0 */
#include "store/advisory/key.h"

#include "base/fail.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

/* ---- The URL ------------------------------------------------------------ */

bool hf_advisory_is_parameter(const char *name)
{
    return strcmp(name, "lock") == 0 || strcmp(name, "key") == 0;
}

/* A decimal number within the bounds, up to `end`, and nothing else. */
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
    const char *key = NULL;
    *is_advisory = false;
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < url->n_options; i++) {
        const struct hf_url_option *one = &url->options[i];
        if (strcmp(one->name, "key") == 0) {
            key = one->value;
        } else if (strcmp(one->name, "lock") == 0 &&
                   strcmp(one->value, "advisory") == 0) {
            *is_advisory = true;
        } else if (strcmp(one->name, "lock") == 0) {
            return hf_fail(error, HF_INVALID,
                           "URL parameter \"lock\": \"%.40s\" is not "
                           "\"advisory\"; without it, locks are rows of the "
                           "schema holdfast",
                           one->value);
        }
    }
    if (key != NULL && !*is_advisory) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"key\": it is the key of an advisory "
                       "lock: add lock=advisory");
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

/* The first 64 bits of the digest of both, most significant byte first. */
static uint64_t sha256_of(const char *prefix, const void *name, size_t name_len)
{
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    uint64_t bits = 0;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)prefix, strlen(prefix));
    SHA256Update(&context, name, name_len);
    SHA256Final(digest, &context);
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
