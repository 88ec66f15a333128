/* SPDX-License-Identifier: Apache-2.0 */
/* AN ACQUISITION: ATTEMPTS UNTIL ONE IS HELD OR THE WAIT IS OVER
 *
 * With a wait, on a store with queues:
 *
 *   attempt 1 ── queued ── granted ── held
 *                   └ split: it releases itself, then attempt 2
 *
 * A wait that ends is BUSY only if a majority has answered just before: so a
 * waiter asks once more, a second before its end. Else a server that died, or
 * hangs, would be reported as the holder that it named last.
 *
 * For a try, on a store without queues, or if no majority was reached:
 *
 *   attempt 1 ── taken ── pause ── attempt 2 ── … ── held
 *      └ releases itself               └ a new lock, a fresh owner
 *
 * Each attempt has a fresh owner: if an owner were used twice, a late reply to
 * the first attempt could count as a grant for the second (in the model this
 * breaks exclusion in 11 steps). A failed attempt releases its grants in the
 * background, also after the call has returned. The largest counter that it saw
 * is the hint of the next one, so that the nodes agree in one round trip.
 *
 * Cost: each attempt is a lock on the heap, and as many round trips as core
 * needs (lease_ask.c). A wait adds heartbeats (lease_wait.c), and before its
 * end at most one request to each node. */
#include "client/acquire.h"

#include "client/clock_apart.h"
#include "client/fork.h"
#include "client/holder_hint.h"
#include "client/log.h"
#include "client/release.h"
#include "client/step.h"
#include "client/unavailable.h"

#include "base/assert.h"
#include "base/fail.h"

/* Of an answer, in milliseconds: longer than a retry of a store without queues
 * takes, and than a busy server needs. */
#define FRESH_MS 1000

/* ---- One attempt --------------------------------------------------------- */

static bool has_queue(const struct hf_client *client)
{
    return (client->store->ops->capabilities & HF_CAP_QUEUE) != 0;
}

/* The errors of the attempt before are kept, in `refused`: this one may be over
 * before those nodes have replied again (is_busy()). */
static void attempt(struct hf_op *op)
{
    struct hf_client *client = op->client;
    HF_ASSERT(op->lock == NULL && !op->is_done); /* one attempt at a time */
    struct hf_lock *lock = hf_lock_new(client, &op->order);
    if (lock == NULL) {
        hf_fail_memory(&op->error);
        hf_op_finish(op, HF_NO_MEMORY);
        return;
    }
    lock->op = op;
    op->lock = lock;
    op->attempted_at = client->now;
    op->answered = 0;
    op->refused = op->refusing;
    op->refusing = 0;
    op->apart = 0;
    op->leading = 0;
    op->is_queued = false;
    op->has_asked = false;
    op->is_denied = false;
    hf_timer_heap_set(&client->heap, &op->item, hf_retry_limit(&op->retry));
    struct hf_event event = {
        .kind = HF_EV_ACQUIRE,
        .now = client->now,
        .counter = op->counter,
        .queues = op->order.wait_ms != 0 && has_queue(client),
        .place_stays = client->store->ops->place_stays,
    };
    hf_client_step(client, lock, &event);
}

void hf_acquire_begin(struct hf_op *op)
{
    struct hf_client *client = op->client;
    const struct hf_store_ops *ops = client->store->ops;
    struct hf_span wait = hf_span_ms_or_max(op->order.wait_ms);
    hf_retry_init(&op->retry, client->now, wait, client->has_reached,
                  ops->retry_base, ops->retry_cap, hf_client_random(client));
    hf_log_begin(op);
    enum hf_status status = hf_unavailable_final(op);
    if (status != HF_OK) {
        hf_op_finish(op, status);
        return;
    }
    attempt(op);
}

/* ---- The end ----------------------------------------------------------- */

enum hf_status hf_acquire_write_busy(struct hf_op *op)
{
    hf_holder_hint_write(&op->rival, op->client->now, op->error.text,
                         sizeof(op->error.text));
    op->error.node = op->rival.is_known ? (int)op->rival.node : -1;
    return HF_BUSY;
}

static void finish_busy(struct hf_op *op)
{
    hf_op_finish(op, hf_acquire_write_busy(op));
}

