/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores have in common whose rules are functions or procedures in a
 * database, postgres and mysql: the settings of the URL, and the node from its
 * connection to its vote.
 *
 *     WAITING ──▶ CONNECTING ──▶ GREETING ──▶ MARKING ──▶ READY
 *        ▲            │           │  ▲  ▲        │          │
 *        │            │           ▼  │  └────────┼──────────┤ marker changed
 *        │            │        INSTALLING        │          │
 *        └────────────┴───────────┴──────────────┴──────────┘ lost
 *
 * GREETING reads the server's identity, the schema's version and the marker.
 * INSTALLING makes the schema, if there is none and it may be made.
 * core/quarantine.h decides whether the server votes; MARKING writes the
 * marker. Only a READY node gets requests about locks.
 *
 * The store embeds both structs and its connection, whose link they use. It
 * sends the requests and reads the replies; these functions keep the phase, the
 * status and the decisions, and return what the store has to do next. They do
 * not call the store.
 *
 *     hf_sql_store_init()      the URL; hf_sql_node_init(): WAITING
 *     hf_sql_node_timed()      the timer: what is due
 *     hf_sql_node_greet()      the connection is open: begin the handshake
 *     hf_sql_node_admit()      its replies are complete: the next step
 *     hf_sql_node_lose()       the link is broken; shut it, then
 *     hf_sql_node_lost()       report that; answer the requests
 *
 * Owner: the store's struct. Threads: the thread that holds the client. */
#ifndef HF_SQL_SQL_H
#define HF_SQL_SQL_H

#include "io/clock.h"
#include "store/admission.h"
#include "store/findings.h"
#include "store/jobs.h"
#include "store/records.h"
#include "store/sql/link.h"
#include "store/standing.h"

/* Of the table of operations. A poll costs the server one call, and the waiter
 * a round trip: first and longest wait between two, in milliseconds. */
#define HF_SQL_RETRY_BASE_MS 10
#define HF_SQL_RETRY_CAP_MS 500

/* A commit may wait for a disk, or for a standby, much longer than a reply of
 * a server in memory: milliseconds, if the URL has none. */
#define HF_SQL_NODE_TIMEOUT_MS 500

/* As drawn above. */
enum hf_sql_phase {
    HF_SQL_WAITING,
    HF_SQL_CONNECTING,
    HF_SQL_GREETING,
    HF_SQL_INSTALLING,
    HF_SQL_MARKING,
    HF_SQL_READY
};

struct hf_sql_store {
    struct hf_store base; /* first */
    struct hf_store_env env;
    char *prefix;
    size_t prefix_len;
    int64_t fence_keep_ms;
    struct hf_shape shape;
    char host[HF_CLOCK_NAME_MAX + 3]; /* "at:" and the name of our clock; empty:
                                       no name */
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    bool strict;
    struct hf_cursors cursors; /* of SCAN */
    struct hf_name_list names; /* of the reply to a SCAN */
    struct hf_seat_list seats; /* of the reply to a QUEUE */
};

struct hf_sql_node {
    struct hf_sql_store *store;
    struct hf_sql_link *link; /* of its connection */
    enum hf_sql_phase phase;
    struct hf_span rtt; /* smoothed; 0: not measured */

    /* The server's replies in the last handshake. */
    int64_t schema;             /* its version; 0: there is none */
    int64_t time_ms;            /* its clock */
    bool has_installed;         /* this client made the schema on this
                                   connection */
    enum hf_status greet_fault; /* first error of the handshake, or HF_OK */
    char greet_reason[HF_STANDING_REASON_MAX];
    struct hf_admission admission; /* also of these replies */

    struct hf_standing standing;
    struct hf_instant peek_at; /* in quarantine: the next read of the marker */
    struct hf_jobs jobs;
    bool is_examined; /* the examination is under way */
    char probe_fault[HF_TEXT_SENTENCE];
};

/* ---- store.c ------------------------------------------------------------- */

/** Read the URL's settings, but the target. @return as open(). */
enum hf_status
hf_sql_store_init(struct hf_sql_store *store, const struct hf_store_ops *ops,
                  const struct hf_url *url, const struct hf_store_env *env,
                  struct hf_error *error);

/* Free what hf_sql_store_init() and the answers have allocated, not the struct.
 * After the node. */
void hf_sql_store_fini(struct hf_sql_store *store);

/* ---- node.c -------------------------------------------------------------- */

