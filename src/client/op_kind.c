/* SPDX-License-Identifier: Apache-2.0 */
/* WHAT DEPENDS ON THE KIND OF AN OPERATION
 *
 * What an operation hears of is passed on to the file of its kind: acquire.c,
 * broadcast.c, break.c and so on. So op.c, on which all of these rest, need not
 * know them: it calls only a bundle and a seizure, when a part of them ends. */
#include "client/op_kind.h"

#include "client/acquire.h"
#include "client/adopt.h"
#include "client/break.h"
#include "client/broadcast.h"
#include "client/bundle.h"
#include "client/check.h"
#include "client/detach.h"
#include "client/extend.h"
#include "client/list.h"
#include "client/node_admin.h"
#include "client/release.h"
#include "client/step.h"
#include "client/unavailable.h"

#include "base/assert.h"

#include <stdio.h>

/* An acquisition releases its attempt; an adoption stops renewing and releases
 * nothing; a release or an extension continues without the operation. */
void hf_op_abandon(struct hf_op *op)
{
    struct hf_lock *lock = op->lock;
    HF_ASSERT(!op->is_done);
    if (op->kind == HF_OP_BUNDLE) {
        hf_bundle_abandon(op);
    } else if (op->kind == HF_OP_DETACH) {
        hf_detach_abandon(op);
    } else if (op->kind == HF_OP_LIST) {
        hf_list_abandon(op);
    } else if (op->kind == HF_OP_BREAK) {
        hf_break_abandon(op);
    }
    hf_op_part(op);
    if (lock != NULL && op->kind == HF_OP_ACQUIRE) {
        hf_client_signal(op->client, lock, HF_EV_RELEASE);
    } else if (lock != NULL && op->kind == HF_OP_ADOPT) {
        hf_client_signal(op->client, lock, HF_EV_DETACH);
    }
    hf_op_unlist(op);
    op->is_done = true;
    op->status = op->kind == HF_OP_RELEASE ? HF_UNKNOWN : HF_CANCELLED;
    snprintf(op->error.text, sizeof(op->error.text), "%s",
             hf_status_text(op->status));
    op->error.status = op->status;
    hf_op_check(op);
}

void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome)
{
    HF_ASSERT(lock->op == op);
    hf_op_check(op);
    if (op->is_done) {
        if (op->bundle != NULL) {
            hf_bundle_heard(op); /* held for its bundle, and LOST since */
        }
        return;
    }
    switch (op->kind) {
    case HF_OP_ACQUIRE:
        hf_acquire_outcome(op, lock, outcome);
        break;
    case HF_OP_ADOPT:
        hf_adopt_outcome(op, lock, outcome);
        break;
    case HF_OP_EXTEND:
        hf_extend_outcome(op, lock, outcome);
        break;
    case HF_OP_RELEASE:
    case HF_OP_DISOWN:
        hf_release_outcome(op, lock, outcome);
        break;
    case HF_OP_DETACH:
        hf_detach_outcome(op, outcome);
        break;
    case HF_OP_BUNDLE:
    case HF_OP_LIST:
    case HF_OP_QUERY:
    case HF_OP_JOB:
    case HF_OP_BREAK:
    case HF_OP_SEIZURE:
        HF_ASSERT(false); /* they have no attempt */
    }
}

void hf_op_due(struct hf_op *op)
{
    switch (op->kind) {
    case HF_OP_ACQUIRE:
        hf_acquire_due(op);
        break;
    case HF_OP_ADOPT:
    case HF_OP_DISOWN:
        hf_adopt_due(op);
        break;
    case HF_OP_QUERY:
        hf_broadcast_due((struct hf_broadcast *)op);
        break;
    case HF_OP_JOB:
        hf_job_due(op);
        break;
    case HF_OP_DETACH:
        hf_detach_due(op);
        break;
    case HF_OP_BREAK: /* the holder's lease has expired */
        hf_op_finish(op, HF_OK);
        break;
    case HF_OP_BUNDLE:
        hf_bundle_due(op);
        break;
    case HF_OP_EXTEND:
    case HF_OP_RELEASE:
    case HF_OP_LIST:
    case HF_OP_SEIZURE:
        HF_ASSERT(false); /* they have no timer of their own */
    }
}

void hf_op_node(struct hf_op *op)
{
    if (op->kind == HF_OP_QUERY) {
        hf_broadcast_pump((struct hf_broadcast *)op);
    } else if (op->kind == HF_OP_ACQUIRE && !op->is_done) {
        enum hf_status status = hf_unavailable_final(op);
        if (status != HF_OK) {
            struct hf_lock *lock = op->lock;
            hf_op_part(op);
            hf_op_finish(op, status);
            if (lock != NULL) {
                hf_client_signal(op->client, lock, HF_EV_RELEASE);
            }
        }
    }
}
