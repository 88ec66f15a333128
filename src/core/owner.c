/* SPDX-License-Identifier: Apache-2.0 */
/* Owner texts. Written without stdio: core stays free of locale and heap, and
 * this is on the path of every acquisition. */
#include "core/owner.h"

#include "base/assert.h"
#include "base/decimal.h"

#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

/* The prefix of an owner whose lock was released with a reservation. */
static const char ended_mark[] = "ended:";
#define ENDED_LEN (sizeof(ended_mark) - 1) /* bytes, without the NUL */

/* Two hex digits for each byte. */
#define ID_TEXT_LEN ((size_t)2 * HF_OWNER_ID_LEN)

/* Host and label are truncated, so that an owner never exceeds HF_OWNER_MAX: 32
 * digits, 4 separators, 64 of host, 20 each of pid and time, the rest for the
 * label. */
#define HOST_TEXT_MAX 64
#define LABEL_TEXT_MAX 240

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

/** @return bytes written, whole escapes only, at most `max`. */
static size_t emit_escaped(char *out, size_t max, const char *text)
{
    size_t len = 0;
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        size_t need = is_plain(c) ? 1 : 3;
        if (len + need > max) {
            break;
        }
        if (need == 1) {
            out[len++] = (char)c;
        } else {
            out[len++] = '%';
            out[len++] = hex_digits[c >> 4];
            out[len++] = hex_digits[c & 15];
        }
    }
    HF_ASSERT(len <= max);
    return len;
}

/** @return bytes written, at most HF_DECIMAL_MAX. */
static size_t emit_number(char *out, int64_t value)
{
    char digits[HF_DECIMAL_MAX];
    char *end = digits + sizeof(digits);
    HF_ASSERT(end - digits == HF_DECIMAL_MAX); /* room for any number */
    char *first = hf_decimal_before(end, value < 0 ? 0 : (uint64_t)value);
    memcpy(out, first, (size_t)(end - first));
    return (size_t)(end - first);
}

size_t hf_owner_emit(char out[HF_OWNER_MAX], const uint8_t id[HF_OWNER_ID_LEN],
                     const char *host, int64_t pid, int64_t since_s,
                     const char *label)
{
    size_t len = 0;
    for (size_t i = 0; i < HF_OWNER_ID_LEN; i++) {
        out[len++] = hex_digits[id[i] >> 4];
        out[len++] = hex_digits[id[i] & 15];
    }
    out[len++] = ':';
    len += emit_escaped(out + len, HOST_TEXT_MAX, host);
    out[len++] = ':';
    len += emit_number(out + len, pid);
    out[len++] = ':';
    len += emit_number(out + len, since_s);
    if (label != NULL && label[0] != '\0') {
        out[len++] = ':';
        len += emit_escaped(out + len, LABEL_TEXT_MAX, label);
    }
    HF_ASSERT(len <= HF_OWNER_MAX);
    return len;
}

static int hex_value(char c)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    HF_ASSERT(value < 16); /* so two of them are a byte */
    return value;
}

/* Any bytes as printable text: bytes outside printable ASCII become %XX. */
static void describe_printable(const char *text, size_t len, char *out,
                               size_t cap)
{
    size_t at = 0;
    HF_ASSERT(cap > 0);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_shown = c > ' ' && c < 0x7f;
        if (at + (is_shown ? 1 : 3) >= cap) {
            break;
        }
        if (is_shown) {
            out[at++] = (char)c;
        } else {
            out[at++] = '%';
            out[at++] = hex_digits[c >> 4];
            out[at++] = hex_digits[c & 15];
        }
    }
    out[at] = '\0';
}

static bool is_control(int code)
{
    return code < ' ' || code == 0x7f;
}

