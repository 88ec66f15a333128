/* SPDX-License-Identifier: Apache-2.0 */
/* The acquisition of one lock: attempts, until one holds it or the wait ends.
 */
#ifndef HF_CLIENT_ACQUIRE_H
#define HF_CLIENT_ACQUIRE_H

#include "client/op.h"

/* Begin a listed ACQUIRE with its order filled. It may have failed at the
 * return, and with the embedded store it may hold the lock. */
void hf_acquire_begin(struct hf_op *op);

/* Of an ACQUIRE. */
extern const struct hf_op_handlers hf_acquire_handlers;

/** Write the holder that the last refusal named as its error. @return BUSY. */
enum hf_status hf_acquire_write_busy(struct hf_op *op);

/* A third of a try: permits that are tried then have the rest of it. */
#define HF_ACQUIRE_SILENT_MS 300

/** Whether a majority has answered, not all with a grant, and the nodes that
 * could still grant it have been silent for HF_ACQUIRE_SILENT_MS. */
bool hf_acquire_is_stuck(const struct hf_op *op);

/* End the operation and its attempt, if it has one: the wait is over, or the
 * name is a semaphore of another size. multi_name.c ends its members with it.
 */
void hf_acquire_end(struct hf_op *op);

#endif
