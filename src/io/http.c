/* SPDX-License-Identifier: Apache-2.0 */
/* A CONNECTION, FROM START TO CLOSED (http.h has the states)
 *
 * Every event of the socket or the timer runs in this order: look at the
 * socket's state, read and deliver replies, write, then end_event(). A failure
 * anywhere only marks the connection as broken, with the first reason, and lets
 * the timer fire; end_event() closes it and reports. So no callback comes from
 * inside a call, and none of a broken connection comes twice.
 *
 * A callback may close the connection, and even start it again. After each one
 * `n_closed` tells whether the bytes at hand are still those of the connection.
 *
 * A reply belongs to the oldest request. Bytes that were read before the first
 * byte of that was written, or were there when it was asked on an idle
 * connection, break the connection: the reply to a request about one lock would
 * be taken for that about another.
 *
 * A server hangs if no reply is complete for the timeout of the oldest request.
 * Replies count, not the age of a request: of many requests the last one waits
 * long at a server that works. The bytes of a reply that is not complete extend
 * the time by what they take on a slow line; a byte now and then does not.
 * After its head a stream may be silent for ever.
 *
 * Cost of a request to an idle plain connection: a recv() that finds nothing, a
 * send(), and a recv() of the reply; with others pending only the send(), and
 * replies that come together share a recv(). With TLS it reads until nothing is
 * left. */
#include "io/http.h"

#include "base/assert.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes for one recv(), on the stack: as many as a record of TLS has, and many
 * times a reply about a lock, so that a burst of them needs few calls. */
#define READ_BYTES 16384

/* Nanoseconds for a byte, of 64 KiB a second: a list of 4 MB may take a minute
 * longer than a short reply. */
#define BYTE_NS 15259

#define UNASKED "the server sent an HTTP reply without a request"

/* ---- The end ----------------------------------------------------------- */

/* The first reason is the cause. Closed by the timer, not here: the caller may
 * be inside of a callback of the connection. */
void hf_http_break(struct hf_http *http, const char *reason)
{
    if (http->is_broken || http->socket.state == HF_SOCKET_CLOSED) {
        return;
    }
    http->is_broken = true;
    snprintf(http->reason, sizeof(http->reason), "%s", reason);
    hf_timer_set(&http->timer, HF_LONG_AGO);
}

static void shut(struct hf_http *http, bool quiet)
{
    hf_socket_close(&http->socket, quiet);
    hf_timer_set(&http->timer, HF_NEVER);
    hf_http_parser_reset(&http->parser);
    http->is_open = http->has_heard = http->is_broken = false;
    http->n_closed++;
}

void hf_http_close(struct hf_http *http, bool quiet)
{
    shut(http, quiet);
    hf_http_queue_reset(&http->queue);
}

/* Close, and report: each callback may call hf_http_close(). */
static void end_broken(struct hf_http *http, struct hf_instant now)
{
    HF_ASSERT(http->is_broken && http->socket.state != HF_SOCKET_CLOSED);
    shut(http, false);
    unsigned n_closed = http->n_closed;
    while (http->n_closed == n_closed && hf_http_oldest(http) != NULL) {
        struct hf_http_pending lost = hf_http_queue_pop(&http->queue);
        bool is_unsent = hf_http_queue_is_unsent(&http->queue, &lost);
        http->events->lost(http, &lost, is_unsent, now);
    }
    if (http->n_closed == n_closed) {
        HF_ASSERT(http->socket.state == HF_SOCKET_CLOSED);
        hf_http_queue_reset(&http->queue);
        http->events->closed(http, now);
    }
}

/* ---- Times ------------------------------------------------------------- */

enum hf_http_state hf_http_state(const struct hf_http *http)
{
    if (http->socket.state == HF_SOCKET_CLOSED) {
        return HF_HTTP_CLOSED;
    }
    return http->is_open ? HF_HTTP_OPEN : HF_HTTP_OPENING;
}

/* Time for the bytes that have arrived is added, so that a long list may take
 * longer than a short reply, and a server that drips still has a limit. */
