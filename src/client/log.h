/* SPDX-License-Identifier: Apache-2.0 */
/* The log of locks and nodes; each line begins with the lock or the node.
 *
 *     ERROR  a lock is lost
 *     WARN   a lock is at risk; a node is down, in quarantine or lost its data;
 *            a release or extension is not confirmed
 *     INFO   steps of an acquisition and of its lock; nodes that reconnect
 *     DEBUG  each request and each reply; retries for a reason logged before
 *
 * Logging changes no state. Without a log it costs one comparison. */
#ifndef HF_CLIENT_LOG_H
#define HF_CLIENT_LOG_H

#include "client/client.h"
#include "client/lock.h"
#include "client/op.h"

/* Whether the user has a log: without one, no text is composed. */
static inline bool hf_log_is_on(const struct hf_client *client)
{
    return client->options.log != NULL;
}

/* The status of a node has changed; `was` is the one before. */
void hf_log_node_status(struct hf_client *client, unsigned node,
                        enum hf_node_status was, bool is_reset);

/* A request is sent to a node; its reply has arrived. */
void hf_log_ask(struct hf_client *client, const struct hf_ask *ask);
void hf_log_answer(struct hf_client *client, const struct hf_answer *answer);

/* After a step of a lock. `was`: its phase before the step. */
void hf_log_step(struct hf_client *client, const struct hf_lock *lock,
                 enum hf_phase was, const struct hf_effects *effects);

/* An acquisition begins; will be tried again at `at`; has failed. */
void hf_log_begin(const struct hf_op *op);
void hf_log_retry(struct hf_op *op, enum hf_outcome outcome,
                  struct hf_instant at);
void hf_log_failed(const struct hf_op *op);

/* Write a line to the user's log. */
void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
