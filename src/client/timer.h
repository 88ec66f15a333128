/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, and the timer on which the library's thread and hf_client_fd()
 * wait.
 *
 *     hf_client_tick(client);                  a call begins; after a sleep
 *     until = hf_client_due(client);           … hf_loop_wait(loop, until)
 *     hf_client_arm(client);                   a call ends: the timer goes on
 *
 * All need the mutex; none fails. */
#ifndef HF_CLIENT_TIMER_H
#define HF_CLIENT_TIMER_H

#include "client/client.h"

/* Read the clock into client->now, which never goes back. */
void hf_client_tick(struct hf_client *client);

/* Is a request half done that no call waits for? Then the store is to be driven
 * all the same. */
bool hf_client_has_steps(const struct hf_client *client);

/* When the next timer is due; HF_NEVER while the client is idle. */
struct hf_instant hf_client_due(const struct hf_client *client);

/* Set the timer to the next due time if that is earlier than its present one.
 */
void hf_client_arm(struct hf_client *client);

#endif
