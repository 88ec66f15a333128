/* SPDX-License-Identifier: Apache-2.0 */
/* THE SESSION, AND WHICH SIDE ENDS FIRST
 *
 * A client that is killed: its kernel closes the socket. An idle session ends
 * at once; a busy one when the server next looks, every WATCH_MS
 * (client_connection_check_interval, PostgreSQL 14).
 *
 * A client that is cut off: its claim ends ttl - drift after it sent the last
 * request that was confirmed. The server hears nothing after that request; it
 * ends the session when nothing was acknowledged for tcp_user_timeout, which is
 * longer than the longest ttl. So the client ends first. Keep-alives make the
 * server look, every eighth of max_ttl.
 *
 * A server that hangs, while locks are held: the connection is kept for as long
 * as a lease, since its end would free them. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/advisory/advisory.h"
#include "store/postgres/node.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How soon a busy session notices that its client is dead, in milliseconds. */
#define WATCH_MS "250"

/* By how much the server's patience exceeds max_ttl, in milliseconds. */
#define PATIENCE_MS 5000

/* server_version_num of 12, the least that is tested elsewhere, too. */
#define SERVER_VERSION_MIN 120000

enum { C_VERSION, C_VERSION_TEXT, C_STANDBY, C_PID, C_ROLE, C_DATABASE };

static const char greet_sql[] =
    "SELECT current_setting('server_version_num')::int,"
    " current_setting('server_version'), pg_is_in_recovery(),"
    " pg_backend_pid(), current_user::text, current_database()::text";

/* After the greeting: a pooler would give them to others of its clients. */
static const char set_sql[] =
    "SELECT pg_backend_pid(),"
    " current_setting('client_connection_check_interval', true) IS NOT NULL,"
    " CASE WHEN current_setting('client_connection_check_interval', true)"
    " IS NOT NULL THEN set_config('client_connection_check_interval',"
    " '" WATCH_MS "', false) END,"
    " CASE WHEN current_setting('idle_session_timeout', true) IS NOT NULL"
    " THEN set_config('idle_session_timeout', '0', false) END,"
    " set_config('statement_timeout', '0', false),"
    " set_config('tcp_user_timeout', $1, false),"
    " set_config('tcp_keepalives_idle', $2, false),"
    " set_config('tcp_keepalives_interval', $2, false),"
    " set_config('tcp_keepalives_count', '16', false)";

static void connect_now(struct hf_advisory *store, struct hf_instant now);

static struct hf_advisory *store_of(struct hf_pg_connection *connection)
{
    return (
        struct hf_advisory *)(void *)((char *)connection -
                                      offsetof(struct hf_advisory, connection));
}

/* ---- The timer ----------------------------------------------------------- */

static struct hf_span patience(const struct hf_advisory *store)
{
    return hf_session_patience(store->node_timeout, store->n_seats > 0,
                               store->max_ttl_ms);
}

static struct hf_instant hangs_at(const struct hf_advisory *store)
{
    struct hf_instant since = hf_pg_connection_silent_since(&store->connection);
    return hf_instant_add(since, patience(store));
}

struct hf_instant hf_advisory_session_due(const struct hf_advisory *store)
{
    const struct hf_pg_connection *connection = &store->connection;
    struct hf_instant at = HF_LONG_AGO;
    if (connection->link.is_broken) {
        return at;
    }
    switch (store->session.phase) {
    case HF_SESSION_WAITING:
        at = connection->link.reconnect.retry_at;
        break;
    case HF_SESSION_CONNECTING:
    case HF_SESSION_GREETING:
    case HF_SESSION_SETTING:
        at = connection->link.deadline;
        break;
    case HF_SESSION_READY:
        at = hangs_at(store);
        break;
    case HF_SESSION_ENDING:
    case HF_SESSION_ENDED:
        at = store->session.turn_at;
        break;
    }
    return at;
}

void hf_advisory_session_arm(struct hf_advisory *store)
{
    hf_timer_set(&store->connection.link.timer, hf_advisory_session_due(store));
}

/* ---- The end ------------------------------------------------------------- */

static void answer_pending(struct hf_advisory *store, enum hf_status fault,
                           const char *reason)
{
    struct hf_pg_pending pending;
    while (hf_pg_connection_pop(&store->connection, &pending)) {
        if (pending.kind <= HF_VERB_SCAN || pending.kind == HF_ADVISORY_UNDO) {
            hf_advisory_answer_lost(store, &pending, fault, reason);
        }
    }
}

