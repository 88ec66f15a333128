/* SPDX-License-Identifier: Apache-2.0 */
/* One request, from the gate to the answer.
 *
 *     enter the gate ── read the clocks ── get ── verb ── put ── commit ──
 * leave
 *
 * It never blocks longer than node_timeout, at the gate. Whether a holder's
 * processes have ended is looked at outside of the gate, since that reads
 * /proc; the name is then tried again, and given away only if its owner and
 * counter are still those that were judged. */
#include "io/clock.h"
#include "store/local/local.h"

#include "base/assert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The low bits of the clock that a floor leaves out: 4.2 s, in which counters
 * of several nodes stay equal though their clocks differ. */
#define FLOOR_MASK ((UINT64_C(1) << 22) - 1)

/* Every so many writes, so many records are looked at: each write that may
 * make a name pays for looking at one, so that idle names never outgrow those
 * in use, at some 50 ns a write. */
#define SWEEP_EVERY 64
#define SWEEP_RECORDS 64

/* How often to see whether the files are still there. */
#define LOOK_NS INT64_C(1000000000)

struct transaction {
    struct hf_local *local;
    const struct hf_ask *ask;
    struct hf_table_key key;
    struct hf_processes life; /* of the asker */
    struct hf_record record;
    struct hf_deed deed;
    bool is_dead; /* the holder of `dead` was seen to be */
    struct hf_record dead;
    enum hf_status fault;
    char reason[HF_REASON_MAX];
};

