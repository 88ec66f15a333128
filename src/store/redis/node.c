/* SPDX-License-Identifier: Apache-2.0 */
/* ONE SERVER, AND THE LOSS OF ITS CONNECTION (node.h has the phases)
 *
 * lose() is the only way back to WAITING, from every phase. It reports the
 * status before it answers the pending requests, so that no answer leads to a
 * new request here. A request is UNSENT only if none of its bytes was written;
 * otherwise it may be executed, also later, and is UNKNOWN.
 *
 * A node that hangs is lost like one that broke. Silence counts, not the age of
 * a request, so a slow server that sends is kept.
 *
 * Cost: one timer a node; while READY it is armed for the hang alone, and in
 * quarantine for its end. */
#include "store/redis/node.h"

#include "base/assert.h"
#include "store/redis/fault.h"

#include <stdio.h>
#include <string.h>

/* A server that owes a reply and sends nothing for this long hangs, or the
 * network drops its packets. The node then breaks the connection, so that its
 * queue of requests does not grow. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

static void connect_now(struct hf_redis_node *node, struct hf_instant now);

static struct hf_redis_node *node_of(struct hf_redis_connection *connection)
{
    return (struct hf_redis_node *)(void *)connection;
}

static struct hf_span hang_span(const struct hf_redis_node *node)
{
    return hf_span_max(hf_span_scale(node->store->node_timeout, HANG_TIMEOUTS),
                       hf_span_ms(HANG_MS_MIN));
}

/* ---- Timer ------------------------------------------------------------- */

static struct hf_instant hangs_at(const struct hf_redis_node *node)
{
    return hf_instant_add(hf_redis_connection_silent_since(&node->connection),
                          hang_span(node));
}

struct hf_instant hf_redis_node_due(const struct hf_redis_node *node)
{
    const struct hf_redis_connection *connection = &node->connection;
    struct hf_instant at = HF_LONG_AGO;
    if (connection->is_broken) {
        return at;
    }
    switch (node->phase) {
    case HF_REDIS_WAITING:
    case HF_REDIS_CONNECTING:
        at = hf_redis_connection_due(connection);
        break;
    case HF_REDIS_GREETING:
    case HF_REDIS_MARKING:
    case HF_REDIS_SURVEYING:
        at = connection->deadline;
        break;
    case HF_REDIS_READY:
        at = hangs_at(node);
        if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
            at = hf_instant_min(at, node->admission.quarantined_until);
            at = hf_instant_min(at, node->peek_at);
        }
        break;
    }
    return at;
}

void hf_redis_node_arm(struct hf_redis_node *node)
{
    hf_timer_set(&node->connection.timer, hf_redis_node_due(node));
}

/* ---- Losing ------------------------------------------------------------ */

/* Answer all pending requests: UNSENT if no byte of it was written, else
 * UNKNOWN. The callbacks cannot queue new requests: the node is not READY. */
static void answer_pending(struct hf_redis_node *node, enum hf_status fault,
                           const char *reason)
{
    struct hf_redis_wire *wire = &node->connection.wire;
    const struct hf_pending *oldest;
    while ((oldest = hf_redis_wire_oldest(wire)) != NULL) {
        struct hf_pending pending = *oldest;
        bool is_unsent = wire->begin >= wire->sent;
        hf_redis_wire_pop(wire);
        if (pending.verb <= HF_VERB_SCAN) {
            hf_redis_answer_none(node, &pending,
                                 is_unsent ? HF_VERDICT_UNSENT
                                           : HF_VERDICT_UNKNOWN,
                                 fault, reason);
        }
    }
    hf_redis_wire_reset(wire);
    hf_redis_wire_wipe(wire);
}

/* Close the connection, report the reason, and reconnect. An error of the
 * handshake goes before `reason`: it is the cause of the end. */
