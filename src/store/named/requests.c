/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as a statement. What the seats already decide is answered without one.
 *
 *   ACQUIRE   GET_LOCK(name, 0), which never waits: a waiter polls, so that a
 *             server never has a statement of a dead client
 *   CONFIRM   CONNECTION_ID(): the session lives, and is the one that was
 *             granted the lock. One statement for all of a batch: 10,000
 *             renewals cost one
 *   RELEASE   RELEASE_LOCK(name)
 *
 * Each statement has the session's number, as a column with a name: ProxySQL
 * answers a bare SELECT CONNECTION_ID() itself. Names are in hexadecimal, so no
 * sql_mode changes their meaning.
 *
 * Cost: one round trip for a batch, which has BATCH_MAX keys at most; a request
 * that comes meanwhile waits for it, and so does a second one of a key. One
 * block on the heap for each request. */
#include "base/assert.h"
#include "store/named/named.h"

#include <stdio.h>
#include <string.h>

/* Requests of a batch that are no CONFIRM. One statement takes up to 340 bytes;
 * with a key of the URL, which may be longer, each batch has one. */
#define BATCH_MAX 64

/* ---- Statements ---------------------------------------------------------- */

/* '?' is the name. */
static const char *const statements[] = {
    [HF_NAMED_TRY] = "SELECT CONNECTION_ID() AS id, GET_LOCK(?, 0) AS got, "
                     "IS_USED_LOCK(?) AS holder",
    [HF_NAMED_UNDO] = "SELECT CONNECTION_ID() AS id, "
                      "CASE WHEN IS_USED_LOCK(?) = CONNECTION_ID() "
                      "THEN RELEASE_LOCK(?) ELSE 0 END AS freed",
    [HF_NAMED_UNLOCK] =
        "SELECT CONNECTION_ID() AS id, RELEASE_LOCK(?) AS freed",
    [HF_NAMED_ID] = "SELECT CONNECTION_ID() AS id",
    [HF_NAMED_LOOK] = "SELECT CONNECTION_ID() AS id, IS_USED_LOCK(?) AS holder",
};

/* The name as a literal that means the same in each sql_mode. */
static char *put_name(char *at, const struct hf_named_key *key)
{
    static const char digits[] = "0123456789abcdef";
    at = stpcpy(at, "_utf8mb4 x'");
    for (size_t i = 0; i < key->len; i++) {
        *at++ = digits[(unsigned char)key->text[i] >> 4];
        *at++ = digits[(unsigned char)key->text[i] & 15];
    }
    *at++ = '\'';
    return at;
}

static char *put_statement(char *out, enum hf_named_statement statement,
                           const struct hf_named_key *key)
{
    for (const char *in = statements[statement]; *in != '\0'; in++) {
        if (*in == '?') {
            out = put_name(out, key);
        } else {
            *out++ = *in;
        }
    }
    return out;
}

/* ---- The queue ----------------------------------------------------------- */

struct hf_named_request *hf_named_pop(struct hf_named *store)
{
    struct hf_named_request *request = store->first;
    if (request != NULL) {
        store->first = request->next;
        if (store->first == NULL) {
            store->last = &store->first;
        }
        request->next = NULL;
    }
    return request;
}

void hf_named_unpop(struct hf_named *store, struct hf_named_request *request)
{
    request->next = store->first;
    store->first = request;
    if (request->next == NULL) {
        store->last = &request->next;
    }
}

static struct hf_named_request *push(struct hf_named *store,
                                     const struct hf_ask *ask)
{
    struct hf_named_request *request =
        hf_session_seat_new(sizeof(*request), ask);
    if (request == NULL) {
        return NULL;
    }
    request->cookie = ask->cookie;
    request->verb = ask->verb;
    hf_named_key_of(&store->rule, store->session.prefix, ask->name,
                    ask->name_len, &request->key);
    *store->last = request;
    store->last = &request->next;
    return request;
}

/* ---- The batch ----------------------------------------------------------- */

/* What the session knows of its own locks saves the server a statement. */
static enum hf_named_statement need_of(const struct hf_named *store,
                                       const struct hf_named_request *request)
{
    const struct hf_named_request *seat =
        hf_named_seat_find(store, &request->key);
    bool is_mine = seat != NULL && hf_named_seat_is_of(seat, request);
    switch (request->verb) {
    case HF_VERB_ACQUIRE:
        if (seat == NULL) {
            return HF_NAMED_TRY;
        }
        return is_mine ? HF_NAMED_ID : HF_NAMED_NONE; /* its answer was lost */
    case HF_VERB_CONFIRM:
        return is_mine ? HF_NAMED_ID : HF_NAMED_NONE;
    case HF_VERB_RELEASE:
        return is_mine ? HF_NAMED_UNLOCK : HF_NAMED_NONE;
    case HF_VERB_INSPECT:
    case HF_VERB_QUEUE:
        return HF_NAMED_LOOK;
    case HF_VERB_YIELD: /* without the capabilities these are not asked */
    case HF_VERB_BREAK:
    case HF_VERB_MARK:
    case HF_VERB_GET:
    case HF_VERB_PUT:
    case HF_VERB_SCAN:
        break;
    }
    HF_ASSERT(request->verb == HF_VERB_ACQUIRE);
    return HF_NAMED_NONE;
}