void hf_local_moment(const struct hf_local *local, struct hf_moment *out)
{
    struct timespec wall;
    /* Coarse: 4 ms do not matter to buckets of 4 s, and it costs less. */
    clock_gettime(CLOCK_REALTIME_COARSE, &wall);
    out->boot_ns = hf_clock_now().ns;
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

static bool is_same_tenure(const struct hf_record *a, const struct hf_record *b)
{
    return a->counter == b->counter && a->owner_len == b->owner_len &&
           memcmp(a->owner, b->owner, a->owner_len) == 0 &&
           a->life.count == b->life.count &&
           memcmp(a->life.of, b->life.of,
                  a->life.count * sizeof(a->life.of[0])) == 0;
}

static void do_verb(struct transaction *t, const struct hf_moment *now)
{
    struct hf_record *record = &t->record;
    bool is_dead = t->is_dead && is_same_tenure(record, &t->dead);
    switch (t->ask->verb) {
    case HF_VERB_ACQUIRE:
        hf_record_acquire(record, t->ask, &t->life, is_dead, now, &t->deed);
        return;
    case HF_VERB_CONFIRM:
        hf_record_confirm(record, t->ask, &t->life, now, &t->deed);
        return;
    case HF_VERB_RELEASE:
        hf_record_release(record, t->ask, now, &t->deed);
        return;
    case HF_VERB_BREAK:
        hf_record_break(record, t->ask, now, &t->deed);
        return;
    case HF_VERB_INSPECT:
        hf_record_inspect(record, now, &t->deed);
        return;
    case HF_VERB_SCAN:
        break;
    }
    HF_ASSERT(t->ask->verb != HF_VERB_SCAN);
}

static bool has_failed(struct transaction *t, int number)
{
    if (number == 0) {
        return false;
    }
    hf_table_abort(&t->local->table);
    t->fault =
        hf_table_text(&t->local->table, number, t->reason, sizeof(t->reason));
    return true;
}

/* Note the greatest counter before it is given out: it must be known even if
 * this boot ends now. */
static void note_counter(struct hf_gate_page *page, uint64_t counter)
{
    if (page->granted_max < counter) {
        page->granted_max = counter;
    }
}

/* Get, do, put, commit. @return 0 or a number of the table's. */
static int attempt(struct transaction *t, struct hf_moment *now)
{
    struct hf_table *table = &t->local->table;
    int number = hf_table_begin(table);
    if (number != 0) {
        return number;
    }
    hf_local_moment(t->local, now);
    number = hf_table_get(table, &t->key, &t->record);
    if (number == MDB_NOTFOUND) {
        memset(&t->record, 0, sizeof(t->record));
    } else if (number != 0) {
        return number;
    }
    do_verb(t, now);
    if (!t->deed.is_changed) {
        hf_table_abort(table);
        return 0;
    }
    note_counter(t->local->gate.page, t->record.counter);
    number = hf_table_put(table, &t->key, &t->record);
    return number == 0 ? hf_table_commit(table) : number;
}

static void sweep_at_times(struct hf_local *local, const struct hf_moment *now)
{
    if (++local->gate.page->n_writes % SWEEP_EVERY == 0) {
        /* What fails here is tried again later, and met by whoever needs it. */
        (void)hf_table_sweep(&local->table, SWEEP_RECORDS, local->fence_keep_ns,
                             now);
    }
}

/* @return false: t->fault says why; nothing was done. */
static bool transact(struct transaction *t)
{
    struct hf_moment now;
    struct hf_local *local = t->local;
    t->fault = hf_gate_enter(&local->gate, t->reason, sizeof(t->reason));
    if (t->fault != HF_OK) {
        return false;
    }
    int number = attempt(t, &now);
    while (number == HF_TABLE_FULL) {
        hf_table_abort(&local->table);
        number = hf_table_grow(&local->table);
        if (number == 0) {
            number = attempt(t, &now);
        }
    }
    bool is_done = !has_failed(t, number);
    if (is_done && t->deed.is_changed) {
        sweep_at_times(local, &now);
    }
    hf_gate_leave(&local->gate);
    return is_done;
}

/* The name is somebody's whose end would free it: look whether it has come. */
static bool is_worth_a_look(const struct transaction *t)
{
    enum hf_verb verb = t->ask->verb;
    return t->record.life.count > 0 && t->deed.owner_len > 0 &&
           ((verb == HF_VERB_ACQUIRE &&
             t->deed.verdict == HF_VERDICT_REFUSED) ||
            verb == HF_VERB_INSPECT);
}

static bool look_for_life(struct transaction *t)
{
    struct hf_local *local = t->local;
    if (!is_worth_a_look(t) ||
        !hf_processes_are_over(&local->view, &t->record.life)) {
        return true;
    }
    if (t->ask->verb == HF_VERB_INSPECT) {
        t->deed.owner_len = 0;
        t->deed.left_ms = 0;
        return true;
    }
    t->is_dead = true;
    t->dead = t->record;
    return transact(t);
}

static void answer(const struct transaction *t, struct hf_instant sent)
{
    const struct hf_deed *deed = &t->deed;
    struct hf_answer answer = {
        .cookie = t->ask->cookie,
        .verb = t->ask->verb,
        .node = t->ask->node,
        .verdict = deed->verdict,
        .sent = sent,
        .counter = deed->counter,
        .floor = deed->floor,
        .left_ms = deed->left_ms,
        .kind = deed->owner_len == 0 ? HF_HOLDER_NONE : HF_HOLDER_FOREIGN,
        .owner = deed->owner_len == 0 ? NULL : deed->owner,
        .owner_len = deed->owner_len,
    };
    if (deed->verdict == HF_VERDICT_ERROR) {
        answer.fault = HF_CONFIG;
        answer.reason = "a fence beyond what this name can have (is the clock "
                        "of this machine wrong?)";
    }
    t->local->env.answer(t->local->env.client, &answer);
}

/* The files may have been removed by somebody who wanted to clean up: then
 * others make new ones, and we would be alone with ours. */
static bool is_cut_off(struct hf_local *local, struct hf_instant now)
{
    if (!local->is_cut_off && now.ns >= local->next_look_ns) {
        local->next_look_ns = now.ns + LOOK_NS;
        local->is_cut_off = !hf_gate_is_linked(&local->gate);
    }
    return local->is_cut_off;
}

void hf_local_ask(struct hf_store *store, const struct hf_ask *ask,
                  struct hf_instant now)
{
    struct hf_local *local = (struct hf_local *)store;
    HF_ASSERT(ask->node == 0);
    if (is_cut_off(local, now)) {
        hf_local_answer_fault(local, ask, now, HF_CONFIG,
                              "its files were removed while in use: start "
                              "again all that use the folder");
        return;
    }
    if (ask->verb == HF_VERB_SCAN) {
        hf_local_scan(local, ask, now);
        return;
    }
    struct transaction t;
    t.local = local;
    t.ask = ask;
    t.is_dead = false;
    hf_table_key_init(&t.key, local->prefix, ask->name, ask->name_len);
    if (ask->life != NULL) {
        hf_processes_note(&local->view, ask->life, &t.life);
    }
    if (transact(&t) && look_for_life(&t)) {
        answer(&t, now);
        return;
    }
    hf_local_answer_fault(local, ask, now, t.fault, t.reason);
}
