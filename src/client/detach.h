/* SPDX-License-Identifier: Apache-2.0 */
/* Detaching a lock from its process. */
#ifndef HF_CLIENT_DETACH_H
#define HF_CLIENT_DETACH_H

#include "client/op.h"

/* For op_kind.c: the other nodes had one more timeout. Ends the operation. */
void hf_detach_due(struct hf_op *op);

/* For step.c: its lock had a step. Ends the operation if every node has
 * replied, or its request has timed out. */
void hf_detach_on_step(struct hf_op *op);

/* For op_kind.c: its lock was extended without processes, could not be, or is
 * lost. A failure leaves the handle to the caller. */
void hf_detach_outcome(struct hf_op *op, enum hf_outcome outcome);

/* Undo it: the lock ends with its processes again, from its next renewal on.
 * Does not end the operation. */
void hf_detach_abandon(struct hf_op *op);

#endif
