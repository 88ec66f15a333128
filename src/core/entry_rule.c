/* SPDX-License-Identifier: Apache-2.0 */
/* ORDERED ENTRIES: WHICH HOLD, AND WHICH ONE A WAITER WATCHES
 *
 * Two entries exclude each other if one of them is exclusive. An entry holds if
 * no earlier entry excludes it. Otherwise it waits, and watches the latest of
 * the earlier entries that exclude it:
 *
 *     number     3      5      8      9     12     14
 *     mode    shared shared  excl. shared shared  excl.
 *             holds  holds   waits  waits  waits  waits
 *     watches    -      -      5      8      8     12
 *
 * Why it is safe: numbers rise, so no entry is ever created before ours. A list
 * that has our entry is not older than our entry, so it has all earlier entries
 * that still live. Hence a later state has no more of them, and of two entries
 * that exclude each other the greater number sees the smaller one.
 *
 * Why nothing starves: an entry that is created later changes nothing for
 * ours. A reader after a writer waits for that writer, also while readers
 * hold.
 *
 * Why one watch is enough: while the watched entry lives, we wait, whatever
 * other entry ends. When it ends, we hold or watch an earlier one. So a writer
 * after readers lists once for each reader that was still there. Each end
 * wakes one writer at most, or the readers between two writers: never all.
 *
 * Cost: no round trip; one pass over the list. */
#include "core/entry_rule.h"

#include "base/assert.h"

#include <stdbool.h>
#include <string.h>

static bool is_same(const struct hf_entry *a, const struct hf_entry *b)
{
    return a->number == b->number &&
           memcmp(&a->owner, &b->owner, sizeof(a->owner)) == 0;
}

static bool excludes(const struct hf_entry *a, const struct hf_entry *b)
{
    return a->mode != HF_SHARED || b->mode != HF_SHARED;
}

void hf_entries_judge(const struct hf_entry *entries, size_t n_entries,
                      const struct hf_entry *own, struct hf_entry_rank *out)
{
    HF_ASSERT(own->number != 0);
    struct hf_entry_rank rank = {HF_ENTRY_HOLDS, 0, 0};
    bool is_listed = false;
    for (size_t i = 0; i < n_entries; i++) {
        const struct hf_entry *entry = &entries[i];
        if (is_same(entry, own)) {
            is_listed = true;
            continue;
        }
        /* Of two with one number neither is the earlier one: both wait. */
        if (entry->number > own->number) {
            continue;
        }
        rank.ahead++;
        bool is_latest = rank.turn == HF_ENTRY_HOLDS ||
                         entry->number > entries[rank.watch].number;
        if (excludes(entry, own) && is_latest) {
            rank.turn = HF_ENTRY_WAITS;
            rank.watch = i;
        }
    }
    if (!is_listed) {
        rank = (struct hf_entry_rank){HF_ENTRY_UNPROVEN, 0, 0};
    }
    if (rank.turn == HF_ENTRY_WAITS) {
        HF_ASSERT(rank.watch < n_entries && rank.ahead > 0);
    }
    *out = rank;
}
