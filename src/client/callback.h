/* SPDX-License-Identifier: Apache-2.0 */
/* Calling the user's functions, which may call any function of the library.
 *
 *     struct hf_caller self;                       on the stack
 *     … copy the arguments out of the client …
 *     hf_client_let_out(client, &self);
 *     wants_more = each(user, &entry);             without the mutex
 *     hf_client_take_in(client, &self);
 *     if (client->is_closing) { … end the call; send nothing … }
 *
 * In between, the thread must not read the client or its locks: other threads
 * change them. Afterwards a pointer to a handle from before is valid only if
 * the handle has a reader (notify.h). hf_client_let_out() needs the mutex,
 * hf_client_take_in() takes it. Neither may run inside the store's ask() or
 * flush().
 *
 * The callback of an asynchronous operation is never called at once:
 * hf_op_finish() appends the operation to client->finished, and calls
 * hf_client_schedule_callback(). hf_client_process() runs it (event_loop.c). */
#ifndef HF_CLIENT_CALLBACK_H
#define HF_CLIENT_CALLBACK_H

#include "client/client.h"

/* Release the mutex before a user's callback, and take it again; `self` is on
 * the stack until then. The callback may have closed the client: it is freed
 * only after hf_client_leave(). It may also fork, and return in the child:
 * there the call ends as if the client was closed, and sends and reads nothing.
 */
void hf_client_let_out(struct hf_client *client, struct hf_caller *self);

/* The callback has returned: take the mutex, which the thread must not have. */
void hf_client_take_in(struct hf_client *client, struct hf_caller *self);

/* Whether this thread is between the two. */
bool hf_client_is_in_callback(const struct hf_client *client);

/* Callbacks are queued for hf_client_process(): make hf_client_fd() readable.
 */
void hf_client_schedule_callback(struct hf_client *client);

/* True if this thread is inside hf_client_process(), which flushes at its end.
 */
bool hf_client_is_deferring(const struct hf_client *client);

#endif
