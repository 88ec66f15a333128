/* SPDX-License-Identifier: Apache-2.0 */
/* MARK: WHETHER A RUN HAS BEGUN IN THIS PERIOD
 *
 *   read ──▶ judge ──nothing to write──▶ answer
 *    ▲         │
 *    │         └─▶ [open a session] ─▶ write, if it is as it was read ─▶ answer
 *    └───────────────── it has changed ─────────┘
 *
 * A mark is a text beside the entries of its name (mark_text.h). It says itself
 * when it began and how long it lasts, by the servers' clock, and the client
 * that finds it judges it by that clock. Its session only removes it in the
 * end: servers give a session its whole ttl again when a leader changes, so it
 * tells nothing of the period, and lasts longer than that. Where a session may
 * end early, or cannot be so long, a mark has none: sweep.c removes it.
 *
 * Nothing begins too early: the clock may have been later than it showed, by
 * one step, when the mark was made, and so it begins one step later; and it is
 * over when the clock shows its end, which is at that time or before. So it
 * lasts up to two steps longer. Where servers' clocks differ, it lasts shorter
 * or longer by that.
 *
 * A write that is lost may be executed later, but only if nothing was written
 * since the read before it. Then it makes the mark that was asked for, which
 * begins and ends when that one did. Each round has a session of its own: a
 * session that was opened before another round might end too early.
 *
 * Cost: one request to read; three to write, or two without a session. */
#include "store/ordered/mark_text.h"
#include "store/ordered/task.h"

#include "core/validity.h"

/* Milliseconds that a session outlives its mark, beside the drift of clocks:
 * the mark may be written so long after it was opened. */
#define SLACK_MS 10000

static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now);

static void read_mark(struct hf_ordered_task *task, hf_wire_done_fn *done,
                      struct hf_instant now)
{
    hf_ordered_task_ask(task, task->store->wire_ops->mark_read, done, now);
}

/* ---- Sessions ------------------------------------------------------------ */

static void on_closed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    (void)reply;
    (void)now;
    hf_ordered_call_free((struct hf_ordered_call *)(void *)wire_call);
}

/* Its session has no mark, and will have none. */
static void drop_session(struct hf_ordered_task *task, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    struct hf_ordered_session *session = task->session;
    task->session = NULL;
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_closed, session, NULL, NULL);
    if (call != NULL &&
        !store->wire_ops->close(store->wire, session->id, &call->wire, now)) {
        hf_ordered_call_free(call);
    }
}

/* ---- Writing ------------------------------------------------------------- */

/* What was surely not written needs no session. After a lost reply it is kept:
 * the mark may be there, and would end with it. */
static void on_written(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    struct hf_wire_reply read = *reply;
    bool is_written = read.outcome == HF_WIRE_DONE && read.has_changed;
    hf_ordered_call_free(call);
    if (task->session != NULL && !is_written && read.outcome != HF_WIRE_LOST) {
        drop_session(task, now);
    }
    if (is_written && task->version == 0) {
        hf_ordered_sweep(task->store, task->counter, now);
    }
    if (is_written) {
        hf_ordered_task_done(task, now);
    } else if (read.outcome == HF_WIRE_DONE) {
        read_mark(task, on_read, now);
    } else {
        hf_ordered_task_undone(task, &read, now);
    }
}

