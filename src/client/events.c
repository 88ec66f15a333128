/* SPDX-License-Identifier: Apache-2.0 */
/* Changed states of locks, queued for on_state (notify.h) and for
 * hf_client_next_event(); each lock at most once. The locks themselves are the
 * entries of the queues, so queueing needs no memory and cannot fail. */
#include "client/events.h"

#include "client/callback.h"
#include "client/lock.h"
#include "client/lock_group.h"
#include "client/lock_queue.h"
#include "client/notify.h"

#include "base/assert.h"

/** The user sees the state of the handle: each of its locks changes by itself,
 * and must not report the same state again. @return false: it is the same. */
static bool note_state(struct hf_lock *first, enum hf_state state)
{
    struct hf_lock_group *link = hf_lock_link(first);
    if (link == NULL) {
        return true;
    }
    bool has_changed = link->reported != (uint8_t)state;
    link->reported = (uint8_t)state;
    return has_changed;
}

bool hf_lock_hand_out(struct hf_lock *first)
{
    for (struct hf_lock *one = first; one != NULL;
         one = hf_lock_group_next(one)) {
        one->flags |= HF_LOCK_OURS;
    }
    return hf_lock_group_state(first) != HF_STATE_HELD;
}

void hf_client_notify(struct hf_client *client, struct hf_lock *lock)
{
    lock = hf_lock_group_first(lock);
    enum hf_state state = hf_lock_group_state(lock);
    if (!note_state(lock, state)) {
        return;
    }
    if ((lock->flags & HF_LOCK_HAS_EVENT) == 0) {
        lock->flags |= HF_LOCK_HAS_EVENT;
        hf_lock_queue_push(client, &client->events_first, &client->events_last,
                           lock);
        hf_client_schedule_callback(client);
    }
    hf_notify_push(client, lock);
}

static void cancel_event(struct hf_client *client, struct hf_lock *lock)
{
    if ((lock->flags & HF_LOCK_HAS_EVENT) != 0) {
        lock->flags &= (uint8_t)~HF_LOCK_HAS_EVENT;
        hf_lock_queue_remove(client, &client->events_first,
                             &client->events_last, lock);
    }
}

void hf_client_cancel_notify(struct hf_client *client, struct hf_lock *lock)
{
    hf_notify_remove(client, lock);
    cancel_event(client, lock);
}

struct hf_lock *hf_client_take_event(struct hf_client *client)
{
    if (client->events_first == HF_NOWHERE) {
        return NULL;
    }
    struct hf_lock *lock = hf_lock_queue_at(client, client->events_first);
    cancel_event(client, lock);
    return lock;
}
