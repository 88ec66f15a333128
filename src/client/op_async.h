/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that end with a callback: begin, cancel, free. They are on the
 * heap.
 *
 *     op = hf_op_copy(&plan);                  or malloc() and hf_op_init()
 *     if (op == NULL || !hf_op_list(op)) { free(op); … }        HF_NO_MEMORY
 *     hf_op_set_done(op, done, user);
 *     status = hf_lock_check_unused(lock, error);   on a lock: before all this
 *     op->lock = lock; lock->op = op;
 *     hf_client_step(client, lock, &event);    it may be done now: its callback
 *                                              is queued
 *
 *     op->call(op); hf_op_free(op);            hf_client_process()
 *
 *     hf_op_abandon(op); hf_op_free(op);       hf_op_cancel(): in progress
 *     hf_ops_remove(&client->finished, op);    ... and if it is done
 *     hf_op_forget_result(op); hf_op_free(op);
 *
 *     hf_op_stop(op);                          a token was triggered (cancel.c)
 *     hf_lock_stop_calls(lock);                its lock is released (release.c)
 *
 * Callbacks run in hf_client_process() and at the end of the client, never in
 * the functions below. Threads: with the mutex, but hf_op_free(). Owner: from
 * hf_op_list() on an operation is the client's, which frees it after its
 * callback; hf_op_cancel() frees it without one. */
#ifndef HF_CLIENT_OP_ASYNC_H
#define HF_CLIENT_OP_ASYNC_H

#include "client/op.h"

/* Make it asynchronous: `done` is called without the mutex, once, unless the
 * operation is cancelled by hf_op_cancel(). It gets the lock, if the status is
 * HF_OK and there is one. */
void hf_op_set_done(struct hf_op *op, hf_op_fn *done, void *user);

/* End an asynchronous operation that is not done with HF_CANCELLED, and queue
 * its callback. */
void hf_op_stop(struct hf_op *op);

/* Discard the result of a completed operation before its callback has run:
 * release its lock, detach it again if it was adopted, or undo a detachment or
 * a break. Does not free the operation. */
void hf_op_forget_result(struct hf_op *op);

/* Free an asynchronous operation that is in no list, and its memory. */
void hf_op_free(struct hf_op *op);

/** A copy on the heap, with copies of the name and the text of its order, which
 * is of one lock. It is in no table yet. @return NULL: no memory; else the
 * caller's, with free() until it has begun. */
struct hf_op *hf_op_copy(const struct hf_op *plan);

/* Whether an operation on a lock of the handle is in progress, of a call that
 * blocks or an asynchronous one: a second one is refused. */
bool hf_lock_is_in_use(const struct hf_lock *lock);

/** @return HF_OK; HF_INVALID with a text: hf_lock_is_in_use(). */
enum hf_status hf_lock_check_unused(const struct hf_lock *lock,
                                    struct hf_error *error);

/* The lock is being released: end the operation on it with HF_CANCELLED, even
 * if it is done and its callback is queued, or its call has yet to wake. */
void hf_lock_stop_calls(struct hf_lock *lock);

#endif