static void write_mark(struct hf_ordered_task *task, struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    char text[HF_ORDERED_MARK_TEXT_MAX];
    struct hf_ordered_mark mark = {.fence = task->counter,
                                   .start_ms = task->start_ms,
                                   .length_ms = task->length_ms,
                                   .owner = {task->owner, task->owner_len}};
    struct hf_wire_mark write = {
        .name = {task->name, task->name_len},
        .version = task->version,
        .session = task->session == NULL ? NULL : task->session->id,
        .text = {text, hf_ordered_mark_write(&mark, text)},
    };
    struct hf_ordered_call *call = hf_ordered_task_call(task, on_written, now);
    if (call != NULL &&
        !store->wire_ops->mark_write(store->wire, &write, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

static void open_session(struct hf_ordered_task *task, int64_t lasts_ms,
                         struct hf_instant now)
{
    int64_t drift_ms = hf_span_ms_ceil(hf_drift(hf_span_ms(lasts_ms)));
    task->session =
        hf_ordered_session_own(task->store, lasts_ms + drift_ms + SLACK_MS);
    if (task->session == NULL) {
        hf_ordered_task_fail_memory(task, now);
    } else {
        hf_ordered_task_open(task, write_mark, now);
    }
}

/* ---- Reading ------------------------------------------------------------- */

/* The answer is the mark after the merge. The owner is copied: the answer may
 * come with a later reply. */
static void fill(struct hf_ordered_task *task,
                 const struct hf_ordered_mark *mark, int64_t left_ms)
{
    size_t len = mark->owner.len;
    task->answer.verdict = HF_VERDICT_OK;
    task->answer.counter = mark->fence;
    task->answer.left_ms = mark->fence == 0 ? 0 : left_ms;
    task->answer.owner = NULL;
    task->answer.owner_len = len;
    if (len > 0) {
        memcpy(task->found, mark->owner.data, len);
        task->answer.owner = task->found;
    }
}

/** @return false: the reply does not tell, and the task is over. */
static bool find(struct hf_ordered_task *task,
                 const struct hf_wire_reply *reply, struct hf_ordered_mark *out,
                 struct hf_instant now)
{
    bool has_mark = reply->mark.data != NULL;
    bool needs_clock = has_mark || task->counter != 0;
    *out = (struct hf_ordered_mark){.fence = 0};
    if (has_mark && !hf_ordered_mark_read(reply->mark, out)) {
        hf_ordered_task_fail(
            task, HF_WIRE_ERROR, HF_CONFIG,
            "what is stored as the mark of this name is none of Holdfast's: "
            "remove it",
            now);
        return false;
    }
    if (needs_clock && reply->clock_ms <= 0) {
        hf_ordered_task_fail(
            task, HF_WIRE_ERROR, HF_CONFIG,
            "the server does not tell its time, by which a mark is judged",
            now);
        return false;
    }
    if (hf_ordered_mark_left(out, reply->clock_ms) == 0) {
        *out = (struct hf_ordered_mark){.fence = 0}; /* it is over */
    }
    return true;
}

static void judge(struct hf_ordered_task *task,
                  const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_mark kept;
    struct hf_ordered_mark mark = {.fence = task->counter,
                                   .start_ms =
                                       reply->clock_ms + reply->clock_step_ms,
                                   .length_ms = task->length_ms,
                                   .owner = {task->owner, task->owner_len}};
    if (!find(task, reply, &kept, now)) {
        return;
    }
    task->asked = reply->sent; /* what is left counts from then */
    if (!hf_ordered_mark_wins(&mark, &kept)) {
        fill(task, &kept, hf_ordered_mark_left(&kept, reply->clock_ms));
        hf_ordered_task_done(task, now);
        return;
    }
    fill(task, &mark, mark.length_ms);
    task->version = reply->version;
    task->start_ms = mark.start_ms;
    if (task->store->wire_ops->marks != NULL) {
        write_mark(task, now);
    } else {
        open_session(task, reply->clock_step_ms + mark.length_ms, now);
    }
}

static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_read(wire_call, reply, now);
    if (task != NULL) {
        judge(task, reply, now);
    }
}

/* ---- Showing ------------------------------------------------------------- */

static void show(struct hf_ordered_task *task, struct hf_bytes who,
                 int64_t left_ms)
{
    static const char ended[] = "ended:";
    const size_t ended_len = sizeof(ended) - 1;
    size_t len = who.len < HF_OWNER_MAX ? who.len : HF_OWNER_MAX;
    memcpy(task->found, ended, ended_len);
    memcpy(task->found + ended_len, who.data, len);
    task->answer.holder_kind = HF_HOLDER_FOREIGN;
    task->answer.owner = task->found;
    task->answer.owner_len = ended_len + len;
    task->answer.left_ms = left_ms;
}

/* A free name with a live mark is shown as one that is kept taken. So is one
 * whose mark cannot be read: a list shows it, and all others. */
static void on_shown(struct hf_wire_call *wire_call,
                     const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_read(wire_call, reply, now);
    struct hf_ordered_mark mark = {.fence = 0};
    if (task == NULL) {
        return;
    }
    task->asked = reply->sent;
    task->answer.verdict = HF_VERDICT_OK;
    if (reply->mark.data != NULL && !hf_ordered_mark_read(reply->mark, &mark)) {
        show(task, reply->mark, -1);
    } else if (!find(task, reply, &mark, now)) {
        return;
    } else if (mark.owner.len > 0) {
        task->answer.counter = mark.fence;
        show(task, mark.owner, hf_ordered_mark_left(&mark, reply->clock_ms));
    }
    hf_ordered_task_done(task, now);
}

void hf_ordered_mark_show(struct hf_ordered_task *task, struct hf_instant now)
{
    read_mark(task, on_shown, now);
}

/* ---- Asking -------------------------------------------------------------- */

/* Nothing is marked there, so a break finds no mark that it must withdraw. */
static void refuse(struct hf_ordered *store, const struct hf_ask *ask,
                   struct hf_instant now)
{
    bool reads = ask->counter == 0;
    hf_ordered_answer_plain(
        store, ask, reads ? HF_VERDICT_OK : HF_VERDICT_ERROR,
        reads ? HF_OK : HF_CONFIG,
        reads ? NULL : "this store keeps no marks of --once yet", now);
}

void hf_ordered_mark(struct hf_ordered *store, const struct hf_ask *ask,
                     struct hf_instant now)
{
    if (store->wire_ops->mark_read == NULL) {
        refuse(store, ask, now);
        return;
    }
    struct hf_ordered_task *task = hf_ordered_task_new(store, ask, now);
    if (task == NULL) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    task->counter = ask->ttl_ms > 0 ? ask->counter : 0;
    task->length_ms = ask->ttl_ms;
    read_mark(task, on_read, now);
}
