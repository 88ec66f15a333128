/* SPDX-License-Identifier: Apache-2.0 */
/* A session of a database that is the lease of its locks: what the stores of
 * advisory and of named locks have in common.
 *
 *     WAITING ─▶ CONNECTING ─▶ GREETING ─▶ SETTING ─▶ READY
 *        ▲            │           │           │         │ lost
 *        ├────────────┴───────────┴───────────┘         ▼
 *        └───────────── ENDED ◀───────────────────── ENDING
 *
 * Its end frees every lock, at once, and nothing that it held may be claimed
 * any more. ENDING reports that earlier votes are void, and ENDED, one turn of
 * the loop later, votes without a server: it answers each CONFIRM with "not
 * yours", so the locks are LOST at once and not at their deadlines.
 *
 * A store embeds the session as its first member, and has the connection, whose
 * link the session uses. The store sends the requests and reads the replies;
 * the session keeps the phase, the timer, the status, the jobs, and the seats.
 *
 *     hf_session_init()      the URL; hf_session_begin(): WAITING
 *     hf_session_greet()     the connection is open: send the handshake, then
 *     hf_session_set()       the settings
 *     hf_session_ready()     their reply has come: requests may be sent
 *     hf_session_timed()     the timer has fired
 *     hf_session_settled()   the last of each event: a broken link is the end
 *
 *     session.c   the phases, the timer, the end
 *     store.c     the settings of the URL; entry points for the client; jobs
 *     key.c       which locks a URL asks for; the digest of a name
 *     seats.c     the locks that it holds, or tries
 *     check.c     the invariants between two events of the loop
 *
 * Owner: the store's struct. Threads: the thread that holds the client. */
#ifndef HF_SESSION_SESSION_H
#define HF_SESSION_SESSION_H

#include "store/jobs.h"
#include "store/sql/link.h"
#include "store/standing.h"

/* As drawn above. Requests about locks are sent in READY alone. */
enum hf_session_phase {
    HF_SESSION_WAITING,
    HF_SESSION_CONNECTING,
    HF_SESSION_GREETING,
    HF_SESSION_SETTING,
    HF_SESSION_READY,
    HF_SESSION_ENDING,
    HF_SESSION_ENDED
};

struct hf_session;

/* Connect, which may break the link at once. */
typedef void hf_session_connect_fn(struct hf_session *session,
                                   struct hf_instant now);

/** The session has ended: close the connection, and answer each request with @p
 * fault and the session's `why`. The seats are there until it returns. */
typedef void hf_session_end_fn(struct hf_session *session, enum hf_status fault,
                               struct hf_instant now);

/* Since when the server owes a reply and is silent; HF_NEVER: it owes none. */
typedef void hf_session_silent_fn(const struct hf_session *session,
                                  struct hf_instant *since);

/* Describe the step in which the connection timed out, at `now`. */
typedef void hf_session_late_fn(const struct hf_session *session,
                                struct hf_instant now, char *out, size_t size);

/* Report the findings of `holdfast doctor`. */
typedef void hf_session_examine_fn(struct hf_session *session);

/* Of the store. */
struct hf_session_ops {
    hf_session_connect_fn *connect;
    hf_session_end_fn *end;
    hf_session_silent_fn *silent_since;
    hf_session_late_fn *late_text;
    hf_session_examine_fn *examine;
};

/* A lock of an owner, the first member of the store's struct for it. A server
 * grants a session the same key again and again, so owners of one client
 * exclude each other here. */
struct hf_session_seat {
    struct hf_session_seat *next; /* in its bucket */
    size_t bucket;
    uint64_t counter; /* of its grant */
    size_t owner_len;
    char owner[HF_OWNER_MAX];
    size_t name_len;
    const char *name; /* behind the store's struct */
};

/* A power of two: 10,000 locks are found fast. */
#define HF_SESSION_BUCKETS 4096

struct hf_session {
    struct hf_store base; /* first */
    const struct hf_session_ops *ops;
    struct hf_sql_link *link; /* of its connection */
    const char *address;      /* as it is shown */
    struct hf_store_env env;
    char *prefix;
    struct hf_span node_timeout;
    struct hf_span connect_timeout;
    int64_t max_ttl_ms;

    enum hf_session_phase phase;
    struct hf_standing standing;
    struct hf_jobs jobs;
    struct hf_span rtt;        /* smoothed; 0: not measured */
    struct hf_instant turn_at; /* ENDING, ENDED: the next turn */
    bool is_quick;             /* reconnect without back-off */
    enum hf_status refusal;    /* of a server that is not fit; HF_OK: none */
    enum hf_status fault;      /* why the last one ended */
    char why[HF_STANDING_REASON_MAX]; /* of either */

    uint64_t counter; /* of the last grant: core orders replies by it */
    size_t n_seats;
    struct hf_session_seat *seats[HF_SESSION_BUCKETS];
};

/* ---- store.c ------------------------------------------------------------- */

