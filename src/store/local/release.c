/* SPDX-License-Identifier: Apache-2.0 */
/* RELEASE, and a grant that is taken back: each serves the next waiter in the
 * same transaction. */
#include "store/local/txn.h"

#include "base/assert.h"

#include <string.h>

/* A RELEASE that reserves is repeated after a lost reply, and is OK again. */
static bool is_ended_owner(const struct hf_txn *txn)
{
    const struct hf_record *record = &txn->record;
    const struct hf_ask *ask = txn->ask;
    return record->owner_len == HF_ENDED_MARK_LEN + ask->owner_len &&
           memcmp(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN) == 0 &&
           memcmp(record->owner + HF_ENDED_MARK_LEN, ask->owner,
                  ask->owner_len) == 0;
}

/* Keep the name taken until the request's ttl has passed. A move (a), since no
 * client has the owner text "ended:…". */
static void mark_ended(struct hf_txn *txn)
{
    struct hf_record *record = &txn->record;
    const struct hf_ask *ask = txn->ask;
    HF_ASSERT(HF_ENDED_MARK_LEN + ask->owner_len <= sizeof(record->owner));
    memcpy(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN);
    memcpy(record->owner + HF_ENDED_MARK_LEN, ask->owner, ask->owner_len);
    record->owner_len = (uint16_t)(HF_ENDED_MARK_LEN + ask->owner_len);
    record->has_last = false;
    record->life.count = 0; /* it is to outlive the process */
    record->until = hf_txn_asked_until(txn);
}

/** @return true: the asker had a live lock or share. */
static bool give_back(struct hf_txn *txn)
{
    struct hf_local_entry entry;
    const struct hf_ask *ask = txn->ask;
    if (hf_txn_is_group(txn)) {
        bool is_there =
            hf_entries_find_sharer(txn, ask->owner, ask->owner_len, &entry);
        if (is_there) {
            hf_txn_leave(txn, &entry);
        }
        return is_there && hf_instant_before(txn->now->instant, entry.until);
    }
    bool was_mine = hf_txn_is_mine(txn);
    if (was_mine && ask->ttl_ms > 0) {
        mark_ended(txn);
    } else if (was_mine || (!hf_txn_is_taken(txn) &&
                            hf_txn_is_owner(txn, ask->owner, ask->owner_len))) {
        hf_txn_vacate(txn);
    }
    return was_mine;
}

/* Move (c) or (d) to T, so that later grants are above each counter that the
 * asker has seen. A T above the bound is ignored, since a release must not fail
 * because of it. */
static void align(struct hf_txn *txn)
{
    struct hf_record *record = &txn->record;
    uint64_t fence = txn->ask->counter;
    if (record->counter < fence && fence <= hf_txn_bound(txn)) {
        if (!hf_txn_is_taken(txn)) {
            hf_txn_vacate(txn); /* an owner whose lease is over */
        }
        record->counter = fence;
        record->has_last = false;
        txn->is_changed = true;
    }
}

/* RELEASE. Remove the asker from the queue. If it owns the name, or is the last
 * sharer: move (a); an owner with a ttl: mark_ended(). If the asker owned the
 * name, or the name is free: align(). Then serve the next waiter. */
void hf_txn_release(struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    hf_txn_describe(txn);
    hf_txn_dequeue(txn, ask->owner, ask->owner_len);
    bool is_ended = hf_txn_is_taken(txn) && is_ended_owner(txn);
    bool was_mine = give_back(txn);
    if (!hf_txn_is_group(txn) && (was_mine || !hf_txn_is_taken(txn))) {
        align(txn);
        txn->result.counter = txn->record.counter;
    }
    if (was_mine) {
        hf_txn_succeed(txn, txn->record.counter);
    } else if (is_ended) {
        txn->result.verdict = HF_VERDICT_OK; /* a retry */
    }
    hf_txn_serve(txn);
}

void hf_txn_revoke(struct hf_txn *txn, const struct hf_grant *grant)
{
    struct hf_local_entry entry;
    bool is_his = hf_txn_is_taken(txn) &&
                  hf_txn_is_owner(txn, grant->owner, grant->owner_len) &&
                  txn->record.counter == grant->note.counter;
    if (is_his) {
        hf_txn_vacate(txn);
    } else if (hf_txn_find_sharer(txn, grant->owner, grant->owner_len,
                                  &entry) &&
               entry.counter == grant->note.counter) {
        hf_txn_leave(txn, &entry);
    }
    hf_txn_serve(txn);
}
