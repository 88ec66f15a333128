/* SPDX-License-Identifier: Apache-2.0 */
/* The PostgreSQL server as this client knows it: a connection that reconnects,
 * and the identity that the server reported. store/sql/sql.h has its phases.
 *
 *     hf_pg_node_open(&node, now)      arms a timer; nothing is sent yet
 *     ... the loop connects: hf_pg_handshake(), _reply(), hf_pg_judge()
 *     hf_pg_ask(&node, &ask, now)      in any phase: one that is not READY
 *                                      answers at once, with the reason
 *     hf_pg_node_resume(&node, now)    the client was idle and is not any more
 *     hf_pg_node_close(&node, is_forked)  pending requests are not answered
 *
 * The rest of this header declares, by file, the functions that its files call
 * of each other. All of it runs in an event of the loop, or in a call of the
 * store, and returns without blocking. Each event ends with hf_pg_node_check().
 *
 * Owner: struct hf_pg owns its node; a node owns its connection and batches.
 * Texts are copied; the data of a reply is borrowed until the event ends.
 * Threads: the thread that holds the client. Errors: none is returned. A broken
 * connection is marked, and lost at the end of the event: its requests are
 * UNKNOWN, and hf_sql_node_report() reports the fault and its reason.
 * Source: PostgreSQL manual, "libpq: Asynchronous Command Processing". */
#ifndef HF_POSTGRES_NODE_H
#define HF_POSTGRES_NODE_H

#include "store/postgres/connection.h"
#include "store/sql/sql.h"

/* Bytes of a name with its prefix, in the schema's tables. */
#define HF_PG_NAME_MAX HF_CURSOR_NAME_MAX

/* The version of the schema that this client installs, and the least that it
 * can use. */
#define HF_PG_SCHEMA_VERSION 2

/* A call of a function in a transaction of its own, for a session with
 * settings of others: a pooler's. Its commit is on the disk before it
 * counts, and a warning at the commit is shown. LATERAL and OFFSET keep the
 * order: the function, which may want a later commit, comes last. */
#define HF_PG_CALL(columns, call)                                              \
    "SELECT " columns " FROM set_config('synchronous_commit', CASE"            \
    " current_setting('synchronous_commit') WHEN 'off' THEN 'local'"           \
    " ELSE current_setting('synchronous_commit') END, true) AS c,"             \
    " set_config('client_min_messages', 'warning', true) AS m,"                \
    " LATERAL (SELECT * FROM " call                                            \
    " WHERE c IS NOT NULL AND m IS NOT NULL OFFSET 0) AS a"

/* Kinds of pending requests, in addition to enum hf_verb. */
enum hf_pg_request {
    HF_PG_IDENTITY = 32,
    HF_PG_FACTS, /* the last of a handshake */
    HF_PG_INSTALL,
    HF_PG_MARK,
    HF_PG_PEEK,
    HF_PG_LISTEN,
    HF_PG_UNLISTEN,
    HF_PG_SWEEP,
    HF_PG_RENEW,
    HF_PG_SURVEY, /* from here on: jobs */
    HF_PG_PROBE_ACQUIRE,
    HF_PG_PROBE_RELEASE,
    HF_PG_PROBE_BLOAT
};

/* Pushes: the state of LISTEN on the connection. */
enum hf_pg_listening { HF_PG_LISTEN_OFF, HF_PG_LISTEN_ASKED, HF_PG_LISTEN_ON };

struct hf_pg;
struct hf_pg_batch; /* renew_batch.c */

struct hf_pg_node {
    struct hf_pg_connection connection; /* first: its handlers cast to this */
    struct hf_sql_node base;
    struct hf_pg *store;

    /* The server's replies in the last handshake. */
    bool is_standby;
    bool is_read_only;
    bool is_pooled; /* a pooler is in between: each request may meet another
                       session, which other clients use too */
    char isolation[HF_TEXT_NUMBER]; /* default_transaction_isolation, if
                                       `is_pooled` */
    bool may_create;                /* schemas in the database */
    bool is_owner;                  /* of the schema holdfast */
    char role[HF_TEXT_NAME];
    char database[HF_TEXT_NAME];
    int server_version; /* 150018 */
    char version[HF_TEXT_WORD];
    int64_t serves;      /* a later schema: the least client version that it
                            serves; 0: only its own */
    bool is_synchronous; /* a synchronous standby is configured */
    char unlogged[HF_TEXT_SHORT]; /* a table that a crash empties; "": none */

    enum hf_pg_listening listening;
    char channel[HF_TEXT_WORD];   /* on which grants are pushed, if not OFF */
    struct hf_instant wanted_at;  /* last answer QUEUED */
    struct hf_instant refused_at; /* LISTEN failed; HF_LONG_AGO */
    bool has_warned;              /* that it failed */

