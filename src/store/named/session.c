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
#include "store/mysql/cluster.h"
#include "store/named/named.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By how much the server's patience exceeds max_ttl, in seconds. The claim ends
 * within max_ttl already, so any excess does; this one also covers a setting in
 * whole seconds. After a client was cut off, others wait that much longer. */
#define PATIENCE_S 5

/* The most that wait_timeout may be, in seconds: a year. */
#define WAIT_TIMEOUT_MAX_S 31536000

/* The first versions in which a second GET_LOCK() of a session does not free
 * the first lock. */
#define MYSQL_VERSION_MIN 50705
#define MARIADB_VERSION_MIN 100002

enum { C_ID, C_VERSION, C_READ_ONLY, C_ROLE }; /* of the handshake */

static const char handshake_sql[] =
    "SELECT CONNECTION_ID() AS id, VERSION() AS version,"
    " @@global.read_only AS read_only, CURRENT_USER() AS role";

static struct hf_named *store_of(struct hf_mysql_connection *connection)
{
    return (struct hf_named *)(void *)((char *)connection -
                                       offsetof(struct hf_named, connection));
}

static struct hf_named *named_of(struct hf_session *session)
{
    return (struct hf_named *)(void *)session;
}

static const struct hf_named *const_of(const struct hf_session *session)
{
    return (const struct hf_named *)(const void *)session;
}

/* ---- Connecting ---------------------------------------------------------- */

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
    hf_session_greet(&store->session, now);
    store->id = 0;
    ask(store, handshake_sql, now);
}

static void configure(struct hf_named *store, struct hf_instant now)
{
    char sql[HF_TEXT_CLAUSE];
    int64_t seconds = (store->session.max_ttl_ms + 999) / 1000 + PATIENCE_S;
    int len = snprintf(
        sql, sizeof(sql),
        "SET SESSION wait_timeout = %lld, SESSION autocommit = 1",
        (long long)(seconds < WAIT_TIMEOUT_MAX_S ? seconds
                                                 : WAIT_TIMEOUT_MAX_S));
    HF_ASSERT(len > 0 && (size_t)len < sizeof(sql));
    hf_session_set(&store->session);
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

static void take_handshake(struct hf_named *store,
                           const struct hf_mysql_reply *reply,
                           struct hf_instant now)
{
    char why[HF_TEXT_REASON];
    const char *read_only = text_of(reply, C_READ_ONLY);
    snprintf(store->version, sizeof(store->version), "%s",
             text_of(reply, C_VERSION));
    snprintf(store->role, sizeof(store->role), "%s", text_of(reply, C_ROLE));
    hf_error_make_plain(store->version);
    hf_error_make_plain(store->role);
    store->is_mariadb = strcasestr(store->version, "mariadb") != NULL;
    store->id = strtoull(text_of(reply, C_ID), NULL, 10);
    if ((uint32_t)store->id != hf_mysql_connection_id(&store->connection)) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is reached through a proxy, which may give a session to "
            "several clients, and a named lock is of the session. Name the "
            "server itself");
    } else if (is_too_old(store)) {
        snprintf(why, sizeof(why),
                 "is %s %.40s: MariaDB 10.0.2 or MySQL 5.7.5 is needed; "
                 "before, a second lock of a session freed the first",
                 store->is_mariadb ? "MariaDB" : "MySQL", store->version);
        hf_session_refuse(&store->session, HF_CONFIG, why);
    } else if (strcmp(read_only, "0") != 0 && strcmp(read_only, "OFF") != 0) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is read-only, as replicas are, and its named locks are its "
            "own: name the primary instead");
    } else {
        ask(store, hf_mysql_cluster_sql, now);
    }
}

