/* SPDX-License-Identifier: Apache-2.0 */
/* LISTENING FOR GRANTS
 *
 *     ──▶ AUTH, INFO server, SUBSCRIBE hf:push:<ours>          one write
 *     ◀── subscribed: grants reach us                   one round trip
 *     ◀── message "<cookie> <counter>"                  per grant
 *     ──▶ PING, when it was silent for 5 s; ◀── pong
 *
 * The run id that INFO tells must be the one that the node's first connection
 * met: behind one address there may be two servers, an old one that still
 * serves old connections and a new one. Who may not ask INFO is taken at its
 * word, as in the greeting.
 *
 * Nothing that is lost here does harm: the waiter's heartbeat finds what was
 * granted. But it must know that it is deaf, hence the PING: a connection that
 * is half open would swallow grants until the kernel's keepalive sees it.
 *
 * Callbacks into the client come from the handlers of socket and timer only,
 * never from ask(): there a wish is noted, and the timer set. A connection is
 * torn down at the end of a handler (settle()), so that nothing is pulled away
 * from under a loop that reads. */
#include "store/redis/listen.h"

#include "store/redis/node.h"

#include <stdio.h>
#include <string.h>

/* Between reconnects without back-off. */
#define RETRY_QUICK_MS 1000

#define READ_BYTES 4096

/* What is expected to come back. */
enum { ASKED_AUTH, ASKED_INFO, ASKED_SUBSCRIBE, ASKED_PING };

/* A waiter is heard of every 2 s at most (a third of the lease of a place). */
const struct hf_redis_listen_pace hf_redis_listen_pace_default = {
    .idle = {INT64_C(10000000000)},
    .ping = {INT64_C(5000000000)},
    .refused = {INT64_C(30000000000)},
};

static void report(struct hf_redis_listener *listener, enum hf_log_level level,
                   const char *what, const char *detail)
{
    const struct hf_redis_node *node = listener->node;
    char text[480];
    snprintf(text, sizeof(text), "%s: %s: %s", node->address, what, detail);
    node->store->env.log(node->store->env.client, level, text);
}

static void tell(struct hf_redis_listener *listener, bool is_listening)
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

static struct hf_instant ping_at(const struct hf_redis_listener *listener)
{
    return hf_instant_add(listener->heard_at,
                          listener->node->store->listen_pace.ping);
}

static void arm(struct hf_redis_listener *listener)
{
    struct hf_instant at;
    switch (listener->phase) {
    case HF_REDIS_OFF:
        at = listener->retry_at;
        break;
    case HF_REDIS_LISTEN_CONNECTING:
        at = hf_instant_min(listener->deadline, listener->socket.give_up);
        break;
    case HF_REDIS_SUBSCRIBING:
        at = listener->deadline;
        break;
    case HF_REDIS_LISTENING:
        at = listener->is_pinged ? listener->deadline : ping_at(listener);
        at = hf_instant_min(at, idle_at(listener));
        break;
    }
    hf_timer_set(&listener->timer, at);
}

/* ---- Losing ------------------------------------------------------------ */

static void shut(struct hf_redis_listener *listener)
{
    bool was_listening = listener->phase == HF_REDIS_LISTENING;
    listener->phase = HF_REDIS_OFF;
    listener->is_broken = listener->is_refused = listener->is_pinged = false;
    hf_socket_close(&listener->socket, false);
    hf_wire_reset(&listener->wire);
    if (was_listening) {
        tell(listener, false);
    }
}

/* One that served is replaced at once, but not one after another. */
static bool may_be_quick(struct hf_redis_listener *listener,
                         struct hf_instant now)
{
    struct hf_span least = hf_span_ms(RETRY_QUICK_MS);
    if (listener->phase != HF_REDIS_LISTENING) {
        return false;
    }
    if (!hf_instant_before(now,
                           hf_instant_add(listener->subscribed_at, least))) {
        listener->failures = 0;
    }
    if (hf_instant_before(now, hf_instant_add(listener->quick_at, least))) {
        return false;
    }
    listener->quick_at = now;
    return true;
}

