/* SPDX-License-Identifier: Apache-2.0 */
/* ONE SERVER, AND THE LOSS OF ITS CONNECTION (store/sql/sql.h has the phases)
 *
 * lose() is the only way back to WAITING. It reports the status before it
 * answers the pending requests. All of them are UNKNOWN, since libpq does not
 * report which bytes it has sent. */
#include "store/postgres/node.h"

#include "base/assert.h"

static void connect_now(struct hf_pg_node *node, struct hf_instant now);

static struct hf_pg_node *node_of(struct hf_pg_connection *connection)
{
    return (struct hf_pg_node *)(void *)connection;
}

/* ---- Timer -------------------------------------------------------------- */

static struct hf_instant hangs_at(const struct hf_pg_node *node)
{
    return hf_instant_add(hf_pg_connection_silent_since(&node->connection),
                          hf_sql_node_hang_span(&node->base));
}

struct hf_instant hf_pg_node_due(const struct hf_pg_node *node)
{
    return hf_sql_node_due(
        &node->base, hf_instant_min(hangs_at(node), hf_pg_listen_due(node)));
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

/* Close the connection, report the reason, and reconnect. */
static void lose(struct hf_pg_node *node, enum hf_status fault,
                 const char *reason, struct hf_instant now)
{
    struct hf_sql_loss loss;
    hf_sql_node_lose(&node->base, fault, reason, now, &loss);
    hf_pg_connection_shut(&node->connection);
    hf_pg_listen_lost(node);
    hf_sql_node_lost(&node->base, &loss);
    answer_pending(node, loss.fault, loss.why);
    hf_pg_renew_unsent(node, loss.fault, loss.why);
    if (loss.is_quick) {
        connect_now(node, now);
    }
    hf_pg_node_arm(node);
}

static void lose_broken(struct hf_pg_node *node, struct hf_instant now)
{
    const struct hf_sql_link *link = &node->connection.link;
    if (link->is_broken) {
        lose(node, link->fault, link->reason, now);
    }
}

/* ---- Connecting --------------------------------------------------------- */

static void on_opened(struct hf_pg_connection *connection,
                      struct hf_instant now)
{
    hf_pg_handshake(node_of(connection), now);
}

static void connect_now(struct hf_pg_node *node, struct hf_instant now)
{
    HF_ASSERT(node->base.phase == HF_SQL_WAITING);
    node->base.phase = HF_SQL_CONNECTING;
    hf_pg_connection_start(&node->connection, now);
    lose_broken(node, now);
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
    node->base.rtt =
        hf_span_smooth(node->base.rtt, hf_instant_until(pending->sent, now));
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

static void break_late(struct hf_pg_node *node, struct hf_instant now)
{
    char why[HF_TEXT_CLAUSE];
    hf_pg_connection_late_text(&node->connection, now, why, sizeof(why));
    hf_pg_connection_break(&node->connection, HF_UNAVAILABLE, why);
}

static void on_timed(struct hf_pg_connection *connection, struct hf_instant now)
{
    struct hf_pg_node *node = node_of(connection);
    bool was_ready = node->base.phase == HF_SQL_READY;
    if (was_ready) {
        hf_pg_listen_timed(node, now);
    }
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
        hf_pg_handshake(node, now);
        break;
    case HF_SQL_PEEK:
        hf_pg_peek(node, now);
        break;
    }
    if (was_ready) {
        hf_sql_node_check_hang(&node->base, hangs_at(node), now);
    }
}

static void on_settled(struct hf_pg_connection *connection,
                       struct hf_instant now)
{
    struct hf_pg_node *node = node_of(connection);
    hf_pg_renew_flush(node, now);
    hf_pg_connection_flush(connection);
    lose_broken(node, now);
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
    if (!hf_sql_node_is_overdue(&node->base, now)) {
        return;
    }
    hf_pg_node_check(node);
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
    hf_pg_node_check(node);
}

/* ---- Life --------------------------------------------------------------- */

void hf_pg_node_open(struct hf_pg_node *node, struct hf_instant now)
{
    static const struct hf_pg_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .notified = on_notified,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    struct hf_pg *store = node->store;
    hf_pg_connection_init(&node->connection, &events, &store->base.env,
                          &store->target, store->base.connect_timeout);
    hf_sql_node_init(&node->base, &store->base, &node->connection.link, now);
    node->wanted_at = HF_LONG_AGO;
    node->acquires = node->connection.link.seed >> 1; /* cannot overflow */
    hf_pg_node_arm(node);
}

void hf_pg_node_close(struct hf_pg_node *node, bool is_forked)
{
    if (!is_forked) {
        hf_pg_connection_flush(&node->connection);
    }
    hf_pg_connection_fini(&node->connection, is_forked);
    hf_pg_renew_fini(node);
}
