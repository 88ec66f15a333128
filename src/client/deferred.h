/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred work, which must not run while the store is on the stack: what the
 * store's callbacks have queued (answer.h), and due timers.
 *
 *     hf_client_resume(client);          a public call begins (enter.c)
 *     hf_client_begin_write(client);     it writes: before its first request
 *     … hf_client_step(), hf_client_ask() …
 *     hf_client_settle(client);          before the thread sleeps or leaves
 *
 *     hf_loop_wait(client->loop, until); in the thread that reads (wait.c)
 *     hf_client_dispatch(client);        settles, too
 *
 *     hf_client_poll(client);            both without sleeping: thread.c,
 *                                        event_loop.c
 *
 * The mutex is held, and is not released. In none of them the store may be on
 * the stack, nor the step of a lock. Afterwards an operation may be done, and a
 * lock that is over is freed: a caller that goes on finds its lock by its
 * operation or its cookie. Timers run only after the sockets were read, in
 * hf_client_dispatch() and hf_client_poll(). Nothing fails. In a forked child
 * hf_client_settle() and hf_client_poll() do nothing. */
#ifndef HF_CLIENT_DEFERRED_H
#define HF_CLIENT_DEFERRED_H

#include "client/client.h"

/* Process the queues and flush, until they are empty. Runs no timer. */
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
