/* SPDX-License-Identifier: Apache-2.0 */
/* A CONNECTION, FROM CONNECT TO BREAK (connection.h has the states)
 *
 * Every event of the socket or the timer runs in this order: look at the
 * socket's state, read and deliver replies, write, then `settled`. A failure
 * anywhere only marks the connection as broken, with the first reason; the
 * owner closes it in `settled`. So `replied` never meets a closed connection.
 *
 * A server hangs if a reply is pending and no reply has made progress for the
 * owner's timeout. Progress counts, not the age of the oldest request: of many
 * pipelined requests the last one waits long at a server that works.
 *
 * Cost: one send() for all requests between two flushes. One recv() for each
 * READ_BYTES of replies; one that is shorter than this is the last of its
 * event, but with TLS and at the end of the stream it takes one more. A
 * connection costs a round trip of TCP, and those of TLS if it has it, before
 * the owner's first request. */
#include "store/redis/connection.h"

#include "base/assert.h"
#include "store/redis/fault.h"
#include "store/url.h"

#include <stdio.h>
#include <string.h>

/* Bytes for one recv(), on the stack: some 100 replies, so that a burst of
 * renewals needs few calls. */
#define READ_BYTES 16384

/* Arguments of a request that is made of strings: above the longest, the
 * writing of the marker. */
#define ARGS_MAX 26

/* ---- The end ----------------------------------------------------------- */

void hf_redis_connection_break(struct hf_redis_connection *connection,
                               const char *reason)
{
    if (connection->is_broken) {
        return;
    }
    connection->is_broken = true;
    connection->fault = HF_UNAVAILABLE;
    snprintf(connection->reason, sizeof(connection->reason), "%s", reason);
    hf_timer_set(&connection->timer, HF_LONG_AGO);
}

void hf_redis_connection_starve(struct hf_redis_connection *connection)
{
    if (!connection->is_broken) {
        hf_redis_connection_break(connection, "out of memory");
        connection->fault = HF_NO_MEMORY;
    }
}

void hf_redis_connection_shut(struct hf_redis_connection *connection)
{
    hf_socket_close(&connection->socket, false);
    connection->is_open = false;
    connection->has_heard = false;
    connection->is_broken = false;
    hf_reconnect_closed(&connection->reconnect);
}

/* The socket has failed before a reply. A server that has no room for a client
 * says so unasked, and closes: our first bytes may find it closed. A TLS port
 * closes a plain connection at its first bytes. Its alert may be lost: it
 * resets the connection if bytes are unread. A proxy such as twemproxy closes
 * it at a command that it does not forward, as INFO. */
static void break_unheard(struct hf_redis_connection *connection)
{
    const char *reason;
    enum hf_status fault = HF_UNAVAILABLE;
    char words[HF_TEXT_SENTENCE];
    char line[HF_TEXT_SENTENCE];
    size_t len =
        hf_socket_read_last(&connection->socket, line, sizeof(line) - 1);
    line[len] = '\0';
    if (line[0] == '-') { /* no room, or protected mode */
        fault = hf_redis_fault(line + 1, words, sizeof(words));
        reason = words;
    } else {
        reason = connection->endpoint->is_unix
                     ? "closed the connection without an answer"
                     : "closed the connection without an answer (a TLS port? "
                       "use rediss://; a proxy? name its server)";
    }
    hf_redis_connection_break(connection, reason);
    connection->fault = fault;
}

static void break_with_socket(struct hf_redis_connection *connection)
{
    bool is_unheard = connection->is_open && !connection->has_heard &&
                      connection->socket.tls == NULL;
    if (is_unheard && !connection->is_broken) {
        break_unheard(connection);
    } else if (!connection->is_broken) {
        hf_redis_connection_break(connection, connection->socket.reason);
        connection->fault =
            connection->socket.is_denied ? HF_DENIED : HF_UNAVAILABLE;
    }
}

/* ---- Asking ------------------------------------------------------------ */

void hf_redis_connection_ask(struct hf_redis_connection *connection,
                             uint8_t verb,
                             const struct hf_resp_request *request,
                             struct hf_instant now)
{
    struct hf_pending pending = {.sent = now, .verb = verb};
    HF_ASSERT(connection->is_open);
    if (!hf_redis_wire_push(&connection->wire, request, &pending)) {
        hf_redis_connection_starve(connection);
    }
}