static void finish_as(struct hf_op *op, enum hf_retry_decision decision)
{
    switch (decision) {
    case HF_RETRY_BUSY:
        finish_busy(op);
        break;
    case HF_RETRY_TOO_SLOW:
        hf_op_fail(op, HF_UNAVAILABLE,
                   "a lease of %lld ms is used up before a majority has "
                   "answered: choose a longer ttl",
                   (long long)op->order.ttl_ms);
        break;
    case HF_RETRY_UNREACHED:
        hf_op_finish(op, hf_unavailable_write(op));
        break;
    case HF_RETRY_WAIT:
    case HF_RETRY_AGAIN:
        HF_ASSERT(false); /* the operation goes on */
        break;
    }
}

/* All users of a semaphore must agree on its size: otherwise more than N could
 * hold it. `rival_permits` is set only if it differs from ours. */
static bool is_misfit(const struct hf_op *op)
{
    return op->order.permits != 0 && op->rival_permits != 0;
}

static void fail_misfit(struct hf_op *op)
{
    hf_op_part(op);
    hf_op_fail(op, HF_INVALID,
               "it is in use as a semaphore of %u permits, not of %u",
               (unsigned)op->rival_permits, (unsigned)op->order.permits);
}

/* ---- The end of a wait -------------------------------------------------- */

/* The embedded store is in this process, and a wait without end has no end. */
static bool can_be_silent(const struct hf_op *op)
{
    uint32_t capabilities = op->client->store->ops->capabilities;
    return (capabilities & HF_CAP_LIVENESS) == 0 && op->order.wait_ms > 0;
}

static struct hf_span patience_of(const struct hf_op *op)
{
    return hf_nodes_patience(&op->client->nodes, hf_span_ms(op->order.ttl_ms));
}

/* What a node has said counts as its present state for so long. */
static struct hf_span fresh_span(const struct hf_op *op)
{
    return hf_span_max(hf_span_ms(FRESH_MS), hf_span_scale(patience_of(op), 2));
}

/* The end of a wait reports the present: a node that has answered only before
 * that is missing. The embedded store cannot be silent. */
static uint16_t live_nodes(const struct hf_op *op)
{
    const struct hf_client *client = op->client;
    struct hf_instant since = op->is_queued
                                  ? op->fresh_since
                                  : hf_instant_sub(client->now, fresh_span(op));
    uint16_t mask = 0;
    for (unsigned i = 0; i < client->nodes.count; i++) {
        if (!hf_instant_before(op->heard_at[i], since)) {
            mask |= (uint16_t)(1U << i);
        }
    }
    bool is_embedded =
        (client->store->ops->capabilities & HF_CAP_LIVENESS) != 0;
    return is_embedded ? hf_nodes_all(&client->nodes) : mask;
}

/* A waiter asks seldom, so it asks once more before its end; in a short wait
 * each answer counts. */
static void plan_end(struct hf_op *op, struct hf_instant end)
{
    op->fresh_since = hf_instant_sub(end, fresh_span(op));
    op->has_asked = !can_be_silent(op) ||
                    !hf_instant_before(op->client->now, op->fresh_since);
    hf_timer_heap_set(&op->client->heap, &op->item,
                      op->has_asked ? end : op->fresh_since);
}

/* Later than planned if this process did not run: then the nodes have their
 * time all the same. */
static void ask_again(struct hf_op *op)
{
    struct hf_client *client = op->client;
    struct hf_lock *lock = op->lock;
    struct hf_instant answered_by = hf_instant_add(
        client->now, hf_span_min(patience_of(op), hf_span_ms(FRESH_MS)));
    struct hf_instant end =
        hf_instant_max(hf_retry_limit(&op->retry), answered_by);
    op->has_asked = true;
    hf_timer_heap_set(&client->heap, &op->item, end);
    for (unsigned i = 0;
         i < client->nodes.count && !op->is_done && op->lock == lock; i++) {
        struct hf_event event = {
            .kind = HF_EV_NODE, .now = client->now, .node = (uint8_t)i};
        hf_client_step(client, lock, &event);
    }
}

/* ---- An attempt's outcome ---------------------------------------------- */

