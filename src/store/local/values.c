/* SPDX-License-Identifier: Apache-2.0 */
/* GET and PUT. The rules are those of put.lua:
 *
 * - A value has a version and the id of its write. A request with that id was
 *   executed before, and is not executed again.
 * - A new version is max(last + 1, wall clock in us). A deleted value leaves a
 *   tombstone, which is kept for fence_keep after the clock has passed its
 *   version. So versions never repeat.
 *
 * Each write also examines the next 8 records, and removes expired tombstones:
 * in its own transaction, since another one would be another sync.
 *
 * Cost: a GET makes no system call but the checks of the file (values_file.c)
 * and of the signal mask. A PUT also writes the changed pages, and syncs twice:
 * the pages, then the meta page that refers to them.
 *
 * A PUT blocks for the sync, and at the mutex for the syncs of other processes.
 * The reply is sent outside of the mutex: a callback of the program may run. */
#include "store/local/local.h"

#include "base/fail.h"
#include "core/limits.h"
#include "io/signal_hold.h"
#include "store/local/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Records that one write examines: more than the one name that it may add. */
#define SWEEP_RECORDS 8

/* How often one write may grow the map, which doubles: 16 times is from 64 KiB
 * to the greatest size of the file, 4 GiB. */
#define GROW_TRIES 16

/* A record: the head, the name if the key has only a digest of it, the data. */
struct value_head {
    uint64_t version;
    uint64_t until_us; /* a tombstone: unix time when it may be removed */
    char id[HF_WRITE_ID_LEN];
    uint32_t data_len;
    uint16_t text_len;
    uint8_t is_deleted;
    uint8_t unused[5];
    uint32_t check; /* hf_sum() of the whole record */
};

#define KIND 0x68667631U /* "hfv1" */
#define CHECK_AT offsetof(struct value_head, check)

_Static_assert(sizeof(struct value_head) == 64,
               "no padding, which may be any bytes");

struct visit {
    struct hf_local *local;
    struct hf_values *values;
    const struct hf_ask *ask;
    struct hf_table_key key;
    uint64_t wall_us;
    struct hf_answer answer;
    struct value_head head; /* of the record that was found; version 0: none */
    const unsigned char *data;
    void *copy; /* of the value; freed after the reply */
    struct hf_error error;
};

static uint64_t read_wall_us(void)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return wall.tv_sec < 0 ? 0
                           : (uint64_t)wall.tv_sec * 1000000 +
                                 (uint64_t)wall.tv_nsec / 1000;
}

/* ---- Records ----------------------------------------------------------- */

static size_t text_len(const struct hf_table_key *key)
{
    return key->is_cut ? key->prefix_len + key->name_len : 0;
}

static bool is_sound(const unsigned char *bytes, size_t len,
                     const struct value_head *head)
{
    return len == sizeof(*head) + head->text_len + head->data_len &&
           head->version > 0 && head->version <= HF_FENCE_MAX &&
           head->data_len <= HF_VALUE_MAX &&
           head->check == hf_sum(KIND, bytes, len, CHECK_AT);
}

static bool is_text_of(const unsigned char *text, const struct visit *visit)
{
    const struct hf_table_key *key = &visit->key;
    return visit->head.text_len == text_len(key) &&
           (!key->is_cut ||
            (memcmp(text, key->prefix, key->prefix_len) == 0 &&
             memcmp(text + key->prefix_len, key->name, key->name_len) == 0));
}

/** The file may have been damaged: no length of the record is believed before
 * its sum. @return 0, also if there is no record. */
static int find(struct visit *visit, MDB_txn *txn)
{
    MDB_val key = {visit->key.len, visit->key.bytes};
    MDB_val found;
    visit->head.version = 0;
    int number = mdb_get(txn, visit->values->dbi, &key, &found);
    if (number != 0) {
        return number == MDB_NOTFOUND ? 0 : number;
    }
    const unsigned char *bytes = found.mv_data;
    if (found.mv_size < sizeof(visit->head)) {
        return MDB_CORRUPTED;
    }
    memcpy(&visit->head, bytes, sizeof(visit->head));
    if (!is_sound(bytes, found.mv_size, &visit->head)) {
        return MDB_CORRUPTED;
    }
    if (!is_text_of(bytes + sizeof(visit->head), visit)) {
        return MDB_KEYEXIST;
    }
    visit->data = bytes + sizeof(visit->head) + visit->head.text_len;
    return 0;
}

