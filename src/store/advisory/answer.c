/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers. Each reply names the server's process that gave it: one
 * that is not the session's shows a pooler in between, and the session ends. */
#include "base/assert.h"
#include "store/advisory/advisory.h"
#include "store/postgres/node.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

enum { C_PID, C_OK, C_WHO };                       /* of a try, of an unlock */
enum { C_GRANTED = 1, C_SHARED = 2, C_NAMED = 3 }; /* of a list */

void hf_advisory_answer_with(struct hf_advisory *store,
                             struct hf_answer *answer)
{
    store->session.env.answer(store->session.env.client, answer);
}

static struct hf_advisory_request *
request_of(const struct hf_pg_pending *pending)
{
    return (struct hf_advisory_request *)(uintptr_t)pending->cookie;
}

static struct hf_answer answer_to(const struct hf_advisory_request *request,
                                  struct hf_instant sent)
{
    return (struct hf_answer){.cookie = request->cookie,
                              .verb = request->verb,
                              .node = 0,
                              .sent = sent};
}

static void answer_none(struct hf_advisory *store,
                        const struct hf_advisory_request *request,
                        struct hf_instant sent, enum hf_verdict verdict,
                        enum hf_status fault, const char *reason)
{
    struct hf_answer answer = answer_to(request, sent);
    answer.verdict = verdict;
    answer.fault = fault;
    answer.reason = reason;
    hf_advisory_answer_with(store, &answer);
}

static void answer_released(struct hf_advisory *store,
                            const struct hf_advisory_request *request,
                            struct hf_instant sent, bool was_held)
{
    struct hf_answer answer = answer_to(request, sent);
    answer.verdict = was_held ? HF_VERDICT_OK : HF_VERDICT_REFUSED;
    hf_advisory_answer_with(store, &answer);
}

/* ---- A try --------------------------------------------------------------- */

/* A lock that was granted stays when its statement fails after that. If others
 * of this client share the key, only the end of the session separates them.
 */
static void undo(struct hf_advisory *store, struct hf_advisory_seat *seat,
                 struct hf_instant now)
{
    struct hf_pg_pending pending = {.cookie =
                                        (uint64_t)(uintptr_t)&seat->acquire,
                                    .sent = now,
                                    .kind = HF_ADVISORY_UNDO};
    if (hf_advisory_seat_is_sole(store, seat)) {
        (void)hf_advisory_unlock(store, seat, true, &pending);
        hf_pg_connection_flush(&store->connection);
    } else {
        hf_pg_connection_break(&store->connection, HF_UNAVAILABLE,
                               "an error of the server leaves open whether a "
                               "shared lock was granted");
    }
}

static void
take_failed_try(struct hf_advisory *store, struct hf_advisory_seat *seat,
                struct hf_instant sent, const struct hf_pg_reply *reply,
                struct hf_instant now)
{
    struct hf_advisory_request acquire = seat->acquire;
    struct hf_advisory_request release = seat->release;
    bool is_unwanted = seat->is_unwanted;
    char why[HF_TEXT_SENTENCE];
    enum hf_status fault = hf_pg_fault(reply->error, why, sizeof(why));
    seat->is_unwanted = false;
    seat->has_nothing = true;
    if (seat->state == HF_ADVISORY_ASKED) {
        undo(store, seat, now);
    }
    answer_none(store, &acquire, sent, HF_VERDICT_ERROR, fault, why);
    if (is_unwanted) {
        answer_none(store, &release, sent, HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                    why);
    }
}

static void take_grant(struct hf_advisory *store, struct hf_advisory_seat *seat,
                       struct hf_instant sent, struct hf_instant now)
{
    struct hf_answer answer = answer_to(&seat->acquire, sent);
    struct hf_advisory_request release = seat->release;
    HF_ASSERT(seat->state != HF_ADVISORY_HELD); /* a try is answered once */
    seat->seat.counter = ++store->session.counter;
    answer.verdict = HF_VERDICT_OK;
    answer.counter = seat->seat.counter;
    if (seat->state == HF_ADVISORY_ASKED) {
        seat->state = HF_ADVISORY_HELD;
    }
    bool has_failed = false;
    if (seat->is_unwanted) {
        struct hf_pg_pending pending = {.cookie =
                                            (uint64_t)(uintptr_t)&seat->release,
                                        .sent = now,
                                        .kind = HF_VERB_RELEASE};
        has_failed = !hf_advisory_unlock(store, seat, false, &pending);
        hf_pg_connection_flush(&store->connection);
    }
    hf_advisory_answer_with(store, &answer);
    if (has_failed) {
        answer_none(store, &release, now, HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                    "connection lost");
    }
}

