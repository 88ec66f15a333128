/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to PostgreSQL, through libpq, that never blocks.
 *
 *     CLOSED ──start──▶ LOOKING UP ──▶ OPENING ──▶ OPEN ──▶ broken
 *        ▲                                                     │
 *        └───────────────────────shut──────────────────────────┘
 *
 * The connection is in pipeline mode. Each request is one statement and one
 * Sync, so it is one transaction: `replied` is called when the server has
 * committed it, or has failed. Through a pooler a label goes before it, so that
 * the answer to another client is not taken for ours (labels.c).
 * hf_pg_connection_break() only sets `is_broken`;
 * the owner closes the connection in `settled`, the last callback of each
 * event. All callbacks come from hf_loop_dispatch(). */
#ifndef HF_POSTGRES_CONNECTION_H
#define HF_POSTGRES_CONNECTION_H

#include "store/postgres/target.h"
#include "store/sql/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pg_conn;   /* PGconn */
struct pg_result; /* PGresult */
struct hf_pg_connection;

/* Parameters of one statement. Must not be copied or moved: values point into
 * it. The values are borrowed. */
#define HF_PG_PARAMS_MAX 20
#define HF_PG_NUMBERS_MAX 12
struct hf_pg_params {
    int n;
    unsigned n_numbers;
    const char *values[HF_PG_PARAMS_MAX];
    int lens[HF_PG_PARAMS_MAX];
    int formats[HF_PG_PARAMS_MAX];
    char numbers[HF_PG_NUMBERS_MAX][HF_TEXT_NUMBER];
};

/* Without parameters. Those that follow are $1, $2 and so on, in the order of
 * the calls: HF_PG_PARAMS_MAX in all. */
void hf_pg_params_init(struct hf_pg_params *params);

/** A bytea, in binary. @param data  borrowed until the request is queued. */
void hf_pg_params_bytes(struct hf_pg_params *params, const void *data,
                        size_t len);

/** A text, or any type in its text form. @param text  borrowed until the
 * request is queued. */
void hf_pg_params_text(struct hf_pg_params *params, const char *text);

/* A number, as text: HF_PG_NUMBERS_MAX at most. */
void hf_pg_params_number(struct hf_pg_params *params, int64_t number);

/* A boolean. */
void hf_pg_params_flag(struct hf_pg_params *params, bool flag);

/* SQL's NULL. */
void hf_pg_params_null(struct hf_pg_params *params);

/* Statements that a connection prepares, at most. */
#define HF_PG_STATEMENTS_MAX 24
#define HF_PG_STATEMENT_RENEW 23 /* the others are the verbs' */

/* A request whose reply is pending. */
struct hf_pg_pending {
    uint64_t cookie;
    struct hf_instant sent;
    uint8_t kind;      /* enum hf_verb, or a kind of the connection's owner */
    uint8_t statement; /* that it prepares; HF_PG_STATEMENTS_MAX: none */
    bool is_script;    /* sent outside of the pipeline */
    uint64_t label;    /* 0: it has none */
};

/* The reply to one request. */
struct hf_pg_reply {
    struct pg_result *rows;  /* NULL: none; borrowed for the callback */
    struct pg_result *error; /* NULL: committed; borrowed for the callback */
    bool is_unsure;          /* `error`, or a warning, came after the rows: at
                                the commit, which may have happened */
};

/* An event of the connection. It may queue requests and break the connection;
 * only `settled` may close it, or start it again, and it must close a broken
 * one. In the thread that dispatches the loop. */
typedef void hf_pg_connection_fn(struct hf_pg_connection *connection,
                                 struct hf_instant now);

/* The reply to the oldest request, which is pending no more. It may queue
 * requests and break the connection, but must not close it. */
typedef void hf_pg_reply_fn(struct hf_pg_connection *connection,
                            const struct hf_pg_pending *pending,
                            const struct hf_pg_reply *reply,
                            struct hf_instant now);

/* Assert the owner's invariants; change nothing. Before and after each event of
 * the socket, and after each of the timer. */
typedef void hf_pg_check_fn(const struct hf_pg_connection *connection);

/** A NOTIFY, after the replies that came with it. The same is allowed as in a
 * reply.
 * @param payload  its text; borrowed for the call. */