static uint64_t version_of(const struct visit *visit)
{
    return visit->head.is_deleted ? 0 : visit->head.version;
}

static int store(const struct visit *visit, MDB_txn *txn, uint64_t version)
{
    const struct hf_ask *ask = visit->ask;
    const struct hf_table_key *of = &visit->key;
    bool is_deleted = ask->value.data == NULL;
    struct value_head head = {
        .version = version,
        .until_us = is_deleted ? version + (uint64_t)hf_span_us_floor(
                                               visit->local->fence_keep)
                               : 0,
        .data_len = is_deleted ? 0 : (uint32_t)ask->value.len,
        .text_len = (uint16_t)text_len(of),
        .is_deleted = is_deleted,
    };
    memcpy(head.id, ask->owner, sizeof(head.id));
    MDB_val key = {of->len, (void *)(uintptr_t)of->bytes};
    MDB_val room = {sizeof(head) + head.text_len + head.data_len, NULL};
    int number = mdb_put(txn, visit->values->dbi, &key, &room, MDB_RESERVE);
    if (number != 0) {
        return number;
    }
    unsigned char *out = room.mv_data;
    unsigned char *text = out + sizeof(head);
    memcpy(out, &head, sizeof(head));
    if (of->is_cut) {
        memcpy(text, of->prefix, of->prefix_len);
        memcpy(text + of->prefix_len, of->name, of->name_len);
    }
    if (head.data_len > 0) {
        memcpy(text + head.text_len, ask->value.data, head.data_len);
    }
    head.check = hf_sum(KIND, out, room.mv_size, CHECK_AT);
    memcpy(out + CHECK_AT, &head.check, sizeof(head.check));
    return 0;
}

/* ---- Sweep ------------------------------------------------------------- */

static int sweep_one(const struct visit *visit, MDB_cursor *cursor,
                     const MDB_val *value)
{
    struct value_head head;
    if (value->mv_size < sizeof(head)) {
        return MDB_CORRUPTED;
    }
    memcpy(&head, value->mv_data, sizeof(head));
    bool is_over = head.is_deleted && visit->wall_us > head.until_us;
    if (!is_over) {
        return 0;
    }
    return is_sound(value->mv_data, value->mv_size, &head)
               ? mdb_cursor_del(cursor, 0)
               : MDB_CORRUPTED;
}

