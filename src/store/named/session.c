/* SPDX-License-Identifier: Apache-2.0 */
/* THE SESSION, AND WHICH SIDE ENDS FIRST
 *
 * A client that is killed: its kernel closes the socket, and the server ends
 * the session when it next reads. No statement of ours waits in the server, so
 * that is at once.
 *
 * A client that is cut off: its claim ends ttl - drift after it sent the last
 * request that was confirmed. The server hears nothing after that request; it
 * ends the session when it has waited for the next one for wait_timeout, which
 * is longer than the longest ttl. So the client ends first. Its renewals, one
 * in a third of the ttl, keep the session.
 *
 * A server that hangs, while locks are held: the connection is kept for as long
 * as a lease, since its end would free them. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/named/named.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By how much the server's patience exceeds max_ttl, in seconds. */
#define PATIENCE_S 5

/* The most that wait_timeout may be, in seconds: a year. */
#define WAIT_TIMEOUT_MAX_S 31536000

/* The first versions in which a second GET_LOCK() of a session does not free
 * the first lock. */
#define MYSQL_VERSION_MIN 50705
#define MARIADB_VERSION_MIN 100002

enum { C_ID, C_VERSION, C_READ_ONLY, C_ROLE }; /* of the greeting */

static const char greet_sql[] =
    "SELECT CONNECTION_ID() AS id, VERSION() AS version,"
    " @@global.read_only AS read_only, CURRENT_USER() AS role";

/* A row where the server was built for Galera: the name, and ON or OFF. */
static const char cluster_sql[] = "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'";

static void connect_now(struct hf_named *store, struct hf_instant now);

static struct hf_named *store_of(struct hf_mysql_connection *connection)
{
    return (struct hf_named *)(void *)((char *)connection -
                                       offsetof(struct hf_named, connection));
}

/* ---- The timer ----------------------------------------------------------- */

static struct hf_span patience(const struct hf_named *store)
{
    return hf_session_patience(store->node_timeout, store->n_seats > 0,
                               store->max_ttl_ms);
}

static struct hf_instant hangs_at(const struct hf_named *store)
{
    return hf_mysql_connection_is_busy(&store->connection)
               ? hf_instant_add(store->connection.sent_at, patience(store))
               : HF_NEVER;
}

