/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of another process: adopting one by its owner, and releasing one
 * without a handle. */
#ifndef HF_CLIENT_ADOPT_H
#define HF_CLIENT_ADOPT_H

#include "client/op.h"

/* Of a RELEASE_FOREIGN. */
extern const struct hf_op_handlers hf_release_foreign_handlers;

/* Begin to release the lock with the owner of op->order, with op->counter as
 * its fence, at all nodes but those of op->spared. `op` is a new
 * RELEASE_FOREIGN. */
void hf_release_foreign_begin(struct hf_op *op);

#endif
