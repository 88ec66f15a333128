/* SPDX-License-Identifier: Apache-2.0 */
/* Renewing on demand: with another ttl, or since other processes keep it. */
#include "client/op.h"

#include "base/assert.h"
#include "base/fail.h"

#include <errno.h>
#include <signal.h>
#include <sys/types.h>

void hf_extend_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome)
{
    enum hf_status status = op->worst;
    if (outcome == HF_OUT_LOST) {
        status = HF_LOST;
    } else if (outcome != HF_OUT_EXTENDED && status == HF_OK) {
        status = hf_blame_write(op);
        status = status == HF_DENIED || status == HF_NO_MEMORY ? status
                                                               : HF_UNAVAILABLE;
    }
    op->worst = status;
    lock->op = NULL;
    if (hf_link_is_awaited(lock, op)) {
        return; /* of the others */
    }
    op->lock = NULL;
    if (status == HF_LOST) {
        hf_op_fail(op, status, "%s", hf_status_text(status));
    } else {
        hf_op_finish(op, status);
    }
}

enum hf_status hf_extend(struct hf_lock *lock, int64_t ttl_ms,
                         struct hf_error *error)
{
    HF_ASSERT(lock != NULL);
    struct hf_client *client = lock->client;
    struct hf_op op;
    if (hf_link_state(lock) == HF_STATE_LOST) {
        return hf_fail(error, HF_LOST, "%s", hf_status_text(HF_LOST));
    }
    hf_op_init(&op, client, HF_OP_EXTEND);
    op.order.ttl_ms =
        ttl_ms > 0 ? ttl_ms : hf_span_ms_floor(hf_lock_lease(lock)->ttl);
    op.lock = lock;
    struct hf_event event = {
        .kind = HF_EV_EXTEND, .now = client->now, .ttl = hf_span_ms(ttl_ms)};
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        one->op = &op;
    }
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        hf_client_step(client, one, &event);
    }
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
    if (status != HF_OK) {
        return status;
    }
    if (ttl_ms != 0) {
        status = hf_ttl_check(client, ttl_ms, error);
    }
    if (status == HF_OK) {
        status = hf_extend(lock, ttl_ms, error);
    }
    hf_client_leave(client);
    return status;
}

/* ---- Processes --------------------------------------------------------- */

static bool exists(int64_t pid)
{
    return pid != 0 && pid != -1 && pid == (int64_t)(pid_t)pid &&
           (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* The locks of one handle have the same processes. */
static enum hf_status add_process(struct hf_lock *lock, int64_t pid)
{
    const struct hf_life_set *life = hf_lock_life(lock);
    if (life == NULL) { /* the store sees no processes */
        return hf_link_state(lock) == HF_STATE_LOST ? HF_LOST : HF_OK;
    }
    if (life->count >= HF_LIFE_PROCESSES_MAX) {
        return HF_INVALID;
    }
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        struct hf_life_set *its = hf_lock_life(one);
        its->pids[its->count++] = pid;
    }
    enum hf_status status = hf_extend(lock, 0, NULL);
    for (; status != HF_OK && lock != NULL; lock = hf_link_next(lock)) {
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
    status = exists(pid) ? add_process(lock, pid) : HF_INVALID;
    hf_client_leave(client);
    return status;
}
