/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES AND OWNERS AS KEYS
 *
 * Printable ASCII stays as it is, but '/' and '%', which are written as %XX, as
 * every other byte is. So each name has one form, no two names have the same,
 * and `etcdctl get --prefix` shows them. */
#include "store/etcd/etcd.h"
#include "store/ordered/wire_key.h"

#include <string.h>

static const char mark_suffix[] = "#once";
static const char value_suffix[] = "#value";

static void say_beside(struct hf_wire_text *text, const char *prefix,
                       struct hf_bytes name, const char *suffix)
{
    hf_wire_text_say(text, prefix);
    hf_wire_escape_add(&hf_wire_escape_printable, text, name);
    hf_wire_text_say(text, suffix);
}

void hf_etcd_key_mark(struct hf_wire_text *text, const char *prefix,
                      struct hf_bytes name)
{
    say_beside(text, prefix, name, mark_suffix);
}

void hf_etcd_key_value(struct hf_wire_text *text, const char *prefix,
                       struct hf_bytes name)
{
    say_beside(text, prefix, name, value_suffix);
}

void hf_etcd_key_folder(struct hf_wire_text *text, const char *prefix,
                        struct hf_bytes name)
{
    say_beside(text, prefix, name, "/");
}

void hf_etcd_key_entry(struct hf_wire_text *text, const char *prefix,
                       const struct hf_wire_key *key)
{
    hf_etcd_key_folder(text, prefix, key->name);
    hf_wire_id_add(text, key->session);
    hf_wire_key_add(&hf_wire_escape_printable, text, key);
}

/* ---- Reading ------------------------------------------------------------- */

void hf_etcd_key_read(char *rest, size_t len, struct hf_wire_entry *out)
{
    uint8_t session[HF_SESSION_ID_LEN];
    size_t n = hf_wire_id_read(rest, len, session);
    hf_wire_key_foreign(rest, len, out);
    if (n > 0) {
        (void)hf_wire_key_read(&hf_wire_escape_printable, rest + n, len - n,
                               session, out);
    }
}

static bool read_name(char *name, size_t len, struct hf_wire_entry *out)
{
    size_t read = hf_wire_escape_read(&hf_wire_escape_printable, name, len);
    out->name = (struct hf_bytes){name, read == SIZE_MAX ? 0 : read};
    return read != SIZE_MAX;
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
    if (slash == NULL || !read_name(name, (size_t)(slash - name), out)) {
        return false;
    }
    hf_etcd_key_read(slash + 1, len - (size_t)(slash + 1 - key), out);
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
    return read_name(key + prefix_len, len - prefix_len - suffix_len, out);
}
