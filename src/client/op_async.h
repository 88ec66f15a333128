/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that end with a callback: begin, cancel, free. */
#ifndef HF_CLIENT_OP_ASYNC_H
#define HF_CLIENT_OP_ASYNC_H

#include "client/op.h"

/* Make it asynchronous; `done` gets the lock, if there is one. */
void hf_op_set_done(struct hf_op *op, hf_op_fn *done, void *user);

/* End an asynchronous operation with HF_CANCELLED, and queue its callback. */
void hf_op_stop(struct hf_op *op);

/* Discard the result of an operation that is done. */
void hf_op_forget_result(struct hf_op *op);

/* Free an asynchronous operation. */
void hf_op_free(struct hf_op *op);

/** Enter a call that may start an operation, as hf_client_begin() does. *out is
 * NULL from here on; out may be NULL. missing: the argument that is missing,
 * for the error; or NULL. @return HF_OK, and hf_client_leave() is due; else as
 * hf_client_begin(). */
enum hf_status hf_op_enter(struct hf_client *client, const char *missing,
                           struct hf_op **out, struct hf_error *error);

/** A copy on the heap, with copies of the name and the text of its order.
 * @return NULL: no memory. */
struct hf_op *hf_op_copy(const struct hf_op *plan);

/* Whether an asynchronous operation on the lock is in progress: a second one is
 * refused. */
bool hf_lock_is_in_use(const struct hf_lock *lock);
enum hf_status hf_lock_check_unused(const struct hf_lock *lock,
                                    struct hf_error *error);

/* The lock is being released: end the asynchronous operations on it. */
void hf_lock_stop_calls(struct hf_lock *lock);

#endif
