/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in the table.
 *
 * Cost, in lookups of LMDB, each O(log n) of all keys, without a system call: a
 * sharer is found with one, put with two and dropped with one; a waiter takes
 * twice as many, since its ticket is stored apart. The head of the queue is
 * one, and one more waiter dropped for each that has expired. To count the
 * waiters before one walks over them, up to HF_ENTRIES_MANY live ones. */
#include "store/local/txn.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>

/* Two owners with the same first 32 bytes have the same key. A Holdfast client
 * made at most one of them. */
#define NUMBER_ALIKE EEXIST

/* Queues up to this length are counted at each request: 2 us. */
#define COUNTED_MAX 32

static void fail(struct hf_txn *txn, int number)
{
    if (txn->number == 0) {
        txn->number = number;
    }
}

/* A queue gets its number with its first entry. Numbers are not reused, so that
 * a queue never gets leftover entries of another. */
static uint64_t queue_of(struct hf_txn *txn)
{
    if (txn->record.queue_id == 0) {
        txn->record.queue_id = ++txn->table->gate->page->queue_last;
    }
    return txn->record.queue_id;
}

/* ---- One entry --------------------------------------------------------- */

static bool get(struct hf_txn *txn, enum hf_entry_kind kind, uint64_t ticket,
                const void *owner, size_t owner_len, MDB_val *value)
{
    unsigned char bytes[HF_ENTRY_KEY_LEN];
    MDB_val key = {sizeof(bytes), bytes};
    if (txn->number != 0) {
        return false;
    }
    hf_entry_key(bytes, txn->record.queue_id, kind, ticket, owner, owner_len);
    int number = mdb_get(txn->table->mdb_txn, txn->table->names, &key, value);
    if (number != 0 && number != MDB_NOTFOUND) {
        fail(txn, number);
    }
    return number == 0;
}

static bool parse(struct hf_txn *txn, const MDB_val *value,
                  struct hf_local_entry *out)
{
    if (!hf_entry_parse(value->mv_data, value->mv_size, out)) {
        fail(txn, MDB_CORRUPTED);
        return false;
    }
    return true;
}

static bool get_entry(struct hf_txn *txn, enum hf_entry_kind kind,
                      uint64_t ticket, const void *owner, size_t owner_len,
                      struct hf_local_entry *out)
{
    MDB_val value;
    if (!get(txn, kind, ticket, owner, owner_len, &value) ||
        !parse(txn, &value, out)) {
        return false;
    }
    if (out->owner_len != owner_len ||
        memcmp(out->owner, owner, owner_len) != 0) {
        fail(txn, NUMBER_ALIKE);
        return false;
    }
    return true;
}

/** An entry that is there already is replaced: its asker repeats a request.
 * @return true: it is new, and counts. */
static bool put(struct hf_txn *txn, enum hf_entry_kind kind, uint64_t ticket,
                const struct hf_local_entry *one, void *data, size_t len)
{
    unsigned char bytes[HF_ENTRY_KEY_LEN];
    MDB_val key = {sizeof(bytes), bytes};
    MDB_val value;
    uint64_t queue_id = queue_of(txn);
    bool is_new = !get(txn, kind, ticket, one->owner, one->owner_len, &value);
    if (txn->number != 0) {
        return false;
    }
    hf_entry_key(bytes, queue_id, kind, ticket, one->owner, one->owner_len);
    value = (MDB_val){len, data};
    int number =
        mdb_put(txn->table->mdb_txn, txn->table->names, &key, &value, 0);
    if (number != 0) {
        fail(txn, number);
    }
    txn->is_changed = true;
    return is_new && number == 0;
}

static void drop(struct hf_txn *txn, enum hf_entry_kind kind, uint64_t ticket,
                 const struct hf_local_entry *one)
{
    unsigned char bytes[HF_ENTRY_KEY_LEN];
    MDB_val key = {sizeof(bytes), bytes};
    if (txn->number != 0) {
        return;
    }
    hf_entry_key(bytes, txn->record.queue_id, kind, ticket, one->owner,
                 one->owner_len);
    int number = mdb_del(txn->table->mdb_txn, txn->table->names, &key, NULL);
    if (number != 0) {
        fail(txn, number == MDB_NOTFOUND ? MDB_CORRUPTED : number);
    }
    txn->is_changed = true;
}

/* ---- Sharers ----------------------------------------------------------- */