static void lose(struct hf_redis_node *node, enum hf_status fault,
                 const char *reason, struct hf_instant now)
{
    struct hf_redis_connection *connection = &node->connection;
    char why[sizeof(node->standing.reason)];
    HF_ASSERT(node->phase != HF_REDIS_WAITING);
    bool is_said = node->greet_fault != HF_OK && fault != HF_NO_MEMORY;
    fault = is_said ? node->greet_fault : fault;
    snprintf(why, sizeof(why), "%s", is_said ? node->greet_reason : reason);
    bool is_quick =
        hf_reconnect_plan(&connection->reconnect, &node->store->seed, now);
    node->phase = HF_REDIS_WAITING;
    node->admission.is_declared = false;
    node->greet_fault = HF_OK;
    node->examination.is_under_way = false;
    node->examination.awaits_push = false;
    node->survey.is_under_way = false;
    hf_redis_connection_shut(connection);
    hf_redis_listen_cut(node);
    if (is_quick) {
        hf_standing_set(&node->standing, &node->store->env, node->index,
                        HF_NODE_STATUS_CONNECTING, false, HF_UNAVAILABLE, why);
    } else {
        hf_standing_set(&node->standing, &node->store->env, node->index,
                        HF_NODE_STATUS_DOWN, false, fault, why);
        hf_jobs_finish(&node->jobs, fault, why);
    }
    answer_pending(node, fault == HF_NO_MEMORY ? fault : HF_UNAVAILABLE, why);
    if (is_quick) {
        connect_now(node, now);
    }
    hf_redis_node_arm(node);
}

static void lose_broken(struct hf_redis_node *node, struct hf_instant now)
{
    char why[sizeof(node->connection.reason)];
    HF_ASSERT(node->connection.is_broken);
    memcpy(why, node->connection.reason, sizeof(why));
    lose(node, node->connection.fault, why, now);
}

/* ---- Connecting -------------------------------------------------------- */

static void on_opened(struct hf_redis_connection *connection,
                      struct hf_instant now)
{
    hf_redis_handshake(node_of(connection), true, now);
}

static void connect_now(struct hf_redis_node *node, struct hf_instant now)
{
    HF_ASSERT(node->phase == HF_REDIS_WAITING);
    node->phase = HF_REDIS_CONNECTING;
    hf_redis_connection_start(&node->connection, now);
    if (node->connection.is_broken) {
        lose_broken(node, now);
    }
    hf_redis_node_arm(node);
}

/* ---- Replies ----------------------------------------------------------- */

static void measure(struct hf_redis_node *node,
                    const struct hf_pending *pending, struct hf_instant now)
{
    struct hf_span took = hf_instant_until(pending->sent, now);
    node->rtt = hf_span_smooth(node->rtt, took);
}

static void on_replied(struct hf_redis_connection *connection,
                       struct hf_instant now)
{
    struct hf_redis_node *node = node_of(connection);
    const char *text = hf_reply_text(&connection->reply, 0);
    const struct hf_pending *oldest = hf_redis_wire_asked(&connection->wire);
    if (oldest == NULL) {
        char why[HF_TEXT_SENTENCE];
        hf_redis_fault(text, why, sizeof(why));
        hf_redis_connection_break(connection,
                                  why[0] != '\0' ? why : "spoke unasked");
        return;
    }
    struct hf_pending pending = *oldest;
    measure(node, &pending, now);
    if (pending.script != NULL && !pending.has_text &&
        strncmp(text, "NOSCRIPT", 8) == 0 &&
        hf_redis_wire_may_resend(&connection->wire, HF_VERB_RELEASE)) {
        if (!hf_redis_wire_resend(&connection->wire)) {
            hf_redis_connection_starve(connection);
        }
        return;
    }
    hf_redis_wire_pop(&connection->wire);
    if (pending.verb <= HF_VERB_SCAN) {
        hf_redis_answer(node, &pending, now);
    } else if (pending.verb < HF_REDIS_MAXMEMORY) {
        hf_redis_handshake_reply(node, &pending, now);
    } else if (pending.verb < HF_REDIS_SURVEY_SCAN) {
        hf_redis_examined(node, &pending, now);
    } else {
        hf_redis_surveyed(node, &pending, now);
    }
}

/* ---- Time -------------------------------------------------------------- */

