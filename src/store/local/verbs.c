/* SPDX-License-Identifier: Apache-2.0 */
/* ACQUIRE, YIELD and CONFIRM, with the rules of the Redis scripts. There is one
 * node, and its clock is that of this machine. */
#include "store/local/txn.h"

#include <string.h>

static bool find_me(struct hf_txn *txn, struct hf_local_entry *out)
{
    return hf_txn_find_sharer(txn, txn->ask->owner, txn->ask->owner_len, out);
}

static void prolong_mine(struct hf_txn *txn)
{
    hf_txn_prolong(txn, hf_txn_asked_until(txn));
    if (txn->ask->life != NULL) {
        txn->record.life = *txn->life;
    }
}

static void prolong_sharer(struct hf_txn *txn, struct hf_local_entry *entry)
{
    if (txn->ask->life != NULL) {
        entry->life = *txn->life;
    }
    hf_txn_keep_sharer(txn, entry, hf_txn_asked_until(txn));
}

/* ---- ACQUIRE, YIELD ---------------------------------------------------- */

static bool is_same_tenure(const struct hf_record *a, const struct hf_record *b)
{
    return a->counter == b->counter && a->owner_len == b->owner_len &&
           memcmp(a->owner, b->owner, a->owner_len) == 0 &&
           a->life.count == b->life.count &&
           memcmp(a->life.of, b->life.of,
                  a->life.count * sizeof(a->life.of[0])) == 0;
}

/* Evict an owner without living processes, if it is still the owner. */
static void drop_dead(struct hf_txn *txn)
{
    if (txn->dead == NULL) {
        return;
    }
    if (txn->dead->has_holder && hf_txn_is_taken(txn) &&
        is_same_tenure(&txn->record, &txn->dead->holder)) {
        hf_txn_vacate(txn);
    }
    hf_txn_bury_sharers(txn);
}

/** The asker holds the name already (a retry after a lost reply, or a pushed
 * grant): only the expiry changes. @return false: it does not hold it. */
static bool hold_on(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    if (hf_txn_is_mine(txn)) {
        /* Rule: no-refresh-on-retry. */
        prolong_mine(txn);
        hf_txn_succeed(txn, txn->record.counter);
    } else if (find_me(txn, &entry)) {
        prolong_sharer(txn, &entry);
        hf_txn_succeed(txn, entry.counter);
    } else {
        return false;
    }
    return true;
}

/* A request that finds waiters must queue after them, even if the name is
 * free: waiters are granted in FIFO order, unless the request is unfair. */
static bool take(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    const struct hf_ask *ask = txn->ask;
    /* Rule: unfair-barge. */
    if (!hf_txn_admits(txn, ask->is_shared, ask->permits) ||
        (!ask->is_unfair && hf_entries_head(txn, &entry))) {
        return false;
    }
    hf_txn_dequeue(txn, ask->owner, ask->owner_len);
    hf_txn_introduce(txn, &entry);
    hf_txn_grant(txn, &entry);
    if (ask->is_unfair) {
        hf_txn_serve(txn); /* sharers at the head of the queue join, too */
    }
    return true;
}

/* The asker gets its place first: serve() may find it at the head. */
static void wait_or_leave(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    const struct hf_ask *ask = txn->ask;
    if (ask->queue_ms > 0) {
        hf_txn_enqueue(txn);
    }
    /* Waiters may have joined a group that the asker may join, too. */
    if (hf_txn_serve(txn) || (ask->queue_ms == 0 && take(txn))) {
        return;
    }
    hf_txn_describe(txn);
    if (ask->queue_ms > 0 &&
        hf_entries_find_waiter(txn, ask->owner, ask->owner_len, &entry)) {
        txn->result.verdict = HF_VERDICT_QUEUED;
        txn->result.ticket = entry.ticket;
        txn->result.ahead = hf_entries_ahead(txn, &entry);
    }
}

static void acquire(struct hf_txn *txn, uint64_t hint)
{
    hf_txn_describe(txn);
    txn->result.had_place = false;
    /* Rule: hint-refused. */
    txn->hint = hint <= hf_txn_bound(txn) ? hint : 0;
    if (!hold_on(txn) && !take(txn)) {
        wait_or_leave(txn);
    }
    if (txn->result.verdict == HF_VERDICT_OK) {
        txn->result.ahead = hf_txn_find_earlier(txn) ? 1 : 0;
    }
}

/* ACQUIRE. A grant is move (b), or (c) into a group, with c = max(c + 1, hint,
 * floor). */