bool hf_entries_find_sharer(struct hf_txn *txn, const void *owner,
                            size_t owner_len, struct hf_local_entry *out)
{
    return txn->record.n_sharers > 0 &&
           get_entry(txn, HF_ENTRY_SHARER, 0, owner, owner_len, out);
}

static void put_entry(struct hf_txn *txn, enum hf_entry_kind kind,
                      const struct hf_local_entry *one, uint32_t *count)
{
    unsigned char data[HF_ENTRY_BYTES_MAX];
    size_t len = hf_entry_emit(one, data);
    struct hf_record *record = &txn->record;
    if (put(txn, kind, one->ticket, one, data, len)) {
        (*count)++;
    }
    record->entries_until = hf_instant_max(record->entries_until, one->until);
}

void hf_entries_put_sharer(struct hf_txn *txn, const struct hf_local_entry *one)
{
    HF_ASSERT(one->ticket == 0);
    put_entry(txn, HF_ENTRY_SHARER, one, &txn->record.n_sharers);
}

void hf_entries_drop_sharer(struct hf_txn *txn,
                            const struct hf_local_entry *one)
{
    drop(txn, HF_ENTRY_SHARER, 0, one);
    txn->record.n_sharers--;
}

/* ---- Waiters ----------------------------------------------------------- */

bool hf_entries_find_waiter(struct hf_txn *txn, const void *owner,
                            size_t owner_len, struct hf_local_entry *out)
{
    MDB_val value;
    uint64_t ticket;
    if (txn->record.n_waiters == 0 ||
        !get(txn, HF_ENTRY_INDEX, 0, owner, owner_len, &value)) {
        return false;
    }
    if (value.mv_size != sizeof(ticket)) {
        fail(txn, MDB_CORRUPTED);
        return false;
    }
    memcpy(&ticket, value.mv_data, sizeof(ticket));
    bool is_there =
        get_entry(txn, HF_ENTRY_WAITER, ticket, owner, owner_len, out);
    if (!is_there) {
        fail(txn, MDB_CORRUPTED); /* an index without its waiter */
    }
    return is_there;
}

void hf_entries_put_waiter(struct hf_txn *txn, const struct hf_local_entry *one)
{
    uint64_t ticket = one->ticket;
    put_entry(txn, HF_ENTRY_WAITER, one, &txn->record.n_waiters);
    put(txn, HF_ENTRY_INDEX, 0, one, &ticket, sizeof(ticket));
}

void hf_entries_drop_waiter(struct hf_txn *txn,
                            const struct hf_local_entry *one)
{
    drop(txn, HF_ENTRY_WAITER, one->ticket, one);
    drop(txn, HF_ENTRY_INDEX, 0, one);
    txn->record.n_waiters--;
}

/* ---- All entries of a kind --------------------------------------------- */

/* A key begins with its tag, its queue and its kind (entry.c). */
static bool is_of(const MDB_val *key, const unsigned char first[])
{
    return key->mv_size == HF_ENTRY_KEY_LEN &&
           memcmp(key->mv_data, first, 1 + 8 + 1) == 0;
}

/* `each` NULL: drop the entry, unparsed, so that a damaged one goes, too. */
static enum hf_scan_step visit_entry(struct hf_txn *txn, const MDB_val *value,
                                     hf_entries_fn *each, void *user)
{
    struct hf_local_entry one;
    if (each == NULL) {
        return HF_SCAN_DROP;
    }
    return parse(txn, value, &one) ? each(user, &one) : HF_SCAN_STOP;
}

static int drop_entry(struct hf_txn *txn, MDB_cursor *cursor,
                      enum hf_entry_kind kind)
{
    int number = mdb_cursor_del(cursor, 0);
    txn->record.n_sharers -= kind == HF_ENTRY_SHARER ? 1 : 0;
    txn->is_changed = true;
    return number;
}

