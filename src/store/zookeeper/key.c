/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES AND OWNERS AS NODES, NUMBERS
 *
 * Printable ASCII stays as it is, but '/' and '%', which are written as %XX, as
 * every other byte is. So each name has one form, no two names have the same,
 * and no name has nodes below another one. ZooKeeper refuses "." and "..", and
 * keeps "/zookeeper" for itself: the first byte of such a name is escaped too.
 *
 * The number of an entry is
 *
 *     czxid of its container + 1 + its sequence
 *
 * since one request lists the names of the entries with the container's Stat;
 * the czxid of each entry would take one more request for each. It rises as
 * fences must, also when the container was removed, and made again: the
 * sequence counts the nodes created in the container, each of them was a
 * transaction of its own, after that of the container. So the number of an
 * entry is at most its czxid, and a container that is made later has a greater
 * czxid than all of these. The sequence is a signed number of 32 bits which
 * wraps: read as unsigned, it orders the first 4,294,967,296 entries of one
 * container, which goes when its name was unused for a minute. */
#include "store/zookeeper/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char hex[] = "0123456789ABCDEF";

/* Before the sequence: of Curator's locks, which is ours too, and of kazoo's.
 */
static const char mark[] = "-lock-";
static const char mark_kazoo[] = "__lock__";

/* Bytes of a sequence without its sign, as the server writes it. */
#define DIGITS 10

static bool is_reserved(struct hf_bytes bytes)
{
    static const char own[] = "zookeeper";
    const char *text = bytes.data;
    return (bytes.len > 0 && text[0] == '.') ||
           (bytes.len == sizeof(own) - 1 && memcmp(text, own, bytes.len) == 0);
}

/** @return the end of what was written. */
static char *escape(char *out, struct hf_bytes bytes)
{
    const unsigned char *from = bytes.data;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = from[i];
        bool is_plain = byte > ' ' && byte < 0x7f && byte != '/' && byte != '%';
        if (is_plain && !(i == 0 && is_reserved(bytes))) {
            *out++ = (char)byte;
        } else {
            *out++ = '%';
            *out++ = hex[byte >> 4];
            *out++ = hex[byte & 15];
        }
    }
    *out = '\0';
    return out;
}

static int digit(char byte)
{
    const char *at = byte == '\0' ? NULL : strchr(hex, byte);
    return at == NULL ? -1 : (int)(at - hex);
}

/** In place. @return the length. */
static size_t unescape(char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int high = i + 2 < len && text[i] == '%' ? digit(text[i + 1]) : -1;
        int low = high < 0 ? -1 : digit(text[i + 2]);
        if (low >= 0) {
            text[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            text[n++] = text[i];
        }
    }
    return n;
}

char *hf_zk_key_folder(const char *base, struct hf_bytes name)
{
    size_t base_len = strlen(base);
    char *out = malloc(base_len + 3 * name.len + 1);
    if (out != NULL) {
        memcpy(out, base, base_len + 1);
        (void)escape(out + base_len, name);
    }
    return out;
}

char *hf_zk_key_entry(const struct hf_wire_key *key)
{
    char kind[64];
    char terms[8] = "";
    if (key->permits > 0) {
        snprintf(terms, sizeof(terms), "p%u", (unsigned)key->permits);
    }
    int n = snprintf(kind, sizeof(kind), "%llx-%c%lld%s-",
                     (unsigned long long)hf_zk_id_of(key->session),
                     key->mode == HF_SHARED ? 's' : 'x', (long long)key->ttl_s,
                     terms);
    char *out = malloc((size_t)n + 3 * key->owner.len + sizeof(mark));
    if (out != NULL) {
        memcpy(out, kind, (size_t)n);
        char *end = escape(out + n, key->owner);
        memcpy(end, mark, sizeof(mark));
    }
    return out;
}

char *hf_zk_key_join(const char *folder, const char *node)
{
    size_t size = strlen(folder) + strlen(node) + 2;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s/%s", folder, node);
    }
    return out;
}

/* ---- Numbers ------------------------------------------------------------- */

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

