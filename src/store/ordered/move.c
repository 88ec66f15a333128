/* SPDX-License-Identifier: Apache-2.0 */
/* CONFIRM OF AN ENTRY THAT GOES TO A SESSION OF ITS OWN
 *
 *   open a session ──▶ list: it is there, and has no note ──▶ replace
 *                                  ──▶ renew that session, read: the proof
 *
 * A lock that is adopted comes from another client's session; one that is
 * detached, or extended beyond its ttl, leaves the one that it shares. Until
 * its proof it counts as before: by the other session.
 *
 * The session is never one that other locks keep alive. So if the client has
 * given up when the replace lands, the entry lives as long as what it was
 * given, which is no shorter than its ttl was: no lock ends early, and
 * none stays.
 *
 * A detached lock's seat is dropped with its proof: from then on the text of
 * its owner is all that there is.
 *
 * If the reply to the replace was lost, no session is known to have the entry:
 * the next CONFIRM moves it again, whatever became of the former session.
 *
 * Cost: five calls, one after the other; seven if the entry's session is longer
 * than asked for. A session and a task on the heap. */
#include "store/ordered/task.h"

static bool is_wanted(const struct hf_ordered_task *task)
{
    return task->seat->state != HF_ORDERED_LEAVING &&
           task->seat->confirm.is_pending;
}

/* An entry never goes to a shorter session than its own: it would end before
 * the ttl that its holder was given. So a longer one is opened first. */
static bool plan(struct hf_ordered_task *task,
                 const struct hf_wire_reply *reply)
{
    struct hf_ordered_seat *seat = task->seat;
    task->answer.verdict = HF_VERDICT_REFUSED;
    for (size_t i = 0; i < reply->n_entries && is_wanted(task); i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        if (entry->entry.number != task->counter ||
            !hf_ordered_is_text(entry->owner, task->owner, task->owner_len)) {
            continue;
        }
        if (entry->note.len > 0) {
            task->is_broken = true;
            return true;
        }
        if (entry->ttl_s > task->session->ttl_s) {
            task->session =
                hf_ordered_session_own(task->store, entry->ttl_s * 1000);
            return task->session != NULL;
        }
        task->answer.verdict = HF_VERDICT_OK;
        seat->mode = entry->entry.mode;
        seat->permits = entry->permits;
        seat->born_ttl_s = entry->born_ttl_s;
        memcpy(seat->born, entry->born, sizeof(seat->born));
        return hf_ordered_task_change(task, entry, false) != NULL;
    }
    return true;
}

static void attach(struct hf_ordered_task *task)
{
    struct hf_ordered_seat *seat = task->seat;
    hf_ordered_seat_detach(seat);
    seat->session = task->session;
    seat->session->n_seats++;
    seat->number = task->counter;
    seat->state = HF_ORDERED_HELD;
    seat->may_have_moved = false;
}

static void on_moved(struct hf_ordered_task *task, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    struct hf_ordered_seat *seat = task->seat;
    bool is_there = task->answer.verdict == HF_VERDICT_OK;
    bool may_prove = is_wanted(task);
    seat->is_moving = false;
    if (may_prove && is_there) {
        attach(task);
        hf_ordered_task_free(task);
        hf_ordered_session_proves(seat);
        hf_ordered_flush(store, now);
        return;
    }
    bool is_broken = task->is_broken && seat->session != NULL;
    hf_ordered_task_free(task);
    if (is_broken && seat->state != HF_ORDERED_LEAVING) {
        hf_ordered_seat_broken(seat, now);
    } else if (seat->state != HF_ORDERED_LEAVING) {
        hf_ordered_seat_detach(seat);
    }
    if (seat->confirm.is_pending) {
        hf_ordered_answer_refusal(store, seat, HF_VERB_CONFIRM);
    } else if (seat->session == NULL) {
        hf_ordered_seat_drop(store, seat);
    }
}

/* GONE is the session that it should go to, not the one that it is in: the
 * entry was not changed, so it is no refusal. */
static void on_undone(struct hf_ordered_task *task,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    struct hf_ordered_seat *seat = task->seat;
    struct hf_wire_reply why = *reply;
    (void)now;
    if (task->is_unsure) {
        why.outcome = HF_WIRE_LOST;
    } else if (reply->outcome == HF_WIRE_GONE) {
        why.outcome = HF_WIRE_UNSENT;
        why.reason = "its session has ended";
    }
    seat->is_moving = false;
    seat->may_have_moved |= task->is_unsure;
    hf_ordered_task_free(task);
    if (seat->confirm.is_pending) {
        hf_ordered_answer_undone(store, seat, HF_VERB_CONFIRM, &why);
    } else if (seat->session == NULL) {
        hf_ordered_seat_drop(store, seat);
    }
}

void hf_ordered_move(struct hf_ordered *store, struct hf_ordered_seat *seat,
                     uint64_t counter, int64_t ttl_ms, struct hf_instant now)
{
    const struct hf_wire_reply no_memory = {.outcome = HF_WIRE_UNSENT,
                                            .fault = HF_NO_MEMORY,
                                            .reason = "out of memory"};
    struct hf_ask ask = {.verb = HF_VERB_CONFIRM,
                         .name = seat->name->bytes,
                         .name_len = seat->name->len,
                         .owner = seat->owner,
                         .owner_len = seat->owner_len};
    struct hf_ordered_task *task = hf_ordered_task_new(store, &ask, now);
    struct hf_ordered_session *session =
        task == NULL ? NULL : hf_ordered_session_own(store, ttl_ms);
    if (session == NULL) {
        if (task != NULL) {
            hf_ordered_task_free(task);
        }
        hf_ordered_answer_undone(store, seat, HF_VERB_CONFIRM, &no_memory);
        return;
    }
    task->plan = plan;
    task->done = on_moved;
    task->undone = on_undone;
    task->session = session;
    task->seat = seat;
    task->counter = counter;
    seat->is_moving = true;
    hf_ordered_task_begin(task, now);
}
