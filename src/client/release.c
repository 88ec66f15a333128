/* SPDX-License-Identifier: Apache-2.0 */
/* Releasing. The handle is invalid at once, and no callback begins for the
 * lock. The struct hf_lock exists until no node can store its owner any more.
 * Only hf_op_start_release_reserved() allocates memory. */
#include "client/release.h"

#include "client/events.h"
#include "client/lock_end.h"
#include "client/op_async.h"
#include "client/request.h"
#include "client/step.h"
#include "client/thread.h"
#include "client/unavailable.h"
#include "client/wait.h"

#include <stdlib.h>

void hf_release_start(struct hf_lock *lock, struct hf_op *op)
{
    hf_client_cancel_notify(lock->client, lock);
    lock->flags &= (uint8_t)~HF_LOCK_OURS;
    lock->op = op;
    if (op != NULL) {
        op->lock = lock;
    }
    hf_client_signal(lock->client, lock, HF_EV_RELEASE);
}

void hf_release_whole(struct hf_lock *lock, struct hf_op *op)
{
    if (lock != NULL) {
        hf_lock_stop_calls(lock);
    }
    for (struct hf_lock *one = lock; one != NULL;
         one = hf_lock_group_next(one)) {
        one->op = op; /* all before the first outcome */
    }
    while (lock != NULL) {
        struct hf_lock *next = hf_lock_group_next(lock);
        hf_release_start(lock, op);
        lock = next;
    }
}

void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome)
{
    enum hf_status status =
        hf_status_worse(op->worst, hf_outcome_status(outcome));
    lock->op = NULL;
    op->lock = hf_lock_group_leave(lock);
    op->worst = status;
    if (op->lock != NULL) {
        return;
    }
    if (op->kind == HF_OP_DISOWN && status == HF_UNKNOWN && op->answered == 0) {
        status = hf_unavailable_write(op);
    } else if (status == HF_UNKNOWN && hf_unavailable_is_denied(op)) {
        status = HF_DENIED;
    }
    if (status == HF_OK || op->error.text[0] != '\0') {
        hf_op_finish(op, status);
    } else {
        hf_op_fail(op, status, "%s", hf_status_text(status));
    }
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_RELEASE,
    .outcome = hf_release_outcome,
};

/* for_ms: reserve the names for so long; 0: free them. */
static void begin(struct hf_lock *lock, int64_t for_ms, struct hf_op *op)
{
    struct hf_instant keep =
        hf_instant_add(op->client->now, hf_span_ms(for_ms));
    for (struct hf_lock *one = lock; for_ms > 0 && one != NULL;
         one = hf_lock_group_next(one)) {
        hf_lock_set_keep(one, keep);
    }
    hf_release_whole(lock, op);
}

static enum hf_status release(struct hf_lock *lock, int64_t for_ms)
{
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    struct hf_op op;
    hf_op_init(&op, client, &handlers);
    begin(lock, for_ms, &op);
    enum hf_status status = hf_op_await(&op, NULL);
    hf_client_start_thread(client, NULL); /* for missing replies */
    hf_client_leave(client);
    return status;
}

static bool can_reserve(const struct hf_lock *lock)
{
    return hf_client_need_records(lock->client, "", NULL) == HF_OK;
}

enum hf_status hf_lock_release(struct hf_lock *lock)
{
    return lock == NULL ? HF_OK : release(lock, 0);
}

enum hf_status hf_lock_release_reserved(struct hf_lock *lock,
                                        int64_t reserve_ms)
{
    if (lock == NULL) {
        return HF_OK;
    }
    if (reserve_ms < 0 || reserve_ms > HF_RESERVE_MS_MAX) {
        return HF_INVALID;
    }
    if (reserve_ms > 0 && !can_reserve(lock)) {
        return HF_UNSUPPORTED;
    }
    return release(lock, reserve_ms);
}

/* ---- Asynchronous ------------------------------------------------------ */

void hf_op_start_release(struct hf_lock *lock, hf_op_fn *done, void *user)
{
    if (lock == NULL || hf_client_enter(lock->client, NULL) != HF_OK) {
        return;
    }
    struct hf_client *client = lock->client;
    for (struct hf_lock *one = lock; done != NULL && one != NULL;
         one = hf_lock_group_next(one)) {
        hf_lock_set_done(one, done, user);
    }
    hf_release_whole(lock, NULL);
    hf_client_leave(client);
}

/* Needs an operation: a lock has no room for both the time and the callback. */
enum hf_status hf_op_start_release_reserved(struct hf_lock *lock,
                                            int64_t reserve_ms, hf_op_fn *done,
                                            void *user)
{
    if (lock == NULL || done == NULL || reserve_ms < 0 ||
        reserve_ms > HF_RESERVE_MS_MAX) {
        return HF_INVALID;
    }
    if (reserve_ms > 0 && !can_reserve(lock)) {
        return HF_UNSUPPORTED;
    }
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    struct hf_op *op = malloc(sizeof(*op));
    if (op != NULL) {
        hf_op_init(op, client, &handlers);
        hf_op_set_done(op, done, user);
    }
    bool has_room = op != NULL && hf_op_list(op);
    if (has_room) {
        begin(lock, reserve_ms, op);
        hf_client_start_thread(client, NULL); /* for missing replies */
    } else {
        free(op);
    }
    hf_client_leave(client);
    return has_room ? HF_OK : HF_NO_MEMORY;
}
