/* SPDX-License-Identifier: Apache-2.0 */
/* LISTENING FOR GRANTS
 *
 *     ──▶ AUTH, INFO server, SUBSCRIBE hf:push:<ours>          one write
 *     ◀── subscribed: grants arrive from now on         one round trip
 *     ◀── message "<cookie> <counter>"                  per grant
 *     ──▶ PING, after 5 s of silence; ◀── pong
 *
 * <ours> is this client's random channel. AUTH is sent if the URL has a
 * password. The cookie is that of the waiter's ACQUIRE, which the server keeps
 * in the queue: a push to a waiter that has gone names none, and is dropped.
 * The counter is the fence that was granted.
 *
 * The run id in the INFO reply must be that of the node's command connection:
 * one address may lead to two servers, an old one that keeps its connections
 * and a new one, or several behind a load balancer. Each would grant the same
 * name, so both connections end, and neither server counts until the next pair
 * leads to one. If the run id is unknown on either connection, this is not
 * checked.
 *
 * A lost push does no harm but for the time: the waiter's next heartbeat, its
 * repeated ACQUIRE, finds the grant. The PING detects a half-open connection
 * sooner than the kernel's keepalive.
 *
 * Cost: one connection to each node at which this client waits, until 10 s
 * after the last request of a waiter. A grant costs this client no request;
 * silence costs one PING in 5 s.
 *
 * The client's callbacks run in the handlers of socket and timer only, never in
 * the store's ask(): hf_redis_listen_want() only sets the timer. What is read
 * ends a connection at the end of the handler (on_settled()), so that the loop
 * that reads keeps its buffer. */
#include "store/redis/fault.h"
#include "store/redis/node.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

enum { ASKED_AUTH, ASKED_INFO, ASKED_SUBSCRIBE, ASKED_PING };

/* `idle` is longer than the interval of a waiter's heartbeats, which is 2 s at
 * most: a third of its place in the queue. `refused`: until a subscription that
 * the server's rules forbid is tried again. */
const struct hf_redis_listen_pace hf_redis_listen_pace_default = {
    .idle = {INT64_C(10000000000)},
    .ping = {INT64_C(5000000000)},
    .refused = {INT64_C(30000000000)},
};

static struct hf_redis_listener *
listener_of(struct hf_redis_connection *connection)
{
    return (struct hf_redis_listener *)(void *)connection;
}

static void report(struct hf_redis_listener *listener, enum hf_log_level level,
                   const char *event, const char *detail)
{
    const struct hf_redis_node *node = listener->node;
    char text[HF_TEXT_LIST];
    snprintf(text, sizeof(text), "%s: %s: %s", node->address, event, detail);
    node->store->env.log(node->store->env.client, level, text);
}

static void report_state(struct hf_redis_listener *listener, bool is_listening)
{
    struct hf_redis_node *node = listener->node;
    node->store->env.listen(node->store->env.client, node->index, is_listening);
}

/* ---- Timer ------------------------------------------------------------- */

static struct hf_instant idle_at(const struct hf_redis_listener *listener)
{
    return hf_instant_add(listener->wanted_at,
                          listener->node->store->listen_pace.idle);
}

static bool is_wanted(const struct hf_redis_listener *listener,
                      struct hf_instant now)
{
    return hf_instant_before(now, idle_at(listener));
}

/* A dead connection looks like one without pushes, so a silent one is asked. */
static struct hf_instant alive_at(const struct hf_redis_listener *listener)
{
    const struct hf_redis_connection *connection = &listener->connection;
    const struct hf_redis *store = listener->node->store;
    struct hf_instant since = hf_redis_connection_silent_since(connection);
    return !hf_instant_is_never(since)
               ? hf_instant_add(since, store->connect_timeout)
               : hf_instant_add(connection->heard_at, store->listen_pace.ping);
}

