/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 connection to one server, for stores that are asked by HTTP.
 *
 *     CLOSED ──start──▶ OPENING ──▶ OPEN ──▶ broken ──▶ CLOSED
 *
 *     hf_http_init(&http, loop, &events, &limits);
 *     hf_http_start(&http, &target, timeout, now);
 *     hf_http_ask(&http, &request, now);      as often as wanted, at any state
 *                                             but CLOSED
 *     events:  opened · (piece … replied | replied | lost) of each request, in
 *              order · closed; then it may be started again
 *
 * Requests are written at once and answered in order (keep-alive; several may
 * be pending). Each ends with exactly one of `replied` and `lost`. The owner
 * decides when to reconnect (store/reconnect.h).
 *
 * No function blocks. All callbacks come from hf_loop_dispatch(), never from
 * inside a function below. A callback may call all of these functions but
 * hf_http_fini(). It needs libhttp_parser, so it is linked into the modules of
 * stores that use it, not into the library (CMakeLists.txt). */
#ifndef HF_IO_HTTP_H
#define HF_IO_HTTP_H

#include "base/time.h"
#include "io/http_reply.h"
#include "io/loop.h"
#include "io/socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_http;

enum hf_http_state {
    HF_HTTP_CLOSED,
    HF_HTTP_OPENING, /* look-up, connecting, TLS handshake */
    HF_HTTP_OPEN
};

/* What to send. Everything is copied. */
struct hf_http_request {
    const char *method;  /* "GET", "POST", "PUT", "DELETE" */
    const char *path;    /* with the query, escaped */
    const char *headers; /* more lines, each "Name: value\r\n"; NULL: none */
    const void *body;    /* NULL: none, which is not an empty one */
    size_t body_len;
    /* The longest silence while this request is the oldest one, counted from
     * its first byte or from the last byte that was received. {0}: no limit. */
    struct hf_span timeout;
    /* The reply has no end: its body is delivered in pieces, and `timeout` is
     * for its head. No other request may follow on this connection. A reply
     * whose status is not 2xx is no stream. */
    bool is_stream;
    uint64_t cookie; /* for the owner */
    void *user;      /* the same */
};

/* A request whose reply is pending. */
struct hf_http_pending {
    uint64_t cookie;
    void *user;
    /* Read before its first byte was given to the socket: what the server did
     * with it, it did later. While unsent: when it was asked. */
    struct hf_instant sent;
    struct hf_span timeout;
    bool is_stream;
    uint64_t begin; /* of its bytes, in the stream of output */
    uint64_t end;
};

/* The connection has opened, or is CLOSED: `closed` may start it again, and
 * finds the reason in `reason`. */
typedef void hf_http_fn(struct hf_http *http, struct hf_instant now);

/** The reply is complete. Of a stream: it has ended, and the body is empty.
 * @param request  and @param reply are valid until the callback returns. */
typedef void
hf_http_replied_fn(struct hf_http *http, const struct hf_http_pending *request,
                   const struct hf_http_reply *reply, struct hf_instant now);

/** The request has no reply, since the connection is broken. CLOSED already,
 * so that no request can be added.
 * @param is_unsent  none of its bytes were written: the server has not seen it.
 * Otherwise it may be executed, also later. */
typedef void hf_http_lost_fn(struct hf_http *http,
                             const struct hf_http_pending *request,
                             bool is_unsent, struct hf_instant now);

struct hf_http_events {
    hf_http_fn *opened;
    /* Of a stream: the body of `reply` is what has arrived since the last
     * piece, cut anywhere. NULL if the owner asks for no streams. */
    hf_http_replied_fn *piece;
    hf_http_replied_fn *replied;
    hf_http_lost_fn *lost;
    hf_http_fn *closed;
};

/* A reply that exceeds a limit breaks the connection. */
struct hf_http_limits {
    const char *const *kept; /* names of headers that a reply keeps, NULL at the
                                end; HF_HTTP_KEPT_MAX at most */
    size_t head_max;         /* bytes of a head, with trailers */
    size_t body_max;
    size_t output_max; /* bytes that are not written yet */
};

struct hf_http {
    struct hf_socket socket; /* first: its callback casts it to this */
    struct hf_timer timer;
    const struct hf_http_events *events;
    const struct hf_http_limits *limits;
    struct hf_http_parser parser;
    struct hf_instant deadline;  /* of opening */
    struct hf_span open_timeout; /* for the message */
    struct hf_instant heard_at;  /* opened, or last received */
    char host[280];              /* the value of the header "Host" */
    char *output;                /* what is not written yet */
    size_t output_cap;
    size_t output_begin;
    size_t output_end;
    uint64_t n_written; /* bytes since the start */
    uint64_t n_offered; /* the same, or bytes that TLS may have written */
    struct hf_http_pending *ring;
    size_t ring_cap; /* a power of two */
    size_t ring_head;
    size_t n_pending;
    bool is_open;     /* `opened` has been called */
    bool is_broken;   /* to be closed */
    char reason[192]; /* why it broke; until the next start */
};

/** CLOSED. @param events  and @param limits are borrowed until fini. */
void hf_http_init(struct hf_http *http, struct hf_loop *loop,
                  const struct hf_http_events *events,
                  const struct hf_http_limits *limits);

/** Closes it. @param quiet  as for hf_http_close(). */
void hf_http_fini(struct hf_http *http, bool quiet);

/** Connect. The connection must be CLOSED, and all lost requests reported.
 * @param target  its strings are borrowed until closed. */
void hf_http_start(struct hf_http *http, const struct hf_socket_target *target,
                   struct hf_span timeout, struct hf_instant now);

enum hf_http_state hf_http_state(const struct hf_http *http);

/** Send a request, or queue it while OPENING.
 * @return false: CLOSED, out of memory, or above `output_max`; nothing was
 * queued, and no callback follows. */
bool hf_http_ask(struct hf_http *http, const struct hf_http_request *request,
                 struct hf_instant now);

/* The oldest request without a reply; NULL: there is none. */
const struct hf_http_pending *hf_http_oldest(const struct hf_http *http);

/* Break the connection; the first reason is kept. Pending requests are reported
 * by the next dispatch, then `closed`. */
void hf_http_break(struct hf_http *http, const char *reason);

/** Close at once and drop the pending requests: no callback follows, not even
 * from the event that is being delivered.
 * @param quiet  true in a forked child: send nothing to the server. */
void hf_http_close(struct hf_http *http, bool quiet);

#endif
