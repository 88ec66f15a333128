/* SPDX-License-Identifier: Apache-2.0 */
/* OPENING A CONNECTION
 *
 * While libpq connects, it may replace its socket at each step. So the watch is
 * removed before PQconnectPoll(), and set on the socket that is there after it.
 *
 * Cost: libpq's round trips: TCP, TLS if it is used, and the login. Each step
 * of them costs two epoll_ctl() for the watch, and one more to wait for output.
 */
#include "base/assert.h"
#include "base/secret.h"
#include "io/socket.h"
#include "store/postgres/connection.h"
#include "store/postgres/connection_parts.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ------------------------------------------------------------- */

/* Bytes of an SQLSTATE, as the standard has it. */
#define SQLSTATE_LEN 5

/* "FATAL:  28P01: the server's words", in its language, which may have another
 * word than FATAL, too. Each connection is verbose until it is open. */
static char *sqlstate_in(char *text)
{
    for (char *at = text; (at = strstr(at, ":  ")) != NULL; at++) {
        char *state = at + strlen(":  ");
        if (strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                SQLSTATE_LEN &&
            strncmp(state + SQLSTATE_LEN, ": ", 2) == 0) {
            return state;
        }
    }
    return NULL;
}

/** The cause is the last failure: lines before it are of other addresses, those
 * after it are hints. libpq begins each attempt with the address, which our
 * message has. @param state  its SQLSTATE; "": it is libpq's own. */
static const char *cause_of(char *text, char state[SQLSTATE_LEN + 1])
{
    static const char failed[] = "failed: ", fatal[] = "FATAL:  ";
    char *at = text, *next;
    while ((next = strstr(at, failed)) != NULL) {
        at = next + strlen(failed);
    }
    state[0] = '\0';
    if ((next = sqlstate_in(at)) != NULL) {
        snprintf(state, SQLSTATE_LEN + 1, "%s", next);
        at = next + SQLSTATE_LEN + strlen(": ");
    } else if ((next = strstr(at, fatal)) != NULL) {
        at = next + strlen(fatal);
    }
    at[strcspn(at, "\n")] = '\0';
    return at;
}

/* A pooler passes on few of the parameters with which a session begins. */
static const char unsupported[] = "unsupported startup parameter";

/** By the server's SQLSTATE, whatever its language. @return HF_OK: it says
 * nothing, as of a pooler, which has one for all. */
static enum hf_status state_fault(const char *state)
{
    static const struct {
        const char *sqlstate;
        enum hf_status status;
    } known[] = {
        {"28", HF_DENIED},         /* invalid authorization */
        {"42501", HF_DENIED},      /* insufficient_privilege: CONNECT */
        {"3D000", HF_CONFIG},      /* no such database */
        {"55000", HF_CONFIG},      /* a database without connections */
        {"42704", HF_CONFIG},      /* no such parameter: of `options`, as are */
        {"22023", HF_CONFIG},      /* a wrong value */
        {"55P02", HF_CONFIG},      /* and one that a session cannot set */
        {"53300", HF_UNAVAILABLE}, /* too_many_connections */
        {"57P03", HF_UNAVAILABLE}, /* it starts, or stops */
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(state, known[i].sqlstate, strlen(known[i].sqlstate)) == 0) {
            return known[i].status;
        }
    }
    return HF_OK;
}

/* The status of a connection that could not be made, by its words: those of
 * libpq, and of a pooler. */
static enum hf_status words_fault(const struct pg_conn *pq, const char *why)
{
    static const char *const denied[] = {"authentication",
                                         "no pg_hba.conf entry", "role \"",
                                         "not permitted", "password"};
    static const char *const wrong[] = {
        "database \"",      "certificate",      "does not support SSL",
        "root certificate", "no such database", /* of a pooler, as are the next
                                                 */
        unsupported};
    if (strstr(why, "too many connections") != NULL) {
        return HF_UNAVAILABLE; /* until others disconnect */
    }
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
        if (strstr(why, denied[i]) != NULL || PQconnectionNeedsPassword(pq)) {
            return HF_DENIED;
        }
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (strstr(why, wrong[i]) != NULL) {
            return HF_CONFIG;
        }
    }
    return HF_UNAVAILABLE;
}

static enum hf_status opening_fault(const struct pg_conn *pq, const char *state,
                                    const char *why)
{
    enum hf_status fault = state_fault(state);
    return fault == HF_OK ? words_fault(pq, why) : fault;
}

/* The server may run, but this user may not open its socket. */
static const char *shut_socket(const struct pg_conn *pq, const char *why)
{
    const char *host = PQhost(pq);
    return host != NULL && host[0] == '/' &&
                   (strcmp(why, strerrordesc_np(EACCES)) == 0 ||
                    strcmp(why, strerrordesc_np(EPERM)) == 0)
               ? HF_SOCKET_NO_PERMISSION
               : NULL;
}

