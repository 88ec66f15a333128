/* SPDX-License-Identifier: Apache-2.0 */
/* Detaching a lock. A detached lock is not renewed, so no renewal repairs a
 * node that has missed it, and a bare majority has no slack. So the lock is
 * first brought to every node that is up, for at most one timeout.
 *
 *   UNBIND      on a store that watches processes: remove those of the lock; on
 *               one where locks of a client share something: tell it
 *   SPREAD      wait until every node that is up has the lock
 *   complete()  write the text, stop renewing
 *
 * Until complete() the lock is the caller's, and is renewed. complete() runs in
 * the blocking call, or right before the callback: so the lock can still be
 * released until then.
 *
 * Cost: UNBIND is one renewal. SPREAD sends nothing, and takes no time if every
 * node has replied to an earlier request. */
#include "client/enter.h"
#include "client/events.h"
#include "client/handle.h"
#include "client/lock_group.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/request.h"
#include "client/step.h"
#include "client/unavailable.h"
#include "client/wait.h"

#include "base/assert.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { UNBIND, SPREAD };

struct hf_detach {
    struct hf_op op; /* first: it is the item in the tables */
    enum stage stage;
    struct hf_lock *lock;
    uint32_t n_processes; /* to restore if it is abandoned; or 0 */
    hf_text_fn *done;
    char text[HF_OWNER_TEXT_MAX];
};

static struct hf_detach *detach_of(struct hf_op *op)
{
    return (struct hf_detach *)(void *)op;
}

/* On success it stays in lock->op until complete(). */
static void finish(struct hf_detach *detach, enum hf_status status)
{
    if (status != HF_OK) {
        hf_op_part(&detach->op);
    }
    hf_op_finish(&detach->op, status);
}

static void on_due(struct hf_op *op)
{
    finish(detach_of(op), HF_OK);
}

static void on_step(struct hf_op *op)
{
    struct hf_detach *detach = detach_of(op);
    if (!op->is_done && detach->stage == SPREAD &&
        hf_lease_is_spread(hf_lock_lease(detach->lock), &op->client->nodes)) {
        finish(detach, HF_OK);
    }
}

static void spread(struct hf_detach *detach)
{
    struct hf_op *op = &detach->op;
    const struct hf_lease *lease = hf_lock_lease(detach->lock);
    HF_ASSERT(detach->stage == UNBIND);
    detach->stage = SPREAD;
    if (hf_lease_is_spread(lease, &op->client->nodes)) {
        finish(detach, HF_OK);
        return;
    }
    hf_timer_heap_set(&op->client->heap, &op->item,
                      hf_client_patience(op->client, hf_lease_ttl(lease)));
}

/* The caller keeps the handle after a failure, so the lock must end with its
 * processes again. The next renewal sends them to the nodes. */
static void abandon(struct hf_op *op)
{
    struct hf_detach *detach = detach_of(op);
    struct hf_life_set *life =
        op->lock != NULL ? hf_lock_life(detach->lock) : NULL;
    HF_ASSERT(op->lock == NULL || op->lock == detach->lock);
    if (op->lock != NULL) {
        detach->lock->flags &= (uint8_t)~HF_LOCK_LEAVES;
    }
    if (life != NULL && detach->n_processes > 0) {
        life->count = detach->n_processes;
        detach->n_processes = 0;
    }
}

/* If the extension of UNBIND fails, the store would free the lock at the end
 * of this process: the detach fails, and the caller keeps the handle. */
static void on_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome)
{
    struct hf_detach *detach = detach_of(op);
    HF_ASSERT(lock == detach->lock); /* the only one */
    if (detach->stage == SPREAD) {
        return; /* on_step() runs after every step */
    }
    if (outcome == HF_OUT_EXTENDED) {
        spread(detach);
        return;
    }
    if (outcome == HF_OUT_LOST) {
        finish(detach, HF_OK); /* complete() returns HF_LOST */
        return;
    }
    enum hf_status status = hf_unavailable_write(op);
    abandon(op);
    finish(detach, status == HF_DENIED || status == HF_NO_MEMORY
                       ? status
                       : HF_UNAVAILABLE);
}

/* It is done, but complete() has not run. */
static void discard(struct hf_op *op)
{
    abandon(op);
    hf_op_part(op);
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_DETACH,
    .outcome = on_outcome,
    .stepped = on_step,
    .due = on_due,
    .abandon = abandon,
    .discard = discard,
};

/* Remove the processes: from now on the lock is freed only by its expiry. */
static void unbind(struct hf_detach *detach)
{
    struct hf_life_set *life = hf_lock_life(detach->lock);
    bool has_processes = life != NULL && life->count > 0;
    HF_ASSERT((detach->lock->flags & HF_LOCK_LEAVES) == 0);
    if (!has_processes && !detach->op.client->store->ops->is_told) {
        spread(detach);
        return;
    }
    if (has_processes) {
        detach->n_processes = life->count;
        life->count = 0;
    }
    detach->lock->flags |= HF_LOCK_LEAVES;
    hf_client_signal(detach->op.client, detach->lock, HF_EV_EXTEND);
}

