/* SPDX-License-Identifier: Apache-2.0 */
/* ONE SERVER, AND THE LOSS OF ITS CONNECTION (node.h has the phases)
 *
 * lose() is the only way back to WAITING. It reports the status before it
 * answers the pending requests, so that no answer leads to a new request here.
 * All of them are UNKNOWN, since libpq does not report which bytes it has sent.
 *
 * Cost: one timer a node. While READY it is armed for the hang alone. */
#include "store/postgres/node.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* A server that owes a reply and sends nothing for this long hangs, or the
 * network drops its packets. The connection is then closed. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

static void connect_now(struct hf_pg_node *node, struct hf_instant now);

static struct hf_pg_node *node_of(struct hf_pg_connection *connection)
{
    return (struct hf_pg_node *)(void *)connection;
}

static struct hf_span hang_span(const struct hf_pg_node *node)
{
    return hf_span_max(hf_span_scale(node->store->node_timeout, HANG_TIMEOUTS),
                       hf_span_ms(HANG_MS_MIN));
}

/* ---- Timer -------------------------------------------------------------- */

static struct hf_instant hangs_at(const struct hf_pg_node *node)
{
    return hf_instant_add(hf_pg_connection_silent_since(&node->connection),
                          hang_span(node));
}

struct hf_instant hf_pg_node_due(const struct hf_pg_node *node)
{
    const struct hf_pg_connection *connection = &node->connection;
    struct hf_instant at = HF_LONG_AGO;
    if (connection->link.is_broken) {
        return at;
    }
    switch (node->phase) {
    case HF_PG_WAITING:
        at = connection->link.reconnect.retry_at;
        break;
    case HF_PG_CONNECTING:
    case HF_PG_GREETING:
    case HF_PG_INSTALLING:
    case HF_PG_MARKING:
        at = connection->link.deadline;
        break;
    case HF_PG_READY:
        at = hf_instant_min(hangs_at(node), hf_pg_listen_due(node));
        if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
            at = hf_instant_min(at, node->admission.quarantined_until);
            at = hf_instant_min(at, node->peek_at);
        }
        break;
    }
    return at;
}

void hf_pg_node_arm(struct hf_pg_node *node)
{
    hf_timer_set(&node->connection.link.timer, hf_pg_node_due(node));
}

/* ---- Losing ------------------------------------------------------------- */

/* Each request was sent, at least in part: libpq keeps no count of its bytes.
 * The callbacks cannot queue new requests: the node is not READY. */
static void answer_pending(struct hf_pg_node *node, enum hf_status fault,
                           const char *reason)
{
    struct hf_pg_pending pending;
    while (hf_pg_connection_pop(&node->connection, &pending)) {
        if (pending.kind <= HF_VERB_SCAN) {
            hf_pg_answer_none(node, &pending, HF_VERDICT_UNKNOWN, fault,
                              reason);
        } else if (pending.kind == HF_PG_RENEW) {
            hf_pg_renew_lost(node, fault, reason);
        }
    }
}

/* Close the connection, report the reason, and reconnect. An error of the
 * handshake goes before `reason`: it is the cause of the end. */
static void lose(struct hf_pg_node *node, enum hf_status fault,
                 const char *reason, struct hf_instant now)
{
    struct hf_pg_connection *connection = &node->connection;
    char why[sizeof(node->standing.reason)];
    bool is_said = node->greet_fault != HF_OK && fault != HF_NO_MEMORY;
    fault = is_said ? node->greet_fault : fault;
    snprintf(why, sizeof(why), "%s", is_said ? node->greet_reason : reason);
    bool is_quick = hf_reconnect_plan(&connection->link.reconnect,
                                      &connection->link.seed, now);
    node->phase = HF_PG_WAITING;
    node->admission.is_declared = false;
    node->has_installed = false;
    node->is_examined = false;
    node->greet_fault = HF_OK;
    hf_pg_connection_shut(connection);
    hf_pg_listen_lost(node);
    if (is_quick) {
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_CONNECTING, false, HF_UNAVAILABLE, why);
    } else {
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_DOWN, false, fault, why);
        hf_jobs_end(&node->jobs, fault, why);
    }
    fault = fault == HF_NO_MEMORY ? fault : HF_UNAVAILABLE;
    answer_pending(node, fault, why);
    hf_pg_renew_unsent(node, fault, why);
    if (is_quick) {
        connect_now(node, now);
    }
    hf_pg_node_arm(node);
}

static void lose_broken(struct hf_pg_node *node, struct hf_instant now)
{
    char why[sizeof(node->connection.link.reason)];
    memcpy(why, node->connection.link.reason, sizeof(why));
    lose(node, node->connection.link.fault, why, now);
}

/* ---- Connecting --------------------------------------------------------- */

static void on_opened(struct hf_pg_connection *connection,
                      struct hf_instant now)
{
    hf_pg_handshake(node_of(connection), now);
}

static void connect_now(struct hf_pg_node *node, struct hf_instant now)
{
    HF_ASSERT(node->phase == HF_PG_WAITING);
    node->phase = HF_PG_CONNECTING;
    hf_pg_connection_start(&node->connection, now);
    if (node->connection.link.is_broken) {
        lose_broken(node, now);
    }
    hf_pg_node_arm(node);
}

/* ---- Requests and replies ----------------------------------------------- */

