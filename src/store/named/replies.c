/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers. Each reply names the session that gave it: one that is
 * not ours shows a proxy in between that gave us another, and ours counts as
 * ended.
 *
 * A lock that was granted stays when its statement fails after that. So a try
 * that failed is undone before it is answered, and if that fails too, the
 * session ends. */
#include "base/assert.h"
#include "store/named/named.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

enum { C_ID, C_VALUE, C_HOLDER };

/* ---- Answers ------------------------------------------------------------- */

void hf_named_answer_with(struct hf_named *store,
                          const struct hf_named_request *request,
                          struct hf_answer *answer, struct hf_instant sent)
{
    answer->cookie = request->cookie;
    answer->verb = request->verb;
    answer->node = 0;
    answer->sent = sent;
    store->session.env.answer(store->session.env.client, answer);
}

void hf_named_answer_fault(struct hf_named *store,
                           const struct hf_named_request *request,
                           enum hf_verdict verdict, enum hf_status fault,
                           const char *reason, struct hf_instant sent)
{
    struct hf_answer answer = {
        .verdict = verdict, .fault = fault, .reason = reason};
    hf_named_answer_with(store, request, &answer, sent);
}

void hf_named_answer_all(struct hf_named *store, enum hf_status fault,
                         const char *reason, struct hf_instant now)
{
    struct hf_named_request *request;
    struct hf_instant sent = store->connection.sent_at;
    size_t n_sent = store->n_batch;
    store->n_batch = 0;
    for (; (request = hf_named_pop(store)) != NULL; n_sent -= n_sent > 0) {
        bool is_unknown = n_sent > 0 || request->statement == HF_NAMED_UNDO;
        hf_named_answer_fault(
            store, request, is_unknown ? HF_VERDICT_UNKNOWN : HF_VERDICT_UNSENT,
            fault, reason, is_unknown ? sent : now);
        free(request);
    }
}

static enum hf_status fault_of(const struct hf_mysql_reply *reply, char *why,
                               size_t size)
{
    bool is_denied = reply->error == ER_ACCESS_DENIED_ERROR ||
                     reply->error == ER_SPECIFIC_ACCESS_DENIED_ERROR ||
                     reply->error == ER_PROCACCESS_DENIED_ERROR;
    snprintf(why, size, "%.120s (error %u)", reply->text, reply->error);
    return is_denied ? HF_DENIED : HF_UNAVAILABLE;
}

/* ---- Answers of a batch -------------------------------------------------- */

/* Not yours: another lock of this client has it, or none has. */
static void refuse(struct hf_named *store,
                   const struct hf_named_request *request,
                   const struct hf_named_request *holder)
{
    struct hf_answer answer = {.verdict = HF_VERDICT_REFUSED};
    if (holder != NULL) {
        answer.holder_kind = HF_HOLDER_FOREIGN;
        answer.owner = holder->seat.owner;
        answer.owner_len = holder->seat.owner_len;
        answer.left_ms = -1;
    }
    hf_named_answer_with(store, request, &answer, store->connection.sent_at);
}

/* What the seats decide. Two names of one client with one key would wait for
 * each other for ever. */
static void answer_locally(struct hf_named *store,
                           const struct hf_named_request *request)
{
    const struct hf_named_request *seat =
        hf_named_seat_find(store, &request->key);
    bool is_same_name = seat != NULL && hf_session_seat_has_name(
                                            &seat->seat, request->seat.name,
                                            request->seat.name_len);
    if (request->verb != HF_VERB_ACQUIRE) {
        refuse(store, request, NULL);
    } else if (seat == NULL || is_same_name) {
        refuse(store, request, seat);
    } else {
        hf_named_answer_fault(store, request, HF_VERDICT_ERROR, HF_CONFIG,
                              "another name of this client holds the same key: "
                              "with key= all names are one lock, so name one",
                              store->connection.sent_at);
    }
}

/* The holder may have given it back since. */
static size_t session_text(bool is_there, uint64_t id, char *out, size_t size)
{
    return (size_t)snprintf(out, size, is_there ? "session:%llu" : "session",
                            (unsigned long long)id);
}

