/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a lock: its outcome goes to the callback of an asynchronous
 * release, and its memory is freed.
 *
 *     hf_lock_set_done(lock, done, user);          lock.h: HF_LOCK_CALLING
 *     hf_release_whole(lock, NULL);                release.h
 *     hf_lock_note_outcome(lock, outcome);         step.c: released, LOST …
 *     status = lock->outcome;                      hf_client_process()
 *     done = hf_lock_take_done(lock, &user);       the lock may be freed here
 *     … done(user, NULL, status, &error), without the mutex (callback.h)
 *
 *     hf_lock_free(lock);                          step.c: its lease is over
 *
 * A release with an operation has no HF_LOCK_CALLING. It computes the worst of
 * its outcomes with hf_status_merge() and hf_outcome_status() (release.c).
 *
 * Threads: with the mutex. Owner: a lock belongs to the client, which frees
 * those that are left at its end (close.c). Nothing here needs memory or fails.
 */
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
 * and free it, or leave that to the callback or call that reads it
 * (notify.h). It has no operation, and is not in the queue of callbacks. */
void hf_lock_free(struct hf_lock *lock);

#endif
