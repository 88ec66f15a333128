/* SPDX-License-Identifier: Apache-2.0 */
/* THE LIFE OF AN OPERATION
 *
 *   init ──▶ reserve ──▶ list ──▶ outcome, due, node, note … ──▶ finish
 *                                                           └──▶ abandon
 *
 *   handler                called for
 *   outcome, stepped       the lock of its attempt (step.c)
 *   due                    its timer (deferred.c)
 *   node                   a change of a node's status (deferred.c)
 *   failed                 its end with an error, for the log
 *   hf_op_note()           each reply to its attempt (answer.c), for messages
 *
 * The handlers depend on the kind of operation: acquire.c, break.c and the
 * other files of a kind each have a struct hf_op_handlers. This file knows none
 * of them.
 *
 * It ends once. hf_op_finish() first takes it out of the tables, so that no
 * timer and no node can reach it, and then notifies exactly one: the bundle
 * that it is a member of, else its parent, else its callback (queued, never
 * called from here), else the thread that waits. hf_op_abandon() notifies none,
 * since its caller knows.
 *
 * Why it is safe: no lock points to an operation that has ended. An attempt is
 * a lock with an owner of its own. When its operation is cancelled or fails,
 * hf_op_part() clears the pointers between them. Then the lock gets
 * HF_EV_RELEASE, and stays until no node can store its owner
 * (core/lease_release.c). So a late grant finds a lock that
 * releases itself, never a freed operation. Room in the tables is reserved
 * before it begins, so that its timers and its end need no memory.
 *
 * Cost: no round trip of its own; a timer, and an end, O(log n) of all
 * timers. */
#include "client/op.h"

#include "client/callback.h"
#include "client/lock_group.h"

#include "base/assert.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

void hf_op_init(struct hf_op *op, struct hf_client *client,
                const struct hf_op_handlers *handlers)
{
    enum hf_op_kind kind = handlers->kind;
    memset(op, 0, offsetof(struct hf_op, rival));
    op->item = (struct hf_item){HF_NOWHERE, HF_ITEM_OP};
    op->kind = kind;
    op->handlers = handlers;
    op->client = client;
    op->status = HF_INTERNAL;
    op->is_cleanup = kind == HF_OP_RELEASE || kind == HF_OP_RELEASE_FOREIGN;
    op->interrupts = client->interrupts_before;
    op->rival.is_known = false;
    op->error.status = HF_OK;
    op->error.node = -1;
    op->error.text[0] = '\0';
}

void hf_ops_append(struct hf_ops *ops, struct hf_op *op)
{
    HF_ASSERT((ops->first == NULL) == (ops->last == NULL));
    HF_ASSERT(op->prev == NULL && op->next == NULL && ops->last != op);
    op->prev = ops->last;
    op->next = NULL;
    if (ops->last != NULL) {
        ops->last->next = op;
    } else {
        ops->first = op;
    }
    ops->last = op;
}

void hf_ops_remove(struct hf_ops *ops, struct hf_op *op)
{
    HF_ASSERT(op->prev != NULL || ops->first == op);
    HF_ASSERT(op->next != NULL || ops->last == op);
    if (op->prev != NULL) {
        op->prev->next = op->next;
    } else {
        ops->first = op->next;
    }
    if (op->next != NULL) {
        op->next->prev = op->prev;
    } else {
        ops->last = op->prev;
    }
    op->prev = NULL;
    op->next = NULL;
}

bool hf_op_reserve(struct hf_op *op)
{
    struct hf_client *client = op->client;
    HF_ASSERT(!op->is_reserved);
    if (!hf_item_table_add(&client->items, &op->item)) {
        return false;
    }
    if (!hf_timer_heap_reserve(&client->heap, &op->item)) {
        hf_item_table_remove(&client->items, &op->item);
        return false;
    }
    op->is_reserved = true;
    return true;
}

bool hf_op_list(struct hf_op *op)
{
    HF_ASSERT(!op->is_listed);
    if (!op->is_reserved && !hf_op_reserve(op)) {
        return false;
    }
    op->is_listed = true;
    hf_ops_append(&op->client->ops, op);
    hf_op_check(op);
    return true;
}

void hf_op_unlist(struct hf_op *op)
{
    if (op->is_listed) {
        hf_ops_remove(&op->client->ops, op);
        op->is_listed = false;
    }
    if (op->is_reserved) {
        hf_timer_heap_set(&op->client->heap, &op->item, HF_NEVER);
        hf_timer_heap_unreserve(&op->client->heap);
        op->is_reserved = false;
    }
    if (op->item.idx != HF_NOWHERE) {
        hf_item_table_remove(&op->client->items, &op->item);
    }
}

void hf_op_end_child(struct hf_op *parent)
{
    HF_ASSERT(parent->n_children > 0);
    parent->n_children--;
    if (parent->n_children > 0) {
        return;
    }
    if (parent->handlers->children_done != NULL) {
        parent->handlers->children_done(parent);
    } else {
        hf_op_finish(parent, HF_OK);
    }
}

void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome)
{
    HF_ASSERT(lock->op == op);
    hf_op_check(op);
    if (!op->is_done) {
        HF_ASSERT(op->handlers->outcome != NULL);
        op->handlers->outcome(op, lock, outcome);
    } else if (op->bundle != NULL) { /* held for its bundle, and LOST since */
        op->bundle->handlers->member(op->bundle, op);
    }
}

/* ---- The end ----------------------------------------------------------- */

