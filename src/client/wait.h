/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for an operation: which thread polls, and which ones sleep. */
#ifndef HF_CLIENT_WAIT_H
#define HF_CLIENT_WAIT_H

#include "client/op.h"

/** Wait until op is done or interrupted. @return false: interrupted. */
bool hf_client_wait(struct hf_client *client, struct hf_op *op);

/* Wait, abandon if interrupted, copy the error out. */
enum hf_status hf_op_await(struct hf_op *op, struct hf_error *error);

void hf_waiter_wake(struct hf_waiter *waiter);

/* The watch of client->poke: the polling thread was poked. */
void hf_client_on_poke(struct hf_watch *watch, uint32_t events,
                       struct hf_instant now);

#endif
