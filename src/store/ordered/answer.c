/* SPDX-License-Identifier: Apache-2.0 */
/* Answers. The seat is let go before the client hears: from inside of an answer
 * the client may ask again, also about this seat. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

static struct hf_ordered_request *request_of(struct hf_ordered_seat *seat,
                                             enum hf_verb verb)
{
    switch ((int)verb) {
    case HF_VERB_ACQUIRE:
        return &seat->acquire;
    case HF_VERB_CONFIRM:
        return &seat->confirm;
    default:
        HF_ASSERT(verb == HF_VERB_RELEASE);
        return &seat->release;
    }
}

/* A waiter that lost its entry asks for another one, with its place. */
static bool is_wanted(const struct hf_ordered_seat *seat)
{
    return seat->session != NULL ||
           (seat->was_queued && seat->state < HF_ORDERED_HELD);
}

void hf_ordered_answer_with(struct hf_ordered *store,
                            struct hf_ordered_seat *seat, enum hf_verb verb,
                            struct hf_answer *answer)
{
    struct hf_ordered_request *request = request_of(seat, verb);
    HF_ASSERT(request->is_pending);
    request->is_pending = false;
    answer->cookie = request->cookie;
    answer->verb = verb;
    answer->node = 0;
    if (!is_wanted(seat)) {
        hf_ordered_seat_drop(store, seat);
    }
    store->env.answer(store->env.client, answer);
}

void hf_ordered_answer_fault(struct hf_ordered *store,
                             struct hf_ordered_seat *seat, enum hf_verb verb,
                             enum hf_verdict verdict, enum hf_status fault,
                             const char *reason)
{
    struct hf_answer answer = {
        .verdict = verdict,
        .sent = request_of(seat, verb)->asked,
        .fault = fault == HF_OK ? HF_UNAVAILABLE : fault,
        .reason = reason,
    };
    hf_ordered_answer_with(store, seat, verb, &answer);
}

void hf_ordered_answer_plain(struct hf_ordered *store, const struct hf_ask *ask,
                             enum hf_verdict verdict, enum hf_status fault,
                             const char *reason, struct hf_instant now)
{
    struct hf_answer answer = {
        .cookie = ask->cookie,
        .verb = ask->verb,
        .verdict = verdict,
        .sent = now,
        .fault = fault,
        .reason = reason,
    };
    store->env.answer(store->env.client, &answer);
}

void hf_ordered_answer_refusal(struct hf_ordered *store,
                               struct hf_ordered_seat *seat, enum hf_verb verb)
{
    struct hf_answer answer = {
        .verdict = HF_VERDICT_REFUSED,
        .sent = request_of(seat, verb)->asked,
    };
    hf_ordered_answer_with(store, seat, verb, &answer);
}

enum hf_verdict hf_ordered_answer_verdict(const struct hf_wire_reply *reply)
{
    static const enum hf_verdict verdicts[] = {
        [HF_WIRE_DONE] = HF_VERDICT_UNKNOWN,
        [HF_WIRE_GONE] = HF_VERDICT_UNSENT,
        [HF_WIRE_UNSENT] = HF_VERDICT_UNSENT,
        [HF_WIRE_LOST] = HF_VERDICT_UNKNOWN,
        [HF_WIRE_ERROR] = HF_VERDICT_ERROR,
    };
    return verdicts[reply->outcome];
}

void hf_ordered_answer_undone(struct hf_ordered *store,
                              struct hf_ordered_seat *seat, enum hf_verb verb,
                              const struct hf_wire_reply *reply)
{
    bool is_gone = reply->outcome == HF_WIRE_GONE;
    /* An earlier request of this ACQUIRE may have created its entry. */
    bool is_unsure = verb == HF_VERB_ACQUIRE && seat->is_unsure && !is_gone;
    HF_ASSERT(reply->outcome != HF_WIRE_DONE);
    hf_ordered_answer_fault(store, seat, verb,
                            is_unsure ? HF_VERDICT_UNKNOWN
                                      : hf_ordered_answer_verdict(reply),
                            is_gone ? HF_UNAVAILABLE : reply->fault,
                            is_gone ? "its session has ended" : reply->reason);
}
