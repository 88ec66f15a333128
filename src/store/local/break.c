/* SPDX-License-Identifier: Apache-2.0 */
/* BREAK: a breaker takes the rest of a holder's lease, gives it back, or frees
 * the name. A break that is given up gives the holder its lock back with the
 * same fence: so the counter stays, and the record counts the breakers that
 * took the name from one another. */
#include "store/local/txn.h"

#include "base/assert.h"

#include <string.h>

/* No move of txn.h, since the counter still belongs to the holder: a breaker
 * gets no fence. The name still becomes free when the holder's lease or
 * processes end. */
static void rename_owner(struct hf_txn *txn, const void *owner,
                         size_t owner_len)
{
    struct hf_record *record = &txn->record;
    HF_ASSERT(owner_len > 0 && owner_len <= HF_OWNER_MAX);
    memcpy(record->owner, owner, owner_len);
    record->owner_len = (uint16_t)owner_len;
    txn->is_changed = true;
}

/* Of several breakers each replaces the one before. The record has the text of
 * the latest, and counts the others: it cannot tell a breaker's text from a
 * holder's. */
static void note_break(struct hf_record *record)
{
    if (record->has_last) {
        record->has_last = false;
        record->n_broken = 0;
    } else if (record->n_broken < HF_RECORD_BROKEN_MAX) {
        record->n_broken++;
    }
}

/* The name goes back to the holder, or to the breaker before this one. */
static void note_return(struct hf_record *record)
{
    if (record->n_broken == 0) {
        record->has_last = true;
    } else if (record->n_broken < HF_RECORD_BROKEN_MAX) {
        record->n_broken--;
    }
}

static void keep_taken(struct hf_txn *txn, uint64_t next)
{
    const struct hf_ask *ask = txn->ask;
    if (txn->record.is_shared) {
        hf_txn_install(txn, ask->owner, ask->owner_len, next, txn->record.until,
                       NULL);
    } else {
        rename_owner(txn, ask->owner, ask->owner_len);
        note_break(&txn->record);
    }
}

/* BREAK. The breaker's owner text replaces the holder's for the rest of the
 * lease. The counter stays, so that a second BREAK with `back` can restore the
 * holder; the breaker's RELEASE raises it. A group of sharers cannot be
 * restored: move (b), and all sharers lose the name. With `frees_now`, or
 * without a holder: (a) and (d), and the first waiter is served, whose greater
 * fence makes guarded stores refuse the old holder. */
void hf_txn_break(struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    struct hf_record *record = &txn->record;
    bool is_mine = hf_txn_is_mine(txn);
    hf_txn_describe(txn);
    uint64_t next = hf_txn_max_u64(record->counter + 1, txn->now->floor);
    if (next > HF_FENCE_MAX) {
        txn->result.verdict = HF_VERDICT_ERROR;
        return;
    }
    txn->result.verdict = HF_VERDICT_OK;
    txn->result.counter = next;
    /* Rule: given-up-break-frees. */
    if (ask->back_len > 0 && is_mine && !record->has_last) {
        rename_owner(txn, ask->back, ask->back_len);
        note_return(record);
    } else if (ask->back_len == 0 && !is_mine &&
               hf_record_has_holder(record, txn->now->instant) &&
               !ask->frees_now) {
        keep_taken(txn, next);
    } else if (ask->back_len == 0 && !is_mine) {
        hf_txn_vacate(txn);
        record->counter = next;
        hf_txn_serve(txn);
    }
}