/* The session has ended, and with it all that it held. */
static void lose(struct hf_advisory *store, struct hf_instant now)
{
    struct hf_session *session = &store->session;
    struct hf_pg_connection *connection = &store->connection;
    bool holds = session->phase == HF_SESSION_READY && store->n_seats > 0;
    enum hf_status fault = hf_session_lose(
        session, holds, connection->link.fault, connection->link.reason, now);
    hf_pg_connection_shut(connection);
    answer_pending(store, fault, session->why);
    hf_advisory_seats_clear(store);
    hf_session_lost(session, now);
}

static void on_settled(struct hf_pg_connection *connection,
                       struct hf_instant now)
{
    struct hf_advisory *store = store_of(connection);
    if (connection->link.is_broken) {
        lose(store, now);
    }
    hf_advisory_session_arm(store);
}

/* ---- Connecting ---------------------------------------------------------- */

static void refuse(struct hf_advisory *store, enum hf_status fault,
                   const char *why)
{
    hf_session_refuse(&store->session, fault, why);
    hf_pg_connection_break(&store->connection, fault, why);
}

static void ask(struct hf_advisory *store, uint8_t kind, const char *sql,
                const struct hf_pg_params *params, struct hf_instant now)
{
    struct hf_pg_pending pending = {.sent = now, .kind = kind};
    if (!hf_pg_connection_ask(&store->connection, &pending,
                              HF_PG_STATEMENTS_MAX, sql, params)) {
        hf_pg_connection_break(&store->connection, HF_NO_MEMORY,
                               "out of memory");
    }
    hf_pg_connection_flush(&store->connection);
}

static void on_opened(struct hf_pg_connection *connection,
                      struct hf_instant now)
{
    struct hf_advisory *store = store_of(connection);
    struct hf_pg_params none;
    hf_pg_params_init(&none);
    store->session.phase = HF_SESSION_GREETING;
    connection->link.deadline = hf_instant_add(now, store->connect_timeout);
    ask(store, HF_ADVISORY_GREET, greet_sql, &none, now);
}

static void connect_now(struct hf_advisory *store, struct hf_instant now)
{
    HF_ASSERT(store->session.phase == HF_SESSION_WAITING);
    store->session.phase = HF_SESSION_CONNECTING;
    hf_pg_connection_start(&store->connection, now);
    hf_advisory_session_arm(store); /* at once, if it broke already */
}

static void on_connect(struct hf_session *session, struct hf_instant now)
{
    connect_now(
        (struct hf_advisory *)(void *)((char *)session -
                                       offsetof(struct hf_advisory, session)),
        now);
}

static void configure(struct hf_advisory *store, struct hf_instant now)
{
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    hf_pg_params_number(&params, store->max_ttl_ms + PATIENCE_MS);
    hf_pg_params_number(&params, store->max_ttl_ms / 8000 + 1);
    store->session.phase = HF_SESSION_SETTING;
    store->connection.owns_session = true;
    ask(store, HF_ADVISORY_SET, set_sql, &params, now);
}

static void take_greeting(struct hf_advisory *store,
                          const struct hf_pg_reply *reply,
                          struct hf_instant now)
{
    const struct pg_result *rows = reply->rows;
    char why[160];
    if (reply->error != NULL) {
        enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
        refuse(store, fault, why);
        return;
    }
    store->server_version = (int)hf_pg_integer(rows, 0, C_VERSION);
    hf_pg_text(rows, 0, C_VERSION_TEXT, store->version, sizeof(store->version));
    hf_pg_text(rows, 0, C_ROLE, store->role, sizeof(store->role));
    hf_pg_text(rows, 0, C_DATABASE, store->database, sizeof(store->database));
    store->pid = hf_pg_integer(rows, 0, C_PID);
    if (store->pid != PQbackendPID(store->connection.pq)) {
        refuse(store, HF_CONFIG,
               "is reached through a pooler: it gives a session to several "
               "clients, and an advisory lock is of the session. Name the "
               "server itself, or leave lock=advisory out");
    } else if (hf_pg_is_true(rows, 0, C_STANDBY)) {
        refuse(store, HF_CONFIG,
               "is a standby (in recovery), whose advisory locks are its own: "
               "name the primary instead");
    } else if (store->server_version < SERVER_VERSION_MIN) {
        snprintf(why, sizeof(why), "is PostgreSQL %s: 12 or later is needed",
                 store->version);
        refuse(store, HF_CONFIG, why);
    } else {
        configure(store, now);
    }
}