static void take_refusal(struct hf_advisory *store,
                         struct hf_advisory_seat *seat, struct hf_instant sent,
                         const struct pg_result *rows)
{
    struct hf_answer answer = answer_to(&seat->acquire, sent);
    struct hf_advisory_request release = seat->release;
    struct hf_bytes who = hf_pg_bytes(rows, 0, C_WHO);
    bool is_unwanted = seat->is_unwanted;
    if (seat->state == HF_ADVISORY_ASKED) {
        hf_session_seat_free(&store->session, &seat->seat);
    } else {
        seat->has_nothing = true;
    }
    answer.verdict = HF_VERDICT_REFUSED;
    answer.holder_kind = HF_HOLDER_FOREIGN;
    /* It may have been given back since. */
    answer.owner = who.len > 0 ? who.data : "session";
    answer.owner_len = who.len > 0 ? who.len : sizeof("session") - 1;
    answer.left_ms = -1;
    hf_advisory_answer_with(store, &answer);
    if (is_unwanted) {
        answer_released(store, &release, sent, false);
    }
}

/* ---- An unlock ----------------------------------------------------------- */

static void take_unlock(struct hf_advisory *store,
                        struct hf_advisory_seat *seat,
                        const struct hf_pg_pending *pending,
                        const struct hf_pg_reply *reply)
{
    struct hf_advisory_request release = seat->release;
    bool is_undo = pending->kind == HF_ADVISORY_UNDO;
    bool may_fail = is_undo || seat->has_nothing;
    bool was_held = hf_pg_is_true(reply->rows, 0, C_OK);
    char why[HF_TEXT_SENTENCE] =
        "the session did not have a lock that it was granted: is "
        "there a pooler in between?";
    if (reply->error != NULL) {
        (void)hf_pg_fault(reply->error, why, sizeof(why));
    } else {
        hf_session_seat_free(&store->session, &seat->seat);
    }
    if (reply->error != NULL || (!was_held && !may_fail)) {
        hf_pg_connection_break(&store->connection, HF_UNAVAILABLE, why);
    }
    if (!is_undo && reply->error != NULL) {
        answer_none(store, &release, pending->sent, HF_VERDICT_UNKNOWN,
                    HF_UNAVAILABLE, why);
    } else if (!is_undo) {
        answer_released(store, &release, pending->sent, was_held);
    }
}

/* ---- CONFIRM ------------------------------------------------------------- */

static void
take_pid(struct hf_advisory *store, const struct hf_advisory_request *request,
         const struct hf_pg_pending *pending, const struct hf_pg_reply *reply)
{
    if (reply->error != NULL) {
        char why[HF_TEXT_SENTENCE];
        (void)hf_pg_fault(reply->error, why, sizeof(why));
        answer_none(store, request, pending->sent, HF_VERDICT_UNKNOWN,
                    HF_UNAVAILABLE, why);
        return;
    }
    struct hf_answer answer = answer_to(request, pending->sent);
    answer.verdict = HF_VERDICT_OK;
    answer.counter = request->seat->seat.counter;
    hf_advisory_answer_with(store, &answer);
}

/* ---- INSPECT, QUEUE ----------------------------------------------------- */

