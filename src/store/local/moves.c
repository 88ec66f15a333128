/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the verbs; visit.h says why they are sound. */
#include "base/assert.h"
#include "base/time.h"
#include "store/local/visit.h"

#include <string.h>

bool hf_visit_is_taken(const struct hf_visit *visit)
{
    return hf_record_is_taken(&visit->record, visit->now->boot_ns);
}

bool hf_visit_is_owner(const struct hf_visit *visit, const void *owner,
                       size_t owner_len)
{
    return visit->record.owner_len == owner_len &&
           memcmp(visit->record.owner, owner, owner_len) == 0;
}

bool hf_visit_is_mine(const struct hf_visit *visit)
{
    return hf_visit_is_taken(visit) &&
           hf_visit_is_owner(visit, visit->ask->owner, visit->ask->owner_len);
}

uint64_t hf_visit_bound(const struct hf_visit *visit)
{
    uint64_t base = hf_max_u64(visit->record.counter, visit->now->wall_us);
    return base > HF_FENCE_MAX - HF_FENCE_AHEAD_MAX ? HF_FENCE_MAX
                                                    : base + HF_FENCE_AHEAD_MAX;
}

int64_t hf_visit_after_ms(const struct hf_visit *visit, int64_t ms)
{
    struct hf_instant at = {visit->now->boot_ns};
    return hf_instant_add(at, hf_span_ms(ms)).ns;
}

int64_t hf_visit_asked_until(const struct hf_visit *visit)
{
    return hf_visit_after_ms(visit, visit->ask->ttl_ms);
}

void hf_visit_describe(struct hf_visit *visit)
{
    const struct hf_record *record = &visit->record;
    struct hf_deed *deed = &visit->deed;
    deed->verdict = HF_VERDICT_REFUSED;
    deed->counter = record->counter;
    deed->floor = 0;
    deed->bound = 0;
    deed->ticket = visit->now->wall_us;
    deed->ahead = 0;
    deed->left_ms = 0;
    deed->is_group = false;
    deed->permits = 0;
    deed->owner_len = 0;
    if (hf_visit_is_taken(visit)) {
        struct hf_span left = {record->until_ns - visit->now->boot_ns};
        /* Rounded up, so that no client polls a millisecond early. */
        deed->left_ms = hf_span_ms_ceil(left);
        deed->is_group = record->is_shared;
        deed->permits = record->permits;
        deed->owner_len = record->owner_len;
        memcpy(deed->owner, record->owner, record->owner_len);
    }
}

void hf_visit_succeed(struct hf_visit *visit, uint64_t counter)
{
    visit->deed.verdict = HF_VERDICT_OK;
    visit->deed.counter = counter;
    visit->is_changed = true;
}

void hf_visit_prolong(struct hf_visit *visit, int64_t until_ns)
{
    if (visit->record.until_ns < until_ns) {
        visit->record.until_ns = until_ns;
    }
}

void hf_visit_install(struct hf_visit *visit, const void *owner,
                      size_t owner_len, uint64_t counter, int64_t until_ns,
                      const struct hf_processes *life)
{
    struct hf_record *record = &visit->record;
    HF_ASSERT(owner_len > 0 && owner_len <= HF_OWNER_MAX);
    hf_entries_drop_sharers(visit); /* of a group that is over */
    record->counter = counter;
    record->until_ns = until_ns;
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
    visit->is_changed = true;
}

void hf_visit_clear(struct hf_visit *visit)
{
    struct hf_record *record = &visit->record;
    hf_entries_drop_sharers(visit);
    record->is_owned = false;
    record->has_last = false;
    record->is_shared = false;
    record->permits = 0;
    record->owner_len = 0;
    record->life.count = 0;
    record->until_ns = visit->now->boot_ns;
    visit->is_changed = true;
}
