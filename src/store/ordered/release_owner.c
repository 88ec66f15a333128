/* SPDX-License-Identifier: Apache-2.0 */
/* RELEASE BY AN OWNER'S TEXT, AND RESERVATIONS
 *
 *   free      list ──▶ remove each entry of that owner, or with its note
 *   reserve   open a session ──▶ list ──▶ under it, note: "ended:", the owner
 *
 * For entries that no seat has: of another client, which handed the text on;
 * and of a break, which has written its note. A reservation is over when its
 * session is, which nothing renews.
 *
 * Cost: one list, and one consensus for each entry of that owner; a reservation
 * opens a session before that. */
#include "store/ordered/task.h"

static const char ended[] = "ended:";

/* Bytes, without the NUL. */
#define ENDED_LEN (sizeof(ended) - 1)

static bool is_reserved(const struct hf_ordered_task *task,
                        const struct hf_wire_entry *entry)
{
    const char *note = entry->note.data;
    return entry->note.len == ENDED_LEN + task->owner_len &&
           memcmp(note, ended, ENDED_LEN) == 0 &&
           memcmp(note + ENDED_LEN, task->owner, task->owner_len) == 0;
}

static bool change(struct hf_ordered_task *task,
                   const struct hf_wire_entry *entry)
{
    bool reserves = task->session != NULL && entry->entry.mode != HF_SHARED;
    struct hf_ordered_change *change =
        hf_ordered_task_change(task, entry, !reserves);
    if (change != NULL && reserves) {
        char note[HF_ORDERED_NOTE_MAX];
        memcpy(note, ended, ENDED_LEN);
        memcpy(note + ENDED_LEN, task->owner, task->owner_len);
        hf_ordered_change_note(change, note, ENDED_LEN + task->owner_len);
    }
    return change != NULL;
}

/* Also done if it was done before: a repeated RELEASE finds its own
 * reservation, and a second round nothing that the first one has removed. */
static bool plan(struct hf_ordered_task *task,
                 const struct hf_wire_reply *reply)
{
    bool is_over = false;
    task->answer.verdict = HF_VERDICT_REFUSED;
    for (size_t i = 0; i < reply->n_entries; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        is_over |= is_reserved(task, entry);
        if (!hf_ordered_is_text(hf_ordered_holder(entry), task->owner,
                                task->owner_len)) {
            continue;
        }
        task->answer.verdict = HF_VERDICT_OK;
        task->answer.counter = entry->entry.number;
        if (!change(task, entry)) {
            return false;
        }
    }
    if (is_over || task->n_done > 0) {
        task->answer.verdict = HF_VERDICT_OK;
    }
    return true;
}

/* ---- Its seat ------------------------------------------------------------ */

/* A reservation keeps the seat until it is made: its session stays open. */
static void drop_seat(struct hf_ordered_task *task)
{
    struct hf_ordered_seat *seat = task->seat;
    task->seat = NULL;
    if (seat != NULL) {
        seat->is_moving = false;
        hf_ordered_withdraw(task->store, seat);
    }
}

/* What is left of its entry has no seat: the session removes it. */
static void doubt(struct hf_ordered_task *task)
{
    if (task->seat != NULL && task->seat->session != NULL) {
        task->seat->session->is_doubtful = true;
    }
}

static void on_done(struct hf_ordered_task *task, struct hf_instant now)
{
    if (task->answer.verdict == HF_VERDICT_REFUSED) {
        doubt(task); /* it was broken, and may be given back */
    }
    drop_seat(task);
    hf_ordered_task_done(task, now);
}

/* The client asks again, or gives it up. */
static void on_undone(struct hf_ordered_task *task,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    doubt(task);
    drop_seat(task);
    hf_ordered_task_undone(task, reply, now);
}

static void reserve(struct hf_ordered_task *task, struct hf_ordered_seat *seat,
                    struct hf_instant now)
{
    seat->state = HF_ORDERED_LEAVING;
    seat->left_at = now;
    seat->is_moving = true;
    task->seat = seat;
}

/* It is adopted, or moved. If it is moved from a session that it shares, its
 * entry may be broken now, and given back later: that session removes it. */
static void leave(struct hf_ordered *store, struct hf_ordered_seat *seat,
                  struct hf_instant now)
{
    if (seat->session != NULL) {
        seat->session->is_doubtful = true;
    }
    seat->state = HF_ORDERED_LEAVING;
    seat->left_at = now;
    hf_ordered_withdraw(store, seat);
}

void hf_ordered_release_handed(struct hf_ordered *store,
                               struct hf_ordered_seat *seat,
                               const struct hf_ask *ask, struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_new(store, ask, now);
    bool reserves = ask->ttl_ms > 0;
    if (task != NULL && reserves) {
        task->session = hf_ordered_session_own(store, ask->ttl_ms);
    }
    if (task == NULL || (reserves && task->session == NULL)) {
        if (task != NULL) {
            hf_ordered_task_free(task);
        }
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    task->plan = plan;
    task->done = on_done;
    task->undone = on_undone;
    if (seat != NULL && reserves && !seat->is_moving) {
        reserve(task, seat, now);
    } else if (seat != NULL) {
        leave(store, seat, now);
    }
    hf_ordered_task_begin(task, now);
}
