/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of an acquisition, of one lock or of several: blocking, with
 * its operation on the stack, and asynchronous, with its operation on the heap.
 */
#include "client/acquire.h"
#include "client/cancel.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/holder_hint.h"
#include "client/multi_name.h"
#include "client/op_async.h"
#include "client/release.h"
#include "client/request.h"
#include "client/thread.h"
#include "client/wait.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* ---- The call that blocks: its operation is on the stack ---------------- */

static void begin(struct hf_op *op)
{
    if (op->kind == HF_OP_BUNDLE) {
        hf_bundle_begin(op);
    } else {
        hf_acquire_begin(op);
    }
}

/* The release of a failed attempt may have to be sent again, after a reply that
 * no call reads: the server does not have the script, or it was not reached. A
 * serial store sends it after replies only. A try that was refused leaves
 * nothing, and costs no thread. */
static void finish_in_background(struct hf_client *client)
{
    bool is_unsent = client->store->ops->is_serial && client->n_pending > 0;
    if (is_unsent || client->items.n_used > 0) {
        hf_client_start_thread(client, NULL);
    }
}

/* The thread is started when there is a lock to renew, so a try that fails
 * costs none. Without a thread the lock would expire unnoticed, so it is
 * released then. */
static enum hf_status run(struct hf_op *op, struct hf_lock **out,
                          struct hf_error *error)
{
    if (!hf_op_list(op)) {
        return hf_fail_memory(error);
    }
    begin(op);
    enum hf_status status = hf_op_await(op, error);
    if (status != HF_OK) {
        finish_in_background(op->client);
        return status;
    }
    status = hf_client_start_thread(op->client, error);
    if (status != HF_OK) {
        hf_release_whole(op->lock, NULL);
        return status;
    }
    *out = op->lock;
    return HF_OK;
}

static enum hf_status acquire(struct hf_client *client,
                              const struct hf_request *request,
                              struct hf_lock **out, struct hf_error *error)
{
    struct hf_op plan;
    hf_op_init(&plan, client, &hf_acquire_handlers);
    enum hf_status status = hf_order_read(client, request, &plan.order, error);
    if (status == HF_OK) {
        status = hf_cancel_admit(client, plan.order.cancel, error);
    }
    if (status != HF_OK) {
        return status;
    }
    hf_client_begin_write(client);
    if (!hf_order_is_bundle(&plan.order)) {
        return run(&plan, out, error);
    }
    struct hf_op *op = hf_bundle_new(client, &plan.order);
    if (op == NULL) {
        return hf_fail_memory(error);
    }
    status = run(op, out, error);
    free(op);
    return status;
}

enum hf_status hf_lock_acquire(struct hf_client *client,
                               const struct hf_request *request,
                               struct hf_lock **out, struct hf_error *error)
{
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the lock");
    }
    *out = NULL;
    enum hf_status status = hf_client_begin(client, error);
    if (status == HF_OK) {
        status = acquire(client, request, out, error);
        if (hf_client_leave_with(client, *out)) {
            *out = NULL;
            status = hf_fail(error, HF_CANCELLED, "the client was closed");
        }
    }
    return status;
}

/* ---- The call that returns at once: its operation is on the heap --------- */

static enum hf_status
start(struct hf_client *client, const struct hf_request *request,
      hf_op_fn *done, void *user, struct hf_op **out, struct hf_error *error)
{
    struct hf_op plan;
    hf_op_init(&plan, client, &hf_acquire_handlers);
    enum hf_status status = hf_order_read(client, request, &plan.order, error);
    if (status == HF_OK) {
        status = hf_cancel_admit(client, plan.order.cancel, error);
    }
    if (status == HF_OK) {
        status = hf_client_start_thread(client, error);
    }
    if (status != HF_OK) {
        return status;
    }
    hf_client_begin_write(client);
    struct hf_op *op = hf_order_is_bundle(&plan.order)
                           ? hf_bundle_new(client, &plan.order)
                           : hf_op_copy(&plan);
    if (op == NULL || !hf_op_list(op)) {
        free(op);
        return hf_fail_memory(error);
    }
    hf_op_set_done(op, done, user);
    if (out != NULL) {
        *out = op;
    }
    begin(op);
    return HF_OK;
}

enum hf_status hf_op_start_acquire(struct hf_client *client,
                                   const struct hf_request *request,
                                   hf_op_fn *done, void *user,
                                   struct hf_op **out, struct hf_error *error)
{
    enum hf_status status =
        hf_op_enter(client, done == NULL ? "no callback" : NULL, out, error);
    if (status == HF_OK) {
        status = start(client, request, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}

/* ---- Progress of a wait ------------------------------------------------ */

static struct hf_waiting *describe(const struct hf_op *one,
                                   const struct hf_order *order)
{
    struct hf_waiting *waiting = malloc(sizeof(*waiting) + order->name_len + 1);
    if (waiting == NULL) {
        return NULL;
    }
    hf_holder_hint_holder(&one->rival, one->client->now, &waiting->holder);
    waiting->ahead = one->ahead;
    waiting->name_len = order->name_len;
    memcpy(waiting->name, order->name, order->name_len);
    waiting->name[order->name_len] = '\0';
    return waiting;
}

bool hf_op_waiting(struct hf_op *op, struct hf_waiting **out)
{
    if (out == NULL) {
        return false;
    }
    *out = NULL;
    if (op == NULL || hf_client_enter(op->client, NULL) != HF_OK) {
        return false;
    }
    struct hf_client *client = op->client;
    const struct hf_op *one =
        op->kind == HF_OP_BUNDLE ? hf_bundle_waiting(op) : op;
    if (one != NULL && one->kind == HF_OP_ACQUIRE && one->is_queued &&
        !op->is_done) {
        /* of a semaphore: its name, without the permit's suffix */
        bool is_permit = op->order.n_slots > 0;
        *out = describe(one, is_permit ? &op->order : &one->order);
    }
    hf_client_leave(client);
    return *out != NULL;
}
