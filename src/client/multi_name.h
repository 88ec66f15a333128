/* SPDX-License-Identifier: Apache-2.0 */
/* An acquisition of several locks, all or none: of several names, or of a
 * permit of a semaphore (multi_name.c).
 *
 *     op = hf_bundle_new(client, &order);      if hf_order_is_bundle()
 *     if (op == NULL || !hf_op_list(op)) { free(op); … }
 *     hf_bundle_begin(op);                     may end it
 *     status = hf_op_await(op, error);         or hf_op_set_done() before
 *     lock = op->lock;                         HF_OK: the handle, all are held
 *     free(op);
 *
 *     hf_bundles_pump(client);                 deferred.c, while there are any
 *     one = hf_bundle_waiting(op);             hf_op_waiting()
 *
 * The mutex is held. Errors: the status of the operation. */
#ifndef HF_CLIENT_MULTI_NAME_H
#define HF_CLIENT_MULTI_NAME_H

#include "client/op.h"

/** A new bundle, one allocation, with copies of names and label. The caller
 * frees it with free(); if it has a callback, hf_op_free() does. @return NULL:
 * no memory. */
struct hf_op *hf_bundle_new(struct hf_client *client,
                            const struct hf_order *order);

/* Begin it with the first sweep. It ends like an acquisition of one name. */
void hf_bundle_begin(struct hf_op *op);

/* Continue the bundles with a member that has finished, or has lost its lock.
 * No step is on the stack. */
void hf_bundles_pump(struct hf_client *client);

/* The queued member with the fewest waiters ahead, which the bundle owns; NULL:
 * none is queued. */
struct hf_op *hf_bundle_waiting(struct hf_op *op);

#endif