/* Waiting goes on without it, by looking: worth a warning, but one. */
static void warn(struct hf_redis_listener *listener)
{
    if (!listener->has_warned) {
        listener->has_warned = true;
        report(listener, HF_LOG_WARN,
               "whoever waits must look again and again, since grants cannot "
               "be pushed (needs +subscribe and &hf:push:*)",
               listener->reason);
    }
}

static void lost(struct hf_redis_listener *listener, struct hf_instant now)
{
    struct hf_redis *store = listener->node->store;
    listener->retry_at = now;
    hf_redis_examine_push(listener->node, listener->reason);
    if (listener->is_refused) {
        warn(listener);
        listener->retry_at = hf_instant_add(now, store->listen_pace.refused);
    } else if (!may_be_quick(listener, now)) {
        listener->failures++;
        listener->retry_at =
            hf_instant_add(now, hf_redis_back_off(store, listener->failures));
    }
    if (!listener->is_refused) {
        report(listener, HF_LOG_DEBUG, "grants are not pushed any more",
               listener->reason);
    }
    shut(listener);
}

static void break_off(struct hf_redis_listener *listener, const char *reason)
{
    if (!listener->is_broken) {
        listener->is_broken = true;
        snprintf(listener->reason, sizeof(listener->reason), "%s", reason);
    }
}

/* ---- Asking ------------------------------------------------------------ */

static void ask(struct hf_redis_listener *listener, uint8_t what, int argc,
                const char **argv, struct hf_instant now)
{
    size_t lens[3];
    for (int i = 0; i < argc; i++) {
        lens[i] = strlen(argv[i]);
    }
    struct hf_pending pending = {.sent = now, .verb = what};
    if (!hf_wire_push(&listener->wire, argc, argv, lens, &pending)) {
        break_off(listener, "out of memory");
    }
}

static void flush(struct hf_redis_listener *listener)
{
    const char *data;
    size_t len;
    while (!listener->is_broken && listener->socket.state == HF_SOCKET_OPEN &&
           (len = hf_wire_unsent(&listener->wire, &data)) > 0) {
        ssize_t n = hf_socket_write(&listener->socket, data, len);
        if (n < 0) {
            break_off(listener, listener->socket.reason);
        }
        if (n <= 0) {
            return;
        }
        hf_wire_wrote(&listener->wire, (size_t)n);
    }
}

static void subscribe(struct hf_redis_listener *listener, struct hf_instant now)
{
    const struct hf_endpoint *to = listener->node->endpoint;
    listener->phase = HF_REDIS_SUBSCRIBING;
    if (to->password != NULL && to->user != NULL) {
        ask(listener, ASKED_AUTH, 3,
            (const char *[]){"AUTH", to->user, to->password}, now);
    } else if (to->password != NULL) {
        ask(listener, ASKED_AUTH, 2, (const char *[]){"AUTH", to->password},
            now);
    }
    ask(listener, ASKED_INFO, 2, (const char *[]){"INFO", "server"}, now);
    ask(listener, ASKED_SUBSCRIBE, 2,
        (const char *[]){"SUBSCRIBE", listener->node->store->channel}, now);
    flush(listener);
}

static void ping(struct hf_redis_listener *listener, struct hf_instant now)
{
    listener->is_pinged = true;
    listener->deadline =
        hf_instant_add(now, listener->node->store->connect_timeout);
    ask(listener, ASKED_PING, 1, (const char *[]){"PING"}, now);
    flush(listener);
}

/* ---- Connecting -------------------------------------------------------- */

static void look_at_socket(struct hf_redis_listener *listener,
                           struct hf_instant now)
{
    if (listener->socket.state == HF_SOCKET_FAILED) {
        break_off(listener, listener->socket.reason);
    } else if (listener->socket.state == HF_SOCKET_OPEN &&
               listener->phase == HF_REDIS_LISTEN_CONNECTING) {
        subscribe(listener, now);
    }
}

static bool make_reader(struct hf_reply *reply)
{
    return reply->reader == NULL ? hf_reply_init(reply) : hf_reply_reset(reply);
}

