/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that are one handle.
 *
 *     a, b, c            "invoice", "stock", "till": in the order given
 *     name#3, name       permit 3 of a semaphore, and its shared hold of the
 *                        name
 *
 * The handle is the first lock. Each lock is renewed by itself; the state of
 * the handle is the worst of them. If one is LOST, the others are renewed until
 * the user releases the handle, so that no other owner begins while the user
 * may still work. Links do not change from when the user gets the handle until
 * it is released: functions for any thread follow them without the mutex. The
 * links of a lock are its struct hf_lock_group (lock.h). */
#ifndef HF_CLIENT_LOCK_GROUP_H
#define HF_CLIENT_LOCK_GROUP_H

#include <holdfast/holdfast.h>

#include <stdbool.h>

struct hf_lock;
struct hf_op;

/* Append `next` to `lock`, which is the last of its list. */
void hf_lock_group_join(struct hf_lock *lock, struct hf_lock *next);

/** Take the lock out of its list. @return another lock of the list, or NULL. */
struct hf_lock *hf_lock_group_leave(struct hf_lock *lock);

/* The next lock of the list, or NULL; the first one. */
struct hf_lock *hf_lock_group_next(const struct hf_lock *lock);
struct hf_lock *hf_lock_group_first(struct hf_lock *lock);

/* The next lock of the user's handle, or NULL. Needs no mutex. */
const struct hf_lock *hf_lock_follows(const struct hf_lock *lock);

/* The worst state of the leases from `first` on. */
enum hf_state hf_lock_group_state(const struct hf_lock *first);

/* Whether `op` still waits for an outcome of a lock of the list. */
bool hf_lock_group_is_awaited(const struct hf_lock *lock,
                              const struct hf_op *op);

#endif
