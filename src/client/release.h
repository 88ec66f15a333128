/* SPDX-License-Identifier: Apache-2.0 */
/* The release of a handle and of its locks. */
#ifndef HF_CLIENT_RELEASE_H
#define HF_CLIENT_RELEASE_H

#include "client/op.h"

/* One lock of a RELEASE or RELEASE_FOREIGN is released, lost or unknown. The
 * last one ends the operation, with the worst status. */
void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

/* Begin to release a lock. `op` gets the outcome; or NULL. */
void hf_release_start(struct hf_lock *lock, struct hf_op *op);

/* The same for all locks of the handle, which its user must not use any more.
 * Ends the asynchronous operations on it. NULL is fine. */
void hf_release_whole(struct hf_lock *lock, struct hf_op *op);

#endif