static struct hf_instant silent_until(const struct hf_http *http)
{
    const struct hf_http_pending *oldest = hf_http_oldest(http);
    if (oldest == NULL || oldest->timeout.ns == 0 || http->parser.is_stream) {
        return HF_NEVER;
    }
    struct hf_instant since = hf_instant_max(oldest->sent, http->heard_at);
    struct hf_span bytes = {BYTE_NS * (int64_t)http->n_heard};
    return hf_instant_add(hf_instant_add(since, bytes), oldest->timeout);
}

static void set_timer(struct hf_http *http)
{
    struct hf_instant at = HF_NEVER;
    bool is_opening = http->socket.state == HF_SOCKET_RESOLVING ||
                      http->socket.state == HF_SOCKET_CONNECTING ||
                      http->socket.state == HF_SOCKET_SECURING;
    if (http->is_open && !http->is_broken) {
        at = silent_until(http);
    } else if (is_opening && !http->is_broken) {
        at = hf_instant_min(http->deadline, http->socket.give_up);
    } else if (http->socket.state != HF_SOCKET_CLOSED) {
        at = HF_LONG_AGO; /* broken, or opened inside of a call */
    }
    hf_timer_set(&http->timer, at);
}

static void end_event(struct hf_http *http, struct hf_instant now)
{
    if (http->is_broken) {
        end_broken(http, now);
    } else {
        set_timer(http);
    }
}

/* ---- The server's end ---------------------------------------------------- */

/* A TLS port closes a plain connection at its first bytes, also with a reset. A
 * server that is full may close any, also before the first request. */
static void break_at_end(struct hf_http *http)
{
    char why[sizeof(http->reason)];
    const char *hint = http->limits->full == NULL ? "" : http->limits->full;
    bool is_silent = !http->has_heard && http->socket.tls == NULL &&
                     (hf_http_oldest(http) != NULL || *hint != '\0');
    snprintf(why, sizeof(why),
             "the server closed the connection without an answer (%sa TLS "
             "port? use %ss://)",
             hint, http->limits->scheme);
    hf_http_break(http, is_silent ? why : http->socket.reason);
}

/* ---- Writing ----------------------------------------------------------- */

/* A callback may ask when the socket has failed, with the last reply of it. */
static bool is_usable(const struct hf_http *http)
{
    return http->is_open && !http->is_broken &&
           http->socket.state == HF_SOCKET_OPEN;
}

static void flush(struct hf_http *http)
{
    const char *bytes;
    size_t len;
    while (is_usable(http) &&
           (len = hf_http_queue_unsent(&http->queue, &bytes)) > 0) {
        ssize_t n = hf_socket_write(&http->socket, bytes, len);
        if (n < 0) {
            break_at_end(http);
        }
        if (n <= 0) {
            return;
        }
        hf_http_queue_wrote(&http->queue, (size_t)n);
    }
}

/* Of an idle connection: bytes that have arrived unseen must not answer the
 * next request. And if the server has closed it, that one stays unsent. */
static void check_idle(struct hf_http *http)
{
    char byte;
    if (is_usable(http) && hf_http_oldest(http) == NULL) {
        ssize_t n = hf_socket_read(&http->socket, &byte, 1);
        if (n < 0) {
            break_at_end(http);
        } else if (n > 0) {
            hf_http_break(http, UNASKED);
        }
    }
}

bool hf_http_ask(struct hf_http *http, const struct hf_http_request *request,
                 struct hf_instant now)
{
    check_idle(http);
    if (http->socket.state == HF_SOCKET_CLOSED ||
        !hf_http_queue_push(&http->queue, http->host, request,
                            http->limits->output_max, now)) {
        return false;
    }
    flush(http);
    set_timer(http);
    return true;
}

const struct hf_http_pending *hf_http_oldest(const struct hf_http *http)
{
    return hf_http_queue_oldest(&http->queue);
}

/* ---- Opening ----------------------------------------------------------- */

