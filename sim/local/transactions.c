/* SPDX-License-Identifier: Apache-2.0 */
/* TRANSACTIONS, AND THEIR CHECKS. LMDB is real. A process may end at any step
 * of a transaction; the disk may be full. After each commit the whole table is
 * read, by the store's own parsers, and checked: its counters and the order of
 * its waiters by the rules of all nodes (oracle/oracle.h), and whether entries
 * and records are consistent. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "store/local/entry.h"
#include "store/local/record.h"

#include "base/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "lock:"
#define PREFIX_LEN (sizeof(PREFIX) - 1) /* bytes, without the NUL */

/* The unnamed database. */
#define NAMES 1

int __real_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags,
                         MDB_txn **out);
int __real_mdb_txn_commit(MDB_txn *txn);
void __real_mdb_txn_abort(MDB_txn *txn);

/* ---- Reading the table ------------------------------------------------- */

/* A queue: the numbers in its record, and the entries found. */
struct queue {
    uint64_t id;
    unsigned n_waiters, n_sharers;
    unsigned seen[3]; /* by enum hf_entry_kind */
    unsigned row;
    bool has_record, is_group;
};

struct look {
    struct sim_machine *machine;
    struct queue queues[SIM_ROWS_MAX];
    unsigned n_queues;
};

static struct sim_oracle *oracle_of(const struct look *look)
{
    return look->machine->world->oracle;
}

static void breach(const struct look *look, const char *what, const char *name)
{
    sim_oracle_breach(oracle_of(look), SIM_RESIDUE, "in the folder: %s%s%s",
                      what, name[0] == '\0' ? "" : " of ", name);
}

static struct queue *queue_of(struct look *look, uint64_t id)
{
    for (unsigned i = 0; i < look->n_queues; i++) {
        if (look->queues[i].id == id) {
            return &look->queues[i];
        }
    }
    HF_ASSERT(look->n_queues < SIM_ROWS_MAX);
    look->queues[look->n_queues] = (struct queue){.id = id};
    return &look->queues[look->n_queues++];
}

static struct sim_row *row_of(struct sim_machine *machine, const char *name,
                              size_t len)
{
    for (unsigned i = 0; i < machine->n_rows; i++) {
        if (strlen(machine->rows[i].name) == len &&
            memcmp(machine->rows[i].name, name, len) == 0) {
            return &machine->rows[i];
        }
    }
    HF_ASSERT(machine->n_rows < SIM_ROWS_MAX && len < 8);
    struct sim_row *row = &machine->rows[machine->n_rows++];
    memcpy(row->name, name, len);
    return row;
}

static void look_at_record(struct look *look, const MDB_val *key,
                           const MDB_val *value)
{
    struct hf_record record;
    const char *name = (const char *)key->mv_data + 1 + PREFIX_LEN;
    size_t len = key->mv_size - 1 - PREFIX_LEN;
    if (hf_record_parse(value->mv_data, value->mv_size, &record) == 0) {
        breach(look, "a record that makes no sense", "");
        return;
    }
    struct sim_row *row = row_of(look->machine, name, len); /* ends in '\0' */
    row->counter = record.counter;
    row->is_there = true;
    row->is_owned = record.is_owned;
    row->is_shared = record.is_shared;
    row->until_ns = record.until.ns;
    row->waits_until_ns = 0;
    row->mark = record.mark;
    row->owner_len = record.owner_len;
    memcpy(row->owner, record.owner, record.owner_len);
    /* Kept after a release, or by a break: it has no owner. */
    bool is_ended = record.owner_len >= HF_ENDED_MARK_LEN &&
                    memcmp(record.owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN) == 0;
    bool is_owned =
        record.is_owned && (record.has_last || record.is_shared) && !is_ended;
    sim_oracle_counter(oracle_of(look), row->name, len, record.counter,
                       record.owner, is_owned ? record.owner_len : 0);
    if (is_owned && !record.is_shared) {
        sim_oracle_place(oracle_of(look), row->name, len, record.owner,
                         record.owner_len, false);
    }
    if (record.queue_id != 0) {
        struct queue *queue = queue_of(look, record.queue_id);
        queue->has_record = true;
        queue->is_group = record.is_owned && record.is_shared;
        queue->n_waiters = record.n_waiters;
        queue->n_sharers = record.n_sharers;
        queue->row = (unsigned)(row - look->machine->rows);
    }
}

