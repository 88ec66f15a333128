/* SPDX-License-Identifier: Apache-2.0 */
/* THE OWNER IN THE RECORD OF A NAME: READ, INSTALLED, EXTENDED, CLEARED
 *
 * The verbs change an owner through these functions only, which are moves (a)
 * and (b) of txn.h, so the invariants of fences are kept here: no move lowers
 * the counter (I1, asserted), and one that clears the owner also clears what a
 * late CONFIRM could install again (has_last), so that no counter gets a second
 * owner (I2). A lease is extended and never shortened: a request that was
 * overtaken on its way may ask for less than the holder relies on.
 *
 * Cost: none but copies within the record, which the transaction writes once at
 * its end. An owner that follows a group of sharers removes their entries, one
 * by one. */
#include "base/assert.h"
#include "base/time.h"
#include "store/local/txn.h"

#include <string.h>

bool hf_txn_is_taken(const struct hf_txn *txn)
{
    return hf_record_is_taken(&txn->record, txn->now->instant);
}

bool hf_txn_is_owner(const struct hf_txn *txn, const void *owner,
                     size_t owner_len)
{
    return txn->record.owner_len == owner_len &&
           memcmp(txn->record.owner, owner, owner_len) == 0;
}

bool hf_txn_is_mine(const struct hf_txn *txn)
{
    return hf_txn_is_taken(txn) &&
           hf_txn_is_owner(txn, txn->ask->owner, txn->ask->owner_len);
}

uint64_t hf_txn_bound(const struct hf_txn *txn)
{
    uint64_t base = hf_txn_max_u64(txn->record.counter, txn->now->wall_us);
    return base > HF_FENCE_MAX - HF_FENCE_AHEAD_MAX ? HF_FENCE_MAX
                                                    : base + HF_FENCE_AHEAD_MAX;
}

struct hf_instant hf_txn_after(const struct hf_txn *txn, struct hf_span lease)
{
    return hf_instant_add(txn->now->instant, lease);
}

struct hf_instant hf_txn_asked_until(const struct hf_txn *txn)
{
    return hf_txn_after(txn, hf_span_ms(txn->ask->ttl_ms));
}

void hf_txn_describe(struct hf_txn *txn)
{
    const struct hf_record *record = &txn->record;
    struct hf_result *result = &txn->result;
    result->verdict = HF_VERDICT_REFUSED;
    result->counter = record->counter;
    result->floor = 0;
    result->bound = 0;
    result->ticket = txn->now->wall_us;
    result->ahead = 0;
    result->left_ms = 0;
    result->is_group = false;
    result->permits = 0;
    result->owner_len = 0;
    if (hf_txn_is_taken(txn)) {
        struct hf_span left =
            hf_instant_until(txn->now->instant, record->until);
        /* Rounded up, so that no client polls a millisecond early. */
        result->left_ms = hf_span_ms_ceil(left);
        result->is_group = record->is_shared;
        result->permits = record->permits;
        result->owner_len = record->owner_len;
        memcpy(result->owner, record->owner, record->owner_len);
    }
}

void hf_txn_succeed(struct hf_txn *txn, uint64_t counter)
{
    txn->result.verdict = HF_VERDICT_OK;
    txn->result.counter = counter;
    txn->is_changed = true;
}

void hf_txn_prolong(struct hf_txn *txn, struct hf_instant until)
{
    /* Rule: shortened-expiry. */
    txn->record.until = hf_instant_max(txn->record.until, until);
}

void hf_txn_install(struct hf_txn *txn, const void *owner, size_t owner_len,
                    uint64_t counter, struct hf_instant until,
                    const struct hf_processes *life)
{
    struct hf_record *record = &txn->record;
    HF_ASSERT(owner_len > 0 && owner_len <= HF_OWNER_MAX);
    /* I1: */
    HF_ASSERT(record->counter <= counter);
    hf_entries_drop_sharers(txn); /* of a group that is over */
    record->counter = counter;
    record->until = until;
    record->is_owned = true;
    record->has_last = true;
    record->is_shared = false;
    record->permits = 0;
    record->life.count = 0;
    if (life != NULL) {
        record->life = *life;
    }
    record->owner_len = (uint16_t)owner_len;
    memcpy(record->owner, owner, owner_len);
    txn->is_changed = true;
}

void hf_txn_vacate(struct hf_txn *txn)
{
    struct hf_record *record = &txn->record;
    hf_entries_drop_sharers(txn);
    record->is_owned = false;
    record->has_last = false;
    record->is_shared = false;
    record->permits = 0;
    record->owner_len = 0;
    record->life.count = 0;
    record->until = txn->now->instant;
    txn->is_changed = true;
}
