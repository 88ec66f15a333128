/* SPDX-License-Identifier: Apache-2.0 */
/* Releasing. The handle is invalid at once, and no callback begins for the
 * lock. The struct hf_lock exists until no node can store its owner any more.
 * Allocates no memory. */
#include "client/release.h"

#include "client/events.h"
#include "client/lock_end.h"
#include "client/lock_group.h"
#include "client/op_async.h"
#include "client/step.h"
#include "client/unavailable.h"

#include "base/assert.h"

void hf_release_start(struct hf_lock *lock, struct hf_op *op)
{
    hf_client_cancel_notify(lock->client, lock);
    lock->flags &= (uint8_t)~HF_LOCK_OURS;
    lock->op = op;
    if (op != NULL) {
        op->lock = lock;
    }
    hf_client_signal(lock->client, lock, HF_EV_RELEASE);
}

void hf_release_whole(struct hf_lock *lock, struct hf_op *op)
{
    if (lock != NULL) {
        hf_lock_stop_calls(lock);
    }
    for (struct hf_lock *one = lock; one != NULL;
         one = hf_lock_group_next(one)) {
        one->op = op; /* all before the first outcome */
    }
    while (lock != NULL) {
        struct hf_lock *next = hf_lock_group_next(lock);
        hf_release_start(lock, op);
        lock = next;
    }
}

void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome)
{
    HF_ASSERT(op->kind == HF_OP_RELEASE || op->kind == HF_OP_RELEASE_FOREIGN);
    enum hf_status status =
        hf_status_merge(op->worst, hf_outcome_status(outcome));
    lock->op = NULL;
    op->lock = hf_lock_group_leave(lock);
    op->worst = status;
    if (op->lock != NULL) {
        return;
    }
    if (op->kind == HF_OP_RELEASE_FOREIGN && status == HF_UNKNOWN &&
        op->answered == 0) {
        status = hf_unavailable_write(op);
    } else if (status == HF_UNKNOWN && hf_unavailable_check_denied(op)) {
        status = HF_DENIED;
    }
    if (status == HF_OK || op->error.text[0] != '\0') {
        hf_op_finish(op, status);
    } else {
        hf_op_fail(op, status, "%s", hf_status_text(status));
    }
}
