/* SPDX-License-Identifier: Apache-2.0 */
/* A verb as calls. ACQUIRE and CONFIRM wait for the renewal that flush() sends;
 * RELEASE is sent at once, after all that was asked before.
 *
 * Cost, in calls of the wire that follow one another: one for an ACQUIRE, since
 * its create does not wait for the renewal, and two for a shared try, which
 * lists first; two for a CONFIRM, a renewal and a read, which up to 128 locks
 * share (proof.c); one for a RELEASE. A session that must be opened first is
 * one more. Others: inspect.c, scan.c, task.c, mark.c and value.c. The files of
 * a wire say how many round trips a call is. */
#include "store/ordered/task.h"

#include "base/assert.h"
#include "core/validity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_gone(const struct hf_ordered_seat *seat)
{
    return seat->session == NULL || seat->session->phase == HF_ORDERED_GONE;
}

/* ---- ACQUIRE ------------------------------------------------------------- */

/** Give it a session. @return false: no memory. */
static bool attach(struct hf_ordered *store, struct hf_ordered_seat *seat,
                   struct hf_instant now)
{
    if (!is_gone(seat)) {
        return true;
    }
    hf_ordered_seat_detach(seat);
    seat->is_unsure = false;
    seat->state = HF_ORDERED_ASKING;
    seat->session = hf_ordered_session_for(store, seat->ttl_ms, now);
    if (seat->session != NULL) {
        seat->session->n_seats++;
    }
    return seat->session != NULL;
}

/* `place_stays` of each store of ordered entries. */
static int64_t place_ms(int64_t ttl_ms)
{
    return hf_span_ms_floor(hf_queue_lease(hf_span_ms(ttl_ms), true));
}

static void acquire(struct hf_ordered *store, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_ordered_seat *seat = hf_ordered_seat_find(store, ask);
    if (store->standing.status != HF_NODE_STATUS_VOTING) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT,
                                store->standing.fault == HF_OK
                                    ? HF_UNAVAILABLE
                                    : store->standing.fault,
                                store->standing.reason, now);
        return;
    }
    if (ask->is_unfair) {
        hf_ordered_answer_plain(
            store, ask, HF_VERDICT_ERROR, HF_CONFIG,
            "the fence is the place in the queue, so an acquisition "
            "that does not wait its turn would reverse fences: leave "
            "unfair out",
            now);
        return;
    }
    if (seat == NULL) {
        seat = hf_ordered_seat_add(store, ask);
    }
    if (seat == NULL) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    HF_ASSERT(!seat->acquire.is_pending);
    HF_ASSERT(ask->queue_ms == 0 || ask->queue_ms == place_ms(seat->ttl_ms));
    seat->acquire = (struct hf_ordered_request){true, ask->cookie, now};
    seat->cookie = ask->cookie;
    if (seat->state == HF_ORDERED_LEAVING) {
        hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE, HF_VERDICT_ERROR,
                                HF_UNAVAILABLE, "its release is under way");
    } else if (!attach(store, seat, now)) {
        hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE, HF_VERDICT_UNSENT,
                                HF_NO_MEMORY, "out of memory");
    } else {
        hf_ordered_session_asks(seat);
    }
}

/* ---- CONFIRM ------------------------------------------------------------- */

/* Another client has created the entry: it is adopted. */
static void adopt(struct hf_ordered *store, const struct hf_ask *ask,
                  struct hf_instant now)
{
    struct hf_ordered_seat *seat = NULL;
    if (store->standing.status != HF_NODE_STATUS_VOTING) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT,
                                store->standing.fault == HF_OK
                                    ? HF_UNAVAILABLE
                                    : store->standing.fault,
                                store->standing.reason, now);
        return;
    }
    seat = hf_ordered_seat_add(store, ask);
    if (seat == NULL) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_UNSENT, HF_NO_MEMORY,
                                "out of memory", now);
        return;
    }
    seat->leaves = ask->detaches;
    seat->confirm = (struct hf_ordered_request){true, ask->cookie, now};
    seat->cookie = ask->cookie;
    seat->proves = ask->counter;
    hf_ordered_move(store, seat, ask->counter, ask->ttl_ms, now);
}