void hf_pg_node_ask(struct hf_pg_node *node, uint8_t kind, const char *sql,
                    const struct hf_pg_params *params, struct hf_instant now)
{
    struct hf_pg_pending pending = {.sent = now, .kind = kind};
    struct hf_pg_params none;
    hf_pg_params_init(&none);
    if (!hf_pg_connection_ask(&node->connection, &pending, HF_PG_STATEMENTS_MAX,
                              sql, params != NULL ? params : &none)) {
        hf_pg_connection_break(&node->connection, HF_NO_MEMORY,
                               "out of memory");
    }
    hf_pg_connection_flush(&node->connection);
}

static void measure(struct hf_pg_node *node,
                    const struct hf_pg_pending *pending, struct hf_instant now)
{
    node->rtt = hf_span_smooth(node->rtt, hf_instant_until(pending->sent, now));
}

static void on_replied(struct hf_pg_connection *connection,
                       const struct hf_pg_pending *pending,
                       const struct hf_pg_reply *reply, struct hf_instant now)
{
    struct hf_pg_node *node = node_of(connection);
    if (pending->kind <= HF_VERB_SCAN) {
        measure(node, pending, now);
        hf_pg_answer(node, pending, reply, now);
    } else if (pending->kind == HF_PG_RENEW) {
        measure(node, pending, now);
        hf_pg_renewed(node, reply, now);
    } else if (pending->kind < HF_PG_LISTEN) {
        hf_pg_handshake_reply(node, pending, reply, now);
    } else if (pending->kind == HF_PG_SWEEP) {
        hf_pg_swept(node, reply);
    } else if (pending->kind < HF_PG_SURVEY) {
        hf_pg_listen_reply(node, pending, reply, now);
    } else {
        hf_pg_job_reply(node, pending, reply, now);
    }
}

static void on_notified(struct hf_pg_connection *connection,
                        const char *payload)
{
    hf_pg_listen_notified(node_of(connection), payload);
}

/* ---- Time --------------------------------------------------------------- */

static void check_hang(struct hf_pg_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, hangs_at(node))) {
        return;
    }
    char why[80];
    snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
             (long long)hf_span_ms_floor(hang_span(node)));
    hf_pg_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void check_handshake(struct hf_pg_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, node->connection.link.deadline)) {
        return;
    }
    char why[120];
    hf_pg_connection_late_text(&node->connection, now, why, sizeof(why));
    hf_pg_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void check_quarantine(struct hf_pg_node *node, struct hf_instant now)
{
    if (node->standing.status != HF_NODE_STATUS_REPAIRING) {
        return;
    }
    if (!hf_instant_before(now, node->admission.quarantined_until)) {
        hf_pg_handshake(node, now); /* it may vote from now on */
    } else if (!hf_instant_before(now, node->peek_at)) {
        hf_pg_peek(node, now);
    }
}

static void on_timed(struct hf_pg_connection *connection, struct hf_instant now)
{
    struct hf_pg_node *node = node_of(connection);
    switch (node->phase) {
    case HF_PG_WAITING:
        if (!hf_instant_before(now, connection->link.reconnect.retry_at)) {
            connect_now(node, now);
        }
        break;
    case HF_PG_CONNECTING: /* connection.c checks this deadline */
        break;
    case HF_PG_GREETING:
    case HF_PG_INSTALLING:
    case HF_PG_MARKING:
        check_handshake(node, now);
        break;
    case HF_PG_READY:
        hf_pg_listen_timed(node, now);
        check_quarantine(node, now);
        check_hang(node, now);
        break;
    }
}

static void on_settled(struct hf_pg_connection *connection,
                       struct hf_instant now)
{
    struct hf_pg_node *node = node_of(connection);
    hf_pg_renew_flush(node, now);
    hf_pg_connection_flush(connection);
    if (connection->link.is_broken) {
        lose_broken(node, now);
    }
    hf_pg_node_arm(node);
}

static void on_check(const struct hf_pg_connection *connection)
{
    hf_pg_node_check((const struct hf_pg_node *)(const void *)connection);
}

/* No timer ran for a while: replies of the handshake may be unread. Reconnect,
 * and begin the handshake anew. */
void hf_pg_node_resume(struct hf_pg_node *node, struct hf_instant now)
{
    if (node->phase == HF_PG_READY ||
        hf_instant_before(now, node->connection.link.timer.at)) {
        return;
    }
    hf_pg_node_check(node);
    if (node->phase != HF_PG_WAITING) {
        const char *reason;
        enum hf_status fault = hf_standing_cause(&node->standing, &reason);
        lose(node, fault, reason, now);
    }
    if (node->phase == HF_PG_WAITING) { /* else lose() has reconnected */
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_CONNECTING, false, node->standing.fault,
                        node->standing.reason);
        connect_now(node, now);
    }
    hf_pg_node_check(node);
}

/* ---- Life --------------------------------------------------------------- */

void hf_pg_node_open(struct hf_pg_node *node, struct hf_instant now)
{
    static const struct hf_pg_connection_events events = {
        on_opened, on_replied, on_notified, on_timed, on_settled, on_check};
    struct hf_pg *store = node->store;
    hf_pg_connection_init(&node->connection, &events, &store->env,
                          &store->target, store->connect_timeout);
    hf_standing_init(&node->standing);
    hf_admission_init(&node->admission, &node->store->shape, node->store->host,
                      node->store->strict);
    node->wanted_at = HF_LONG_AGO;
    node->phase = HF_PG_WAITING;
    node->connection.link.reconnect.retry_at = now;
    node->acquires = node->connection.link.seed >> 1; /* cannot overflow */
    hf_pg_node_arm(node);
}

void hf_pg_node_close(struct hf_pg_node *node, bool forked)
{
    if (!forked) {
        hf_pg_connection_flush(&node->connection);
    }
    hf_pg_connection_fini(&node->connection, forked);
    hf_pg_renew_fini(node);
}
