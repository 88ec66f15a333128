/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel tokens, as calls see them.
 *
 * A token has an eventfd of its own. Each client that waits for it watches that
 * beside its sockets, so the thread that polls is woken (wait.c). It is never
 * unwatched: the kernel does that when the token is freed, and until then a
 * client that has no use for it wakes once for nothing. */
#ifndef HF_CLIENT_CANCEL_H
#define HF_CLIENT_CANCEL_H

#include "client/op.h"

/* May a call with the token `cancel` begin? NULL is fine. From here on it wakes
 * the client. @return HF_OK; HF_CANCELLED; HF_NO_MEMORY. */
enum hf_status hf_cancel_admit(struct hf_client *client,
                               const struct hf_cancel *cancel,
                               struct hf_error *error);

/* Has the token of the operation, or of its client, been triggered, and does it
 * end this operation? */
bool hf_op_is_cancelled(const struct hf_op *op);

/* End all asynchronous operations whose token was triggered. */
void hf_client_cancel_started(struct hf_client *client);

#endif