static void win(struct hf_op *op, struct hf_lock *lock)
{
    HF_ASSERT(op->lock == lock);
    HF_ASSERT(hf_lease_phase(hf_lock_lease(lock)) == HF_PHASE_HOLDING);
    op->client->has_reached = true;
    lock->op = NULL;
    hf_op_finish(op, HF_OK); /* op->lock is the result: hf_lock_hand_out() */
}

/* Nodes with an error that a reconnect cannot repair. A server's error is
 * retried like an outage; an error of the embedded store is final, since it
 * runs in this process. */
static uint16_t unmendable(const struct hf_op *op)
{
    const struct hf_store_ops *store = op->client->store->ops;
    bool is_embedded = (store->capabilities & HF_CAP_LIVENESS) != 0;
    return is_embedded ? op->refusing : 0;
}

/* A bundle may try another lock beside one that is split. */
static void note_split(struct hf_op *op, enum hf_outcome outcome)
{
    bool is_news = outcome == HF_OUT_SPLIT && !op->is_split;
    op->is_split = outcome == HF_OUT_SPLIT;
    if (is_news && op->bundle != NULL) {
        op->bundle->handlers->member(op->bundle, op);
    }
}

static void try_again(struct hf_op *op, struct hf_lock *lock,
                      enum hf_outcome outcome)
{
    struct hf_client *client = op->client;
    const struct hf_lease *lease = hf_lock_lease(lock);
    HF_ASSERT(op->lock == lock);
    if (is_misfit(op)) {
        fail_misfit(op); /* the failed attempt releases itself */
        return;
    }
    uint64_t seen = hf_lease_seen(lease);
    hf_op_note_apart(op, lease);
    enum hf_status status = hf_unavailable_final(op);
    struct hf_retry_event event = {outcome, unmendable(op),
                                   hf_unavailable_is_hopeless(op), client->now};
    struct hf_retry_next next =
        hf_retry_step(&op->retry, &client->nodes, lease, &event);
    client->has_reached |= op->retry.has_reached;
    op->counter = seen > 0 && seen < HF_FENCE_MAX ? seen + 1 : seen;
    hf_op_part(op);
    if (status != HF_OK) {
        hf_op_finish(op, status);
    } else if (next.decision == HF_RETRY_AGAIN) {
        hf_log_retry(op, outcome, next.at);
        hf_timer_heap_set(&client->heap, &op->item, next.at);
        note_split(op, outcome);
    } else {
        finish_as(op, next.decision);
    }
}

static void wait_in_queue(struct hf_op *op, struct hf_lock *lock)
{
    HF_ASSERT(hf_lease_phase(hf_lock_lease(lock)) == HF_PHASE_WAITING);
    if (is_misfit(op)) {
        lock->flags |= HF_LOCK_GIVE_UP; /* in its step: the RELEASE follows */
        fail_misfit(op);
        return;
    }
    struct hf_client *client = op->client;
    struct hf_retry_event event = {.outcome = HF_OUT_QUEUED,
                                   .now = client->now};
    struct hf_retry_next next =
        hf_retry_step(&op->retry, &client->nodes, hf_lock_lease(lock), &event);
    op->is_queued = true;
    client->has_reached = true;
    plan_end(op, next.at);
}

/* HELD ends the operation, and op->lock is the result; QUEUED lets it wait;
 * after any other the attempt is no longer the operation's, which begins
 * another at its timer, or ends. */
static void on_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome)
{
    switch (outcome) {
    case HF_OUT_HELD:
        win(op, lock);
        break;
    case HF_OUT_QUEUED:
        wait_in_queue(op, lock);
        break;
    case HF_OUT_TAKEN:
    case HF_OUT_SPLIT:
    case HF_OUT_UNREACHED:
    case HF_OUT_TOO_SLOW:
        try_again(op, lock, outcome);
        break;
    case HF_OUT_NONE:
    case HF_OUT_EXTENDED:
    case HF_OUT_UNEXTENDED:
    case HF_OUT_LOST:
    case HF_OUT_RELEASED:
    case HF_OUT_UNKNOWN:
        HF_ASSERT(false); /* not an outcome of ACQUIRE */
    }
}

