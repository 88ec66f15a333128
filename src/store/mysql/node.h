/* SPDX-License-Identifier: Apache-2.0 */
/* The MariaDB or MySQL server as this client knows it: a connection that
 * reconnects, a queue of statements, and the identity that the server reported.
 * store/sql/sql.h has its phases.
 *
 * A connection has one text of statements under way. Later requests wait in the
 * queue, and become the next text, one batch of statements: each is a
 * transaction of its own. They are answered together, when all replies have
 * come: then the requests that the client makes in turn are sent at once, also
 * if it does not come back soon.
 *
 *     asked    a  b c d e f     g h
 *     sent     a            b;c;d;e;f      g;h
 *     replies            a            b c d e f    g h
 *
 * After an error the server executes nothing more of the text: the statement is
 * answered, the rest stays in the queue, and a ROLLBACK goes before it, since a
 * statement that was interrupted may have left its transaction open.
 *
 * The rest of this header declares the functions that its files share, by file.
 * All run in an event of the loop, or in a call of the store, and return
 * without blocking. Each event ends with hf_mysql_node_check().
 *
 * Owner: struct hf_mysql owns its node; a node owns its connection and queue.
 * Texts are copied; a reply is borrowed until the event ends.
 * Threads: the thread that holds the client. Errors: none is returned. A broken
 * connection is marked, and lost at the end of the event: the sent requests of
 * its queue are UNKNOWN, and hf_sql_node_report() reports the fault. */
#ifndef HF_MYSQL_NODE_H
#define HF_MYSQL_NODE_H

#include "store/mysql/cluster.h"
#include "store/mysql/connection.h"
#include "store/mysql/text.h"
#include "store/sql/sql.h"

/* The version of the schema that this client installs and needs. */
#define HF_MYSQL_SCHEMA_VERSION 1

/* Kinds of statements, in addition to enum hf_verb. */
enum hf_mysql_request_kind {
    HF_MYSQL_ROLLBACK = 32,
    HF_MYSQL_SET, /* from here on: the handshake */
    HF_MYSQL_IDENTITY,
    HF_MYSQL_CLUSTER,
    HF_MYSQL_FACTS, /* the last of a handshake */
    HF_MYSQL_INSTALL_LOCK,
    HF_MYSQL_INSTALL_FACTS,
    HF_MYSQL_INSTALL,
    HF_MYSQL_INSTALLED, /* the last of them: the lock is free */
    HF_MYSQL_MARK,
    HF_MYSQL_PEEK,
    HF_MYSQL_SURVEY, /* from here on: jobs */
    HF_MYSQL_PROBE_ACQUIRE,
    HF_MYSQL_PROBE_RELEASE
};

/* A statement in the queue. */
struct hf_mysql_request {
    struct hf_mysql_request *next;
    uint64_t cookie;
    struct hf_instant sent;
    uint8_t kind;  /* enum hf_verb, enum hf_mysql_request_kind */
    bool is_query; /* its rows are its only reply; else one without rows is
                      the last */
    bool is_alone; /* sent with no other */
    struct st_mysql_res *rows; /* of the reply */
    size_t len;
    char sql[];
};

struct hf_mysql;

struct hf_mysql_node {
    struct hf_mysql_connection connection; /* first: its handlers cast to this
                                            */
    struct hf_sql_node base;
    struct hf_mysql *store;

    struct hf_mysql_request *first, **last; /* the queue */
    size_t n_queued;
    size_t n_batch; /* the first of them, which are under way */
    size_t n_ended; /* of these, replied to */
    struct hf_mysql_request *next_reply; /* the one that gets the next reply */
    bool is_busy;               /* a reply is being taken: send nothing */
    struct hf_mysql_text batch; /* several statements under way */
    struct hf_mysql_text call;  /* a statement that is made */

