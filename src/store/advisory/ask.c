/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a statement. A request that the seats already decide is answered at
 * once.
 *
 *   ACQUIRE   pg_try_advisory_lock[_shared], which never waits: a session that
 *             waits pins the server's oldest snapshot, and joins the deadlocks
 *             of CREATE INDEX CONCURRENTLY
 *   CONFIRM   the number of the server's process: the session lives, and is
 *             the one that was granted the lock
 *   RELEASE   pg_advisory_unlock[_shared]
 *
 * Cost: one statement, and one round trip, for each request that the seats do
 * not decide; no disk. Renewals of many locks are a statement each, in one
 * write. */
#include "base/assert.h"
#include "store/advisory/advisory.h"

#include <stdio.h>
#include <stdlib.h>

/* Holders and waiters of a key, in one QUEUE: as many as of a lock of the other
 * stores (store/sql/call.c). */
#define QUEUE_MAX "1000"

/* Statements that the connection prepares. Those of keys come in fours: plain
 * or shared, bigint or two ints. */
enum { S_TRY = 0, S_UNLOCK = 4, S_UNDO = 8, S_PID = 12, S_LIST = 13 };

/* $1 to $3 are the key as pg_locks shows it. */
#define OF_KEY                                                                 \
    " FROM pg_catalog.pg_locks AS l"                                           \
    " LEFT JOIN pg_catalog.pg_stat_activity AS a USING (pid)"                  \
    " WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM"         \
    " pg_catalog.pg_database WHERE datname = current_database())"              \
    " AND l.classid = $1::bigint::oid AND l.objid = $2::bigint::oid"           \
    " AND l.objsubid = $3::smallint"
#define WHO                                                                    \
    " coalesce(nullif(a.application_name, ''), 'session') || ':' ||"           \
    " coalesce(l.pid::text, 'prepared')"
#define TRY(function, key)                                                     \
    "WITH tried AS MATERIALIZED (SELECT pg_catalog." function "(" key          \
    ") AS ok) SELECT pg_backend_pid(), ok, CASE WHEN NOT ok THEN (SELECT" WHO  \
        OF_KEY " AND l.granted LIMIT 1) END FROM tried"
#define UNLOCK(function, key)                                                  \
    "SELECT pg_backend_pid(), pg_catalog." function "(" key ")"

#define UNDO(function, key)                                                    \
    "SELECT pg_backend_pid(), CASE WHEN EXISTS (SELECT" OF_KEY                 \
    " AND l.pid = pg_backend_pid()) THEN pg_catalog." function "(" key         \
    ") ELSE false END"

static const char *const statements[] = {
    [S_TRY + 0] = TRY("pg_try_advisory_lock", "$4::bigint"),
    [S_TRY + 1] = TRY("pg_try_advisory_lock_shared", "$4::bigint"),
    [S_TRY + 2] = TRY("pg_try_advisory_lock", "$4::int, $5::int"),
    [S_TRY + 3] = TRY("pg_try_advisory_lock_shared", "$4::int, $5::int"),
    [S_UNLOCK + 0] = UNLOCK("pg_advisory_unlock", "$1::bigint"),
    [S_UNLOCK + 1] = UNLOCK("pg_advisory_unlock_shared", "$1::bigint"),
    [S_UNLOCK + 2] = UNLOCK("pg_advisory_unlock", "$1::int, $2::int"),
    [S_UNLOCK + 3] = UNLOCK("pg_advisory_unlock_shared", "$1::int, $2::int"),
    [S_UNDO + 0] = UNDO("pg_advisory_unlock", "$4::bigint"),
    [S_UNDO + 1] = UNDO("pg_advisory_unlock_shared", "$4::bigint"),
    [S_UNDO + 2] = UNDO("pg_advisory_unlock", "$4::int, $5::int"),
    [S_UNDO + 3] = UNDO("pg_advisory_unlock_shared", "$4::int, $5::int"),
    [S_PID] = "SELECT pg_backend_pid()",
    [S_LIST] = "SELECT pg_backend_pid(), l.granted, l.mode LIKE '%Share%' AND"
               " l.mode NOT LIKE '%Exclusive%'," WHO OF_KEY
               " ORDER BY l.granted DESC, 4 LIMIT " QUEUE_MAX,
};

/* ---- Parameters ---------------------------------------------------------- */

static int64_t half(uint32_t bits)
{
    return (int64_t)(int32_t)bits;
}

static void add_key(struct hf_pg_params *params,
                    const struct hf_advisory_key *key)
{
    if (key->is_pair) {
        hf_pg_params_number(params, half((uint32_t)(key->bits >> 32)));
        hf_pg_params_number(params, half((uint32_t)key->bits));
    } else {
        hf_pg_params_number(params, (int64_t)key->bits);
    }
}

static void add_shown(struct hf_pg_params *params,
                      const struct hf_advisory_key *key)
{
    hf_pg_params_number(params, (int64_t)(key->bits >> 32));
    hf_pg_params_number(params, (int64_t)(key->bits & UINT32_MAX));
    hf_pg_params_number(params, key->is_pair ? 2 : 1);
}

