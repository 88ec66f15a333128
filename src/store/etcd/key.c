/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES AND OWNERS AS KEYS
 *
 * Printable ASCII stays as it is, but '/' and '%', which are written as %XX, as
 * every other byte is. So each name has one form, no two names have the same,
 * and `etcdctl get --prefix` shows them. */
#include "store/etcd/etcd.h"
#include "store/ordered/wire_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hf_wire_escape escape = {
    '%', "!\"#$&'()*+,-.:;<=>?@[\\]^_`{|}~"};

static const char mark_suffix[] = "#once";

void hf_etcd_key_mark(struct hf_wire_text *text, const char *prefix,
                      struct hf_bytes name)
{
    hf_wire_text_say(text, prefix);
    hf_wire_escape_add(&escape, text, name);
    hf_wire_text_say(text, mark_suffix);
}

void hf_etcd_key_folder(struct hf_wire_text *text, const char *prefix,
                        struct hf_bytes name)
{
    hf_wire_text_say(text, prefix);
    hf_wire_escape_add(&escape, text, name);
    hf_wire_text_say(text, "/");
}

void hf_etcd_key_entry(struct hf_wire_text *text, const char *prefix,
                       const struct hf_wire_key *key)
{
    char lease[24];
    snprintf(lease, sizeof(lease), "%llx",
             (unsigned long long)hf_etcd_lease_of(key->session));
    hf_etcd_key_folder(text, prefix, key->name);
    hf_wire_text_say(text, lease);
    hf_wire_kind_add(text, key);
    hf_wire_escape_add(&escape, text, key->owner);
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

void hf_etcd_key_read(char *rest, size_t len, struct hf_wire_entry *out)
{
    uint64_t lease;
    size_t n = read_lease(rest, len, &lease);
    out->entry.mode = HF_EXCLUSIVE;
    out->ttl_s = 0;
    memset(&out->entry.owner, 0, sizeof(out->entry.owner));
    size_t kind = n == 0 ? 0 : hf_wire_kind_read(rest + n, len - n, out);
    out->owner = (struct hf_bytes){rest, len};
    if (kind == 0) {
        return;
    }
    n += kind;
    out->owner.data = rest + n;
    out->owner.len = hf_wire_escape_read(&escape, rest + n, len - n);
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
    out->name = (struct hf_bytes){
        name, hf_wire_escape_read(&escape, name, (size_t)(slash - name))};
    return true;
}

/* No name has a '/' in a key, so only the folder of a name can have the suffix
 * before one. */
bool hf_etcd_key_cut_mark(const char *prefix, char *key, size_t len,
                          struct hf_wire_entry *out)
{
    size_t prefix_len = strlen(prefix);
    size_t suffix_len = sizeof(mark_suffix) - 1;
    if (len <= prefix_len + suffix_len ||
        memcmp(key, prefix, prefix_len) != 0 ||
        memcmp(key + len - suffix_len, mark_suffix, suffix_len) != 0 ||
        memchr(key + prefix_len, '/', len - prefix_len) != NULL) {
        return false;
    }
    char *name = key + prefix_len;
    size_t name_len = len - prefix_len - suffix_len;
    out->name =
        (struct hf_bytes){name, hf_wire_escape_read(&escape, name, name_len)};
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