/* A failure is noticed here: the socket itself reports it once. */
static void look_at_socket(struct hf_http *http, struct hf_instant now)
{
    if (http->socket.state == HF_SOCKET_FAILED) {
        hf_http_break(http, http->socket.reason);
    } else if (http->socket.state == HF_SOCKET_OPEN && !http->is_open) {
        http->is_open = true;
        http->heard_at = now;
        http->n_heard = 0;
        hf_http_queue_restamp(&http->queue, now);
        http->events->opened(http, now);
    }
}

static void write_host(struct hf_http *http,
                       const struct hf_socket_target *target)
{
    bool is_ipv6 = !target->is_unix && strchr(target->host, ':') != NULL;
    if (target->is_unix) {
        snprintf(http->host, sizeof(http->host), "localhost");
    } else {
        snprintf(http->host, sizeof(http->host), is_ipv6 ? "[%s]:%u" : "%s:%u",
                 target->host, (unsigned)target->port);
    }
}

void hf_http_start(struct hf_http *http, const struct hf_socket_target *target,
                   struct hf_span timeout, struct hf_instant now)
{
    HF_ASSERT(http->socket.state == HF_SOCKET_CLOSED);
    HF_ASSERT(hf_http_oldest(http) == NULL);
    write_host(http, target);
    http->reason[0] = '\0';
    http->timeout = timeout;
    http->deadline = hf_instant_add(now, timeout);
    hf_socket_start(&http->socket, target, timeout, now);
    set_timer(http);
}

static void check_opening(struct hf_http *http, struct hf_instant now)
{
    bool is_late = !hf_instant_before(now, http->deadline);
    bool is_given_up = !hf_instant_before(now, http->socket.give_up);
    bool is_securing = http->socket.state == HF_SOCKET_SECURING;
    if (is_late || (is_given_up && is_securing)) {
        char why[HF_TEXT_CLAUSE];
        snprintf(why, sizeof(why),
                 is_securing ? "no answer to the TLS handshake within %lld ms "
                               "(a plain port? use %s://)"
                             : "no connection within %lld ms",
                 (long long)hf_span_ms_floor(http->timeout),
                 http->limits->scheme);
        hf_http_break(http, why);
    } else if (is_given_up) {
        hf_socket_expire(&http->socket, now);
        look_at_socket(http, now);
    }
}

/* ---- Reading ----------------------------------------------------------- */

static bool is_live(const struct hf_http *http, unsigned n_closed)
{
    return http->n_closed == n_closed && !http->is_broken;
}

/* The request is removed first: the owner may ask the next one. */
static void take_reply(struct hf_http *http, struct hf_instant now)
{
    unsigned n_closed = http->n_closed;
    const struct hf_http_reply *reply = &http->parser.reply;
    struct hf_http_pending request = hf_http_queue_pop(&http->queue);
    bool is_cut = request.end > http->queue.n_written;
    http->heard_at = now;
    http->n_heard = 0;
    http->events->replied(http, &request, reply, now);
    if (http->n_closed != n_closed) {
        return;
    }
    if (is_cut) {
        hf_http_break(http, "the server replied before it had the request");
    } else if (reply->is_last) {
        hf_http_break(http, "the server closes the connection after a reply");
    }
    hf_http_parser_next(&http->parser);
}

static void take_piece(struct hf_http *http, struct hf_instant now)
{
    unsigned n_closed = http->n_closed;
    HF_ASSERT(hf_http_oldest(http) != NULL);
    struct hf_http_pending request = *hf_http_oldest(http);
    HF_ASSERT(http->events->piece != NULL);
    http->events->piece(http, &request, &http->parser.reply, now);
    if (http->n_closed == n_closed) {
        hf_http_parser_take(&http->parser);
    }
}

static void take(struct hf_http *http, enum hf_http_fed fed,
                 struct hf_instant now)
{
    unsigned n_closed = http->n_closed;
    if (http->parser.is_stream && http->parser.reply.body_len > 0) {
        take_piece(http, now);
    }
    if (!is_live(http, n_closed)) {
        return;
    }
    if (fed == HF_HTTP_BAD) {
        hf_http_break(http, http->parser.fault);
    } else if (fed == HF_HTTP_DONE) {
        take_reply(http, now);
    }
}

