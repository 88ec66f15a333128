/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a lock. */
#ifndef HF_CLIENT_LOCK_END_H
#define HF_CLIENT_LOCK_END_H

#include "client/lock.h"

/* The status of a release with this outcome. */
enum hf_status hf_outcome_status(enum hf_outcome outcome);

/* The status of several locks: HF_LOST, else the first error. */
enum hf_status hf_status_merge(enum hf_status one, enum hf_status other);

/* A lock with HF_LOCK_CALLING has its outcome. The last one of the handle
 * queues the callback, with the worst status. */
void hf_lock_note_outcome(struct hf_lock *lock, enum hf_outcome outcome);

/** Take its callback from a lock with HF_LOCK_CALLING, also from the queue.
 * Frees the lock if its lease is over. @return the callback, for `user`. */
hf_op_fn *hf_lock_take_done(struct hf_lock *lock, void **user);

/* Remove the lock from the tables, its group and the queue of changed states,
 * and free it, or leave that to an on_state callback that runs for it. It has
 * no operation, and is not in the queue of callbacks. */
void hf_lock_free(struct hf_lock *lock);

#endif
