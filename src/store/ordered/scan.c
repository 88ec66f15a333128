/* SPDX-License-Identifier: Apache-2.0 */
/* SCAN: NAMES, A PAGE AT A TIME
 *
 * A cursor is a number, and the wire goes on from a text. So this is kept, for
 * the last few scans that were begun. One that was given up is replaced by a
 * later one.
 *
 * Cost: one call of the wire for each page, and a copy of the text from which
 * the next one goes on. */
#include "store/ordered/ordered.h"

#include "base/array.h"

#include <stdlib.h>

static struct hf_ordered_scan *find(struct hf_ordered *store, uint64_t number)
{
    for (size_t i = 0; store->scans != NULL && i < HF_ORDERED_SCANS; i++) {
        if (store->scans[i].number == number) {
            return &store->scans[i];
        }
    }
    return NULL;
}

/** @return the cursor of the next page; 0: no memory. */
static uint64_t go_on_from(struct hf_ordered *store, struct hf_bytes next)
{
    if (store->scans == NULL) {
        store->scans = calloc(HF_ORDERED_SCANS, sizeof(*store->scans));
    }
    char *from = store->scans == NULL ? NULL : malloc(next.len);
    if (from == NULL) {
        return 0;
    }
    uint64_t number = ++store->scans_begun;
    struct hf_ordered_scan *scan = &store->scans[number % HF_ORDERED_SCANS];
    free(scan->from);
    memcpy(from, next.data, next.len);
    *scan = (struct hf_ordered_scan){number, next.len, from};
    return number;
}

void hf_ordered_scans_free(struct hf_ordered *store)
{
    for (size_t i = 0; store->scans != NULL && i < HF_ORDERED_SCANS; i++) {
        free(store->scans[i].from);
    }
    free(store->scans);
    free(store->scanned);
}

static void answer_with(struct hf_ordered *store, struct hf_answer *answer,
                        enum hf_verdict verdict, enum hf_status fault,
                        const char *reason)
{
    answer->verdict = verdict;
    answer->fault = fault;
    answer->reason = reason;
    store->env.answer(store->env.client, answer);
}

/** @return false: no memory. */
static bool fill(struct hf_ordered *store, const struct hf_wire_reply *reply,
                 struct hf_answer *answer)
{
    struct hf_bytes *names = hf_array_reserve(
        store->scanned, &store->scanned_cap, reply->n_entries, sizeof(*names));
    if (names == NULL) {
        return false;
    }
    store->scanned = names;
    for (size_t i = 0; i < reply->n_entries; i++) {
        store->scanned[i] = reply->entries[i].name;
    }
    answer->names = store->scanned;
    answer->n_names = reply->n_entries;
    answer->counter = reply->next.len == 0 ? 0 : go_on_from(store, reply->next);
    return reply->next.len == 0 || answer->counter != 0;
}

static void on_scanned(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_answer answer = {
        .cookie = call->cookie, .verb = HF_VERB_SCAN, .sent = reply->sent};
    (void)now;
    hf_ordered_call_free(call);
    if (reply->outcome != HF_WIRE_DONE) {
        answer_with(store, &answer,
                    reply->outcome == HF_WIRE_ERROR ? HF_VERDICT_ERROR
                                                    : HF_VERDICT_UNSENT,
                    reply->fault == HF_OK ? HF_UNAVAILABLE : reply->fault,
                    reply->reason);
    } else if (fill(store, reply, &answer)) {
        answer_with(store, &answer, HF_VERDICT_OK, HF_OK, NULL);
    } else {
        answer_with(store, &answer, HF_VERDICT_ERROR, HF_NO_MEMORY,
                    "out of memory");
    }
}

void hf_ordered_scan(struct hf_ordered *store, const struct hf_ask *ask,
                     struct hf_instant now)
{
    struct hf_bytes from = {NULL, 0};
    struct hf_answer answer = {
        .cookie = ask->cookie, .verb = ask->verb, .sent = now};
    struct hf_ordered_scan *scan =
        ask->counter == 0 ? NULL : find(store, ask->counter);
    if (ask->counter != 0 && scan == NULL) {
        answer_with(store, &answer, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                    "too many lists at once");
        return;
    }
    if (scan != NULL) {
        from = (struct hf_bytes){scan->from, scan->len};
    }
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_scanned, NULL, NULL, NULL);
    if (call == NULL) {
        answer_with(store, &answer, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                    "out of memory");
        return;
    }
    call->cookie = ask->cookie;
    if (!store->wire_ops->scan(store->wire, from, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}
