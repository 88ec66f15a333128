/* SPDX-License-Identifier: Apache-2.0 */
/* One request, from the gate to the reply.
 *
 *     enter the gate ── read the clocks ── get ── verb ── put ── commit ──
 *     leave ── push the grants to their waiters ── reply
 *
 * At the gate it blocks for at most node_timeout if the process inside is
 * stopped, and for ten times that if the machine is overloaded. Whether a
 * holder's processes have ended is checked outside of the gate, since that
 * reads /proc. If they have, the verb runs again, and evicts that holder only
 * if the owner, the counter and the processes in the record are unchanged.
 *
 * Cost: one transaction, without a system call if the gate is free; a second
 * one if the holder has ended, or if this process waits for the first time. An
 * ACQUIRE also makes one stat(); a request that comes 10 ms or more after the
 * last look makes a stat() and an fstat(); one that names other processes reads
 * /proc for each; one that is not granted looks at the holder's processes
 * (liveness.c). Each 64th transaction that writes is followed by one that
 * sweeps (sweep.c). */
#include "io/clock.h"
#include "store/local/local.h"

#include "base/assert.h"
#include "core/limits.h"

#include <string.h>
#include <time.h>

/* The floor is the wall clock in us without these bits: it moves every 4.2 s,
 * so that nodes mostly have the same floor if their clocks differ by less. */
#define FLOOR_MASK ((UINT64_C(1) << HF_FLOOR_BITS) - 1)

/* Each 64th write sweeps 64 records: one for each write that may have made a
 * name, so that idle names never outnumber those in use. Some 50 ns a write. */
#define SWEEP_EVERY 64
#define SWEEP_RECORDS 64

/* How often one request may make room. Several times, since the removal of
 * records need not empty a page. */
#define ROOM_TRIES 64

/* Interval between checks of both files. A check costs as much as a request, so
 * a busy process makes one for thousands of requests. */
#define LOOK_MS 10

void hf_local_moment(const struct hf_local *local, struct hf_clock_sample *out)
{
    struct timespec wall;
    /* The coarse clock is cheaper. Its 4 ms do not matter: a floor moves every
     * 4.2 s, and new_ticket() never returns one value twice. */
    clock_gettime(CLOCK_REALTIME_COARSE, &wall);
    out->instant = hf_clock_now();
    out->wall_us = wall.tv_sec < 0 ? 0
                                   : (uint64_t)wall.tv_sec * 1000000 +
                                         (uint64_t)wall.tv_nsec / 1000;
    out->floor = out->wall_us & ~FLOOR_MASK;
    if (out->floor < local->gate.page->floor_least) {
        out->floor = local->gate.page->floor_least;
    }
}

void hf_local_answer_fault(struct hf_local *local, const struct hf_ask *ask,
                           struct hf_instant sent, enum hf_status fault,
                           const char *reason)
{
    struct hf_answer answer = {
        .cookie = ask->cookie,
        .verb = ask->verb,
        .node = ask->node,
        .verdict = HF_VERDICT_ERROR,
        .sent = sent,
        .fault = fault,
        .reason = reason,
    };
    local->env.answer(local->env.client, &answer);
}

/* ---- Transactions ------------------------------------------------------ */

void hf_transaction_init(struct hf_transaction *t, struct hf_local *local,
                         const struct hf_ask *ask)
{
    t->local = local;
    t->txn.ask = ask;
    t->dead.has_holder = false;
    t->dead.n_sharers = 0;
    if (ask != NULL) {
        hf_table_key_init(&t->key, local->prefix, ask->name, ask->name_len);
    }
}

static bool note_failure(struct hf_transaction *t, int number)
{
    if (number == 0) {
        return false;
    }
    hf_table_abort(&t->local->table);
    t->fault =
        hf_table_text(&t->local->table, number, t->reason, sizeof(t->reason));
    return true;
}

/* Before the commit: the next boot's floor must exceed each counter that was
 * granted, even if this boot ends now. */
static void note_counter(struct hf_gate_page *page, uint64_t counter)
{
    if (page->granted_max < counter) {
        page->granted_max = counter;
    }
}

/* Before the commit, too: hf_gate_open() must not void a lease whose process
 * has ended. */
static void note_lease(struct hf_gate_page *page,
                       const struct hf_record *record, struct hf_instant now)
{
    page->leases_seen = now;
    if (hf_record_has_holder(record, now)) {
        page->leases_until = hf_instant_max(page->leases_until, record->until);
    }
}

/** The clock is read inside: a sample from before the wait for the gate would
 * be behind that of a later grant. @return 0 or an error number of the table.
 */