static void connect_now(struct hf_redis_listener *listener,
                        struct hf_instant now)
{
    const struct hf_redis_node *node = listener->node;
    listener->phase = HF_REDIS_LISTEN_CONNECTING;
    listener->deadline = hf_instant_add(now, node->store->connect_timeout);
    hf_wire_reset(&listener->wire);
    if (!make_reader(&listener->reply)) {
        break_off(listener, "out of memory");
        return;
    }
    struct hf_socket_target target = {
        .is_unix = node->endpoint->is_unix,
        .host = node->endpoint->host,
        .port = node->endpoint->port,
        .tls = node->endpoint->is_tls ? node->store->tls : NULL,
    };
    hf_socket_start(&listener->socket, &target, node->store->connect_timeout,
                    now);
    look_at_socket(listener, now);
}

/* ---- Replies ----------------------------------------------------------- */

/* Digits up to `end`, and nothing else. @return where they end; NULL: there
 * are none, or too many. */
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
    const struct hf_reply *reply = &listener->reply;
    const char *text = hf_reply_text(reply, 3);
    size_t len =
        reply->items[3].type == HF_REPLY_STRING ? reply->items[3].len : 0;
    uint64_t cookie;
    uint64_t counter;
    if (listener->phase != HF_REDIS_LISTENING ||
        strcmp(hf_reply_text(reply, 2), node->store->channel) != 0 ||
        !parse_grant(text, len, &cookie, &counter)) {
        report(listener, HF_LOG_DEBUG, "ignored", "a push that is no grant");
        return;
    }
    node->store->env.push(node->store->env.client, node->index, cookie,
                          counter);
}

/* A server without run id cannot be told apart. */
static bool is_same_server(const struct hf_redis_listener *listener)
{
    const char *expected = listener->node->known.run_id;
    const char *at = strstr(hf_reply_text(&listener->reply, 0), "run_id:");
    size_t len = strlen(expected);
    return at == NULL || len == 0 || strncmp(at + 7, expected, len) == 0;
}

static void take_error(struct hf_redis_listener *listener, uint8_t asked)
{
    const char *text = hf_reply_text(&listener->reply, 0);
    char words[120];
    enum hf_status fault = hf_redis_fault(text, words, sizeof(words));
    if (asked == ASKED_INFO) {
        return; /* without that right it cannot be told apart either */
    }
    listener->is_refused =
        fault == HF_DENIED || strncmp(text, "ERR unknown command", 19) == 0;
    break_off(listener, words);
}

static void begin_to_listen(struct hf_redis_listener *listener,
                            struct hf_instant now)
{
    listener->phase = HF_REDIS_LISTENING;
    listener->subscribed_at = now;
    listener->has_warned = false;
    if (listener->node->endpoint->password != NULL) {
        hf_wire_wipe(&listener->wire);
    }
    tell(listener, true);
    hf_redis_examine_push(listener->node, "");
}

static void take_reply(struct hf_redis_listener *listener,
                       struct hf_instant now)
{
    const struct hf_reply *reply = &listener->reply;
    if (reply->items[0].type == HF_REPLY_ARRAY && reply->n == 4 &&
        strcmp(hf_reply_text(reply, 1), "message") == 0) {
        take_message(listener);
        return;
    }
    const struct hf_pending *oldest = hf_wire_asked(&listener->wire);
    if (oldest == NULL) {
        break_off(listener, "spoke unasked");
        return;
    }
    uint8_t asked = oldest->verb;
    hf_wire_pop(&listener->wire);
    if (reply->items[0].type == HF_REPLY_ERROR) {
        take_error(listener, asked);
    } else if (asked == ASKED_INFO && !is_same_server(listener)) {
        break_off(listener, "another server answers at this address");
    } else if (asked == ASKED_SUBSCRIBE) {
        begin_to_listen(listener, now);
    }
}

static void take_replies(struct hf_redis_listener *listener,
                         struct hf_instant now)
{
    int found = 0;
    while (!listener->is_broken &&
           (found = hf_reply_next(&listener->reply)) > 0) {
        take_reply(listener, now);
    }
    if (found < 0) {
        break_off(listener, hf_reply_fault(&listener->reply));
    }
}

