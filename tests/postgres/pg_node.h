/* SPDX-License-Identifier: Apache-2.0 */
/* A node on a real PostgreSQL: the schema that ships, a clock that the test
 * sets, and sessions of their own for verbs and for pushes. The server is the
 * one that libpq's environment names.
 *
 *     pg_open(&pg, schema);
 *     pg_set_clock(&pg, us);
 *     pg_listen(&pg, "to:3", true);
 *     result = pg_ask(&pg, "acquire", 14, values);    of `pg` until the next
 *     pg_hear(&pg, &text);                            pushes since then
 *     pg_close(&pg); */
#ifndef HF_TESTS_PG_NODE_H
#define HF_TESTS_PG_NODE_H

#include "redis/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define PREPARED_MAX 12

struct pg {
    PGconn *verbs, *ears;
    PGresult *result;
    const char *prepared[PREPARED_MAX];
    int n_prepared;
};

/* A session may be ended and a statement may fail: print why, and stop. */
static inline PGresult *pg_checked(PGconn *conn, PGresult *result,
                                   const char *sql)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        fail_msg("%.200s: %s", sql, PQerrorMessage(conn));
    }
    return result;
}

static inline void pg_do(PGconn *conn, const char *sql)
{
    PQclear(pg_checked(conn, PQexec(conn, sql), sql));
}

/* The rows of a statement, which is prepared the first time. `name` lives as
 * long as `pg`. */
static inline const PGresult *pg_run(struct pg *pg, const char *name,
                                     const char *sql, int n,
                                     const char *const *values)
{
    int at = 0;
    while (at < pg->n_prepared && strcmp(pg->prepared[at], name) != 0) {
        at++;
    }
    if (at == pg->n_prepared) {
        assert_true(at < PREPARED_MAX);
        PQclear(pg_checked(pg->verbs, PQprepare(pg->verbs, name, sql, n, NULL),
                           sql));
        pg->prepared[pg->n_prepared++] = name;
    }
    PQclear(pg->result);
    pg->result = pg_checked(
        pg->verbs, PQexecPrepared(pg->verbs, name, n, values, NULL, NULL, 0),
        sql);
    return pg->result;
}

/* The rows of a function. */
static inline const PGresult *pg_ask(struct pg *pg, const char *function, int n,
                                     const char *const *values)
{
    char sql[300];
    int used =
        snprintf(sql, sizeof(sql), "SELECT * FROM holdfast.%s(", function);
    for (int i = 1; i <= n; i++) {
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, "%s$%d",
                         i == 1 ? "" : ", ", i);
    }
    snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
    return pg_run(pg, function, sql, n, values);
}

static inline int64_t pg_number(const PGresult *result, int row,
                                const char *column)
{
    int at = PQfnumber(result, column);
    assert_true(at >= 0);
    return strtoll(PQgetvalue(result, row, at), NULL, 10);
}

/* Bytes, as text. */
static inline void pg_print(struct sim_text *text, const PGresult *result,
                            int row, const char *column)
{
    size_t len;
    int at = PQfnumber(result, column);
    assert_true(at >= 0);
    unsigned char *bytes = PQunescapeBytea(
        (const unsigned char *)PQgetvalue(result, row, at), &len);
    assert_non_null(bytes);
    sim_text_add(text, (const char *)bytes, len);
    PQfreemem(bytes);
}

static inline void pg_set_clock(struct pg *pg, int64_t us)
{
    char text[24];
    const char *values[] = {text};
    snprintf(text, sizeof(text), "%" PRId64, us);
    pg_run(pg, "clock", "SELECT set_config('holdfast.test_us', $1, false)", 1,
           values);
}

static inline void pg_listen(struct pg *pg, const char *channel, bool hears)
{
    char sql[100];
    snprintf(sql, sizeof(sql), "SELECT holdfast.%s('%s')",
             hears ? "listen" : "unlisten", channel);
    pg_do(pg->ears, sql);
}

/* What was pushed. A session gets what was committed before its statement. */
static inline void pg_hear(struct pg *pg, struct sim_text *text)
{
    pg_do(pg->ears, "SELECT");
    PQconsumeInput(pg->ears);
    for (PGnotify *one = PQnotifies(pg->ears); one != NULL;
         one = PQnotifies(pg->ears)) {
        sim_text_print(text, " %s<%s", one->relname, one->extra);
        PQfreemem(one);
    }
}

/* Install the schema, with the test's clock; a copy may have been changed. */
static inline void pg_install(struct pg *pg, const char *schema)
{
    pg_do(pg->verbs, schema);
    pg_do(pg->verbs,
          "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint"
          " LANGUAGE sql VOLATILE AS $$"
          " SELECT current_setting('holdfast.test_us')::bigint $$");
}

static inline void pg_quiet(void *user, const char *message)
{
    (void)user;
    (void)message;
}

static inline PGconn *pg_connect(void)
{
    PGconn *conn = PQconnectdb("user=postgres");
    if (PQstatus(conn) != CONNECTION_OK) {
        fail_msg("%s", PQerrorMessage(conn));
    }
    PQsetNoticeProcessor(conn, pg_quiet, NULL);
    return conn;
}

/* Delete all names; the marker's value is "m1". */
static inline void pg_reset(struct pg *pg)
{
    pg_do(pg->verbs,
          "DELETE FROM holdfast.lock; DELETE FROM holdfast.waiter;"
          " DELETE FROM holdfast.sharer; DELETE FROM holdfast.once;"
          " DELETE FROM holdfast.value; DELETE FROM holdfast.node;"
          " SELECT holdfast.marker('*', 'm1', false, '', 0, VARIADIC '{}')");
}

static inline void pg_open(struct pg *pg, const char *schema)
{
    memset(pg, 0, sizeof(*pg));
    pg->verbs = pg_connect();
    pg->ears = pg_connect();
    pg_install(pg, schema);
}

static inline void pg_close(struct pg *pg)
{
    PQclear(pg->result);
    PQfinish(pg->verbs);
    PQfinish(pg->ears);
}

#endif
