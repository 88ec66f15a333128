/* SPDX-License-Identifier: Apache-2.0 */
/* Changed states of locks, for hf_client_next_event() and for on_state
 * (notify.h).
 *
 *     if (hf_lock_hand_out(first)) {           the user gets the handle:
 *         hf_client_notify(client, first);     enter.c, event_loop.c
 *     }
 *     hf_client_notify(client, lock);          each later change (step.c)
 *     lock = hf_client_take_event(client);     hf_client_next_event()
 *     hf_client_cancel_notify(client, lock);   before it is released, detached
 *                                              or freed
 *
 * The mutex is held, and no callback runs here. Owner: the queues refer to
 * locks of the client and own none; the lock that is taken stays the user's
 * handle. Nothing needs memory, so nothing fails. */
#ifndef HF_CLIENT_EVENTS_H
#define HF_CLIENT_EVENTS_H

#include "client/client.h"

/** The user gets the handle: its changes are queued from now on. Not before:
 * on_state may release the lock, and the call that acquires it would return a
 * lock that is freed. @return whether its state has changed since it was won,
 * and the caller has to queue that. */
bool hf_lock_hand_out(struct hf_lock *first);

/* Queue the changed state of a lock whose handle the user has. */
void hf_client_notify(struct hf_client *client, struct hf_lock *lock);

/* Remove a lock from the queues of changed states. */
void hf_client_cancel_notify(struct hf_client *client, struct hf_lock *lock);

/** Take the first lock from the queue of hf_client_next_event(). @return NULL:
 * it is empty. */
struct hf_lock *hf_client_take_event(struct hf_client *client);

#endif
