/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of an acquisition: a call that blocks, with its operation on
 * the stack, and one that is started, with its operation on the heap. */
#include "client/bundle.h"
#include "client/cancel.h"
#include "client/op.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static void begin(struct hf_op *op)
{
    if (op->kind == HF_OP_BUNDLE) {
        hf_bundle_begin(op);
    } else {
        hf_acquire_begin(op);
    }
}

static enum hf_status run(struct hf_op *op, struct hf_lock **out,
                          struct hf_error *error)
{
    if (!hf_op_list(op)) {
        return hf_fail_memory(error);
    }
    begin(op);
    enum hf_status status = hf_op_await(op, error);
    if (status != HF_OK) {
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
    hf_op_init(&plan, client, HF_OP_ACQUIRE);
    enum hf_status status = hf_order_read(client, request, &plan.order, error);
    if (status == HF_OK) {
        status = hf_cancel_admit(client, plan.order.cancel, error);
    }
    if (status != HF_OK) {
        return status;
    }
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
        if (hf_client_leave(client)) {
            *out = NULL;
            status = hf_fail(error, HF_CANCELLED, "the client was closed");
        }
    }
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

/* The operation with copies of the name and the label behind it. */
static struct hf_op *copy(const struct hf_op *plan)
{
    const struct hf_order *order = &plan->order;
    if (hf_order_is_bundle(order)) {
        return hf_bundle_new(plan->client, order);
    }
    struct hf_op *op = malloc(sizeof(*op) + order->name_len + order->text_len);
    if (op == NULL) {
        return NULL;
    }
    hf_op_init(op, plan->client, plan->kind);
    op->order = *order;
    char *name = (char *)(op + 1);
    memcpy(name, order->name, order->name_len);
    op->order.name = name;
    if (order->text_len > 0) {
        memcpy(name + order->name_len, order->text, order->text_len);
    }
    op->order.text = name + order->name_len;
    return op;
}

static enum hf_status
start(struct hf_client *client, const struct hf_request *request,
      hf_op_fn *done, void *user, struct hf_op **out, struct hf_error *error)
{
    struct hf_op plan;
    hf_op_init(&plan, client, HF_OP_ACQUIRE);
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
    struct hf_op *op = copy(&plan);
    if (op == NULL || !hf_op_list(op)) {
        free(op);
        return hf_fail_memory(error);
    }
    op->callback = done;
    op->user = user;
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
    if (out != NULL) {
        *out = NULL;
    }
    if (done == NULL) {
        return hf_fail(error, HF_INVALID, "no callback");
    }
    enum hf_status status = hf_client_begin(client, error);
    if (status == HF_OK) {
        status = start(client, request, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}

void hf_op_drop(struct hf_op *op)
{
    struct hf_client *client = op->client;
    if (!op->is_done) {
        hf_op_abandon(op);
    } else {
        hf_ops_remove(&client->finished, op);
        if (op->status == HF_OK) {
            hf_release_whole(op->lock, NULL);
        }
    }
    free(op);
}

void hf_op_cancel(struct hf_op *op)
{
    if (op == NULL || hf_client_is_forked(op->client)) {
        return;
    }
    struct hf_client *client = op->client;
    pthread_mutex_lock(&client->mutex);
    hf_client_tick(client);
    hf_op_drop(op);
    if (client->is_ending) { /* one callback cancels another's operation */
        pthread_mutex_unlock(&client->mutex);
    } else {
        hf_client_leave(client);
    }
}