static unsigned of_four(unsigned first, const struct hf_advisory_key *key,
                        bool is_shared)
{
    return first + (key->is_pair ? 2U : 0U) + (is_shared ? 1U : 0U);
}

static bool post(struct hf_advisory *store, const struct hf_pg_pending *pending,
                 unsigned statement, const struct hf_pg_params *params)
{
    if (!hf_pg_connection_ask(&store->connection, pending, statement,
                              statements[statement], params)) {
        return false;
    }
    hf_session_arm(&store->session);
    return true;
}

bool hf_advisory_unlock(struct hf_advisory *store,
                        struct hf_advisory_seat *seat, bool is_undo,
                        const struct hf_pg_pending *pending)
{
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    if (is_undo) {
        add_shown(&params, &seat->key);
    }
    add_key(&params, &seat->key);
    HF_ASSERT(!is_undo || hf_advisory_seat_is_sole(store, seat));
    seat->state = HF_ADVISORY_LEAVING;
    unsigned statement =
        of_four(is_undo ? S_UNDO : S_UNLOCK, &seat->key, seat->is_shared);
    if (post(store, pending, statement, &params)) {
        return true;
    }
    /* Only the end of the session frees it now. */
    hf_pg_connection_break(&store->connection, HF_NO_MEMORY, "out of memory");
    return false;
}

/* ---- Answers without a server -------------------------------------------- */

static struct hf_answer answer_to(const struct hf_ask *ask,
                                  struct hf_instant now)
{
    return (struct hf_answer){
        .cookie = ask->cookie, .verb = ask->verb, .node = 0, .sent = now};
}

static void answer_fault(struct hf_advisory *store, const struct hf_ask *ask,
                         enum hf_verdict verdict, enum hf_status fault,
                         const char *reason, struct hf_instant now)
{
    struct hf_answer answer = answer_to(ask, now);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    hf_advisory_answer_with(store, &answer);
}

/* The connection is broken, or there is no memory for a request. */
static void answer_unsent(struct hf_advisory *store, const struct hf_ask *ask,
                          struct hf_instant now)
{
    bool is_broken = store->connection.link.is_broken;
    answer_fault(store, ask, HF_VERDICT_UNSENT,
                 is_broken ? store->connection.link.fault : HF_NO_MEMORY,
                 is_broken ? store->connection.link.reason : "out of memory",
                 now);
}

/* Not yours: another lock of this client has it, or none has. */
static void answer_refusal(struct hf_advisory *store, const struct hf_ask *ask,
                           const struct hf_advisory_seat *holder,
                           struct hf_instant now)
{
    struct hf_answer answer = answer_to(ask, now);
    answer.verdict = HF_VERDICT_REFUSED;
    if (holder != NULL) {
        answer.holder_kind = HF_HOLDER_FOREIGN;
        answer.owner = holder->seat.owner;
        answer.owner_len = holder->seat.owner_len;
        answer.left_ms = -1;
    }
    hf_advisory_answer_with(store, &answer);
}

/* ---- ACQUIRE, CONFIRM, RELEASE ------------------------------------------- */

static struct hf_pg_pending
pending_of(struct hf_advisory_request *request, const struct hf_ask *ask,
           struct hf_advisory_seat *seat, struct hf_instant now)
{
    *request = (struct hf_advisory_request){ask->cookie, seat, ask->verb};
    return (struct hf_pg_pending){.cookie = (uint64_t)(uintptr_t)request,
                                  .sent = now,
                                  .kind = (uint8_t)ask->verb};
}

/* A lock of this client that excludes the one asked for. */
static struct hf_advisory_seat *rival_of(struct hf_advisory *store,
                                         const struct hf_advisory_key *key,
                                         const struct hf_ask *ask)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_first(store, key);
    while (seat != NULL && (seat->state == HF_ADVISORY_LEAVING ||
                            (seat->is_shared && ask->is_shared))) {
        seat = hf_advisory_seat_next(seat, key);
    }
    return seat;
}

/* Two names of one client with one key would wait for each other for ever. */
static void refuse_collision(struct hf_advisory *store,
                             const struct hf_ask *ask, struct hf_instant now)
{
    char why[HF_TEXT_SENTENCE];
    snprintf(why, sizeof(why),
             "another name of this client holds the same key%s",
             store->rule.kind == HF_ADVISORY_FIXED
                 ? ": with key= all names are one lock, so name one"
                 : ": choose another name");
    answer_fault(store, ask, HF_VERDICT_ERROR, HF_CONFIG, why, now);
}

static void ask_try(struct hf_advisory *store,
                    const struct hf_advisory_key *key, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_add(store, key, ask);
    if (seat == NULL) {
        answer_unsent(store, ask, now);
        return;
    }
    struct hf_pg_pending pending = pending_of(&seat->acquire, ask, seat, now);
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    add_shown(&params, key);
    add_key(&params, key);
    if (!post(store, &pending, of_four(S_TRY, key, ask->is_shared), &params)) {
        hf_session_seat_free(&store->session, &seat->seat);
        answer_unsent(store, ask, now);
    }
}