/* A lock that is extended, or detached, leaves the session that it shares. */
static bool must_move(const struct hf_ordered_seat *seat,
                      const struct hf_ask *ask)
{
    return ask->ttl_ms > seat->session->ttl_ms ||
           (ask->detaches && !seat->session->is_own);
}

static void confirm(struct hf_ordered *store, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_ordered_seat *seat = hf_ordered_seat_find(store, ask);
    if (seat == NULL) {
        adopt(store, ask, now);
        return;
    }
    if (seat->state != HF_ORDERED_HELD || seat->number != ask->counter) {
        hf_ordered_answer_plain(store, ask, HF_VERDICT_REFUSED, HF_OK, NULL,
                                now);
        return;
    }
    HF_ASSERT(!seat->confirm.is_pending && !seat->is_moving);
    seat->leaves = ask->detaches;
    seat->confirm = (struct hf_ordered_request){true, ask->cookie, now};
    seat->cookie = ask->cookie;
    seat->proves = ask->counter;
    if (is_gone(seat) && !seat->may_have_moved) {
        hf_ordered_seat_detach(seat);
        hf_ordered_answer_refusal(store, seat, HF_VERB_CONFIRM);
    } else if (seat->may_have_moved || must_move(seat, ask)) {
        seat->ttl_ms = ask->ttl_ms > seat->ttl_ms ? ask->ttl_ms : seat->ttl_ms;
        hf_ordered_move(store, seat, ask->counter, seat->ttl_ms, now);
    } else {
        hf_ordered_session_proves(seat);
    }
}

/* ---- RELEASE, and the others --------------------------------------------- */

static void release(struct hf_ordered *store, const struct hf_ask *ask,
                    struct hf_instant now)
{
    struct hf_ordered_seat *seat = hf_ordered_seat_find(store, ask);
    bool reserves =
        seat != NULL && ask->ttl_ms > 0 && seat->state == HF_ORDERED_HELD;
    bool adopts = seat != NULL && seat->is_moving && seat->session == NULL;
    HF_ASSERT(seat == NULL || !seat->release.is_pending);
    if (seat == NULL || adopts || reserves) {
        hf_ordered_release_handed(store, seat, ask, now);
    } else {
        hf_ordered_release(store, seat, ask, now);
    }
}

void hf_ordered_ask(struct hf_ordered *store, const struct hf_ask *ask,
                    struct hf_instant now)
{
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        acquire(store, ask, now);
        return;
    case HF_VERB_CONFIRM:
        confirm(store, ask, now);
        return;
    case HF_VERB_RELEASE:
        release(store, ask, now);
        return;
    case HF_VERB_INSPECT:
    case HF_VERB_QUEUE:
        hf_ordered_inspect(store, ask, now);
        return;
    case HF_VERB_BREAK:
        hf_ordered_break(store, ask, now);
        return;
    case HF_VERB_SCAN:
        hf_ordered_scan(store, ask, now);
        return;
    case HF_VERB_MARK:
        hf_ordered_mark(store, ask, now);
        return;
    case HF_VERB_GET: /* only if the store has the capability */
    case HF_VERB_PUT:
        hf_ordered_value(store, ask, now);
        return;
    case HF_VERB_YIELD: /* one node never names an earlier ticket */
        break;
    }
    HF_ASSERT(ask->verb == HF_VERB_ACQUIRE);
}

/* ---- The wire's server --------------------------------------------------- */

static bool has_left(const struct hf_ordered_seat *seat, struct hf_instant now)
{
    struct hf_instant until =
        hf_instant_add(seat->left_at, hf_span_ms(seat->ttl_ms));
    return seat->state == HF_ORDERED_LEAVING && hf_instant_before(until, now);
}

static void drop_left_of(struct hf_ordered *store, struct hf_ordered_name *name,
                         struct hf_instant now)
{
    struct hf_ordered_seat *seat = name->seats;
    while (seat != NULL) {
        struct hf_ordered_seat *next = seat->next;
        if (has_left(seat, now)) {
            hf_ordered_seat_drop(store, seat);
        }
        seat = next;
    }
}

/* Seats whose RELEASE the client has given up: what they may have left is a
 * stranger to its session. */
