/* SPDX-License-Identifier: Apache-2.0 */
/* LIBPQ ON THE LOOP
 *
 * The loop is edge-triggered and libpq does not read until EAGAIN, so the watch
 * is rearmed after each read.
 *
 * A request is answered at its PIPELINE_SYNC, and not at its rows: the server
 * sends the rows first and commits then. An error, or a warning ("canceling
 * wait for synchronous replication"), between the two leaves open whether the
 * transaction was committed.
 *
 *     ──▶ Parse (once), Bind, Execute, Sync
 *     ◀── rows ◀── CommandComplete │ commit │ ◀── ReadyForQuery: the answer
 *
 * Cost: one round trip and one commit for each request, also for the first of a
 * statement: its Parse is in the same write. Requests between two flushes share
 * one write. A report of the socket costs a read and an epoll_ctl() to rearm.
 */
#include "store/postgres/connection.h"

#include "base/assert.h"
#include "io/clock.h"
#include "store/postgres/connection_parts.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#ifndef LIBPQ_HAS_PIPELINING
#error "libpq 14 or later is needed; -DHF_WITHOUT_POSTGRES=ON leaves this out"
#endif

/* ---- The end ------------------------------------------------------------ */

static void drop_results(struct hf_pg_connection *connection)
{
    PQclear(connection->rows);
    PQclear(connection->error);
    connection->rows = NULL;
    connection->error = NULL;
    connection->is_unsure = false;
    connection->has_label = false;
    connection->empties = 0;
}

void hf_pg_connection_shut(struct hf_pg_connection *connection)
{
    hf_sql_link_unwatch(&connection->link);
    drop_results(connection);
    PQfinish(connection->pq);
    connection->pq = NULL;
    connection->prepared = 0;
    connection->owns_session = false;
    connection->is_dirty = false;
    hf_sql_link_shut(&connection->link);
}

/* ---- Asking ------------------------------------------------------------- */

static const char *statement_name(unsigned statement, char out[HF_TEXT_SHORT])
{
    (void)snprintf(out, HF_TEXT_SHORT, "holdfast_%u", statement);
    return out;
}

/* libpq has sent nothing of a request that fails here; but the bytes already in
 * its queue cannot be taken back, so the connection ends. */
static bool send_one(struct hf_pg_connection *connection, uint64_t label,
                     unsigned statement, bool prepares, const char *sql,
                     const struct hf_pg_params *params)
{
    struct pg_conn *pq = connection->pq;
    char name[HF_TEXT_SHORT];
    int ok;
    if (label != 0 && !hf_pg_label_send(connection, label)) {
        ok = 0;
    } else if (statement == HF_PG_STATEMENTS_MAX) {
        ok = PQsendQueryParams(pq, sql, params->n, NULL, params->values,
                               params->lens, params->formats, 1);
    } else {
        statement_name(statement, name);
        ok = !prepares || PQsendPrepare(pq, name, sql, 0, NULL);
        ok = ok && PQsendQueryPrepared(pq, name, params->n, params->values,
                                       params->lens, params->formats, 1);
    }
    if (!ok || !PQpipelineSync(pq)) {
        hf_pg_connection_fail(connection);
        return false;
    }
    return true;
}

bool hf_pg_connection_ask(struct hf_pg_connection *connection,
                          const struct hf_pg_pending *pending,
                          unsigned statement, const char *sql,
                          const struct hf_pg_params *params)
{
    HF_ASSERT(statement <= HF_PG_STATEMENTS_MAX);
    bool prepares = statement < HF_PG_STATEMENTS_MAX &&
                    (connection->prepared & 1U << statement) == 0;
    uint64_t label = connection->owns_session ? 0 : ++connection->labels;
    if (connection->link.is_broken || !connection->link.is_open ||
        !hf_pg_connection_reserve(connection) ||
        !send_one(connection, label, statement, prepares, sql, params)) {
        return false;
    }
    if (prepares) {
        connection->prepared |= 1U << statement;
    }
    struct hf_pg_pending copy = *pending;
    copy.statement = (uint8_t)(prepares ? statement : HF_PG_STATEMENTS_MAX);
    copy.label = label;
    hf_pg_connection_push(connection, &copy);
    connection->is_dirty = true;
    return true;
}