/* A request that changes no seat. */
static void ask_plain(struct hf_advisory *store, const struct hf_ask *ask,
                      struct hf_advisory_seat *seat, unsigned statement,
                      const struct hf_pg_params *params, struct hf_instant now)
{
    struct hf_advisory_request *request = malloc(sizeof(*request));
    if (request != NULL) {
        struct hf_pg_pending pending = pending_of(request, ask, seat, now);
        pending.kind = HF_VERB_CONFIRM; /* whose request is freed */
        if (post(store, &pending, statement, params)) {
            return;
        }
    }
    free(request);
    answer_unsent(store, ask, now);
}

static void ask_pid(struct hf_advisory *store, const struct hf_ask *ask,
                    struct hf_advisory_seat *seat, struct hf_instant now)
{
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    ask_plain(store, ask, seat, S_PID, &params, now);
}

static void acquire(struct hf_advisory *store,
                    const struct hf_advisory_key *key, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_advisory_seat *mine = hf_advisory_seat_find(store, key, ask);
    struct hf_advisory_seat *rival = rival_of(store, key, ask);
    if (mine != NULL && mine->state == HF_ADVISORY_HELD) {
        ask_pid(store, ask, mine, now); /* repeated after a lost answer */
    } else if (mine != NULL) {
        answer_fault(store, ask, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                     "an earlier request is under way", now);
    } else if (rival != NULL && !hf_session_seat_has_name(
                                    &rival->seat, ask->name, ask->name_len)) {
        refuse_collision(store, ask, now);
    } else if (rival != NULL) {
        answer_refusal(store, ask, rival, now);
    } else {
        ask_try(store, key, ask, now);
    }
}

/* Without a seat the session never had the lock, or has ended. */
static void confirm(struct hf_advisory *store,
                    const struct hf_advisory_key *key, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_find(store, key, ask);
    if (seat == NULL || seat->state != HF_ADVISORY_HELD) {
        answer_refusal(store, ask, NULL, now);
    } else {
        ask_pid(store, ask, seat, now);
    }
}

static void release(struct hf_advisory *store,
                    const struct hf_advisory_key *key, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_advisory_seat *seat = hf_advisory_seat_find(store, key, ask);
    if (seat == NULL) {
        answer_refusal(store, ask, NULL, now);
    } else if (seat->state == HF_ADVISORY_LEAVING || seat->is_unwanted) {
        answer_fault(store, ask, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                     "its release is under way", now);
    } else {
        struct hf_pg_pending pending =
            pending_of(&seat->release, ask, seat, now);
        bool is_asked = seat->state == HF_ADVISORY_ASKED;
        if (is_asked && !hf_advisory_seat_is_sole(store, seat)) {
            seat->is_unwanted = true; /* the reply to the try sends it */
        } else if (!hf_advisory_unlock(store, seat, is_asked, &pending)) {
            answer_unsent(store, ask, now);
        }
    }
}

/* ---- All ----------------------------------------------------------------- */

static void list(struct hf_advisory *store, const struct hf_advisory_key *key,
                 const struct hf_ask *ask, struct hf_instant now)
{
    struct hf_pg_params params;
    hf_pg_params_init(&params);
    add_shown(&params, key);
    ask_plain(store, ask, NULL, S_LIST, &params, now);
}

static void check_idle(struct hf_advisory *store, struct hf_instant now)
{
    struct hf_pg_connection *connection = &store->connection;
    if (hf_session_is_idle(&store->session, now) && connection->count == 0 &&
        hf_pg_connection_is_dead(connection)) {
        hf_pg_connection_break(connection, HF_UNAVAILABLE, "connection lost");
    }
}

void hf_advisory_ask(struct hf_advisory *store, const struct hf_ask *ask,
                     struct hf_instant now)
{
    struct hf_advisory_key key = hf_advisory_key_of(
        &store->rule, store->session.prefix, ask->name, ask->name_len);
    check_idle(store, now);
    bool needs_server = ask->verb == HF_VERB_ACQUIRE ||
                        ask->verb == HF_VERB_INSPECT ||
                        ask->verb == HF_VERB_QUEUE;
    if (needs_server && !hf_session_is_ready(&store->session)) {
        answer_fault(store, ask, HF_VERDICT_UNSENT,
                     store->session.standing.fault == HF_OK
                         ? HF_UNAVAILABLE
                         : store->session.standing.fault,
                     store->connection.link.is_broken
                         ? store->connection.link.reason
                         : store->session.standing.reason,
                     now);
        return;
    }
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        acquire(store, &key, ask, now);
        return;
    case HF_VERB_CONFIRM:
        confirm(store, &key, ask, now);
        return;
    case HF_VERB_RELEASE:
        release(store, &key, ask, now);
        return;
    case HF_VERB_INSPECT:
    case HF_VERB_QUEUE:
        list(store, &key, ask, now);
        return;
    case HF_VERB_YIELD: /* without the capabilities these are not asked */
    case HF_VERB_BREAK:
    case HF_VERB_MARK:
    case HF_VERB_GET:
    case HF_VERB_PUT:
    case HF_VERB_SCAN:
        break;
    }
    HF_ASSERT(ask->verb == HF_VERB_ACQUIRE);
}