void hf_redis_connection_ask_text(struct hf_redis_connection *connection,
                                  uint8_t verb, int argc,
                                  const char *const *argv,
                                  struct hf_instant now)
{
    size_t lens[ARGS_MAX];
    HF_ASSERT(argc <= ARGS_MAX);
    for (int i = 0; i < argc; i++) {
        lens[i] = strlen(argv[i]);
    }
    struct hf_resp_request request = {.argc = argc, .argv = argv, .lens = lens};
    hf_redis_connection_ask(connection, verb, &request, now);
}

void hf_redis_connection_flush(struct hf_redis_connection *connection)
{
    const char *data;
    size_t len;
    while (!connection->is_broken &&
           connection->socket.state == HF_SOCKET_OPEN &&
           (len = hf_redis_wire_unsent(&connection->wire, &data)) > 0) {
        ssize_t n = hf_socket_write(&connection->socket, data, len);
        if (n < 0) {
            break_with_socket(connection);
        }
        if (n <= 0) {
            return;
        }
        hf_redis_wire_wrote(&connection->wire, (size_t)n);
    }
}

void hf_redis_connection_served(struct hf_redis_connection *connection,
                                struct hf_instant now)
{
    hf_reconnect_served(&connection->reconnect, now);
    hf_redis_wire_wipe(&connection->wire); /* AUTH was in it */
}

struct hf_instant
hf_redis_connection_silent_since(const struct hf_redis_connection *connection)
{
    const struct hf_pending *oldest = hf_redis_wire_oldest(&connection->wire);
    return oldest == NULL ? HF_NEVER
                          : hf_instant_max(oldest->sent, connection->heard_at);
}

/* ---- Connecting -------------------------------------------------------- */

/* A failure is noticed here: the socket itself reports it once. */
static void look_at_socket(struct hf_redis_connection *connection,
                           struct hf_instant now)
{
    if (connection->socket.state == HF_SOCKET_FAILED) {
        break_with_socket(connection);
    } else if (connection->socket.state == HF_SOCKET_OPEN &&
               !connection->is_open) {
        connection->is_open = true;
        connection->heard_at = now;
        connection->events->opened(connection, now);
    }
    HF_ASSERT(connection->is_broken ||
              connection->socket.state != HF_SOCKET_FAILED);
    HF_ASSERT(connection->is_broken ||
              connection->is_open ==
                  (connection->socket.state == HF_SOCKET_OPEN));
}

void hf_redis_connection_start(struct hf_redis_connection *connection,
                               struct hf_instant now)
{
    const struct hf_endpoint *to = connection->endpoint;
    struct hf_reply *reply = &connection->reply;
    HF_ASSERT(connection->socket.state == HF_SOCKET_CLOSED);
    connection->deadline = hf_instant_add(now, connection->connect_timeout);
    hf_redis_wire_reset(&connection->wire);
    if (reply->reader == NULL ? !hf_reply_init(reply)
                              : !hf_reply_reset(reply)) {
        hf_redis_connection_starve(connection);
        return;
    }
    struct hf_socket_target target = {
        .is_unix = to->is_unix,
        .host = to->host,
        .port = to->port,
        /* One that accepts and does not answer hides no other address. */
        .turn = connection->reconnect.failures,
        .tls = to->is_tls ? connection->tls : NULL,
    };
    hf_socket_start(&connection->socket, &target, connection->connect_timeout,
                    now);
    look_at_socket(connection, now);
}

struct hf_instant
hf_redis_connection_due(const struct hf_redis_connection *connection)
{
    return connection->socket.state == HF_SOCKET_CLOSED
               ? connection->reconnect.retry_at
               : hf_instant_min(connection->deadline,
                                connection->socket.give_up);
}

void hf_redis_connection_late_text(const struct hf_redis_connection *connection,
                                   struct hf_instant now, char *out,
                                   size_t size)
{
    struct hf_span left = hf_span_max(
        hf_instant_until(now, connection->deadline), (struct hf_span){0});
    long long ms = (long long)hf_span_ms_floor(
        hf_span_sub(connection->connect_timeout, left));
    if (ms <= 0) {
        snprintf(out, size, "no connection yet");
    } else if (connection->socket.state == HF_SOCKET_SECURING) {
        snprintf(out, size,
                 "no answer to the TLS handshake within %lld ms (a plain port? "
                 "use redis://)",
                 ms);
    } else if (!connection->is_open) {
        snprintf(out, size, "no connection within %lld ms", ms);
    } else {
        snprintf(out, size,
                 "accepted the connection, but did not answer within %lld ms",
                 ms);
    }
}