bool hf_pg_connection_run(struct hf_pg_connection *connection,
                          const struct hf_pg_pending *pending, const char *sql)
{
    HF_ASSERT(connection->count == 0);
    if (connection->link.is_broken || !connection->link.is_open ||
        !hf_pg_connection_reserve(connection)) {
        return false;
    }
    if (!PQexitPipelineMode(connection->pq) ||
        !PQsendQuery(connection->pq, sql)) {
        hf_pg_connection_fail(connection);
        return false;
    }
    struct hf_pg_pending copy = *pending;
    copy.statement = HF_PG_STATEMENTS_MAX;
    copy.is_script = true;
    hf_pg_connection_push(connection, &copy);
    connection->is_dirty = true;
    return true;
}

void hf_pg_connection_flush(struct hf_pg_connection *connection)
{
    if (!connection->is_dirty || connection->link.is_broken ||
        !connection->link.is_open) {
        return;
    }
    int left = PQflush(connection->pq);
    if (left < 0) {
        hf_pg_connection_fail(connection);
        return;
    }
    connection->is_dirty = left > 0;
    hf_sql_link_want_output(&connection->link, connection->is_dirty);
}

bool hf_pg_connection_is_dead(const struct hf_pg_connection *connection)
{
    struct pollfd fd = {.fd = connection->link.watch.fd, .events = POLLRDHUP};
    return fd.fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* ---- Replies ------------------------------------------------------------ */

/* A warning is about the commit, since our functions raise none. libpq passes
 * it on as soon as it is read, which may be before its rows are fetched. */
void hf_pg_connection_notice(void *user, const struct pg_result *result)
{
    struct hf_pg_connection *connection = user;
    const char *severity =
        PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity != NULL && strcmp(severity, "WARNING") == 0) {
        connection->is_unsure = connection->count > 0;
    }
}

/* The whole reply to the oldest request is there. */
static void deliver(struct hf_pg_connection *connection, struct hf_instant now)
{
    struct hf_pg_pending pending;
    struct hf_pg_reply reply = {connection->rows, connection->error,
                                connection->is_unsure};
    bool is_there = hf_pg_connection_pop(connection, &pending);
    HF_ASSERT(is_there);
    connection->rows = NULL;
    connection->error = NULL;
    drop_results(connection);
    connection->link.heard_at = now;
    if (reply.error != NULL && pending.statement < HF_PG_STATEMENTS_MAX) {
        connection->prepared &= ~(1U << pending.statement);
    }
    if (pending.is_script && !PQenterPipelineMode(connection->pq)) {
        hf_sql_link_starve(&connection->link);
    }
    connection->events->replied(connection, &pending, &reply, now);
    PQclear(reply.rows);
    PQclear(reply.error);
}

static bool lacks_label(const struct hf_pg_connection *connection)
{
    return connection->ring[connection->head].label != 0 &&
           !connection->has_label;
}

/* An error before the label is of the server or the pooler, such as the end of
 * the session, or of another client's request. */
static void take_label(struct hf_pg_connection *connection, PGresult *result)
{
    uint64_t label = connection->ring[connection->head].label;
    const char *error = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    connection->has_label = hf_pg_label_is(result, label);
    if (!connection->has_label) {
        hf_pg_connection_break(
            connection, HF_UNAVAILABLE,
            error != NULL ? error
                          : "the pooler gave us the answer to another client "
                            "(PgBouncer before 1.21 does; give locks a pool of "
                            "their own)");
    }
    PQclear(result);
}

static void take_result(struct hf_pg_connection *connection, PGresult *result,
                        struct hf_instant now)
{
    ExecStatusType status = PQresultStatus(result);
    if (lacks_label(connection)) {
        take_label(connection, result);
    } else if (status == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        deliver(connection, now);
    } else if (status == PGRES_TUPLES_OK) {
        PQclear(connection->rows);
        connection->rows = result;
    } else if (status == PGRES_COMMAND_OK) {
        /* Prepared, whatever becomes of its first execution. */
        connection->ring[connection->head].statement = HF_PG_STATEMENTS_MAX;
        PQclear(result);
    } else if (status == PGRES_EMPTY_QUERY ||
               status == PGRES_PIPELINE_ABORTED || connection->error != NULL) {
        PQclear(result); /* it follows an error */
    } else {
        connection->is_unsure |= connection->rows != NULL;
        connection->error = result;
    }
}

