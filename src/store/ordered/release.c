/* SPDX-License-Identifier: Apache-2.0 */
/* RELEASE, ALSO OF AN ENTRY THAT MAY NOT EXIST YET
 *
 * The entry is removed on the connection of its create, so after it. If the
 * connection broke between, the create may still be executed, by a server that
 * had it in its hands: nothing orders it before a remove on another connection.
 * Then the session is doubtful for the rest of its life (session.c). So it is
 * after a remove that was not executed, since the client may give it up.
 *
 * Cost: one remove; nothing if no create of the entry was sent. */
#include "store/ordered/ordered.h"

/* If the entry may be left there, the session is doubtful: the next renewal
 * looks for entries that no seat has (strangers.c). */
static void on_removed(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat = call->seat;
    struct hf_answer answer = {.sent = reply->sent, .counter = seat->number};
    (void)now;
    if (reply->outcome != HF_WIRE_DONE) {
        call->session->is_doubtful = true;
    }
    hf_ordered_call_free(call);
    if (reply->outcome != HF_WIRE_DONE) {
        hf_ordered_answer_undone(store, seat, HF_VERB_RELEASE, reply);
        return;
    }
    answer.verdict = reply->has_changed ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
    hf_ordered_seat_detach(seat);
    hf_ordered_answer_with(store, seat, HF_VERB_RELEASE, &answer);
}

/* A request that waits for a session, or for the next renewal, was not sent. It
 * has no reason of its own: the client reports for how long no answer came. */
static void withdraw(struct hf_ordered *store, struct hf_ordered_seat *seat)
{
    if (seat->is_asking) {
        hf_ordered_seat_unlist(seat);
        hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE, HF_VERDICT_UNSENT,
                                HF_UNAVAILABLE, NULL);
    }
}

void hf_ordered_withdraw(struct hf_ordered *store, struct hf_ordered_seat *seat)
{
    bool was_proving = seat->is_proving;
    if (seat->session != NULL) {
        withdraw(store, seat);
    }
    hf_ordered_seat_detach(seat);
    if (was_proving) {
        hf_ordered_answer_refusal(store, seat, HF_VERB_CONFIRM);
    } else {
        hf_ordered_seat_drop(store, seat);
    }
}

static bool has_entry(const struct hf_ordered_seat *seat)
{
    return seat->session != NULL && seat->session->phase == HF_ORDERED_OPEN &&
           (seat->number != 0 || seat->is_unsure || seat->calls > 0);
}

void hf_ordered_release(struct hf_ordered *store, struct hf_ordered_seat *seat,
                        const struct hf_ask *ask, struct hf_instant now)
{
    seat->release = (struct hf_ordered_request){true, ask->cookie, now};
    seat->state = HF_ORDERED_LEAVING;
    seat->left_at = now;
    seat->must_push = false;
    if (seat->session != NULL) {
        withdraw(store, seat);
    }
    hf_ordered_watch(store, seat, NULL, now);
    if (!has_entry(seat)) {
        hf_ordered_seat_detach(seat);
        hf_ordered_answer_refusal(store, seat, HF_VERB_RELEASE);
        return;
    }
    struct hf_wire_key key = hf_ordered_key(seat);
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_removed, seat->session, NULL, seat);
    if (call == NULL) {
        seat->session->is_doubtful = true;
        hf_ordered_answer_fault(store, seat, HF_VERB_RELEASE, HF_VERDICT_UNSENT,
                                HF_NO_MEMORY, "out of memory");
    } else if (!store->wire_ops->remove(store->wire, &key, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}
