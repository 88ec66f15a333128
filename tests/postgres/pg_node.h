/* SPDX-License-Identifier: Apache-2.0 */
/* A node on a real PostgreSQL (../differential/node.h): the schema that ships,
 * and sessions of their own for verbs and for pushes. The server is the one
 * that libpq's environment names. */
#ifndef HF_TESTS_PG_NODE_H
#define HF_TESTS_PG_NODE_H

#include "../differential/node.h"

#include <libpq-fe.h>

#include <time.h>

#define PREPARED_MAX 16 /* statements: one of each function, asserted */
#define TEXTS 4 /* that are in use at a time, in a ring: columns of a row */
#define TEXT_MAX 400 /* bytes of one: asserted */
#define BYTEA 17     /* a type's oid, for ever */

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

/* Bytes are escaped. */
static inline const char *pg_text(const void *node, int row, const char *column)
{
    static char texts[TEXTS][TEXT_MAX];
    static unsigned at;
    const struct pg *pg = node;
    int col = PQfnumber(pg->result, column);
    assert_true(col >= 0);
    if (PQgetisnull(pg->result, row, col)) {
        return NULL;
    }
    const char *text = PQgetvalue(pg->result, row, col);
    if (PQftype(pg->result, col) != BYTEA) {
        return text;
    }
    size_t len;
    char *out = texts[at++ % TEXTS];
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)text, &len);
    assert_true(bytes != NULL && len < TEXT_MAX);
    memcpy(out, bytes, len);
    out[len] = '\0';
    PQfreemem(bytes);
    return out;
}

static inline int pg_rows(const void *node)
{
    const struct pg *pg = node;
    return PQntuples(pg->result);
}

static inline void pg_set_clock(void *node, int64_t us)
{
    struct pg *pg = node;
    char text[24];
    const char *values[] = {text};
    snprintf(text, sizeof(text), "%" PRId64, us);
    pg_run(pg, "clock", "SELECT set_config('holdfast.test_us', $1, false)", 1,
           values);
}

static inline void pg_listen(void *node, const char *channel, bool hears)
{
    struct pg *pg = node;
    char sql[100];
    snprintf(sql, sizeof(sql), "SELECT holdfast.%s('%s')",
             hears ? "listen" : "unlisten", channel);
    pg_do(pg->ears, sql);
}

/* What was pushed. A session gets what was committed before its statement. */
static inline void pg_hear(void *node, struct sim_text *text)
{
    struct pg *pg = node;
    pg_do(pg->ears, "SELECT");
    PQconsumeInput(pg->ears);
    for (PGnotify *one = PQnotifies(pg->ears); one != NULL;
         one = PQnotifies(pg->ears)) {
        sim_text_print(text, " %s<%s", one->relname, one->extra);
        PQfreemem(one);
    }
}

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

static inline void pg_disconnect(struct pg *pg)
{
    PQclear(pg->result);
    pg->result = NULL;
    PQfinish(pg->verbs);
    PQfinish(pg->ears);
    pg->n_prepared = 0;
}

/* A session that has ended listens until its process has gone. */
static inline bool pg_is_heard(struct pg *pg)
{
    static const char sql[] =
        "SELECT FROM pg_locks WHERE locktype = 'advisory'";
    return PQntuples(pg_run(pg, "heard", sql, 0, NULL)) > 0;
}

static inline void pg_restart(void *node, bool is_server)
{
    struct pg *pg = node;
    pg_disconnect(pg);
    if (is_server) {
        restart_server();
    }
    pg->verbs = pg_connect();
    pg->ears = pg_connect();
    time_t end = time(NULL) + 30;
    while (pg_is_heard(pg)) {
        assert_true(time(NULL) < end);
    }
}

static inline void pg_reset(void *node)
{
    struct pg *pg = node;
    pg_do(pg->verbs,
          "DELETE FROM holdfast.lock; DELETE FROM holdfast.waiter;"
          " DELETE FROM holdfast.sharer; DELETE FROM holdfast.once;"
          " DELETE FROM holdfast.value; DELETE FROM holdfast.node;"
          " SELECT holdfast.marker('*', 'm1', false, '', 0, VARIADIC '{}')");
}

static inline void *pg_open(const char *schema)
{
    struct pg *pg = calloc(1, sizeof(*pg));
    assert_non_null(pg);
    pg->verbs = pg_connect();
    pg->ears = pg_connect();
    pg_install(pg, schema);
    return pg;
}

static inline void pg_close(void *node)
{
    struct pg *pg = node;
    pg_disconnect(pg);
    free(pg);
}

static inline void pg_sweep(void *node)
{
    static const char *const after[] = {"", "1"};
    pg_ask(node, "sweep", 2, after);
}

/* ---- Requests ------------------------------------------------------------ */

static inline void pg_words_acquire(struct words *w, const struct request *ask,
                                    const char *marker)
{
    word(w, NAME);
    word(w, "%s", ask->owner);
    word(w, "%" PRId64, ask->ttl_ms);
    word(w, "%" PRIu64, ask->counter);
    word(w, "%s", marker);
    word(w, KEEP_MS);
    word(w, "%s", ask->mode);
    word(w, "%d", ask->flag);
    word(w, "%" PRId64, ask->place_ms);
    word(w, "%" PRIu64, ask->ticket);
    word(w, "%s", ask->channel);
    word(w, "%u", ask->cookie);
    word(w, "%" PRIu64, ask->returned);
    word(w, "1");
}