static void take_cluster(struct hf_named *store,
                         const struct hf_mysql_reply *reply,
                         struct hf_instant now)
{
    enum hf_mysql_cluster cluster = hf_mysql_cluster_of(reply);
    if (cluster == HF_MYSQL_GROUP) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is of a group (Group Replication), each of whose servers has "
            "named locks of its own");
    } else if (cluster == HF_MYSQL_GALERA) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "is of a Galera cluster (wsrep_on), each of whose servers has "
            "named locks of its own");
    } else if (cluster == HF_MYSQL_READER) {
        hf_session_refuse(
            &store->session, HF_CONFIG,
            "only reads (innodb_read_only), as a reader of Amazon Aurora does, "
            "and its named locks are its own: name the writer instead");
    } else {
        configure(store, now);
    }
}

static void take_setup(struct hf_named *store,
                       const struct hf_mysql_reply *reply,
                       struct hf_instant now)
{
    char why[HF_TEXT_REASON];
    if (reply->error != 0) {
        snprintf(why, sizeof(why), "%.150s (error %u)", reply->text,
                 reply->error);
        hf_session_refuse(&store->session,
                          reply->error == ER_SPECIFIC_ACCESS_DENIED_ERROR
                              ? HF_DENIED
                              : HF_UNAVAILABLE,
                          why);
    } else if (store->session.phase == HF_SESSION_SETTING) {
        hf_session_ready(&store->session, now);
    } else if (store->id == 0) {
        take_handshake(store, reply, now);
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
    store->session.rtt = hf_span_smooth(
        store->session.rtt, hf_instant_until(connection->sent_at, now));
    store->is_busy = true;
    hf_named_take(store, reply);
    store->is_busy = was_busy;
}

static void on_timed(struct hf_mysql_connection *connection,
                     struct hf_instant now)
{
    hf_session_timed(&store_of(connection)->session, now);
}

static void on_settled(struct hf_mysql_connection *connection,
                       struct hf_instant now)
{
    struct hf_named *store = store_of(connection);
    hf_named_flush(store, now);
    hf_session_settled(&store->session, now);
}

static void on_check(const struct hf_mysql_connection *connection)
{
    hf_named_check(
        (const struct hf_named *)(const void *)((const char *)connection -
                                                offsetof(struct hf_named,
                                                         connection)));
}

/* ---- What the session asks of the store ---------------------------------- */

static void start(struct hf_session *session, struct hf_instant now)
{
    hf_mysql_connection_start(&named_of(session)->connection, now);
}

static void end(struct hf_session *session, enum hf_status fault,
                struct hf_instant now)
{
    struct hf_named *store = named_of(session);
    hf_mysql_connection_shut(&store->connection);
    hf_named_answer_all(store, fault, session->why, now);
}

static void silent_since(const struct hf_session *session,
                         struct hf_instant *since)
{
    const struct hf_mysql_connection *connection =
        &const_of(session)->connection;
    *since = hf_mysql_connection_is_busy(connection) ? connection->sent_at
                                                     : HF_NEVER;
}

static void late_text(const struct hf_session *session, struct hf_instant now,
                      char *out, size_t size)
{
    hf_mysql_connection_late_text(&const_of(session)->connection, now, out,
                                  size);
}

const struct hf_session_ops hf_named_session = {
    .connect = start,
    .end = end,
    .silent_since = silent_since,
    .late_text = late_text,
    .examine = hf_named_examine,
};

/* ---- Life ---------------------------------------------------------------- */

void hf_named_session_open(struct hf_named *store, struct hf_instant now)
{
    static const struct hf_mysql_connection_events events = {
        .opened = on_opened,
        .replied = on_replied,
        .timed = on_timed,
        .settled = on_settled,
        .check = on_check,
    };
    struct hf_mysql_connection *connection = &store->connection;
    hf_mysql_connection_init(connection, &events, &store->session.env,
                             &store->target, store->session.connect_timeout);
    store->last = &store->first;
    hf_session_begin(&store->session, &connection->link, store->target.shown,
                     now);
}

/* Pending requests are not answered. The end of the session releases all. */
void hf_named_session_close(struct hf_named *store, bool is_forked)
{
    struct hf_named_request *request;
    hf_mysql_connection_fini(&store->connection, is_forked);
    while ((request = hf_named_pop(store)) != NULL) {
        free(request);
    }
}
