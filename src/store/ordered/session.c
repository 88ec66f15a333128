/* SPDX-License-Identifier: Apache-2.0 */
/* SESSIONS: OPENED, RENEWED, GONE
 *
 *   OPENING ──opened──▶ OPEN ──gone, or another cluster──▶ GONE
 *
 *   ask, ask, ask, flush   renew ──▶ alive, sent at S
 *                          create ──▶ an ACQUIRE: answered from S
 *                          read  ──▶ up to 128 CONFIRMs: answered from S
 *
 * The requests of one flush() share one renewal. A CONFIRM's read is sent when
 * the renewal was answered (proof.c). An ACQUIRE's create follows the renewal
 * on its connection without waiting, since the store itself refuses a create of
 * a session that is gone; its answer waits for both.
 *
 * A session that opens is renewed by that. S is the sending, never the receipt:
 * the server begins the ttl later.
 *
 * A session of one lock (is_own) is opened by a task and never shared. It is
 * not closed: what was moved into it may be another client's by then.
 *
 * Cost: one renewal for each session that has requests in a flush(), however
 * many these are. A session that is opened is one round trip more, before its
 * first create. A flush looks at all sessions: one of each ttl in seconds, and
 * those of one lock. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lists of requests --------------------------------------------------- */

void hf_ordered_session_asks(struct hf_ordered_seat *seat)
{
    HF_ASSERT(!seat->is_asking && seat->acquire.is_pending);
    HF_ASSERT(seat->session != NULL);
    seat->is_asking = true;
    seat->next_asking = seat->session->asking;
    seat->session->asking = seat;
}

void hf_ordered_session_proves(struct hf_ordered_seat *seat)
{
    HF_ASSERT(!seat->is_proving && seat->confirm.is_pending);
    HF_ASSERT(seat->session != NULL);
    seat->is_proving = true;
    seat->next_proving = seat->session->proving;
    seat->session->proving = seat;
}

static struct hf_ordered_seat *pop_asking(struct hf_ordered_session *session)
{
    struct hf_ordered_seat *seat = session->asking;
    if (seat != NULL) {
        HF_ASSERT(seat->is_asking && seat->session == session);
        session->asking = seat->next_asking;
        seat->is_asking = false;
    }
    return seat;
}

static struct hf_ordered_seat *pop_proving(struct hf_ordered_session *session)
{
    struct hf_ordered_seat *seat = session->proving;
    if (seat != NULL) {
        HF_ASSERT(seat->is_proving && seat->session == session);
        session->proving = seat->next_proving;
        seat->is_proving = false;
    }
    return seat;
}

void hf_ordered_seat_unlist(struct hf_ordered_seat *seat)
{
    struct hf_ordered_seat **at = &seat->session->asking;
    while (seat->is_asking && *at != seat) {
        HF_ASSERT(*at != NULL); /* is_asking: it is in the list */
        at = &(*at)->next_asking;
    }
    if (seat->is_asking) {
        *at = seat->next_asking;
        seat->is_asking = false;
    }
    at = &seat->session->proving;
    while (seat->is_proving && *at != seat) {
        HF_ASSERT(*at != NULL);
        at = &(*at)->next_proving;
    }
    if (seat->is_proving) {
        *at = seat->next_proving;
        seat->is_proving = false;
    }
}

/* ---- Opening ------------------------------------------------------------- */

/* A session that nothing has renewed for so long may have ended: a new one
 * costs the same round trip, and no failed attempt. */
static bool is_stale(const struct hf_ordered_session *session,
                     struct hf_instant now)
{
    struct hf_span most = hf_span_ms(session->ttl_ms / 4 * 3);
    return session->phase == HF_ORDERED_OPEN && session->n_seats == 0 &&
           session->calls == 0 &&
           hf_instant_before(hf_instant_add(session->renewed, most), now);
}

static struct hf_ordered_session *add(struct hf_ordered *store, int64_t ttl_s)
{
    struct hf_ordered_session *session = calloc(1, sizeof(*session));
    if (session != NULL) {
        session->phase = HF_ORDERED_OPENING;
        session->ttl_s = ttl_s;
        session->renewed = HF_LONG_AGO;
        session->next = store->sessions;
        store->sessions = session;
    }
    return session;
}

