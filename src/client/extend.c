/* SPDX-License-Identifier: Apache-2.0 */
/* Extending: a renewal on demand, with another ttl or for another process.
 *
 * Cost: one CONFIRM at each node for each lock of the handle, all at the same
 * time: one round trip, to the node that completes the majority. Where entries
 * are ordered, a CONFIRM takes more (ordered/ask.c, move.c). */
#include "client/enter.h"
#include "client/lock_group.h"
#include "client/notify.h"
#include "client/op_async.h"
#include "client/request.h"
#include "client/step.h"
#include "client/unavailable.h"
#include "client/wait.h"

#include "base/fail.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>

static void on_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome)
{
    enum hf_status status = op->worst;
    if (outcome == HF_OUT_LOST) {
        status = HF_LOST;
    } else if (outcome != HF_OUT_EXTENDED && status == HF_OK) {
        status = hf_unavailable_write(op);
        status = status == HF_DENIED || status == HF_NO_MEMORY ? status
                                                               : HF_UNAVAILABLE;
    }
    op->worst = status;
    lock->op = NULL;
    if (hf_lock_group_is_awaited(lock, op)) {
        return; /* for the other locks of the handle */
    }
    op->lock = NULL;
    if (status == HF_LOST) {
        hf_op_fail(op, status, "%s", hf_status_text(status));
    } else {
        hf_op_finish(op, status);
    }
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_EXTEND,
    .outcome = on_outcome,
};

/* A wrong request goes before the loss: it is the caller's own mistake. */
static enum hf_status check(struct hf_lock *lock, int64_t ttl_ms,
                            struct hf_error *error)
{
    enum hf_status status = HF_OK;
    if (ttl_ms != 0) {
        status = hf_order_check_ttl(lock->client, ttl_ms, error);
    }
    if (status == HF_OK &&
        ttl_ms > hf_span_ms_floor(hf_lease_ttl(hf_lock_lease(lock)))) {
        status = hf_client_need_moves(lock->client, error);
    }
    if (status == HF_OK) {
        status = hf_lock_check_unused(lock, error);
    }
    if (status == HF_OK && hf_lock_group_state(lock) == HF_STATE_LOST) {
        status = hf_fail(error, HF_LOST, "%s", hf_status_text(HF_LOST));
    }
    return status;
}

/* All locks have the operation before the first step: the embedded store
 * answers inside of a step, and that may end the operation. */
static void begin(struct hf_op *op, struct hf_lock *lock, int64_t ttl_ms)
{
    op->order.ttl_ms =
        ttl_ms > 0 ? ttl_ms
                   : hf_span_ms_floor(hf_lease_ttl(hf_lock_lease(lock)));
    op->lock = lock;
    struct hf_event event = {.kind = HF_EV_EXTEND,
                             .now = op->client->now,
                             .ttl = hf_span_ms(ttl_ms)};
    for (struct hf_lock *one = lock; one != NULL;
         one = hf_lock_group_next(one)) {
        one->op = op;
    }
    for (struct hf_lock *one = lock; one != NULL;
         one = hf_lock_group_next(one)) {
        hf_client_step(op->client, one, &event);
    }
}

static enum hf_status extend(struct hf_lock *lock, int64_t ttl_ms,
                             struct hf_error *error)
{
    struct hf_op op;
    enum hf_status status = check(lock, ttl_ms, error);
    if (status != HF_OK) {
        return status;
    }
    hf_op_init(&op, lock->client, &handlers);
    begin(&op, lock, ttl_ms);
    return hf_op_await(&op, error);
}

enum hf_status hf_lock_extend(struct hf_lock *lock, int64_t ttl_ms,
                              struct hf_error *error)
{
    if (lock == NULL) {
        return hf_fail(error, HF_INVALID, "no lock");
    }
    struct hf_client *client = lock->client;
    enum hf_status status = hf_client_begin(client, error);
    if (status == HF_OK) {
        status = extend(lock, ttl_ms, error);
        hf_client_leave(client);
    }
    return status;
}

static enum hf_status start(struct hf_lock *lock, int64_t ttl_ms,
                            hf_op_fn *done, void *user, struct hf_op **out,
                            struct hf_error *error)
{
    enum hf_status status = check(lock, ttl_ms, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_op *op = malloc(sizeof(*op));
    if (op == NULL) {
        return hf_fail_memory(error);
    }
    hf_op_init(op, lock->client, &handlers);
    hf_op_set_done(op, done, user);
    if (!hf_op_list(op)) {
        free(op);
        return hf_fail_memory(error);
    }
    if (out != NULL) {
        *out = op;
    }
    begin(op, lock, ttl_ms);
    return HF_OK;
}

enum hf_status hf_op_start_extend(struct hf_lock *lock, int64_t ttl_ms,
                                  hf_op_fn *done, void *user,
                                  struct hf_op **out, struct hf_error *error)
{
    if (lock == NULL) {
        return hf_op_enter(NULL, "no lock", out, error);
    }
    struct hf_client *client = lock->client;
    enum hf_status status =
        hf_op_enter(client, done == NULL ? "no callback" : NULL, out, error);
    if (status == HF_OK) {
        status = start(lock, ttl_ms, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}

/* ---- Processes --------------------------------------------------------- */

static bool exists(int64_t pid)
{
    return pid != 0 && pid != -1 && pid == (int64_t)(pid_t)pid &&
           (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* The locks of one handle have the same processes. A lock that has none lasts
 * until the end of its lease (HF_LIVENESS_LEASE): with the added process alone,
 * its end would free the lock while we hold it. */
static enum hf_status add_process(struct hf_lock *lock, int64_t pid)
{
    const struct hf_life_set *life = hf_lock_life(lock);
    if (hf_lock_is_in_use(lock)) {
        return HF_INVALID;
    }
    if (life == NULL || life->count == 0) { /* no process frees it */
        return hf_lock_group_state_now(lock) == HF_STATE_LOST ? HF_LOST : HF_OK;
    }
    if (life->count >= HF_LIFE_PROCESSES_MAX) {
        return HF_INVALID;
    }
    struct hf_lock *one = lock; /* not NULL */
    do {
        struct hf_life_set *its = hf_lock_life(one);
        its->pids[its->count++] = pid;
    } while ((one = hf_lock_group_next(one)) != NULL);
    enum hf_status status = extend(lock, 0, NULL);
    for (; status != HF_OK && lock != NULL; lock = hf_lock_group_next(lock)) {
        hf_lock_life(lock)->count--;
    }
    return status;
}

enum hf_status hf_lock_add_process(struct hf_lock *lock, int64_t pid)
{
    if (lock == NULL) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    enum hf_status status = hf_client_begin(client, NULL);
    if (status != HF_OK) {
        return status;
    }
    struct hf_reader reader;
    hf_notify_read(client, &reader, lock);
    status = exists(pid) ? add_process(lock, pid) : HF_INVALID;
    hf_notify_read_end(client, &reader);
    hf_client_leave(client);
    return status;
}