/* The byte encoded by an escape at text[i]; -1 if there is no escape. */
static int escaped_at(const char *text, size_t len, size_t i)
{
    HF_ASSERT(i < len);
    if (text[i] != '%' || len - i <= 2) {
        return -1;
    }
    int high = hex_value(text[i + 1]);
    int low = hex_value(text[i + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Decode a field that emit_escaped() wrote. Control characters stay escaped,
 * since the result is shown on terminals. Unescaped control characters, by
 * another writer, become '?'. */
static void describe_field(const char *text, size_t len, char *out, size_t cap)
{
    size_t at = 0;
    HF_ASSERT(cap > 0);
    for (size_t i = 0; i < len && at + 1 < cap; i++) {
        int code = escaped_at(text, len, i);
        if (code >= 0 && !is_control(code)) {
            out[at++] = (char)code;
            i += 2;
        } else {
            out[at++] = is_control((unsigned char)text[i]) ? '?' : text[i];
        }
    }
    out[at] = '\0';
}

/* Decimal digits of a number that surely fits an int64_t: 10^18 - 1 does. */
#define NUMBER_LEN_MAX 18

static bool describe_number(const char *text, size_t len, int64_t *out)
{
    if (len == 0 || len > NUMBER_LEN_MAX) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    HF_ASSERT(value >= 0);
    *out = value;
    return true;
}

/* The field up to the next ':' or the end; sets *at to the byte after it. */
static size_t next_field(const char *text, size_t len, size_t *at)
{
    HF_ASSERT(*at <= len);
    size_t start = *at;
    size_t end = start;
    while (end < len && text[end] != ':') {
        end++;
    }
    *at = end < len ? end + 1 : end;
    return end - start;
}

static bool has_id(const char *text, size_t len)
{
    if (len <= ID_TEXT_LEN) {
        return false;
    }
    HF_ASSERT(text != NULL);
    if (text[ID_TEXT_LEN] != ':') {
        return false;
    }
    for (size_t i = 0; i < ID_TEXT_LEN; i++) {
        if (hex_value(text[i]) < 0) {
            return false;
        }
    }
    return true;
}

/* The bytes of the mark before the owner; 0: it has none. */
static size_t ended_len(const char *text, size_t len)
{
    return len > ENDED_LEN && memcmp(text, ended_mark, ENDED_LEN) == 0
               ? ENDED_LEN
               : 0;
}

bool hf_owner_is_ours(const void *text, size_t len)
{
    size_t skipped = ended_len(text, len);
    HF_ASSERT(skipped <= len);
    return len > 0 && has_id((const char *)text + skipped, len - skipped);
}

static bool describe_ours(const char *text, size_t len, struct hf_holder *out)
{
    if (!has_id(text, len)) {
        return false;
    }
    size_t at = ID_TEXT_LEN + 1;
    size_t host = at;
    size_t host_len = next_field(text, len, &at);
    size_t pid = at;
    size_t pid_len = next_field(text, len, &at);
    size_t since = at;
    size_t since_len = next_field(text, len, &at);
    HF_ASSERT(at <= len);
    if (!describe_number(text + pid, pid_len, &out->pid) ||
        !describe_number(text + since, since_len, &out->since_s)) {
        return false;
    }
    describe_field(text + host, host_len, out->host, sizeof(out->host));
    describe_field(text + at, len - at, out->label, sizeof(out->label));
    return true;
}

void hf_owner_describe(const void *text, size_t len, struct hf_holder *out)
{
    size_t skipped = ended_len(text, len);
    const char *bytes = text;
    out->host[0] = '\0';
    out->label[0] = '\0';
    out->pid = 0;
    out->since_s = 0;
    out->kind = HF_HOLDER_HOLDFAST;
    if (skipped > 0) {
        out->kind = HF_HOLDER_ENDED;
        bytes += skipped;
        len -= skipped;
    }
    describe_printable(bytes, len, out->owner, sizeof(out->owner));
    if (!describe_ours(bytes, len, out)) {
        HF_ASSERT(out->host[0] == '\0' && out->label[0] == '\0');
        out->kind = HF_HOLDER_FOREIGN;
        out->pid = 0;
        out->since_s = 0;
    }
}

/* Where the fence of OWNER@FENCE[/TTL] ends: at the '/', or at the end. */
static size_t fence_end(const char *text, size_t at, size_t len)
{
    HF_ASSERT(at <= len);
    const char *slash = memchr(text + at, '/', len - at);
    return slash != NULL ? (size_t)(slash - text) : len;
}

static size_t fence_begin(const char *text, size_t len)
{
    HF_ASSERT(len <= HF_OWNER_TEXT_MAX);
    while (len > 0 && text[len - 1] != '@') {
        len--;
    }
    return len;
}

int64_t hf_owner_ttl_ms(const char *text)
{
    int64_t ttl_ms = 0;
    size_t len = strnlen(text, HF_OWNER_TEXT_MAX);
    size_t end = fence_end(text, fence_begin(text, len), len);
    HF_ASSERT(end <= len);
    bool is_named =
        end < len && describe_number(text + end + 1, len - end - 1, &ttl_ms);
    return is_named ? ttl_ms : 0;
}

bool hf_owner_parse(const char *text, size_t *owner_len, uint64_t *fence)
{
    size_t len = strnlen(text, HF_OWNER_TEXT_MAX);
    size_t at = fence_begin(text, len);
    size_t end = fence_end(text, at, len);
    if (end < len && hf_owner_ttl_ms(text) <= 0) {
        return false;
    }
    len = end;
    int64_t number = 0;
    if (at < 2 || at - 1 > HF_OWNER_MAX ||
        !describe_number(text + at, len - at, &number) || number <= 0 ||
        (uint64_t)number > HF_FENCE_MAX || !has_id(text, at - 1)) {
        return false;
    }
    *owner_len = at - 1;
    *fence = (uint64_t)number;
    HF_ASSERT(*owner_len <= HF_OWNER_MAX && *owner_len > ID_TEXT_LEN);
    return true;
}

/* The next `len` bytes, at most one word of them. */
static uint64_t mix(uint64_t digest, const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;
    HF_ASSERT(len <= sizeof(word));
    memcpy(&word, bytes, len);
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

/* Like FNV-1a, on words. Owners differ in 128 random bits, so any mixing
 * suffices; a collision costs one retry. */
uint32_t hf_owner_digest(const void *text, size_t len)
{
    const unsigned char *bytes = text;
    uint64_t digest = UINT64_C(14695981039346656037) ^ len;
    /* On the path of every request: whole words of a fixed size. */
    for (; len >= sizeof(digest); len -= sizeof(digest)) {
        digest = mix(digest, bytes, sizeof(digest));
        bytes += sizeof(digest);
    }
    HF_ASSERT(len < sizeof(digest));
    if (len > 0) {
        digest = mix(digest, bytes, len);
    }
    uint32_t folded = (uint32_t)digest;
    return folded == 0 ? 1 : folded;
}
