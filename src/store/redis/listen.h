/* SPDX-License-Identifier: Apache-2.0 */
/* The second connection, on which a node pushes grants: there while a
 * client waits at the node, and for a while after, so that a busy name does not
 * make one for each wait.
 *
 *     OFF ──▶ CONNECTING ──▶ SUBSCRIBING ──▶ LISTENING
 *      ▲          │               │              │
 *      └──────────┴───────────────┴──────────────┘ lost, refused, not needed
 *
 * The client hears of LISTENING and of its end through env.listen, and of each
 * grant through env.push. It lives at most as long as the node's first
 * connection: a place in the queue belongs to the server which that one
 * reached, and so must the pushes. */
#ifndef HF_REDIS_LISTEN_H
#define HF_REDIS_LISTEN_H

#include "base/time.h"
#include "store/redis/connection.h"

struct hf_redis_node;

/* How often what is done; the store's, so that a test can shorten it. */
struct hf_redis_listen_pace {
    struct hf_span idle;    /* no waiter for so long: close */
    struct hf_span ping;    /* silent for so long: ask whether it is there */
    struct hf_span refused; /* no right to listen: when to try again */
};

extern const struct hf_redis_listen_pace hf_redis_listen_pace_default;

enum hf_redis_listening {
    HF_REDIS_OFF,
    HF_REDIS_LISTEN_CONNECTING,
    HF_REDIS_SUBSCRIBING,
    HF_REDIS_LISTENING
};

struct hf_redis_listener {
    struct hf_redis_connection connection; /* first: its events find us */
    struct hf_redis_node *node;
    enum hf_redis_listening phase;
    struct hf_instant wanted_at; /* last; HF_LONG_AGO */
    bool is_refused;             /* because we have no right to listen */
    bool has_warned;
};

/* Part of the node's opening and closing. */
void hf_redis_listen_open(struct hf_redis_node *node);
void hf_redis_listen_close(struct hf_redis_node *node, bool forked);

/* A client waits at this node: see to it that its grants reach us. Called from
 * inside ask(): it makes no callback. */
void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now);

/* The node's own connection is lost: what is pushed from now on may come from
 * another server. From dispatch only. */
void hf_redis_listen_cut(struct hf_redis_node *node);

/* The node is READY (again): go on if a client still waits. */
void hf_redis_listen_resume(struct hf_redis_node *node, struct hf_instant now);

#endif