static int attempt(struct hf_transaction *t, hf_transaction_fn *act, void *user,
                   struct hf_clock_sample *now)
{
    struct hf_table *table = &t->local->table;
    struct hf_txn *txn = &t->txn;
    int number = hf_table_begin(table);
    if (number != 0) {
        return number;
    }
    hf_local_moment(t->local, now);
    txn->is_changed = false;
    txn->number = 0;
    t->local->grants.count = 0;
    number = hf_table_get(table, &t->key, &txn->record);
    if (number == MDB_NOTFOUND) {
        memset(&txn->record, 0, offsetof(struct hf_record, owner));
    } else if (number != 0) {
        return number;
    }
    act(txn, user);
    if (txn->number != 0) {
        return txn->number;
    }
    if (!txn->is_changed) {
        hf_table_abort(table);
        return 0;
    }
    note_counter(t->local->gate.page, txn->record.counter);
    note_lease(t->local->gate.page, &txn->record, now->instant);
    number = hf_table_put(table, &t->key, &txn->record);
    return number == 0 ? hf_table_commit(table) : number;
}

static void sweep_at_times(struct hf_local *local,
                           const struct hf_clock_sample *now)
{
    if (++local->gate.page->n_writes % SWEEP_EVERY == 0) {
        /* A sweep that failed is repeated; an error that lasts fails the next
         * request too. */
        (void)hf_table_sweep(&local->table, SWEEP_RECORDS, local->fence_keep,
                             now);
    }
}

bool hf_local_transact(struct hf_transaction *t, hf_transaction_fn *act,
                       void *user)
{
    struct hf_clock_sample now;
    struct hf_local *local = t->local;
    t->txn.table = &local->table;
    t->txn.life = &t->life;
    t->txn.address = &local->wake.address;
    t->txn.dead = &t->dead;
    t->txn.now = &now;
    t->txn.grants = &local->grants;
    local->grants.count = 0;
    t->fault = hf_gate_enter(&local->gate, t->reason, sizeof(t->reason));
    if (t->fault != HF_OK) {
        return false;
    }
    int number = attempt(t, act, user, &now);
    for (unsigned i = 0; number == HF_TABLE_FULL && i < ROOM_TRIES; i++) {
        hf_table_abort(&local->table);
        number = hf_table_grow(&local->table);
        if (number == 0 || hf_table_make_room(&local->table, &now)) {
            number = attempt(t, act, user, &now);
        }
    }
    bool is_done = !note_failure(t, number);
    if (is_done && t->txn.is_changed) {
        sweep_at_times(local, &now);
    }
    if (!is_done) {
        local->grants.count = 0; /* no grant was committed */
    }
    hf_gate_leave(&local->gate);
    return is_done;
}

/* ---- One request ------------------------------------------------------- */

static void do_verb(struct hf_txn *txn, void *user)
{
    struct hf_local *local = user;
    switch (txn->ask->verb) {
    case HF_VERB_ACQUIRE:
        hf_txn_acquire(txn);
        hf_local_suspect(local, txn);
        return;
    case HF_VERB_YIELD:
        hf_txn_yield(txn);
        hf_local_suspect(local, txn);
        return;
    case HF_VERB_CONFIRM:
        hf_txn_confirm(txn);
        return;
    case HF_VERB_RELEASE:
        hf_txn_release(txn);
        return;
    case HF_VERB_BREAK:
        hf_txn_break(txn);
        return;
    case HF_VERB_INSPECT:
        hf_txn_inspect(txn);
        hf_local_suspect(local, txn);
        return;
    case HF_VERB_MARK:
        hf_txn_mark(txn);
        return;
    case HF_VERB_QUEUE:
    case HF_VERB_GET:
    case HF_VERB_PUT:
    case HF_VERB_SCAN:
        break;
    }
    HF_ASSERT(txn->ask->verb == HF_VERB_ACQUIRE);
}

/* Run the verb, and again if the owner of the name turns out to be dead: this
 * time it evicts that owner. INSPECT only reports the name as free. */
static bool execute(struct hf_transaction *t)
{
    struct hf_local *local = t->local;
    if (!hf_local_transact(t, do_verb, local)) {
        return false;
    }
    hf_local_deliver(local, &t->key);
    if (!hf_local_judge(local, &t->dead)) {
        return true;
    }
    if (t->txn.ask->verb == HF_VERB_INSPECT) {
        struct hf_clock_sample now;
        hf_local_moment(local, &now);
        t->txn.now = &now;
        hf_txn_show_mark(&t->txn);
        t->txn.now = NULL;
        return true;
    }
    if (!hf_local_transact(t, do_verb, local)) {
        return false;
    }
    hf_local_deliver(local, &t->key);
    return true;
}