struct hf_instant hf_named_session_due(const struct hf_named *store)
{
    const struct hf_mysql_connection *connection = &store->connection;
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

void hf_named_session_arm(struct hf_named *store)
{
    hf_timer_set(&store->connection.link.timer, hf_named_session_due(store));
}

/* ---- The end ------------------------------------------------------------- */

/* The session has ended, and with it all that it held. */
static void lose(struct hf_named *store, struct hf_instant now)
{
    struct hf_session *session = &store->session;
    struct hf_mysql_connection *connection = &store->connection;
    bool holds = session->phase == HF_SESSION_READY && store->n_seats > 0;
    enum hf_status fault = hf_session_lose(
        session, holds, connection->link.fault, connection->link.reason, now);
    hf_mysql_connection_shut(connection);
    hf_named_answer_all(store, fault, session->why, now);
    hf_named_seats_clear(store);
    hf_session_lost(session, now);
}

static void on_settled(struct hf_mysql_connection *connection,
                       struct hf_instant now)
{
    struct hf_named *store = store_of(connection);
    hf_named_flush(store, now);
    if (connection->link.is_broken) {
        lose(store, now);
    }
    hf_named_session_arm(store);
}

/* ---- Connecting ---------------------------------------------------------- */

static void refuse(struct hf_named *store, enum hf_status fault,
                   const char *why)
{
    hf_session_refuse(&store->session, fault, why);
    hf_mysql_connection_break(&store->connection, fault, why);
}

static void ask(struct hf_named *store, const char *sql, struct hf_instant now)
{
    int len = snprintf(store->statements, sizeof(store->statements), "%s", sql);
    hf_mysql_connection_ask(&store->connection, store->statements, (size_t)len,
                            now);
}

static void on_opened(struct hf_mysql_connection *connection,
                      struct hf_instant now)
{
    struct hf_named *store = store_of(connection);
    store->session.phase = HF_SESSION_GREETING;
    store->id = 0;
    connection->link.deadline = hf_instant_add(now, store->connect_timeout);
    ask(store, greet_sql, now);
}

static void connect_now(struct hf_named *store, struct hf_instant now)
{
    HF_ASSERT(store->session.phase == HF_SESSION_WAITING);
    store->session.phase = HF_SESSION_CONNECTING;
    hf_mysql_connection_start(&store->connection, now);
    hf_named_session_arm(store); /* at once, if it broke already */
}

static void on_connect(struct hf_session *session, struct hf_instant now)
{
    connect_now((struct hf_named *)(void *)((char *)session -
                                            offsetof(struct hf_named, session)),
                now);
}

static void configure(struct hf_named *store, struct hf_instant now)
{
    char sql[120];
    int64_t seconds = (store->max_ttl_ms + 999) / 1000 + PATIENCE_S;
    snprintf(sql, sizeof(sql),
             "SET SESSION wait_timeout = %lld, SESSION autocommit = 1",
             (long long)(seconds < WAIT_TIMEOUT_MAX_S ? seconds
                                                      : WAIT_TIMEOUT_MAX_S));
    store->session.phase = HF_SESSION_SETTING;
    ask(store, sql, now);
}

/* "10.11.19-MariaDB-0+deb12u1", "8.0.36" */
static bool is_too_old(const struct hf_named *store)
{
    char *at;
    unsigned long major = strtoul(store->version, &at, 10);
    unsigned long minor = *at == '.' ? strtoul(at + 1, &at, 10) : 0;
    unsigned long patch = *at == '.' ? strtoul(at + 1, &at, 10) : 0;
    return major * 10000 + minor * 100 + patch <
           (store->is_mariadb ? MARIADB_VERSION_MIN : MYSQL_VERSION_MIN);
}

static const char *text_of(const struct hf_mysql_reply *reply, unsigned column)
{
    bool is_there = column < reply->n && reply->columns[column] != NULL;
    return is_there ? reply->columns[column] : "";
}

static void take_greeting(struct hf_named *store,
                          const struct hf_mysql_reply *reply,
                          struct hf_instant now)
{
    char why[200];
    const char *read_only = text_of(reply, C_READ_ONLY);
    snprintf(store->version, sizeof(store->version), "%s",
             text_of(reply, C_VERSION));
    snprintf(store->role, sizeof(store->role), "%s", text_of(reply, C_ROLE));
    hf_make_plain(store->version);
    hf_make_plain(store->role);
    store->is_mariadb = strcasestr(store->version, "mariadb") != NULL;
    store->id = strtoull(text_of(reply, C_ID), NULL, 10);
    if ((uint32_t)store->id != hf_mysql_connection_id(&store->connection)) {
        refuse(store, HF_CONFIG,
               "is reached through a proxy, which may give a session to "
               "several clients, and a named lock is of the session. Name the "
               "server itself");
    } else if (is_too_old(store)) {
        snprintf(why, sizeof(why),
                 "is %s %.40s: MariaDB 10.0.2 or MySQL 5.7.5 is needed; "
                 "before, a second lock of a session freed the first",
                 store->is_mariadb ? "MariaDB" : "MySQL", store->version);
        refuse(store, HF_CONFIG, why);
    } else if (strcmp(read_only, "0") != 0 && strcmp(read_only, "OFF") != 0) {
        refuse(store, HF_CONFIG,
               "is read-only, as replicas are, and its named locks are its "
               "own: name the primary instead");
    } else {
        ask(store, cluster_sql, now);
    }
}

static void take_cluster(struct hf_named *store,
                         const struct hf_mysql_reply *reply,
                         struct hf_instant now)
{
    if (strcasecmp(text_of(reply, 1), "ON") == 0) {
        refuse(store, HF_CONFIG,
               "is of a Galera cluster (wsrep_on), each of whose servers has "
               "named locks of its own");
    } else {
        configure(store, now);
    }
}

static void become_ready(struct hf_named *store, struct hf_instant now)
{
    hf_session_ready(&store->session, now);
    hf_named_jobs(store);
}

static void take_setup(struct hf_named *store,
                       const struct hf_mysql_reply *reply,
                       struct hf_instant now)
{
    char why[200];
    if (reply->error != 0) {
        snprintf(why, sizeof(why), "%.150s (error %u)", reply->text,
                 reply->error);
        refuse(store,
               reply->error == ER_SPECIFIC_ACCESS_DENIED_ERROR ? HF_DENIED
                                                               : HF_UNAVAILABLE,
               why);
    } else if (store->session.phase == HF_SESSION_SETTING) {
        become_ready(store, now);
    } else if (store->id == 0) {
        take_greeting(store, reply, now);
    } else {
        take_cluster(store, reply, now);
    }
}

/* ---- Events -------------------------------------------------------------- */

static void on_replied(struct hf_mysql_connection *connection,
                       const struct hf_mysql_reply *reply,
                       struct hf_instant now)
{
    struct hf_named *store = store_of(connection);
    bool was_busy = store->is_busy;
    if (store->session.phase != HF_SESSION_READY) {
        take_setup(store, reply, now);
        return;
    }
    store->rtt =
        hf_span_smooth(store->rtt, hf_instant_until(connection->sent_at, now));
    store->is_busy = true;
    hf_named_take(store, reply);
    store->is_busy = was_busy;
}

static void check_late(struct hf_named *store, struct hf_instant now)
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
        hf_mysql_connection_late_text(&store->connection, now, why,
                                      sizeof(why));
    }
    hf_mysql_connection_break(&store->connection, HF_UNAVAILABLE, why);
}

