/* SPDX-License-Identifier: Apache-2.0 */
/* The acquisition of one lock: attempts, until one holds it or the wait ends.
 *
 *     hf_op_init(&op, client, &hf_acquire_handlers);
 *     op.order = …;                            request.h
 *     if (!hf_op_list(&op)) …                  no memory
 *     hf_acquire_begin(&op);                   may end it
 *     status = hf_op_await(&op, error);        wait.h
 *     lock = op.lock;                          HF_OK: held
 *
 *     if (hf_acquire_is_stuck(&member->op)) …  multi_name.c: of its members
 *     hf_acquire_end(&member->op);             ... at the end of its wait
 *
 * The mutex is held. hf_acquire_end() steps the lock of the attempt, whose step
 * must not be on the stack. Owner: the operation is the caller's; an attempt
 * that has failed releases itself. Errors: the status of the operation. */
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