static enum hf_kind holder_kind_of(const struct hf_result *result)
{
    if (result->owner_len == 0) {
        return HF_HOLDER_NONE;
    }
    return result->is_group ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
}

static void answer(const struct hf_transaction *t, struct hf_instant sent)
{
    const struct hf_ask *ask = t->txn.ask;
    const struct hf_result *result = &t->txn.result;
    const struct hf_record *record = &t->txn.record;
    struct hf_answer answer = {
        .cookie = ask->cookie,
        .verb = ask->verb,
        .node = ask->node,
        .verdict = result->verdict,
        .sent = sent,
        .counter = result->counter,
        .floor = result->floor,
        .bound = result->bound,
        .ticket = result->verdict == HF_VERDICT_OK ? 0 : result->ticket,
        .ahead = result->ahead,
        .permits = result->permits,
        .sharers = result->is_group ? record->n_sharers : 0,
        .waiting = record->n_waiters,
        .left_ms = result->left_ms,
        .holder_kind = holder_kind_of(result),
        .owner = result->owner_len == 0 ? NULL : result->owner,
        .owner_len = result->owner_len,
    };
    if (result->verdict == HF_VERDICT_ERROR) {
        answer.fault = HF_CONFIG;
        answer.reason = "a fence beyond what this name can have (is the clock "
                        "of this machine wrong?)";
    }
    t->local->env.answer(t->local->env.client, &answer);
}

/* If the files were removed or replaced, other processes use other files; if
 * they were cut, access to the map raises SIGBUS. The store does not open the
 * new files: holders in the old ones may be alive. locks.mdb is checked before
 * each ACQUIRE; locks.gate, without which no process finds the locks, every
 * 10 ms. */
static bool find_cut_off(struct hf_local *local, enum hf_verb verb,
                         struct hf_instant now)
{
    if (local->is_cut_off) {
        return true;
    }
    bool is_due = !hf_instant_before(now, local->next_look);
    if (is_due) {
        local->next_look = hf_instant_add(now, hf_span_ms(LOOK_MS));
        local->is_cut_off = !hf_gate_is_intact(&local->gate);
    }
    if (is_due || verb == HF_VERB_ACQUIRE) {
        local->is_cut_off |= !hf_table_is_intact(&local->table);
    }
    if (local->is_cut_off) { /* for good: ends waits, too */
        local->env.status(local->env.client, 0, HF_NODE_STATUS_DOWN, false,
                          HF_CONFIG, HF_LOCAL_CUT_OFF);
    }
    return local->is_cut_off;
}

static bool execute_ask(struct hf_transaction *t, struct hf_local *local,
                        const struct hf_ask *ask)
{
    hf_transaction_init(t, local, ask);
    if (ask->life != NULL) {
        hf_processes_note(&local->view, ask->life, &t->life);
    }
    return execute(t);
}

void hf_local_ask(struct hf_store *store, const struct hf_ask *ask,
                  struct hf_instant now)
{
    struct hf_local *local = (struct hf_local *)store;
    HF_ASSERT(ask->node == 0);
    if (!local->is_open) {
        hf_local_answer_fault(local, ask, now, local->fault, local->reason);
        return;
    }
    if (find_cut_off(local, ask->verb, now)) {
        hf_local_answer_fault(local, ask, now, HF_CONFIG, HF_LOCAL_CUT_OFF);
        return;
    }
    if (ask->verb == HF_VERB_SCAN) {
        hf_local_scan(local, ask, now);
        return;
    }
    if (ask->verb == HF_VERB_QUEUE) {
        hf_local_queue_entries(local, ask, now);
        return;
    }
    if (ask->verb == HF_VERB_GET || ask->verb == HF_VERB_PUT) {
        hf_local_value(local, ask, now);
        return;
    }
    struct hf_transaction t;
    bool is_done = execute_ask(&t, local, ask);
    if (is_done && t.txn.result.verdict == HF_VERDICT_QUEUED &&
        local->wake.address.id == 0) {
        /* The socket gets an address with the first wait: most requests are
         * granted at once and need none. The second run stores its address. */
        hf_local_listen(local);
        is_done = execute_ask(&t, local, ask);
    }
    if (is_done) {
        answer(&t, now);
        return;
    }
    hf_local_answer_fault(local, ask, now, t.fault, t.reason);
}
