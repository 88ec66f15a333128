/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/node.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* Back-off between connections that come to nothing. */
#define RETRY_FIRST_MS 50
#define RETRY_MOST_MS 2000

/* Between reconnects without back-off. */
#define RETRY_QUICK_MS 1000

/* A request unanswered for so long means that the server hangs, or that the
 * network swallows what it says: what is queued for it must not grow. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

#define READ_BYTES 16384

static void connect_now(struct hf_redis_node *node, struct hf_instant now);

static struct hf_span hang_span(const struct hf_redis_node *node)
{
    struct hf_span span = node->store->node_timeout;
    if (__builtin_mul_overflow(span.ns, HANG_TIMEOUTS, &span.ns)) {
        span.ns = INT64_MAX;
    }
    return hf_span_max(span, hf_span_ms(HANG_MS_MIN));
}

/* ---- Standing ---------------------------------------------------------- */

void hf_redis_node_stand(struct hf_redis_node *node, enum hf_standing standing,
                         bool forgot, enum hf_status fault, const char *reason)
{
    bool is_same = node->standing == standing && node->fault == fault &&
                   strcmp(node->reason, reason) == 0;
    node->standing = standing;
    node->fault = fault;
    if (reason != node->reason) {
        snprintf(node->reason, sizeof(node->reason), "%s", reason);
    }
    if (!is_same || forgot) {
        node->store->env.standing(node->store->env.client, node->index,
                                  standing, forgot, fault, node->reason);
    }
}

/* ---- Timer ------------------------------------------------------------- */

/* Silent since then, though something is owed. Not "unanswered since": behind
 * 10,000 renewals in one write a request waits long at a server that is well,
 * and answers all the while. */
static struct hf_instant hangs_at(const struct hf_redis_node *node,
                                  const struct hf_pending *oldest)
{
    struct hf_instant since = hf_instant_max(oldest->sent, node->last_io);
    return hf_instant_add(since, hang_span(node));
}

void hf_redis_node_arm(struct hf_redis_node *node)
{
    struct hf_instant at = HF_NEVER;
    switch (node->phase) {
    case HF_REDIS_WAITING:
        at = node->retry_at;
        break;
    case HF_REDIS_CONNECTING:
        at = hf_instant_min(node->deadline, node->socket.give_up);
        break;
    case HF_REDIS_GREETING:
    case HF_REDIS_MARKING:
    case HF_REDIS_SURVEYING:
        at = node->deadline;
        break;
    case HF_REDIS_READY:
        if (node->standing == HF_STANDING_REPAIRING) {
            at = hf_instant_min(node->quarantined_until, node->peek_at);
        }
        break;
    }
    const struct hf_pending *oldest = hf_wire_oldest(&node->wire);
    if (node->phase == HF_REDIS_READY && oldest != NULL) {
        at = hf_instant_min(at, hangs_at(node, oldest));
    }
    hf_timer_set(&node->timer, node->is_doomed ? HF_LONG_AGO : at);
}

void hf_redis_node_doom(struct hf_redis_node *node, const char *reason)
{
    if (node->is_doomed) {
        return;
    }
    node->is_doomed = true;
    if (reason != node->socket.reason) {
        snprintf(node->socket.reason, sizeof(node->socket.reason), "%s",
                 reason);
    }
    hf_redis_node_arm(node);
}

/* ---- Losing ------------------------------------------------------------ */

/* Full jitter on the upper half, so that a fleet does not knock at once. */
struct hf_span hf_redis_back_off(struct hf_redis *store, unsigned failures)
{
    int64_t ms = RETRY_FIRST_MS;
    for (unsigned i = 1; i < failures && ms < RETRY_MOST_MS; i++) {
        ms *= 2;
    }
    ms = ms > RETRY_MOST_MS ? RETRY_MOST_MS : ms;
    uint64_t *seed = &store->seed;
    *seed =
        *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return hf_span_ms(ms / 2 + (int64_t)((*seed >> 33) % (uint64_t)(ms / 2)));
}

/* Everything unanswered is unknown, but what never left is certainly unsent.
 * Nothing is queued meanwhile: the node is not READY. */
static void answer_pending(struct hf_redis_node *node, const char *reason)
{
    struct hf_wire *wire = &node->wire;
    const struct hf_pending *oldest;
    while ((oldest = hf_wire_oldest(wire)) != NULL) {
        struct hf_pending pending = *oldest;
        bool is_unsent = wire->begin >= wire->sent;
        hf_wire_pop(wire);
        if (pending.verb <= HF_VERB_SCAN) {
            hf_redis_answer_none(node, &pending,
                                 is_unsent ? HF_VERDICT_UNSENT
                                           : HF_VERDICT_UNKNOWN,
                                 HF_UNAVAILABLE, reason);
        }
    }
    hf_wire_reset(wire);
}

