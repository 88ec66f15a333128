/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's jobs on nodes. */
#ifndef HF_CLIENT_NODE_ADMIN_H
#define HF_CLIENT_NODE_ADMIN_H

#include "client/op.h"

/* For op_kind.c: the time of the job is over. Nodes that have not replied count
 * as HF_UNAVAILABLE. */
void hf_job_due(struct hf_op *op);

#endif
