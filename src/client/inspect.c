/* SPDX-License-Identifier: Apache-2.0 */
/* The holder of a name, at each node and at a majority.
 *
 * A holder that a majority of all nodes names is that of the name; the report
 * has the soonest expiry and the largest counter that these nodes name. If no
 * majority names one, the name is split, or free. A node in quarantine may have
 * lost the holder, so "free" of it does not count. INSPECT changes nothing at a
 * node.
 *
 * Cost: one round trip to all nodes at once, and one timeout more if a node is
 * slow (broadcast.c); the comparison is quadratic in the nodes, which are nine
 * at most. */
#include "client/inspect.h"

#include "client/enter.h"
#include "client/holder.h"
#include "client/name.h"
#include "client/op_async.h"
#include "client/thread.h"
#include "client/wait.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static bool on_answer(struct hf_broadcast *query,
                      const struct hf_answer *answer)
{
    struct hf_info *info = query->user;
    info->nodes[answer->node].answered = true;
    hf_holder_read(query->op.client, answer, &info->nodes[answer->node].holder);
    info->nodes[answer->node].waiting = answer->waiting;
    if (info->waiting < answer->waiting) {
        info->waiting = answer->waiting;
    }
    return false;
}

static bool is_same(const struct hf_holder *a, const struct hf_holder *b)
{
    if (a->kind == HF_HOLDER_SHARED && b->kind == HF_HOLDER_SHARED) {
        return a->permits == b->permits; /* group ids differ by node */
    }
    return a->kind == b->kind && strcmp(a->owner, b->owner) == 0;
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    if (a_ms < 0 || b_ms < 0) {
        return a_ms < 0 ? b_ms : a_ms;
    }
    return a_ms < b_ms ? a_ms : b_ms;
}

/** @return the number of nodes from `idx` on with the holder of node `idx`.
 * `out` gets the soonest expiry and the largest counter of these nodes. */
static int count_same(const struct hf_info *info, int idx,
                      struct hf_holder *out)
{
    int count = 0;
    *out = info->nodes[idx].holder;
    for (int i = idx; i < info->n_nodes; i++) {
        const struct hf_holder *other = &info->nodes[i].holder;
        if (info->nodes[i].answered && is_same(out, other)) {
            count++;
            out->remaining_ms = sooner(out->remaining_ms, other->remaining_ms);
            if (other->fence > out->fence) { /* a node may be behind */
                out->fence = other->fence;
                out->since_s = other->since_s;
            }
            out->sharers =
                other->sharers > out->sharers ? other->sharers : out->sharers;
        }
    }
    return count;
}

static void merge(struct hf_info *info, const struct hf_nodes *nodes)
{
    int n_free = 0;
    int n_held = 0;
    struct hf_holder free_one = {.kind = HF_HOLDER_NONE};
    for (int i = 0; i < info->n_nodes; i++) {
        struct hf_holder holder;
        if (!info->nodes[i].answered) {
            continue;
        }
        bool is_held = info->nodes[i].holder.kind != HF_HOLDER_NONE;
        n_held += is_held;
        n_free += !is_held && (nodes->repairing & (1U << i)) == 0;
        if (count_same(info, i, &holder) < nodes->quorum) {
            continue;
        }
        if (is_held) {
            info->holder = holder;
            return;
        }
        free_one = holder;
    }
    info->split = n_held > 0 && n_free < nodes->quorum;
    if (!info->split) {
        info->holder = free_one;
    }
}

void hf_inspect_init(struct hf_broadcast *query, struct hf_client *client,
                     const void *name, size_t name_len, struct hf_info *info)
{
    memset(info, 0, sizeof(*info));
    info->n_nodes = client->nodes.count;
    hf_broadcast_init(query, client, HF_VERB_INSPECT, name, name_len);
    query->on_reply = on_answer;
    query->user = info;
}

void hf_inspect_merge(struct hf_broadcast *query)
{
    merge(query->user, &query->op.client->nodes);
}

static enum hf_status inspect(struct hf_client *client, const void *name,
                              size_t name_len, struct hf_info **out,
                              struct hf_error *error)
{
    struct hf_broadcast query;
    struct hf_info info;
    hf_inspect_init(&query, client, name, name_len, &info);
    if (!hf_broadcast_begin(&query)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&query.op, error);
    if (status != HF_OK) {
        return status;
    }
    hf_inspect_merge(&query);
    *out = malloc(sizeof(info));
    if (*out == NULL) {
        return hf_fail_memory(error);
    }
    **out = info;
    return HF_OK;
}

enum hf_status hf_client_inspect(struct hf_client *client, const void *name,
                                 size_t name_len, struct hf_info **out,
                                 struct hf_error *error)
{
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for what is found");
    }
    *out = NULL;
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(client, name, name_len, error);
    if (status == HF_OK) {
        status = inspect(client, name, name_len, out, error);
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

struct inspection {
    struct hf_broadcast query; /* first: it is the item in the tables */
    struct hf_info *info;
    hf_info_fn *done;
    char name[];
};

static bool report(struct hf_op *op)
{
    hf_inspect_merge((struct hf_broadcast *)(void *)op);
    return true;
}

static void call(struct hf_op *op)
{
    struct inspection *inspection = (struct inspection *)(void *)op;
    struct hf_info *info = NULL;
    if (op->status == HF_OK) {
        info = inspection->info; /* the user frees it */
        inspection->info = NULL;
    }
    inspection->done(op->user, info, op->status, &op->error);
}

static void fini(struct hf_op *op)
{
    free(((struct inspection *)(void *)op)->info);
}

static enum hf_status start(struct hf_client *client, const void *name,
                            size_t name_len, hf_info_fn *done, void *user,
                            struct hf_op **out, struct hf_error *error)
{
    enum hf_status status = hf_client_start_thread(client, error);
    if (status != HF_OK) {
        return status;
    }
    struct inspection *inspection = malloc(sizeof(*inspection) + name_len);
    struct hf_info *info = malloc(sizeof(*info));
    if (inspection == NULL || info == NULL) {
        free(inspection);
        free(info);
        return hf_fail_memory(error);
    }
    struct hf_op *op = &inspection->query.op;
    memcpy(inspection->name, name, name_len);
    hf_inspect_init(&inspection->query, client, inspection->name, name_len,
                    info);
    inspection->info = info;
    inspection->done = done;
    op->call = call;
    op->report = report;
    op->fini = fini;
    op->user = user;
    if (!hf_broadcast_begin(&inspection->query)) {
        hf_op_free(op);
        return hf_fail_memory(error);
    }
    if (out != NULL) {
        *out = op;
    }
    return HF_OK;
}

enum hf_status hf_op_start_inspect(struct hf_client *client, const void *name,
                                   size_t name_len, hf_info_fn *done,
                                   void *user, struct hf_op **out,
                                   struct hf_error *error)
{
    enum hf_status status =
        hf_op_enter(client, done == NULL ? "no callback" : NULL, out, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(client, name, name_len, error);
    if (status == HF_OK) {
        status = start(client, name, name_len, done, user, out, error);
    }
    hf_client_leave(client);
    return status;
}