static void read_all(struct hf_redis_listener *listener, struct hf_instant now)
{
    char data[READ_BYTES];
    bool is_more = true;
    while (is_more && !listener->is_broken) {
        ssize_t n = hf_socket_read(&listener->socket, data, sizeof(data));
        if (n == 0) {
            return;
        }
        if (n < 0) {
            break_off(listener, listener->socket.reason);
            return;
        }
        size_t before = listener->reply.fed;
        if (!hf_reply_feed(&listener->reply, data, (size_t)n)) {
            break_off(listener, "out of memory");
            return;
        }
        /* As in node.c: a short read has emptied the socket. */
        is_more = (size_t)n == sizeof(data) || listener->socket.is_ended ||
                  listener->socket.tls != NULL;
        take_replies(listener, now);
        if (hf_reply_has_grown(&listener->reply, before, (size_t)n)) {
            listener->heard_at = now;
            listener->is_pinged = false; /* whatever it says, it is there */
        }
    }
}

/* ---- Events ------------------------------------------------------------ */

static void settle(struct hf_redis_listener *listener, struct hf_instant now)
{
    if (listener->is_broken) {
        lost(listener, now);
    }
    arm(listener);
}

static void on_socket(struct hf_socket *socket, struct hf_instant now)
{
    struct hf_redis_listener *listener =
        (struct hf_redis_listener *)(void *)socket;
    look_at_socket(listener, now);
    if (!listener->is_broken && listener->socket.state == HF_SOCKET_OPEN) {
        read_all(listener, now);
        flush(listener);
    }
    settle(listener, now);
}

static void check_connecting(struct hf_redis_listener *listener,
                             struct hf_instant now)
{
    if (!hf_instant_before(now, listener->deadline)) {
        break_off(listener, "no answer in time");
    } else if (!hf_instant_before(now, listener->socket.give_up)) {
        hf_socket_expire(&listener->socket, now);
        look_at_socket(listener, now);
    }
}

static void check_alive(struct hf_redis_listener *listener,
                        struct hf_instant now)
{
    if (!is_wanted(listener, now)) {
        listener->retry_at = HF_NEVER;
        shut(listener);
    } else if (listener->is_pinged) {
        if (!hf_instant_before(now, listener->deadline)) {
            break_off(listener, "does not answer");
        }
    } else if (!hf_instant_before(now, ping_at(listener))) {
        ping(listener, now);
    }
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_redis_listener *listener =
        (struct hf_redis_listener *)(void *)((char *)timer -
                                             offsetof(struct hf_redis_listener,
                                                      timer));
    bool may_connect =
        is_wanted(listener, now) && listener->node->phase == HF_REDIS_READY;
    switch (listener->phase) {
    case HF_REDIS_OFF:
        if (!may_connect) {
            listener->retry_at = HF_NEVER;
        } else if (!hf_instant_before(now, listener->retry_at)) {
            connect_now(listener, now);
        }
        break;
    case HF_REDIS_LISTEN_CONNECTING:
    case HF_REDIS_SUBSCRIBING:
        check_connecting(listener, now);
        break;
    case HF_REDIS_LISTENING:
        check_alive(listener, now);
        break;
    }
    settle(listener, now);
}

/* ---- The node's side ----------------------------------------------------- */

void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_redis_listener *listener = &node->listener;
    listener->wanted_at = now;
    if (listener->phase == HF_REDIS_OFF &&
        listener->retry_at.ns == HF_NEVER.ns) {
        listener->retry_at = now;
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
        listener->retry_at = HF_NEVER;
        shut(listener);
        arm(listener);
    }
}

void hf_redis_listen_open(struct hf_redis_node *node)
{
    struct hf_redis_listener *listener = &node->listener;
    listener->node = node;
    hf_socket_init(&listener->socket, node->store->env.loop, on_socket);
    listener->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(node->store->env.loop, &listener->timer);
    hf_wire_init(&listener->wire);
    listener->wanted_at = HF_LONG_AGO;
    listener->retry_at = HF_NEVER;
    listener->quick_at = HF_LONG_AGO;
}

void hf_redis_listen_close(struct hf_redis_node *node, bool forked)
{
    struct hf_redis_listener *listener = &node->listener;
    hf_loop_drop_timer(node->store->env.loop, &listener->timer);
    hf_socket_close(&listener->socket, forked);
    hf_wire_fini(&listener->wire);
    hf_reply_fini(&listener->reply);
}
