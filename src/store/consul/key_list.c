/* SPDX-License-Identifier: Apache-2.0 */
/* LISTS OF KEYS AS ENTRIES
 *
 * A key that no session has locked is no entry: its session has ended, or it is
 * no lock. One of another program is as new as its last change: `consul lock`
 * keeps its key, and locks it again.
 *
 * Cost: one pass over the keys of a reply, into memory that is kept for the
 * next one: more than four times the largest body. */
#include "store/consul/consul.h"
#include "store/ordered/wire_key.h"

#include "base/assert.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key of `consul lock`, below its folder. */
#define LOCK_KEY ".lock"

/* Of an entry in the arena: its id begins with its session; the text of an
 * owner that is another program. */
#define ENTRY_ROOM 128

/* ---- JSON ---------------------------------------------------------------- */

/* The flags of a key have 64 bits, as those of `consul lock -n` do, and a
 * number above 63 would make the whole reply unreadable. Indexes are exact as
 * reals, up to HF_FENCE_MAX. */
struct json_t *hf_consul_json(const struct hf_http_reply *http)
{
    return json_loadb(
        http->body, http->body_len,
        JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
}

uint64_t hf_consul_number(const struct json_t *object, const char *name)
{
    double number = json_number_value(json_object_get(object, name));
    bool is_fence = number >= 0 && number <= (double)HF_FENCE_MAX;
    uint64_t whole = is_fence ? (uint64_t)number : 0;
    return (double)whole == number ? whole : 0;
}

void hf_consul_list_fini(struct hf_consul_list *list)
{
    free(list->entries);
    free(list->arena);
}

bool hf_consul_list_begin(struct hf_consul_list *list, size_t n,
                          size_t body_len)
{
    size_t bytes = 4 * body_len + n * ENTRY_ROOM + 1;
    list->n = list->arena_len = 0;
    if (bytes > list->arena_cap) {
        char *arena = realloc(list->arena, bytes);
        if (arena == NULL) {
            return false;
        }
        list->arena = arena;
        list->arena_cap = bytes;
    }
    if (n + 1 > list->entries_cap) {
        struct hf_wire_entry *entries =
            realloc(list->entries, (n + 1) * sizeof(*entries));
        if (entries == NULL) {
            return false;
        }
        list->entries = entries;
        list->entries_cap = n + 1;
    }
    return true;
}

/* ---- One key ------------------------------------------------------------- */

static bool read_session(const json_t *kv, uint8_t out[HF_SESSION_ID_LEN])
{
    const json_t *session = json_object_get(kv, "Session");
    return json_string_length(session) == HF_CONSUL_SESSION_LEN &&
           hf_consul_session_read(json_string_value(session), out);
}

bool hf_consul_state_read(const struct json_t *kv, char *room,
                          struct hf_wire_entry *out)
{
    const json_t *value = json_object_get(kv, "Value");
    if (!read_session(kv, out->entry.owner.session)) {
        return false;
    }
    if (json_is_string(value)) {
        size_t len = hf_wire_base64_read(json_string_value(value),
                                         json_string_length(value), room);
        if (len != SIZE_MAX) {
            hf_wire_value_read(room, len, out);
        }
    }
    return true;
}

/** A copy in the arena, which list_begin() has made large enough. */
static char *keep(struct hf_consul_list *list, const void *bytes, size_t len)
{
    char *at = list->arena + list->arena_len;
    HF_ASSERT(len <= list->arena_cap - list->arena_len);
    memcpy(at, bytes, len);
    list->arena_len += len;
    return at;
}

/* The text shown for an entry of another program. */
static void name_foreign(struct hf_consul_list *list, const char *session,
                         struct hf_wire_entry *entry)
{
    if (hf_ordered_is_text(entry->owner, LOCK_KEY, sizeof(LOCK_KEY) - 1)) {
        char text[ENTRY_ROOM - HF_CONSUL_SESSION_LEN];
        int len = snprintf(text, sizeof(text), "consul-lock:%s", session);
        entry->owner =
            (struct hf_bytes){keep(list, text, (size_t)len), (size_t)len};
    }
}

static void take(struct hf_consul_list *list, const json_t *kv,
                 struct hf_bytes name, struct hf_bytes rest,
                 struct hf_wire_entry *out)
{
    const char *session = json_string_value(json_object_get(kv, "Session"));
    size_t value_len = json_string_length(json_object_get(kv, "Value"));
    out->id.data = keep(list, session, HF_CONSUL_SESSION_LEN);
    keep(list, rest.data, rest.len);
    out->id.len = HF_CONSUL_SESSION_LEN + rest.len;
    out->name = name;
    hf_consul_key_read(keep(list, rest.data, rest.len), rest.len, out);
    bool is_ours = out->born_ttl_s > 0;
    out->version = hf_consul_number(kv, "ModifyIndex");
    out->entry.number =
        is_ours ? hf_consul_number(kv, "CreateIndex") : out->version;
    (void)hf_consul_state_read(kv, list->arena + list->arena_len, out);
    list->arena_len += value_len;
    if (!is_ours) {
        name_foreign(list, session, out);
    }
}

bool hf_consul_list_add(struct hf_consul_list *list, const char *prefix,
                        const struct json_t *kv)
{
    const json_t *text = json_object_get(kv, "Key");
    const char *key = json_string_value(text);
    size_t prefix_len = strlen(prefix);
    size_t len = json_string_length(text);
    struct hf_wire_entry *out = &list->entries[list->n];
    *out = (struct hf_wire_entry){0};
    if (key == NULL || len < prefix_len ||
        memcmp(key, prefix, prefix_len) != 0) {
        return false;
    }
    const char *name = key + prefix_len;
    const char *slash = memchr(name, '/', len - prefix_len);
    if (slash == NULL || !read_session(kv, out->entry.owner.session)) {
        return true; /* no entry */
    }
    size_t before = (size_t)(slash + 1 - key);
    char *copy = keep(list, name, (size_t)(slash - name));
    size_t copy_len = hf_consul_name_read(copy, (size_t)(slash - name));
    if (copy_len == SIZE_MAX) {
        return true; /* no name of Holdfast's has it */
    }
    take(list, kv, (struct hf_bytes){copy, copy_len},
         (struct hf_bytes){slash + 1, len - before}, out);
    list->n++;
    return out->entry.number != 0 && out->version != 0;
}

bool hf_consul_list_read(struct hf_consul_list *list, const char *prefix,
                         const struct json_t *array, size_t from,
                         bool is_wrapped, size_t body_len)
{
    size_t n = json_array_size(array);
    if (!hf_consul_list_begin(list, n, body_len)) {
        return false;
    }
    for (size_t i = from; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        const json_t *kv = is_wrapped ? json_object_get(item, "KV") : item;
        if (!hf_consul_list_add(list, prefix, kv)) {
            return false;
        }
    }
    return true;
}

/* ---- Names --------------------------------------------------------------- */

/** @return the length of its name, as it is escaped; 0: none is asked for. */
static size_t name_len(const char *key, size_t len, bool marks_only)
{
    size_t mark = hf_consul_mark_name(key, len);
    bool is_folder = len > 1 && key[len - 1] == '/';
    return mark > 0 ? mark : is_folder && !marks_only ? len - 1 : 0;
}

bool hf_consul_list_names(struct hf_consul_list *list, const char *prefix,
                          const struct json_t *keys, bool marks_only,
                          size_t body_len)
{
    size_t prefix_len = strlen(prefix);
    size_t n = json_array_size(keys);
    if (!hf_consul_list_begin(list, n, body_len)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *text = json_array_get(keys, i);
        const char *key = json_string_value(text);
        size_t len = json_string_length(text);
        bool is_below =
            len > prefix_len && memcmp(key, prefix, prefix_len) == 0;
        len = is_below
                  ? name_len(key + prefix_len, len - prefix_len, marks_only)
                  : 0;
        if (len > 0) {
            char *name = keep(list, key + prefix_len, len);
            len = hf_consul_name_read(name, len);
            list->entries[list->n] =
                (struct hf_wire_entry){.name = {name, len}};
            list->n += len != SIZE_MAX;
        }
    }
    return true;
}
