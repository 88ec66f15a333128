/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of a break: blocking, with its operation on the stack, and
 * asynchronous, with its operation on the heap. */
#include "client/break.h"
#include "client/deferred.h"
#include "client/enter.h"
#include "client/name.h"
#include "client/request.h"
#include "client/thread.h"
#include "client/wait.h"

#include "base/fail.h"

#include <stdlib.h>

/* Parts that may never begin are set as done: a break that is given up ends
 * each part that is not. */
static enum hf_status init(struct hf_break *brk, struct hf_client *client,
                           const void *name, size_t name_len,
                           struct hf_error *error)
{
    hf_op_init(&brk->op, client, &hf_break_handlers);
    brk->step = HF_BREAK_FIND_MARK;
    brk->frees_now = false;
    brk->may_wait = NULL;
    brk->done = NULL;
    brk->held_until_ms = 0;
    brk->why = brk->op.error;
    brk->mark.fence = 0;
    brk->ask.query.op.is_done = true;
    brk->release.is_done = true;
    brk->seizure = NULL;
    enum hf_status status =
        hf_client_need_records(client,
                               "end the holder's session instead, with "
                               "pg_terminate_backend(PID), or on "
                               "MySQL KILL PID; holdfast ls NAME shows PID",
                               error);
    if (status == HF_OK) {
        status = hf_name_check(client, name, name_len, error);
    }
    if (status == HF_OK) {
        hf_client_begin_write(client);
        brk->seizure = hf_seizure_new(client, name, name_len);
        status = brk->seizure == NULL ? hf_fail_memory(error) : HF_OK;
    }
    return status;
}

static void run(struct hf_break *brk, struct hf_error *error)
{
    bool is_over = !hf_break_begin(brk);
    while (!is_over) {
        is_over = hf_client_wait(brk->op.client, &brk->op)
                      ? hf_break_go_on(&brk->op)
                      : hf_break_interrupt(brk);
    }
    hf_seizure_close(brk->seizure);
    hf_client_start_thread(brk->op.client, NULL); /* for the background */
    if (error != NULL) {
        *error = brk->why;
    }
}

static enum hf_status
wait_for_break(struct hf_client *client, const void *name, size_t name_len,
               bool frees_now, hf_break_fn *may_wait, void *user,
               int64_t *held_until_ms, struct hf_error *error)
{
    struct hf_break brk;
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = init(&brk, client, name, name_len, error);
    if (status == HF_OK) {
        brk.frees_now = frees_now;
        brk.may_wait = may_wait;
        brk.op.user = user;
        run(&brk, error);
        status = brk.why.status;
        *held_until_ms = brk.held_until_ms;
    }
    hf_client_leave(client);
    return status;
}

enum hf_status hf_client_break(struct hf_client *client, const void *name,
                               size_t name_len, bool frees_now,
                               int64_t *held_until_ms, struct hf_error *error)
{
    int64_t left_ms = 0;
    enum hf_status status = wait_for_break(client, name, name_len, frees_now,
                                           NULL, NULL, &left_ms, error);
    if (held_until_ms != NULL) {
        *held_until_ms = left_ms;
    }
    return status;
}

enum hf_status hf_client_break_wait(struct hf_client *client, const void *name,
                                    size_t name_len, hf_break_fn *may_wait,
                                    void *user, struct hf_error *error)
{
    int64_t left_ms = 0;
    return wait_for_break(client, name, name_len, false, may_wait, user,
                          &left_ms, error);
}

/* ---- Asynchronous ------------------------------------------------------ */

static void call(struct hf_op *op)
{
    struct hf_break *brk = hf_break_of(op);
    brk->done(op->user, brk->held_until_ms, op->status, &op->error);
}

static enum hf_status start(struct hf_break *brk, struct hf_op **out,
                            struct hf_error *error)
{
    struct hf_op *op = &brk->op;
    op->call = call;
    op->report = hf_break_go_on;
    enum hf_status status = hf_client_start_thread(op->client, error);
    if (status == HF_OK && !hf_break_begin(brk)) {
        status = hf_fail_memory(error);
    }
    if (status == HF_OK && out != NULL) {
        *out = op;
    }
    return status;
}

enum hf_status
hf_op_start_break(struct hf_client *client, const void *name, size_t name_len,
                  bool frees_now, hf_break_fn *may_wait, hf_broken_fn *done,
                  void *user, struct hf_op **out, struct hf_error *error)
{
    enum hf_status status = hf_op_enter(
        client, done == NULL ? "no callback for the end" : NULL, out, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_break *brk = malloc(sizeof(*brk));
    if (brk == NULL) {
        hf_client_leave(client);
        return hf_fail_memory(error);
    }
    status = init(brk, client, name, name_len, error);
    if (status == HF_OK) {
        brk->frees_now = frees_now;
        brk->may_wait = may_wait;
        brk->done = done;
        brk->op.user = user;
        status = start(brk, out, error);
    }
    if (status != HF_OK) {
        hf_seizure_close(brk->seizure);
        free(brk);
    }
    hf_client_leave(client);
    return status;
}