bool hf_zk_key_sequence(const char *node, uint32_t *sequence, size_t *len)
{
    size_t end = strlen(node);
    int64_t value = 0;
    int64_t place = 1;
    size_t at = end;
    while (at > 0 && end - at < DIGITS && node[at - 1] >= '0' &&
           node[at - 1] <= '9') {
        value += place * (node[--at] - '0');
        place *= 10;
    }
    if (end - at != DIGITS) {
        return false;
    }
    /* "-lock-0000000001", and after the wrap "-lock--2147483648". */
    bool is_negative =
        at > 1 && node[at - 1] == '-' &&
        (ends_with(node, at - 1, mark) || ends_with(node, at - 1, mark_kazoo));
    at -= is_negative;
    value = is_negative ? -value : value;
    *sequence = (uint32_t)value;
    *len = at;
    return value >= INT32_MIN && value <= INT32_MAX;
}

uint64_t hf_zk_number(int64_t container_czxid, uint32_t sequence)
{
    return (uint64_t)container_czxid + 1 + sequence;
}

/* ---- Reading ------------------------------------------------------------- */

/** The hex digits of a session at the start. @return how many; 0: none. */
static size_t read_session(const char *text, size_t len, uint64_t *id)
{
    size_t n = 0;
    *id = 0;
    while (n < len && n < 16) {
        char byte = text[n];
        int value = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                                 : -1;
        if (value < 0) {
            break;
        }
        *id = *id << 4 | (uint64_t)value;
        n++;
    }
    return n;
}

/** At most eight digits. @return how many. */
static size_t read_number(const char *text, size_t len, int64_t *out)
{
    size_t n = 0;
    *out = 0;
    while (n < len && n < 8 && text[n] >= '0' && text[n] <= '9') {
        *out = 10 * *out + (text[n++] - '0');
    }
    return n;
}

/** "-x30-", "-s30-", "-s30p5-": the mode, the ttl, the terms. @return its
 * length; 0: it is none. */
static size_t read_kind(const char *text, size_t len, struct hf_wire_entry *out)
{
    int64_t ttl_s;
    int64_t permits = 0;
    if (len < 4 || text[0] != '-' || (text[1] != 'x' && text[1] != 's')) {
        return 0;
    }
    size_t n = 2 + read_number(text + 2, len - 2, &ttl_s);
    if (n < len && text[n] == 'p' && text[1] == 's') {
        n += 1 + read_number(text + n + 1, len - n - 1, &permits);
    }
    if (ttl_s == 0 || permits > UINT16_MAX || n == len || text[n] != '-') {
        return 0;
    }
    out->entry.mode = text[1] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    out->permits = (uint16_t)permits;
    out->born_ttl_s = out->ttl_s = ttl_s;
    return n + 1;
}

void hf_zk_key_read(char *copy, struct hf_wire_entry *out)
{
    uint32_t sequence;
    size_t len;
    uint64_t id;
    bool has_sequence = hf_zk_key_sequence(copy, &sequence, &len);
    *out = (struct hf_wire_entry){.entry.mode = HF_EXCLUSIVE};
    out->owner = (struct hf_bytes){copy, strlen(copy)};
    if (!has_sequence || !ends_with(copy, len, mark)) {
        return;
    }
    len -= sizeof(mark) - 1;
    size_t n = read_session(copy, len, &id);
    size_t kind = n == 0 ? 0 : read_kind(copy + n, len - n, out);
    if (kind == 0) {
        return;
    }
    n += kind;
    out->owner = (struct hf_bytes){copy + n, unescape(copy + n, len - n)};
    hf_zk_session_of((int64_t)id, out->entry.owner.session);
    memcpy(out->born, out->entry.owner.session, sizeof(out->born));
    hf_ordered_attempt(out->owner, out->entry.owner.attempt);
}

size_t hf_zk_key_name(char *text)
{
    size_t len = strlen(text);
    bool is_ours = len > 0 && !(text[0] == '%' && text[1] == 's');
    return is_ours ? unescape(text, len) : SIZE_MAX;
}

uint64_t hf_zk_id_of(const uint8_t session[HF_SESSION_ID_LEN])
{
    uint64_t id = 0;
    for (unsigned i = 0; i < 8; i++) {
        id = id << 8 | session[i];
    }
    return id;
}

void hf_zk_session_of(int64_t id, uint8_t out[HF_SESSION_ID_LEN])
{
    memset(out, 0, HF_SESSION_ID_LEN);
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)((uint64_t)id >> (56 - 8 * i));
    }
}
