/* SPDX-License-Identifier: Apache-2.0 */
/* RELEASE, BREAK and INSPECT. A verb that frees the name serves the next waiter
 * in the same transaction. */
#include "store/local/visit.h"

#include "base/assert.h"

#include <string.h>

/* The asker has released already, and kept the name taken. */
static bool is_ended_owner(const struct hf_visit *visit)
{
    const struct hf_record *record = &visit->record;
    const struct hf_ask *ask = visit->ask;
    return record->owner_len == HF_ENDED_MARK_LEN + ask->owner_len &&
           memcmp(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN) == 0 &&
           memcmp(record->owner + HF_ENDED_MARK_LEN, ask->owner,
                  ask->owner_len) == 0;
}

/* ---- RELEASE ----------------------------------------------------------- */

/* Keep the name taken until the request's ttl has passed. A move (a), since no
 * client has the owner text "ended:…". */
static void mark_ended(struct hf_visit *visit)
{
    struct hf_record *record = &visit->record;
    const struct hf_ask *ask = visit->ask;
    memcpy(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN);
    memcpy(record->owner + HF_ENDED_MARK_LEN, ask->owner, ask->owner_len);
    record->owner_len = (uint16_t)(HF_ENDED_MARK_LEN + ask->owner_len);
    record->has_last = false;
    record->life.count = 0; /* it is to outlive the process */
    record->until_ns = hf_visit_asked_until(visit);
}

/* Release the asker's lock or share. @return true: it had a live one. */
static bool give_back(struct hf_visit *visit)
{
    struct hf_entry entry;
    const struct hf_ask *ask = visit->ask;
    if (hf_visit_is_group(visit)) {
        bool is_there =
            hf_entries_find_sharer(visit, ask->owner, ask->owner_len, &entry);
        if (is_there) {
            hf_visit_leave(visit, &entry);
        }
        return is_there && visit->now->boot_ns < entry.until_ns;
    }
    bool was_mine = hf_visit_is_mine(visit);
    if (was_mine && ask->ttl_ms > 0) {
        mark_ended(visit);
    } else if (was_mine ||
               (!hf_visit_is_taken(visit) && visit->record.has_last &&
                hf_visit_is_owner(visit, ask->owner, ask->owner_len))) {
        hf_visit_clear(visit);
    }
    return was_mine;
}

/* Move (c) or (d) to T, so that later grants are above each counter that the
 * asker has seen. A T above the bound is ignored, since a release must not fail
 * because of it. */
static void align(struct hf_visit *visit)
{
    struct hf_record *record = &visit->record;
    uint64_t fence = visit->ask->counter;
    if (record->counter < fence && fence <= hf_visit_bound(visit)) {
        record->counter = fence;
        record->has_last = false;
        visit->is_changed = true;
    }
}

/* RELEASE. Remove the asker from the queue. If it owns the name, or is the last
 * sharer: move (a); an owner with a ttl: mark_ended(). If the asker owned the
 * name, or the name is free: align(). Then serve the next waiter. */
void hf_visit_release(struct hf_visit *visit)
{
    const struct hf_ask *ask = visit->ask;
    hf_visit_describe(visit);
    hf_visit_dequeue(visit, ask->owner, ask->owner_len);
    bool is_ended = hf_visit_is_taken(visit) && is_ended_owner(visit);
    bool was_mine = give_back(visit);
    if (!hf_visit_is_group(visit) && (was_mine || !hf_visit_is_taken(visit))) {
        align(visit);
        visit->deed.counter = visit->record.counter;
    }
    if (was_mine) {
        hf_visit_succeed(visit, visit->record.counter);
    } else if (is_ended) {
        visit->deed.verdict = HF_VERDICT_OK; /* a retry */
    }
    hf_visit_serve(visit);
}

void hf_visit_revoke(struct hf_visit *visit, const struct hf_grant *grant)
{
    struct hf_entry entry;
    bool is_his = hf_visit_is_taken(visit) &&
                  hf_visit_is_owner(visit, grant->owner, grant->owner_len) &&
                  visit->record.counter == grant->note.counter;
    if (is_his) {
        hf_visit_clear(visit);
    } else if (hf_visit_find_sharer(visit, grant->owner, grant->owner_len,
                                    &entry) &&
               entry.counter == grant->note.counter) {
        hf_visit_leave(visit, &entry);
    }
    hf_visit_serve(visit);
}

/* ---- BREAK, INSPECT ---------------------------------------------------- */

/* A name that was released and is only kept taken has no holder. */
static bool has_holder(const struct hf_visit *visit)
{
    const struct hf_record *record = &visit->record;
    return hf_visit_is_taken(visit) &&
           (record->owner_len <= HF_ENDED_MARK_LEN ||
            memcmp(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN) != 0);
}

/* No move of visit.h, since the counter still belongs to the holder: a breaker
 * gets no fence. The name still becomes free when the holder's lease or
 * processes end. */
static void rename_owner(struct hf_visit *visit, const void *owner,
                         size_t owner_len, bool is_holder)
{
    struct hf_record *record = &visit->record;
    HF_ASSERT(owner_len > 0 && owner_len <= HF_OWNER_MAX);
    memcpy(record->owner, owner, owner_len);
    record->owner_len = (uint16_t)owner_len;
    record->has_last = is_holder;
    visit->is_changed = true;
}

static void keep_taken(struct hf_visit *visit, uint64_t next)
{
    const struct hf_ask *ask = visit->ask;
    if (visit->record.is_shared) {
        hf_visit_install(visit, ask->owner, ask->owner_len, next,
                         visit->record.until_ns, NULL);
    } else {
        rename_owner(visit, ask->owner, ask->owner_len, false);
    }
}

/* BREAK. The breaker's owner text replaces the holder's for the rest of the
 * lease. The counter stays, so that a second BREAK with `back` can restore the
 * holder; the breaker's RELEASE raises it. A group of sharers cannot be
 * restored: move (b), and all sharers lose the name. With `now`, or without a
 * holder: (a) and (d), and the first waiter is served, whose greater fence
 * makes guarded stores refuse the old holder. */
void hf_visit_break(struct hf_visit *visit)
{
    const struct hf_ask *ask = visit->ask;
    struct hf_record *record = &visit->record;
    bool is_mine = hf_visit_is_mine(visit);
    hf_visit_describe(visit);
    uint64_t next = hf_max_u64(record->counter + 1, visit->now->floor);
    if (next > HF_FENCE_MAX) {
        visit->deed.verdict = HF_VERDICT_ERROR;
        return;
    }
    visit->deed.verdict = HF_VERDICT_OK;
    visit->deed.counter = next;
    if (ask->back_len > 0 && is_mine && !record->has_last) {
        rename_owner(visit, ask->back, ask->back_len, true);
    } else if (ask->back_len == 0 && !is_mine && has_holder(visit) &&
               !ask->now) {
        keep_taken(visit, next);
    } else if (ask->back_len == 0 && !is_mine) {
        hf_visit_clear(visit);
        record->counter = next;
        hf_visit_serve(visit);
    }
}

void hf_visit_inspect(struct hf_visit *visit)
{
    hf_visit_describe(visit);
    if (!hf_visit_is_taken(visit)) {
        hf_visit_show_mark(visit);
    }
    visit->deed.verdict = HF_VERDICT_OK;
}
