/* SPDX-License-Identifier: Apache-2.0 */
/* An acquisition of several locks, all or none: of several names, or of a
 * permit of a semaphore (bundle.c). */
#ifndef HF_CLIENT_BUNDLE_H
#define HF_CLIENT_BUNDLE_H

#include "client/op.h"

/* Names and label are copied. On the heap, in one piece: free() it.
 * @return NULL: no memory. */
struct hf_op *hf_bundle_new(struct hf_client *client,
                            const struct hf_order *order);

void hf_bundle_begin(struct hf_op *op);

/* Its timer went off. */
void hf_bundle_due(struct hf_op *op);

/* The wait is over: whatever it has is given back. */
void hf_bundle_abandon(struct hf_op *op);

/* A member came to its end, or lost what it had. Noted, and worked off by
 * hf_bundles_pump(), since others may be half way through their own news. */
void hf_bundle_heard(struct hf_op *member);
void hf_bundles_pump(struct hf_client *client);

/* The member that tells best how the whole stands; NULL: none waits. */
struct hf_op *hf_bundle_waiting(struct hf_op *op);

#endif