static void check_hang(struct hf_redis_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, hangs_at(node))) {
        return;
    }
    char why[HF_TEXT_PHRASE];
    snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
             (long long)hf_span_ms_floor(hang_span(node)));
    hf_redis_connection_break(&node->connection, why);
}

static void check_handshake(struct hf_redis_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, node->connection.deadline)) {
        return;
    }
    char why[HF_TEXT_CLAUSE];
    hf_redis_connection_late_text(&node->connection, now, why, sizeof(why));
    hf_redis_connection_break(&node->connection, why);
}

static void check_quarantine(struct hf_redis_node *node, struct hf_instant now)
{
    if (node->standing.status != HF_NODE_STATUS_REPAIRING) {
        return;
    }
    if (!hf_instant_before(now, node->admission.quarantined_until)) {
        hf_redis_handshake(node, false, now); /* it may vote from now on */
    } else if (!hf_instant_before(now, node->peek_at)) {
        hf_redis_peek(node, now);
        hf_redis_connection_flush(&node->connection);
    }
}

static void on_timed(struct hf_redis_connection *connection,
                     struct hf_instant now)
{
    struct hf_redis_node *node = node_of(connection);
    switch (node->phase) {
    case HF_REDIS_WAITING:
        if (!hf_instant_before(now, connection->reconnect.retry_at)) {
            connect_now(node, now);
        }
        break;
    case HF_REDIS_CONNECTING: /* connection.c checks this deadline */
        break;
    case HF_REDIS_GREETING:
    case HF_REDIS_MARKING:
    case HF_REDIS_SURVEYING:
        check_handshake(node, now);
        break;
    case HF_REDIS_READY:
        check_quarantine(node, now);
        check_hang(node, now);
        break;
    }
}

static void on_settled(struct hf_redis_connection *connection,
                       struct hf_instant now)
{
    struct hf_redis_node *node = node_of(connection);
    if (connection->is_broken) {
        lose_broken(node, now);
    }
    hf_redis_node_arm(node);
}

static void on_check(const struct hf_redis_connection *connection)
{
    hf_redis_node_check((const struct hf_redis_node *)(const void *)connection);
}

/* No timer ran for a while. Replies of the handshake may be unread, and may
 * have come in time or not: reconnect, and begin the handshake anew. */
void hf_redis_node_resume(struct hf_redis_node *node, struct hf_instant now)
{
    if (node->phase == HF_REDIS_READY ||
        hf_instant_before(now, node->connection.timer.at)) {
        return;
    }
    hf_redis_node_check(node);
    if (node->phase != HF_REDIS_WAITING) {
        const char *reason;
        enum hf_status fault = hf_standing_cause(&node->standing, &reason);
        lose(node, fault, reason, now);
    }
    if (node->phase == HF_REDIS_WAITING) { /* else lose() has reconnected */
        hf_standing_set(&node->standing, &node->store->env, node->index,
                        HF_NODE_STATUS_CONNECTING, false, node->standing.fault,
                        node->standing.reason);
        connect_now(node, now);
    }
    hf_redis_node_check(node);
}

/* ---- Life -------------------------------------------------------------- */

void hf_redis_node_open(struct hf_redis_node *node, struct hf_instant now)
{
    static const struct hf_redis_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    const struct hf_redis *store = node->store;
    hf_redis_connection_init(&node->connection, &events, store->env.loop,
                             node->endpoint, store->tls,
                             store->connect_timeout);
    hf_standing_init(&node->standing);
    hf_admission_init(&node->admission, &node->store->shape, node->store->host,
                      node->store->strict);
    node->phase = HF_REDIS_WAITING;
    node->connection.reconnect.retry_at = now;
    hf_redis_listen_open(node);
    hf_redis_node_arm(node);
}

void hf_redis_node_close(struct hf_redis_node *node, bool is_forked)
{
    if (node->store == NULL) {
        return; /* never opened */
    }
    if (!is_forked) {
        hf_redis_connection_flush(&node->connection);
    }
    hf_redis_listen_close(node, is_forked);
    hf_redis_connection_fini(&node->connection, is_forked);
}
