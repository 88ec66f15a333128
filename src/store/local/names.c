/* SPDX-License-Identifier: Apache-2.0 */
/* Names as LMDB keys.
 *
 * LMDB keys have at most 511 bytes, names with their prefix up to 1,280. A
 * short text is the key. For a longer one the key is its beginning and a
 * digest, and the whole text follows the record. It is compared, so that two
 * names with one digest are an error and never one lock. */
#include "base/assert.h"
#include "store/local/entry.h"
#include "store/local/table.h"

#include <errno.h>
#include <string.h>

#define TAG_WHOLE 'n'
#define TAG_CUT 'x' /* below HF_ENTRY_TAG: entries follow all names */

/* How many bytes of a long text are in the key, before 16 bytes of digest. */
#define CUT_LEN 256

/* ---- Keys -------------------------------------------------------------- */

static uint64_t mix(uint64_t state, const unsigned char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        state = (state ^ data[i]) * UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 29;
    }
    return state;
}

/* Copy the first @p len bytes of the prefix and the name together. */
static void copy_text(unsigned char *out, const struct hf_table_key *key,
                      size_t len)
{
    size_t of_prefix = key->prefix_len < len ? key->prefix_len : len;
    memcpy(out, key->prefix, of_prefix);
    memcpy(out + of_prefix, key->name, len - of_prefix);
}

void hf_table_key_init(struct hf_table_key *key, const char *prefix,
                       const void *name, size_t name_len)
{
    key->prefix = prefix;
    key->prefix_len = strlen(prefix);
    key->name = name;
    key->name_len = name_len;
    size_t len = key->prefix_len + name_len;
    key->is_cut = len > HF_GATE_KEY_MAX - 1;
    key->bytes[0] = key->is_cut ? TAG_CUT : TAG_WHOLE;
    if (!key->is_cut) {
        copy_text(key->bytes + 1, key, len);
        key->len = 1 + len;
        return;
    }
    copy_text(key->bytes + 1, key, CUT_LEN);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t digest =
            mix(half + 1, (const unsigned char *)prefix, key->prefix_len);
        digest = mix(digest, name, name_len);
        memcpy(key->bytes + 1 + CUT_LEN + 8 * half, &digest, sizeof(digest));
    }
    key->len = 1 + CUT_LEN + 16;
    HF_ASSERT(key->len <= sizeof(key->bytes));
}

/* The key of a long name has a digest of it, which another name may have. */
static bool is_text_of(const unsigned char *text, size_t len,
                       const struct hf_table_key *key)
{
    return len == key->prefix_len + key->name_len &&
           memcmp(text, key->prefix, key->prefix_len) == 0 &&
           memcmp(text + key->prefix_len, key->name, key->name_len) == 0;
}

int hf_table_get(struct hf_table *table, const struct hf_table_key *key,
                 struct hf_record *out)
{
    unsigned char bytes[HF_GATE_KEY_MAX];
    memcpy(bytes, key->bytes, key->len);
    MDB_val at = {key->len, bytes};
    MDB_val value;
    int number = mdb_get(table->mdb_txn, table->names, &at, &value);
    if (number != 0) {
        return number;
    }
    const unsigned char *data = value.mv_data;
    size_t used = hf_record_parse(data, value.mv_size, out);
    if (used == 0) {
        return MDB_CORRUPTED;
    }
    if (key->is_cut && !is_text_of(data + used, value.mv_size - used, key)) {
        return MDB_KEYEXIST; /* another name with this digest */
    }
    return 0;
}

int hf_table_put(struct hf_table *table, const struct hf_table_key *key,
                 const struct hf_record *record)
{
    unsigned char bytes[HF_GATE_KEY_MAX];
    unsigned char data[HF_RECORD_BYTES_MAX + HF_TABLE_TEXT_MAX];
    memcpy(bytes, key->bytes, key->len);
    MDB_val at = {key->len, bytes};
    MDB_val value = {hf_record_emit(record, data), data};
    if (key->is_cut) {
        size_t len = key->prefix_len + key->name_len;
        HF_ASSERT(value.mv_size + len <= sizeof(data));
        copy_text(data + value.mv_size, key, len);
        value.mv_size += len;
    }
    return mdb_put(table->mdb_txn, table->names, &at, &value, 0);
}

/* ---- Walks ------------------------------------------------------------- */

/** @return 0: the key of a name; MDB_NOTFOUND: of an entry, so no more names
 * follow. */
static int number_of(const MDB_val *key)
{
    if (key->mv_size < 1 || key->mv_size > HF_GATE_KEY_MAX) {
        return MDB_CORRUPTED;
    }
    const unsigned char *bytes = key->mv_data;
    return bytes[0] == HF_ENTRY_TAG ? MDB_NOTFOUND : 0;
}

int hf_table_seek(MDB_cursor *cursor, const unsigned char *at, size_t at_len,
                  MDB_val *key, MDB_val *value)
{
    unsigned char bytes[HF_GATE_KEY_MAX];
    if (at_len == 0) {
        int first = mdb_cursor_get(cursor, key, value, MDB_FIRST);
        return first == 0 ? number_of(key) : first;
    }
    memcpy(bytes, at, at_len);
    *key = (MDB_val){at_len, bytes};
    int number = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    if (number == 0 && key->mv_size == at_len &&
        memcmp(key->mv_data, at, at_len) == 0) {
        number = mdb_cursor_get(cursor, key, value, MDB_NEXT);
    }
    return number == 0 ? number_of(key) : number;
}

int hf_table_next(MDB_cursor *cursor, MDB_val *key, MDB_val *value)
{
    int number = mdb_cursor_get(cursor, key, value, MDB_NEXT);
    return number == 0 ? number_of(key) : number;
}

/* The name of a long key is behind the record, so the record is parsed before
 * the prefix can be compared. */
static int tell(const struct hf_table_walk *walk, const MDB_val *key,
                const MDB_val *value, hf_table_each_fn *each, void *user,
                bool *goes_on)
{
    struct hf_record record;
    const unsigned char *text = (const unsigned char *)key->mv_data + 1;
    size_t len = key->mv_size - 1;
    size_t used = hf_record_parse(value->mv_data, value->mv_size, &record);
    if (used == 0) {
        return MDB_CORRUPTED;
    }
    if (((const unsigned char *)key->mv_data)[0] == TAG_CUT) {
        text = (const unsigned char *)value->mv_data + used;
        len = value->mv_size - used;
    }
    if (len >= walk->prefix_len &&
        memcmp(text, walk->prefix, walk->prefix_len) == 0) {
        *goes_on = each(user, text + walk->prefix_len, len - walk->prefix_len,
                        &record);
    }
    return 0;
}

int hf_table_walk(struct hf_table *table, struct hf_table_walk *walk,
                  unsigned most, hf_table_each_fn *each, void *user)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    bool goes_on = true;
    int number = mdb_cursor_open(table->mdb_txn, table->names, &cursor);
    if (number != 0) {
        return number;
    }
    number = hf_table_seek(cursor, walk->at, walk->at_len, &key, &value);
    for (; number == 0 && goes_on && most > 0; most--) {
        memcpy(walk->at, key.mv_data, key.mv_size);
        walk->at_len = key.mv_size;
        number = tell(walk, &key, &value, each, user, &goes_on);
        if (number == 0) {
            number = hf_table_next(cursor, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
    walk->is_over = number != 0 || !goes_on;
    return number == MDB_NOTFOUND ? 0 : number;
}
