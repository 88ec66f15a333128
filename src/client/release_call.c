/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of a release: blocking, with its operation on the stack, and
 * asynchronous. Only hf_op_start_release_reserved() allocates memory. */
#include "client/enter.h"
#include "client/lock_group.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/request.h"
#include "client/thread.h"
#include "client/wait.h"

#include <stdlib.h>

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_RELEASE,
    .outcome = hf_release_outcome,
};

/* reserve_ms: reserve the names for so long; 0: free them. */
static void begin(struct hf_lock *lock, int64_t reserve_ms, struct hf_op *op)
{
    struct hf_instant until =
        hf_instant_add(op->client->now, hf_span_ms(reserve_ms));
    for (struct hf_lock *one = lock; reserve_ms > 0 && one != NULL;
         one = hf_lock_group_next(one)) {
        hf_lock_set_reserve_until(one, until);
    }
    hf_release_whole(lock, op);
}

/* A reader's release leaves nothing that could keep the name: other readers may
 * hold it. The shared hold of a permit is not reserved, but the permit is. */
static bool has_reader(const struct hf_lock *lock)
{
    bool has = false;
    for (; lock != NULL && !has; lock = hf_lock_follows(lock)) {
        has = lock->is_shared && lock->permits == 0;
    }
    return has;
}

static enum hf_status release(struct hf_lock *lock, int64_t reserve_ms)
{
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    if (reserve_ms > 0 && has_reader(lock)) {
        hf_client_leave(client);
        return HF_INVALID;
    }
    struct hf_op op;
    hf_op_init(&op, client, &handlers);
    begin(lock, reserve_ms, &op);
    enum hf_status status = hf_op_await(&op, NULL);
    hf_client_start_thread(client, NULL); /* for missing replies */
    hf_client_leave(client);
    return status;
}

/** Without the mutex. @return HF_OK; HF_INVALID, HF_UNSUPPORTED: it cannot be
 * reserved. */
static enum hf_status check_reserve(const struct hf_lock *lock,
                                    int64_t reserve_ms)
{
    if (reserve_ms < 0 || reserve_ms > HF_RESERVE_MS_MAX) {
        return HF_INVALID;
    }
    if (reserve_ms == 0) {
        return HF_OK;
    }
    bool can = hf_client_need_records(lock->client, "", NULL) == HF_OK &&
               hf_client_need_moves(lock->client, NULL) == HF_OK;
    return can ? HF_OK : HF_UNSUPPORTED;
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
    enum hf_status status = check_reserve(lock, reserve_ms);
    return status == HF_OK ? release(lock, reserve_ms) : status;
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
    if (lock == NULL || done == NULL) {
        return HF_INVALID;
    }
    enum hf_status status = check_reserve(lock, reserve_ms);
    if (status != HF_OK) {
        return status;
    }
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_INVALID;
    }
    if (reserve_ms > 0 && has_reader(lock)) {
        hf_client_leave(client);
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
