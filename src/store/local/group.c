/* SPDX-License-Identifier: Apache-2.0 */
/* The sharers of a name form a group, which is the name's owner. Its owner text
 * is "shared:<permits>-<n>", where n is the counter at which the group began,
 * so no two groups of a name have the same text. Each sharer has an entry with
 * its own lease and its v, the counter at which it joined. A sharer that joins
 * raises the name's counter, so that each grant is above all counters reported
 * before.
 *
 * The record's lease ends exactly with the longest lease of a sharer; were it
 * longer, a group without sharers would block the waiters. So it is computed
 * again when the sharer with the longest lease leaves.
 *
 * Cost: joining is one lookup and one write besides those of the record;
 * leaving is one deletion. A sharer with the longest lease that leaves, and any
 * that has died, costs a walk over all sharers of the group: O(n). */
#include "store/local/txn.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool hf_txn_is_group(const struct hf_txn *txn)
{
    return txn->record.is_shared && hf_txn_is_taken(txn);
}

bool hf_txn_find_sharer(struct hf_txn *txn, const void *owner, size_t owner_len,
                        struct hf_local_entry *out)
{
    return hf_txn_is_group(txn) &&
           hf_entries_find_sharer(txn, owner, owner_len, out) &&
           hf_instant_before(txn->now->instant, out->until);
}

/* Move (b). The lease of a group without sharers is over at once: the first
 * sharer that joins sets it. */
static void found(struct hf_txn *txn, uint16_t permits, uint64_t counter)
{
    char text[HF_TEXT_NAME];
    int len = snprintf(text, sizeof(text), "shared:%u-%" PRIu64,
                       (unsigned)permits, counter);
    HF_ASSERT(len > 0 && (size_t)len < sizeof(text));
    hf_txn_install(txn, text, (size_t)len, counter, txn->now->instant, NULL);
    txn->record.has_last = false; /* each sharer's v counts instead */
    txn->record.is_shared = true;
    txn->record.permits = permits;
}

void hf_txn_keep_sharer(struct hf_txn *txn, struct hf_local_entry *entry,
                        struct hf_instant until)
{
    /* Rule: shortened-expiry. */
    entry->until = hf_instant_max(entry->until, until);
    hf_entries_put_sharer(txn, entry);
    hf_txn_prolong(txn, entry->until);
}

void hf_txn_join(struct hf_txn *txn, struct hf_local_entry *entry,
                 uint64_t counter, struct hf_instant until)
{
    if (!hf_txn_is_group(txn)) {
        found(txn, entry->permits, counter);
    }
    HF_ASSERT(txn->record.permits == entry->permits);
    /* Rule: reader-keeps-counter. */
    txn->record.counter = hf_txn_max_u64(txn->record.counter, counter);
    entry->counter = counter;
    entry->ticket = 0;
    entry->until = until;
    hf_txn_keep_sharer(txn, entry, until);
}

/* ---- Leaving ----------------------------------------------------------- */

struct longest {
    struct hf_instant now;
    struct hf_instant until;
};

static enum hf_scan_step measure(void *user, const struct hf_local_entry *one)
{
    struct longest *longest = user;
    if (!hf_instant_before(longest->now, one->until)) {
        return HF_SCAN_DROP;
    }
    longest->until = hf_instant_max(longest->until, one->until);
    return HF_SCAN_ON;
}

/* A group lasts for as long as its longest sharer, which may have left. This is
 * also where sharers that have expired are dropped. */
static void remeasure(struct hf_txn *txn)
{
    struct longest longest = {txn->now->instant, txn->now->instant};
    hf_entries_each(txn, HF_ENTRY_SHARER, measure, &longest);
    if (txn->record.n_sharers == 0) {
        hf_txn_vacate(txn);
    } else {
        txn->record.until = longest.until;
    }
}

void hf_txn_leave(struct hf_txn *txn, const struct hf_local_entry *entry)
{
    bool was_longest = entry->until.ns == txn->record.until.ns;
    hf_entries_drop_sharer(txn, entry);
    if (was_longest || txn->record.n_sharers == 0) {
        remeasure(txn);
    }
}

static bool is_same_life(const struct hf_processes *a,
                         const struct hf_processes *b)
{
    return a->count == b->count &&
           memcmp(a->of, b->of, a->count * sizeof(a->of[0])) == 0;
}

void hf_txn_bury_sharers(struct hf_txn *txn)
{
    bool has_buried = false;
    for (size_t i = 0; i < txn->dead->n_sharers; i++) {
        const struct hf_local_entry *dead = &txn->dead->sharers[i];
        struct hf_local_entry entry;
        if (hf_txn_find_sharer(txn, dead->owner, dead->owner_len, &entry) &&
            entry.counter == dead->counter &&
            is_same_life(&entry.life, &dead->life)) {
            hf_entries_drop_sharer(txn, &entry);
            has_buried = true;
        }
    }
    if (has_buried) {
        remeasure(txn);
    }
}
