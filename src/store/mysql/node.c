/* SPDX-License-Identifier: Apache-2.0 */
/* ONE SERVER, AND THE LOSS OF ITS CONNECTION (node.h has the phases)
 *
 * lose() is the only way back to WAITING. It reports the status before it
 * answers the queue, so that no answer leads to a new request here. Requests
 * under way are UNKNOWN, the rest UNSENT.
 *
 * Cost: one timer a node. While READY it is armed for the hang alone. */
#include "store/mysql/node.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* A server that owes a reply and sends nothing for this long hangs, or the
 * network drops its packets. The connection is then closed. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

static void connect_now(struct hf_my_node *node, struct hf_instant now);

static struct hf_my_node *node_of(struct hf_mysql_connection *connection)
{
    return (struct hf_my_node *)(void *)connection;
}

static struct hf_span hang_span(const struct hf_my_node *node)
{
    return hf_span_max(hf_span_scale(node->store->node_timeout, HANG_TIMEOUTS),
                       hf_span_ms(HANG_MS_MIN));
}

/* ---- Timer -------------------------------------------------------------- */

static struct hf_instant hangs_at(const struct hf_my_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    return hf_mysql_connection_is_busy(connection)
               ? hf_instant_add(hf_instant_max(connection->sent_at,
                                               connection->link.heard_at),
                                hang_span(node))
               : HF_NEVER;
}

struct hf_instant hf_my_node_due(const struct hf_my_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    struct hf_instant at = HF_LONG_AGO;
    if (connection->link.is_broken) {
        return at;
    }
    switch (node->phase) {
    case HF_MY_WAITING:
        at = connection->link.reconnect.retry_at;
        break;
    case HF_MY_CONNECTING:
    case HF_MY_GREETING:
    case HF_MY_INSTALLING:
    case HF_MY_MARKING:
        at = connection->link.deadline;
        break;
    case HF_MY_READY:
        at = hangs_at(node);
        if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
            at = hf_instant_min(at, node->admission.quarantined_until);
            at = hf_instant_min(at, node->peek_at);
        }
        break;
    }
    return at;
}

void hf_my_node_arm(struct hf_my_node *node)
{
    hf_timer_set(&node->connection.link.timer, hf_my_node_due(node));
}

/* ---- Losing ------------------------------------------------------------- */

/* The callbacks cannot queue new requests: the node is not READY. */
static void answer_queue(struct hf_my_node *node, enum hf_status fault,
                         const char *reason, struct hf_instant now)
{
    struct hf_my_request *request;
    size_t n_sent = node->n_batch;
    node->n_batch = node->n_ended = 0;
    for (; (request = hf_my_pop(node)) != NULL; n_sent -= n_sent > 0) {
        if (n_sent == 0) {
            request->sent = now;
        }
        if (request->kind <= HF_VERB_SCAN) {
            hf_my_answer_none(node, request,
                              n_sent > 0 ? HF_VERDICT_UNKNOWN
                                         : HF_VERDICT_UNSENT,
                              fault, reason);
        }
        hf_my_request_free(request);
    }
}

/* Close the connection, report the reason, and reconnect. An error of the
 * handshake goes before `reason`: it is the cause of the end. */
static void lose(struct hf_my_node *node, enum hf_status fault,
                 const char *reason, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &node->connection;
    char why[sizeof(node->standing.reason)];
    bool is_said = node->greet_fault != HF_OK && fault != HF_NO_MEMORY;
    fault = is_said ? node->greet_fault : fault;
    snprintf(why, sizeof(why), "%s", is_said ? node->greet_reason : reason);
    bool is_quick = hf_reconnect_plan(&connection->link.reconnect,
                                      &connection->link.seed, now);
    node->phase = HF_MY_WAITING;
    node->admission.is_declared = false;
    node->has_installed = false;
    node->is_examined = false;
    node->greet_fault = HF_OK;
    hf_mysql_connection_shut(connection);
    if (is_quick) {
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_CONNECTING, false, HF_UNAVAILABLE, why);
    } else {
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_DOWN, false, fault, why);
        hf_jobs_end(&node->jobs, fault, why);
    }
    answer_queue(node, fault == HF_NO_MEMORY ? fault : HF_UNAVAILABLE, why,
                 now);
    if (is_quick) {
        connect_now(node, now);
    }
    hf_my_node_arm(node);
}

static void lose_broken(struct hf_my_node *node, struct hf_instant now)
{
    char why[sizeof(node->connection.link.reason)];
    memcpy(why, node->connection.link.reason, sizeof(why));
    lose(node, node->connection.link.fault, why, now);
}

/* ---- Connecting --------------------------------------------------------- */

