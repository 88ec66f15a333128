/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that are one handle.
 *
 *     a, b, c            "invoice", "stock", "till": in the order given
 *     name#3, name       permit 3 of a semaphore, and its shared hold of the
 *                        name
 *
 * The user has the first. Each is renewed by itself; the whole is as good as
 * the worst of them. If one is LOST the others are kept and renewed until the
 * user gives up, so that no other owner begins while the user may still be at
 * work. Links do not change from when the user gets the handle until it is
 * released: what any thread may ask, follows them without the mutex. */
#ifndef HF_CLIENT_LINK_H
#define HF_CLIENT_LINK_H

#include <holdfast/holdfast.h>

#include <stdbool.h>
#include <stdint.h>

struct hf_lock;
struct hf_op;

struct hf_link {
    struct hf_lock *prev;
    struct hf_lock *next;
    int16_t permit; /* the first, of a semaphore: which one; else -1 */
    uint8_t told;   /* the first: enum hf_state that the user knows of */
};

/* `next` comes behind `lock`, which is the last so far. */
void hf_link_join(struct hf_lock *lock, struct hf_lock *next);

/* It goes on alone. @return one of the others, or NULL. */
struct hf_lock *hf_link_leave(struct hf_lock *lock);

/* The one behind it, or NULL; the one in front of all. */
struct hf_lock *hf_link_next(const struct hf_lock *lock);
struct hf_lock *hf_link_first(struct hf_lock *lock);

/* The worst of all from `first` on, as their leases say. */
enum hf_state hf_link_state(const struct hf_lock *first);

/* Is an outcome of any of them still awaited by `op`? */
bool hf_link_is_awaited(struct hf_lock *lock, const struct hf_op *op);

#endif
