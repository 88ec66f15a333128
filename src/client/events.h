/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of changed states that hf_client_next_event() reads. */
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