/* 'z', the queue's number, the kind, …: entry.h. */
static void look_at_entry(struct look *look, const MDB_val *key,
                          const MDB_val *value)
{
    struct hf_local_entry entry;
    const unsigned char *bytes = key->mv_data;
    uint64_t id = 0;
    for (int i = 1; i <= 8; i++) {
        id = id << 8 | bytes[i];
    }
    struct queue *queue = queue_of(look, id);
    unsigned kind = bytes[9];
    queue->seen[kind <= HF_ENTRY_INDEX ? kind : 0]++;
    if (kind == HF_ENTRY_INDEX || !queue->has_record) {
        return;
    }
    if (!hf_entry_parse(value->mv_data, value->mv_size, &entry)) {
        breach(look, "an entry that makes no sense", "");
        return;
    }
    struct sim_row *row = &look->machine->rows[queue->row];
    if (row->n_entries < SIM_ROW_ENTRIES) {
        row->entries[row->n_entries++] = (struct sim_row_entry){
            .owner = sim_owner_digest(entry.owner, entry.owner_len),
            .counter = entry.counter,
            .until_ns = entry.until.ns,
            .waits = kind == HF_ENTRY_WAITER,
        };
    }
    if (kind == HF_ENTRY_WAITER && row->waits_until_ns < entry.until.ns) {
        row->waits_until_ns = entry.until.ns;
    }
    sim_oracle_place(oracle_of(look), row->name, strlen(row->name), entry.owner,
                     entry.owner_len,
                     kind == HF_ENTRY_WAITER && entry.address.id != 0);
}

static void look_at_queues(struct look *look)
{
    for (unsigned i = 0; i < look->n_queues; i++) {
        const struct queue *queue = &look->queues[i];
        const char *name =
            queue->has_record ? look->machine->rows[queue->row].name : "";
        if (!queue->has_record) {
            breach(look, "entries without a record", "");
        } else if (queue->n_waiters != queue->seen[HF_ENTRY_WAITER] ||
                   queue->n_waiters != queue->seen[HF_ENTRY_INDEX]) {
            breach(look, "not as many waiters as counted", name);
        } else if (queue->is_group &&
                   queue->n_sharers != queue->seen[HF_ENTRY_SHARER]) {
            breach(look, "not as many sharers as counted", name);
        }
    }
}

/* Clear the rows: a name that is not found in the table has no owner. */
static void forget_rows(struct sim_machine *machine)
{
    for (unsigned i = 0; i < machine->n_rows; i++) {
        machine->rows[i].is_there = false;
        machine->rows[i].is_owned = false;
        machine->rows[i].waits_until_ns = 0;
        machine->rows[i].n_entries = 0;
        machine->rows[i].mark = (struct hf_local_mark){0};
    }
}

/* Report names that are gone: they were swept, or a reboot ended them. */
static void note_gone(struct sim_machine *machine)
{
    for (unsigned i = 0; i < machine->n_rows; i++) {
        if (!machine->rows[i].is_there) {
            sim_oracle_counter_gone(machine->world->oracle,
                                    machine->rows[i].name);
        }
    }
}

void sim_machine_rebooted(struct sim_machine *machine)
{
    if (machine != NULL) {
        forget_rows(machine);
        memset(machine->starts_ticks, 0,
               sizeof(machine->starts_ticks)); /* another boot */
        sim_oracle_node_forgot(machine->world->oracle, 0);
    }
}