struct hf_instant hf_redis_listen_due(const struct hf_redis_listener *listener)
{
    const struct hf_redis_connection *connection = &listener->connection;
    struct hf_instant at;
    switch (listener->phase) {
    case HF_REDIS_OFF:
    case HF_REDIS_LISTEN_CONNECTING:
        at = hf_redis_connection_due(connection);
        break;
    case HF_REDIS_SUBSCRIBING:
        at = connection->deadline;
        break;
    case HF_REDIS_LISTENING:
        at = hf_instant_min(alive_at(listener), idle_at(listener));
        break;
    }
    return at;
}

static void arm(struct hf_redis_listener *listener)
{
    hf_timer_set(&listener->connection.timer, hf_redis_listen_due(listener));
}

/* ---- Losing ------------------------------------------------------------ */

static void shut(struct hf_redis_listener *listener)
{
    bool was_listening = listener->phase == HF_REDIS_LISTENING;
    listener->phase = HF_REDIS_OFF;
    listener->is_refused = false;
    listener->is_elsewhere = false;
    hf_redis_connection_shut(&listener->connection);
    hf_redis_wire_reset(&listener->connection.wire);
    hf_redis_wire_wipe(&listener->connection.wire);
    if (was_listening) {
        report_state(listener, false);
    }
}

/* Waiters poll instead. Warn once, until a subscription succeeds. */
static void warn(struct hf_redis_listener *listener)
{
    if (!listener->has_warned) {
        listener->has_warned = true;
        report(listener, HF_LOG_WARN,
               "waiters must poll, since grants cannot be pushed",
               listener->connection.reason);
    }
}

static void lose(struct hf_redis_listener *listener, struct hf_instant now)
{
    struct hf_redis_connection *connection = &listener->connection;
    HF_ASSERT(connection->is_broken && listener->phase != HF_REDIS_OFF);
    hf_redis_examine_push(listener->node, connection->reason);
    if (listener->is_refused) {
        warn(listener);
        connection->reconnect.retry_at =
            hf_instant_add(now, listener->node->store->listen_pace.refused);
    } else {
        hf_reconnect_plan(&connection->reconnect, &listener->node->store->seed,
                          now);
        report(listener, HF_LOG_DEBUG, "grants are not pushed any more",
               connection->reason);
    }
    shut(listener);
}

/* ---- Asking ------------------------------------------------------------ */

static void ask(struct hf_redis_listener *listener, uint8_t verb, int argc,
                const char **argv, struct hf_instant now)
{
    hf_redis_connection_ask_text(&listener->connection, verb, argc, argv, now);
}

static void subscribe(struct hf_redis_listener *listener, struct hf_instant now)
{
    HF_ASSERT(listener->phase == HF_REDIS_LISTEN_CONNECTING);
    listener->phase = HF_REDIS_SUBSCRIBING;
    hf_redis_log_in(listener->node, &listener->connection, ASKED_AUTH, now);
    ask(listener, ASKED_INFO, 2, (const char *[]){"INFO", "server"}, now);
    ask(listener, ASKED_SUBSCRIBE, 2,
        (const char *[]){"SUBSCRIBE", listener->node->store->channel}, now);
    hf_redis_connection_flush(&listener->connection);
}

static void on_opened(struct hf_redis_connection *connection,
                      struct hf_instant now)
{
    subscribe(listener_of(connection), now);
}

/* ---- Replies ----------------------------------------------------------- */

/** Read digits from `at`. @return where they end, at `end` at the latest; NULL:
 * there are none, or too many. */
static const char *parse_number(const char *at, const char *end, uint64_t *out)
{
    const char *start = at;
    uint64_t number = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) {
            return NULL;
        }
    }
    *out = number;
    return at == start ? NULL : at;
}

static bool parse_grant(const char *text, size_t len, uint64_t *cookie,
                        uint64_t *counter)
{
    const char *end = text + len;
    const char *at = parse_number(text, end, cookie);
    if (at == NULL || at == end || *at != ' ') {
        return false;
    }
    at = parse_number(at + 1, end, counter);
    return at == end && *counter > 0 && *counter <= HF_FENCE_MAX;
}