struct hf_ordered_session *hf_ordered_session_own(struct hf_ordered *store,
                                                  int64_t ttl_ms)
{
    struct hf_ordered_session *session = add(store, (ttl_ms + 999) / 1000);
    if (session != NULL) {
        session->is_own = true;
    }
    return session;
}

struct hf_ordered_session *hf_ordered_session_for(struct hf_ordered *store,
                                                  int64_t ttl_ms,
                                                  struct hf_instant now)
{
    int64_t ttl_s = (ttl_ms + 999) / 1000;
    struct hf_ordered_session *session = store->sessions;
    for (; session != NULL; session = session->next) {
        if (is_stale(session, now)) {
            session->phase = HF_ORDERED_GONE;
        }
        if (session->phase != HF_ORDERED_GONE && session->ttl_s == ttl_s &&
            !session->is_own) {
            return session;
        }
    }
    return add(store, ttl_s);
}

/* Nothing was created, now or before. */
static void let_go(struct hf_ordered_seat *seat)
{
    if (seat->number == 0 && !seat->is_unsure) {
        hf_ordered_seat_detach(seat);
    }
}

static void fail_asking(struct hf_ordered *store,
                        struct hf_ordered_session *session,
                        const struct hf_wire_reply *reply)
{
    struct hf_ordered_seat *seat;
    while ((seat = pop_asking(session)) != NULL) {
        let_go(seat);
        hf_ordered_answer_undone(store, seat, HF_VERB_ACQUIRE, reply);
    }
}

static void fail_proving(struct hf_ordered *store,
                         struct hf_ordered_session *session,
                         const struct hf_wire_reply *reply)
{
    struct hf_ordered_seat *seat;
    while ((seat = pop_proving(session)) != NULL) {
        hf_ordered_answer_undone(store, seat, HF_VERB_CONFIRM, reply);
    }
}

/* No answer counts from before its request: those that joined while the session
 * was being opened need a renewal. */
static bool has_later(const struct hf_ordered_session *session)
{
    const struct hf_ordered_seat *seat = session->asking;
    while (seat != NULL &&
           !hf_instant_before(session->renewed, seat->acquire.asked)) {
        seat = seat->next_asking;
    }
    return seat != NULL;
}

static void renew(struct hf_ordered *store, struct hf_ordered_session *session,
                  struct hf_instant now);

static void create_asking(struct hf_ordered *store,
                          struct hf_ordered_session *session,
                          struct hf_instant now)
{
    struct hf_ordered_seat *seat;
    while ((seat = pop_asking(session)) != NULL) {
        hf_ordered_entry_create(store, seat, now);
    }
}

/* An open that was lost made nothing that could hold a lock. */
bool hf_ordered_session_opened(struct hf_ordered_session *session,
                               const struct hf_wire_reply *reply,
                               struct hf_wire_reply *why)
{
    *why = *reply;
    if (reply->outcome == HF_WIRE_LOST) {
        why->outcome = HF_WIRE_UNSENT;
    }
    if (reply->outcome != HF_WIRE_DONE) {
        return false;
    }
    if (reply->ttl_ms < session->ttl_s * 1000) {
        why->outcome = HF_WIRE_ERROR;
        why->fault = HF_CONFIG;
        why->reason = "the server shortens the ttl";
        return false;
    }
    session->phase = HF_ORDERED_OPEN;
    session->ttl_ms = reply->ttl_ms;
    session->renewed = reply->sent;
    session->term = reply->term;
    memcpy(session->id, reply->session, sizeof(session->id));
    return true;
}

static void on_opened(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_session *session = call->session;
    struct hf_wire_reply why;
    if (!hf_ordered_session_opened(session, reply, &why)) {
        fail_asking(store, session, &why);
    } else if (has_later(session)) {
        renew(store, session, now);
    } else {
        create_asking(store, session, now);
    }
    hf_ordered_call_free(call);
}

