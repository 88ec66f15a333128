/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of changed states that hf_client_next_event() reads. */
#ifndef HF_CLIENT_EVENTS_H
#define HF_CLIENT_EVENTS_H

#include "client/client.h"

/* Queue the changed state of a lock whose handle the user has. */
void hf_client_notify(struct hf_client *client, struct hf_lock *lock);

/* Remove a lock from the queues of changed states. */
void hf_client_cancel_notify(struct hf_client *client, struct hf_lock *lock);

/** Take the first lock from the queue of hf_client_next_event(). @return NULL:
 * it is empty. */
struct hf_lock *hf_client_take_event(struct hf_client *client);

#endif
