/* SPDX-License-Identifier: Apache-2.0 */
/* Advisory locks of a PostgreSQL session: postgres://…?lock=advisory. They
 * exclude, and are excluded by, each program that locks the same key: psql,
 * Rails, Django. Part of the module of the postgres store, whose connection
 * it uses.
 * The session is the lease (store/session/session.h).
 *
 *     key.c       which key a name has
 *     seats.c     the locks that the session holds or has requested, by key
 *     ask.c       requests to statements
 *     answer.c    replies to answers
 *     session.c   the connection, its settings, its end
 *     store.c     the entry points for the client; the table of operations */
#ifndef HF_ADVISORY_ADVISORY_H
#define HF_ADVISORY_ADVISORY_H

#include "io/clock.h"
#include "store/advisory/key.h"
#include "store/postgres/connection.h"
#include "store/records.h"
#include "store/session/session.h"

/* Kinds of pending requests, in addition to enum hf_verb. */
enum hf_advisory_request_kind {
    HF_ADVISORY_GREET = 32,
    HF_ADVISORY_SET,
    HF_ADVISORY_UNDO /* the unlock after a try that failed with an error */
};

/* A request of the client. Its address is the cookie of the pending one. */
struct hf_advisory_request {
    uint64_t cookie;
    struct hf_advisory_seat *seat; /* NULL: none */
    enum hf_verb verb;
};

struct hf_advisory_seat {
    struct hf_session_seat seat; /* first */
    struct hf_advisory_key key;
    enum {
        HF_ADVISORY_ASKED,  /* the try is under way */
        HF_ADVISORY_HELD,   /* granted */
        HF_ADVISORY_LEAVING /* the unlock is under way, the try perhaps too */
    } state;
    bool is_shared;
    bool is_unwanted; /* ASKED: released before the reply */
    bool has_nothing; /* LEAVING: the try has failed */
    struct hf_advisory_request acquire;
    struct hf_advisory_request release;
};

struct hf_advisory {
    struct hf_session session;          /* first */
    struct hf_pg_connection connection; /* session.c has its handlers */
    struct hf_pg_target target;
    struct hf_advisory_rule rule;

    int64_t pid; /* of the server's process */
    char role[HF_TEXT_NAME];
    char database[HF_TEXT_NAME];
    char version[HF_TEXT_WORD];
    int server_version; /* 150018 */
    bool has_watch;     /* the server notices a dead client while busy */

    struct hf_seat_list listed; /* of the reply to a QUEUE */
};

/* ---- store.c ------------------------------------------------------------- */

/* The operations for the client, as store.h says of each. */
extern const struct hf_store_ops hf_store_advisory;

/* Report the findings of `holdfast doctor`. */
hf_session_examine_fn hf_advisory_examine;

/* ---- session.c ----------------------------------------------------------- */

/* What the session asks of this store: connect, and end (session.h). */
extern const struct hf_session_ops hf_advisory_session;

/* Make the connection, and arm the timer: it connects from the loop. The
 * store's struct is complete by then. */
void hf_advisory_session_open(struct hf_advisory *store, struct hf_instant now);

/** Free the connection; pending requests are not answered. @param is_forked
 * true in a forked child: send nothing to the server. */
void hf_advisory_session_close(struct hf_advisory *store, bool is_forked);

/* ---- seats.c ------------------------------------------------------------- */

/* The first seat of the key, then hf_advisory_seat_next(). */
struct hf_advisory_seat *
hf_advisory_seat_first(const struct hf_advisory *store,
                       const struct hf_advisory_key *key);

/** The next lock of this key after @p seat, of any owner. @return NULL: there
 * is none. */
struct hf_advisory_seat *
hf_advisory_seat_next(struct hf_advisory_seat *seat,
                      const struct hf_advisory_key *key);

/** The owner's seat. @return NULL: none. */
struct hf_advisory_seat *
hf_advisory_seat_find(struct hf_advisory *store,
                      const struct hf_advisory_key *key,
                      const struct hf_ask *ask);

/* Has no other seat its key, but those that are leaving? Their unlocks come
 * first. */
bool hf_advisory_seat_is_sole(const struct hf_advisory *store,
                              const struct hf_advisory_seat *seat);

/** @return NULL: no memory. */
struct hf_advisory_seat *hf_advisory_seat_add(struct hf_advisory *store,
                                              const struct hf_advisory_key *key,
                                              const struct hf_ask *ask);

/* ---- ask.c --------------------------------------------------------------- */

/* Send a request of the client, or answer it at once: without a session, or if
 * the locks of this client decide it. */
void hf_advisory_ask(struct hf_advisory *store, const struct hf_ask *ask,
                     struct hf_instant now);

/** Send the unlock of the seat. @param is_undo  the try was not answered, or
 * failed: unlock only if it is locked, since else the server warns. For a key
 * with one seat: others may have been granted what it finds. @return false: it
 * was not sent, and the connection breaks. */
bool hf_advisory_unlock(struct hf_advisory *store,
                        struct hf_advisory_seat *seat, bool is_undo,
                        const struct hf_pg_pending *pending);

/* ---- answer.c ------------------------------------------------------------ */

/* The reply to a request of the client, or to an UNDO. */
void hf_advisory_answer(struct hf_advisory *store,
                        const struct hf_pg_pending *pending,
                        const struct hf_pg_reply *reply, struct hf_instant now);

/* The connection has ended before the reply. */
void hf_advisory_answer_lost(struct hf_advisory *store,
                             const struct hf_pg_pending *pending,
                             enum hf_status fault, const char *reason);

/* Answer without the server. */
void hf_advisory_answer_with(struct hf_advisory *store,
                             struct hf_answer *answer);

#endif