/* A connection that served is replaced at once, but not one after another:
 * somebody may be cutting each as soon as it is made. */
static bool may_be_quick(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_span least = hf_span_ms(RETRY_QUICK_MS);
    if (!node->was_ready) {
        return false;
    }
    if (!hf_instant_before(now, hf_instant_add(node->ready_at, least))) {
        node->failures = 0;
    }
    if (hf_instant_before(now, hf_instant_add(node->quick_at, least))) {
        return false;
    }
    node->quick_at = now;
    return true;
}

void hf_redis_node_lost(struct hf_redis_node *node, enum hf_status fault,
                        const char *reason, struct hf_instant now)
{
    char why[sizeof(node->reason)];
    if (node->greet_fault != HF_OK) { /* said before the end, or its cause */
        fault = node->greet_fault;
        reason = node->greet_reason;
    }
    snprintf(why, sizeof(why), "%s", reason);
    bool is_first_try = may_be_quick(node, now);
    node->phase = HF_REDIS_WAITING;
    node->is_doomed = false;
    node->was_ready = false;
    node->is_declared = false;
    node->greet_fault = HF_OK;
    node->examination.is_under_way = false;
    node->examination.awaits_push = false;
    node->survey.is_under_way = false;
    hf_socket_close(&node->socket, false);
    hf_redis_listen_cut(node);
    if (is_first_try) {
        node->retry_at = now;
        hf_redis_node_stand(node, HF_STANDING_CONNECTING, false, HF_UNAVAILABLE,
                            why);
    } else {
        node->failures++;
        node->retry_at =
            hf_instant_add(now, hf_redis_back_off(node->store, node->failures));
        hf_redis_node_stand(node, HF_STANDING_DOWN, false, fault, why);
        hf_redis_jobs_end(node, fault, why);
    }
    answer_pending(node, why);
    if (is_first_try) {
        connect_now(node, now);
    }
    hf_redis_node_arm(node);
}

/* ---- Connecting -------------------------------------------------------- */

static void look_at_socket(struct hf_redis_node *node, struct hf_instant now)
{
    if (node->socket.state == HF_SOCKET_FAILED) {
        hf_redis_node_lost(node, HF_UNAVAILABLE, node->socket.reason, now);
    } else if (node->socket.state == HF_SOCKET_OPEN &&
               node->phase == HF_REDIS_CONNECTING) {
        node->last_io = now;
        hf_redis_greet(node, true, now);
    }
}

static void connect_now(struct hf_redis_node *node, struct hf_instant now)
{
    HF_ASSERT(node->phase == HF_REDIS_WAITING);
    node->phase = HF_REDIS_CONNECTING;
    node->deadline = hf_instant_add(now, node->store->connect_timeout);
    node->has_heard = false;
    hf_wire_reset(&node->wire);
    if (!hf_reply_reset(&node->reply)) {
        hf_redis_node_lost(node, HF_UNAVAILABLE, "out of memory", now);
        return;
    }
    struct hf_socket_target target = {
        .is_unix = node->endpoint->is_unix,
        .host = node->endpoint->host,
        .port = node->endpoint->port,
        .tls = node->endpoint->is_tls ? node->store->tls : NULL,
    };
    hf_socket_start(&node->socket, &target, node->store->connect_timeout, now);
    look_at_socket(node, now);
    hf_redis_node_arm(node);
}

/* ---- Reading and writing ------------------------------------------------ */

static void measure(struct hf_redis_node *node,
                    const struct hf_pending *pending, struct hf_instant now)
{
    struct hf_span took = hf_instant_until(pending->sent, now);
    node->rtt.ns = node->rtt.ns == 0
                       ? took.ns
                       : node->rtt.ns + (took.ns - node->rtt.ns) / 8;
}