/* Bytes of libpq's message, which may have a line for each address: those of
 * some addresses, more than the reason of a status shows (HF_TEXT_REASON). */
#define ERROR_MAX 600

void hf_pg_connection_fail(struct hf_pg_connection *connection)
{
    char text[ERROR_MAX], state[SQLSTATE_LEN + 1];
    snprintf(text, sizeof(text), "%s", PQerrorMessage(connection->pq));
    const char *why = cause_of(text, state);
    enum hf_status fault = connection->link.is_open
                               ? HF_UNAVAILABLE
                               : opening_fault(connection->pq, state, why);
    const char *shut =
        connection->link.is_open ? NULL : shut_socket(connection->pq, why);
    if (shut != NULL) {
        hf_pg_connection_break(connection, HF_DENIED, shut);
        return;
    }
    if (strstr(why, "out of memory") != NULL) {
        fault = HF_NO_MEMORY;
    }
    char reason[sizeof(connection->link.reason)];
    snprintf(reason, sizeof(reason),
             strstr(why, unsupported) == NULL
                 ? "%s"
                 : "%.110s (a pooler's words: leave it out of the URL and the "
                   "PG... variables)",
             why[0] == '\0' ? "connection lost" : why);
    hf_pg_connection_break(connection, fault, reason);
}

static void watch(struct hf_pg_connection *connection, bool output)
{
    hf_sql_link_watch(&connection->link, PQsocket(connection->pq));
    hf_sql_link_want_output(&connection->link, output);
}

/* ---- Connecting --------------------------------------------------------- */

static void become_open(struct hf_pg_connection *connection,
                        struct hf_instant now)
{
    connection->link.is_open = true;
    connection->link.heard_at = now;
    PQsetErrorVerbosity(connection->pq, PQERRORS_DEFAULT);
    if (PQsetnonblocking(connection->pq, 1) != 0 ||
        !PQenterPipelineMode(connection->pq)) {
        hf_sql_link_starve(&connection->link);
        return;
    }
    connection->events->opened(connection, now);
}

static void turn(struct hf_pg_connection *connection,
                 PostgresPollingStatusType state, struct hf_instant now)
{
    if (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
        watch(connection, state == PGRES_POLLING_WRITING);
    } else if (state == PGRES_POLLING_OK) {
        watch(connection, false);
        if (!connection->link.is_broken) {
            become_open(connection, now);
        }
    } else {
        hf_pg_connection_fail(connection);
    }
}

/* The login is asked for at each connection, since it may have changed. libpq
 * has copied it, so ours is wiped at once. libpq wants the first poll to be as
 * after WRITING (its manual, "PQconnectStartParams"). */
static void connect_to(struct hf_pg_connection *connection,
                       const struct hf_addresses *addresses,
                       struct hf_instant now)
{
    const struct hf_store_env *env = connection->link.env;
    struct hf_login login = {.node = 0, .address = connection->target->shown};
    if (env->login != NULL) {
        env->login(env->client, &login);
    }
    if (login.has_failed) {
        hf_sql_link_starve(&connection->link);
    } else {
        connection->pq = hf_pg_target_connect(
            connection->target, addresses, connection->link.reconnect.failures,
            login.user, login.password);
    }
    hf_secret_free(login.user);
    hf_secret_free(login.password);
    if (connection->pq == NULL) {
        hf_sql_link_starve(&connection->link);
    } else if (PQstatus(connection->pq) == CONNECTION_BAD) {
        hf_pg_connection_fail(connection);
    } else {
        PQsetNoticeReceiver(connection->pq, hf_pg_connection_notice,
                            connection);
        PQsetErrorVerbosity(connection->pq, PQERRORS_VERBOSE);
        turn(connection, PGRES_POLLING_WRITING, now);
    }
}

void hf_pg_connection_start(struct hf_pg_connection *connection,
                            struct hf_instant now)
{
    const struct hf_pg_target *target = connection->target;
    struct hf_sql_link *link = &connection->link;
    HF_ASSERT(hf_pg_connection_is_closed(connection));
    HF_ASSERT(connection->count == 0);
    link->deadline = hf_instant_add(now, link->connect_timeout);
    if (target->is_direct) {
        connect_to(connection, NULL, now);
    } else if (hf_sql_link_look_up(link, target->host, target->port)) {
        connect_to(connection, &link->addresses, now);
    }
}

void hf_pg_connection_late_text(const struct hf_pg_connection *connection,
                                struct hf_instant now, char *out, size_t size)
{
    hf_sql_link_late_text(&connection->link, connection->link.is_open, now, out,
                          size);
}

void hf_pg_connection_go_on(struct hf_pg_connection *connection,
                            struct hf_instant now)
{
    struct hf_sql_link *link = &connection->link;
    if (link->resolve == NULL) {
        hf_sql_link_unwatch(link);
        turn(connection, PQconnectPoll(connection->pq), now);
    } else if (hf_sql_link_found(link)) {
        connect_to(connection, &link->addresses, now);
    }
}