static void take_settings(struct hf_advisory *store,
                          const struct hf_pg_reply *reply,
                          struct hf_instant now)
{
    char why[160];
    if (reply->error != NULL) {
        enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
        refuse(store, fault, why);
        return;
    }
    store->has_watch = hf_pg_is_true(reply->rows, 0, 1);
    hf_session_ready(&store->session, now);
    hf_advisory_jobs(store);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_pg_connection *connection,
                       const struct hf_pg_pending *pending,
                       const struct hf_pg_reply *reply, struct hf_instant now)
{
    struct hf_advisory *store = store_of(connection);
    if (pending->kind == HF_ADVISORY_GREET) {
        take_greeting(store, reply, now);
    } else if (pending->kind == HF_ADVISORY_SET) {
        take_settings(store, reply, now);
    } else {
        store->rtt =
            hf_span_smooth(store->rtt, hf_instant_until(pending->sent, now));
        hf_advisory_answer(store, pending, reply, now);
    }
}

static void on_notified(struct hf_pg_connection *connection,
                        const char *payload)
{
    (void)connection; /* it does not listen */
    (void)payload;
}

static void check_late(struct hf_advisory *store, struct hf_instant now)
{
    char why[120];
    bool is_ready = store->session.phase == HF_SESSION_READY;
    if (hf_instant_before(now, is_ready ? hangs_at(store)
                                        : store->connection.link.deadline)) {
        return;
    }
    if (is_ready) {
        snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
                 (long long)hf_span_ms_floor(patience(store)));
    } else {
        hf_pg_connection_late_text(&store->connection, now, why, sizeof(why));
    }
    hf_pg_connection_break(&store->connection, HF_UNAVAILABLE, why);
}

static void on_timed(struct hf_pg_connection *connection, struct hf_instant now)
{
    struct hf_advisory *store = store_of(connection);
    switch (store->session.phase) {
    case HF_SESSION_WAITING:
        if (!hf_instant_before(now, connection->link.reconnect.retry_at)) {
            connect_now(store, now);
        }
        break;
    case HF_SESSION_CONNECTING: /* connection.c checks this deadline */
        break;
    case HF_SESSION_GREETING:
    case HF_SESSION_SETTING:
        check_late(store, now);
        break;
    case HF_SESSION_READY:
        hf_advisory_jobs(store);
        check_late(store, now);
        break;
    case HF_SESSION_ENDING:
    case HF_SESSION_ENDED:
        hf_session_turn(&store->session, now);
        break;
    }
}

static void on_check(const struct hf_pg_connection *connection)
{
    hf_advisory_check(
        (const struct hf_advisory *)(const void *)((const char *)connection -
                                                   offsetof(struct hf_advisory,
                                                            connection)));
}

/* ---- Life ---------------------------------------------------------------- */

void hf_advisory_session_resume(struct hf_advisory *store,
                                struct hf_instant now)
{
    struct hf_pg_connection *connection = &store->connection;
    bool is_late = !hf_instant_before(now, connection->link.timer.at);
    if (is_late && hf_session_is_opening(&store->session)) {
        hf_pg_connection_break(connection, HF_UNAVAILABLE, "connecting");
        lose(store, now);
    }
    if (is_late && store->session.phase == HF_SESSION_WAITING) {
        hf_session_resume(&store->session, now);
    }
    hf_advisory_session_arm(store);
}

void hf_advisory_session_open(struct hf_advisory *store, struct hf_instant now)
{
    static const struct hf_pg_connection_events events = {
        on_opened, on_replied, on_notified, on_timed, on_settled, on_check};
    struct hf_pg_connection *connection = &store->connection;
    hf_pg_connection_init(connection, &events, &store->env, &store->target,
                          store->connect_timeout);
    const struct hf_session_owner owner = {&store->env, &store->jobs,
                                           &connection->link.reconnect,
                                           &connection->link.seed, on_connect};
    hf_session_init(&store->session, &owner, now);
    hf_advisory_session_arm(store);
}

/* Pending requests are not answered. */
void hf_advisory_session_close(struct hf_advisory *store, bool forked)
{
    struct hf_pg_pending pending;
    struct hf_pg_connection *connection = &store->connection;
    if (!forked) {
        hf_pg_connection_flush(connection);
    }
    while (hf_pg_connection_pop(connection, &pending)) {
        if (pending.kind == HF_VERB_CONFIRM) {
            free((void *)(uintptr_t)pending.cookie);
        }
    }
    hf_pg_connection_fini(connection, forked);
    hf_advisory_seats_clear(store);
}