/* Statements so far, and the keys that they may change. */
struct batch {
    char *end;
    unsigned n;
    bool has_id;
    unsigned n_keys;
    const struct hf_named_key *keys[BATCH_MAX];
};

/* A request of the same key is not decided before the other is answered. */
static bool may_join(const struct batch *batch,
                     const struct hf_named_request *request)
{
    if (request->verb == HF_VERB_CONFIRM) {
        return true;
    }
    for (unsigned i = 0; i < batch->n_keys; i++) {
        if (hf_named_key_is(batch->keys[i], &request->key)) {
            return false;
        }
    }
    return batch->n_keys < BATCH_MAX;
}

static void join(struct hf_named *store, struct batch *batch,
                 struct hf_named_request *request)
{
    if (request->statement != HF_NAMED_UNDO) {
        request->statement = need_of(store, request);
    }
    request->has_failed = false;
    request->shares = request->statement == HF_NAMED_ID && batch->has_id;
    batch->has_id |= request->statement == HF_NAMED_ID;
    if (request->verb != HF_VERB_CONFIRM) {
        batch->keys[batch->n_keys++] = &request->key;
    }
    if (request->statement != HF_NAMED_NONE && !request->shares) {
        if (batch->n++ > 0) {
            *batch->end++ = ';';
        }
        batch->end =
            put_statement(batch->end, request->statement, &request->key);
    }
    store->n_batch++;
}

static void send_batch(struct hf_named *store, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &store->connection;
    struct batch batch = {.end = store->statements};
    store->n_batch = 0;
    for (struct hf_named_request *at = store->first;
         at != NULL && may_join(&batch, at); at = at->next) {
        join(store, &batch, at);
    }
    HF_ASSERT(batch.end < store->statements + HF_NAMED_STATEMENTS_MAX);
    store->next_reply = store->first;
    connection->sent_at = now; /* of the answers, also without a statement */
    if (batch.n == 0) {
        hf_named_answer_batch(store);
    } else {
        hf_mysql_connection_ask(connection, store->statements,
                                (size_t)(batch.end - store->statements), now);
        hf_session_arm(&store->session);
    }
}

/* A reply may come from inside, and the client may call from inside that. */
void hf_named_flush(struct hf_named *store, struct hf_instant now)
{
    if (store->is_busy) {
        return;
    }
    store->is_busy = true;
    while (hf_session_is_ready(&store->session) && store->first != NULL &&
           store->n_batch == 0) {
        send_batch(store, now);
    }
    store->is_busy = false;
}

/* ---- Asking -------------------------------------------------------------- */

static void check_idle(struct hf_named *store, struct hf_instant now)
{
    struct hf_mysql_connection *connection = &store->connection;
    if (hf_session_is_idle(&store->session, now) &&
        hf_mysql_connection_is_dead(connection)) {
        hf_mysql_connection_break(connection, HF_UNAVAILABLE,
                                  "the server has ended the session");
    }
}

/* Without a session nothing is held, and nothing can be asked. */
static void answer_now(struct hf_named *store, const struct hf_ask *ask,
                       struct hf_instant now)
{
    bool is_broken = store->connection.link.is_broken;
    struct hf_named_request request = {.cookie = ask->cookie,
                                       .verb = ask->verb};
    struct hf_answer refusal = {.verdict = HF_VERDICT_REFUSED};
    if (!is_broken &&
        (ask->verb == HF_VERB_CONFIRM || ask->verb == HF_VERB_RELEASE)) {
        hf_named_answer_with(store, &request, &refusal, now);
        return;
    }
    enum hf_status fault = is_broken ? store->connection.link.fault
                                     : store->session.standing.fault;
    hf_named_answer_fault(store, &request, HF_VERDICT_UNSENT,
                          fault == HF_OK ? HF_UNAVAILABLE : fault,
                          is_broken ? store->connection.link.reason
                                    : store->session.standing.reason,
                          now);
}

void hf_named_ask(struct hf_named *store, const struct hf_ask *ask,
                  struct hf_instant now)
{
    check_idle(store, now);
    if (!hf_session_is_ready(&store->session)) {
        answer_now(store, ask, now);
    } else if (push(store, ask) == NULL) {
        struct hf_named_request request = {.cookie = ask->cookie,
                                           .verb = ask->verb};
        hf_named_answer_fault(store, &request, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                              "out of memory", now);
    }
}