/* What can fail comes first: from lock->op on, the next outcome of the lock
 * ends the operation. */
static enum hf_status begin(struct hf_detach *detach, struct hf_lock *lock,
                            struct hf_error *error)
{
    if (hf_lock_group_next(lock) != NULL) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "only a lock of one name is handed on, and none of a "
                       "semaphore");
    }
    enum hf_status status =
        hf_client_need_records(lock->client, HF_DETACH_UNSUPPORTED, error);
    if (status == HF_OK) {
        status = hf_client_need_moves(lock->client, error);
    }
    if (status == HF_OK) {
        status = hf_lock_check_unused(lock, error);
    }
    if (status != HF_OK) {
        return status;
    }
    if (!hf_op_list(&detach->op)) {
        return hf_fail_memory(error);
    }
    /* before the operation is its own: a look may be what ends the lease */
    bool is_lost = hf_lock_state_now(lock) == HF_STATE_LOST;
    HF_ASSERT(lock->op == NULL); /* hf_lock_check_unused() */
    detach->lock = lock;
    detach->op.lock = lock;
    lock->op = &detach->op;
    detach->stage = UNBIND;
    if (is_lost) {
        on_due(&detach->op);
    } else {
        unbind(detach);
    }
    return HF_OK;
}

/* The text includes the length of the lease, which the adopter needs for
 * renewals: stores keep only the remaining time. */
static void write_text(struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    hf_lock_write_owner(lock, text);
    size_t len = strlen(text);
    int more = snprintf(
        text + len, HF_OWNER_TEXT_MAX - len, "/%lld",
        (long long)hf_span_ms_floor(hf_lease_ttl(hf_lock_lease(lock))));
    /* Cut, the text would be another lock's, or a shorter lease's. */
    HF_ASSERT(more > 0 && (size_t)more < HF_OWNER_TEXT_MAX - len);
}

/** @return HF_OK: detach->text names the detached lock; HF_LOST. */
static enum hf_status complete(struct hf_detach *detach)
{
    struct hf_client *client = detach->op.client;
    struct hf_lock *lock = detach->lock;
    hf_op_part(&detach->op);
    HF_ASSERT((lock->flags & HF_LOCK_OURS) != 0 && lock->op == NULL);
    if (hf_lock_state_now(lock) == HF_STATE_LOST) {
        hf_release_start(lock, NULL); /* lost: still release it */
        return HF_LOST;
    }
    write_text(lock, detach->text);
    hf_client_cancel_notify(client, lock);
    lock->flags &= (uint8_t)~HF_LOCK_OURS;
    hf_client_signal(client, lock, HF_EV_DETACH);
    return HF_OK;
}

static void init(struct hf_detach *detach, struct hf_client *client)
{
    hf_op_init(&detach->op, client, &handlers);
    detach->n_processes = 0;
    detach->text[0] = '\0';
}

enum hf_status hf_lock_detach(struct hf_lock *lock,
                              char text[HF_OWNER_TEXT_MAX])
{
    struct hf_detach detach;
    if (text == NULL) {
        return HF_INVALID;
    }
    text[0] = '\0';
    if (lock == NULL) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    enum hf_status status = hf_client_begin(client, NULL);
    if (status != HF_OK) {
        return status;
    }
    init(&detach, client);
    status = begin(&detach, lock, NULL);
    if (status == HF_OK) {
        status = hf_op_await(&detach.op, NULL);
    }
    if (status == HF_OK) {
        status = complete(&detach);
        memcpy(text, detach.text, sizeof(detach.text));
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

static bool report(struct hf_op *op)
{
    op->status = complete(detach_of(op));
    if (op->status != HF_OK) {
        hf_fail(&op->error, op->status, "%s", hf_status_text(op->status));
    }
    return true;
}

static void call(struct hf_op *op)
{
    struct hf_detach *detach = detach_of(op);
    detach->done(op->user, op->status == HF_OK ? detach->text : NULL,
                 op->status, &op->error);
}

static enum hf_status start(struct hf_lock *lock, hf_text_fn *done, void *user,
                            struct hf_op **out, struct hf_error *error)
{
    struct hf_detach *detach = malloc(sizeof(*detach));
    if (detach == NULL) {
        return hf_fail_memory(error);
    }
    init(detach, lock->client);
    detach->op.call = call;
    detach->op.report = report;
    detach->op.user = user;
    detach->done = done;
    enum hf_status status = begin(detach, lock, error);
    if (status != HF_OK) {
        free(detach);
    } else if (out != NULL) {
        *out = &detach->op;
    }
    return status;
}

enum hf_status hf_op_start_detach(struct hf_lock *lock, hf_text_fn *done,
                                  void *user, struct hf_op **out,
                                  struct hf_error *error)
{
    if (lock == NULL) {
        return hf_op_enter(NULL, "no lock", out, error);
    }
    struct hf_client *client = lock->client;
    enum hf_status status =
        hf_op_enter(client, done == NULL ? "no callback" : NULL, out, error);
    if (status == HF_OK) {
        status = start(lock, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}