static void take_message(struct hf_redis_listener *listener)
{
    struct hf_redis_node *node = listener->node;
    const struct hf_reply *reply = &listener->connection.reply;
    const char *text = hf_reply_text(reply, 3);
    size_t len =
        reply->items[3].type == HF_REPLY_STRING ? reply->items[3].len : 0;
    uint64_t cookie = 0;
    uint64_t counter = 0;
    if (listener->phase != HF_REDIS_LISTENING ||
        strcmp(hf_reply_text(reply, 2), node->store->channel) != 0 ||
        !parse_grant(text, len, &cookie, &counter)) {
        report(listener, HF_LOG_DEBUG, "ignored", "a push that is no grant");
        return;
    }
    node->store->env.push(node->store->env.client, node->index, cookie,
                          counter);
}

/* true also if one of the two run ids is unknown. */
static bool is_same_server(const struct hf_redis_listener *listener)
{
    const char *expected = listener->node->admission.known.run_id;
    const char *at =
        strstr(hf_reply_text(&listener->connection.reply, 0), "run_id:");
    size_t len = strlen(expected);
    return at == NULL || len == 0 || strncmp(at + 7, expected, len) == 0;
}

/* Neither connection counts: other clients may hold locks at either server. */
static void break_both(struct hf_redis_listener *listener)
{
    static const char words[] = "another server answers at this address: the "
                                "URL must lead to one server";
    listener->is_elsewhere = true;
    hf_redis_connection_break(&listener->connection, words);
    hf_redis_connection_break(&listener->node->connection, words);
}

static void take_error(struct hf_redis_listener *listener, uint8_t asked)
{
    const char *text = hf_reply_text(&listener->connection.reply, 0);
    char words[HF_TEXT_CLAUSE];
    enum hf_status fault = hf_redis_fault(text, words, sizeof(words));
    if (asked == ASKED_INFO && !hf_redis_fault_is_last(text)) {
        return; /* no right to INFO: the run id is not checked */
    }
    listener->is_refused =
        fault == HF_DENIED || strncmp(text, "ERR unknown command", 19) == 0;
    hf_redis_connection_break(&listener->connection, words);
}

static void begin_to_listen(struct hf_redis_listener *listener,
                            struct hf_instant now)
{
    HF_ASSERT(listener->phase == HF_REDIS_SUBSCRIBING);
    listener->phase = HF_REDIS_LISTENING;
    listener->has_warned = false;
    hf_redis_connection_served(&listener->connection, now);
    report_state(listener, true);
    hf_redis_examine_push(listener->node, "");
}

static void on_replied(struct hf_redis_connection *connection,
                       struct hf_instant now)
{
    struct hf_redis_listener *listener = listener_of(connection);
    const struct hf_reply *reply = &connection->reply;
    if (reply->items[0].type == HF_REPLY_ARRAY && reply->n == 4 &&
        strcmp(hf_reply_text(reply, 1), "message") == 0) {
        take_message(listener);
        return;
    }
    const struct hf_pending *oldest = hf_redis_wire_asked(&connection->wire);
    if (oldest == NULL) {
        char why[HF_TEXT_SENTENCE];
        hf_redis_fault(hf_reply_text(reply, 0), why, sizeof(why));
        hf_redis_connection_break(connection,
                                  why[0] != '\0' ? why : "spoke unasked");
        return;
    }
    uint8_t asked = oldest->verb;
    hf_redis_wire_pop(&listener->connection.wire);
    if (reply->items[0].type == HF_REPLY_ERROR) {
        take_error(listener, asked);
    } else if (asked == ASKED_INFO && !is_same_server(listener)) {
        break_both(listener);
    } else if (asked == ASKED_SUBSCRIBE) {
        begin_to_listen(listener, now);
    }
}