static void take_reply(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_pending *oldest = hf_wire_asked(&node->wire);
    if (oldest == NULL) {
        char why[160];
        hf_redis_fault(hf_reply_text(&node->reply, 0), why, sizeof(why));
        hf_redis_node_doom(node, why[0] != '\0' ? why : "spoke unasked");
        return;
    }
    struct hf_pending pending = *oldest;
    measure(node, &pending, now);
    if (pending.script != NULL && !pending.has_text &&
        strncmp(hf_reply_text(&node->reply, 0), "NOSCRIPT", 8) == 0 &&
        hf_wire_resend(&node->wire, HF_VERB_RELEASE)) {
        return;
    }
    hf_wire_pop(&node->wire);
    if (pending.verb <= HF_VERB_SCAN) {
        hf_redis_answer(node, &pending, now);
    } else if (pending.verb < HF_REDIS_MAXMEMORY) {
        hf_redis_greeted(node, &pending, now);
    } else if (pending.verb < HF_REDIS_SURVEY_SCAN) {
        hf_redis_examined(node, &pending, now);
    } else {
        hf_redis_surveyed(node, &pending, now);
    }
}

/* Take the replies that are whole. Answers may make the client ask again, so
 * the connection may be doomed, but is never torn down, meanwhile. */
static void take_replies(struct hf_redis_node *node, struct hf_instant now)
{
    int found = 0;
    while (!node->is_doomed && (found = hf_reply_next(&node->reply)) > 0) {
        take_reply(node, now);
    }
    if (found < 0) {
        hf_redis_node_doom(node, hf_reply_fault(&node->reply));
    }
}

/* The socket has failed. A TLS port closes a plain connection at its first
 * bytes; its alert may not arrive, since it resets what it has not read. */
static void doom_with_socket(struct hf_redis_node *node)
{
    if (node->has_heard || node->socket.tls != NULL) {
        hf_redis_node_doom(node, node->socket.reason);
    } else {
        hf_redis_node_doom(node,
                           node->endpoint->is_unix
                               ? "closed the connection without an answer"
                               : "closed the connection without an answer (a "
                                 "TLS port? use rediss://)");
    }
}

static void read_all(struct hf_redis_node *node, struct hf_instant now)
{
    char data[READ_BYTES];
    bool is_more = true;
    while (is_more && !node->is_doomed) {
        ssize_t n = hf_socket_read(&node->socket, data, sizeof(data));
        if (n <= 0) {
            if (n < 0) {
                doom_with_socket(node);
            }
            return;
        }
        node->has_heard = true;
        size_t before = node->reply.fed;
        if (!hf_reply_feed(&node->reply, data, (size_t)n)) {
            hf_redis_node_doom(node, "out of memory");
            return;
        }
        /* A short read has emptied the socket; only if its end was seen too
         * must it be read to that end. Under TLS it says nothing. */
        is_more = (size_t)n == sizeof(data) || node->socket.is_ended ||
                  node->socket.tls != NULL;
        take_replies(node, now);
        if (hf_reply_has_grown(&node->reply, before, (size_t)n)) {
            node->last_io = now;
        }
    }
}

void hf_redis_node_flush(struct hf_redis_node *node, struct hf_instant now)
{
    const char *data;
    size_t len;
    (void)now;
    while (!node->is_doomed && node->socket.state == HF_SOCKET_OPEN &&
           (len = hf_wire_unsent(&node->wire, &data)) > 0) {
        ssize_t n = hf_socket_write(&node->socket, data, len);
        if (n < 0) {
            doom_with_socket(node);
            return;
        }
        if (n == 0) {
            return;
        }
        hf_wire_wrote(&node->wire, (size_t)n);
    }
}

static void on_socket(struct hf_socket *socket, struct hf_instant now)
{
    struct hf_redis_node *node = (struct hf_redis_node *)(void *)socket;
    look_at_socket(node, now);
    if (node->socket.state == HF_SOCKET_OPEN) {
        read_all(node, now);
        hf_redis_node_flush(node, now);
    }
    if (node->is_doomed) {
        char why[sizeof(node->socket.reason)];
        memcpy(why, node->socket.reason, sizeof(why));
        hf_redis_node_lost(node, HF_UNAVAILABLE, why, now);
        return;
    }
    if (node->phase != HF_REDIS_READY) {
        hf_redis_node_arm(node);
    }
}

/* ---- Time -------------------------------------------------------------- */

void hf_redis_late_text(const struct hf_redis_node *node, struct hf_instant now,
                        char *out, size_t size)
{
    struct hf_span left =
        hf_span_max(hf_instant_until(now, node->deadline), (struct hf_span){0});
    long long ms = (long long)hf_span_ms_floor(
        (struct hf_span){node->store->connect_timeout.ns - left.ns});
    if (ms <= 0) {
        snprintf(out, size, "no connection yet");
    } else if (node->socket.state == HF_SOCKET_SECURING) {
        snprintf(out, size,
                 "no answer to the TLS handshake within %lld ms (a plain port? "
                 "use redis://)",
                 ms);
    } else if (node->phase == HF_REDIS_CONNECTING) {
        snprintf(out, size, "no connection within %lld ms", ms);
    } else {
        snprintf(out, size,
                 "accepted the connection, but did not answer within %lld ms",
                 ms);
    }
}