/* WAITING, and due. The link is that of a connection that was initialised. */
void hf_sql_node_init(struct hf_sql_node *node, struct hf_sql_store *store,
                      struct hf_sql_link *link, struct hf_instant now);

/* Whether requests may be sent: the handshake is complete, and the connection
 * is not broken. */
static inline bool hf_sql_node_is_ready(const struct hf_sql_node *node)
{
    return node->phase == HF_SQL_READY && !node->link->is_broken;
}

/* Report a status, which says nothing of lost data. */
void hf_sql_node_report(struct hf_sql_node *node, enum hf_node_status status,
                        enum hf_status fault, const char *reason);

/* The earliest event that is due in this phase; `ready_due`: when READY, beside
 * those of the quarantine. */
struct hf_instant hf_sql_node_due(const struct hf_sql_node *node,
                                  struct hf_instant ready_due);

/* What is due. */
enum hf_sql_step {
    HF_SQL_REST,      /* nothing */
    HF_SQL_CONNECT,   /* connect again */
    HF_SQL_LATE,      /* the handshake has timed out: break, say so */
    HF_SQL_HANDSHAKE, /* the quarantine is over: hf_sql_node_greet() */
    HF_SQL_PEEK       /* read the marker, and call hf_sql_node_peek() */
};

/** The timer is due. @return what the caller must do now; the node itself does
 * not change. */
enum hf_sql_step hf_sql_node_timed(const struct hf_sql_node *node,
                                   struct hf_instant now);

/* How long a server may be silent that owes a reply. */
struct hf_span hf_sql_node_hang_span(const struct hf_sql_node *node);

/* Break the link, if it is past this time. */
void hf_sql_node_check_hang(struct hf_sql_node *node,
                            struct hf_instant hangs_at, struct hf_instant now);

/** The client was idle, and no timer ran. @return true: the node is not READY
 * and past its time, so lose the connection, or connect. */
bool hf_sql_node_is_overdue(const struct hf_sql_node *node,
                            struct hf_instant now);

/* The end of a connection. */
struct hf_sql_loss {
    enum hf_status fault; /* of the node; after hf_sql_node_lost(): of its
                             requests */
    bool is_quick;        /* connect at once */
    char why[HF_STANDING_REASON_MAX];
};

/* The connection is to be shut: WAITING. An error of the handshake goes before
 * `reason`: it is the cause of the end. */
void hf_sql_node_lose(struct hf_sql_node *node, enum hf_status fault,
                      const char *reason, struct hf_instant now,
                      struct hf_sql_loss *out);

/* It is shut: report the loss. Then answer the requests, with loss->fault. */
void hf_sql_node_lost(struct hf_sql_node *node, struct hf_sql_loss *loss);

/** Fill in `out`. @return true: its connection is opening; add for how long. */
bool hf_sql_node_describe(const struct hf_sql_node *node, const char *address,
                          struct hf_instant now, struct hf_node *out);

/** Add a job. Each begins with a new handshake, or a new attempt to connect.
 * @return true: begin the handshake. */
bool hf_sql_node_job(struct hf_sql_node *node, unsigned index, enum hf_job job,
                     const struct hf_job_sink *sink);

/* ---- admission.c: the handshake, and whether the server votes ------------ */

/* GREETING: nothing is known of the server. Send the requests. */
void hf_sql_node_greet(struct hf_sql_node *node, struct hf_instant now);

/** The server's identity is in doubt. @return true: accept no requests, and
 * begin the handshake; false: it is not READY. */
bool hf_sql_node_doubt(struct hf_sql_node *node, const char *why);

/* In quarantine the marker is read now and then, since another client may have
 * ended it. This sets when that is next. */
void hf_sql_node_peek(struct hf_sql_node *node, struct hf_instant now);

/** It was read. @return true: begin the handshake. */
bool hf_sql_node_peeked(struct hf_sql_node *node,
                        const struct hf_marker *marker);

/* INSTALLING. Send the schema. */
void hf_sql_node_install(struct hf_sql_node *node, struct hf_span limit,
                         struct hf_instant now);

/* Refuse this server, and break the link. */
void hf_sql_node_refuse(struct hf_sql_node *node, enum hf_status fault,
                        const char *why);

/** The handshake is complete. @param unfit  why this server cannot be the node;
 * NULL: it can. @return true: hf_sql_node_admit() decides; false: refused. */
bool hf_sql_node_judge(struct hf_sql_node *node, const char *unfit);

