/* SPDX-License-Identifier: Apache-2.0 */
/* The log: what happens to a lock, and to a node, each line with its name.
 *
 *     ERROR  a lock is lost
 *     WARN   what may come to that: at risk; a node is out of reach, or does
 *            not count; what could not be confirmed
 *     INFO   the story of an acquisition and of its lock; nodes that come back
 *     DEBUG  each request and each answer; retries for a reason that INFO had
 *
 * It changes nothing, and costs a comparison where there is no log. */
#ifndef HF_CLIENT_LOG_H
#define HF_CLIENT_LOG_H

#include "client/client.h"
#include "client/lock.h"
#include "client/op.h"

static inline bool hf_log_is_on(const struct hf_client *client)
{
    return client->options.log != NULL;
}

/* A node has another standing; `was` is the one before. */
void hf_log_standing(struct hf_client *client, unsigned node,
                     enum hf_standing was, bool forgot);

/* A request goes to a node; its answer has come. */
void hf_log_ask(struct hf_client *client, const struct hf_ask *ask);
void hf_log_answer(struct hf_client *client, const struct hf_answer *answer);

/* A lock has had a step. `was`: its phase before. */
void hf_log_step(struct hf_client *client, const struct hf_lock *lock,
                 enum hf_phase was, const struct hf_effects *effects);

/* An acquisition begins; is tried again after a pause; was not to be had. */
void hf_log_begin(const struct hf_op *op);
void hf_log_retry(struct hf_op *op, enum hf_outcome outcome,
                  struct hf_instant at);
void hf_log_failed(const struct hf_op *op);

#endif
