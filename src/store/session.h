/* SPDX-License-Identifier: Apache-2.0 */
/* A session of a database that is the lease of its locks, for the stores of
 * advisory and of named locks: its phases, and what its end means.
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
 * The store has the connection, and sets the phases up to SETTING. When its
 * connection breaks it calls hf_session_lose(), answers all requests, drops all
 * seats, and calls hf_session_lost(). */
#ifndef HF_STORE_SESSION_H
#define HF_STORE_SESSION_H

#include "store/jobs.h"
#include "store/reconnect.h"
#include "store/standing.h"

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

/* WAITING: connect, which may fail at once. */
typedef void hf_session_connect_fn(struct hf_session *session,
                                   struct hf_instant now);

/* Of the store. */
struct hf_session_owner {
    const struct hf_store_env *env;
    struct hf_jobs *jobs;
    struct hf_reconnect *reconnect;
    uint64_t *seed; /* of the jitter */
    hf_session_connect_fn *connect;
};

struct hf_session {
    enum hf_session_phase phase;
    struct hf_standing standing;
    struct hf_session_owner owner;
    struct hf_instant turn_at; /* ENDING, ENDED: the next turn */
    bool is_quick;             /* reconnect without back-off */
    enum hf_status refusal;    /* of a server that is not fit; HF_OK: none */
    enum hf_status fault;      /* why the last one ended */
    char why[HF_STANDING_REASON_MAX]; /* of either */
};

/* WAITING, and to be connected at once. */
void hf_session_init(struct hf_session *session,
                     const struct hf_session_owner *owner,
                     struct hf_instant now);

/* The server is not fit, as `why` says. The store breaks the connection. */
void hf_session_refuse(struct hf_session *session, enum hf_status fault,
                       const char *why);

void hf_session_ready(struct hf_session *session, struct hf_instant now);

/** The connection has ended, for @p why unless the server was refused; it @p
 * holds locks. The reason is in `why` from then on.
 * @return the fault of its requests. */
enum hf_status hf_session_lose(struct hf_session *session, bool holds,
                               enum hf_status fault, const char *why,
                               struct hf_instant now);

/* It is shut, and its requests are answered: reconnect, unless it held locks.
 */
void hf_session_lost(struct hf_session *session, struct hf_instant now);

/* ENDING, ENDED: the next step, if it is due. */
void hf_session_turn(struct hf_session *session, struct hf_instant now);

/* The client was idle and has work again: WAITING, and due. */
void hf_session_resume(struct hf_session *session, struct hf_instant now);

static inline bool hf_session_is_opening(const struct hf_session *session)
{
    return session->phase >= HF_SESSION_CONNECTING &&
           session->phase <= HF_SESSION_SETTING;
}

/** For how long a server may be silent. If locks are held, the connection is
 * kept for as long as a lease: its end would free them. */
struct hf_span hf_session_patience(struct hf_span node_timeout, bool holds,
                                   int64_t max_ttl_ms);

#endif