    /* The server's replies in the last handshake. */
    bool is_read_only;
    enum hf_mysql_cluster cluster;
    bool logs_statements;            /* its binary log has no rows */
    char wrong_engine[HF_TEXT_NAME]; /* "TABLE ENGINE": another than it was made
                                        with */
    bool is_mariadb;
    unsigned long server_version; /* 101119 */
    char version[HF_TEXT_NAME];
    char role[HF_TEXT_ADDRESS]; /* 'app'@'%' */
};

struct hf_mysql {
    struct hf_sql_store base; /* first */
    struct hf_mysql_target target;
    struct hf_mysql_node node;
};

/* ---- node.c -------------------------------------------------------------- */

/* Make the connection, and arm the timer: it connects from the loop. The
 * store's struct is complete by then. */
void hf_mysql_node_open(struct hf_mysql_node *node, struct hf_instant now);

/** Free the connection and the queue; pending requests are not answered.
 * @param is_forked  true in a forked child: send nothing to the server. */
void hf_mysql_node_close(struct hf_mysql_node *node, bool is_forked);

/* If a timer was due and could not run, do its work now. */
void hf_mysql_node_resume(struct hf_mysql_node *node, struct hf_instant now);

/* The earliest time at which this phase has work; and set the timer to it. */
struct hf_instant hf_mysql_node_due(const struct hf_mysql_node *node);

/* Set the timer to hf_mysql_node_due(): after each change of the phase, of the
 * link, or of what is pending. */
void hf_mysql_node_arm(struct hf_mysql_node *node);

/* ---- node_check.c -------------------------------------------------------- */

/* Assert MN-1 to MN-3 and SN-1 to SN-6, which hold between two events of the
 * loop. */
void hf_mysql_node_check(const struct hf_mysql_node *node);

/* ---- queue.c ------------------------------------------------------------- */

/** Append a statement; `like` has all of it but the text. @return false: not
 * queued, for lack of memory. */
bool hf_mysql_push(struct hf_mysql_node *node,
                   const struct hf_mysql_request *like, const char *sql,
                   size_t len);

/* Append one of ours. Breaks the connection if that fails. */
void hf_mysql_push_ours(struct hf_mysql_node *node,
                        enum hf_mysql_request_kind kind, const char *sql,
                        size_t len);

/* The same of `node->call`, which is complete. */
void hf_mysql_push_call(struct hf_mysql_node *node,
                        enum hf_mysql_request_kind kind);

/* Send all requests that can be sent. */
void hf_mysql_flush(struct hf_mysql_node *node, struct hf_instant now);

/* A reply to the first statement of the batch. */
void hf_mysql_take(struct hf_mysql_node *node,
                   const struct hf_mysql_reply *reply, struct hf_instant now);

/** Remove the first. @return NULL: there is none. The caller's. */
struct hf_mysql_request *hf_mysql_pop(struct hf_mysql_node *node);

/* Free a request that hf_mysql_pop() has returned, with rows that it keeps. */
void hf_mysql_request_free(struct hf_mysql_request *request);

/* ---- handshake.c --------------------------------------------------------- */

/* Its answer has the marker, and the version of the schema. */
extern const char hf_mysql_facts_sql[];

/* Begin a handshake on an open connection. */
void hf_mysql_handshake(struct hf_mysql_node *node, struct hf_instant now);

/* The server's identity is in doubt: accept no requests, and repeat the
 * handshake. */
void hf_mysql_reidentify(struct hf_mysql_node *node, const char *why,
                         struct hf_instant now);

/* In quarantine: has another client ended it? */
void hf_mysql_peek(struct hf_mysql_node *node, struct hf_instant now);

/* The reply to any request of a handshake, of an installation, or to a peek.
 * The last one decides whether the server votes. */
void hf_mysql_handshake_reply(struct hf_mysql_node *node,
                              const struct hf_mysql_request *request,
                              const struct hf_mysql_reply *reply,
                              struct hf_instant now);

/* ---- install.c ----------------------------------------------------------- */

/* Make the schema, unless another client is faster; then a handshake. */
void hf_mysql_install(struct hf_mysql_node *node, struct hf_instant now);

