/* SPDX-License-Identifier: Apache-2.0 */
/* LIST, THEN REPLACE: WHAT IS DONE WITH ENTRIES OF OTHERS
 *
 *   [open a session] ──▶ list ──▶ plan ──▶ replace, replace, … ──▶ answer
 *                         ▲                   │
 *                         └── it has changed ─┘
 *
 * Each entry is replaced only if it is as it was listed. So a request that
 * lands late does nothing to what was made of its entry since, and two tasks at
 * one entry are done one after the other, in some order.
 *
 * Cost: one list, and one consensus for each entry; a session is one more. */
#include "store/ordered/task.h"

#include "base/array.h"
#include "base/assert.h"

#include <stdlib.h>

/* Others changed it each time: as good as no answer. */
#define ROUNDS_MAX 8

static void list(struct hf_ordered_task *task, struct hf_instant now);
static void change_next(struct hf_ordered_task *task, struct hf_instant now);

/* ---- Answers ------------------------------------------------------------- */

void hf_ordered_task_undone(struct hf_ordered_task *task,
                            const struct hf_wire_reply *reply,
                            struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    struct hf_answer answer = {
        .cookie = task->answer.cookie,
        .verb = task->answer.verb,
        .verdict = task->is_unsure ? HF_VERDICT_UNKNOWN
                                   : hf_ordered_answer_verdict(reply),
        .sent = task->asked,
        .fault = reply->fault == HF_OK ? HF_UNAVAILABLE : reply->fault,
        .reason =
            reply->reason == NULL ? "its session has ended" : reply->reason,
    };
    (void)now;
    store->env.answer(store->env.client, &answer);
    hf_ordered_task_free(task);
}

void hf_ordered_task_done(struct hf_ordered_task *task, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    (void)now;
    task->answer.sent = task->asked;
    store->env.answer(store->env.client, &task->answer);
    hf_ordered_task_free(task);
}

/* ---- Life ---------------------------------------------------------------- */

struct hf_ordered_task *hf_ordered_task_new(struct hf_ordered *store,
                                            const struct hf_ask *ask,
                                            struct hf_instant now)
{
    HF_ASSERT(ask->owner_len <= sizeof(((struct hf_ordered_task *)0)->owner));
    struct hf_ordered_task *task = calloc(1, sizeof(*task) + ask->name_len);
    if (task == NULL) {
        return NULL;
    }
    task->store = store;
    task->done = hf_ordered_task_done;
    task->undone = hf_ordered_task_undone;
    task->asked = now;
    task->answer.cookie = ask->cookie;
    task->answer.verb = ask->verb;
    task->answer.node = ask->node;
    task->frees_now = ask->frees_now;
    task->name_len = ask->name_len;
    task->owner_len = ask->owner_len;
    memcpy(task->name, ask->name, ask->name_len);
    memcpy(task->owner, ask->owner, ask->owner_len);
    if (ask->back_len > 0 && ask->back_len <= sizeof(task->back)) {
        task->back_len = ask->back_len;
        memcpy(task->back, ask->back, ask->back_len);
    }
    task->next = store->tasks;
    if (task->next != NULL) {
        task->next->before = task;
    }
    store->tasks = task;
    return task;
}

void hf_ordered_task_free(struct hf_ordered_task *task)
{
    HF_ASSERT(task->before != NULL ? task->before->next == task
                                   : task->store->tasks == task);
    if (task->before != NULL) {
        task->before->next = task->next;
    } else {
        task->store->tasks = task->next;
    }
    if (task->next != NULL) {
        task->next->before = task->before;
    }
    free(task->changes);
    free(task->ids);
    free(task->text);
    free(task);
}

/* ---- Plans --------------------------------------------------------------- */

struct hf_ordered_change *
hf_ordered_task_change(struct hf_ordered_task *task,
                       const struct hf_wire_entry *entry, bool removes)
{
    struct hf_ordered_change *changes =
        hf_array_reserve(task->changes, &task->changes_cap, task->n_changes + 1,
                         sizeof(*changes));
    if (changes == NULL) {
        return NULL;
    }
    task->changes = changes;
    char *ids = hf_array_reserve(task->ids, &task->ids_cap,
                                 task->ids_len + entry->id.len, 1);
    if (ids == NULL) {
        return NULL;
    }
    task->ids = ids;
    struct hf_ordered_change *change = &task->changes[task->n_changes++];
    *change = (struct hf_ordered_change){.id_at = task->ids_len,
                                         .id_len = entry->id.len,
                                         .version = entry->version,
                                         .removes = removes,
                                         .ttl_s = entry->ttl_s};
    memcpy(change->session, entry->entry.owner.session,
           sizeof(change->session));
    memcpy(task->ids + task->ids_len, entry->id.data, entry->id.len);
    task->ids_len += entry->id.len;
    return change;
}

void hf_ordered_change_note(struct hf_ordered_change *change, const void *text,
                            size_t len)
{
    HF_ASSERT(len <= sizeof(change->note));
    change->note_len = len;
    memcpy(change->note, text, len);
}

