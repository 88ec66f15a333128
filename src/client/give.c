/* SPDX-License-Identifier: Apache-2.0 */
/* Detaching a lock. A detached lock is not renewed, so no renewal repairs a
 * node that has missed it, and a bare majority has no slack. So the lock is
 * first brought to every node that is up, for at most one timeout.
 *
 *   OUTLIVE   on a store that watches processes: remove those of the lock
 *   SPREAD    wait until every node that is up has the lock
 *   hand_on() write the text, stop renewing
 *
 * Until hand_on() the lock is the caller's, and is renewed. hand_on() runs in
 * the blocking call, or right before the callback: so the lock can still be
 * released until then. */
#include "client/give.h"

#include "client/cancel.h"
#include "client/events.h"
#include "client/handle.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/request.h"
#include "client/step.h"
#include "client/unavailable.h"
#include "client/wait.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { OUTLIVE, SPREAD };

struct hf_give {
    struct hf_op op; /* first: it is the item in the tables */
    enum stage stage;
    struct hf_lock *lock;
    uint32_t n_processes; /* to restore if it is abandoned; or 0 */
    hf_text_fn *done;
    char text[HF_OWNER_TEXT_MAX];
};

static struct hf_give *give_of(struct hf_op *op)
{
    return (struct hf_give *)(void *)op;
}

/* On success it stays in lock->op until hand_on(). */
static void finish(struct hf_give *give, enum hf_status status)
{
    if (status != HF_OK) {
        hf_op_part(&give->op);
    }
    hf_op_finish(&give->op, status);
}

void hf_give_due(struct hf_op *op)
{
    finish(give_of(op), HF_OK);
}

void hf_give_heard(struct hf_op *op)
{
    struct hf_give *give = give_of(op);
    if (!op->is_done && give->stage == SPREAD &&
        hf_lease_is_spread(hf_lock_lease(give->lock), &op->client->nodes)) {
        finish(give, HF_OK);
    }
}

static void spread(struct hf_give *give)
{
    struct hf_op *op = &give->op;
    const struct hf_lease *lease = hf_lock_lease(give->lock);
    give->stage = SPREAD;
    if (hf_lease_is_spread(lease, &op->client->nodes)) {
        finish(give, HF_OK);
        return;
    }
    hf_timer_heap_set(&op->client->heap, &op->item,
                      hf_client_patience(op->client, lease->ttl));
}

/* If the extension of OUTLIVE fails, the store would free the lock at the end
 * of this process: the detach fails, and the caller keeps the handle. */
void hf_give_outcome(struct hf_op *op, enum hf_outcome outcome)
{
    struct hf_give *give = give_of(op);
    if (give->stage == SPREAD) {
        return; /* hf_give_heard() runs after every step */
    }
    if (outcome == HF_OUT_EXTENDED) {
        spread(give);
        return;
    }
    if (outcome == HF_OUT_LOST) {
        finish(give, HF_OK); /* hand_on() returns HF_LOST */
        return;
    }
    enum hf_status status = hf_unavailable_write(op);
    hf_give_abandon(op);
    finish(give, status == HF_DENIED || status == HF_NO_MEMORY
                     ? status
                     : HF_UNAVAILABLE);
}

/* The caller keeps the handle after a failure, so the lock must end with its
 * processes again. The next renewal sends them to the nodes. */
void hf_give_abandon(struct hf_op *op)
{
    struct hf_give *give = give_of(op);
    struct hf_life_set *life =
        op->lock != NULL ? hf_lock_life(give->lock) : NULL;
    if (life != NULL && give->n_processes > 0) {
        life->count = give->n_processes;
        give->n_processes = 0;
    }
}

/* Remove the processes: from now on the lock is freed only by its expiry. */
static void outlive(struct hf_give *give)
{
    struct hf_life_set *life = hf_lock_life(give->lock);
    if (life == NULL || life->count == 0) {
        spread(give);
        return;
    }
    give->n_processes = life->count;
    life->count = 0;
    hf_client_signal(give->op.client, give->lock, HF_EV_EXTEND);
}

/** @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_NO_MEMORY: not begun. */
static enum hf_status begin(struct hf_give *give, struct hf_lock *lock,
                            struct hf_error *error)
{
    if (hf_lock_group_next(lock) != NULL) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "only a lock of one name is handed on, and none of a "
                       "semaphore");
    }
    enum hf_status status =
        hf_client_need_records(lock->client, HF_NOT_HANDED_ON, error);
    if (status == HF_OK) {
        status = hf_lock_check_unused(lock, error);
    }
    if (status != HF_OK) {
        return status;
    }
    if (!hf_op_list(&give->op)) {
        return hf_fail_memory(error);
    }
    give->lock = lock;
    give->op.lock = lock;
    lock->op = &give->op;
    give->stage = OUTLIVE;
    if (hf_lock_state_now(lock) == HF_STATE_LOST) {
        hf_give_due(&give->op);
    } else {
        outlive(give);
    }
    return HF_OK;
}

/* The text includes the length of the lease, which the adopter needs for
 * renewals: stores keep only the remaining time. */
static void write_text(struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    hf_lock_write_owner(lock, text);
    size_t len = strlen(text);
    snprintf(text + len, HF_OWNER_TEXT_MAX - len, "/%lld",
             (long long)hf_span_ms_floor(hf_lock_lease(lock)->ttl));
}

/** @return HF_OK: give->text names the detached lock; HF_LOST. */
static enum hf_status hand_on(struct hf_give *give)
{
    struct hf_client *client = give->op.client;
    struct hf_lock *lock = give->lock;
    hf_op_part(&give->op);
    if (hf_lock_state_now(lock) == HF_STATE_LOST) {
        hf_release_start(lock, NULL); /* lost: still release it */
        return HF_LOST;
    }
    write_text(lock, give->text);
    hf_client_cancel_notify(client, lock);
    lock->flags &= (uint8_t)~HF_LOCK_OURS;
    hf_client_signal(client, lock, HF_EV_DETACH);
    return HF_OK;
}

static void init(struct hf_give *give, struct hf_client *client)
{
    hf_op_init(&give->op, client, HF_OP_GIVE);
    give->n_processes = 0;
    give->text[0] = '\0';
}

enum hf_status hf_lock_detach(struct hf_lock *lock,
                              char text[HF_OWNER_TEXT_MAX])
{
    struct hf_give give;
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
    init(&give, client);
    status = begin(&give, lock, NULL);
    if (status == HF_OK) {
        status = hf_op_await(&give.op, NULL);
    }
    if (status == HF_OK) {
        status = hand_on(&give);
        memcpy(text, give.text, sizeof(give.text));
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

static bool report(struct hf_op *op)
{
    op->status = hand_on(give_of(op));
    if (op->status != HF_OK) {
        hf_fail(&op->error, op->status, "%s", hf_status_text(op->status));
    }
    return true;
}

static void call(struct hf_op *op)
{
    struct hf_give *give = give_of(op);
    give->done(op->user, op->status == HF_OK ? give->text : NULL, op->status,
               &op->error);
}

static enum hf_status start(struct hf_lock *lock, hf_text_fn *done, void *user,
                            struct hf_op **out, struct hf_error *error)
{
    struct hf_give *give = malloc(sizeof(*give));
    if (give == NULL) {
        return hf_fail_memory(error);
    }
    init(give, lock->client);
    give->op.call = call;
    give->op.report = report;
    give->op.user = user;
    give->done = done;
    enum hf_status status = begin(give, lock, error);
    if (status != HF_OK) {
        free(give);
    } else if (out != NULL) {
        *out = &give->op;
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
