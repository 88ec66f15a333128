/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred work, which must not run while the store is on the stack. */
#ifndef HF_CLIENT_DEFERRED_H
#define HF_CLIENT_DEFERRED_H

#include "client/client.h"

/* Process the queues and flush, until they are empty. Runs no timer. The store
 * must not be on the stack. May end operations and free locks that are over. */
void hf_client_settle(struct hf_client *client);

/* Called when a call begins. An idle client runs no timers, and so does not
 * reconnect. Runs the reconnects that are overdue. */
void hf_client_resume(struct hf_client *client);

/* Called when a call that writes begins, before its first request. */
void hf_client_begin_write(struct hf_client *client);

/* Process the I/O events that hf_loop_wait() returned, then due timers, and
 * settle after each. */
void hf_client_dispatch(struct hf_client *client);

/* Poll for I/O without waiting, and dispatch it. If another thread is polling,
 * only settle: that thread reads. */
void hf_client_poll(struct hf_client *client);

#endif
