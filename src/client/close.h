/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a client. */
#ifndef HF_CLIENT_CLOSE_H
#define HF_CLIENT_CLOSE_H

#include "client/client.h"

/* Free a client, also one that is only partly opened; in a forked child without
 * sending anything. No other thread has it, and the mutex is not held. */
void hf_client_free(struct hf_client *client);

/* A callback in this thread has closed the client and has returned. */
bool hf_client_is_to_shut_down(const struct hf_client *client);

/* Run all pending callbacks, release all locks, and free the client. Called
 * without the mutex. */
void hf_client_shut_down(struct hf_client *client);

#endif
