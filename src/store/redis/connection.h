/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a server that reconnects: a node has one for its commands
 * (node.h) and one for its pushes (listener.h).
 *
 *     socket CLOSED ──start──▶ … ──▶ OPEN ──▶ replies ──▶ broken
 *          ▲     until `retry_at`                            │
 *          └──────────────────────shut───────────────────────┘
 *
 * Its owner logs in, sends requests, handles the replies, and decides when to
 * reconnect. hf_redis_connection_break() does not close, since bytes may be
 * being read: it sets `is_broken`, and makes the timer due at once, which the
 * owner must leave so. The owner closes in `settled`, the last callback of each
 * event but `check`.
 *
 * Callbacks come from hf_loop_dispatch(). Only `opened` also comes from inside
 * hf_redis_connection_start(): no `settled` follows then. */
#ifndef HF_REDIS_CONNECTION_H
#define HF_REDIS_CONNECTION_H

#include "base/time.h"
#include "io/loop.h"
#include "io/socket.h"
#include "store/reconnect.h"
#include "store/redis/reply.h"
#include "store/redis/wire.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>

struct hf_endpoint;
struct hf_redis_connection;

/* An event of the connection. It may queue requests and break the connection;
 * only `settled` may close it, or start it again, and it must close a broken
 * one. In the thread that dispatches the loop. */
typedef void hf_redis_connection_fn(struct hf_redis_connection *connection,
                                    struct hf_instant now);

/* Assert the owner's invariants; change nothing. Before and after each event of
 * the socket, and after each of the timer. */
typedef void
hf_redis_connection_check_fn(const struct hf_redis_connection *connection);

/* Of the owner: all are set. */
struct hf_redis_connection_events {
    hf_redis_connection_fn *opened;  /* connected: log in */
    hf_redis_connection_fn *replied; /* a complete reply is in `reply` */
    hf_redis_connection_fn *timed;   /* the timer, CLOSED or OPEN */
    hf_redis_connection_fn *settled; /* last: close if broken, set the timer */
    hf_redis_connection_check_fn *check;
};

struct hf_redis_connection {
    struct hf_socket socket; /* first: its callback casts it to this */
    struct hf_timer timer;
    const struct hf_redis_connection_events *events;
    struct hf_loop *loop;
    const struct hf_endpoint *endpoint;
    struct hf_tls *tls; /* NULL: no endpoint of the store has it */
    struct hf_span connect_timeout;
    struct hf_redis_wire wire;
    struct hf_reply reply;
    struct hf_instant deadline; /* of opening, then of the login */
    struct hf_reconnect reconnect;
    struct hf_instant heard_at; /* opened, or last progress of a reply */
    bool is_open;               /* `opened` has been called */
    bool has_heard;             /* a byte has arrived since */
    bool is_broken;             /* to be closed; see `fault` and `reason` */
    enum hf_status fault;       /* HF_UNAVAILABLE, HF_NO_MEMORY, HF_DENIED */
    char reason[HF_SOCKET_REASON_MAX];
};

/* CLOSED, and no retry is planned. */
void hf_redis_connection_init(struct hf_redis_connection *connection,
                              const struct hf_redis_connection_events *events,
                              struct hf_loop *loop,
                              const struct hf_endpoint *endpoint,
                              struct hf_tls *tls,
                              struct hf_span connect_timeout);

/** @param is_forked  true in a forked child: send nothing to the server. */
void hf_redis_connection_fini(struct hf_redis_connection *connection,
                              bool is_forked);

/* Connect. May open, or break, at once: the caller must check `is_broken`. */
void hf_redis_connection_start(struct hf_redis_connection *connection,
                               struct hf_instant now);

/* When the timer is due while the connection is not OPEN. The connection
 * checks the deadline of opening, the owner all later ones. */
struct hf_instant
hf_redis_connection_due(const struct hf_redis_connection *connection);

/* Describe the step in which the connection timed out, at `now`. The text
 * follows the server's address. */
void hf_redis_connection_late_text(const struct hf_redis_connection *connection,
                                   struct hf_instant now, char *out,
                                   size_t size);

/* Queue a request; `verb` is that of its pending reply. Out of memory: the
 * connection breaks. */
void hf_redis_connection_ask(struct hf_redis_connection *connection,
                             uint8_t verb,
                             const struct hf_resp_request *request,
                             struct hf_instant now);

/* The same with strings as arguments. */
void hf_redis_connection_ask_text(struct hf_redis_connection *connection,
                                  uint8_t verb, int argc,
                                  const char *const *argv,
                                  struct hf_instant now);

/* Write the queued requests. */
void hf_redis_connection_flush(struct hf_redis_connection *connection);

/* The login and the handshake have succeeded. Wipes the sent requests, AUTH
 * too, from the buffer. */
void hf_redis_connection_served(struct hf_redis_connection *connection,
                                struct hf_instant now);

/* Mark it broken; the first reason is kept. `settled` must close it. */
void hf_redis_connection_break(struct hf_redis_connection *connection,
                               const char *reason);

/* The same when out of memory. */
void hf_redis_connection_starve(struct hf_redis_connection *connection);

/* Since when a reply is pending and none has made progress; HF_NEVER: no reply
 * is pending. The age of the oldest request is no measure: after 10,000
 * renewals in one write a request waits long at a server that replies. */
struct hf_instant
hf_redis_connection_silent_since(const struct hf_redis_connection *connection);

/* Close. Pending requests stay in `wire`, so that the owner can answer them,
 * until hf_redis_wire_reset() or the next start. */
void hf_redis_connection_shut(struct hf_redis_connection *connection);

/* Is it connecting (with the look-up and the TLS handshake)? */
static inline bool
hf_redis_connection_is_opening(const struct hf_redis_connection *connection)
{
    enum hf_socket_state state = connection->socket.state;
    return state == HF_SOCKET_RESOLVING || state == HF_SOCKET_CONNECTING ||
           state == HF_SOCKET_SECURING;
}

#endif