/* Holders, then sessions that wait in pg_advisory_lock(). */
static void
take_list(struct hf_advisory *store, const struct hf_advisory_request *request,
          const struct hf_pg_pending *pending, const struct hf_pg_reply *reply)
{
    int n = hf_pg_rows(reply->rows);
    if (reply->error != NULL ||
        !hf_seat_list_reserve(&store->listed, (size_t)n + 1)) {
        char why[HF_TEXT_SENTENCE] = "out of memory";
        enum hf_status fault =
            reply->error == NULL ? HF_NO_MEMORY
                                 : hf_pg_fault(reply->error, why, sizeof(why));
        answer_none(store, request, pending->sent, HF_VERDICT_ERROR, fault,
                    why);
        return;
    }
    struct hf_answer answer = answer_to(request, pending->sent);
    answer.verdict = HF_VERDICT_OK;
    answer.seats = store->listed.items;
    for (int i = 0; i < n; i++) {
        struct hf_bytes who = hf_pg_bytes(reply->rows, i, C_NAMED);
        struct hf_seat *seat = &store->listed.items[answer.n_seats++];
        *seat = (struct hf_seat){
            .waits = !hf_pg_is_true(reply->rows, i, C_GRANTED),
            .is_shared = hf_pg_is_true(reply->rows, i, C_SHARED),
            .owner = who.data,
            .owner_len = who.len,
            .left_ms = -1,
        };
        answer.waiting += seat->waits;
        answer.sharers += !seat->waits && seat->is_shared;
    }
    if (n > 0 && !store->listed.items[0].waits) {
        answer.holder_kind =
            answer.sharers > 0 ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
        answer.owner = store->listed.items[0].owner;
        answer.owner_len = store->listed.items[0].owner_len;
        answer.left_ms = -1;
    }
    if (request->verb == HF_VERB_INSPECT) {
        answer.n_seats = 0;
    }
    hf_advisory_answer_with(store, &answer);
}

/* ---- All ----------------------------------------------------------------- */

/* A list of a free key has no row, and so no process. */
static bool is_another(const struct hf_advisory *store,
                       const struct hf_pg_reply *reply)
{
    return reply->error == NULL && hf_pg_rows(reply->rows) > 0 &&
           hf_pg_integer(reply->rows, 0, C_PID) != store->pid;
}

static void take_try(struct hf_advisory *store,
                     const struct hf_advisory_request *request,
                     const struct hf_pg_pending *pending,
                     const struct hf_pg_reply *reply, struct hf_instant now)
{
    if (reply->error != NULL) {
        take_failed_try(store, request->seat, pending->sent, reply, now);
    } else if (hf_pg_is_true(reply->rows, 0, C_OK)) {
        take_grant(store, request->seat, pending->sent, now);
    } else {
        take_refusal(store, request->seat, pending->sent, reply->rows);
    }
}

void hf_advisory_answer(struct hf_advisory *store,
                        const struct hf_pg_pending *pending,
                        const struct hf_pg_reply *reply, struct hf_instant now)
{
    static const char pooled[] =
        "another process of the server answered: advisory locks need a session "
        "of their own, without a pooler";
    struct hf_advisory_request *request = request_of(pending);
    struct hf_advisory_seat *seat = request->seat;
    if (is_another(store, reply)) {
        hf_pg_connection_break(&store->connection, HF_CONFIG, pooled);
        hf_advisory_answer_lost(store, pending, HF_UNAVAILABLE, pooled);
    } else if (seat != NULL && request == &seat->release) {
        take_unlock(store, seat, pending, reply);
    } else if (seat != NULL && request == &seat->acquire) {
        if (pending->kind == HF_ADVISORY_UNDO) {
            take_unlock(store, seat, pending, reply);
        } else {
            take_try(store, request, pending, reply, now);
        }
    } else {
        if (seat != NULL) {
            take_pid(store, request, pending, reply);
        } else {
            take_list(store, request, pending, reply);
        }
        free(request);
    }
}

/* A request that is not part of a seat is freed here. The seats stay until all
 * requests are answered. */
void hf_advisory_answer_lost(struct hf_advisory *store,
                             const struct hf_pg_pending *pending,
                             enum hf_status fault, const char *reason)
{
    struct hf_advisory_request *request = request_of(pending);
    struct hf_advisory_seat *seat = request->seat;
    bool is_of_seat = seat != NULL &&
                      (request == &seat->acquire || request == &seat->release);
    if (pending->kind != HF_ADVISORY_UNDO) {
        answer_none(store, request, pending->sent, HF_VERDICT_UNKNOWN, fault,
                    reason);
    }
    if (is_of_seat && request == &seat->acquire && seat->is_unwanted &&
        seat->state == HF_ADVISORY_ASKED) {
        answer_none(store, &seat->release, pending->sent, HF_VERDICT_UNKNOWN,
                    fault, reason);
    }
    if (!is_of_seat) {
        free(request);
    }
}