static void walk(struct hf_txn *txn, enum hf_entry_kind kind,
                 hf_entries_fn *each, void *user)
{
    unsigned char first[HF_ENTRY_KEY_LEN], bytes[HF_ENTRY_KEY_LEN];
    MDB_cursor *cursor;
    MDB_val key = {sizeof(bytes), bytes};
    MDB_val value;
    hf_entry_key(first, txn->record.queue_id, kind, 0, NULL, 0);
    memcpy(bytes, first, sizeof(bytes));
    int number =
        mdb_cursor_open(txn->table->mdb_txn, txn->table->names, &cursor);
    if (number != 0) {
        fail(txn, number);
        return;
    }
    number = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    enum hf_scan_step step = HF_SCAN_ON;
    while (number == 0 && step != HF_SCAN_STOP && is_of(&key, first)) {
        step = visit_entry(txn, &value, each, user);
        if (step == HF_SCAN_DROP) {
            number = drop_entry(txn, cursor, kind);
        }
        if (number == 0 && step != HF_SCAN_STOP) {
            number = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    if (number != 0 && number != MDB_NOTFOUND) {
        fail(txn, number);
    }
}

void hf_entries_each(struct hf_txn *txn, enum hf_entry_kind kind,
                     hf_entries_fn *each, void *user)
{
    if (txn->number == 0 && txn->record.queue_id != 0) {
        walk(txn, kind, each, user);
    }
}

void hf_entries_drop_sharers(struct hf_txn *txn)
{
    hf_entries_each(txn, HF_ENTRY_SHARER, NULL, NULL);
    HF_ASSERT(txn->number != 0 || txn->record.n_sharers == 0);
}

void hf_entries_drop_all(struct hf_txn *txn)
{
    hf_entries_drop_sharers(txn);
    hf_entries_each(txn, HF_ENTRY_WAITER, NULL, NULL);
    hf_entries_each(txn, HF_ENTRY_INDEX, NULL, NULL);
    txn->record.n_waiters = 0;
}

/* ---- The head, and the order ------------------------------------------- */

static enum hf_scan_step take_first(void *user,
                                    const struct hf_local_entry *one)
{
    struct hf_local_entry *out = user;
    *out = *one;
    return HF_SCAN_STOP;
}

bool hf_entries_head(struct hf_txn *txn, struct hf_local_entry *out)
{
    while (txn->record.n_waiters > 0 && txn->number == 0) {
        out->owner_len = 0;
        /* Rule: queue-order-reversed. */
        hf_entries_each(txn, HF_ENTRY_WAITER, take_first, out);
        if (txn->number == 0 && out->owner_len == 0) {
            fail(txn, MDB_CORRUPTED); /* fewer entries than n_waiters */
        }
        /* Rule: dead-waiter-not-skipped. */
        if (txn->number != 0 ||
            hf_instant_before(txn->now->instant, out->until)) {
            break;
        }
        hf_entries_drop_waiter(txn, out);
    }
    return txn->record.n_waiters > 0 && txn->number == 0;
}

struct count {
    const struct hf_local_entry *one;
    struct hf_instant now;
    uint32_t n_ahead;
};

static enum hf_scan_step count_one(void *user, const struct hf_local_entry *one)
{
    struct count *count = user;
    bool is_it = one->ticket == count->one->ticket &&
                 one->owner_len == count->one->owner_len &&
                 memcmp(one->owner, count->one->owner, one->owner_len) == 0;
    if (is_it || count->n_ahead == HF_ENTRIES_MANY) {
        return HF_SCAN_STOP;
    }
    count->n_ahead += hf_instant_before(count->now, one->until) ? 1 : 0;
    return HF_SCAN_ON;
}

/* Two steps of a cursor instead of a count: the usual asker in a long queue is
 * the one that has just joined at its end. */
static bool is_last(const struct hf_txn *txn, const struct hf_local_entry *one)
{
    unsigned char first[HF_ENTRY_KEY_LEN], bytes[HF_ENTRY_KEY_LEN];
    MDB_cursor *cursor;
    MDB_val key = {sizeof(bytes), bytes};
    MDB_val value;
    uint64_t queue_id = txn->record.queue_id;
    hf_entry_key(first, queue_id, HF_ENTRY_WAITER, 0, NULL, 0);
    hf_entry_key(bytes, queue_id, HF_ENTRY_WAITER, one->ticket, one->owner,
                 one->owner_len);
    int number =
        mdb_cursor_open(txn->table->mdb_txn, txn->table->names, &cursor);
    if (number != 0) {
        return false;
    }
    number = mdb_cursor_get(cursor, &key, &value, MDB_SET);
    if (number == 0) {
        number = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return number == MDB_NOTFOUND || (number == 0 && !is_of(&key, first));
}

uint32_t hf_entries_ahead(struct hf_txn *txn, const struct hf_local_entry *one)
{
    /* For the last of a long queue, do not count: the result may include
     * expired waiters. */
    if (txn->record.n_waiters > COUNTED_MAX && is_last(txn, one)) {
        return txn->record.n_waiters - 1;
    }
    struct count count = {one, txn->now->instant, 0};
    hf_entries_each(txn, HF_ENTRY_WAITER, count_one, &count);
    return count.n_ahead;
}
