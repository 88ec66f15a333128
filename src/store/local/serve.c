/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a name, in FIFO order.
 *
 * A transaction that frees a name also grants it to the first live waiter. The
 * grant is a claim: its lease is the waiter's queue_ms, and a CONFIRM extends
 * it to the ttl. So a free name never has a live waiter, and only the waiter
 * with the grant is notified. Waiters at the head that may share the name get
 * it together; the first that may not ends the loop.
 *
 * Cost: each grant is a few lookups and writes in the transaction that frees
 * the name; so is each expired place, once. An array of the grants, kept. */
#include "store/local/txn.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/time.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

bool hf_txn_admits(const struct hf_txn *txn, bool is_shared, uint16_t permits)
{
    if (!hf_txn_is_taken(txn)) {
        return true;
    }
    return is_shared && txn->record.is_shared && txn->record.permits == permits;
}

void hf_txn_introduce(const struct hf_txn *txn, struct hf_local_entry *out)
{
    const struct hf_ask *ask = txn->ask;
    HF_ASSERT(ask->owner_len > 0 && ask->owner_len <= HF_OWNER_MAX);
    memset(out, 0, offsetof(struct hf_local_entry, owner));
    out->queue = hf_span_ms(ask->queue_ms);
    out->cookie = ask->cookie;
    out->is_shared = ask->is_shared;
    out->permits = ask->is_shared ? ask->permits : 0;
    if (txn->address != NULL) {
        out->address = *txn->address;
    }
    if (ask->life != NULL) {
        out->life = *txn->life;
    }
    out->owner_len = (uint16_t)ask->owner_len;
    memcpy(out->owner, ask->owner, ask->owner_len);
}

/* ---- Granting ---------------------------------------------------------- */

static bool is_asker(const struct hf_txn *txn,
                     const struct hf_local_entry *entry)
{
    const struct hf_ask *ask = txn->ask;
    return ask != NULL &&
           (ask->verb == HF_VERB_ACQUIRE || ask->verb == HF_VERB_YIELD) &&
           ask->owner_len == entry->owner_len &&
           memcmp(ask->owner, entry->owner, entry->owner_len) == 0;
}

/* The counter of the next grant. Only the asker's own hint raises it. */
static uint64_t next_counter(const struct hf_txn *txn, bool for_asker)
{
    /* Rules: no-floor, floor-at-creation-only. */
    uint64_t next = hf_txn_max_u64(txn->record.counter + 1, txn->now->floor);
    bool has_hint = for_asker && txn->ask->verb == HF_VERB_ACQUIRE;
    return has_hint ? hf_txn_max_u64(next, txn->hint) : next;
}

/* Moves (b) or (c). @p counter is above all earlier ones, since it becomes the
 * fence of the grant. */
static void grant_to(struct hf_txn *txn, struct hf_local_entry *entry,
                     uint64_t counter, struct hf_instant until)
{
    HF_ASSERT(txn->record.counter < counter); /* I2: it has no owner yet */
    if (entry->is_shared) {
        hf_txn_join(txn, entry, counter, until);
    } else {
        hf_txn_install(txn, entry->owner, entry->owner_len, counter, until,
                       &entry->life);
    }
}

void hf_txn_grant(struct hf_txn *txn, struct hf_local_entry *entry)
{
    uint64_t counter = next_counter(txn, true);
    if (counter > HF_FENCE_MAX) {
        txn->result.verdict = HF_VERDICT_ERROR;
        return;
    }
    grant_to(txn, entry, counter, hf_txn_asked_until(txn));
    hf_txn_succeed(txn, counter);
}

static void note_grant(struct hf_txn *txn, const struct hf_local_entry *entry,
                       uint64_t counter)
{
    struct hf_grants *grants = txn->grants;
    struct hf_grant *of = hf_array_reserve(grants->of, &grants->capacity,
                                           grants->count + 1, sizeof(*of));
    if (of == NULL) {
        txn->number = ENOMEM; /* each grant must be pushed: abort */
        return;
    }
    grants->of = of;
    HF_ASSERT(entry->owner_len <= sizeof(grants->of->owner));
    struct hf_grant *grant = &grants->of[grants->count++];
    grant->address = entry->address;
    grant->note = (struct hf_wake_note){entry->cookie, counter};
    grant->life = entry->life;
    grant->owner_len = entry->owner_len;
    memcpy(grant->owner, entry->owner, entry->owner_len);
}

static void claim(struct hf_txn *txn, struct hf_local_entry *entry)
{
    uint64_t counter = next_counter(txn, false);
    note_grant(txn, entry, counter);
    grant_to(txn, entry, counter, hf_txn_after(txn, entry->queue));
}

bool hf_txn_serve(struct hf_txn *txn)
{
    struct hf_local_entry head;
    bool is_served = false;
    while (hf_entries_head(txn, &head) &&
           hf_txn_admits(txn, head.is_shared, head.permits) &&
           next_counter(txn, false) <= HF_FENCE_MAX) {
        hf_entries_drop_waiter(txn, &head);
        if (is_asker(txn, &head)) {
            hf_txn_grant(txn, &head);
            is_served = true;
        } else {
            claim(txn, &head);
        }
    }
    return is_served;
}

/* ---- Places ------------------------------------------------------------ */

/* The wall clock, but above each earlier ticket: waiters are served in order of
 * arrival even if the clock is set back. */
static uint64_t new_ticket(const struct hf_txn *txn)
{
    struct hf_gate_page *page = txn->table->gate->page;
    page->ticket_last =
        hf_txn_max_u64(page->ticket_last + 1, txn->now->wall_us);
    return page->ticket_last;
}

void hf_txn_enqueue(struct hf_txn *txn)
{
    struct hf_local_entry entry, before;
    const struct hf_ask *ask = txn->ask;
    hf_txn_introduce(txn, &entry);
    entry.until = hf_txn_after(txn, hf_span_ms(ask->queue_ms));
    bool has_place =
        hf_entries_find_waiter(txn, ask->owner, ask->owner_len, &before);
    if (has_place && !hf_instant_before(txn->now->instant, before.until)) {
        hf_entries_drop_waiter(txn, &before); /* expired: no place */
        has_place = false;
    }
    txn->result.had_place = has_place;
    if (has_place) {
        entry.ticket = before.ticket; /* never stamped anew */
        if (ask->life == NULL) {
            entry.life = before.life;
        }
    } else {
        entry.ticket = ask->ticket != 0 ? ask->ticket : new_ticket(txn);
    }
    hf_entries_put_waiter(txn, &entry);
}

void hf_txn_dequeue(struct hf_txn *txn, const void *owner, size_t owner_len)
{
    struct hf_local_entry entry;
    if (hf_entries_find_waiter(txn, owner, owner_len, &entry)) {
        hf_entries_drop_waiter(txn, &entry);
    }
}

bool hf_txn_find_earlier(struct hf_txn *txn)
{
    struct hf_local_entry head;
    const struct hf_ask *ask = txn->ask;
    if (ask->ticket == 0 || !hf_entries_head(txn, &head)) {
        return false;
    }
    if (head.ticket != ask->ticket) {
        return head.ticket < ask->ticket;
    }
    size_t len =
        head.owner_len < ask->owner_len ? head.owner_len : ask->owner_len;
    return memcmp(head.owner, ask->owner, len) < 0;
}
