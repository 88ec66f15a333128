/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a server that is made again when it ends: a node has one for
 * its commands (node.h) and one for its pushes (listen.h).
 *
 *     socket CLOSED ──start──▶ … ──▶ OPEN ──▶ replies ──▶ broken
 *          ▲     until `retry_at`                            │
 *          └──────────────────────shut───────────────────────┘
 *
 * Its owner logs in, asks, takes the replies, and decides what an end means.
 * Nothing is torn down while bytes are read: hf_redis_connection_break() only
 * notes it, and `settled`, the last event of each turn, shuts the connection.
 * All events come from hf_loop_dispatch(). */
#ifndef HF_REDIS_CONNECTION_H
#define HF_REDIS_CONNECTION_H

#include "base/time.h"
#include "io/loop.h"
#include "io/socket.h"
#include "store/redis/reply.h"
#include "store/redis/wire.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>

struct hf_endpoint;
struct hf_redis;
struct hf_redis_connection;

typedef void hf_redis_connection_fn(struct hf_redis_connection *connection,
                                    struct hf_instant now);

struct hf_redis_connection_events {
    hf_redis_connection_fn *opened;  /* bytes can be sent: log in */
    hf_redis_connection_fn *replied; /* a whole reply is in `reply` */
    hf_redis_connection_fn *timed;   /* the timer, CLOSED or OPEN */
    hf_redis_connection_fn *settled; /* last: is it broken? set the timer */
};

struct hf_redis_connection {
    struct hf_socket socket; /* first: its callback finds the connection */
    struct hf_timer timer;
    const struct hf_redis_connection_events *events;
    struct hf_redis *store;
    const struct hf_endpoint *endpoint;
    struct hf_wire wire;
    struct hf_reply reply;
    struct hf_instant deadline;  /* of connecting, and of what the owner asks */
    struct hf_instant retry_at;  /* CLOSED: when to start again */
    struct hf_instant heard_at;  /* opened, or a step of a reply came */
    struct hf_instant served_at; /* if `has_served` */
    struct hf_instant quick_at;  /* last retry without back-off */
    unsigned failures;           /* connections in a row that did not serve */
    bool is_open;                /* `opened` has been called */
    bool has_heard;              /* since then, a byte of a reply */
    bool has_served;
    bool is_broken;       /* to be shut; `fault`, `reason` say why */
    enum hf_status fault; /* HF_UNAVAILABLE, HF_NO_MEMORY */
    char reason[192];     /* as long as a socket's */
};

/* CLOSED, with no wish to be started (`retry_at` is HF_NEVER). */
void hf_redis_connection_init(struct hf_redis_connection *connection,
                              const struct hf_redis_connection_events *events,
                              struct hf_redis *store,
                              const struct hf_endpoint *endpoint);

/* @param forked  say nothing to the server: in a forked child. */
void hf_redis_connection_fini(struct hf_redis_connection *connection,
                              bool forked);

/* Connect. May open, or break, at once: look at `is_broken` afterwards. */
void hf_redis_connection_start(struct hf_redis_connection *connection,
                               struct hf_instant now);

/* When the timer is due while the connection is CLOSED or not OPEN yet; the
 * deadline of opening is kept here, what comes later is the owner's. */
struct hf_instant
hf_redis_connection_due(const struct hf_redis_connection *connection);

/* What has not come about between the start and `now`: behind its address. */
void hf_redis_connection_late_text(const struct hf_redis_connection *connection,
                                   struct hf_instant now, char *out,
                                   size_t size);

/* Queue a command; `what` comes back with its reply. No memory: the connection
 * breaks. @param lens  NULL: the arguments are strings without NULs. */
void hf_redis_connection_ask(struct hf_redis_connection *connection,
                             uint8_t what, int argc, const char **argv,
                             const size_t *lens, struct hf_instant now);

/* Write what is queued. */
void hf_redis_connection_flush(struct hf_redis_connection *connection);

/* It has logged in and is of use. What was sent, AUTH too, is overwritten. */
void hf_redis_connection_served(struct hf_redis_connection *connection,
                                struct hf_instant now);

/* It is of no use; the first reason counts. Shut by `settled`. */
void hf_redis_connection_break(struct hf_redis_connection *connection,
                               const char *reason);

/* The same for want of memory. */
void hf_redis_connection_starve(struct hf_redis_connection *connection);

/* Since when the server owes a reply and is silent; HF_NEVER: nothing is owed.
 * Not since the oldest request: behind 10,000 renewals in one write a request
 * waits long at a server that is well, and answers all the while. */
struct hf_instant
hf_redis_connection_silent_since(const struct hf_redis_connection *connection);

/* Before it is shut: when may the next one start? At once (true) if this one
 * served, but not one after another, or else after a back-off. */
bool hf_redis_connection_plan(struct hf_redis_connection *connection,
                              struct hf_instant now);

/* Close. What is unanswered stays on the wire, for its owner to answer, until
 * hf_wire_reset() or the next start. */
void hf_redis_connection_shut(struct hf_redis_connection *connection);

/* Is it being connected, TLS included? */
static inline bool
hf_redis_connection_is_opening(const struct hf_redis_connection *connection)
{
    enum hf_socket_state state = connection->socket.state;
    return state == HF_SOCKET_RESOLVING || state == HF_SOCKET_CONNECTING ||
           state == HF_SOCKET_SECURING;
}

#endif
