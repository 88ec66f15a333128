/* SPDX-License-Identifier: Apache-2.0 */
/* Is the owner of the name alive? Checked if a request is not granted. The
 * owners are noted inside the gate, and /proc is read outside of it. Inside the
 * gate again, a dead owner loses the name only if it is unchanged. A waiter far
 * back does not check when it is queued, since the waiters before it do; it
 * checks with each heartbeat, since they may have died with the holder. */
#include "store/local/local.h"

#include <stdlib.h>

/* How many sharers are checked, some 10 us each. Dead ones after these keep
 * their share until their leases end. */
#define SHARERS_MAX 64

/* The first waiter checks, and the second in case the first does not. */
#define AHEAD_MAX 1

static bool is_worth_a_look(const struct hf_txn *txn)
{
    const struct hf_result *result = &txn->result;
    /* One check for a request; `dead` may still use the list of suspects. */
    if (result->owner_len == 0 || txn->number != 0 || txn->dead->has_holder ||
        txn->dead->n_sharers > 0) {
        return false;
    }
    if (txn->ask->verb == HF_VERB_INSPECT) {
        return !result->is_group; /* one dead sharer hardly changes the reply */
    }
    return result->verdict == HF_VERDICT_REFUSED ||
           (result->verdict == HF_VERDICT_QUEUED &&
            (result->ahead <= AHEAD_MAX || result->had_place));
}

static enum hf_scan_step note(void *user, const struct hf_local_entry *one)
{
    struct hf_dead_owners *suspects = user;
    if (one->life.count > 0) {
        suspects->sharers[suspects->n_sharers++] = *one;
    }
    return suspects->n_sharers < SHARERS_MAX ? HF_SCAN_ON : HF_SCAN_STOP;
}

void hf_local_suspect(struct hf_local *local, struct hf_txn *txn)
{
    struct hf_dead_owners *suspects = &local->suspects;
    suspects->has_holder = false;
    suspects->n_sharers = 0;
    if (!is_worth_a_look(txn)) {
        return;
    }
    if (!txn->result.is_group) {
        suspects->has_holder = txn->record.life.count > 0;
        suspects->holder = txn->record;
        return;
    }
    if (suspects->sharers == NULL) {
        suspects->sharers = malloc(SHARERS_MAX * sizeof(struct hf_local_entry));
    }
    if (suspects->sharers != NULL) {
        hf_entries_each(txn, HF_ENTRY_SHARER, note, suspects);
    }
}

bool hf_local_judge(struct hf_local *local, struct hf_dead_owners *out)
{
    struct hf_dead_owners *suspects = &local->suspects;
    size_t n_dead = 0;
    out->has_holder =
        suspects->has_holder &&
        hf_processes_are_over(&local->view, &suspects->holder.life);
    if (out->has_holder) {
        out->holder = suspects->holder;
    }
    for (size_t i = 0; i < suspects->n_sharers; i++) {
        if (hf_processes_are_over(&local->view, &suspects->sharers[i].life)) {
            suspects->sharers[n_dead++] = suspects->sharers[i];
        }
    }
    suspects->has_holder = false;
    suspects->n_sharers = 0; /* `out` uses the list now */
    out->sharers = suspects->sharers;
    out->n_sharers = n_dead;
    return out->has_holder || n_dead > 0;
}
