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
 * as a lease, since its end would free them.
 *
 * Cost: two round trips after the login: the handshake, then the settings. */
#include "store/advisory/advisory.h"
#include "store/postgres/node.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

/* How soon a busy session notices that its client is dead, in milliseconds. */
#define WATCH_MS "250"

/* By how much the server's patience exceeds max_ttl, in milliseconds. The claim
 * ends within max_ttl already; after a client was cut off, others wait this
 * much longer. */
#define PATIENCE_MS 5000

/* server_version_num of 12, the least that is tested elsewhere, too. */
#define SERVER_VERSION_MIN 120000

enum { C_VERSION, C_VERSION_TEXT, C_STANDBY, C_PID, C_ROLE, C_DATABASE };

static const char handshake_sql[] =
    "SELECT current_setting('server_version_num')::int,"
    " current_setting('server_version'), pg_is_in_recovery(),"
    " pg_backend_pid(), current_user::text, current_database()::text";

/* After the handshake: a pooler would give them to others of its clients. */
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

static struct hf_advisory *store_of(struct hf_pg_connection *connection)
{
    return (
        struct hf_advisory *)(void *)((char *)connection -
                                      offsetof(struct hf_advisory, connection));
}

static struct hf_advisory *advisory_of(struct hf_session *session)
{
    return (struct hf_advisory *)(void *)session;
}

static const struct hf_advisory *const_of(const struct hf_session *session)
{
    return (const struct hf_advisory *)(const void *)session;
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

static void end(struct hf_session *session, enum hf_status fault,
                struct hf_instant now)
{
    struct hf_advisory *store = advisory_of(session);
    (void)now;
    hf_pg_connection_shut(&store->connection);
    answer_pending(store, fault, session->why);
}

/* ---- Connecting ---------------------------------------------------------- */

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
    hf_session_greet(&store->session, now);
    ask(store, HF_ADVISORY_GREET, handshake_sql, &none, now);
}

static void start(struct hf_session *session, struct hf_instant now)
{
    hf_pg_connection_start(&advisory_of(session)->connection, now);
}

static void configure(struct hf_advisory *store, struct hf_instant now)
{
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    hf_pg_params_number(&params, store->session.max_ttl_ms + PATIENCE_MS);
    hf_pg_params_number(&params, store->session.max_ttl_ms / 8000 + 1);
    hf_session_set(&store->session);
    store->connection.owns_session = true;
    ask(store, HF_ADVISORY_SET, set_sql, &params, now);
}

static void take_handshake(struct hf_advisory *store,
                           const struct hf_pg_reply *reply,
                           struct hf_instant now)
{
    const struct pg_result *rows = reply->rows;
    char why[HF_TEXT_SENTENCE];
    if (reply->error != NULL) {
        enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
        hf_session_refuse(&store->session, fault, why);
        return;
    }
    store->server_version = (int)hf_pg_integer(rows, 0, C_VERSION);
    hf_pg_text(rows, 0, C_VERSION_TEXT, store->version, sizeof(store->version));
    hf_pg_text(rows, 0, C_ROLE, store->role, sizeof(store->role));
    hf_pg_text(rows, 0, C_DATABASE, store->database, sizeof(store->database));
    store->pid = hf_pg_integer(rows, 0, C_PID);
    if (store->pid != PQbackendPID(store->connection.pq)) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is reached through a pooler: it gives a session to several "
            "clients, and an advisory lock is of the session. Name the "
            "server itself, or leave lock=advisory out");
    } else if (hf_pg_is_true(rows, 0, C_STANDBY)) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is a standby (in recovery), whose advisory locks are its own: "
            "name the primary instead");
    } else if (store->server_version < SERVER_VERSION_MIN) {
        snprintf(why, sizeof(why), "is PostgreSQL %s: 12 or later is needed",
                 store->version);
        hf_session_refuse(&store->session, HF_CONFIG, why);
    } else {
        configure(store, now);
    }
}

static void take_settings(struct hf_advisory *store,
                          const struct hf_pg_reply *reply,
                          struct hf_instant now)
{
    char why[HF_TEXT_SENTENCE];
    if (reply->error != NULL) {
        enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
        hf_session_refuse(&store->session, fault, why);
        return;
    }
    store->has_watch = hf_pg_is_true(reply->rows, 0, 1);
    hf_session_ready(&store->session, now);
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_pg_connection *connection,
                       const struct hf_pg_pending *pending,
                       const struct hf_pg_reply *reply, struct hf_instant now)
{
    struct hf_advisory *store = store_of(connection);
    if (pending->kind == HF_ADVISORY_GREET) {
        take_handshake(store, reply, now);
    } else if (pending->kind == HF_ADVISORY_SET) {
        take_settings(store, reply, now);
    } else {
        store->session.rtt = hf_span_smooth(
            store->session.rtt, hf_instant_until(pending->sent, now));
        hf_advisory_answer(store, pending, reply, now);
    }
}

static void on_notified(struct hf_pg_connection *connection,
                        const char *payload)
{
    (void)connection; /* it does not listen */
    (void)payload;
}

static void on_timed(struct hf_pg_connection *connection, struct hf_instant now)
{
    hf_session_timed(&store_of(connection)->session, now);
}

static void on_settled(struct hf_pg_connection *connection,
                       struct hf_instant now)
{
    hf_session_settled(&store_of(connection)->session, now);
}

static void on_check(const struct hf_pg_connection *connection)
{
    const struct hf_advisory *store =
        (const struct hf_advisory *)(const void *)((const char *)connection -
                                                   offsetof(struct hf_advisory,
                                                            connection));
    hf_session_check(&store->session, hf_pg_connection_is_closed(connection),
                     connection->count > 0);
}

/* ---- What the session asks of the store ---------------------------------- */

static void silent_since(const struct hf_session *session,
                         struct hf_instant *since)
{
    *since = hf_pg_connection_silent_since(&const_of(session)->connection);
}

static void late_text(const struct hf_session *session, struct hf_instant now,
                      char *out, size_t size)
{
    hf_pg_connection_late_text(&const_of(session)->connection, now, out, size);
}

const struct hf_session_ops hf_advisory_session = {
    .connect = start,
    .end = end,
    .silent_since = silent_since,
    .late_text = late_text,
    .examine = hf_advisory_examine,
};

/* ---- Life ---------------------------------------------------------------- */

void hf_advisory_session_open(struct hf_advisory *store, struct hf_instant now)
{
    static const struct hf_pg_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .notified = on_notified,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    struct hf_pg_connection *connection = &store->connection;
    hf_pg_connection_init(connection, &events, &store->session.env,
                          &store->target, store->session.connect_timeout);
    hf_session_begin(&store->session, &connection->link, store->target.shown,
                     now);
}

/* Pending requests are not answered. */
void hf_advisory_session_close(struct hf_advisory *store, bool is_forked)
{
    struct hf_pg_pending pending;
    struct hf_pg_connection *connection = &store->connection;
    if (!is_forked) {
        hf_pg_connection_flush(connection);
    }
    while (hf_pg_connection_pop(connection, &pending)) {
        if (pending.kind == HF_VERB_CONFIRM) {
            free((void *)(uintptr_t)pending.cookie);
        }
    }
    hf_pg_connection_fini(connection, is_forked);
}