/* ---- Events ------------------------------------------------------------ */

static void connect_now(struct hf_redis_listener *listener,
                        struct hf_instant now)
{
    HF_ASSERT(listener->phase == HF_REDIS_OFF);
    HF_ASSERT(listener->node->phase == HF_REDIS_READY);
    listener->phase = HF_REDIS_LISTEN_CONNECTING;
    hf_redis_connection_start(&listener->connection, now);
}

static void check_alive(struct hf_redis_listener *listener,
                        struct hf_instant now)
{
    struct hf_redis_connection *connection = &listener->connection;
    if (!is_wanted(listener, now)) {
        connection->reconnect.retry_at = HF_NEVER;
        shut(listener);
    } else if (hf_instant_before(now, alive_at(listener))) {
        return;
    } else if (hf_redis_wire_oldest(&connection->wire) != NULL) {
        hf_redis_connection_break(connection, "does not answer");
    } else {
        ask(listener, ASKED_PING, 1, (const char *[]){"PING"}, now);
        hf_redis_connection_flush(connection);
    }
}

static void on_timed(struct hf_redis_connection *connection,
                     struct hf_instant now)
{
    struct hf_redis_listener *listener = listener_of(connection);
    switch (listener->phase) {
    case HF_REDIS_OFF:
        if (!is_wanted(listener, now) ||
            listener->node->phase != HF_REDIS_READY) {
            connection->reconnect.retry_at = HF_NEVER;
        } else if (!hf_instant_before(now, connection->reconnect.retry_at)) {
            connect_now(listener, now);
        }
        break;
    case HF_REDIS_LISTEN_CONNECTING: /* connection.c checks this deadline */
        break;
    case HF_REDIS_SUBSCRIBING:
        if (!hf_instant_before(now, connection->deadline)) {
            hf_redis_connection_break(connection, "does not answer");
        }
        break;
    case HF_REDIS_LISTENING:
        check_alive(listener, now);
        break;
    }
}

static void on_settled(struct hf_redis_connection *connection,
                       struct hf_instant now)
{
    struct hf_redis_listener *listener = listener_of(connection);
    if (connection->is_broken) {
        lose(listener, now);
    }
    arm(listener);
}

static void on_check(const struct hf_redis_connection *connection)
{
    const struct hf_redis_listener *listener =
        (const struct hf_redis_listener *)(const void *)connection;
    hf_redis_node_check(listener->node);
}

/* ---- The node's side ----------------------------------------------------- */

void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_redis_listener *listener = &node->listener;
    listener->wanted_at = now;
    if (listener->phase == HF_REDIS_OFF &&
        hf_instant_is_never(listener->connection.reconnect.retry_at)) {
        listener->connection.reconnect.retry_at = now;
        arm(listener);
    }
}

void hf_redis_listen_resume(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_redis_listener *listener = &node->listener;
    if (is_wanted(listener, now)) {
        struct hf_instant wanted_at = listener->wanted_at;
        hf_redis_listen_want(node, now);
        listener->wanted_at = wanted_at;
    }
}

void hf_redis_listen_cut(struct hf_redis_node *node)
{
    struct hf_redis_listener *listener = &node->listener;
    if (listener->phase != HF_REDIS_OFF) {
        listener->connection.reconnect.retry_at = HF_NEVER;
        shut(listener);
        arm(listener);
    }
}

void hf_redis_listen_open(struct hf_redis_node *node)
{
    static const struct hf_redis_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    struct hf_redis_listener *listener = &node->listener;
    listener->node = node;
    listener->wanted_at = HF_LONG_AGO;
    const struct hf_redis *store = node->store;
    hf_redis_connection_init(&listener->connection, &events, store->env.loop,
                             node->endpoint, store->tls,
                             store->connect_timeout);
}

void hf_redis_listen_close(struct hf_redis_node *node, bool is_forked)
{
    hf_redis_connection_fini(&node->listener.connection, is_forked);
}