/* A wait without end gets here only if no majority can be reached: so not
 * HF_BUSY, even if one node named a holder. A try is over within a second: a
 * holder that it has met is the present one. */
static bool is_busy(const struct hf_op *op, bool has_answer)
{
    return (has_answer || !can_be_silent(op)) && op->rival.is_known &&
           op->order.wait_ms >= 0;
}

bool hf_acquire_is_stuck(const struct hf_op *op)
{
    struct hf_instant due =
        hf_instant_add(op->attempted_at, hf_span_ms(HF_ACQUIRE_SILENT_MS));
    unsigned answered = (unsigned)__builtin_popcount(op->answered);
    return answered >= op->client->nodes.quorum && op->rival.is_known &&
           !hf_instant_before(op->client->now, due);
}

/* Those that have not replied lately are missing now. */
static void forget_silent(struct hf_op *op, uint16_t live)
{
    op->answered &= live;
    op->refusing |= op->is_queued ? 0 : op->refused & ~op->answered;
}

static enum hf_retry_decision decide_due(struct hf_op *op)
{
    uint16_t live = live_nodes(op);
    bool has_answer =
        (unsigned)__builtin_popcount(live) >= op->client->nodes.quorum;
    if (!has_answer) {
        forget_silent(op, live);
    }
    return is_busy(op, has_answer) ? HF_RETRY_BUSY : HF_RETRY_UNREACHED;
}

/* The attempt is parted from the operation before it is released: the outcome
 * of that release is not the operation's. */
void hf_acquire_end(struct hf_op *op)
{
    struct hf_lock *lock = op->lock;
    HF_ASSERT(!op->is_done);
    if (is_misfit(op)) {
        fail_misfit(op);
    } else {
        enum hf_retry_decision decision = decide_due(op);
        hf_op_part(op);
        finish_as(op, decision);
    }
    if (lock != NULL) {
        hf_client_signal(op->client, lock, HF_EV_RELEASE);
    }
}

/* ---- Other events ------------------------------------------------------- */

static void abandon(struct hf_op *op)
{
    struct hf_lock *lock = op->lock;
    hf_op_part(op);
    if (lock != NULL) {
        hf_client_signal(op->client, lock, HF_EV_RELEASE);
    }
}

/* An error that no retry mends, such as a node that is configured otherwise,
 * ends the operation now, and not when its wait is over. */
static void on_node(struct hf_op *op)
{
    if (op->is_done) {
        return;
    }
    enum hf_status status = hf_unavailable_final(op);
    if (status != HF_OK) {
        struct hf_lock *lock = op->lock;
        hf_op_part(op);
        hf_op_finish(op, status);
        if (lock != NULL) {
            hf_client_signal(op->client, lock, HF_EV_RELEASE);
        }
    }
}

/** Refused by a node, in the queue: the end, unless a majority of others is
 * left. @return false: it was due anyway. */
static bool ends_denied(struct hf_op *op)
{
    struct hf_instant now = op->client->now;
    struct hf_instant end = hf_retry_limit(&op->retry);
    op->is_denied = false;
    on_node(op);
    if (op->is_done) {
        return true;
    }
    struct hf_instant next = op->has_asked ? end : op->fresh_since;
    hf_timer_heap_set(&op->client->heap, &op->item, next);
    return hf_instant_before(now, next);
}

/* Without a lock the pause before the next attempt is over. */
static void on_due(struct hf_op *op)
{
    if (op->lock == NULL) {
        attempt(op);
        return;
    }
    if (op->is_denied && ends_denied(op)) {
        return;
    }
    bool asks = op->is_queued && !op->has_asked && !is_misfit(op);
    if (asks) {
        ask_again(op);
    } else {
        hf_acquire_end(op);
    }
}

/* It is held, but its caller does not get it any more: it is released in the
 * background. */
static void discard(struct hf_op *op)
{
    hf_release_whole(op->lock, NULL);
    op->lock = NULL;
}

const struct hf_op_handlers hf_acquire_handlers = {
    .kind = HF_OP_ACQUIRE,
    .outcome = on_outcome,
    .due = on_due,
    .node = on_node,
    .abandon = abandon,
    .failed = hf_log_failed,
    .discard = discard,
};