static void on_late(struct hf_redis_node *node, struct hf_instant now)
{
    char why[120];
    hf_redis_late_text(node, now, why, sizeof(why));
    hf_redis_node_lost(node, HF_UNAVAILABLE, why, now);
}

static void check_hang(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_pending *oldest = hf_wire_oldest(&node->wire);
    if (oldest == NULL || hf_instant_before(now, hangs_at(node, oldest))) {
        return;
    }
    char why[80];
    snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
             (long long)hf_span_ms_floor(hang_span(node)));
    hf_redis_node_lost(node, HF_UNAVAILABLE, why, now);
}

static void check_connecting(struct hf_redis_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, node->socket.give_up)) {
        return;
    }
    if (node->socket.state == HF_SOCKET_SECURING) {
        on_late(node, now);
    } else {
        hf_socket_expire(&node->socket, now);
        look_at_socket(node, now);
    }
}

static void check_quarantine(struct hf_redis_node *node, struct hf_instant now)
{
    if (node->standing != HF_STANDING_REPAIRING) {
        return;
    }
    if (!hf_instant_before(now, node->quarantined_until)) {
        hf_redis_greet(node, false, now); /* it is judged, and may be whole */
    } else if (!hf_instant_before(now, node->peek_at)) {
        hf_redis_peek(node, now);
    }
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_redis_node *node =
        (struct hf_redis_node *)(void *)((char *)timer -
                                         offsetof(struct hf_redis_node, timer));
    bool is_early = hf_instant_before(now, node->deadline);
    if (node->is_doomed) {
        char why[sizeof(node->socket.reason)];
        memcpy(why, node->socket.reason, sizeof(why));
        hf_redis_node_lost(node, HF_UNAVAILABLE, why, now);
    } else if (node->phase == HF_REDIS_WAITING) {
        if (!hf_instant_before(now, node->retry_at)) {
            connect_now(node, now);
        }
    } else if (node->phase != HF_REDIS_READY && !is_early) {
        on_late(node, now);
    } else if (node->phase == HF_REDIS_CONNECTING) {
        check_connecting(node, now);
    } else if (node->phase == HF_REDIS_READY) {
        check_quarantine(node, now);
        check_hang(node, now);
    }
    hf_redis_node_arm(node);
}

/* Nothing ran the timers for a while. An answer to the greeting may have come
 * in time and lies unread, or not: the server is asked again, as it is now. */
void hf_redis_node_resume(struct hf_redis_node *node, struct hf_instant now)
{
    if (node->phase == HF_REDIS_READY ||
        hf_instant_before(now, node->timer.at)) {
        return;
    }
    if (node->phase != HF_REDIS_WAITING) {
        hf_redis_node_lost(node, node->fault, node->reason, now);
    }
    if (node->phase == HF_REDIS_WAITING) { /* else it is on its way already */
        hf_redis_node_stand(node, HF_STANDING_CONNECTING, false, node->fault,
                            node->reason);
        connect_now(node, now);
    }
}

/* ---- Life -------------------------------------------------------------- */

void hf_redis_node_open(struct hf_redis_node *node, struct hf_instant now)
{
    hf_socket_init(&node->socket, node->store->env.loop, on_socket);
    node->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    hf_loop_add_timer(node->store->env.loop, &node->timer);
    hf_wire_init(&node->wire);
    node->standing = HF_STANDING_CONNECTING;
    node->fault = HF_UNAVAILABLE;
    snprintf(node->reason, sizeof(node->reason), "connecting");
    node->quick_at = HF_LONG_AGO;
    node->quarantined_until = HF_LONG_AGO;
    node->phase = HF_REDIS_WAITING;
    node->retry_at = now;
    node->last_io = now;
    hf_redis_listen_open(node);
    hf_redis_node_arm(node);
}

void hf_redis_node_close(struct hf_redis_node *node, bool forked)
{
    if (node->store == NULL) {
        return; /* never opened */
    }
    if (!forked) {
        hf_redis_node_flush(node, node->last_io);
    }
    hf_redis_listen_close(node, forked);
    hf_loop_drop_timer(node->store->env.loop, &node->timer);
    hf_socket_close(&node->socket, forked);
    hf_wire_fini(&node->wire);
    hf_reply_fini(&node->reply);
}