/** The marker was just read or written: decide the next step.
 * @param now  Gets the time of the decision.
 * @return SURVEY: begin the one that is asked for; WRITE: write the ruling's
 *         marker, the node is MARKING; OPEN: it is READY, with a vote or in
 *         quarantine; begin the jobs; REFUSE: it was refused. */
enum hf_admission_next hf_sql_node_admit(struct hf_sql_node *node,
                                         struct hf_instant *now);

/* The marker could not be written, as the server says. */
void hf_sql_node_unmarked(struct hf_sql_node *node, enum hf_status fault,
                          const char *words);

/* Why it has no vote, to follow the server's address in a message. */
void hf_sql_node_quarantine_text(const struct hf_sql_node *node, char *out,
                                 size_t size);

/* ---- call.c: a request as the call of a function, or of a procedure ------ */

/** The server may have closed a connection that was silent for a while. Check
 * it before sending: the request is then UNSENT instead of UNKNOWN. @return
 * true: the node is READY, and its connection was idle. */
bool hf_sql_node_is_idle(const struct hf_sql_node *node, struct hf_instant now);

/** @return HF_OK: a request can be sent now; else why not, with the reason. */
enum hf_status hf_sql_node_cause(const struct hf_sql_node *node,
                                 bool needs_vote, const char **reason);

enum hf_sql_type {
    HF_SQL_NULL,
    HF_SQL_BYTES,
    HF_SQL_TEXT, /* NUL-terminated */
    HF_SQL_NUMBER,
    HF_SQL_FLAG
};

struct hf_sql_argument {
    enum hf_sql_type type;
    struct hf_bytes bytes; /* borrowed */
    int64_t number;
};

/* The arguments, in the order of schema/. Must not be copied or moved: they
 * point into it. */
#define HF_SQL_ARGUMENTS_MAX 13
struct hf_sql_call {
    size_t n;
    struct hf_sql_argument arguments[HF_SQL_ARGUMENTS_MAX];
    char mode[HF_TEXT_SHORT];
    char key[HF_CURSOR_NAME_MAX];
};

/* An argument that is a string, borrowed for the call. */
void hf_sql_call_text(struct hf_sql_call *call, const char *text);

/** Make that of a verb. @param channel  on which a grant of it is pushed, and
 * empty: on none; NULL: the store pushes none, and its verbs have no such
 * argument. @return NULL; or why the request cannot be made. */
const char *hf_sql_call_make(struct hf_sql_call *call,
                             const struct hf_sql_node *node,
                             const struct hf_ask *ask, const char *channel);

/* Make that of the survey which a job asks for. */
void hf_sql_call_survey(struct hf_sql_call *call,
                        const struct hf_sql_node *node);

/* ---- rows.c: a row of a reply -------------------------------------------- */

/* Columns that are read: those of an answer, and of a seat after it. */
#define HF_SQL_CELLS_MAX 16

/* A column, as bytes and as a number. One that is NULL, or is not there, is
 * empty and 0. */
struct hf_sql_cell {
    struct hf_bytes bytes; /* borrowed; not NUL-terminated */
    int64_t number;
    bool is_there;
};

struct hf_sql_row {
    unsigned n; /* columns that it has */
    struct hf_sql_cell cells[HF_SQL_CELLS_MAX];
};

/* No columns. The store sets those that are not NULL. */
void hf_sql_row_init(struct hf_sql_row *row, unsigned n);

/* Copy as text, cut to fit, made plain. */
void hf_sql_row_text(const struct hf_sql_row *row, unsigned column, char *out,
                     size_t size);

/* ---- answer.c: replies to answers ---------------------------------------- */

/* The reason of a request that found another marker. */
#define HF_SQL_CHANGED                                                         \
    "its marker has changed: restored, promoted, or declared new"

/* Pass the answer to the client. All below get one that has the cookie, the
 * verb and the time of sending. */
void hf_sql_answer_with(const struct hf_sql_node *node,
                        const struct hf_answer *answer);

/* A request that was not executed, or may not have been. */
void hf_sql_answer_none(const struct hf_sql_node *node,
                        struct hf_answer *answer, enum hf_verdict verdict,
                        enum hf_status fault, const char *reason);

/* The reply makes no sense. */
void hf_sql_answer_nonsense(const struct hf_sql_node *node,
                            struct hf_answer *answer);

