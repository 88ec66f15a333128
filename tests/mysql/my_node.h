/* SPDX-License-Identifier: Apache-2.0 */
/* A node on a real MariaDB or MySQL (../differential/node.h): the schema that
 * ships. The server is the one at the socket $HF_MYSQL_SOCKET.
 *
 * It has no pushes, and no batches. */
#ifndef HF_TESTS_MY_NODE_H
#define HF_TESTS_MY_NODE_H

#include "../differential/node.h"

#include <mysql.h>

#define RESULTS_MAX 8 /* result sets of one round trip: asserted */

struct my {
    MYSQL *session;
    int64_t us;
    MYSQL_RES *results[RESULTS_MAX]; /* of the last statements */
    int n_results;
};

static inline void my_forget(struct my *my)
{
    while (my->n_results > 0) {
        mysql_free_result(my->results[--my->n_results]);
    }
}

/* Statements in one round trip. One that fails ends the test. */
static inline void my_run(struct my *my, const char *sql, size_t len)
{
    int more = mysql_real_query(my->session, sql, len);
    my_forget(my);
    while (more == 0) {
        MYSQL_RES *result = mysql_store_result(my->session);
        if (result != NULL) {
            assert_true(my->n_results < RESULTS_MAX);
            my->results[my->n_results++] = result;
        }
        more = mysql_next_result(my->session);
    }
    if (more > 0) {
        fail_msg("%.300s: %u: %s", sql, mysql_errno(my->session),
                 mysql_error(my->session));
    }
}

__attribute__((format(printf, 2, 3))) static inline void
my_do(struct my *my, const char *format, ...)
{
    char sql[2000];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(sql, sizeof(sql), format, args);
    va_end(args);
    assert_true(len > 0 && len < (int)sizeof(sql));
    my_run(my, sql, (size_t)len);
}

/* ---- Rows ---------------------------------------------------------------- */

/* Of the first result that has the column. */
static inline const char *my_text(const void *node, int row, const char *column)
{
    const struct my *my = node;
    for (int i = 0; i < my->n_results; i++) {
        MYSQL_RES *result = my->results[i];
        const MYSQL_FIELD *fields = mysql_fetch_fields(result);
        for (unsigned at = 0; at < mysql_num_fields(result); at++) {
            if (strcmp(fields[at].name, column) == 0) {
                mysql_data_seek(result, (unsigned long long)row);
                MYSQL_ROW texts = mysql_fetch_row(result);
                return texts == NULL ? NULL : texts[at];
            }
        }
    }
    fail_msg("no column %s", column);
    return NULL;
}

static inline int my_rows(const void *node)
{
    const struct my *my = node;
    return my->n_results == 0 ? 0 : (int)mysql_num_rows(my->results[0]);
}

/* ---- The node ------------------------------------------------------------ */

/* DELIMITER is a command of the usual clients: servers know where a routine
 * ends. */
static inline void my_install(struct my *my, const char *schema)
{
    struct sim_text text = {0};
    /* To it a comment with an exclamation mark may be an empty statement. */
    bool is_maria =
        strstr(mysql_get_server_info(my->session), "MariaDB") != NULL;
    for (const char *line = schema; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *end = line + len;
        if (strncmp(line, "DELIMITER", 9) == 0) {
            len = 0;
        }
        if (is_maria && len > 5 && strncmp(end - 5, "*/ //", 5) == 0) {
            sim_text_add(&text, line, len - 5); /* no empty statement */
            sim_text_add(&text, "; */\n", 5);
        } else if (len > 2 && strncmp(end - 2, "//", 2) == 0) {
            sim_text_add(&text, line, len - 2);
            sim_text_add(&text, ";\n", 2);
        } else {
            sim_text_add(&text, line, len);
            sim_text_add(&text, "\n", 1);
        }
        line = *end == '\n' ? end + 1 : end;
    }
    my_run(my, text.data, text.len);
    sim_text_fini(&text);
    my_do(my, "DROP FUNCTION holdfast.clock;"
              "CREATE FUNCTION holdfast.clock() RETURNS BIGINT"
              " NOT DETERMINISTIC NO SQL RETURN @test_us");
}

static inline MYSQL *my_connect(void)
{
    MYSQL *session = mysql_init(NULL);
    const char *path = getenv("HF_MYSQL_SOCKET");
    assert_non_null(session);
    if (path == NULL ||
        mysql_real_connect(session, NULL, "root", NULL, NULL, 0, path,
                           CLIENT_MULTI_STATEMENTS) == NULL) {
        fail_msg("%s: %s", path, mysql_error(session));
    }
    return session;
}

static inline void my_reset(void *node)
{
    my_do(node, "DELETE FROM holdfast.lock; DELETE FROM holdfast.waiter;"
                "DELETE FROM holdfast.sharer; DELETE FROM holdfast.once;"
                "DELETE FROM holdfast.value; DELETE FROM holdfast.node;"
                "CALL holdfast.marker('*', 'm1', FALSE, '', 0, '[]')");
}

static inline void *my_open(const char *schema)
{
    struct my *my = calloc(1, sizeof(*my));
    assert_non_null(my);
    my->session = my_connect();
    my_install(my, schema);
    return my;
}

static inline void my_restart(void *node, bool is_server)
{
    struct my *my = node;
    my_forget(my);
    mysql_close(my->session);
    if (is_server) {
        restart_server();
    }
    my->session = my_connect();
}

