/* SPDX-License-Identifier: Apache-2.0 */
/* ONE SERVER, AND THE LOSS OF ITS CONNECTION (store/sql/sql.h has the phases)
 *
 * lose() is the only way back to WAITING. It reports the status before it
 * answers the queue. Requests under way are UNKNOWN, the rest UNSENT. */
#include "store/mysql/node.h"

#include "base/assert.h"

static void connect_now(struct hf_mysql_node *node, struct hf_instant now);

static struct hf_mysql_node *node_of(struct hf_mysql_connection *connection)
{
    return (struct hf_mysql_node *)(void *)connection;
}

/* ---- Timer -------------------------------------------------------------- */

static struct hf_instant hangs_at(const struct hf_mysql_node *node)
{
    const struct hf_mysql_connection *connection = &node->connection;
    return hf_mysql_connection_is_busy(connection)
               ? hf_instant_add(hf_instant_max(connection->sent_at,
                                               connection->link.heard_at),
                                hf_sql_node_hang_span(&node->base))
               : HF_NEVER;
}

struct hf_instant hf_mysql_node_due(const struct hf_mysql_node *node)
{
    return hf_sql_node_due(&node->base, hangs_at(node));
}

void hf_mysql_node_arm(struct hf_mysql_node *node)
{
    hf_timer_set(&node->connection.link.timer, hf_mysql_node_due(node));
}

/* ---- Losing ------------------------------------------------------------- */

/* The callbacks cannot queue new requests: the node is not READY. */
static void answer_queue(struct hf_mysql_node *node, enum hf_status fault,
                         const char *reason, struct hf_instant now)
{
    struct hf_mysql_request *request;
    size_t n_sent = node->n_batch;
    node->n_batch = node->n_ended = 0;
    for (; (request = hf_mysql_pop(node)) != NULL; n_sent -= n_sent > 0) {
        if (n_sent == 0) {
            request->sent = now;
        }
        if (request->kind <= HF_VERB_SCAN) {
            hf_mysql_answer_none(node, request,
                                 n_sent > 0 ? HF_VERDICT_UNKNOWN
                                            : HF_VERDICT_UNSENT,
                                 fault, reason);
        }
        hf_mysql_request_free(request);
    }
}

/* Close the connection, report the reason, and reconnect. */
static void lose(struct hf_mysql_node *node, enum hf_status fault,
                 const char *reason, struct hf_instant now)
{
    struct hf_sql_loss loss;
    hf_sql_node_lose(&node->base, fault, reason, now, &loss);
    hf_mysql_connection_shut(&node->connection);
    hf_sql_node_lost(&node->base, &loss);
    answer_queue(node, loss.fault, loss.why, now);
    if (loss.is_quick) {
        connect_now(node, now);
    }
    hf_mysql_node_arm(node);
}

static void lose_broken(struct hf_mysql_node *node, struct hf_instant now)
{
    const struct hf_sql_link *link = &node->connection.link;
    if (link->is_broken) {
        lose(node, link->fault, link->reason, now);
    }
}

/* ---- Connecting --------------------------------------------------------- */

static void on_opened(struct hf_mysql_connection *connection,
                      struct hf_instant now)
{
    hf_mysql_handshake(node_of(connection), now);
}

static void connect_now(struct hf_mysql_node *node, struct hf_instant now)
{
    HF_ASSERT(node->base.phase == HF_SQL_WAITING);
    node->base.phase = HF_SQL_CONNECTING;
    hf_mysql_connection_start(&node->connection, now);
    lose_broken(node, now);
    hf_mysql_node_arm(node);
}

static void on_replied(struct hf_mysql_connection *connection,
                       const struct hf_mysql_reply *reply,
                       struct hf_instant now)
{
    hf_mysql_take(node_of(connection), reply, now);
}

/* ---- Time --------------------------------------------------------------- */

static void break_late(struct hf_mysql_node *node, struct hf_instant now)
{
    char why[HF_TEXT_CLAUSE];
    hf_mysql_connection_late_text(&node->connection, now, why, sizeof(why));
    hf_mysql_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void on_timed(struct hf_mysql_connection *connection,
                     struct hf_instant now)
{
    struct hf_mysql_node *node = node_of(connection);
    bool was_ready = node->base.phase == HF_SQL_READY;
    switch (hf_sql_node_timed(&node->base, now)) {
    case HF_SQL_REST:
        break;
    case HF_SQL_CONNECT:
        connect_now(node, now);
        break;
    case HF_SQL_LATE:
        break_late(node, now);
        break;
    case HF_SQL_HANDSHAKE:
        hf_mysql_handshake(node, now);
        break;
    case HF_SQL_PEEK:
        hf_mysql_peek(node, now);
        break;
    }
    if (was_ready) {
        hf_sql_node_check_hang(&node->base, hangs_at(node), now);
    }
}

static void on_settled(struct hf_mysql_connection *connection,
                       struct hf_instant now)
{
    struct hf_mysql_node *node = node_of(connection);
    hf_mysql_flush(node, now);
    lose_broken(node, now);
    hf_mysql_node_arm(node);
}

static void on_check(const struct hf_mysql_connection *connection)
{
    hf_mysql_node_check((const struct hf_mysql_node *)(const void *)connection);
}

/* No timer ran for a while: replies of the handshake may be unread. Reconnect,
 * and begin the handshake anew. */
void hf_mysql_node_resume(struct hf_mysql_node *node, struct hf_instant now)
{
    if (!hf_sql_node_is_overdue(&node->base, now)) {
        return;
    }
    hf_mysql_node_check(node);
    if (node->base.phase != HF_SQL_WAITING) {
        const char *reason;
        enum hf_status fault = hf_standing_cause(&node->base.standing, &reason);
        lose(node, fault, reason, now);
    }
    if (node->base.phase == HF_SQL_WAITING) { /* else lose() has reconnected */
        hf_sql_node_report(&node->base, HF_NODE_STATUS_CONNECTING,
                           node->base.standing.fault,
                           node->base.standing.reason);
        connect_now(node, now);
    }
    hf_mysql_node_check(node);
}

/* ---- Life --------------------------------------------------------------- */

void hf_mysql_node_open(struct hf_mysql_node *node, struct hf_instant now)
{
    static const struct hf_mysql_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    struct hf_mysql *store = node->store;
    hf_mysql_connection_init(&node->connection, &events, &store->base.env,
                             &store->target, store->base.connect_timeout);
    node->last = &node->first;
    hf_sql_node_init(&node->base, &store->base, &node->connection.link, now);
    hf_mysql_node_arm(node);
}

/* Pending requests are not answered. */
void hf_mysql_node_close(struct hf_mysql_node *node, bool is_forked)
{
    struct hf_mysql_request *request;
    hf_mysql_connection_fini(&node->connection, is_forked);
    while ((request = hf_mysql_pop(node)) != NULL) {
        hf_mysql_request_free(request);
    }
    hf_mysql_text_fini(&node->batch);
    hf_mysql_text_fini(&node->call);
}
