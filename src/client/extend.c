/* SPDX-License-Identifier: Apache-2.0 */
/* Renewing on demand: with another ttl, or since other processes keep it. */
#include "client/op.h"

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
        status = status == HF_DENIED ? status : HF_UNAVAILABLE;
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

/* With the mutex. ttl_ms 0: as it is. */
static enum hf_status extend(struct hf_lock *lock, int64_t ttl_ms,
                             struct hf_error *error)
{
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
    enum hf_status status = hf_client_enter(client, error);
    if (status != HF_OK) {
        return status;
    }
    if (ttl_ms != 0) {
        status = hf_ttl_check(client, ttl_ms, error);
    }
    if (status == HF_OK) {
        status = extend(lock, ttl_ms, error);
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

/* Without effect where the store sees no processes. */
static enum hf_status as_it_is(const struct hf_lock *lock)
{
    return hf_link_state(lock) == HF_STATE_LOST ? HF_LOST : HF_OK;
}

/* The locks of one handle have the same processes. */
static enum hf_status add_process(struct hf_lock *lock, int64_t pid)
{
    const struct hf_life_set *life = hf_lock_life(lock);
    if (life == NULL) {
        return as_it_is(lock);
    }
    if (life->count >= HF_LIFE_PROCESSES_MAX) {
        return HF_INVALID;
    }
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        struct hf_life_set *its = hf_lock_life(one);
        its->pids[its->count++] = pid;
    }
    enum hf_status status = extend(lock, 0, NULL);
    for (; status != HF_OK && lock != NULL; lock = hf_link_next(lock)) {
        hf_lock_life(lock)->count--;
    }
    return status;
}

enum hf_status hf_lock_add_process(struct hf_lock *lock, int64_t pid)
{
    if (lock == NULL || hf_client_enter(lock->client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    enum hf_status status = exists(pid) ? add_process(lock, pid) : HF_INVALID;
    hf_client_leave(client);
    return status;
}

/* Nothing but the lease frees it from now on. */
static enum hf_status outlive(struct hf_lock *lock)
{
    const struct hf_life_set *life = hf_lock_life(lock);
    if (life == NULL || life->count == 0) {
        return as_it_is(lock);
    }
    for (struct hf_lock *one = lock; one != NULL; one = hf_link_next(one)) {
        hf_lock_life(one)->count = 0;
    }
    return extend(lock, 0, NULL);
}

enum hf_status hf_lock_give(struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    text[0] = '\0';
    if (lock == NULL || hf_client_enter(lock->client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    if (hf_link_next(lock) != NULL) {
        hf_client_leave(client); /* several owners: it stays the caller's */
        return HF_UNSUPPORTED;
    }
    enum hf_lock_state before = hf_lock_state_now(lock);
    enum hf_status status = before == HF_STATE_LOST ? HF_LOST : outlive(lock);
    if (status == HF_LOST) {
        hf_release_start(lock, NULL); /* a lost one is still freed */
    } else {
        hf_lock_write_owner(lock, text);
        hf_client_untell(client, lock);
        lock->flags &= (uint8_t)~HF_LOCK_OURS;
        hf_client_signal(client, lock, HF_EV_FORSAKE);
        status = HF_OK;
    }
    hf_client_leave(client);
    return status;
}
