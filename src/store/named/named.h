/* SPDX-License-Identifier: Apache-2.0 */
/* Named locks of a MySQL or MariaDB session: mysql://…?lock=named. They
 * exclude, and are excluded by, each program that calls GET_LOCK() with the
 * same name: the client mariadb, Rails.
 * The session is the lease (store/session/session.h).
 *
 * Requests wait in a queue. While no statement is under way, and so what the
 * session holds is known, the first ones are sent as one batch, in which no two
 * are of one key. They are answered together, when all replies have come: then
 * what the client asks for in turn, such as the release of what an attempt had
 * been granted, is sent at once, also if the client does not come back soon.
 *
 *     key.c       which name of the server a name has
 *     seats.c     the locks of the session, by key
 *     requests.c  the queue; requests to statements
 *     replies.c   replies to answers
 *     session.c   the connection, its settings, its end
 *     check.c     what the queue adds to the invariants of a session
 *     store.c     the client's entry points; the table of operations */
#ifndef HF_MYSQL_NAMED_H
#define HF_MYSQL_NAMED_H

#include "io/clock.h"
#include "store/mysql/connection.h"
#include "store/named/key.h"
#include "store/session/session.h"

/* Bytes of the statements that are sent together. */
#define HF_NAMED_STATEMENTS_MAX 32768

/* What a request of the batch needs. */
enum hf_named_statement {
    HF_NAMED_NONE,   /* the seats decide */
    HF_NAMED_TRY,    /* GET_LOCK() */
    HF_NAMED_UNDO,   /* after a try that failed with an error */
    HF_NAMED_UNLOCK, /* RELEASE_LOCK() */
    HF_NAMED_ID,     /* which session is this? */
    HF_NAMED_LOOK    /* IS_USED_LOCK() */
};

/* The outcome of a statement. A number that is not there is SQL's NULL.
 */
struct hf_named_outcome {
    bool has_value, has_holder;
    uint64_t value;  /* of the function */
    uint64_t holder; /* TRY: the session that has the lock */
};

/* A request of the client, in the queue; if it is an ACQUIRE that was granted,
 * then the seat: the lock of an owner. */
struct hf_named_request {
    struct hf_session_seat seat;   /* first */
    struct hf_named_request *next; /* in the queue */
    uint64_t cookie;
    enum hf_verb verb;
    enum hf_named_statement statement;
    bool shares;     /* ID: the reply to that of an earlier one is its own */
    bool has_failed; /* with `error_text` */
    struct hf_named_outcome outcome;
    struct hf_named_key key;
};

struct hf_named {
    struct hf_session session;             /* first */
    struct hf_mysql_connection connection; /* session.c has its handlers */
    struct hf_mysql_target target;
    struct hf_named_rule rule;
    char statements[HF_NAMED_STATEMENTS_MAX]; /* under way */

    uint64_t id; /* CONNECTION_ID() */
    bool is_mariadb;
    char version[HF_TEXT_NAME];
    char role[HF_TEXT_CLAUSE];

    struct hf_named_request *first, **last; /* the queue */
    size_t n_batch; /* the first requests of the queue, which were sent */
    struct hf_named_request *next_reply; /* the one whose reply is next */
    bool is_busy;                        /* requests.c is on the stack */
    char error_text[HF_TEXT_SENTENCE];   /* of the last statement that failed */
    enum hf_status error_fault;
};

/* ---- store.c ------------------------------------------------------------- */

/* The operations for the client, as store.h says of each. */
extern const struct hf_store_ops hf_store_named;

/* Report the findings of `holdfast doctor`. */
hf_session_examine_fn hf_named_examine;

/* ---- session.c ----------------------------------------------------------- */

/* What the session asks of this store: connect, and end (session.h). */
extern const struct hf_session_ops hf_named_session;

/* Make the connection, and arm the timer: it connects from the loop. The
 * store's struct is complete by then. */
void hf_named_session_open(struct hf_named *store, struct hf_instant now);

/** Free the connection and the queue; pending requests are not answered.
 * @param is_forked  true in a forked child: send nothing to the server. */
void hf_named_session_close(struct hf_named *store, bool is_forked);

/* ---- check.c ------------------------------------------------------------- */

/* Assert the invariants between two events of the loop: SE-1 to SE-5, NL-1 and
 * NL-2. */
void hf_named_check(const struct hf_named *store);

/* ---- seats.c ------------------------------------------------------------- */

/** The seat of the key. @return NULL: the session does not hold it. */
struct hf_named_request *hf_named_seat_find(const struct hf_named *store,
                                            const struct hf_named_key *key);

/* Is it of the owner and the name of the request? With a fixed key, names that
 * differ have one key. */
bool hf_named_seat_is_of(const struct hf_named_request *seat,
                         const struct hf_named_request *request);

/* The request, which is in no queue, was granted. */
void hf_named_seat_add(struct hf_named *store, struct hf_named_request *seat);

/* ---- requests.c ---------------------------------------------------------- */

/* Queue a request of the client. Without a session it is answered at once. */
void hf_named_ask(struct hf_named *store, const struct hf_ask *ask,
                  struct hf_instant now);

/* Send the requests that can be sent. */
void hf_named_flush(struct hf_named *store, struct hf_instant now);

/** Remove the first request of the queue. @return NULL: there is none. The
 * caller's, to be freed. */
struct hf_named_request *hf_named_pop(struct hf_named *store);

/* Put a request back, before all others. */
void hf_named_unpop(struct hf_named *store, struct hf_named_request *request);

/* ---- replies.c ----------------------------------------------------------- */

/* All replies to the batch have come: answer its requests. */
void hf_named_answer_batch(struct hf_named *store);

/* The reply to the next statement of the batch. */
void hf_named_take(struct hf_named *store, const struct hf_mysql_reply *reply);

/* The session has ended: sent requests are UNKNOWN, the rest UNSENT. */
void hf_named_answer_all(struct hf_named *store, enum hf_status fault,
                         const char *reason, struct hf_instant now);

/* Answer; the request is popped and freed before. */
void hf_named_answer_with(struct hf_named *store,
                          const struct hf_named_request *request,
                          struct hf_answer *answer, struct hf_instant sent);

/** Answer a request that was not executed, or may not have been, with the
 * reason. @param sent  when it was sent; else now. */
void hf_named_answer_fault(struct hf_named *store,
                           const struct hf_named_request *request,
                           enum hf_verdict verdict, enum hf_status fault,
                           const char *reason, struct hf_instant sent);

#endif
