/* SPDX-License-Identifier: Apache-2.0 */
/* The acquisition of one lock: attempts, until one holds it or the wait ends.
 */
#ifndef HF_CLIENT_ACQUIRE_H
#define HF_CLIENT_ACQUIRE_H

#include "client/op.h"

/* Begin a listed ACQUIRE with its order filled. It may have failed at the
 * return, and with the embedded store it may hold the lock. */
void hf_acquire_begin(struct hf_op *op);

/* For op_kind.c: the attempt has an outcome. HELD ends the operation, and
 * op->lock is the result; QUEUED lets it wait; after any other the attempt is
 * no longer the operation's, which begins another at its timer, or ends. */
void hf_acquire_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

/* For op_kind.c: the pause before the next attempt is over, or the whole wait.
 */
void hf_acquire_due(struct hf_op *op);

#endif