/** @return whether the request is the seat now. */
static bool answer_try(struct hf_named *store, struct hf_named_request *request)
{
    char who[HF_TEXT_WORD];
    struct hf_answer answer = {.verdict = HF_VERDICT_OK};
    const struct hf_named_outcome *outcome = &request->outcome;
    bool is_granted = outcome->value == 1;
    if (is_granted) {
        hf_named_seat_add(store, request);
        answer.counter = request->seat.counter;
    } else {
        answer.verdict = HF_VERDICT_REFUSED;
        answer.holder_kind = HF_HOLDER_FOREIGN;
        answer.owner = who;
        answer.owner_len = session_text(outcome->has_holder, outcome->holder,
                                        who, sizeof(who));
        answer.left_ms = -1;
    }
    hf_named_answer_with(store, request, &answer, store->connection.sent_at);
    return is_granted;
}

/* Without a proxy in between, the session keeps its grants. Only its end
 * frees it now. */
static void answer_unlock(struct hf_named *store,
                          const struct hf_named_request *request)
{
    static const char why[] = "the session did not have a lock that it was "
                              "granted: is there a proxy in between?";
    struct hf_answer answer = {.verdict = HF_VERDICT_OK};
    if (!request->outcome.has_value || request->outcome.value != 1) {
        hf_mysql_connection_break(&store->connection, HF_UNAVAILABLE, why);
        hf_named_answer_fault(store, request, HF_VERDICT_UNKNOWN,
                              HF_UNAVAILABLE, why, store->connection.sent_at);
        return;
    }
    hf_session_seat_free(&store->session,
                         &hf_named_seat_find(store, &request->key)->seat);
    hf_named_answer_with(store, request, &answer, store->connection.sent_at);
}

static void answer_id(struct hf_named *store,
                      const struct hf_named_request *request)
{
    const struct hf_named_request *seat =
        hf_named_seat_find(store, &request->key);
    if (seat == NULL || !hf_named_seat_is_of(seat, request)) {
        refuse(store, request, NULL); /* released in the same batch */
        return;
    }
    struct hf_answer answer = {.verdict = HF_VERDICT_OK,
                               .counter = seat->seat.counter};
    hf_named_answer_with(store, request, &answer, store->connection.sent_at);
}

/* Waiters of other programs are in no table that every server has. */
static void answer_look(struct hf_named *store,
                        const struct hf_named_request *request)
{
    char who[HF_TEXT_WORD];
    struct hf_answer answer = {.verdict = HF_VERDICT_OK};
    struct hf_seat seat = {.owner = who, .left_ms = -1};
    if (request->outcome.has_value) {
        seat.owner_len =
            session_text(true, request->outcome.value, who, sizeof(who));
        answer.holder_kind = HF_HOLDER_FOREIGN;
        answer.owner = seat.owner;
        answer.owner_len = seat.owner_len;
        answer.left_ms = -1;
        answer.seats = &seat;
        answer.n_seats = request->verb == HF_VERB_QUEUE ? 1 : 0;
    }
    hf_named_answer_with(store, request, &answer, store->connection.sent_at);
}

/* The lock is held as before: only an answer is missing. */
static void answer_failed(struct hf_named *store,
                          const struct hf_named_request *request)
{
    bool is_look = request->statement == HF_NAMED_LOOK;
    hf_named_answer_fault(store, request,
                          is_look ? HF_VERDICT_ERROR : HF_VERDICT_UNKNOWN,
                          is_look ? store->error_fault : HF_UNAVAILABLE,
                          store->error_text, store->connection.sent_at);
}

/** @return whether the request is kept, as a seat. */
static bool answer_one(struct hf_named *store, struct hf_named_request *request)
{
    if (request->has_failed) {
        answer_failed(store, request);
        return false;
    }
    switch (request->statement) {
    case HF_NAMED_NONE:
        answer_locally(store, request);
        break;
    case HF_NAMED_TRY:
        return answer_try(store, request);
    case HF_NAMED_UNDO:
        hf_named_answer_fault(store, request, HF_VERDICT_ERROR,
                              store->error_fault, store->error_text,
                              store->connection.sent_at);
        break;
    case HF_NAMED_UNLOCK:
        answer_unlock(store, request);
        break;
    case HF_NAMED_ID:
        answer_id(store, request);
        break;
    case HF_NAMED_LOOK:
        answer_look(store, request);
        break;
    }
    return false;
}