typedef void hf_pg_notice_fn(struct hf_pg_connection *connection,
                             const char *payload);

/* Of the owner: all are set. */
struct hf_pg_connection_events {
    hf_pg_connection_fn *opened;  /* authenticated */
    hf_pg_reply_fn *replied;      /* the reply to the oldest request */
    hf_pg_notice_fn *notified;    /* NOTIFY on a channel of ours */
    hf_pg_connection_fn *timed;   /* the timer, CLOSED or OPEN */
    hf_pg_connection_fn *settled; /* last: close if broken, set the timer */
    hf_pg_check_fn *check;
};

struct hf_pg_connection {
    struct hf_sql_link link; /* first */
    const struct hf_pg_connection_events *events;
    const struct hf_pg_target *target;
    struct pg_conn *pq;
    struct hf_pg_pending *ring;
    size_t ring_cap; /* a power of two */
    size_t head;
    size_t count;
    struct pg_result *rows; /* of the oldest request, so far */
    struct pg_result *error;
    bool is_unsure;
    bool has_label;    /* the label of the oldest request has come */
    bool owns_session; /* no pooler is in between: without labels */
    uint64_t labels;   /* of the last request; random at the start */
    unsigned empties;  /* results that were NULL, in a row */
    uint32_t prepared; /* a bit for each statement */
    bool is_dirty;     /* bytes may wait in libpq */
};

/* CLOSED, and no retry is planned. */
void hf_pg_connection_init(struct hf_pg_connection *connection,
                           const struct hf_pg_connection_events *events,
                           const struct hf_store_env *env,
                           const struct hf_pg_target *target,
                           struct hf_span connect_timeout);

/** @param is_forked  true in a forked child: send nothing to the server. */
void hf_pg_connection_fini(struct hf_pg_connection *connection, bool is_forked);

/* Connect. May break at once: the caller must check `is_broken`. */
void hf_pg_connection_start(struct hf_pg_connection *connection,
                            struct hf_instant now);

/* Describe the step in which the connection timed out, at `now`. */
void hf_pg_connection_late_text(const struct hf_pg_connection *connection,
                                struct hf_instant now, char *out, size_t size);

/** Queue one request. `pending->statement` is filled in.
 * @param statement  to prepare once and use; HF_PG_STATEMENTS_MAX: none.
 * @return false: nothing was queued; out of memory, or the connection breaks.
 */
bool hf_pg_connection_ask(struct hf_pg_connection *connection,
                          const struct hf_pg_pending *pending,
                          unsigned statement, const char *sql,
                          const struct hf_pg_params *params);

/* The same for a script of several statements, when no request is pending. */
bool hf_pg_connection_run(struct hf_pg_connection *connection,
                          const struct hf_pg_pending *pending, const char *sql);

/* Write the queued requests. */
void hf_pg_connection_flush(struct hf_pg_connection *connection);

/* Has the server closed the connection? For connections that were idle. */
bool hf_pg_connection_is_dead(const struct hf_pg_connection *connection);

/* Since when a reply is pending and none has come; HF_NEVER: none is pending.
 */
struct hf_instant
hf_pg_connection_silent_since(const struct hf_pg_connection *connection);

/* node_check.c: assert the invariants of the connection between two events of
 * the loop: PN-1 to PN-4. */
void hf_pg_connection_check(const struct hf_pg_connection *connection);

/* Close. Pending requests stay until they are popped. */
void hf_pg_connection_shut(struct hf_pg_connection *connection);

/** Remove the oldest request. @return false: there is none. */
bool hf_pg_connection_pop(struct hf_pg_connection *connection,
                          struct hf_pg_pending *out);

/* CLOSED: neither connected nor connecting, so it may be started. */
static inline bool
hf_pg_connection_is_closed(const struct hf_pg_connection *connection)
{
    return connection->pq == NULL && connection->link.resolve == NULL;
}

/* Mark it broken; the first reason is kept. `settled` must close it. */
static inline void hf_pg_connection_break(struct hf_pg_connection *connection,
                                          enum hf_status fault,
                                          const char *reason)
{
    hf_sql_link_break(&connection->link, fault, reason);
}

#endif
