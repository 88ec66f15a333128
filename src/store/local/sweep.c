/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection. Each 64th write (execute.c) also examines the next 64
 * records. It removes names that are idle, and the entries of a name if all
 * have expired. So a million waits leave only a counter, for fence_keep.
 *
 * Cost: one transaction of 64 records, which is committed only if something was
 * removed. The expired entries of a name go all at once: a walk over them. In a
 * full file that cannot grow, a request examines up to 4,096 records each time
 * that it needs room. No system call. */
#include "base/assert.h"
#include "store/local/txn.h"

#include <string.h>

/* Making room: records in one transaction, and transactions in one call of
 * hf_table_make_room(), some 0.5 ms. The next call continues there. */
#define ROOM_RECORDS 64
#define ROOM_STEPS 64

struct sweep {
    struct hf_table *table;
    struct hf_span keep;
    const struct hf_clock_sample *now;
    bool has_removed;
    bool has_litter; /* the name at page->sweep_key has expired entries */
};

static int sweep_one(struct sweep *sweep, MDB_cursor *cursor,
                     const MDB_val *value)
{
    struct hf_record record;
    struct hf_gate_page *page = sweep->table->gate->page;
    if (hf_record_parse(value->mv_data, value->mv_size, &record) == 0) {
        return MDB_CORRUPTED;
    }
    if (hf_record_has_litter(&record, sweep->now)) {
        sweep->has_litter = true;
        return 0;
    }
    if (!hf_record_is_idle(&record, sweep->keep, sweep->now)) {
        return 0;
    }
    /* Before the removal, so that no grant comes below its counter, even if the
     * wall clock, and so the floor, is set back. */
    if (page->floor_least <= record.counter) {
        page->floor_least = record.counter + 1;
    }
    sweep->has_removed = true;
    return mdb_cursor_del(cursor, 0);
}

/* Drop the entries of the name at sweep_key, and write its record without them.
 * The text after the record (names.c) stays. */
static int drop_litter(struct sweep *sweep)
{
    const struct hf_gate_page *page = sweep->table->gate->page;
    unsigned char bytes[HF_GATE_KEY_MAX];
    unsigned char data[HF_RECORD_BYTES_MAX + HF_TABLE_TEXT_MAX];
    struct hf_txn txn = {.table = sweep->table, .now = sweep->now};
    MDB_val key = {page->sweep_len, bytes};
    MDB_val value;
    memcpy(bytes, page->sweep_key, page->sweep_len);
    int number =
        mdb_get(sweep->table->mdb_txn, sweep->table->names, &key, &value);
    if (number != 0) {
        return number;
    }
    size_t used = hf_record_parse(value.mv_data, value.mv_size, &txn.record);
    HF_ASSERT(used > 0 && value.mv_size - used <= HF_TABLE_TEXT_MAX);
    size_t text_len = value.mv_size - used;
    unsigned char text[HF_TABLE_TEXT_MAX];
    memcpy(text, (const unsigned char *)value.mv_data + used, text_len);
    hf_entries_drop_all(&txn); /* invalidates value.mv_data */
    value = (MDB_val){hf_record_emit(&txn.record, data), data};
    memcpy(data + value.mv_size, text, text_len);
    value.mv_size += text_len;
    sweep->has_litter = false;
    sweep->has_removed = true;
    return txn.number != 0 ? txn.number
                           : mdb_put(sweep->table->mdb_txn, sweep->table->names,
                                     &key, &value, 0);
}

/* Sweep at most *most records after sweep_key; stop at expired entries. */
static int sweep_some(struct sweep *sweep, unsigned *most)
{
    struct hf_gate_page *page = sweep->table->gate->page;
    MDB_cursor *cursor;
    MDB_val key, value;
    size_t at_len = page->sweep_len > HF_GATE_KEY_MAX ? 0 : page->sweep_len;
    int number =
        mdb_cursor_open(sweep->table->mdb_txn, sweep->table->names, &cursor);
    if (number != 0) {
        return number;
    }
    number = hf_table_seek(cursor, page->sweep_key, at_len, &key, &value);
    for (; number == 0 && *most > 0 && !sweep->has_litter; (*most)--) {
        page->sweep_len = 0;
        memcpy(page->sweep_key, key.mv_data, key.mv_size);
        page->sweep_len = (uint32_t)key.mv_size;
        number = sweep_one(sweep, cursor, &value);
        if (number == 0 && !sweep->has_litter) {
            number = hf_table_next(cursor, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
    return number;
}

static int sweep(struct hf_table *table, unsigned most, struct hf_span keep,
                 const struct hf_clock_sample *now, bool *has_removed)
{
    struct hf_gate_page *page = table->gate->page;
    struct sweep sweep = {.table = table, .keep = keep, .now = now};
    int number = hf_table_begin(table);
    while (number == 0 && most > 0) {
        number = sweep_some(&sweep, &most);
        if (number == 0 && sweep.has_litter) {
            number = drop_litter(&sweep);
        }
    }
    if (number == MDB_NOTFOUND) {
        page->sweep_len = 0; /* begin anew: the first may be over */
        number = 0;
    }
    *has_removed = number == 0 && sweep.has_removed;
    if (*has_removed) {
        number = hf_table_commit(table);
        *has_removed = number == 0;
        return number;
    }
    hf_table_abort(table);
    return number;
}

int hf_table_sweep(struct hf_table *table, unsigned most, struct hf_span keep,
                   const struct hf_clock_sample *now)
{
    bool has_removed;
    return sweep(table, most, keep, now, &has_removed);
}

/* A removal needs new pages, too: in a file that is almost full, sweep fewer
 * records in one transaction. */
bool hf_table_make_room(struct hf_table *table,
                        const struct hf_clock_sample *now)
{
    unsigned most = ROOM_RECORDS;
    for (unsigned i = 0; i < ROOM_STEPS && most > 0; i++) {
        bool has_removed;
        int number = sweep(table, most, (struct hf_span){0}, now, &has_removed);
        if (has_removed) {
            return true;
        }
        if (number == HF_TABLE_FULL) {
            most /= 8;
        } else if (number != 0) {
            return false;
        }
    }
    return false;
}
