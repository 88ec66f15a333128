/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions of CL-1 to CL-9 (ARCHITECTURE.md). */
#ifndef HF_CLIENT_CHECK_H
#define HF_CLIENT_CHECK_H

#include "client/op.h"

/* Invariants of an operation, at any time. */
void hf_op_check(const struct hf_op *op);

/* Invariants of a lock, after each step. */
void hf_lock_check(const struct hf_lock *lock);

/* Invariants of a client, when the mutex is released. */
void hf_client_check(const struct hf_client *client);

#endif