void hf_txn_acquire(struct hf_txn *txn)
{
    drop_dead(txn);
    acquire(txn, txn->ask->counter);
}

/* YIELD. Return the grant at `counter`: move (a), or none if other sharers
 * stay. Then ACQUIRE with the request's ticket. */
void hf_txn_yield(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    uint64_t grant = txn->ask->counter;
    drop_dead(txn);
    /* Rule: yield-without-counter. */
    if (hf_txn_is_mine(txn) && txn->record.counter == grant) {
        hf_txn_vacate(txn);
    } else if (find_me(txn, &entry) && entry.counter == grant) {
        hf_txn_leave(txn, &entry);
    }
    acquire(txn, 0);
}

/* ---- CONFIRM ----------------------------------------------------------- */

/* Can a counter be raised to T? If the floor or the bound forbids it, the reply
 * has its value. */
static bool can_raise(struct hf_txn *txn, uint64_t counter)
{
    uint64_t fence = txn->ask->counter;
    uint64_t bound = hf_txn_bound(txn);
    uint64_t floor = txn->now->floor;
    bool is_above = counter < fence;
    txn->result.bound = fence > bound ? bound : 0;
    txn->result.floor = fence <= bound && is_above && fence < floor ? floor : 0;
    /* Rules: raise-below-floor, bound-is-unknown. */
    return is_above && fence >= floor && fence <= bound;
}

/* A sharer: move (c) to T, which also becomes its v. T must not be below the
 * floor, even if the group's counter is above T: see the Redis script. */
static void confirm_sharer(struct hf_txn *txn, struct hf_local_entry *entry)
{
    uint64_t fence = txn->ask->counter;
    struct hf_record *record = &txn->record;
    if (can_raise(txn, entry->counter)) {
        entry->counter = fence;
        /* Rule: reader-raise-leaves-c. */
        record->counter = hf_txn_max_u64(record->counter, fence);
    }
    prolong_sharer(txn, entry);
    hf_txn_succeed(txn, entry->counter);
}

static void confirm_mine(struct hf_txn *txn)
{
    struct hf_record *record = &txn->record;
    if (can_raise(txn, record->counter)) {
        record->counter = txn->ask->counter;
    }
    prolong_mine(txn);
    /* Rule: naive-raise. */
    hf_txn_succeed(txn, record->counter);
}

/* A holder gets its lock back if it is free: move (b), to T above c, or at c
 * for the last owner. A sharer needs a T above c. */
static void take_back(struct hf_txn *txn, bool is_last)
{
    struct hf_local_entry entry;
    const struct hf_ask *ask = txn->ask;
    struct hf_processes kept = txn->record.life;
    hf_txn_dequeue(txn, ask->owner, ask->owner_len);
    hf_txn_introduce(txn, &entry);
    if (ask->is_shared) {
        hf_txn_join(txn, &entry, ask->counter, hf_txn_asked_until(txn));
    } else {
        bool is_kept = is_last && ask->life == NULL;
        hf_txn_install(txn, ask->owner, ask->owner_len, ask->counter,
                       hf_txn_asked_until(txn), is_kept ? &kept : &entry.life);
    }
    hf_txn_succeed(txn, ask->counter);
}

/* CONFIRM. If the asker owns the name: move (c) to T if c < T <= bound and T is
 * not below the floor; else the counter stays, and the reply has its value. If
 * the name is free for the asker: take_back(). No waiter is served: a holder
 * goes before them if its lease has just ended. */
void hf_txn_confirm(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    const struct hf_ask *ask = txn->ask;
    const struct hf_record *record = &txn->record;
    uint64_t fence = ask->counter;
    hf_txn_describe(txn);
    if (hf_txn_is_mine(txn)) {
        confirm_mine(txn);
        return;
    }
    if (find_me(txn, &entry)) {
        confirm_sharer(txn, &entry);
        return;
    }
    if (!hf_txn_admits(txn, ask->is_shared, ask->permits)) {
        return;
    }
    /* Rule: takeback-without-last. */
    bool is_last = !ask->is_shared && record->has_last &&
                   record->counter == fence && fence > 0 &&
                   hf_txn_is_owner(txn, ask->owner, ask->owner_len);
    bool is_raised = can_raise(txn, record->counter);
    txn->result.bound = 0;
    /* Rule: raise-takes-free. */
    if (ask->reacquires && (is_last || is_raised)) {
        take_back(txn, is_last);
    }
}
