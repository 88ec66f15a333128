/* SPDX-License-Identifier: Apache-2.0 */
/* Detached locks, which pass between processes as the text "OWNER@FENCE/TTL".
 * Adopting is one renewal that never acquires: it succeeds only if a majority
 * confirms that the owner still holds the lock at that fence.
 *
 * Cost: one round trip, to the node that completes the majority; a release by
 * an owner's text costs the same. */
#include "client/adopt.h"

#include "client/cancel.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/events.h"
#include "client/fence.h"
#include "client/name.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/request.h"
#include "client/step.h"
#include "client/thread.h"
#include "client/unavailable.h"
#include "client/wait.h"

#include "base/assert.h"
#include "base/fail.h"
#include "core/owner.h"

#include <inttypes.h>

static enum hf_status read_owner(const struct hf_client *client,
                                 const char *text, struct hf_order *order,
                                 uint64_t *counter, struct hf_error *error)
{
    size_t len = 0;
    uint64_t fence = 0;
    if (text == NULL || !hf_owner_parse(text, &len, &fence) || fence == 0 ||
        len > HF_OWNER_MAX) {
        return hf_fail(error, HF_INVALID,
                       "not an owner: expected OWNER@FENCE/TTL, as acquire "
                       "printed it");
    }
    *counter = hf_fence_counter(client, fence);
    if (*counter == 0) {
        return hf_fail(error, HF_INVALID,
                       "not an owner of this store: its fence %" PRIu64
                       " is not above fence_base=%" PRIu64,
                       fence, client->url->fence_base);
    }
    order->text = text;
    order->text_len = len;
    order->is_owner = true;
    return HF_OK;
}

/* An adoption has one attempt: a second one would need a fresh owner, and the
 * text names the owner that the nodes store. hf_retry only limits the wait. */
static void begin(struct hf_op *op, enum hf_event_kind kind)
{
    struct hf_client *client = op->client;
    struct hf_lock *lock =
        hf_op_list(op) ? hf_lock_new(client, &op->order) : NULL;
    if (lock == NULL) {
        hf_fail_memory(&op->error);
        hf_op_finish(op, HF_NO_MEMORY);
        return;
    }
    lock->op = op;
    op->lock = lock;
    hf_retry_init(&op->retry, client->now, (struct hf_span){0},
                  client->has_reached, client->store->ops->retry_base,
                  client->store->ops->retry_cap, 0);
    hf_timer_heap_set(&client->heap, &op->item, hf_retry_limit(&op->retry));
    struct hf_event event = {.kind = kind,
                             .now = client->now,
                             .counter = op->counter,
                             .spared = op->spared};
    hf_client_step(client, lock, &event);
}

/* Unless the lock is HELD, it is no longer the operation's. */
static void on_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome)
{
    if (outcome == HF_OUT_HELD) {
        op->client->has_reached = true;
        lock->op = NULL;
        hf_op_finish(op, HF_OK);
        return;
    }
    hf_op_part(op);
    if (outcome == HF_OUT_LOST) {
        hf_op_fail(op, HF_LOST, "%s", hf_status_text(HF_LOST));
    } else {
        hf_op_finish(op, hf_unavailable_write(op));
    }
}

/* The timeout of the wait. A RELEASE_FOREIGN may have been executed at a node,
 * so its result is unknown. An adoption that fails must not leave a lock that
 * renews itself: detach it again. */
static void on_due(struct hf_op *op)
{
    struct hf_lock *lock = op->lock;
    HF_ASSERT(lock != NULL);
    hf_op_part(op);
    hf_op_finish(op, op->kind == HF_OP_RELEASE_FOREIGN && op->answered != 0
                         ? HF_UNKNOWN
                         : hf_unavailable_write(op));
    if (op->kind == HF_OP_ADOPT) {
        hf_client_signal(op->client, lock, HF_EV_DETACH);
    }
}

/* The text still names the lock for the caller, who may adopt it elsewhere: a
 * release would take it away. */
static void abandon(struct hf_op *op)
{
    struct hf_lock *lock = op->lock;
    hf_op_part(op);
    if (lock != NULL) {
        hf_client_signal(op->client, lock, HF_EV_DETACH);
    }
}

static void discard(struct hf_op *op)
{
    hf_client_signal(op->client, op->lock, HF_EV_DETACH);
    op->lock = NULL;
}

static const struct hf_op_handlers adopt_handlers = {
    .kind = HF_OP_ADOPT,
    .outcome = on_outcome,
    .due = on_due,
    .abandon = abandon,
    .discard = discard,
};

const struct hf_op_handlers hf_release_foreign_handlers = {
    .kind = HF_OP_RELEASE_FOREIGN,
    .outcome = hf_release_outcome,
    .due = on_due,
};

/* The ttl in the text, at most max_ttl; the default if there is none: a text of
 * version 0.1.0. */
static int64_t own_ttl_ms(const struct hf_client *client, const char *owner,
                          int64_t default_ms)
{
    int64_t ttl_ms = hf_owner_ttl_ms(owner);
    int64_t max_ms = client->url->max_ttl_ms;
    if (ttl_ms < HF_TTL_MS_MIN) {
        return default_ms;
    }
    return ttl_ms < max_ms ? ttl_ms : max_ms;
}

