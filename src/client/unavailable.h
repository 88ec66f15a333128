/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no majority.
 *
 *     status = hf_unavailable_final(op);       HF_OK: a retry may help
 *     if (status != HF_OK) { hf_op_finish(op, status); }
 *     hf_op_finish(op, hf_unavailable_write(op));      its time is over
 *
 * The mutex is held. They read which nodes have answered `op`, and write its
 * error; none ends it. */
#ifndef HF_CLIENT_UNAVAILABLE_H
#define HF_CLIENT_UNAVAILABLE_H

#include "client/op.h"

/** Write why there is no majority: a line that names each missing node with its
 * reason. @return HF_UNAVAILABLE; HF_DENIED, HF_QUARANTINED, HF_NO_MEMORY
 * or HF_CONFIG, if that is what a majority lacks. */
enum hf_status hf_unavailable_write(struct hf_op *op);

/** @return HF_CONFIG with a text if some node can never work as configured;
 * HF_DENIED if too many nodes deny access; else HF_OK. */
enum hf_status hf_unavailable_final(struct hf_op *op);

/** @return true: so many nodes deny access that no majority is left; the error
 * text names them. */
bool hf_unavailable_check_denied(struct hf_op *op);

/* Each node without a vote is down, denies access, or has a counter too far
 * from the others'. */
bool hf_unavailable_is_hopeless(const struct hf_op *op);

#endif