void hf_op_finish(struct hf_op *op, enum hf_status status)
{
    HF_ASSERT(!op->is_done);
    hf_op_unlist(op);
    op->is_done = true;
    op->status = status;
    op->error.status = status;
    hf_op_check(op);
    if (status != HF_OK && op->error.text[0] == '\0') {
        snprintf(op->error.text, sizeof(op->error.text), "%s",
                 hf_status_text(status));
    }
    if (status != HF_OK && op->handlers->failed != NULL) {
        op->handlers->failed(op);
    }
    if (op->bundle != NULL) {
        op->bundle->handlers->member(op->bundle, op);
    } else if (op->parent != NULL) {
        hf_op_end_child(op->parent);
    } else if (op->call != NULL) {
        hf_ops_append(&op->client->finished, op);
        hf_client_schedule_callback(op->client);
    } else if (op->waiter != NULL) {
        pthread_cond_signal(op->waiter);
    }
}

void hf_op_fail(struct hf_op *op, enum hf_status status, const char *format,
                ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(op->error.text, sizeof(op->error.text), format, args);
    va_end(args);
    hf_op_finish(op, status);
}

void hf_op_part(struct hf_op *op)
{
    if (op->lock == NULL) {
        return;
    }
    for (struct hf_lock *lock = hf_lock_group_first(op->lock); lock != NULL;
         lock = hf_lock_group_next(lock)) {
        HF_ASSERT(lock->op == op || lock->op == NULL); /* had its outcome */
        lock->op = NULL;
    }
    op->lock = NULL;
}

void hf_op_abandon(struct hf_op *op)
{
    HF_ASSERT(!op->is_done);
    if (op->handlers->abandon != NULL) {
        op->handlers->abandon(op);
    }
    hf_op_part(op);
    hf_op_unlist(op);
    op->is_done = true;
    op->status = op->kind == HF_OP_RELEASE ? HF_UNKNOWN : HF_CANCELLED;
    snprintf(op->error.text, sizeof(op->error.text), "%s",
             hf_status_text(op->status));
    op->error.status = op->status;
    hf_op_check(op);
}

/* ---- Replies ----------------------------------------------------------- */

static void note_rival(struct hf_op *op, const struct hf_answer *answer)
{
    struct hf_holder_hint *rival = &op->rival;
    op->ahead = answer->ahead;
    if (answer->is_as_before) {
        return;
    }
    rival->is_known = true;
    rival->kind = answer->holder_kind;
    rival->node = answer->node;
    rival->left_ms = answer->left_ms;
    rival->counter = answer->counter;
    rival->read_at = op->client->now;
    rival->len = answer->owner == NULL ? 0 : answer->owner_len;
    if (rival->len > sizeof(rival->owner)) {
        rival->len = sizeof(rival->owner);
    }
    memcpy(rival->owner, answer->owner == NULL ? "" : answer->owner,
           rival->len);
    if (answer->permits != 0 && answer->permits != op->order.permits) {
        op->rival_permits = answer->permits;
        if (op->order.permits != 0) {
            hf_timer_heap_set(&op->client->heap, &op->item, op->client->now);
        }
    }
}

/* The node let it wait before, and does not any more: its rights were taken, or
 * its user was. A lease goes on asking, so its timer ends it (acquire.c). */
static void note_refusal(struct hf_op *op, const struct hf_answer *answer)
{
    bool is_for_good = answer->fault == HF_DENIED || answer->fault == HF_CONFIG;
    if (op->is_queued && is_for_good && answer->verb == HF_VERB_ACQUIRE &&
        answer->verdict != HF_VERDICT_UNKNOWN) {
        op->answered &= (uint16_t) ~(1U << answer->node);
        op->is_denied = true;
        hf_timer_heap_set(&op->client->heap, &op->item, op->client->now);
    }
}

void hf_op_wake(struct hf_op *op)
{
    if (op->waiter != NULL) {
        pthread_cond_signal(op->waiter);
        eventfd_write(op->client->poke.fd, 1); /* if it is the one that polls */
    }
}

static void note_answer(struct hf_op *op, uint8_t node)
{
    const struct hf_client *client = op->client;
    uint16_t bit = (uint16_t)(1U << node);
    op->answered |= bit;
    if ((client->nodes.voting & bit) != 0) {
        op->heard_at[node] = client->now;
    }
}

/* A confirmation of another counter is no vote: lease_renew.c. The next one may
 * be that of another name. */
static void note_counter(struct hf_op *op, const struct hf_answer *answer,
                         uint64_t fence)
{
    if (hf_op_renews(op) && answer->verb == HF_VERB_CONFIRM) {
        bool is_other = answer->counter != fence;
        op->astray |= (uint16_t)(is_other ? 1U << answer->node : 0);
    }
}

void hf_op_note(struct hf_op *op, const struct hf_answer *answer,
                uint64_t fence)
{
    uint16_t bit = (uint16_t)(1U << answer->node);
    if (op->is_done) {
        return; /* held for its bundle: this is a reply to a renewal */
    }
    if (op->kind == HF_OP_RELEASE && answer->verb != HF_VERB_RELEASE) {
        return; /* to a request from before the release */
    }
    switch (answer->verdict) {
    case HF_VERDICT_OK:
        note_answer(op, answer->node);
        note_counter(op, answer, fence);
        op->leading |= answer->node_time_us > 0 ? bit : 0;
        break;
    case HF_VERDICT_REFUSED:
    case HF_VERDICT_QUEUED:
        note_answer(op, answer->node);
        op->denying |= hf_op_renews(op) ? bit : 0;
        if (op->kind == HF_OP_ACQUIRE && (answer->verb == HF_VERB_ACQUIRE ||
                                          answer->verb == HF_VERB_YIELD)) {
            note_rival(op, answer);
        }
        break;
    case HF_VERDICT_UNSENT:
    case HF_VERDICT_UNKNOWN:
    case HF_VERDICT_ERROR:
        op->refusing |= bit;
        note_refusal(op, answer);
        break;
    }
}
