/* SPDX-License-Identifier: Apache-2.0 */
/* Giving back. The handle is consumed at once: from then on no callback begins
 * for the lock, whose object lives on until no node can have its owner any
 * more. Nothing here allocates, but hf_op_start_release_reserved(). */
#include "client/op.h"
#include "client/queue.h"

#include "base/assert.h"

#include <stdlib.h>

void hf_release_start(struct hf_lock *lock, struct hf_op *op)
{
    hf_client_untell(lock->client, lock);
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
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        one->op = op; /* the first outcome is not the last */
    }
    while (lock != NULL) {
        struct hf_lock *next = hf_link_next(lock);
        hf_release_start(lock, op);
        lock = next;
    }
}

enum hf_status hf_release_status(enum hf_outcome outcome)
{
    if (outcome == HF_OUT_RELEASED) {
        return HF_OK;
    }
    return outcome == HF_OUT_LOST ? HF_LOST : HF_UNKNOWN;
}

/* Of several locks: what the user has to know first. */
static enum hf_status worse(enum hf_status one, enum hf_status other)
{
    return one == HF_OK || other == HF_LOST ? other : one;
}

void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome)
{
    enum hf_status status = worse(op->worst, hf_release_status(outcome));
    lock->op = NULL;
    op->lock = hf_link_leave(lock);
    op->worst = status;
    if (op->lock != NULL) {
        return;
    }
    if (op->kind == HF_OP_DISOWN && status == HF_UNKNOWN && op->answered == 0) {
        status = hf_blame_write(op);
    } else if (status == HF_UNKNOWN && hf_blame_is_denied(op)) {
        status = HF_DENIED;
    }
    if (status == HF_OK || op->error.text[0] != '\0') {
        hf_op_finish(op, status);
    } else {
        hf_op_fail(op, status, "%s", hf_status_text(status));
    }
}

/* for_ms: keep the names taken for so long; 0: free them. */
static void begin(struct hf_lock *lock, int64_t for_ms, struct hf_op *op)
{
    struct hf_instant keep =
        hf_instant_add(op->client->now, hf_span_ms(for_ms));
    for (struct hf_lock *one = lock; for_ms > 0 && one != NULL;
         one = hf_link_next(one)) {
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
    hf_op_init(&op, client, HF_OP_RELEASE);
    begin(lock, for_ms, &op);
    enum hf_status status = hf_op_await(&op, NULL);
    hf_client_start_thread(client, NULL); /* for what is not answered yet */
    hf_client_leave(client);
    return status;
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
    return release(lock, reserve_ms);
}

/* ---- Asynchronous ------------------------------------------------------ */

/* Of several locks the last one carries the outcome of all. */
void hf_release_owe(struct hf_lock *lock, enum hf_outcome outcome)
{
    struct hf_client *client = lock->client;
    HF_ASSERT((lock->flags & HF_LOCK_OWED) == 0);
    lock->outcome = (uint8_t)worse((enum hf_status)lock->outcome,
                                   hf_release_status(outcome));
    struct hf_lock *other = hf_link_leave(lock);
    if (other != NULL) {
        other->outcome = (uint8_t)worse((enum hf_status)other->outcome,
                                        (enum hf_status)lock->outcome);
        lock->flags &= (uint8_t)~HF_LOCK_CALLING;
        return;
    }
    lock->flags |= HF_LOCK_OWED;
    hf_queue_push(client, &client->calls_first, &client->calls_last, lock);
    hf_client_owe(client);
}

void hf_op_start_release(struct hf_lock *lock, hf_op_fn *done, void *user)
{
    if (lock == NULL || hf_client_enter(lock->client, NULL) != HF_OK) {
        return;
    }
    struct hf_client *client = lock->client;
    for (struct hf_lock *one = lock; done != NULL && one != NULL;
         one = hf_link_next(one)) {
        hf_lock_set_done(one, done, user);
    }
    hf_release_whole(lock, NULL);
    hf_client_leave(client);
}

/* An operation of its own: a lock has no room for the time and the callback. */
enum hf_status hf_op_start_release_reserved(struct hf_lock *lock,
                                            int64_t reserve_ms, hf_op_fn *done,
                                            void *user)
{
    if (lock == NULL || done == NULL || reserve_ms < 0 ||
        reserve_ms > HF_RESERVE_MS_MAX) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    struct hf_op *op = malloc(sizeof(*op));
    if (op != NULL) {
        hf_op_init(op, client, HF_OP_RELEASE);
        hf_op_set_done(op, done, user);
    }
    bool has_room = op != NULL && hf_op_list(op);
    if (has_room) {
        begin(lock, reserve_ms, op);
        hf_client_start_thread(client, NULL); /* for what is not answered yet */
    } else {
        free(op);
    }
    hf_client_leave(client);
    return has_room ? HF_OK : HF_NO_MEMORY;
}
