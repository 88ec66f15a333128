/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of --once. It makes no move of visit.h: neither owner nor counter
 * changes. */
#include "store/local/visit.h"

#include "base/assert.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

static void write_mark(struct hf_visit *visit)
{
    const struct hf_ask *ask = visit->ask;
    struct hf_record *record = &visit->record;
    HF_ASSERT(ask->owner_len <= HF_OWNER_MAX);
    record->mark = (struct hf_local_mark){
        .fence = ask->counter,
        .until_ns = hf_visit_asked_until(visit),
        .owner_len = (uint16_t)ask->owner_len,
    };
    if (ask->owner_len > 0) {
        memcpy(record->mark_owner, ask->owner, ask->owner_len);
    }
    visit->is_changed = true;
}

static int64_t left_ms(const struct hf_visit *visit)
{
    struct hf_span left = {visit->record.mark.until_ns - visit->now->boot_ns};
    return hf_span_ms_ceil(left);
}

/* MARK; mark.lua has the rules. */
void hf_visit_mark(struct hf_visit *visit)
{
    const struct hf_ask *ask = visit->ask;
    struct hf_record *record = &visit->record;
    struct hf_deed *deed = &visit->deed;
    if (visit->now->boot_ns >= record->mark.until_ns) {
        record->mark.fence = 0;
        record->mark.owner_len = 0;
    }
    bool is_withdrawn = ask->counter == record->mark.fence &&
                        ask->owner_len == 0 && record->mark.owner_len > 0;
    if (ask->counter > record->mark.fence || is_withdrawn) {
        write_mark(visit);
    }
    hf_visit_describe(visit);
    deed->verdict = HF_VERDICT_OK;
    deed->counter = record->mark.fence;
    deed->is_group = false;
    deed->left_ms = record->mark.fence == 0 ? 0 : left_ms(visit);
    deed->owner_len = record->mark.owner_len;
    memcpy(deed->owner, record->mark_owner, record->mark.owner_len);
}

size_t hf_visit_emit_ended(const struct hf_visit *visit,
                           char out[HF_RECORD_OWNER_MAX])
{
    const struct hf_record *record = &visit->record;
    if (!hf_record_is_marked(record, visit->now->boot_ns)) {
        return 0;
    }
    memcpy(out, HF_ENDED_MARK, HF_ENDED_MARK_LEN);
    memcpy(out + HF_ENDED_MARK_LEN, record->mark_owner, record->mark.owner_len);
    return HF_ENDED_MARK_LEN + record->mark.owner_len;
}

void hf_visit_show_mark(struct hf_visit *visit)
{
    struct hf_deed *deed = &visit->deed;
    size_t len = hf_visit_emit_ended(visit, deed->owner);
    deed->owner_len = (uint16_t)len;
    deed->is_group = false;
    deed->left_ms = len == 0 ? 0 : left_ms(visit);
}
