/* SPDX-License-Identifier: Apache-2.0 */
/* The extension of a handle's leases. */
#ifndef HF_CLIENT_EXTEND_H
#define HF_CLIENT_EXTEND_H

#include "client/op.h"

/* For op_kind.c: one lock of the handle is extended, or could not be. The last
 * one ends the operation, with the worst status. */
void hf_extend_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome);

#endif