/* Without a ttl in the request, the ttl in the text counts, so that an adopted
 * lock keeps the length of lease that its first holder chose. */
static enum hf_status read_adoption(struct hf_op *op,
                                    const struct hf_request *request,
                                    const char *owner, struct hf_error *error)
{
    struct hf_client *client = op->client;
    enum hf_status status =
        hf_client_need_records(client, HF_DETACH_UNSUPPORTED, error);
    if (status == HF_OK) {
        status = hf_client_need_moves(client, error);
    }
    if (status == HF_OK) {
        status = hf_order_read(client, request, &op->order, error);
    }
    if (status == HF_OK && hf_order_is_bundle(&op->order)) {
        status = hf_fail(error, HF_UNSUPPORTED,
                         "only a lock of one name is handed on, and none of a "
                         "semaphore");
    }
    if (status == HF_OK) {
        status = read_owner(client, owner, &op->order, &op->counter, error);
    }
    if (status == HF_OK) {
        status = hf_cancel_admit(client, op->order.cancel, error);
    }
    if (status == HF_OK && request->ttl_ms == 0) {
        op->order.ttl_ms = own_ttl_ms(client, owner, op->order.ttl_ms);
    }
    return status;
}

/* If the thread cannot be started, the lock is left as it was: HF_EV_DETACH,
 * not a release, since its owner text is still valid. */
static enum hf_status adopt(struct hf_client *client,
                            const struct hf_request *request, const char *owner,
                            struct hf_lock **out, struct hf_error *error)
{
    struct hf_op op;
    hf_op_init(&op, client, &adopt_handlers);
    enum hf_status status = read_adoption(&op, request, owner, error);
    if (status != HF_OK) {
        return status;
    }
    hf_client_begin_write(client);
    begin(&op, HF_EV_ADOPT);
    status = hf_op_await(&op, error);
    if (status == HF_OK) {
        status = hf_client_start_thread(client, error);
        *out = status == HF_OK ? op.lock : NULL;
        if (status != HF_OK) {
            hf_client_signal(client, op.lock, HF_EV_DETACH);
        }
    }
    return status;
}

enum hf_status
hf_lock_adopt(struct hf_client *client, const struct hf_request *request,
              const char *owner, struct hf_lock **out, struct hf_error *error)
{
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the lock");
    }
    *out = NULL;
    enum hf_status status = hf_client_begin(client, error);
    if (status == HF_OK) {
        status = adopt(client, request, owner, out, error);
        if (hf_client_leave_with(client, *out)) {
            *out = NULL;
            status = hf_fail(error, HF_CANCELLED, "the client was closed");
        }
    }
    return status;
}

static enum hf_status start(struct hf_client *client,
                            const struct hf_request *request, const char *owner,
                            hf_op_fn *done, void *user, struct hf_op **out,
                            struct hf_error *error)
{
    struct hf_op plan;
    hf_op_init(&plan, client, &adopt_handlers);
    enum hf_status status = read_adoption(&plan, request, owner, error);
    if (status == HF_OK) {
        status = hf_client_start_thread(client, error);
    }
    if (status != HF_OK) {
        return status;
    }
    hf_client_begin_write(client);
    struct hf_op *op = hf_op_copy(&plan);
    if (op == NULL) {
        return hf_fail_memory(error);
    }
    hf_op_set_done(op, done, user);
    if (out != NULL) {
        *out = op;
    }
    begin(op, HF_EV_ADOPT);
    return HF_OK;
}

enum hf_status hf_op_start_adopt(struct hf_client *client,
                                 const struct hf_request *request,
                                 const char *owner, hf_op_fn *done, void *user,
                                 struct hf_op **out, struct hf_error *error)
{
    enum hf_status status =
        hf_op_enter(client, done == NULL ? "no callback" : NULL, out, error);
    if (status == HF_OK) {
        status = start(client, request, owner, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}

void hf_release_foreign_begin(struct hf_op *op)
{
    begin(op, HF_EV_RELEASE_FOREIGN);
}

static enum hf_status release_foreign(struct hf_client *client,
                                      const struct hf_order *order,
                                      uint64_t counter, struct hf_error *error)
{
    struct hf_op op;
    hf_op_init(&op, client, &hf_release_foreign_handlers);
    op.order = *order;
    op.counter = counter;
    hf_client_begin_write(client);
    hf_release_foreign_begin(&op);
    enum hf_status status = hf_op_await(&op, error);
    hf_client_start_thread(client, NULL); /* for missing replies */
    return status;
}

enum hf_status hf_owner_release(struct hf_client *client, const void *name,
                                size_t name_len, const char *owner,
                                struct hf_error *error)
{
    uint64_t counter = 0;
    enum hf_status status = hf_client_enter(client, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_order order = {
        .name = name,
        .name_len = name_len,
        .ttl_ms = client->url->max_ttl_ms,
        .is_lasting = true,
    };
    status = hf_client_need_records(client, HF_DETACH_UNSUPPORTED, error);
    if (status == HF_OK) {
        status = hf_name_check(client, name, name_len, error);
    }
    if (status == HF_OK) {
        status = read_owner(client, owner, &order, &counter, error);
    }
    if (status == HF_OK) {
        status = release_foreign(client, &order, counter, error);
    }
    hf_client_leave(client);
    return status;
}
