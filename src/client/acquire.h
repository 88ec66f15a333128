/* SPDX-License-Identifier: Apache-2.0 */
/* The acquisition of one lock: attempts, until one holds it or the wait ends.
 */
#ifndef HF_CLIENT_ACQUIRE_H
#define HF_CLIENT_ACQUIRE_H

#include "client/op.h"

void hf_acquire_begin(struct hf_op *op);

void hf_acquire_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

void hf_acquire_due(struct hf_op *op);

#endif