static inline void my_close(void *node)
{
    struct my *my = node;
    my_forget(my);
    mysql_close(my->session);
    free(my);
}

static inline void my_set_clock(void *node, int64_t us)
{
    struct my *my = node;
    my->us = us;
}

static inline void my_sweep(void *node)
{
    struct my *my = node;
    my_do(my, "SET @test_us = %" PRId64 "; CALL holdfast.sweep('', 1)", my->us);
}

/* ---- Requests ------------------------------------------------------------ */

static inline void my_words_place(struct words *w, const struct request *ask)
{
    word(w, "%s", ask->mode);
    word(w, "%d", ask->flag);
    word(w, "%" PRId64, ask->place_ms);
    word(w, "%" PRIu64, ask->ticket);
    word(w, "%" PRIu64, ask->returned);
}

static inline void my_words_value(struct words *w, const struct request *ask)
{
    word(w, "%" PRIu64, ask->counter);
    w->of[1] = ask->ticket == 0 ? NULL : w->of[1];
    word(w, "%.32s", ask->owner);
    word(w, "%" PRId64, ask->ttl_ms);
    word(w, "data of %.32s", ask->owner);
    w->of[ask->flag ? 4 : 3] = NULL;
}

static inline void my_words_marker(struct words *w, const struct request *ask)
{
    word(w, "%s", ask->marker);
    word(w, "%s", ask->fresh);
    word(w, "%d", ask->flag);
    word(w, "%s", ask->host);
    word(w, "%" PRId64, ask->ttl_ms);
    word(w, ask->fact[0] == '\0' ? "[]" : "[\"%s\", \"" FACT "\"]", ask->fact);
}

static inline void my_words(struct words *w, const struct request *ask)
{
    const char *marker = ask->marker;
    w->n = 0;
    if (ask->verb == MARKER) {
        my_words_marker(w, ask);
        return;
    }
    if (ask->verb != AHEAD) {
        word(w, NAME);
    }
    if (ask->verb != MARK && ask->verb != AHEAD && ask->verb != PUT) {
        word(w, "%s", ask->owner);
    }
    if (ask->verb == ACQUIRE || ask->verb == CONFIRM) {
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, "%" PRIu64, ask->counter);
        word(w, "%s", marker);
        word(w, KEEP_MS);
    }
    if (ask->verb == ACQUIRE) {
        my_words_place(w, ask);
    } else if (ask->verb == CONFIRM) {
        word(w, "%d", ask->flag);
        word(w, "%s", ask->mode);
    } else if (ask->verb == RELEASE) {
        word(w, "%" PRIu64, ask->counter);
        word(w, "%" PRId64, ask->ttl_ms);
        word(w, KEEP_MS);
        word(w, "%s", marker);
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
        my_words_value(w, ask);
    }
}

static inline void my_ask(void *node, const struct request *ask)
{
    struct my *my = node;
    struct words words;
    struct sim_text sql = {0};
    my_words(&words, ask);
    sim_text_print(&sql, "SET @test_us = %" PRId64 "; CALL holdfast.%s(",
                   my->us, verb_names[ask->verb]);
    for (int i = 0; i < words.n; i++) {
        const char *quote = words.of[i] == NULL ? "" : "'";
        sim_text_print(&sql, "%s%s%s%s", i == 0 ? "" : ", ", quote,
                       words.of[i] == NULL ? "NULL" : words.of[i], quote);
    }
    sim_text_print(&sql, ")");
    my_run(my, sql.data, sql.len);
    sim_text_fini(&sql);
}

/* The list; then, for its rows, the counters of the sharers, in the order of
 * the list; then the rest. */
static inline void my_look(void *node)
{
    my_do(node, "CALL holdfast.list('" NAME "', 1000);"
                "SELECT h.counter AS v FROM holdfast.sharer h"
                " JOIN holdfast.lock l ON l.name = h.name AND l.terms >= 0"
                " AND l.owner IS NOT NULL"
                " WHERE h.name = '" NAME "' AND h.until > @test_us DIV 1000"
                " ORDER BY h.counter, h.owner;"
                "SELECT COALESCE(MAX(l.last), '') AS last_owner,"
                " COALESCE(MAX(l.kept_until), 0) AS kept FROM holdfast.lock l"
                " WHERE l.name = '" NAME "'"
                " AND l.kept_until * 1000 + 999 >= @test_us;"
                "CALL holdfast.value_get('" NAME "');"
                "SELECT COALESCE(MAX(p.version), 0) AS last_version,"
                " COALESCE(MAX(p.until), 0) AS until_ms FROM holdfast.value p"
                " WHERE p.name = '" NAME "' AND (p.data IS NOT NULL"
                " OR p.until * 1000 + 999 >= @test_us);"
                "SELECT GROUP_CONCAT(n.field, '=', n.content"
                " ORDER BY n.field SEPARATOR '\n#      ') AS node"
                " FROM holdfast.node n");
}

static const struct node_ops my_ops = {
    .open = my_open,
    .close = my_close,
    .reset = my_reset,
    .set_clock = my_set_clock,
    .sweep = my_sweep,
    .ask = my_ask,
    .look = my_look,
    .rows = my_rows,
    .text = my_text,
    .restart = my_restart,
};

#endif
