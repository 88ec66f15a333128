/* SPDX-License-Identifier: Apache-2.0 */
/* The release of a handle and of its locks.
 *
 *     hf_op_init(&op, client, &handlers);      of kind HF_OP_RELEASE, with
 *                                              hf_release_outcome() in them
 *     hf_lock_set_reserve_until(lock, until);  each lock, if the name is kept
 *     hf_release_whole(lock, &op);             the handle is void from here on
 *     status = hf_op_await(&op, NULL);
 *
 *     hf_lock_set_done(lock, done, user);      each lock: without an operation
 *     hf_release_whole(lock, NULL);            lock_end.h has the rest
 *
 *     hf_release_start(lock, NULL);            one lock, with no receiver: of
 *                                              a failed attempt, for example
 *
 * Threads: with the mutex; no step of one of the locks is on the stack. Owner:
 * the locks are the client's from the call on, and free themselves when no node
 * can store their owner any more; `op` is the caller's. Errors: the status of
 * the operation: HF_LOST; HF_UNKNOWN, not confirmed by a majority; HF_DENIED.
 * The store may reply inside, so `op` may be done at the return. */
#ifndef HF_CLIENT_RELEASE_H
#define HF_CLIENT_RELEASE_H

#include "client/op.h"

/* One lock of a RELEASE or RELEASE_FOREIGN is released, lost or unknown. The
 * last one ends the operation, with the worst status. */
void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

/* Begin to release a lock. `op` gets the outcome; or NULL. */
void hf_release_start(struct hf_lock *lock, struct hf_op *op);

/* The same for all locks of the handle, which its user must not use any more.
 * Ends the asynchronous operations on it. NULL is fine. */
void hf_release_whole(struct hf_lock *lock, struct hf_op *op);

#endif
