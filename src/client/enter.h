/* SPDX-License-Identifier: Apache-2.0 */
/* The begin and the end of every public call. In between, the calling thread
 * has the client's mutex.
 *
 *     enum hf_status status = hf_client_begin(client, error);
 *     if (status != HF_OK) {
 *         return status;                   `error` has the text
 *     }
 *     … hf_client_step(), hf_op_await() …
 *     hf_client_leave(client);             the client may be freed now
 *     return status;
 *
 * hf_client_enter() is for calls that a cancel token must not end, such as a
 * release; hf_op_enter() for those that begin an asynchronous operation. A call
 * that returns a new handle ends with hf_client_leave_with(). A call that goes
 * on after its callbacks must look at the result of hf_client_leave(): true
 * means that it must not use the client again. */
#ifndef HF_CLIENT_ENTER_H
#define HF_CLIENT_ENTER_H

#include "client/client.h"

/** Begin a public call: take the mutex, read the clock, start overdue
 * reconnects. @return HF_OK, and hf_client_leave() is due; HF_INVALID with a
 * text, and the mutex is not held: no client, a client of the parent process,
 * or one that is being closed. */
enum hf_status hf_client_enter(struct hf_client *client,
                               struct hf_error *error);

/** Begin a call that a cancel token can end, as hf_client_enter() does. @return
 * as hf_client_enter(), or HF_CANCELLED: the client's token was triggered. */
enum hf_status hf_client_begin(struct hf_client *client,
                               struct hf_error *error);

/** Enter a call that may start an operation, as hf_client_begin() does. *out is
 * NULL from here on; out may be NULL. missing: the argument that is missing,
 * for the error; or NULL. @return HF_OK: the mutex is held, and
 * hf_client_leave() is due; HF_INVALID: an argument is missing; else as
 * hf_client_begin(). */
enum hf_status hf_op_enter(struct hf_client *client, const char *missing,
                           struct hf_op **out, struct hf_error *error);

/** End a public call: settle, run on_state if it is due, set the timer, release
 * the mutex. @return true: a callback closed the client, and it is freed; or a
 * callback forked, and this is the child. */
bool hf_client_leave(struct hf_client *client);

/** The same, and hand out `lock`, which the call returns; or NULL. No on_state
 * for it has begun in this call: its caller does not have the handle yet. */
bool hf_client_leave_with(struct hf_client *client, struct hf_lock *lock);

#endif