static int sweep(const struct visit *visit, MDB_txn *txn)
{
    struct hf_gate_values *page = &visit->local->gate.page->values;
    MDB_cursor *cursor;
    MDB_val key, value;
    size_t at_len = page->sweep_len > HF_GATE_KEY_MAX ? 0 : page->sweep_len;
    int number = mdb_cursor_open(txn, visit->values->dbi, &cursor);
    if (number != 0) {
        return number;
    }
    number = hf_table_seek(cursor, page->sweep_key, at_len, &key, &value);
    for (unsigned i = 0; number == 0 && i < SWEEP_RECORDS; i++) {
        memcpy(page->sweep_key, key.mv_data, key.mv_size);
        page->sweep_len = (uint32_t)key.mv_size;
        number = sweep_one(visit, cursor, &value);
        if (number == 0) {
            number = hf_table_next(cursor, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
    if (number == MDB_NOTFOUND) {
        page->sweep_len = 0; /* start again at the first name */
        number = 0;
    }
    return number;
}

/* ---- Verbs ------------------------------------------------------------- */

static void reply(struct visit *visit, enum hf_verdict verdict,
                  uint64_t version)
{
    visit->answer.verdict = verdict;
    visit->answer.counter = version;
}

static int copy_value(struct visit *visit)
{
    size_t len = visit->head.data_len;
    visit->copy = malloc(len + 1); /* not NULL without bytes */
    if (visit->copy == NULL) {
        return ENOMEM;
    }
    memcpy(visit->copy, visit->data, len);
    visit->answer.value = (struct hf_bytes){visit->copy, len};
    return 0;
}

static int get(struct visit *visit)
{
    MDB_txn *txn;
    int number = hf_values_begin(visit->values, MDB_RDONLY, &txn);
    if (number != 0) {
        return number;
    }
    number = find(visit, txn);
    if (number == 0 && visit->head.version > 0) {
        visit->answer.owner = visit->head.id;
        visit->answer.owner_len = sizeof(visit->head.id);
        reply(visit, HF_VERDICT_OK, version_of(visit));
        number = visit->head.is_deleted ? 0 : copy_value(visit);
    } else if (number == 0) {
        reply(visit, HF_VERDICT_OK, 0);
    }
    mdb_txn_abort(txn);
    return number;
}

/* The id is compared before the version: a put that is repeated finds its own
 * write, and must not be refused because of it. */
static bool may_write(struct visit *visit, uint64_t *version)
{
    const struct hf_ask *ask = visit->ask;
    const struct value_head *head = &visit->head;
    uint64_t now = head->version == 0 ? 0 : version_of(visit);
    if (head->version > 0 &&
        memcmp(head->id, ask->owner, sizeof(head->id)) == 0) {
        reply(visit, HF_VERDICT_OK, head->version);
        return false;
    }
    if (ask->counter != HF_VERSION_ANY && ask->counter != now) {
        reply(visit, HF_VERDICT_REFUSED, now);
        return false;
    }
    *version = hf_txn_max_u64(head->version + 1, visit->wall_us);
    return true;
}

/** One attempt. @return MDB_MAP_FULL: nothing was written. */
static int put(struct visit *visit)
{
    MDB_txn *txn;
    uint64_t version = 0;
    int number = hf_values_begin(visit->values, 0, &txn);
    if (number != 0) {
        return number;
    }
    number = find(visit, txn);
    bool goes_on = number == 0 && may_write(visit, &version);
    if (goes_on && version > HF_FENCE_MAX) {
        number = ERANGE;
    } else if (goes_on) {
        number = store(visit, txn, version);
        number = number == 0 ? sweep(visit, txn) : number;
    }
    if (!goes_on || number != 0) {
        mdb_txn_abort(txn);
        return number;
    }
    bool is_unknown = false;
    number = hf_values_commit(visit->values, txn, &is_unknown);
    reply(visit, is_unknown ? HF_VERDICT_UNKNOWN : HF_VERDICT_OK, version);
    return number;
}

static int put_with_room(struct visit *visit)
{
    int no_room = hf_values_make_room(visit->values, visit->ask->value.len);
    int number = put(visit);
    for (unsigned i = 0; number == MDB_MAP_FULL && i < GROW_TRIES; i++) {
        number = hf_values_grow(visit->values);
        number = number == 0 ? put(visit) : number;
    }
    return number == EIO && no_room != 0 ? no_room : number;
}

/* Inside the mutex. */
static enum hf_status execute(struct visit *visit)
{
    enum hf_status status =
        hf_values_open(visit->values, &visit->local->gate, &visit->error);
    if (status != HF_OK) {
        return status;
    }
    visit->wall_us = read_wall_us();
    int number =
        visit->ask->verb == HF_VERB_GET ? get(visit) : put_with_room(visit);
    if (number == ERANGE) {
        return hf_fail(&visit->error, HF_CONFIG,
                       "its version cannot rise (is the clock of this machine "
                       "wrong?)");
    }
    return number == 0 ? HF_OK : hf_values_fail(number, &visit->error);
}

void hf_local_value(struct hf_local *local, const struct hf_ask *ask,
                    struct hf_instant now)
{
    char text[HF_REASON_MAX];
    struct visit visit = {
        .local = local,
        .values = &local->values,
        .ask = ask,
        .answer = {.cookie = ask->cookie,
                   .verb = ask->verb,
                   .node = ask->node,
                   .verdict = HF_VERDICT_ERROR,
                   .sent = now},
    };
    hf_table_key_init(&visit.key, local->prefix, ask->name, ask->name_len);
    enum hf_status status =
        hf_gate_enter_values(&local->gate, text, sizeof(text));
    if (status == HF_OK) {
        struct hf_signal_hold hold;
        hf_signal_hold_growth(&hold);
        status = execute(&visit);
        hf_signal_hold_end(&hold);
        hf_gate_leave_values(&local->gate);
    } else {
        hf_fail(&visit.error, status, "%s", text);
    }
    if (status != HF_OK) {
        bool is_unknown = visit.answer.verdict == HF_VERDICT_UNKNOWN;
        visit.answer.verdict =
            is_unknown ? HF_VERDICT_UNKNOWN : HF_VERDICT_ERROR;
        visit.answer.fault = status;
        visit.answer.reason = visit.error.text;
    }
    local->env.answer(local->env.client, &visit.answer);
    free(visit.copy);
}
