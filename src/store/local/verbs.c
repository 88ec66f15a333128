/* SPDX-License-Identifier: Apache-2.0 */
/* ACQUIRE, YIELD and CONFIRM, with the rules of the Redis scripts. There is one
 * node, and its clock is that of this machine. */
#include "store/local/visit.h"

#include <string.h>

static bool find_me(struct hf_visit *visit, struct hf_entry *out)
{
    return hf_visit_find_sharer(visit, visit->ask->owner, visit->ask->owner_len,
                                out);
}

static void prolong_mine(struct hf_visit *visit)
{
    hf_visit_prolong(visit, hf_visit_asked_until(visit));
    if (visit->ask->life != NULL) {
        visit->record.life = *visit->life;
    }
}

static void prolong_sharer(struct hf_visit *visit, struct hf_entry *entry)
{
    if (visit->ask->life != NULL) {
        entry->life = *visit->life;
    }
    hf_visit_keep_sharer(visit, entry, hf_visit_asked_until(visit));
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

/* Evict an owner whose processes have ended, if it is still the owner. */
static void bury(struct hf_visit *visit)
{
    if (visit->dead == NULL) {
        return;
    }
    if (visit->dead->has_holder && hf_visit_is_taken(visit) &&
        is_same_tenure(&visit->record, &visit->dead->holder)) {
        hf_visit_clear(visit);
    }
    hf_visit_bury_sharers(visit);
}

/* The asker holds the name already (a retry after a lost reply, or a pushed
 * grant): only the expiry changes. @return false: it does not hold it. */
static bool hold_on(struct hf_visit *visit)
{
    struct hf_entry entry;
    if (hf_visit_is_mine(visit)) {
        prolong_mine(visit);
        hf_visit_succeed(visit, visit->record.counter);
    } else if (find_me(visit, &entry)) {
        prolong_sharer(visit, &entry);
        hf_visit_succeed(visit, entry.counter);
    } else {
        return false;
    }
    visit->deed.ahead = hf_visit_has_earlier(visit) ? 1 : 0;
    return true;
}

/* A request that finds waiters must queue behind them, even if the name is
 * free: waiters are granted in FIFO order, unless the request is unfair. */
static bool take(struct hf_visit *visit)
{
    struct hf_entry entry;
    const struct hf_ask *ask = visit->ask;
    if (!hf_visit_admits(visit, ask->is_shared, ask->permits) ||
        (!ask->is_unfair && hf_entries_head(visit, &entry))) {
        return false;
    }
    hf_visit_dequeue(visit, ask->owner, ask->owner_len);
    hf_visit_introduce(visit, &entry);
    hf_visit_grant(visit, &entry);
    return true;
}

/* Enqueue the asker if it waits; then serve the queue, perhaps the asker. */
static void wait_or_leave(struct hf_visit *visit)
{
    struct hf_entry entry;
    const struct hf_ask *ask = visit->ask;
    if (ask->queue_ms > 0) {
        hf_visit_enqueue(visit);
    }
    if (hf_visit_serve(visit)) {
        return;
    }
    hf_visit_describe(visit);
    if (ask->queue_ms > 0 &&
        hf_entries_find_waiter(visit, ask->owner, ask->owner_len, &entry)) {
        visit->deed.verdict = HF_VERDICT_QUEUED;
        visit->deed.ticket = entry.ticket;
        visit->deed.ahead = hf_entries_ahead(visit, &entry);
    }
}

static void acquire(struct hf_visit *visit, uint64_t hint)
{
    hf_visit_describe(visit);
    visit->deed.had_place = false;
    if (hold_on(visit)) {
        return;
    }
    visit->hint = hint <= hf_visit_bound(visit) ? hint : 0;
    if (!take(visit)) {
        wait_or_leave(visit);
    }
}

/* ACQUIRE. A grant is move (b), or (c) into a group, with c = max(c + 1, hint,
 * floor). */
void hf_visit_acquire(struct hf_visit *visit)
{
    bury(visit);
    acquire(visit, visit->ask->counter);
}

/* YIELD. Return the grant at `counter`: move (a), or none if other sharers
 * stay. Then ACQUIRE with the request's ticket. */
void hf_visit_yield(struct hf_visit *visit)
{
    struct hf_entry entry;
    uint64_t grant = visit->ask->counter;
    bury(visit);
    if (hf_visit_is_mine(visit) && visit->record.counter == grant) {
        hf_visit_clear(visit);
    } else if (find_me(visit, &entry) && entry.counter == grant) {
        hf_visit_leave(visit, &entry);
    }
    acquire(visit, 0);
}

/* ---- CONFIRM ----------------------------------------------------------- */

/* Can a counter be raised to T? If the floor or the bound forbids it, the reply
 * has its value. */
static bool can_raise(struct hf_visit *visit, uint64_t counter)
{
    uint64_t fence = visit->ask->counter;
    uint64_t bound = hf_visit_bound(visit);
    uint64_t floor = visit->now->floor;
    bool is_above = counter < fence;
    visit->deed.bound = fence > bound ? bound : 0;
    visit->deed.floor = fence <= bound && is_above && fence < floor ? floor : 0;
    return is_above && fence >= floor && fence <= bound;
}

/* A sharer: move (c) to T, which also becomes its v. T must not be below the
 * floor, even if the group's counter is above T: see the Redis script. */
static void confirm_sharer(struct hf_visit *visit, struct hf_entry *entry)
{
    uint64_t fence = visit->ask->counter;
    struct hf_record *record = &visit->record;
    if (can_raise(visit, entry->counter)) {
        entry->counter = fence;
        record->counter = hf_max_u64(record->counter, fence);
    }
    prolong_sharer(visit, entry);
    hf_visit_succeed(visit, entry->counter);
}

static void confirm_mine(struct hf_visit *visit)
{
    struct hf_record *record = &visit->record;
    if (can_raise(visit, record->counter)) {
        record->counter = visit->ask->counter;
    }
    prolong_mine(visit);
    hf_visit_succeed(visit, record->counter);
}

/* A holder whose lock is free again gets it back: move (b), to T above c, or at
 * c for the last owner. A sharer needs a T above c. */
static void take_back(struct hf_visit *visit, bool is_last)
{
    struct hf_entry entry;
    const struct hf_ask *ask = visit->ask;
    struct hf_processes kept = visit->record.life;
    hf_visit_dequeue(visit, ask->owner, ask->owner_len);
    hf_visit_introduce(visit, &entry);
    if (ask->is_shared) {
        hf_visit_join(visit, &entry, ask->counter, hf_visit_asked_until(visit));
    } else {
        bool is_kept = is_last && ask->life == NULL;
        hf_visit_install(visit, ask->owner, ask->owner_len, ask->counter,
                         hf_visit_asked_until(visit),
                         is_kept ? &kept : &entry.life);
    }
    hf_visit_succeed(visit, ask->counter);
}

/* CONFIRM. If the asker owns the name: move (c) to T if c < T <= bound and T is
 * not below the floor; else the counter stays, and the reply has its value. If
 * the name is free for the asker: take_back(). No waiter is served, since a
 * holder whose lease has just ended goes before them. */
void hf_visit_confirm(struct hf_visit *visit)
{
    struct hf_entry entry;
    const struct hf_ask *ask = visit->ask;
    const struct hf_record *record = &visit->record;
    uint64_t fence = ask->counter;
    hf_visit_describe(visit);
    if (hf_visit_is_mine(visit)) {
        confirm_mine(visit);
        return;
    }
    if (find_me(visit, &entry)) {
        confirm_sharer(visit, &entry);
        return;
    }
    if (!hf_visit_admits(visit, ask->is_shared, ask->permits)) {
        return;
    }
    bool is_last = !ask->is_shared && record->has_last &&
                   record->counter == fence && fence > 0 &&
                   hf_visit_is_owner(visit, ask->owner, ask->owner_len);
    bool is_raised = can_raise(visit, record->counter);
    visit->deed.bound = 0;
    if (ask->holder && (is_last || is_raised)) {
        take_back(visit, is_last);
    }
}