/* Milliseconds, as with the rows of the same server: one server, one default.
 * A poll costs the server a look or two at its table of locks. */
#define HF_SESSION_NODE_TIMEOUT_MS 500
#define HF_SESSION_RETRY_BASE_US 100
#define HF_SESSION_RETRY_CAP_MS 250

/** Read the URL's settings, but the target. @return as open(). */
enum hf_status
hf_session_init(struct hf_session *session, const struct hf_store_ops *store,
                const struct hf_session_ops *ops, const struct hf_url *url,
                const struct hf_store_env *env, struct hf_error *error);

/* Free the locks and the settings, not the struct. The link is closed already.
 */
void hf_session_fini(struct hf_session *session);

/* READY, or cannot be: end the pending jobs. */
void hf_session_jobs(struct hf_session *session);

/* Of the store's table of operations. */
void hf_session_describe(const struct hf_store *base, unsigned index,
                         struct hf_instant now, struct hf_node *out);

/* The store's job(). It ends from the loop, and connects at once if no session
 * is open. */
void hf_session_job(struct hf_store *base, unsigned index, enum hf_job job,
                    const struct hf_job_sink *sink);

/* The store's job_cancel(): no sink is called any more. */
void hf_session_job_cancel(struct hf_store *base);

/* ---- session.c ----------------------------------------------------------- */

/* WAITING, and to be connected at once. The link is that of a connection that
 * was initialised. */
void hf_session_begin(struct hf_session *session, struct hf_sql_link *link,
                      const char *address, struct hf_instant now);

/* The connection is open: GREETING. Send the handshake. */
void hf_session_greet(struct hf_session *session, struct hf_instant now);

/* The server is fit: SETTING. Send the settings. */
void hf_session_set(struct hf_session *session);

/* The server is not fit, as `why` says: break the link. */
void hf_session_refuse(struct hf_session *session, enum hf_status fault,
                       const char *why);

/* The settings are made: READY. */
void hf_session_ready(struct hf_session *session, struct hf_instant now);

/* The timer has fired. */
void hf_session_timed(struct hf_session *session, struct hf_instant now);

/* Last in each event: end the session if its link is broken; set the timer. */
void hf_session_settled(struct hf_session *session, struct hf_instant now);

/* Of the store's table of operations. The client was idle, and no timer ran. */
void hf_session_resume(struct hf_store *base, struct hf_instant now);

/* When the timer must fire, at the latest; and set it to that. */
struct hf_instant hf_session_due(const struct hf_session *session);

/* Set the timer to what is due next: after each change of the phase, the link
 * or the jobs. */
void hf_session_arm(struct hf_session *session);

/* Whether requests may be sent: READY, and the link is not broken. */
static inline bool hf_session_is_ready(const struct hf_session *session)
{
    return session->phase == HF_SESSION_READY && !session->link->is_broken;
}

/* Whether a session is being opened: the link connects, or the server has not
 * answered the first requests yet. */
static inline bool hf_session_is_opening(const struct hf_session *session)
{
    return session->phase >= HF_SESSION_CONNECTING &&
           session->phase <= HF_SESSION_SETTING;
}

/** READY, and silent for so long that the server may have closed the
 * connection. Check that before sending: the request is then UNSENT instead of
 * UNKNOWN. */
bool hf_session_is_idle(const struct hf_session *session,
                        struct hf_instant now);

/** For how long a server may be silent. If locks are held, the connection is
 * kept for as long as a lease: its end would free them. */
struct hf_span hf_session_patience(struct hf_span node_timeout, bool holds,
                                   int64_t max_ttl_ms);

/* ---- seats.c ------------------------------------------------------------- */

/** A seat of @p size bytes with the owner and the name of a request, the rest
 * zero, and in no table. @return NULL: no memory. */
void *hf_session_seat_new(size_t size, const struct hf_ask *ask);

/* Whether it is a lock of this name. */
bool hf_session_seat_has_name(const struct hf_session_seat *seat,
                              const void *name, size_t name_len);

/* Whether this owner holds it. */
bool hf_session_seat_has_owner(const struct hf_session_seat *seat,
                               const void *owner, size_t owner_len);

/** The seats of the keys with this hash: the first, then `next`. @return NULL:
 * there is none. */
struct hf_session_seat *hf_session_seat_first(const struct hf_session *session,
                                              uint32_t hash);

/* Only in a session that is READY. */
void hf_session_seat_add(struct hf_session *session,
                         struct hf_session_seat *seat, uint32_t hash);

/* Take it out of the table, and free it. */
void hf_session_seat_free(struct hf_session *session,
                          struct hf_session_seat *seat);

/* Free all: the session has ended, or the store closes. */
void hf_session_seats_free(struct hf_session *session);

/* ---- check.c ------------------------------------------------------------- */

/** Assert SE-1 to SE-5, which hold between two events of the loop.
 * @param is_closed  the connection is.
 * @param is_asked  it waits for a reply. */
void hf_session_check(const struct hf_session *session, bool is_closed,
                      bool is_asked);

#endif