    uint64_t acquires; /* until the next sweep: sweep.c */
    size_t swept_len;
    char swept[HF_PG_NAME_MAX]; /* where the next sweep goes on */

    struct hf_pg_batch *gathered; /* renewals to be sent; NULL: none */
    struct hf_pg_batch *sent;     /* the oldest batch that is not answered */
};

struct hf_pg {
    struct hf_sql_store base; /* first */
    struct hf_pg_target target;
    struct hf_pg_node node;
};

/* ---- node.c -------------------------------------------------------------- */

/* Make the connection, and arm the timer: it connects from the loop. The
 * store's struct is complete by then. */
void hf_pg_node_open(struct hf_pg_node *node, struct hf_instant now);

/** Free the connection and the batches, after a last flush. @param is_forked
 * true in a forked child: send nothing to the server. */
void hf_pg_node_close(struct hf_pg_node *node, bool is_forked);

/* If a timer was due and could not run, do its work now. */
void hf_pg_node_resume(struct hf_pg_node *node, struct hf_instant now);

/* The earliest event that is due in this phase. */
struct hf_instant hf_pg_node_due(const struct hf_pg_node *node);

/* Set the timer to that. */
void hf_pg_node_arm(struct hf_pg_node *node);

/* Send one request of ours, without a name. Breaks the connection if that
 * fails. */
void hf_pg_node_ask(struct hf_pg_node *node, uint8_t kind, const char *sql,
                    const struct hf_pg_params *params, struct hf_instant now);

/* ---- node_check.c -------------------------------------------------------- */

/* Assert PN-5, PN-6 and SN-1 to SN-6, which hold between two events of the
 * loop. */
void hf_pg_node_check(const struct hf_pg_node *node);

/* ---- handshake.c --------------------------------------------------------- */

/* Begin a handshake on an open connection. */
void hf_pg_handshake(struct hf_pg_node *node, struct hf_instant now);

/* The server's identity is in doubt: stop sending requests, and repeat the
 * handshake. */
void hf_pg_reidentify(struct hf_pg_node *node, const char *why,
                      struct hf_instant now);

/* In quarantine: has another client ended it? */
void hf_pg_peek(struct hf_pg_node *node, struct hf_instant now);

/* The reply to any request of a handshake, of an installation, or to a peek.
 * The last one decides whether the server votes. */
void hf_pg_handshake_reply(struct hf_pg_node *node,
                           const struct hf_pg_pending *pending,
                           const struct hf_pg_reply *reply,
                           struct hf_instant now);

/* ---- admission.c --------------------------------------------------------- */

/* The handshake is complete: decide whether the server votes. */
void hf_pg_judge(struct hf_pg_node *node);

/* The reply to the writing of the marker. */
void hf_pg_marked(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                  struct hf_instant now);

/* ---- ask.c: requests to statements --------------------------------------- */

/* Send a request of the client, or answer it at once if the node is not READY.
 * Its answer comes once, also if the connection breaks. */
void hf_pg_ask(struct hf_pg_node *node, const struct hf_ask *ask,
               struct hf_instant now);

/** Queue the statement of a verb; `pending` has its cookie and kind. @return
 * false: not queued. */
bool hf_pg_ask_verb(struct hf_pg_node *node, const struct hf_ask *ask,
                    const struct hf_pg_pending *pending);

/** Answer a request that cannot be sent now, with the reason. @return false: it
 * can be sent. */
bool hf_pg_ask_refuse(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending, bool needs_vote);

/* The arguments of a call, which must stay, as parameters. */
void hf_pg_params_call(struct hf_pg_params *params,
                       const struct hf_sql_call *call);

/* ---- renew_batch.c: many renewals in one request ------------------------- */

/** Keep a CONFIRM, to be sent with others. The order of requests stays: call
 * hf_pg_renew_send() before any other request. @return false: it is to be sent
 * alone. */
bool hf_pg_renew_gather(struct hf_pg_node *node, const struct hf_ask *ask,
                        struct hf_instant now);

/* Send the gathered renewals. */
void hf_pg_renew_send(struct hf_pg_node *node, struct hf_instant now);

/* The same, unless a request is under way: then when it was answered. */
void hf_pg_renew_flush(struct hf_pg_node *node, struct hf_instant now);

/* The reply to the oldest batch. */
void hf_pg_renewed(struct hf_pg_node *node, const struct hf_pg_reply *reply,
                   struct hf_instant now);

/* The connection is lost. The oldest batch is UNKNOWN; the requests gathered
 * after it are UNSENT. */
