/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of --once. It makes no move of txn.h: neither owner nor counter
 * changes. */
#include "store/local/txn.h"

#include "base/assert.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

static void write_mark(struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    struct hf_record *record = &txn->record;
    HF_ASSERT(ask->owner_len <= HF_OWNER_MAX);
    record->mark = (struct hf_local_mark){
        .fence = ask->counter,
        .until = hf_txn_asked_until(txn),
        .owner_len = (uint16_t)ask->owner_len,
    };
    if (ask->owner_len > 0) {
        memcpy(record->mark_owner, ask->owner, ask->owner_len);
    }
    txn->is_changed = true;
}

static int64_t left_ms(const struct hf_txn *txn)
{
    return hf_span_ms_ceil(
        hf_instant_until(txn->now->instant, txn->record.mark.until));
}

/* MARK; mark.lua has the rules. */
void hf_txn_mark(struct hf_txn *txn)
{
    const struct hf_ask *ask = txn->ask;
    struct hf_record *record = &txn->record;
    struct hf_result *result = &txn->result;
    if (!hf_instant_before(txn->now->instant, record->mark.until)) {
        record->mark.fence = 0;
        record->mark.owner_len = 0;
    }
    /* Rule: tombstone-replaced. */
    bool is_withdrawn = ask->counter == record->mark.fence &&
                        ask->owner_len == 0 && record->mark.owner_len > 0;
    /* Rule: later-write-wins. */
    if (ask->counter > record->mark.fence || is_withdrawn) {
        write_mark(txn);
    }
    hf_txn_describe(txn);
    result->verdict = HF_VERDICT_OK;
    result->counter = record->mark.fence;
    result->is_group = false;
    result->left_ms = record->mark.fence == 0 ? 0 : left_ms(txn);
    result->owner_len = record->mark.owner_len;
    memcpy(result->owner, record->mark_owner, record->mark.owner_len);
}

size_t hf_txn_emit_ended(const struct hf_txn *txn,
                         char out[HF_RECORD_OWNER_MAX])
{
    const struct hf_record *record = &txn->record;
    if (!hf_record_is_marked(record, txn->now->instant)) {
        return 0;
    }
    memcpy(out, HF_ENDED_MARK, HF_ENDED_MARK_LEN);
    memcpy(out + HF_ENDED_MARK_LEN, record->mark_owner, record->mark.owner_len);
    return HF_ENDED_MARK_LEN + record->mark.owner_len;
}

void hf_txn_show_mark(struct hf_txn *txn)
{
    struct hf_result *result = &txn->result;
    size_t len = hf_txn_emit_ended(txn, result->owner);
    result->owner_len = (uint16_t)len;
    result->is_group = false;
    result->left_ms = len == 0 ? 0 : left_ms(txn);
}
