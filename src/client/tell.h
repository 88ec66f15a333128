/* SPDX-License-Identifier: Apache-2.0 */
/* on_state: told of changes without the client's mutex.
 *
 * A change is queued where it arises, with the lock itself as the link, so that
 * the queue can be neither full nor out of memory. The library's thread tells
 * what is queued: so no callback runs in a call, whose caller may have a mutex
 * that the callback wants. Without it, the thread that is about to leave the
 * library, or to sleep in it, runs the callbacks: one thread at a time, and in
 * order, so that a lock's callbacks never overtake each other.
 *
 * A release does not wait for a callback that has begun. What that callback may
 * still read, is kept until it returns: the memory of all locks of the handle,
 * and in it what is not changed after the handle was made. */
#ifndef HF_CLIENT_TELL_H
#define HF_CLIENT_TELL_H

#include <holdfast/holdfast.h>

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_client;
struct hf_lock;

/* Of each lock, where on_state is set. */
struct hf_told {
    uint32_t prev; /* in the queue of those that changed, by slot */
    uint32_t next;
    bool is_queued;
    uint8_t state;                 /* enum hf_state told last */
    const struct hf_lock *follows; /* the next of the handle; does not change */
    struct hf_lock *next_held;     /* of those freed while the handle is told */
    union {
        struct hf_instant keep; /* HF_LOCK_KEEPING */
        hf_op_fn *done;         /* HF_LOCK_CALLING */
    };
    void *done_user;
};

/* Of the client. */
struct hf_teller {
    uint32_t first; /* changed, by slot */
    uint32_t last;
    bool is_telling;      /* some thread does, without the mutex */
    struct hf_lock *lock; /* whose callback runs; or NULL */
    struct hf_lock *held; /* freed meanwhile, but still to be read */
};

void hf_tell_init(struct hf_teller *teller);

/* The state of a handle has changed; take it out again. */
void hf_tell_push(struct hf_client *client, struct hf_lock *lock);
void hf_tell_remove(struct hf_client *client, struct hf_lock *lock);

/* Is there something that a call has to tell? */
bool hf_tell_is_due(const struct hf_client *client);

/* Tell it: a call; the library's thread. Lets go of the mutex in between. */
void hf_tell_here(struct hf_client *client);
void hf_tell_all(struct hf_client *client);

/* `lock` is out of all tables; is its memory still to be read by a callback?
 * @return true: it is freed after that. */
bool hf_tell_holds(struct hf_client *client, struct hf_lock *lock);

#endif