static inline void pg_words(struct words *w, const struct request *ask)
{
    const char *marker = ask->marker;
    w->n = 0;
    if (ask->verb == ACQUIRE) {
        pg_words_acquire(w, ask, marker);
        return;
    }
    if (ask->verb != AHEAD) {
        word(w, NAME);
    }
    if (ask->verb != MARK && ask->verb != AHEAD && ask->verb != PUT) {
        word(w, "%s", ask->owner);
    }
    if (ask->verb == CONFIRM) {
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, "%" PRIu64, ask->counter);
        word(w, "%s", marker);
        word(w, KEEP_MS);
        word(w, "%d", ask->flag);
        word(w, "%s", ask->mode);
    } else if (ask->verb == RELEASE) {
        word(w, "%" PRIu64, ask->counter);
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, KEEP_MS);
        word(w, "%s", marker);
        word(w, "1");
    } else if (ask->verb == BREAK) {
        word(w, "%d", ask->flag);
        word(w, "%s", marker);
        word(w, KEEP_MS);
        word(w, "%d", MAX_TTL_MS);
        word(w, "%s", ask->other);
    } else if (ask->verb == MARK) {
        word(w, "%s", marker);
        word(w, "%" PRIu64, ask->counter);
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, "%s", ask->flag ? "" : ask->owner);
    } else if (ask->verb == AHEAD) {
        word(w, "%s", ask->flag ? marker : "");
        word(w, KEEP_MS);
        word(w, "%d", MAX_TTL_MS);
    } else {
        word(w, "%" PRIu64, ask->counter);
        w->of[1] = ask->ticket == 0 ? NULL : w->of[1];
        word(w, "%.32s", ask->owner);
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, "data of %.32s", ask->owner);
        w->of[ask->flag ? 4 : 3] = NULL;
    }
}

static inline void pg_marker(struct pg *pg, const struct request *ask)
{
    static const char sql[] = "SELECT holdfast.marker($1, $2, $3, $4, $5,"
                              " VARIADIC $6::text[]) AS verdict";
    struct words words = {.n = 0};
    word(&words, "%s", ask->marker);
    word(&words, "%s", ask->fresh);
    word(&words, "%d", ask->flag);
    word(&words, "%s", ask->host);
    word(&words, "%" PRId64, ask->ttl_ms);
    word(&words, ask->fact[0] == '\0' ? "{}" : "{%s," FACT "}", ask->fact);
    pg_run(pg, "marker", sql, words.n, words.of);
}

static inline void pg_request(void *node, const struct request *ask)
{
    struct words words;
    if (ask->verb == MARKER) {
        pg_marker(node, ask);
        return;
    }
    pg_words(&words, ask);
    pg_ask(node, verb_names[ask->verb], words.n, words.of);
}

static inline bool pg_renew(void *node, const struct request *ask)
{
    static const char in_batch[] =
        "SELECT (r.answer).* FROM holdfast.renew(ARRAY['" NAME "b', '" NAME
        "']::bytea[], ARRAY[$2, $2]::bytea[], ARRAY[$3, $3]::bigint[],"
        " ARRAY[$4, $4]::bigint[], $5, $6) AS r WHERE r.nth = 2 AND $1 = '" NAME
        "'";
    enum { WORDS = 6 }; /* of CONFIRM, without holder and mode */
    struct words words;
    pg_words(&words, ask);
    return PQntuples(pg_run(node, "batch", in_batch, WORDS, words.of)) == 1;
}

static inline void pg_look(void *node)
{
    static const char query[] =
        "SELECT s.*, h.counter AS v, coalesce(l.last, '') AS last_owner,"
        " coalesce(l.kept_until, 0) AS kept, v.version, v.data, v.id,"
        " coalesce(p.version, 0) AS last_version,"
        " coalesce(p.until, 0) AS until_ms,"
        " (SELECT string_agg(n.field || '=' || n.content, E'\n#      '"
        " ORDER BY n.field COLLATE \"C\") FROM holdfast.node n) AS node"
        " FROM holdfast.list('" NAME "', 1000) AS s"
        " CROSS JOIN holdfast.value_get('" NAME "') AS v"
        " LEFT JOIN holdfast.sharer h ON h.name = '" NAME "'"
        " AND h.owner = s.seat_owner AND s.seat_ticket = 0"
        " LEFT JOIN holdfast.value p ON p.name = '" NAME "'"
        " AND (p.data IS NOT NULL OR p.until * 1000 + 999"
        " >= current_setting('holdfast.test_us')::bigint)"
        " LEFT JOIN holdfast.lock l ON l.name = '" NAME "'"
        " AND l.kept_until * 1000 + 999"
        " >= current_setting('holdfast.test_us')::bigint";
    pg_run(node, "state", query, 0, NULL);
}

static const struct node_ops pg_ops = {
    .open = pg_open,
    .close = pg_close,
    .reset = pg_reset,
    .set_clock = pg_set_clock,
    .sweep = pg_sweep,
    .ask = pg_request,
    .look = pg_look,
    .rows = pg_rows,
    .text = pg_text,
    .renew = pg_renew,
    .listen = pg_listen,
    .hear = pg_hear,
    .restart = pg_restart,
};

#endif
