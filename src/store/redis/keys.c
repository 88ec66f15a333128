/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/keys.h"

#include "base/assert.h"

#include <string.h>

/* Of every Redis Cluster, by its specification. */
#define HASH_SLOTS 16384U

/* Six digits reach every hash slot, five do not: test_redis_keys.c tries all.
 */
#define TAG_DIGITS 6

/* CRC16/XMODEM, polynomial 0x1021, four bits at a time.
 * Source: Redis Cluster specification, "Key distribution model". */
static uint16_t crc16_nibble(uint16_t crc, unsigned nibble)
{
    unsigned top = (crc >> 12 ^ nibble) & 0xf;
    return (uint16_t)((unsigned)crc << 4 ^ top * 0x1021);
}

static uint16_t crc16_byte(uint16_t crc, uint8_t byte)
{
    return crc16_nibble(crc16_nibble(crc, byte >> 4), byte);
}

static unsigned hash_slot_of(const char *text, size_t len)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc = crc16_byte(crc, (uint8_t)text[i]);
    }
    return crc % HASH_SLOTS;
}

/** The hash tag: the text between the first '{' and the first '}' after it.
 * @return its length; 0: the key has no hash tag. */
static size_t find_tag(const char *key, size_t len, const char **tag)
{
    const char *open = memchr(key, '{', len);
    if (open == NULL) {
        return 0;
    }
    *tag = open + 1;
    const char *close = memchr(*tag, '}', (size_t)(key + len - *tag));
    return close == NULL ? 0 : (size_t)(close - *tag);
}

/* The digit that, appended to a text of that CRC, yields that hash slot; 10:
 * none. A CRC is linear, and '0' ends in four zero bits: the digit is the
 * difference to the CRC with '0'. */
static unsigned last_digit(uint16_t crc, unsigned hash_slot)
{
    unsigned lacks = (crc16_byte(crc, '0') ^ hash_slot) % HASH_SLOTS;
    unsigned digit = lacks & 0xf;
    return digit < 10 && digit * 0x1021 % HASH_SLOTS == lacks ? digit : 10;
}

/* Find digits of a hash slot. The CRC of each prefix is kept, so that an
 * attempt takes one step; there are 100,000 at most. Needed only for a lock key
 * with a '}' and no hash tag. */
static void make_tag(char digits[TAG_DIGITS], unsigned hash_slot)
{
    enum { LAST = TAG_DIGITS - 1 };
    uint16_t crc[LAST + 1] = {0};
    unsigned from = 0;
    memset(digits, '0', TAG_DIGITS);
    for (;;) {
        for (unsigned i = from; i < LAST; i++) {
            crc[i + 1] = crc16_byte(crc[i], (uint8_t)digits[i]);
        }
        unsigned digit = last_digit(crc[LAST], hash_slot);
        if (digit < 10) {
            digits[LAST] = (char)('0' + digit);
            return;
        }
        for (from = LAST - 1; digits[from] == '9'; from--) {
            HF_ASSERT(from > 0);
            digits[from] = '0';
        }
        digits[from]++;
    }
}

static void append(char *to, size_t *len, const char *from, size_t n)
{
    if (n > 0) { /* a pattern of nothing has no address */
        memcpy(to + *len, from, n);
    }
    *len += n;
}

static const struct {
    char text[sizeof(":holders")]; /* no pointer: the table needs no relocation
                                    */
    size_t len;
} side_ends[HF_REDIS_SIDES] = {
    [HF_REDIS_FENCE] = {":fence", 6},     [HF_REDIS_QUEUE] = {":queue", 6},
    [HF_REDIS_WAITERS] = {":waiters", 8}, [HF_REDIS_HOLDERS] = {":holders", 8},
    [HF_REDIS_VOTES] = {":votes", 6},     [HF_REDIS_ONCE] = {":once", 5},
    [HF_REDIS_VALUE] = {":value", 6},
};

/** The common beginning of the side keys. @return its length. */
static size_t make_stem(const struct hf_redis_keys *keys, char *stem)
{
    const char *tag = keys->lock;
    size_t tag_len = find_tag(keys->lock, keys->lock_len, &tag);
    bool is_own_tag =
        tag_len == 0 && memchr(keys->lock, '}', keys->lock_len) == NULL;
    char digits[TAG_DIGITS];
    if (is_own_tag) {
        tag = keys->lock;
        tag_len = keys->lock_len;
    } else if (tag_len == 0) {
        make_tag(digits, hash_slot_of(keys->lock, keys->lock_len));
        tag = digits;
        tag_len = TAG_DIGITS;
    }
    size_t len = 0;
    append(stem, &len, "hf:{", 4);
    append(stem, &len, tag, tag_len);
    append(stem, &len, "}", 1);
    if (!is_own_tag) {
        append(stem, &len, ":", 1);
        append(stem, &len, keys->lock, keys->lock_len);
    }
    return len;
}

