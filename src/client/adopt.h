/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of another process: adopting one by its owner, and releasing one
 * without a handle. */
#ifndef HF_CLIENT_ADOPT_H
#define HF_CLIENT_ADOPT_H

#include "client/op.h"

/* For op_kind.c: the adopted lock has an outcome. Ends the operation; unless
 * the lock is HELD, it is no longer the operation's. */
void hf_adopt_outcome(struct hf_op *op, struct hf_lock *lock,
                      enum hf_outcome outcome);

/* For op_kind.c: the wait of an ADOPT or DISOWN is over. Ends the operation. */
void hf_adopt_due(struct hf_op *op);

/* Begin to release the lock with the owner of op->order, with op->counter as
 * its fence, at all nodes but those of op->spared. `op` is a new DISOWN. */
void hf_release_foreign_begin(struct hf_op *op);

#endif
