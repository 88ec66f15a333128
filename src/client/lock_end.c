/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a lock: the outcome of its release goes to a callback, if there is
 * one, and its memory is freed, unless on_state may still read it (notify.h).
 */
#include "client/lock_end.h"

#include "client/callback.h"
#include "client/events.h"
#include "client/lock_group.h"
#include "client/lock_queue.h"
#include "client/notify.h"

#include "base/assert.h"

#include <stdlib.h>

enum hf_status hf_outcome_status(enum hf_outcome outcome)
{
    if (outcome == HF_OUT_RELEASED) {
        return HF_OK;
    }
    return outcome == HF_OUT_LOST ? HF_LOST : HF_UNKNOWN;
}

enum hf_status hf_status_merge(enum hf_status one, enum hf_status other)
{
    return one == HF_OK || other == HF_LOST ? other : one;
}

/* A lock with an outcome leaves the group, and hands the worst outcome on. The
 * last one to do so queues the callback. */
void hf_lock_note_outcome(struct hf_lock *lock, enum hf_outcome outcome)
{
    struct hf_client *client = lock->client;
    HF_ASSERT((lock->flags & HF_LOCK_HAS_CALLBACK) == 0);
    HF_ASSERT((lock->flags & HF_LOCK_CALLING) != 0);
    lock->outcome = (uint8_t)hf_status_merge((enum hf_status)lock->outcome,
                                             hf_outcome_status(outcome));
    struct hf_lock *other = hf_lock_group_leave(lock);
    if (other != NULL) {
        other->outcome = (uint8_t)hf_status_merge(
            (enum hf_status)other->outcome, (enum hf_status)lock->outcome);
        lock->flags &= (uint8_t)~HF_LOCK_CALLING;
        return;
    }
    lock->flags |= HF_LOCK_HAS_CALLBACK;
    hf_lock_queue_push(client, &client->calls_first, &client->calls_last, lock);
    hf_client_schedule_callback(client);
}

hf_op_fn *hf_lock_take_done(struct hf_lock *lock, void **user)
{
    struct hf_client *client = lock->client;
    hf_op_fn *done = hf_lock_done(lock, user);
    if ((lock->flags & HF_LOCK_HAS_CALLBACK) != 0) {
        hf_lock_queue_remove(client, &client->calls_first, &client->calls_last,
                             lock);
    }
    lock->flags &= (uint8_t) ~(HF_LOCK_HAS_CALLBACK | HF_LOCK_CALLING);
    if ((lock->flags & HF_LOCK_OVER) != 0) {
        hf_lock_free(lock);
    } else {
        hf_lock_mirror(lock); /* where `user` was, as it is no longer CALLING */
    }
    return done;
}

void hf_lock_free(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    HF_ASSERT(lock->op == NULL && (lock->flags & HF_LOCK_HAS_CALLBACK) == 0);
    hf_client_cancel_notify(client, lock);
    hf_lock_group_leave(lock);
    hf_timer_heap_set(&client->heap, &lock->item, HF_NEVER);
    hf_timer_heap_unreserve(&client->heap);
    hf_item_table_remove(&client->items, &lock->item);
    if (!hf_notify_holds(client, lock)) {
        free(lock);
    }
}