static void on_timed(struct hf_mysql_connection *connection,
                     struct hf_instant now)
{
    struct hf_named *store = store_of(connection);
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
        hf_named_jobs(store);
        check_late(store, now);
        break;
    case HF_SESSION_ENDING:
    case HF_SESSION_ENDED:
        hf_session_turn(&store->session, now);
        break;
    }
}

static void on_check(const struct hf_mysql_connection *connection)
{
    hf_named_check(
        (const struct hf_named *)(const void *)((const char *)connection -
                                                offsetof(struct hf_named,
                                                         connection)));
}

/* ---- Life ---------------------------------------------------------------- */

void hf_named_session_resume(struct hf_named *store, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &store->connection;
    bool is_late = !hf_instant_before(now, connection->link.timer.at);
    if (is_late && hf_session_is_opening(&store->session)) {
        hf_mysql_connection_break(connection, HF_UNAVAILABLE, "connecting");
        lose(store, now);
    }
    if (is_late && store->session.phase == HF_SESSION_WAITING) {
        hf_session_resume(&store->session, now);
    }
    hf_named_session_arm(store);
}

void hf_named_session_open(struct hf_named *store, struct hf_instant now)
{
    static const struct hf_mysql_connection_events events = {
        on_opened, on_replied, on_timed, on_settled, on_check};
    struct hf_mysql_connection *connection = &store->connection;
    hf_mysql_connection_init(connection, &events, &store->env, &store->target,
                             store->connect_timeout);
    store->last = &store->first;
    const struct hf_session_owner owner = {&store->env, &store->jobs,
                                           &connection->link.reconnect,
                                           &connection->link.seed, on_connect};
    hf_session_init(&store->session, &owner, now);
    hf_named_session_arm(store);
}

/* Pending requests are not answered. The end of the session releases all. */
void hf_named_session_close(struct hf_named *store, bool forked)
{
    struct hf_named_request *request;
    hf_mysql_connection_fini(&store->connection, forked);
    while ((request = hf_named_pop(store)) != NULL) {
        free(request);
    }
    hf_named_seats_clear(store);
}