static void make_sides(struct hf_redis_keys *keys)
{
    char *stem = keys->sides[0].text;
    size_t stem_len = make_stem(keys, stem);
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        struct hf_redis_side_key *side = &keys->sides[i];
        memmove(side->text, stem, stem_len);
        side->len = stem_len;
        append(side->text, &side->len, side_ends[i].text, side_ends[i].len);
    }
}

/* Most requests are scripts about a lock, and each has these keys. */
static void make_run(struct hf_redis_keys *keys)
{
    char *at = hf_resp_argument(keys->run, keys->lock, keys->lock_len);
    for (unsigned i = 0; i < HF_REDIS_LINE_SIDES; i++) {
        at = hf_resp_argument(at, keys->sides[i].text, keys->sides[i].len);
    }
    at = hf_resp_argument(at, HF_REDIS_MARKER_KEY,
                          sizeof(HF_REDIS_MARKER_KEY) - 1);
    keys->run_len = (size_t)(at - keys->run);
    HF_ASSERT(keys->run_len <= sizeof(keys->run));
}

bool hf_redis_is_own_key(const char *prefix, size_t prefix_len,
                         const void *name, size_t name_len)
{
    static const char own[] = {'h', 'f', ':'};
    size_t from_prefix = prefix_len < sizeof(own) ? prefix_len : sizeof(own);
    size_t from_name = sizeof(own) - from_prefix;
    return memcmp(prefix, own, from_prefix) == 0 && name_len >= from_name &&
           memcmp(name, own + from_prefix, from_name) == 0;
}

bool hf_redis_keys_make(struct hf_redis_keys *keys, const char *prefix,
                        size_t prefix_len, const void *name, size_t name_len)
{
    HF_ASSERT(prefix_len <= HF_URL_PREFIX_MAX);
    HF_ASSERT(name_len >= 1 && name_len <= HF_NAME_MAX);
    if (hf_redis_is_own_key(prefix, prefix_len, name, name_len)) {
        return false;
    }
    memcpy(keys->lock, prefix, prefix_len);
    memcpy(keys->lock + prefix_len, name, name_len);
    keys->lock_len = prefix_len + name_len;
    make_sides(keys);
    make_run(keys);
    return true;
}

static enum hf_redis_side read_end(const char *key, size_t len)
{
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        size_t n = side_ends[i].len;
        if (len > n && memcmp(key + len - n, side_ends[i].text, n) == 0) {
            return (enum hf_redis_side)i;
        }
    }
    return HF_REDIS_SIDES;
}

/* hf:{<lock>}<end>, where the lock has no '}', or hf:{<tag>}:<lock><end>. */
enum hf_redis_side hf_redis_side_read(const char *key, size_t len,
                                      const char **lock, size_t *lock_len)
{
    enum hf_redis_side side = read_end(key, len);
    if (side == HF_REDIS_SIDES || len < 4 || memcmp(key, "hf:{", 4) != 0) {
        return HF_REDIS_SIDES;
    }
    const char *end = key + len - side_ends[side].len;
    const char *at = key + 4;
    const char *brace = memchr(at, '}', (size_t)(end - at));
    if (brace == NULL) {
        return HF_REDIS_SIDES;
    }
    if (brace + 1 < end && brace[1] != ':') {
        return HF_REDIS_SIDES;
    }
    *lock = brace + 1 < end ? brace + 2 : at;
    *lock_len = (size_t)((brace + 1 < end ? end : brace) - *lock);
    return *lock_len > 0 ? side : HF_REDIS_SIDES;
}

/* Bytes before the first `[` that is not escaped. */
static size_t span_without_class(const char *glob, size_t len)
{
    size_t n = 0;
    while (n < len && glob[n] != '[') {
        n += glob[n] == '\\' && n + 1 < len ? 2 : 1;
    }
    return n;
}

size_t hf_redis_pattern_make(char *out, size_t size, const char *prefix,
                             size_t prefix_len, const void *glob,
                             size_t glob_len)
{
    size_t len = 0;
    if (2 * prefix_len + glob_len + 1 > size) {
        return 0;
    }
    for (size_t i = 0; i < prefix_len; i++) {
        if (prefix[i] != '\0' && strchr("*?[]\\^-", prefix[i]) != NULL) {
            out[len++] = '\\';
        }
        out[len++] = prefix[i];
    }
    size_t n = span_without_class(glob, glob_len);
    append(out, &len, glob, n);
    if (n < glob_len || glob_len == 0) {
        out[len++] = '*';
    }
    return len;
}
