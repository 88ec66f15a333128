/* SPDX-License-Identifier: Apache-2.0 */
/* An acquisition of several locks, all or none: of several names, or of a
 * permit of a semaphore (multi_name.c). */
#ifndef HF_CLIENT_MULTI_NAME_H
#define HF_CLIENT_MULTI_NAME_H

#include "client/op.h"

/** A new bundle, one allocation, with copies of names and label; the caller
 * must free() it. @return NULL: no memory. */
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
