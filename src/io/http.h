/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 connection to one server, for stores that are asked by HTTP.
 *
 *     CLOSED ──start──▶ OPENING ──▶ OPEN ──▶ broken ──▶ CLOSED
 *
 *     hf_http_init(&http, loop, &events, &limits);
 *     hf_http_start(&http, &target, timeout, now);
 *     hf_http_ask(&http, &request, now);      as often as wanted, in any state
 *                                             but CLOSED
 *     events:  opened · (piece … replied | replied | lost) of each request, in
 *              order · closed; then it may be started again
 *
 * Requests are written at once and answered in order (keep-alive; several may
 * be pending). Each ends with exactly one of `replied` and `lost`, unless
 * hf_http_close() drops it. The owner decides when to reconnect
 * (store/reconnect.h).
 *
 * No function blocks. All callbacks come from hf_loop_dispatch(), never from
 * inside a function below. A callback may call all of these functions but
 * hf_http_fini(). It needs libhttp_parser, so it is linked into the modules of
 * stores that use it, not into the library (CMakeLists.txt). */
#ifndef HF_IO_HTTP_H
#define HF_IO_HTTP_H

#include "base/time.h"
#include "io/http_queue.h"
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

/* The connection has opened, or is CLOSED: `closed` may start it again, and
 * finds why it broke in `reason`. */
typedef void hf_http_fn(struct hf_http *http, struct hf_instant now);

/** The reply is complete. Of a stream: it has ended, and the body is empty. Or,
 * as a piece of a stream: the body has the bytes since the last piece,
 * cut anywhere.
 * @param request  valid until the callback returns, as @p reply is. */
typedef void
hf_http_reply_fn(struct hf_http *http, const struct hf_http_pending *request,
                 const struct hf_http_reply *reply, struct hf_instant now);

/** The request has no reply, since the connection is broken. It is CLOSED
 * already, but must not be started before `closed`.
 * @param is_unsent  no byte of it was written: the server has not seen it.
 * Otherwise it may be executed, also later. */
typedef void hf_http_lost_fn(struct hf_http *http,
                             const struct hf_http_pending *request,
                             bool is_unsent, struct hf_instant now);

struct hf_http_events {
    hf_http_fn *opened;
    hf_http_reply_fn *piece; /* NULL if the owner asks for no streams */
    hf_http_reply_fn *replied;
    hf_http_lost_fn *lost;
    hf_http_fn *closed;
};

/* A reply that exceeds a limit breaks the connection. */
struct hf_http_limits {
    const char *const *kept; /* names of headers that a reply keeps, NULL at the
                                end; HF_HTTP_KEPT_MAX at most */
    size_t head_max;         /* bytes of the heads and trailers of a reply */
    size_t body_max;         /* of a reply that is no stream */
    size_t output_max;       /* of requests that are not written yet */
    const char *scheme; /* of the store's URLs without TLS, for messages; an 's'
                           follows where it has TLS */
    const char *full;   /* a question for the message where a server closes a
                           connection without an answer; NULL: none */
};

/* Bytes, NUL included: a name of DNS has 253, and brackets and a port follow.
 */
#define HF_HTTP_HOST_MAX 280

struct hf_http {
    struct hf_socket socket; /* first: its callback casts it to this */
    struct hf_timer timer;
    const struct hf_http_events *events;
    const struct hf_http_limits *limits;
    struct hf_http_queue queue;
    struct hf_http_parser parser;
    struct hf_instant deadline;        /* of opening */
    struct hf_span timeout;            /* of opening, for the message */
    struct hf_instant heard_at;        /* opened, or a reply was complete */
    size_t n_heard;                    /* bytes since */
    char host[HF_HTTP_HOST_MAX];       /* the value of the header "Host" */
    unsigned n_closed;                 /* how often: a callback may close it */
    bool is_open;                      /* `opened` has been called */
    bool has_heard;                    /* a byte has arrived since */
    bool is_broken;                    /* to be closed */
    char reason[HF_SOCKET_REASON_MAX]; /* why it broke; until the next start */
};

/** CLOSED. @param events  borrowed until fini, as @p limits is. */
void hf_http_init(struct hf_http *http, struct hf_loop *loop,
                  const struct hf_http_events *events,
                  const struct hf_http_limits *limits);

/** Closes it. @param quiet  as for hf_http_close(). */
void hf_http_fini(struct hf_http *http, bool quiet);

/** Connect. The connection must be CLOSED, and no request pending. A failure is
 * reported by the next dispatch, as each break is.
 * @param target  its strings are borrowed until closed. */
void hf_http_start(struct hf_http *http, const struct hf_socket_target *target,
                   struct hf_span timeout, struct hf_instant now);

/** @return the state of the connection; OPEN from before `opened` is called
 * until it is CLOSED. */
enum hf_http_state hf_http_state(const struct hf_http *http);

/** Send a request, or queue it while OPENING.
 * @return false: CLOSED, out of memory, or above `output_max`; nothing was
 * queued, and no callback follows. */
bool hf_http_ask(struct hf_http *http, const struct hf_http_request *request,
                 struct hf_instant now);

/* The oldest request without a reply; NULL: there is none. */
const struct hf_http_pending *hf_http_oldest(const struct hf_http *http);

/* Break the connection, unless it is CLOSED; the first reason is kept. The next
 * dispatch reports the pending requests as lost, then `closed`. */
void hf_http_break(struct hf_http *http, const char *reason);

/** Close at once and drop the pending requests: no callback follows, not even
 * from the event that is being delivered.
 * @param quiet  true in a forked child: send nothing to the server. */
void hf_http_close(struct hf_http *http, bool quiet);

#endif
