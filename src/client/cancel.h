/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel tokens, as calls use them.
 *
 * Each token has an eventfd. A client that uses the token adds that to its
 * epoll set, so that a trigger wakes the polling thread (wait.c). The client
 * never removes it: the kernel does when the token is freed. Until then, a
 * trigger may wake a client without effect, once. */
#ifndef HF_CLIENT_CANCEL_H
#define HF_CLIENT_CANCEL_H

#include "client/op.h"

/** Begin a call with the token `cancel`; NULL is fine. From now on the token
 * wakes the client. @return HF_OK; HF_CANCELLED; HF_NO_MEMORY. */
enum hf_status hf_cancel_admit(struct hf_client *client,
                               const struct hf_cancel *cancel,
                               struct hf_error *error);

/* Whether the token of the operation or of its client was triggered; false for
 * is_cleanup. */
bool hf_op_is_cancelled(const struct hf_op *op);

/* End all asynchronous operations with a triggered token. */
void hf_client_cancel_started(struct hf_client *client);

#endif