/* ---- The sequence -------------------------------------------------------- */

void hf_ordered_task_fail(struct hf_ordered_task *task,
                          enum hf_wire_outcome outcome, enum hf_status fault,
                          const char *reason, struct hf_instant now)
{
    struct hf_wire_reply reply = {
        .outcome = outcome, .fault = fault, .reason = reason};
    task->undone(task, &reply, now);
}

void hf_ordered_task_fail_memory(struct hf_ordered_task *task,
                                 struct hf_instant now)
{
    hf_ordered_task_fail(task, HF_WIRE_UNSENT, HF_NO_MEMORY, "out of memory",
                         now);
}

struct hf_ordered_call *hf_ordered_task_call(struct hf_ordered_task *task,
                                             hf_wire_done_fn *done,
                                             struct hf_instant now)
{
    struct hf_ordered_call *call =
        hf_ordered_call_new(task->store, done, task->session, NULL, task->seat);
    if (call == NULL) {
        hf_ordered_task_fail_memory(task, now);
    } else {
        call->task = task;
    }
    return call;
}

void hf_ordered_task_ask(struct hf_ordered_task *task, hf_wire_list_fn *ask,
                         hf_wire_done_fn *done, struct hf_instant now)
{
    struct hf_bytes name = {task->name, task->name_len};
    if (task->rounds++ == ROUNDS_MAX) {
        hf_ordered_task_fail(task, HF_WIRE_UNSENT, HF_UNAVAILABLE,
                             "other requests came between", now);
        return;
    }
    struct hf_ordered_call *call = hf_ordered_task_call(task, done, now);
    if (call != NULL && !ask(task->store->wire, name, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

struct hf_ordered_task *hf_ordered_task_read(struct hf_wire_call *wire_call,
                                             const struct hf_wire_reply *reply,
                                             struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    struct hf_wire_reply read = *reply;
    hf_ordered_call_free(call);
    if (read.outcome == HF_WIRE_DONE) {
        return task;
    }
    if (read.outcome == HF_WIRE_LOST) {
        read.outcome = HF_WIRE_UNSENT; /* it only read */
    }
    task->undone(task, &read, now);
    return NULL;
}

static void on_opened(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    struct hf_wire_reply why;
    hf_ordered_call_free(call);
    if (hf_ordered_session_opened(task->session, reply, &why)) {
        task->opened(task, now);
    } else {
        task->undone(task, &why, now);
    }
}

void hf_ordered_task_open(struct hf_ordered_task *task,
                          hf_ordered_step_fn *opened, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    task->opened = opened; /* before the call: without memory the task ends */
    struct hf_ordered_call *call = hf_ordered_task_call(task, on_opened, now);
    if (call != NULL &&
        !store->wire_ops->open(store->wire, task->session->ttl_s, &call->wire,
                               now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* Not changed: another client has changed the entry since it was listed, so
 * what was planned is out of date. List and plan anew. */
static void on_changed(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    task->is_unsure |= reply->outcome == HF_WIRE_LOST;
    hf_ordered_call_free(call);
    if (reply->outcome != HF_WIRE_DONE) {
        task->undone(task, reply, now);
    } else if (!reply->has_changed) {
        list(task, now);
    } else {
        task->at++;
        task->n_done++;
        change_next(task, now);
    }
}

static void change_next(struct hf_ordered_task *task, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    HF_ASSERT(task->at <= task->n_changes);
    if (task->at == task->n_changes) {
        task->done(task, now);
        return;
    }
    const struct hf_ordered_change *change = &task->changes[task->at];
    const struct hf_ordered_session *own = task->session;
    struct hf_wire_change wire_change = {
        .name = {task->name, task->name_len},
        .id = {task->ids + change->id_at, change->id_len},
        .version = change->version,
        .session = change->removes ? NULL
                   : own != NULL   ? own->id
                                   : change->session,
        .ttl_s = own != NULL ? own->ttl_s : change->ttl_s,
        .note = {change->note, change->note_len},
    };
    struct hf_ordered_call *call = hf_ordered_task_call(task, on_changed, now);
    if (call != NULL && !store->wire_ops->replace(store->wire, &wire_change,
                                                  &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

static void on_listed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_read(wire_call, reply, now);
    if (task == NULL) {
        return;
    }
    if (!task->plan(task, reply)) {
        hf_ordered_task_fail_memory(task, now);
    } else if (task->session != NULL &&
               task->session->phase == HF_ORDERED_OPENING) {
        hf_ordered_task_begin(task, now); /* the plan needs a longer one */
    } else {
        change_next(task, now);
    }
}

static void list(struct hf_ordered_task *task, struct hf_instant now)
{
    task->n_changes = task->at = task->ids_len = 0;
    hf_ordered_task_ask(task, task->store->wire_ops->list, on_listed, now);
}

void hf_ordered_task_begin(struct hf_ordered_task *task, struct hf_instant now)
{
    if (task->session == NULL) {
        list(task, now);
    } else {
        hf_ordered_task_open(task, list, now);
    }
}
