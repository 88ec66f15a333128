/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF ORDERED ENTRIES, ASSERTED AFTER EACH EVENT
 *
 * Cost: no round trip; one pass over the sessions, which are few. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

static void check_seat(const struct hf_ordered_session *session,
                       const struct hf_ordered_seat *seat)
{
    HF_ASSERT(seat->session == session);
    HF_ASSERT(seat->state != HF_ORDERED_HELD || seat->number != 0);
    HF_ASSERT(seat->behind <= seat->number);
}

/* OE-1: a request waits for a renewal in the list of its own session, and is
 *       pending.
 * OE-2: a session that is open has a ttl, no shorter than was asked for, and
 * was renewed. OE-3: a seat that holds has a number; the entry that a waiter
 * waits for has none greater. OE-4: a call is counted in the session that it
 * refers to. */
void hf_ordered_check(const struct hf_ordered *store)
{
    size_t n_seats = 0;
    for (const struct hf_ordered_session *session = store->sessions;
         session != NULL; session = session->next) {
        n_seats += session->n_seats;
        if (session->phase == HF_ORDERED_OPEN) {
            HF_ASSERT(session->ttl_ms >= session->ttl_s * 1000);
            HF_ASSERT(
                !hf_instant_before(session->renewed, (struct hf_instant){0}));
        }
        for (const struct hf_ordered_seat *seat = session->asking; seat != NULL;
             seat = seat->next_asking) {
            HF_ASSERT(seat->is_asking && seat->acquire.is_pending);
            check_seat(session, seat);
        }
        for (const struct hf_ordered_seat *seat = session->proving;
             seat != NULL; seat = seat->next_proving) {
            HF_ASSERT(seat->is_proving && seat->confirm.is_pending);
            check_seat(session, seat);
        }
    }
    HF_ASSERT(n_seats <= store->n_seats);
    for (const struct hf_ordered_call *call = store->calls; call != NULL;
         call = call->next) {
        HF_ASSERT(call->session == NULL || call->session->calls > 0);
    }
}
