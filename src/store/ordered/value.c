/* SPDX-License-Identifier: Apache-2.0 */
/* VALUES: A TEXT APART FROM THE ENTRIES
 *
 *   GET   read ──▶ answer
 *   PUT   read ──▶ judge ──▶ write, if it has the version read ──▶ answer
 *          ▲                    │
 *          └── it has changed ──┘
 *   deletion: write a tombstone ──▶ remove that, if the wire may ──▶ answer
 *
 *   ID DATA      a value: the id of its last write, a blank, any bytes
 *   ID           a tombstone
 *
 * The public version is the revision of the last write, which the servers count
 * for all keys together: it rises, also if the value was deleted in between,
 * whether its tombstone is still there or not. A tombstone is no value, so no
 * version is the tombstone's: a PUT that names its revision is refused.
 *
 * Each write is conditional on what was read just before, so a write that lands
 * late does nothing if another one came first. A copy of a PUT finds its own id
 * and is not executed again. The tombstone has the id of a deletion whose reply
 * was lost; without a loss it is gone when the deletion is answered. A deletion
 * that finds one only removes it: the copy of a deletion, after which there was
 * another one, would else be executed again.
 *
 * Cost: a read at the leader for a GET, and one consensus more for a PUT, two
 * for a deletion. */
#include "store/ordered/task.h"

#include "base/assert.h"
#include "core/limits.h"

#include <stdlib.h>

/* What is stored, and what of it is public. Borrowed of the reply. */
struct stored {
    struct hf_bytes id;
    struct hf_bytes data; /* data NULL: no value */
    uint64_t version;     /* 0: no value */
};

static void on_put_read(struct hf_wire_call *wire_call,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now);

static void read_value(struct hf_ordered_task *task, hf_wire_done_fn *done,
                       struct hf_instant now)
{
    hf_ordered_task_ask(task, task->store->wire_ops->value_read, done, now);
}

/* ---- Texts --------------------------------------------------------------- */

static bool is_id(struct hf_bytes text)
{
    const char *bytes = text.data;
    for (size_t i = 0; i < HF_WRITE_ID_LEN; i++) {
        bool is_digit = (bytes[i] >= '0' && bytes[i] <= '9') ||
                        (bytes[i] >= 'a' && bytes[i] <= 'f');
        if (!is_digit) {
            return false;
        }
    }
    return true;
}

/** @return false: it is no value of ours. */
static bool parse(const struct hf_wire_reply *reply, struct stored *out)
{
    struct hf_bytes text = reply->mark;
    const char *bytes = text.data;
    *out = (struct stored){.version = 0};
    if (bytes == NULL) {
        return true;
    }
    if (text.len < HF_WRITE_ID_LEN || !is_id(text) || reply->revision == 0 ||
        reply->revision > HF_FENCE_MAX) {
        return false;
    }
    out->id = (struct hf_bytes){bytes, HF_WRITE_ID_LEN};
    if (text.len == HF_WRITE_ID_LEN) {
        return true;
    }
    out->data = (struct hf_bytes){bytes + HF_WRITE_ID_LEN + 1,
                                  text.len - HF_WRITE_ID_LEN - 1};
    out->version = reply->revision;
    return bytes[HF_WRITE_ID_LEN] == ' ';
}

/** @return false: no memory. */
static bool compose(struct hf_ordered_task *task, const struct hf_ask *ask)
{
    size_t len = HF_WRITE_ID_LEN;
    HF_ASSERT(ask->owner_len == HF_WRITE_ID_LEN);
    task->deletes = ask->value.data == NULL;
    task->text = malloc(len + 1 + ask->value.len);
    if (task->text == NULL) {
        return false;
    }
    memcpy(task->text, ask->owner, len);
    if (!task->deletes) {
        task->text[len++] = ' ';
        memcpy(task->text + len, ask->value.data, ask->value.len);
        len += ask->value.len;
    }
    task->text_len = len;
    return true;
}

/** What was read. @return NULL: nothing was, or it is no value of ours, and the
 * task is over. */
static struct hf_ordered_task *take(struct hf_wire_call *wire_call,
                                    const struct hf_wire_reply *reply,
                                    struct stored *out, struct hf_instant now)
{
    struct hf_ordered_task *task = hf_ordered_task_read(wire_call, reply, now);
    if (task != NULL && !parse(reply, out)) {
        hf_ordered_task_fail(
            task, HF_WIRE_ERROR, HF_UNAVAILABLE,
            "what is stored as the value of this name is no value of Holdfast",
            now);
        return NULL;
    }
    return task;
}

/* ---- Writing ------------------------------------------------------------- */