/** What an error means. @param is_undone  a row was locked: the transaction was
 * rolled back. @param is_unknown  the statement may have been executed, or may
 * be repeated with success. */
enum hf_verdict hf_sql_answer_verdict(enum hf_verb verb, bool is_undone,
                                      bool is_unknown);

/** Is it the row of a verb? @return false: it has too few columns. */
bool hf_sql_answer_is_row(const struct hf_sql_row *row);

/* Does the row of a verb say that the marker has changed? */
bool hf_sql_answer_is_changed(const struct hf_sql_row *row);

/** Read the row of a verb. @return false: it makes no sense, and is answered
 * so; true: pass it on. */
bool hf_sql_answer_read(const struct hf_sql_node *node,
                        struct hf_answer *answer, const struct hf_sql_row *row);

/** Begin the answer to a QUEUE of `n` rows. Each of them begins with the
 * holder, as of INSPECT; the sharers and the waiters are one in each row: add
 * all.
 * @return false: no memory, or the row makes no sense, and it is answered so;
 *         true: pass it on. */
bool hf_sql_seats_begin(const struct hf_sql_node *node,
                        struct hf_answer *answer, const struct hf_sql_row *row,
                        size_t n);

/* Add the holder or waiter that one row shows; without an owner: none. @p
 * answer was begun. */
void hf_sql_seats_add(const struct hf_sql_node *node, struct hf_answer *answer,
                      const struct hf_sql_row *row);

/** The same of a SCAN: each row has a name. */
bool hf_sql_names_begin(const struct hf_sql_node *node,
                        struct hf_answer *answer, size_t n);

/** Add the name of one row, unless it is not of this store's prefix.
 * @param is_last  the next SCAN goes on behind it. */
void hf_sql_names_add(const struct hf_sql_node *node, struct hf_answer *answer,
                      const struct hf_sql_row *row, bool is_last);

/* ---- values.c ------------------------------------------------------------ */

/* Answer a GET or PUT, with the only row of its reply. */
void hf_sql_value_answer(const struct hf_sql_node *node,
                         struct hf_answer *answer,
                         const struct hf_sql_row *row);

/* ---- jobs.c: of `holdfast doctor` ---------------------------------------- */

/* Limit of a survey in milliseconds. It is one statement that reads all rows;
 * LOWER writes to them, and is run once: it may take a minute. */
#define HF_SQL_SURVEY_MS_MAX 60000

/** One row of the reply to LOOK: the first has the numbers. @return true: add
 * the next one, too, if there is one. */
bool hf_sql_look_add(struct hf_look *look, const struct hf_sql_row *row);

/* The ends of a survey, each of which ends the jobs: the reply to LOOK; that to
 * COUNT or LOWER; or an error, in the server's words. Then begin the handshake.
 */
void hf_sql_node_looked(struct hf_sql_node *node, const struct hf_look *look);

/** The reply to COUNT or LOWER. @param n  as of hf_findings_counters(). */
void hf_sql_node_counted(struct hf_sql_node *node, int64_t n);

/** The survey has failed. @param words  of the server. */
void hf_sql_node_unsurveyed(struct hf_sql_node *node, enum hf_status fault,
                            const char *words);

/* What the pending jobs of a READY node need. */
enum hf_sql_jobs {
    HF_SQL_JOBS_NONE,    /* nothing; they have ended, or wait for a reply */
    HF_SQL_JOBS_DECLARE, /* to declare, asked for since the handshake began:
                            begin it again */
    HF_SQL_JOBS_EXAMINE  /* acquire and release a lock */
};

/** @return what the caller must do. Call it when the node becomes READY, and
 * when a job is added to a READY one. */
enum hf_sql_jobs hf_sql_node_jobs(struct hf_sql_node *node);

/* Findings of EXAMINE: are commits on the disk? `settings`: those that say no.
 * And after all others the clock, the lock, and the quarantine. */
void hf_sql_find_durability(struct hf_sql_node *node, const char *settings);

/* After all other findings: the clock, the lock, and the quarantine. */
void hf_sql_find_rest(struct hf_sql_node *node, struct hf_instant now);

/* ---- node_check.c -------------------------------------------------------- */

/* Assert SN-1 to SN-6, which hold between two events of the loop. `is_asked`: a
 * reply is pending, or a request is to be sent; `due`: of the timer. */
void hf_sql_node_check(const struct hf_sql_node *node, bool is_asked,
                       struct hf_instant due);

#endif
