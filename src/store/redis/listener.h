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
 * places in the queue, and so the pushes, are of the server that it reached.
 * node.h has the functions (listen.c). */
#ifndef HF_REDIS_LISTENER_H
#define HF_REDIS_LISTENER_H

#include "base/time.h"
#include "store/redis/connection.h"

struct hf_redis_node;

/* Intervals; kept in the store, so that a test can shorten them. */
struct hf_redis_listen_pace {
    struct hf_span idle;    /* without a waiter, until it is closed */
    struct hf_span ping;    /* silence before a PING */
    struct hf_span refused; /* after a refusal, until the next attempt */
};

/* The intervals outside of tests: 10 s, 5 s and 30 s. */
extern const struct hf_redis_listen_pace hf_redis_listen_pace_default;

/* OFF: no lock waits here, or until the next attempt. Pushes arrive from
 * LISTENING on. */
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
    bool is_elsewhere;           /* it led to another server than the first */
    bool has_warned;
};

#endif