/** @param n_written  when the bytes were read: they answer no later request. */
static void take_bytes(struct hf_http *http, const char *data, size_t len,
                       uint64_t n_written, struct hf_instant now)
{
    unsigned n_closed = http->n_closed;
    while (len > 0 && is_live(http, n_closed)) {
        const struct hf_http_pending *oldest = hf_http_oldest(http);
        size_t used = 0;
        if (oldest == NULL || oldest->begin >= n_written) {
            hf_http_break(http, UNASKED);
            return;
        }
        enum hf_http_fed fed = hf_http_parser_feed(&http->parser, data, len,
                                                   oldest->is_stream, &used);
        data += used;
        len -= used;
        take(http, fed, now);
    }
}

/* The connection has ended, which completes a reply without a length. */
static void take_end(struct hf_http *http, struct hf_instant now)
{
    unsigned n_closed = http->n_closed;
    if (http->parser.has_head) {
        take(http, hf_http_parser_feed_eof(&http->parser), now);
    }
    if (http->n_closed == n_closed) {
        break_at_end(http);
    }
}

static void read_all(struct hf_http *http, struct hf_instant now)
{
    char data[READ_BYTES];
    unsigned n_closed = http->n_closed;
    bool is_more = true;
    while (is_more && is_live(http, n_closed)) {
        uint64_t n_written = http->queue.n_written;
        ssize_t n = hf_socket_read(&http->socket, data, sizeof(data));
        if (n < 0) {
            take_end(http, now);
        }
        if (n <= 0) {
            return;
        }
        http->n_heard += (size_t)n;
        http->has_heard = true;
        /* A short read has emptied a plain socket. If epoll has reported the
         * end of the stream, read on until that. */
        is_more = (size_t)n == sizeof(data) || http->socket.is_ended ||
                  http->socket.tls != NULL;
        take_bytes(http, data, (size_t)n, n_written, now);
    }
}

/* ---- Events ------------------------------------------------------------ */

static void on_socket(struct hf_socket *socket, struct hf_instant now)
{
    struct hf_http *http = (struct hf_http *)(void *)socket;
    if (!http->is_broken) { /* its owner may have given it up meanwhile */
        look_at_socket(http, now);
    }
    if (http->is_open && !http->is_broken) {
        read_all(http, now);
        flush(http);
    }
    end_event(http, now);
}

static void check_silence(struct hf_http *http, struct hf_instant now)
{
    if (!hf_instant_before(now, silent_until(http))) {
        char why[HF_TEXT_PHRASE];
        snprintf(why, sizeof(why), "no answer within %lld ms",
                 (long long)hf_span_ms_floor(hf_http_oldest(http)->timeout));
        hf_http_break(http, why);
    }
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_http *http =
        (struct hf_http *)(void *)((char *)timer -
                                   offsetof(struct hf_http, timer));
    if (!http->is_broken && !http->is_open) {
        look_at_socket(http, now);
    }
    if (!http->is_broken && http->is_open) {
        flush(http);
        check_silence(http, now);
    } else if (!http->is_broken) {
        check_opening(http, now);
    }
    end_event(http, now);
}

/* ---- Life -------------------------------------------------------------- */

void hf_http_init(struct hf_http *http, struct hf_loop *loop,
                  const struct hf_http_events *events,
                  const struct hf_http_limits *limits)
{
    HF_ASSERT(events->opened != NULL && events->replied != NULL &&
              events->lost != NULL && events->closed != NULL);
    memset(http, 0, sizeof(*http));
    hf_socket_init(&http->socket, loop, on_socket);
    http->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(loop, &http->timer);
    http->events = events;
    http->limits = limits;
    http->heard_at = HF_LONG_AGO;
    hf_http_queue_init(&http->queue);
    hf_http_parser_init(&http->parser, limits->kept, limits->head_max,
                        limits->body_max);
}

void hf_http_fini(struct hf_http *http, bool quiet)
{
    hf_loop_drop_timer(http->socket.loop, &http->timer);
    hf_http_close(http, quiet);
    hf_http_queue_fini(&http->queue);
    hf_http_parser_fini(&http->parser);
}