static bool is_end_of_script(const struct hf_pg_connection *connection)
{
    return connection->ring[connection->head].is_script;
}

static void take_results(struct hf_pg_connection *connection,
                         struct hf_instant now)
{
    while (!connection->link.is_broken && connection->count > 0 &&
           !PQisBusy(connection->pq)) {
        PGresult *result = PQgetResult(connection->pq);
        if (PQstatus(connection->pq) == CONNECTION_BAD) {
            PQclear(result);
            hf_pg_connection_fail(connection);
        } else if (result != NULL) {
            connection->empties = 0;
            take_result(connection, result, now);
        } else if (is_end_of_script(connection)) {
            deliver(connection, now);
        } else if (++connection->empties > 2) {
            hf_pg_connection_break(connection, HF_UNAVAILABLE,
                                   "an answer that makes no sense");
        }
    }
}

static void take_notifications(struct hf_pg_connection *connection)
{
    PGnotify *notify;
    while (!connection->link.is_broken &&
           (notify = PQnotifies(connection->pq)) != NULL) {
        connection->events->notified(connection, notify->extra);
        PQfreemem(notify);
    }
}

/* PQconsumeInput() reads once and does not tell whether more is there, so the
 * edge-triggered loop is asked to report the socket again. */
static void read_all(struct hf_pg_connection *connection, struct hf_instant now)
{
    if (!PQconsumeInput(connection->pq)) {
        hf_pg_connection_fail(connection);
        return;
    }
    take_results(connection, now);
    take_notifications(connection);
    if (!connection->link.is_broken) {
        hf_loop_rearm(connection->link.env->loop, &connection->link.watch);
    }
}

/* ---- Events ------------------------------------------------------------- */

static void check(const struct hf_pg_connection *connection)
{
    hf_pg_connection_check(connection);
    connection->events->check(connection);
}

static void on_ready(struct hf_watch *socket, uint32_t events,
                     struct hf_instant now)
{
    struct hf_pg_connection *connection =
        (struct hf_pg_connection *)(void *)socket;
    (void)events;
    check(connection);
    bool is_opening =
        connection->link.resolve != NULL ||
        (!connection->link.is_open && !connection->link.is_broken);
    if (is_opening) {
        hf_pg_connection_go_on(connection, now);
    } else if (!connection->link.is_broken) {
        read_all(connection, now);
        hf_pg_connection_flush(connection);
    }
    connection->events->settled(connection, now);
    check(connection);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_pg_connection *connection =
        (struct hf_pg_connection *)(void *)((char *)timer -
                                            offsetof(struct hf_pg_connection,
                                                     link.timer));
    bool is_opening =
        !connection->link.is_open && !hf_pg_connection_is_closed(connection);
    if (!is_opening && !connection->link.is_broken) {
        connection->events->timed(connection, now);
    } else if (is_opening &&
               !hf_instant_before(now, connection->link.deadline)) {
        char why[HF_TEXT_CLAUSE];
        hf_pg_connection_late_text(connection, now, why, sizeof(why));
        hf_pg_connection_break(connection, HF_UNAVAILABLE, why);
    }
    connection->events->settled(connection, now);
    check(connection);
}

/* ---- Life --------------------------------------------------------------- */

void hf_pg_connection_init(struct hf_pg_connection *connection,
                           const struct hf_pg_connection_events *events,
                           const struct hf_store_env *env,
                           const struct hf_pg_target *target,
                           struct hf_span connect_timeout)
{
    HF_ASSERT(events->opened != NULL && events->replied != NULL &&
              events->notified != NULL && events->timed != NULL &&
              events->settled != NULL && events->check != NULL);
    hf_sql_link_init(&connection->link, env, connect_timeout, on_ready,
                     on_timer);
    connection->events = events;
    connection->target = target;
    hf_entropy(&connection->labels, sizeof(connection->labels));
    connection->labels >>= 1; /* cannot overflow */
}

void hf_pg_connection_fini(struct hf_pg_connection *connection, bool is_forked)
{
    hf_loop_drop_timer(connection->link.env->loop, &connection->link.timer);
    if (is_forked) {
        hf_sql_link_disown(&connection->link, connection->pq == NULL
                                                  ? -1
                                                  : PQsocket(connection->pq));
    }
    hf_pg_connection_shut(connection);
    free(connection->ring);
    connection->ring = NULL;
    connection->ring_cap = connection->count = 0;
}
