/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES AND OWNERS AS KEYS
 *
 * Printable ASCII stays as it is, but '/' and '%', which are written as %XX, as
 * every other byte is. So each name has one form, no two names have the same,
 * and `etcdctl get --prefix` shows them. */
#include "store/etcd/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char hex[] = "0123456789ABCDEF";

static void escape(struct hf_etcd_text *text, struct hf_bytes bytes)
{
    const unsigned char *from = bytes.data;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = from[i];
        char escaped[3] = {'%', hex[byte >> 4], hex[byte & 15]};
        bool is_plain = byte > ' ' && byte < 0x7f && byte != '/' && byte != '%';
        if (is_plain) {
            hf_etcd_text_add(text, &byte, 1);
        } else {
            hf_etcd_text_add(text, escaped, sizeof(escaped));
        }
    }
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

void hf_etcd_key_folder(struct hf_etcd_text *text, const char *prefix,
                        struct hf_bytes name)
{
    hf_etcd_text_say(text, prefix);
    escape(text, name);
    hf_etcd_text_say(text, "/");
}

void hf_etcd_key_entry(struct hf_etcd_text *text, const char *prefix,
                       const struct hf_wire_key *key)
{
    char lease[56];
    char terms[8] = "";
    if (key->permits > 0) {
        snprintf(terms, sizeof(terms), "p%u", (unsigned)key->permits);
    }
    snprintf(lease, sizeof(lease), "%llx-%c%lld%s-",
             (unsigned long long)hf_etcd_lease_of(key->session),
             key->mode == HF_SHARED ? 's' : 'x', (long long)key->ttl_s, terms);
    hf_etcd_key_folder(text, prefix, key->name);
    hf_etcd_text_say(text, lease);
    escape(text, key->owner);
}

/* ---- Reading ------------------------------------------------------------- */

/** The hex digits of a lease at the start. @return how many; 0: none. */
static size_t read_lease(const char *text, size_t len, uint64_t *lease)
{
    size_t n = 0;
    *lease = 0;
    while (n < len && n < 16) {
        char byte = text[n];
        int value = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                                 : -1;
        if (value < 0) {
            break;
        }
        *lease = *lease << 4 | (uint64_t)value;
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

void hf_etcd_value_read(char *value, size_t len, struct hf_wire_entry *out)
{
    int64_t ttl_s;
    size_t n = read_number(value, len, &ttl_s);
    if (n == 0 || out->born_ttl_s == 0 || (n < len && value[n] != ' ')) {
        return; /* of another program */
    }
    out->ttl_s = ttl_s;
    if (n < len) {
        out->note = (struct hf_bytes){value + n + 1, len - n - 1};
    }
}

void hf_etcd_key_read(char *rest, size_t len, struct hf_wire_entry *out)
{
    uint64_t lease;
    size_t n = read_lease(rest, len, &lease);
    out->entry.mode = HF_EXCLUSIVE;
    out->ttl_s = 0;
    memset(&out->entry.owner, 0, sizeof(out->entry.owner));
    size_t kind = n == 0 ? 0 : read_kind(rest + n, len - n, out);
    out->owner = (struct hf_bytes){rest, len};
    if (kind == 0) {
        return;
    }
    n += kind;
    out->owner.data = rest + n;
    out->owner.len = unescape(rest + n, len - n);
    hf_etcd_session_of(lease, out->entry.owner.session);
    memcpy(out->born, out->entry.owner.session, sizeof(out->born));
    hf_ordered_attempt(out->owner, out->entry.owner.attempt);
}

bool hf_etcd_key_cut(const char *prefix, char *key, size_t len,
                     struct hf_wire_entry *out)
{
    size_t prefix_len = strlen(prefix);
    if (len < prefix_len || memcmp(key, prefix, prefix_len) != 0) {
        return false;
    }
    char *name = key + prefix_len;
    char *slash = memchr(name, '/', len - prefix_len);
    if (slash == NULL) {
        return false;
    }
    hf_etcd_key_read(slash + 1, len - (size_t)(slash + 1 - key), out);
    out->name = (struct hf_bytes){name, unescape(name, (size_t)(slash - name))};
    return true;
}

uint64_t hf_etcd_lease_of(const uint8_t session[HF_SESSION_ID_LEN])
{
    uint64_t lease = 0;
    for (unsigned i = 0; i < 8; i++) {
        lease = lease << 8 | session[i];
    }
    return lease;
}

void hf_etcd_session_of(uint64_t lease, uint8_t out[HF_SESSION_ID_LEN])
{
    memset(out, 0, HF_SESSION_ID_LEN);
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(lease >> (56 - 8 * i));
    }
}