static void on_opened(struct hf_mysql_connection *connection,
                      struct hf_instant now)
{
    hf_my_handshake(node_of(connection), now);
}

static void connect_now(struct hf_my_node *node, struct hf_instant now)
{
    HF_ASSERT(node->phase == HF_MY_WAITING);
    node->phase = HF_MY_CONNECTING;
    hf_mysql_connection_start(&node->connection, now);
    if (node->connection.link.is_broken) {
        lose_broken(node, now);
    }
    hf_my_node_arm(node);
}

static void on_replied(struct hf_mysql_connection *connection,
                       const struct hf_mysql_reply *reply,
                       struct hf_instant now)
{
    hf_my_take(node_of(connection), reply, now);
}

/* ---- Time --------------------------------------------------------------- */

static void check_hang(struct hf_my_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, hangs_at(node))) {
        return;
    }
    char why[80];
    snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
             (long long)hf_span_ms_floor(hang_span(node)));
    hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void check_handshake(struct hf_my_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, node->connection.link.deadline)) {
        return;
    }
    char why[120];
    hf_mysql_connection_late_text(&node->connection, now, why, sizeof(why));
    hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void check_quarantine(struct hf_my_node *node, struct hf_instant now)
{
    if (node->standing.status != HF_NODE_STATUS_REPAIRING) {
        return;
    }
    if (!hf_instant_before(now, node->admission.quarantined_until)) {
        hf_my_handshake(node, now); /* it may vote from now on */
    } else if (!hf_instant_before(now, node->peek_at)) {
        hf_my_peek(node, now);
    }
}

static void on_timed(struct hf_mysql_connection *connection,
                     struct hf_instant now)
{
    struct hf_my_node *node = node_of(connection);
    switch (node->phase) {
    case HF_MY_WAITING:
        if (!hf_instant_before(now, connection->link.reconnect.retry_at)) {
            connect_now(node, now);
        }
        break;
    case HF_MY_CONNECTING: /* connection.c checks this deadline */
        break;
    case HF_MY_GREETING:
    case HF_MY_INSTALLING:
    case HF_MY_MARKING:
        check_handshake(node, now);
        break;
    case HF_MY_READY:
        check_quarantine(node, now);
        check_hang(node, now);
        break;
    }
}

static void on_settled(struct hf_mysql_connection *connection,
                       struct hf_instant now)
{
    struct hf_my_node *node = node_of(connection);
    hf_my_flush(node, now);
    if (connection->link.is_broken) {
        lose_broken(node, now);
    }
    hf_my_node_arm(node);
}

static void on_check(const struct hf_mysql_connection *connection)
{
    hf_my_node_check((const struct hf_my_node *)(const void *)connection);
}

/* No timer ran for a while: replies of the handshake may be unread. Reconnect,
 * and begin the handshake anew. */
void hf_my_node_resume(struct hf_my_node *node, struct hf_instant now)
{
    if (node->phase == HF_MY_READY ||
        hf_instant_before(now, node->connection.link.timer.at)) {
        return;
    }
    hf_my_node_check(node);
    if (node->phase != HF_MY_WAITING) {
        const char *reason;
        enum hf_status fault = hf_standing_cause(&node->standing, &reason);
        lose(node, fault, reason, now);
    }
    if (node->phase == HF_MY_WAITING) { /* else lose() has reconnected */
        hf_standing_set(&node->standing, &node->store->env, 0,
                        HF_NODE_STATUS_CONNECTING, false, node->standing.fault,
                        node->standing.reason);
        connect_now(node, now);
    }
    hf_my_node_check(node);
}

/* ---- Life --------------------------------------------------------------- */

void hf_my_node_open(struct hf_my_node *node, struct hf_instant now)
{
    static const struct hf_mysql_connection_events events = {
        on_opened, on_replied, on_timed, on_settled, on_check};
    struct hf_my *store = node->store;
    hf_mysql_connection_init(&node->connection, &events, &store->env,
                             &store->target, store->connect_timeout);
    node->last = &node->first;
    hf_standing_init(&node->standing);
    hf_admission_init(&node->admission, &store->shape, store->host,
                      store->strict);
    node->phase = HF_MY_WAITING;
    node->connection.link.reconnect.retry_at = now;
    hf_my_node_arm(node);
}

/* Pending requests are not answered. */
void hf_my_node_close(struct hf_my_node *node, bool forked)
{
    struct hf_my_request *request;
    hf_mysql_connection_fini(&node->connection, forked);
    while ((request = hf_my_pop(node)) != NULL) {
        hf_my_request_free(request);
    }
    hf_my_text_fini(&node->batch);
    hf_my_text_fini(&node->call);
}
