/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous operations: they are on the heap, and end in a callback. */
#include "client/op_async.h"

#include "client/callback.h"
#include "client/lock_group.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hf_op *hf_op_copy(const struct hf_op *plan)
{
    const struct hf_order *order = &plan->order;
    struct hf_op *op = malloc(sizeof(*op) + order->name_len + order->text_len);
    if (op == NULL) {
        return NULL;
    }
    hf_op_init(op, plan->client, plan->handlers);
    op->order = *order;
    op->counter = plan->counter;
    char *name = (char *)(op + 1);
    memcpy(name, order->name, order->name_len);
    op->order.name = name;
    if (order->text_len > 0) {
        memcpy(name + order->name_len, order->text, order->text_len);
    }
    op->order.text = name + order->name_len;
    return op;
}

static void call_plain(struct hf_op *op)
{
    op->callback(op->user, op->status == HF_OK ? op->lock : NULL, op->status,
                 &op->error);
}

void hf_op_set_done(struct hf_op *op, hf_op_fn *done, void *user)
{
    op->call = call_plain;
    op->callback = done;
    op->user = user;
}

void hf_op_free(struct hf_op *op)
{
    if (op->fini != NULL) {
        op->fini(op);
    }
    free(op);
}

void hf_op_stop(struct hf_op *op)
{
    hf_op_abandon(op);
    op->status = HF_CANCELLED;
    op->error.status = HF_CANCELLED;
    hf_ops_append(&op->client->finished, op);
    hf_client_schedule_callback(op->client);
}

/* A lock that is being detached stays the user's. An adopted lock is detached
 * again. A break may be between two of its steps. A new lock is released. */
void hf_op_forget_result(struct hf_op *op)
{
    if (op->status == HF_OK && op->handlers->discard != NULL) {
        op->handlers->discard(op);
    }
}

/* ---- Operations on a lock ---------------------------------------------- */

/* A lock of several that has had its outcome has no operation any more. */
static struct hf_op *op_of(const struct hf_lock *lock)
{
    while (lock != NULL && lock->op == NULL) {
        lock = hf_lock_group_next(lock);
    }
    return lock == NULL ? NULL : lock->op;
}

bool hf_lock_is_in_use(const struct hf_lock *lock)
{
    return op_of(lock) != NULL;
}

enum hf_status hf_lock_check_unused(const struct hf_lock *lock,
                                    struct hf_error *error)
{
    if (hf_lock_is_in_use(lock)) {
        return hf_fail(error, HF_INVALID,
                       "another call on this lock was started, and is not "
                       "through");
    }
    return HF_OK;
}

/* End the operation of a call that waits: in on_state, which that call runs
 * itself, or in the library's thread. */
static void stop_call(struct hf_op *op)
{
    hf_op_abandon(op);
    op->status = HF_CANCELLED;
    op->error.status = HF_CANCELLED;
    hf_op_wake(op);
}

/* The operation may be done, with its callback still queued; or its call runs
 * on_state before it looks at the result. */
void hf_lock_stop_calls(struct hf_lock *lock)
{
    struct hf_op *op = op_of(lock);
    if (op == NULL) {
        return;
    }
    if (!op->is_done && op->call != NULL) {
        hf_op_stop(op);
        return;
    }
    if (!op->is_done) {
        stop_call(op);
        return;
    }
    hf_op_forget_result(op);
    op->status = HF_CANCELLED;
    op->error.status = HF_CANCELLED;
    snprintf(op->error.text, sizeof(op->error.text), "%s",
             hf_status_text(HF_CANCELLED));
}
