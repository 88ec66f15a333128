/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing the grants of a transaction to their waiters.
 *
 *     commit ── leave the gate ── send a datagram for each ── no receiver: take
 *                                 the grant back, serve the next waiter
 *
 * If a waiter's process has ended, its socket is gone, and sending fails at
 * once: a dead waiter costs a microsecond. One without a socket (it was killed
 * before it had one, or has no descriptor left) is looked for in /proc, and so
 * is one that may be in another network namespace. A process that is alive but
 * does not read keeps its claim until the claim expires, since it may still
 * read the message. A releaser that is killed before it sends leaves a claim,
 * too.
 *
 * Cost: one sendto() for up to 128 consecutive grants to one process. The
 * grants that found no receiver are taken back in one transaction, and those
 * that it makes instead are sent in the same way. A transaction without grants
 * costs nothing here. */
#include "io/clock.h"
#include "store/local/local.h"

#include <stddef.h>
#include <string.h>

/* ---- Sending ----------------------------------------------------------- */

static bool is_same_address(const struct hf_wake_address *a,
                            const struct hf_wake_address *b)
{
    return a->id == b->id && a->space == b->space;
}

/* Grants to one client, such as those of sharers, are one datagram: one system
 * call, and one wake-up. */
static size_t run_of(const struct hf_grants *grants, size_t first,
                     struct hf_wake_note notes[HF_WAKE_NOTES_MAX])
{
    size_t n = 0;
    while (first + n < grants->count && n < HF_WAKE_NOTES_MAX &&
           is_same_address(&grants->of[first].address,
                           &grants->of[first + n].address)) {
        notes[n] = grants->of[first + n].note;
        n++;
    }
    return n;
}

static bool check_ended(struct hf_local *local, const struct hf_grant *grant,
                        enum hf_wake_result result)
{
    return result == HF_WAKE_NOBODY ||
           (result == HF_WAKE_UNSURE &&
            hf_processes_are_over(&local->view, &grant->life));
}

/* Grants to processes that have ended stay in the list: they are taken back. */
static void send_all(struct hf_local *local)
{
    struct hf_wake_note notes[HF_WAKE_NOTES_MAX];
    struct hf_grants *grants = &local->grants;
    size_t kept = 0;
    for (size_t at = 0; at < grants->count;) {
        size_t end = at + run_of(grants, at, notes);
        enum hf_wake_result result = hf_wake_send(
            &local->wake, &grants->of[at].address, notes, end - at);
        for (; at < end; at++) {
            if (check_ended(local, &grants->of[at], result)) {
                grants->of[kept++] = grants->of[at];
            }
        }
    }
    grants->count = kept;
}

static void take_back_all(struct hf_txn *txn, void *user)
{
    const struct hf_grants *refused = user;
    for (size_t i = 0; i < refused->count; i++) {
        hf_txn_revoke(txn, &refused->of[i]);
    }
    hf_txn_serve(txn);
}

void hf_local_deliver(struct hf_local *local, const struct hf_table_key *key)
{
    while (local->grants.count > 0) {
        send_all(local);
        if (local->grants.count == 0) {
            return;
        }
        struct hf_grants refused = local->grants;
        local->grants = local->refused;
        local->refused = refused;
        struct hf_transaction t;
        hf_transaction_init(&t, local, NULL);
        t.key = *key;
        if (!hf_local_transact(&t, take_back_all, &local->refused)) {
            return; /* the claims expire */
        }
    }
}

/* ---- Receiving --------------------------------------------------------- */

void hf_local_hear(struct hf_watch *watch, uint32_t events,
                   struct hf_instant now)
{
    struct hf_wake_note notes[HF_WAKE_NOTES_MAX];
    struct hf_local *local =
        (struct hf_local *)((char *)watch - offsetof(struct hf_local, wake) -
                            offsetof(struct hf_wake, watch));
    (void)events;
    (void)now;
    for (int n = 0; n >= 0; n = hf_wake_read(&local->wake, notes)) {
        for (int i = 0; i < n; i++) {
            local->env.push(local->env.client, 0, notes[i].cookie,
                            notes[i].counter);
        }
    }
}

void hf_local_listen(struct hf_local *local)
{
    if (local->wake.address.id != 0) {
        return;
    }
    if (hf_wake_listen(&local->wake, local->env.loop)) {
        local->has_news = true;
        hf_timer_set(&local->turn, hf_clock_now());
    } else if (!local->has_no_socket) {
        local->has_no_socket = true; /* log it once */
        local->env.log(local->env.client, HF_LOG_WARN,
                       "no socket to be woken by: waiting by heartbeats");
    }
}
