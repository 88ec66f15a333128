/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a lock: an event goes into its lease, and the effects are carried
 * out.
 *
 *     op->lock = lock; lock->op = op;            the outcome goes to `op`
 *     struct hf_event event = {.kind = HF_EV_ACQUIRE, .now = client->now};
 *     hf_client_step(client, lock, &event);
 *     if (op->is_done) …                         a store may reply inside
 *     hf_client_signal(client, lock, HF_EV_RELEASE);
 *
 *     state = hf_lock_group_state_now(first);    by the clock
 *
 *     hf_client_ask(client, &ask);               a query (broadcast.c)
 *     hf_client_note_fault(client, answer);      its reply, or that to a lock
 *     if (!hf_client_reserve_event(client)) …    a push (answer.c): drop it
 *
 * The mutex is held, and is not released. The handlers of the operation run
 * inside (op.h); they must not step the same lock, and set HF_LOCK_GIVE_UP
 * instead. After a step the lock may be freed, unless the user has its handle:
 * a caller that goes on finds it by its operation. Owner: event, request and
 * reply are the caller's, and borrowed for the call. Errors: none; a request
 * for whose reply there is no memory counts as not sent. */
#ifndef HF_CLIENT_STEP_H
#define HF_CLIENT_STEP_H

#include "client/client.h"

/* Pass one event to the lock's lease and carry out the effects: requests, the
 * state that other threads read, the outcome for its operation, the timer. The
 * lease must not be over. May end the operation, and may free the lock. */
void hf_client_step(struct hf_client *client, struct hf_lock *lock,
                    const struct hf_event *event);

/* The same for an event that has only a kind. */
void hf_client_signal(struct hf_client *client, struct hf_lock *lock,
                      enum hf_event_kind kind);

/* The state of a lock at client->now. Steps its lease if the deadline has
 * passed, which makes it LOST. */
enum hf_state hf_lock_state_now(struct hf_lock *lock);

/* The worst of the handle's locks, each by the clock. */
enum hf_state hf_lock_group_state_now(struct hf_lock *first);

/* Note why a request failed, as the reason of its node. That of a node that
 * refuses for good stays: the requests that it ends with have lesser ones. */
void hf_client_note_fault(struct hf_client *client,
                          const struct hf_answer *answer);

/** Reserve room for one more queued event, beside the replies to all requests
 * in flight. @return false: no memory. */
bool hf_client_reserve_event(struct hf_client *client);

/* Pass one request to the store; `ask` is borrowed until the return. The reply
 * may come before that, to hf_client_on_answer(). */
void hf_client_ask(struct hf_client *client, const struct hf_ask *ask);

#endif
