/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation hears of, passed on to the file of its kind. */
#ifndef HF_CLIENT_OP_KIND_H
#define HF_CLIENT_OP_KIND_H

#include "client/op.h"

/* End an operation that is not done, as HF_CANCELLED; a release as HF_UNKNOWN.
 * Notifies neither waiter, callback nor parent, and frees nothing. An attempt
 * releases itself in the background. */
void hf_op_abandon(struct hf_op *op);

/* The lock that it waits for has an outcome. */
void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome);

/* Its timer went off. */
void hf_op_due(struct hf_op *op);

/* The status of a node changed; the operation is listed. */
void hf_op_node(struct hf_op *op);

#endif