/* A try that gave nothing is undone in the next batch. */
static bool needs_undo(const struct hf_named_request *request)
{
    return request->statement == HF_NAMED_TRY && !request->outcome.has_value;
}

void hf_named_answer_batch(struct hf_named *store)
{
    struct hf_named_request *undo = NULL;
    for (; store->n_batch > 0 && !store->connection.link.is_broken;
         store->n_batch--) {
        struct hf_named_request *request = hf_named_pop(store);
        if (needs_undo(request)) {
            request->statement = HF_NAMED_UNDO;
            request->next = undo;
            undo = request;
        } else if (!answer_one(store, request)) {
            free(request);
        }
    }
    while (undo != NULL) {
        struct hf_named_request *next = undo->next;
        hf_named_unpop(store, undo);
        store->n_batch += store->connection.link.is_broken; /* it was sent */
        undo = next;
    }
}

/* ---- Replies ------------------------------------------------------------- */

static bool read_number(const struct hf_mysql_reply *reply, unsigned column,
                        uint64_t *out)
{
    bool is_there = column < reply->n && reply->columns[column] != NULL;
    *out = is_there ? strtoull(reply->columns[column], NULL, 10) : 0;
    return is_there;
}

/* The statement of this request has failed, and those after it were not
 * executed: they are sent again, and what came before is answered. */
static void take_error(struct hf_named *store, struct hf_named_request *failed,
                       const struct hf_mysql_reply *reply)
{
    char why[sizeof(store->error_text)];
    enum hf_status fault = fault_of(reply, why, sizeof(why));
    size_t n = 1;
    for (struct hf_named_request *at = store->first; at != failed;
         at = at->next) {
        n++;
    }
    if (failed->statement == HF_NAMED_UNDO ||
        failed->statement == HF_NAMED_UNLOCK) {
        /* The locks of the session are unknown now. */
        hf_mysql_connection_break(&store->connection, HF_UNAVAILABLE, why);
        return;
    }
    failed->has_failed = true;
    store->error_fault = fault;
    snprintf(store->error_text, sizeof(store->error_text), "%s", why);
    store->n_batch = n;
}

static struct hf_named_request *next_of(struct hf_named_request *at)
{
    while (at != NULL && (at->statement == HF_NAMED_NONE || at->shares)) {
        at = at->next;
    }
    return at;
}

static void take_row(struct hf_named *store, struct hf_named_request *request,
                     const struct hf_mysql_reply *reply)
{
    struct hf_named_outcome *outcome = &request->outcome;
    uint64_t session;
    if (!read_number(reply, C_ID, &session) || session != store->id) {
        hf_mysql_connection_break(&store->connection, HF_CONFIG,
                                  "another session of the server answered: "
                                  "named locks need a session of their own, "
                                  "without a proxy that shares them out");
        return;
    }
    outcome->has_value = read_number(reply, C_VALUE, &outcome->value);
    outcome->has_holder = read_number(reply, C_HOLDER, &outcome->holder);
    if (needs_undo(request)) {
        store->error_fault = HF_UNAVAILABLE;
        snprintf(store->error_text, sizeof(store->error_text),
                 "GET_LOCK() failed: the server gave NULL");
    }
}

void hf_named_take(struct hf_named *store, const struct hf_mysql_reply *reply)
{
    struct hf_named_request *request = next_of(store->next_reply);
    HF_ASSERT(request != NULL); /* a reply is to a statement */
    request->outcome = (struct hf_named_outcome){0};
    store->next_reply = request->next;
    if (reply->error != 0) {
        take_error(store, request, reply);
    } else {
        take_row(store, request, reply);
    }
    if (reply->is_last && !store->connection.link.is_broken) {
        hf_named_answer_batch(store);
    }
}