/* The reply to one of its statements, but the facts. */
void hf_mysql_installed(struct hf_mysql_node *node,
                        const struct hf_mysql_request *request,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now);

/* The facts were read again, under the install lock. */
void hf_mysql_install_judge(struct hf_mysql_node *node);

/* ---- admission.c --------------------------------------------------------- */

/** Can this server be the node? @return false; `why` has the reason. */
bool hf_mysql_check_eligible(const struct hf_mysql_node *node, char *why,
                             size_t size);

/* The handshake is complete: decide whether the server votes. */
void hf_mysql_judge(struct hf_mysql_node *node);

/* The reply to the writing of the marker. */
void hf_mysql_marked(struct hf_mysql_node *node,
                     const struct hf_mysql_reply *reply, struct hf_instant now);

/* ---- ask.c: requests to statements --------------------------------------- */

/* Send a request of the client, or answer it at once if the node is not READY.
 * Its answer comes once, also if the connection breaks. */
void hf_mysql_ask(struct hf_mysql_node *node, const struct hf_ask *ask,
                  struct hf_instant now);

/** Queue the statement of a verb, of kind `kind`. @return NULL; or why it
 * cannot be made. */
const char *hf_mysql_ask_verb(struct hf_mysql_node *node,
                              const struct hf_ask *ask, uint8_t kind);

/* A call as a statement. */
void hf_mysql_text_call(struct hf_mysql_text *text, const char *procedure,
                        const struct hf_sql_call *call);

/* ---- answer.c: replies to answers ---------------------------------------- */

/* Answer the request of the client to which this is the reply. */
void hf_mysql_answer(struct hf_mysql_node *node,
                     const struct hf_mysql_request *request,
                     const struct hf_mysql_reply *reply, struct hf_instant now);

/* Report a request that was not executed, or may not have been. */
void hf_mysql_answer_none(struct hf_mysql_node *node,
                          const struct hf_mysql_request *request,
                          enum hf_verdict verdict, enum hf_status fault,
                          const char *reason);

/* ---- fault.c: errors ----------------------------------------------------- */

/** @return the status that an error means; `out` gets its text, one line. */
enum hf_status hf_mysql_fault(const struct hf_mysql_reply *reply, char *out,
                              size_t size);

/* The transaction was rolled back for a row that is locked. */
bool hf_mysql_fault_is_undone(const struct hf_mysql_reply *reply);

/* The statement has surely changed nothing, and fails each time. */
bool hf_mysql_fault_is_refusal(const struct hf_mysql_reply *reply);

/* There is no schema, or only a part of it. */
bool hf_mysql_fault_is_missing(const struct hf_mysql_reply *reply);

/* The user lacks a right. */
bool hf_mysql_fault_is_denied(const struct hf_mysql_reply *reply);

/* The server has become another, or read-only. */
bool hf_mysql_fault_is_identity(const struct hf_mysql_reply *reply);

/* ---- rows.c: values of a reply ------------------------------------------- */

/** The first row of a reply. @return false: there is none. */
bool hf_mysql_first(const struct hf_mysql_reply *reply, struct hf_sql_row *out);

/** The row after the last one that was read. @return false: there is none, and
 * the row has no columns. */
bool hf_mysql_next(const struct hf_mysql_reply *reply, struct hf_sql_row *out);

/** @return the number of rows; 0: not the reply to a query. */
size_t hf_mysql_rows(const struct hf_mysql_reply *reply);

/* ---- jobs.c -------------------------------------------------------------- */

/* The handshake is complete and the node is READY: run the pending jobs. */
void hf_mysql_jobs(struct hf_mysql_node *node, struct hf_instant now);

/* Begin the survey that a job asks for. */
void hf_mysql_survey(struct hf_mysql_node *node, struct hf_instant now);

/* The reply to a survey, or to a request of an examination: report what it
 * shows, and end the jobs after the last one. */
void hf_mysql_job_reply(struct hf_mysql_node *node,
                        const struct hf_mysql_request *request,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now);

#endif