void sim_table_look(struct sim_machine *machine, MDB_env *env)
{
    struct look look = {.machine = machine};
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    forget_rows(machine);
    HF_ASSERT(__real_mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0);
    HF_ASSERT(mdb_cursor_open(txn, NAMES, &cursor) == 0);
    /* Names come before all entries. */
    int number = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; number == 0;
         number = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        bool is_entry = *(const unsigned char *)key.mv_data == HF_ENTRY_TAG;
        (is_entry ? look_at_entry : look_at_record)(&look, &key, &value);
    }
    note_gone(machine);
    look_at_queues(&look);
    mdb_cursor_close(cursor);
    __real_mdb_txn_abort(txn);
}

/* ---- The end ----------------------------------------------------------- */

void sim_machine_calm(struct sim_machine *machine)
{
    machine->is_full = false;
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        machine->tasks[i].n_calls = 0;
    }
    for (unsigned i = 0; i < machine->n_rows; i++) {
        machine->rows[i].counter_at_calm = machine->rows[i].counter;
    }
}

/* A name that was locked exclusively after the last fault must have no owner,
 * even before the lease ends: its holder was alive and has released it. (A
 * group may have had a dead member.) */
void sim_machine_judge_end(struct sim_machine *machine)
{
    const struct sim_world *world = machine->world;
    int64_t boot_ns = sim_process_clock(&world->processes[0], world->now_ns).ns;
    for (unsigned i = 0; i < machine->n_rows; i++) {
        const struct sim_row *row = &machine->rows[i];
        bool is_taken = row->is_owned && row->until_ns > boot_ns;
        bool is_used = !row->is_shared && row->counter > row->counter_at_calm;
        if (is_taken || (row->is_owned && is_used)) {
            sim_oracle_breach(world->oracle, SIM_RESIDUE,
                              "left in the folder: \"%s\" is owned, at "
                              "%" PRIu64,
                              row->name, row->counter);
        }
        if (row->waits_until_ns > boot_ns) {
            sim_oracle_breach(world->oracle, SIM_RESIDUE,
                              "left in the folder: a waiter for \"%s\"",
                              row->name);
        }
    }
}

/* ---- Calls ------------------------------------------------------------- */

int __wrap_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags,
                         MDB_txn **out);
int __wrap_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags,
                         MDB_txn **out)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL && !sim_task_call(task)) {
        return EIO;
    }
    int number = __real_mdb_txn_begin(env, parent, flags, out);
    if (task != NULL && number == 0) {
        task->txn = *out;
        task->verb_txn = NULL;
    }
    return number;
}

void __wrap_mdb_txn_abort(MDB_txn *txn);
void __wrap_mdb_txn_abort(MDB_txn *txn)
{
    struct sim_task *task = sim_task_running();
    __real_mdb_txn_abort(txn);
    if (task != NULL) {
        task->txn = NULL;
        sim_verb_done(task, false);
    }
}

int __wrap_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn)
{
    struct sim_task *task = sim_task_running();
    if (task == NULL) {
        return __real_mdb_txn_commit(txn);
    }
    MDB_env *env = mdb_txn_env(txn);
    if (!sim_task_call(task)) {
        task->txn = NULL;
        __real_mdb_txn_abort(txn);
        return EIO;
    }
    task->txn = NULL;
    int number = __real_mdb_txn_commit(txn);
    if (number == 0) {
        sim_table_look(task->machine, env);
        sim_verb_done(task, true);
    }
    return number;
}

int __real_mdb_put(MDB_txn *txn, MDB_dbi names, MDB_val *key, MDB_val *value,
                   unsigned flags);
int __wrap_mdb_put(MDB_txn *txn, MDB_dbi names, MDB_val *key, MDB_val *value,
                   unsigned flags);
int __wrap_mdb_put(MDB_txn *txn, MDB_dbi names, MDB_val *key, MDB_val *value,
                   unsigned flags)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL && !sim_task_call(task)) {
        return EIO;
    }
    if (task != NULL && task->machine->is_full) {
        sim_verb_failed(task);
        return MDB_MAP_FULL;
    }
    return __real_mdb_put(txn, names, key, value, flags);
}