void hf_pg_renew_lost(struct hf_pg_node *node, enum hf_status fault,
                      const char *reason);

/* Answer the gathered renewals as UNSENT: the server has seen none of them. */
void hf_pg_renew_unsent(struct hf_pg_node *node, enum hf_status fault,
                        const char *reason);

/* Free the batches without answers: the node closes. */
void hf_pg_renew_fini(struct hf_pg_node *node);

/* ---- answer.c: replies to answers ---------------------------------------- */

/* Answer the request of the client to which this is the reply. */
void hf_pg_answer(struct hf_pg_node *node, const struct hf_pg_pending *pending,
                  const struct hf_pg_reply *reply, struct hf_instant now);

/* The same for one row of several, of a verb that is answered by a row. */
void hf_pg_answer_row(struct hf_pg_node *node,
                      const struct hf_pg_pending *pending,
                      const struct pg_result *rows, int n,
                      struct hf_instant now);

/* Report a request that was not executed, or may not have been. */
void hf_pg_answer_none(struct hf_pg_node *node,
                       const struct hf_pg_pending *pending,
                       enum hf_verdict verdict, enum hf_status fault,
                       const char *reason);

/* ---- listen.c: pushed grants --------------------------------------------- */

/* A lock of the client waits here: LISTEN, or go on listening. */
void hf_pg_listen_want(struct hf_pg_node *node, struct hf_instant now);

/* The reply to LISTEN: pushes are on, or a later waiter tries again. That to
 * UNLISTEN changes nothing. */
void hf_pg_listen_reply(struct hf_pg_node *node,
                        const struct hf_pg_pending *pending,
                        const struct hf_pg_reply *reply, struct hf_instant now);

/* The connection is lost, and its LISTEN with it: report that to the client.
 * The next waiter asks for it again. */
void hf_pg_listen_lost(struct hf_pg_node *node);

/* The timer is due: stop listening, if no lock has waited for long. */
void hf_pg_listen_timed(struct hf_pg_node *node, struct hf_instant now);

/* When hf_pg_listen_timed() is due; HF_NEVER. */
struct hf_instant hf_pg_listen_due(const struct hf_pg_node *node);

/* A NOTIFY has arrived: pass the grant to the client. A payload that is no
 * grant is logged, and ignored. */
void hf_pg_listen_notified(struct hf_pg_node *node, const char *payload);

/* ---- sweep.c: idle names ------------------------------------------------- */

/* An ACQUIRE was sent: delete some idle names of the database, now and then. */
void hf_pg_sweep(struct hf_pg_node *node, struct hf_instant now);

/* The reply to a sweep: the next one goes on behind it. */
void hf_pg_swept(struct hf_pg_node *node, const struct hf_pg_reply *reply);

/* ---- fault.c: errors ----------------------------------------------------- */

/** @return the status that an error means; `out` gets its text, one line. */
enum hf_status hf_pg_fault(const struct pg_result *error, char *out,
                           size_t size);

/* Does the error have this SQLSTATE, or one of this class? */
bool hf_pg_fault_is(const struct pg_result *error, const char *sqlstate);

/* ---- rows.c: values of a reply ------------------------------------------- */

/** @return the value of an int2, int4 or int8 column; 0 if it is NULL or not
 * there. */
int64_t hf_pg_integer(const struct pg_result *rows, int row, int column);

/** @return whether a boolean column is true; NULL, or not there: false. */
bool hf_pg_is_true(const struct pg_result *rows, int row, int column);

/* Borrowed; not NUL-terminated. */
struct hf_bytes hf_pg_bytes(const struct pg_result *rows, int row, int column);

/* Copy as text, cut to fit, made plain. */
void hf_pg_text(const struct pg_result *rows, int row, int column, char *out,
                size_t size);

/** @return the number of rows; 0 without a reply. */
int hf_pg_rows(const struct pg_result *rows);

/* Row `n`, from 0. One that is not there has no columns. */
void hf_pg_row(const struct pg_result *rows, int n, struct hf_sql_row *out);

/** @return the number of columns; 0 without a reply. */
int hf_pg_columns(const struct pg_result *rows);

/* ---- jobs.c -------------------------------------------------------------- */

/* The handshake is complete and the node is READY: run the pending jobs. */
void hf_pg_jobs(struct hf_pg_node *node, struct hf_instant now);

/* Begin the survey that a job asks for. */
void hf_pg_survey(struct hf_pg_node *node, struct hf_instant now);

/* The reply to a survey, or to a request of an examination: report what it
 * shows, and end the jobs after the last one. */
void hf_pg_job_reply(struct hf_pg_node *node,
                     const struct hf_pg_pending *pending,
                     const struct hf_pg_reply *reply, struct hf_instant now);

#endif
