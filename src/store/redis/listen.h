/* SPDX-License-Identifier: Apache-2.0 */
/* The second connection, on which a node pushes grants. It is open while the
 * client has waiters at the node, and for a while after, so that a busy name
 * does not cause one connection per wait.
 *
 *     OFF ──▶ CONNECTING ──▶ SUBSCRIBING ──▶ LISTENING
 *      ▲          │               │              │
 *      └──────────┴───────────────┴──────────────┘ lost, refused, not needed
 *
 * env.listen reports the begin and the end of LISTENING to the client, env.push
 * each grant. This connection ends with the node's first connection: the
 * places in the queue, and so the pushes, are of the server that it reached. */
#ifndef HF_REDIS_LISTEN_H
#define HF_REDIS_LISTEN_H

#include "base/time.h"
#include "store/redis/connection.h"

struct hf_redis_node;

/* Intervals; kept in the store, so that a test can shorten them. */
struct hf_redis_listen_pace {
    struct hf_span idle;    /* without a waiter, until it is closed */
    struct hf_span ping;    /* silence before a PING */
    struct hf_span refused; /* after a refusal, until the next attempt */
};

extern const struct hf_redis_listen_pace hf_redis_listen_pace_default;

enum hf_redis_listening {
    HF_REDIS_OFF,
    HF_REDIS_LISTEN_CONNECTING,
    HF_REDIS_SUBSCRIBING,
    HF_REDIS_LISTENING
};

struct hf_redis_listener {
    struct hf_redis_connection connection; /* first: events cast it to this */
    struct hf_redis_node *node;
    enum hf_redis_listening phase;
    struct hf_instant wanted_at; /* last hf_redis_listen_want(), or LONG_AGO */
    bool is_refused;             /* the server refused AUTH or SUBSCRIBE */
    bool has_warned;
};

/* Called when the node is opened and closed. */
void hf_redis_listen_open(struct hf_redis_node *node);
void hf_redis_listen_close(struct hf_redis_node *node, bool forked);

/* A lock of the client waits at this node: subscribe, or stay subscribed. Makes
 * no callback: may be called from inside ask(). */
void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now);

/* The node's first connection is lost: close this one, whose pushes may be of
 * another server. Only from hf_loop_dispatch(). */
void hf_redis_listen_cut(struct hf_redis_node *node);

/* When the timer of the second connection must fire, at the latest. */
struct hf_instant hf_redis_listen_due(const struct hf_redis_listener *listener);

/* The node is READY (again): subscribe if it had a waiter within `idle`. */
void hf_redis_listen_resume(struct hf_redis_node *node, struct hf_instant now);

#endif