static bool write_text(struct hf_ordered_task *task, struct hf_bytes text,
                       uint64_t version, struct hf_ordered_call *call,
                       struct hf_instant now)
{
    struct hf_ordered *store = task->store;
    struct hf_wire_mark write = {
        .name = {task->name, task->name_len},
        .version = version,
        .text = text,
    };
    return store->wire_ops->value_write(store->wire, &write, &call->wire, now);
}

/* The deletion is done, whether its tombstone is gone or not. */
static void on_removed(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    (void)reply;
    hf_ordered_call_free(call);
    hf_ordered_task_done(task, now);
}

static void undone_but_deleted(struct hf_ordered_task *task,
                               const struct hf_wire_reply *reply,
                               struct hf_instant now)
{
    (void)reply;
    hf_ordered_task_done(task, now);
}

/** @param version  of the tombstone; 0: there is none. */
static void remove_tombstone(struct hf_ordered_task *task, uint64_t version,
                             struct hf_instant now)
{
    struct hf_bytes none = {NULL, 0};
    if (version == 0 || task->store->wire_ops->keeps_tombstones) {
        hf_ordered_task_done(task, now);
        return;
    }
    task->undone = undone_but_deleted;
    struct hf_ordered_call *call = hf_ordered_task_call(task, on_removed, now);
    if (call != NULL && !write_text(task, none, version, call, now)) {
        hf_ordered_call_fail(call, now);
    }
}

/** The write is done. A deletion may have been a tombstone, which is removed.
 * @param version  of what was written, for the wire. */
static void written(struct hf_ordered_task *task, uint64_t revision,
                    uint64_t version, struct hf_instant now)
{
    task->answer.verdict = HF_VERDICT_OK;
    task->answer.counter = revision;
    remove_tombstone(task, task->deletes ? version : 0, now);
}

static void on_written(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_task *task = call->task;
    hf_ordered_call_free(call);
    if (reply->outcome != HF_WIRE_DONE) {
        task->undone(task, reply, now);
    } else if (reply->has_changed) {
        written(task, reply->revision, reply->version, now);
    } else {
        read_value(task, on_put_read, now);
    }
}

static void judge(struct hf_ordered_task *task, const struct stored *stored,
                  const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_bytes text = {task->text, task->text_len};
    if (hf_ordered_is_text(stored->id, task->owner, task->owner_len)) {
        written(task, reply->revision, reply->version, now);
        return;
    }
    if (task->counter != HF_VERSION_ANY && task->counter != stored->version) {
        task->answer.verdict = HF_VERDICT_REFUSED;
        task->answer.counter = stored->version;
        hf_ordered_task_done(task, now);
        return;
    }
    if (task->deletes && stored->data.data == NULL) {
        task->answer.verdict = HF_VERDICT_OK; /* of any version: of none */
        remove_tombstone(task, reply->version, now);
        return;
    }
    struct hf_ordered_call *call = hf_ordered_task_call(task, on_written, now);
    if (call != NULL && !write_text(task, text, reply->version, call, now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* ---- Reading ------------------------------------------------------------- */

static void on_put_read(struct hf_wire_call *wire_call,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now)
{
    struct stored stored;
    struct hf_ordered_task *task = take(wire_call, reply, &stored, now);
    if (task != NULL) {
        judge(task, &stored, reply, now);
    }
}

static void on_get_read(struct hf_wire_call *wire_call,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now)
{
    struct stored stored;
    struct hf_ordered_task *task = take(wire_call, reply, &stored, now);
    if (task == NULL) {
        return;
    }
    task->answer.verdict = HF_VERDICT_OK;
    task->answer.counter = stored.version;
    task->answer.owner = stored.id.data;
    task->answer.owner_len = stored.id.len;
    task->answer.value = stored.data;
    hf_ordered_task_done(task, now);
}

/* ---- Asking -------------------------------------------------------------- */

void hf_ordered_value(struct hf_ordered *store, const struct hf_ask *ask,
                      struct hf_instant now)
{
    bool is_put = ask->verb == HF_VERB_PUT;
    struct hf_ask value = *ask;
    HF_ASSERT(store->wire_ops->value_read != NULL);
    if (!is_put) {
        value.owner = "";
        value.owner_len = 0;
    }
    struct hf_ordered_task *task = hf_ordered_task_new(store, &value, now);
    if (task == NULL) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    task->counter = ask->counter;
    if (is_put && !compose(task, ask)) {
        hf_ordered_task_fail_memory(task, now);
        return;
    }
    read_value(task, is_put ? on_put_read : on_get_read, now);
}