static void check_opening(struct hf_redis_connection *connection,
                          struct hf_instant now)
{
    bool is_late = !hf_instant_before(now, connection->deadline);
    bool is_given_up = !hf_instant_before(now, connection->socket.give_up);
    if (is_late ||
        (is_given_up && connection->socket.state == HF_SOCKET_SECURING)) {
        char why[HF_TEXT_CLAUSE];
        hf_redis_connection_late_text(connection, now, why, sizeof(why));
        hf_redis_connection_break(connection, why);
    } else if (is_given_up) {
        hf_socket_expire(&connection->socket, now);
        look_at_socket(connection, now);
    }
}

/* ---- Reading ----------------------------------------------------------- */

/* is_broken is read again after each reply: the callback may break the
 * connection, and must not get the replies behind that. */
static void take_replies(struct hf_redis_connection *connection,
                         struct hf_instant now)
{
    int found = 0;
    while (!connection->is_broken &&
           (found = hf_reply_next(&connection->reply)) > 0) {
        connection->events->replied(connection, now);
    }
    if (found < 0 && connection->reply.is_starved) {
        hf_redis_connection_starve(connection);
    } else if (found < 0) {
        hf_redis_connection_break(connection,
                                  hf_reply_fault(&connection->reply));
    }
}

static void read_all(struct hf_redis_connection *connection,
                     struct hf_instant now)
{
    char data[READ_BYTES];
    bool is_more = true;
    while (is_more && !connection->is_broken) {
        ssize_t n = hf_socket_read(&connection->socket, data, sizeof(data));
        if (n < 0) {
            break_with_socket(connection);
        }
        if (n <= 0) {
            return;
        }
        connection->has_heard = true;
        size_t before = connection->reply.fed;
        if (!hf_reply_feed(&connection->reply, data, (size_t)n)) {
            hf_redis_connection_starve(connection);
            return;
        }
        /* A short read has emptied a plain socket. If epoll has reported the
         * end of the stream, read on until that. */
        is_more = (size_t)n == sizeof(data) || connection->socket.is_ended ||
                  connection->socket.tls != NULL;
        take_replies(connection, now);
        if (hf_reply_has_grown(&connection->reply, before, (size_t)n)) {
            connection->heard_at = now;
        }
    }
}

/* ---- Events ------------------------------------------------------------ */

static void on_socket(struct hf_socket *socket, struct hf_instant now)
{
    struct hf_redis_connection *connection =
        (struct hf_redis_connection *)(void *)socket;
    /* The socket has made its step. If a look-up has found several addresses,
     * the first is given up sooner than the look-up was. */
    hf_timer_set(&connection->timer,
                 hf_instant_min(connection->timer.at, socket->give_up));
    connection->events->check(connection);
    look_at_socket(connection, now);
    if (connection->socket.state == HF_SOCKET_OPEN) {
        read_all(connection, now);
        hf_redis_connection_flush(connection);
    }
    connection->events->settled(connection, now);
    connection->events->check(connection);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_redis_connection *connection =
        (struct hf_redis_connection *)(void *)((char *)timer -
                                               offsetof(
                                                   struct hf_redis_connection,
                                                   timer));
    if (hf_redis_connection_is_opening(connection)) {
        check_opening(connection, now);
    } else if (!connection->is_broken) {
        connection->events->timed(connection, now);
    }
    connection->events->settled(connection, now);
    connection->events->check(connection);
}

/* ---- Life -------------------------------------------------------------- */

void hf_redis_connection_init(struct hf_redis_connection *connection,
                              const struct hf_redis_connection_events *events,
                              struct hf_loop *loop,
                              const struct hf_endpoint *endpoint,
                              struct hf_tls *tls,
                              struct hf_span connect_timeout)
{
    HF_ASSERT(events->opened != NULL && events->replied != NULL &&
              events->timed != NULL && events->settled != NULL &&
              events->check != NULL);
    hf_socket_init(&connection->socket, loop, on_socket);
    connection->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(loop, &connection->timer);
    connection->events = events;
    connection->loop = loop;
    connection->endpoint = endpoint;
    connection->tls = tls;
    connection->connect_timeout = connect_timeout;
    hf_redis_wire_init(&connection->wire);
    hf_reconnect_init(&connection->reconnect);
}

void hf_redis_connection_fini(struct hf_redis_connection *connection,
                              bool is_forked)
{
    hf_loop_drop_timer(connection->loop, &connection->timer);
    hf_socket_close(&connection->socket, is_forked);
    hf_redis_wire_fini(&connection->wire);
    hf_reply_fini(&connection->reply);
}
