/* SPDX-License-Identifier: Apache-2.0 */
/* BREAK: THE HOLDER'S ENTRY GETS A NOTE, AND STAYS
 *
 *   list ──▶ each entry that holds ──▶ note: the breaker's owner ──▶ answer
 *                     with --now   ──▶ remove
 *
 * The entry keeps its number and its session. From that moment no renewal of
 * its owner is proven: a proof needs a read that was sent after its renewal,
 * and shows no note (proof.c). So the deadline of the holder is less than a ttl
 * after the note was written. The breaker waits for that long (client/break.c),
 * and then removes what has its note, by RELEASE: the next one is granted then.
 *
 * What ends the entry if the breaker dies: its owner's RELEASE, a ttl after its
 * owner has seen the note, or the end of the session. Each of them is after the
 * holder has stopped.
 *
 * A break that is given up returns the entry: the note is taken away. The entry
 * of another program has an owner that looks for no note: only --now, which
 * removes it. A name that is reserved has no holder: its entry is removed.
 *
 * Cost: one list, then one consensus for each entry that holds, one after the
 * other; the same to return them. If an entry has changed since the list, the
 * list is read again (task.c). */
#include "store/ordered/task.h"

#include "core/owner.h"

static const char ended[] = "ended:";

static bool is_ended(struct hf_bytes text)
{
    return text.len > sizeof(ended) - 1 &&
           memcmp(text.data, ended, sizeof(ended) - 1) == 0;
}

static bool is_foreign(const struct hf_wire_entry *entry)
{
    return entry->note.len == 0 &&
           !hf_owner_is_ours(entry->owner.data, entry->owner.len);
}

/* ---- The answer ---------------------------------------------------------- */

static void find(struct hf_ordered_task *task,
                 const struct hf_wire_entry *first, size_t holders)
{
    struct hf_answer *answer = &task->answer;
    struct hf_bytes text = hf_ordered_holder(first);
    if (hf_ordered_is_text(text, task->owner, task->owner_len)) {
        text = first->owner; /* it was taken before */
    }
    bool is_shared = first->entry.mode == HF_SHARED;
    task->found_len =
        text.len < sizeof(task->found) ? text.len : sizeof(task->found);
    memcpy(task->found, text.data, task->found_len);
    answer->holder_kind = is_shared ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
    answer->owner = task->found;
    answer->owner_len = task->found_len;
    answer->sharers = is_shared ? (uint32_t)holders : 0;
    answer->permits = first->permits;
}

static void note_left(struct hf_answer *answer,
                      const struct hf_wire_entry *entry)
{
    int64_t left_ms = entry->ttl_s > 0 ? entry->ttl_s * 1000 : -1;
    if (left_ms < 0 || (answer->left_ms >= 0 && left_ms > answer->left_ms)) {
        answer->left_ms = left_ms;
    }
}

/* ---- Taking -------------------------------------------------------------- */

static bool take(struct hf_ordered_task *task,
                 const struct hf_wire_entry *entry)
{
    struct hf_bytes text = hf_ordered_holder(entry);
    if (hf_ordered_is_text(text, task->owner, task->owner_len) &&
        !task->frees_now) {
        return true;
    }
    bool removes = task->frees_now || is_ended(text);
    struct hf_ordered_change *change =
        hf_ordered_task_change(task, entry, removes);
    if (change != NULL && !removes) {
        hf_ordered_change_note(change, task->owner, task->owner_len);
    }
    return change != NULL;
}

/* One holder of another program refuses the whole break: taking the name from
 * the others would free nothing. */
static bool plan_break(struct hf_ordered_task *task,
                       const struct hf_wire_reply *reply)
{
    struct hf_answer *answer = &task->answer;
    size_t holders = hf_ordered_inspect_sort(reply);
    answer->verdict = HF_VERDICT_OK;
    answer->holder_kind = HF_HOLDER_NONE;
    answer->left_ms = 0;
    if (holders > 0) {
        find(task, &reply->entries[0], holders);
    }
    for (size_t i = 0; i < holders; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        answer->counter = entry->entry.number;
        note_left(answer, entry);
        if (is_foreign(entry) && !task->frees_now) {
            answer->verdict = HF_VERDICT_REFUSED;
            answer->left_ms = -1;
            task->n_changes = 0;
            return true;
        }
        if (!take(task, entry)) {
            return false;
        }
    }
    return true;
}

/* ---- Giving back --------------------------------------------------------- */

/* An entry goes back to its own owner by the end of its note. If an earlier
 * break had taken it already, that break's note is written again. */
static bool plan_return(struct hf_ordered_task *task,
                        const struct hf_wire_reply *reply)
{
    task->answer.verdict = HF_VERDICT_OK;
    for (size_t i = 0; i < reply->n_entries; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        if (!hf_ordered_is_text(entry->note, task->owner, task->owner_len)) {
            continue;
        }
        struct hf_ordered_change *change =
            hf_ordered_task_change(task, entry, false);
        if (change == NULL) {
            return false;
        }
        if (!hf_ordered_is_text(entry->owner, task->back, task->back_len)) {
            hf_ordered_change_note(change, task->back, task->back_len);
        }
    }
    return true;
}

void hf_ordered_break(struct hf_ordered *store, const struct hf_ask *ask,
                      struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_new(store, ask, now);
    if (task == NULL) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    task->plan = ask->back_len > 0 ? plan_return : plan_break;
    hf_ordered_task_begin(task, now);
}