static void open_session(struct hf_ordered *store,
                         struct hf_ordered_session *session,
                         struct hf_instant now)
{
    static const struct hf_wire_reply no_memory = {.outcome = HF_WIRE_UNSENT,
                                                   .fault = HF_NO_MEMORY,
                                                   .reason = "out of memory"};
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_opened, session, NULL, NULL);
    if (call == NULL) {
        fail_asking(store, session, &no_memory);
    } else if (!store->wire_ops->open(store->wire, session->ttl_s, &call->wire,
                                      now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* ---- The end ------------------------------------------------------------- */

void hf_ordered_session_gone(struct hf_ordered_session *session)
{
    session->phase = HF_ORDERED_GONE;
}

/* Requests that waited for a renewal of a session that is gone. */
static void end_requests(struct hf_ordered *store,
                         struct hf_ordered_session *session)
{
    static const struct hf_wire_reply gone = {.outcome = HF_WIRE_GONE};
    struct hf_ordered_seat *seat;
    while ((seat = pop_proving(session)) != NULL) {
        hf_ordered_seat_detach(seat);
        hf_ordered_answer_refusal(store, seat, HF_VERB_CONFIRM);
    }
    while ((seat = pop_asking(session)) != NULL) {
        hf_ordered_seat_detach(seat);
        hf_ordered_answer_undone(store, seat, HF_VERB_ACQUIRE, &gone);
    }
}

/* ---- Renewing ------------------------------------------------------------ */

static void on_renewed(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered_session *session = call->session;
    if (reply->outcome == HF_WIRE_GONE) {
        hf_ordered_session_gone(session);
    }
    bool is_alive =
        reply->outcome == HF_WIRE_DONE && session->phase != HF_ORDERED_GONE;
    if (is_alive) {
        session->renewed = reply->sent;
        session->term = reply->term;
    }
    hf_ordered_prove(call, reply, now);
    if (is_alive && session->is_doubtful) {
        hf_ordered_drop_strangers(call->store, session, now);
    }
    hf_ordered_call_free(call);
}

/* One renewal for all requests that wait for it. */
static void renew(struct hf_ordered *store, struct hf_ordered_session *session,
                  struct hf_instant now)
{
    static const struct hf_wire_reply no_memory = {.outcome = HF_WIRE_UNSENT,
                                                   .fault = HF_NO_MEMORY,
                                                   .reason = "out of memory"};
    struct hf_ordered_seat *seat;
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_renewed, session, NULL, NULL);
    if (call == NULL) {
        fail_asking(store, session, &no_memory);
        fail_proving(store, session, &no_memory);
        return;
    }
    while ((seat = pop_proving(session)) != NULL) {
        seat->next_proving = call->seats;
        call->seats = seat;
    }
    if (!store->wire_ops->renew(store->wire, session->id, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
    create_asking(store, session, now); /* UNSENT too, if that was */
}

/* A session in which an entry may still appear is closed when it holds nothing:
 * then none can. */
static void on_closed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    (void)reply;
    (void)now;
    hf_ordered_call_free((struct hf_ordered_call *)(void *)wire_call);
}

/* Without seats nothing renews it, so nothing would look for its strangers:
 * its end removes them. It is GONE before the call, so no seat joins a session
 * that is about to end. */
static void close_doubtful(struct hf_ordered *store,
                           struct hf_ordered_session *session,
                           struct hf_instant now)
{
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_closed, session, NULL, NULL);
    if (call == NULL) {
        return;
    }
    session->phase = HF_ORDERED_GONE;
    if (!store->wire_ops->close(store->wire, session->id, &call->wire, now)) {
        hf_ordered_call_free(call);
    }
}

static void serve(struct hf_ordered *store, struct hf_ordered_session *session,
                  struct hf_instant now)
{
    bool has_requests = session->asking != NULL || session->proving != NULL;
    switch (session->phase) {
    case HF_ORDERED_OPENING:
        if (has_requests && session->calls == 0) {
            open_session(store, session, now);
        }
        break;
    case HF_ORDERED_OPEN:
        if (has_requests) {
            renew(store, session, now);
        } else if (session->is_doubtful && !session->is_own &&
                   session->n_seats == 0 && session->calls == 0 &&
                   store->standing.status == HF_NODE_STATUS_VOTING) {
            close_doubtful(store, session, now);
        }
        break;
    case HF_ORDERED_GONE:
        end_requests(store, session);
        break;
    }
}

void hf_ordered_flush(struct hf_ordered *store, struct hf_instant now)
{
    for (struct hf_ordered_session *session = store->sessions; session != NULL;
         session = session->next) {
        serve(store, session, now);
    }
    for (struct hf_ordered_session **at = &store->sessions; *at != NULL;) {
        struct hf_ordered_session *session = *at;
        bool is_over = session->phase != HF_ORDERED_OPEN || session->is_own;
        if (is_over && session->n_seats == 0 && session->calls == 0) {
            *at = session->next;
            free(session);
        } else {
            at = &session->next;
        }
    }
}