static void drop_left(struct hf_ordered *store, struct hf_instant now)
{
    for (size_t i = 0; i < HF_ORDERED_BUCKETS; i++) {
        struct hf_ordered_name *name = store->names[i];
        while (name != NULL) {
            struct hf_ordered_name *next = name->next;
            drop_left_of(store, name, now); /* the last seat frees the name */
            name = next;
        }
    }
}

void hf_ordered_up(struct hf_ordered *store, struct hf_instant now)
{
    drop_left(store, now);
    hf_standing_set(&store->standing, &store->env, 0, HF_NODE_STATUS_VOTING,
                    false, HF_OK, "");
    store->env.listen(store->env.client, 0, true);
}

void hf_ordered_down(struct hf_ordered *store, bool is_connecting,
                     enum hf_status fault, const char *reason)
{
    hf_standing_set(&store->standing, &store->env, 0,
                    is_connecting ? HF_NODE_STATUS_CONNECTING
                                  : HF_NODE_STATUS_DOWN,
                    false, fault, reason);
}

void hf_ordered_lose_all(struct hf_ordered *store, const char *reason,
                         struct hf_instant now)
{
    (void)now;
    for (struct hf_ordered_session *session = store->sessions; session != NULL;
         session = session->next) {
        hf_ordered_session_gone(session);
    }
    hf_standing_set(&store->standing, &store->env, 0, HF_NODE_STATUS_DOWN, true,
                    HF_CONFIG, reason);
}

/* ---- Life ---------------------------------------------------------------- */

/* Marks and values are optional, each with both of its functions. */
static bool is_complete(const struct hf_wire_ops *ops)
{
    bool has_sessions = ops->open != NULL && ops->renew != NULL &&
                        ops->close != NULL && ops->owned != NULL;
    bool has_entries = ops->create != NULL && ops->list != NULL &&
                       ops->read != NULL && ops->replace != NULL &&
                       ops->scan != NULL && ops->remove != NULL;
    bool has_watches = ops->watch != NULL && ops->unwatch != NULL;
    return has_sessions && has_entries && has_watches &&
           (ops->mark_read == NULL) == (ops->mark_write == NULL) &&
           (ops->marks == NULL || ops->mark_read != NULL) &&
           (ops->value_read == NULL) == (ops->value_write == NULL);
}

void hf_ordered_init(struct hf_ordered *store, const struct hf_store_ops *ops,
                     struct hf_wire *wire, const struct hf_wire_ops *wire_ops,
                     const struct hf_store_env *env)
{
    HF_ASSERT(is_complete(wire_ops));
    store->base = (struct hf_store){ops, 1};
    store->env = *env;
    store->wire = wire;
    store->wire_ops = wire_ops;
    hf_standing_init(&store->standing);
    store->sweep_after_ms = HF_ORDERED_SWEEP_AFTER_MS;
    store->listed_each = HF_ORDERED_LISTED_EACH;
    store->read_most = HF_WIRE_READ_MAX;
}

/* Without a call to be done: the wire is closed next. */
void hf_ordered_close(struct hf_ordered *store, struct hf_instant now)
{
    for (struct hf_ordered_session *session = store->sessions; session != NULL;
         session = session->next) {
        if (session->phase == HF_ORDERED_OPEN && session->n_seats == 0 &&
            !session->is_own) {
            (void)store->wire_ops->close(store->wire, session->id,
                                         &store->closing, now);
        }
    }
}

static void free_name(struct hf_ordered_name *name)
{
    while (name->seats != NULL) {
        struct hf_ordered_seat *seat = name->seats;
        name->seats = seat->next;
        hf_ordered_place_free(seat);
        free(seat);
    }
    free(name);
}

void hf_ordered_fini(struct hf_ordered *store)
{
    while (store->calls != NULL) {
        hf_ordered_call_free(store->calls);
    }
    while (store->tasks != NULL) {
        hf_ordered_task_free(store->tasks);
    }
    for (size_t i = 0; i < HF_ORDERED_BUCKETS; i++) {
        while (store->names[i] != NULL) {
            struct hf_ordered_name *name = store->names[i];
            store->names[i] = name->next;
            free_name(name);
        }
    }
    while (store->sessions != NULL) {
        struct hf_ordered_session *session = store->sessions;
        store->sessions = session->next;
        free(session);
    }
    free(store->listed);
    free(store->judged);
    hf_ordered_scans_free(store);
    hf_ordered_sweep_free(store);
}
