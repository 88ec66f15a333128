/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for an operation: which thread polls, and which ones sleep.
 *
 *     client->poke.ready = hf_client_on_poke;     open.c
 *
 *     status = hf_client_begin(client, error);    enter.h: takes the mutex
 *     hf_op_init(&op, client, &handlers); …       op.h: begin it
 *     status = hf_op_await(&op, error);           done, or abandoned
 *     hf_client_leave(client);
 *
 * A call that has something to undo when it is interrupted uses
 * hf_client_wait() (break_call.c).
 *
 * Threads: that of the call, with the mutex, which is held again at the return.
 * The store must not be on the stack, nor the step of a lock. One thread waits
 * for an operation. Owner: the operation stays the caller's; while it is not
 * done it must not be freed. */
#ifndef HF_CLIENT_WAIT_H
#define HF_CLIENT_WAIT_H

#include "client/op.h"

/** Wait until op is done or interrupted: by a cancel token, a signal handler
 * (hf_client_interrupt()) or the closing of the client. Releases the mutex
 * while it sleeps and while on_state runs, so data that was read before may be
 * stale. @return true: done; false: interrupted, and op is still in progress.
 */
bool hf_client_wait(struct hf_client *client, struct hf_op *op);

/** Wait as hf_client_wait() does, abandon `op` if interrupted, and copy its
 * error out; error may be NULL. Afterwards `op` is done. @return its status. */
enum hf_status hf_op_await(struct hf_op *op, struct hf_error *error);

/* The watch of client->poke: the polling thread was poked. */
void hf_client_on_poke(struct hf_watch *watch, uint32_t events,
                       struct hf_instant now);

#endif
