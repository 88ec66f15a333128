/* SPDX-License-Identifier: Apache-2.0 */
/* INSPECT and QUEUE: one list, each entry judged as its owner judges it. Of a
 * name without entries the mark is read, too.
 *
 * Cost: one list, which is sorted: O(n log n); one read more for a name without
 * entries, if the wire has marks. */
#include "store/ordered/task.h"

#include "base/array.h"
#include "core/owner.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
    const struct hf_wire_entry *x = a;
    const struct hf_wire_entry *y = b;
    return (x->entry.number > y->entry.number) -
           (x->entry.number < y->entry.number);
}

/** @return false: no memory. */
static bool reserve(struct hf_ordered *store, size_t n)
{
    struct hf_seat *listed =
        hf_array_reserve(store->listed, &store->listed_cap, n, sizeof(*listed));
    if (listed != NULL) {
        store->listed = listed;
    }
    return listed != NULL;
}

/* When its session was renewed last is not known: at most its whole ttl. */
static int64_t left_of(const struct hf_wire_entry *entry)
{
    return entry->ttl_s > 0 ? entry->ttl_s * 1000 : -1;
}

/* Since when: its owner says. In microseconds. */
static uint64_t ticket_of(const struct hf_wire_entry *entry)
{
    struct hf_holder who = {0};
    struct hf_bytes text = hf_ordered_holder(entry);
    hf_owner_describe(text.data, text.len, &who);
    return who.since_s > 0 ? (uint64_t)who.since_s * 1000000 : 0;
}

/* In order of numbers, an entry holds if it is the first, or all up to it share
 * by the same terms. */
size_t hf_ordered_inspect_sort(const struct hf_wire_reply *reply)
{
    size_t n = 0;
    const struct hf_wire_entry *entries = reply->entries;
    if (reply->n_entries > 0) { /* else they may be NULL */
        qsort(reply->entries, reply->n_entries, sizeof(entries[0]), by_number);
    }
    while (n < reply->n_entries && entries[n].entry.mode == HF_SHARED &&
           entries[n].permits == entries[0].permits) {
        n++;
    }
    return n == 0 && reply->n_entries > 0 ? 1 : n;
}

static void fill(struct hf_ordered *store, const struct hf_wire_reply *reply,
                 struct hf_answer *answer)
{
    size_t holders = hf_ordered_inspect_sort(reply);
    for (size_t i = 0; i < reply->n_entries; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        bool is_shared = entry->entry.mode == HF_SHARED;
        bool holds = i < holders;
        struct hf_bytes text = hf_ordered_holder(entry);
        store->listed[i] = (struct hf_seat){
            .waits = !holds,
            .is_shared = is_shared,
            .permits = entry->permits,
            .owner = text.data,
            .owner_len = text.len,
            .left_ms = left_of(entry),
            .ticket = ticket_of(entry),
        };
        answer->waiting += !holds;
        answer->sharers += holds && is_shared;
    }
    if (reply->n_entries > 0) {
        answer->holder_kind =
            answer->sharers > 0 ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
        answer->counter = reply->entries[0].entry.number;
        answer->permits = reply->entries[0].permits;
        answer->owner = hf_ordered_holder(&reply->entries[0]).data;
        answer->owner_len = hf_ordered_holder(&reply->entries[0]).len;
        answer->left_ms = left_of(&reply->entries[0]);
    }
    if (answer->verb == HF_VERB_QUEUE) {
        answer->seats = store->listed;
        answer->n_seats = reply->n_entries;
    }
}

/* Without entries the name may be kept taken by a mark of --once, which is
 * beside the entries: one more read. */
static void on_looked(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_task *task = call->task;
    bool is_done = reply->outcome == HF_WIRE_DONE;
    struct hf_answer answer = task->answer;
    hf_ordered_call_free(call);
    if (is_done && reply->n_entries == 0 &&
        store->wire_ops->mark_read != NULL) {
        hf_ordered_mark_show(task, now);
        return;
    }
    hf_ordered_task_free(task);
    answer.sent = reply->sent;
    answer.verdict = HF_VERDICT_OK;
    if (!is_done) {
        answer.verdict = reply->outcome == HF_WIRE_ERROR ? HF_VERDICT_ERROR
                                                         : HF_VERDICT_UNSENT;
        answer.fault = reply->fault == HF_OK ? HF_UNAVAILABLE : reply->fault;
        answer.reason = reply->reason;
    } else if (reserve(store, reply->n_entries + 1)) {
        fill(store, reply, &answer);
    } else {
        answer.verdict = HF_VERDICT_ERROR;
        answer.fault = HF_NO_MEMORY;
        answer.reason = "out of memory";
    }
    store->env.answer(store->env.client, &answer);
}

void hf_ordered_inspect(struct hf_ordered *store, const struct hf_ask *ask,
                        struct hf_instant now)
{
    struct hf_ask look = *ask;
    struct hf_bytes name = {ask->name, ask->name_len};
    look.owner = "";
    look.owner_len = 0;
    struct hf_ordered_task *task = hf_ordered_task_new(store, &look, now);
    struct hf_ordered_call *call =
        task == NULL ? NULL
                     : hf_ordered_call_new(store, on_looked, NULL, NULL, NULL);
    if (call == NULL) {
        if (task != NULL) {
            hf_ordered_task_free(task);
        }
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    call->task = task;
    if (!store->wire_ops->list(store->wire, name, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}
