/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to MySQL or MariaDB, through libmariadb, that never blocks.
 *
 *     CLOSED ──start──▶ LOOKING UP ──▶ OPENING ──▶ OPEN ──▶ broken
 *        ▲        └────▶ DIALLING, for TLS ────────▲           │
 *        └───────────────────────shut──────────────────────────┘
 *
 * The statements of one text are under way at a time, each with a reply: the
 * owner keeps the queue.
 * hf_mysql_connection_break() only sets `is_broken`; the owner closes the
 * connection in `settled`, the last callback of each event. All callbacks come
 * from hf_loop_dispatch(), and `replied` also from inside
 * hf_mysql_connection_ask(). */
#ifndef HF_MYSQL_CONNECTION_H
#define HF_MYSQL_CONNECTION_H

#include "store/mysql/dial.h"
#include "store/mysql/target.h"
#include "store/sql/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_mysql_res; /* MYSQL_RES */
struct hf_mysql_connection;

/* One reply to a statement: its rows, or its end. A CALL has first the reply of
 * each query in it, and then one without rows. All is borrowed for the
 * callback. */
struct hf_mysql_reply {
    bool is_last;     /* of its request: after an error, nothing more is
                         executed */
    unsigned error;   /* the server's number; 0: none */
    const char *text; /* of the error */
    const char *sqlstate;
    struct st_mysql_res *rows;  /* NULL: not of a query, or an error */
    unsigned n;                 /* columns of the first row; 0: no row */
    const char *const *columns; /* of it; NULL: SQL's NULL */
};

/* The rows of this reply are the owner's from now on: mysql_free_result(). Call
 * it in `replied`. */
void hf_mysql_connection_keep(struct hf_mysql_connection *connection);

/* An event of the connection. It may start statements, if none are under way
 * and it is OPEN, and break the connection; only `settled` may close it, or
 * start it again, and it must close a broken one. In the thread that dispatches
 * the loop. */
typedef void hf_mysql_connection_fn(struct hf_mysql_connection *connection,
                                    struct hf_instant now);

/* One reply to the statements under way. It may start the next ones once
 * `is_last` is set, and break the connection, but must not close it. It may be
 * called from inside hf_mysql_connection_ask(). */
typedef void hf_mysql_reply_fn(struct hf_mysql_connection *connection,
                               const struct hf_mysql_reply *reply,
                               struct hf_instant now);

/* Assert the owner's invariants; change nothing. Before and after each event of
 * the socket, and after each of the timer. */
typedef void
hf_mysql_connection_check_fn(const struct hf_mysql_connection *connection);

/* Of the owner: all are set. */
struct hf_mysql_connection_events {
    hf_mysql_connection_fn *opened;  /* authenticated */
    hf_mysql_reply_fn *replied;      /* rows, or the statement has ended */
    hf_mysql_connection_fn *timed;   /* the timer, CLOSED or OPEN */
    hf_mysql_connection_fn *settled; /* last: close if broken, set the timer */
    hf_mysql_connection_check_fn *check;
};

struct hf_mysql_connection {
    struct hf_sql_link link; /* first */
    const struct hf_mysql_connection_events *events;
    const struct hf_mysql_target *target;
    struct hf_mysql_dial *dial; /* it has `sql` and `login` */
    struct st_mysql *sql;
    struct hf_mysql_login login; /* while it connects */
    enum {
        HF_MYSQL_REST,    /* no call is under way */
        HF_MYSQL_CONNECT, /* mysql_real_connect() */
        HF_MYSQL_QUERY,   /* mysql_real_query() */
        HF_MYSQL_STORE,   /* mysql_store_result() */
        HF_MYSQL_NEXT     /* mysql_next_result() */
    } call;
    int has_failed;            /* the call that has ended */
    struct st_mysql_res *rows; /* the same; then of the reply */
    int waits_for;             /* MYSQL_WAIT_*, while a call is under way */
    const char *statements;    /* under way; borrowed */
    size_t statements_len;
    struct hf_instant sent_at; /* when they were sent */
};

/* CLOSED, and no retry is planned. */
void hf_mysql_connection_init(struct hf_mysql_connection *connection,
                              const struct hf_mysql_connection_events *events,
                              const struct hf_store_env *env,
                              const struct hf_mysql_target *target,
                              struct hf_span connect_timeout);

/** @param is_forked  true in a forked child: send nothing to the server. */
void hf_mysql_connection_fini(struct hf_mysql_connection *connection,
                              bool is_forked);

/* Connect. May break at once: the caller must check `is_broken`. */
void hf_mysql_connection_start(struct hf_mysql_connection *connection,
                               struct hf_instant now);

/* Describe the step in which the connection timed out, at `now`. */
void hf_mysql_connection_late_text(const struct hf_mysql_connection *connection,
                                   struct hf_instant now, char *out,
                                   size_t size);

/* Execute statements, which are separated by ";". They stay the caller's, and
 * valid until the last reply. The connection must be OPEN, without any under
 * way. */
void hf_mysql_connection_ask(struct hf_mysql_connection *connection,
                             const char *statements, size_t len,
                             struct hf_instant now);

/* Has the server closed the connection? For connections that were idle. */
bool hf_mysql_connection_is_dead(const struct hf_mysql_connection *connection);

/* Close. A statement under way has no reply. */
void hf_mysql_connection_shut(struct hf_mysql_connection *connection);

/* The number of the session, as reported at its opening by the server, or by a
 * proxy in front of it. Of the server's 64 bits, the protocol has 32. */
uint32_t hf_mysql_connection_id(const struct hf_mysql_connection *connection);

/* CLOSED: neither connected nor connecting, so it may be started. */
static inline bool
hf_mysql_connection_is_closed(const struct hf_mysql_connection *connection)
{
    return connection->sql == NULL && connection->link.resolve == NULL &&
           connection->dial == NULL;
}

/* Mark it broken; the first reason is kept. `settled` must close it. */
static inline void
hf_mysql_connection_break(struct hf_mysql_connection *connection,
                          enum hf_status fault, const char *reason)
{
    hf_sql_link_break(&connection->link, fault, reason);
}

/* Are statements under way? */
static inline bool
hf_mysql_connection_is_busy(const struct hf_mysql_connection *connection)
{
    return connection->call >= HF_MYSQL_QUERY;
}

#endif
