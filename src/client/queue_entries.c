/* SPDX-License-Identifier: Apache-2.0 */
/* The holders and waiters of a name at each node. The store's entries are valid
 * only in its callback, so they are copied, and reported when the query is
 * done.
 *
 * Cost: one query, which is one round trip to all nodes at once (broadcast.c).
 * The entries of all nodes are on the heap until the last one is reported. */
#include "client/broadcast.h"
#include "client/callback.h"
#include "client/enter.h"
#include "client/fence.h"
#include "client/holder.h"
#include "client/name.h"
#include "client/op_async.h"
#include "client/thread.h"
#include "client/wait.h"

#include "base/array.h"
#include "base/fail.h"
#include "core/owner.h"

#include <stdlib.h>
#include <string.h>

struct entry_list {
    struct hf_queue_entry *list;
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out */
};

static bool reserve(struct entry_list *found, size_t n)
{
    struct hf_queue_entry *list = hf_array_reserve(
        found->list, &found->capacity, found->count + n, sizeof(*list));
    if (list == NULL) {
        found->is_short = true;
        return false;
    }
    found->list = list;
    return true;
}

static void read_seat(const struct hf_seat *seat, unsigned node,
                      struct hf_queue_entry *out)
{
    memset(out, 0, sizeof(*out));
    out->node = (int)node;
    out->waits = seat->waits;
    out->mode = seat->is_shared ? HF_SHARED : HF_EXCLUSIVE;
    out->permits = seat->permits;
    if (seat->owner != NULL) {
        hf_owner_describe(seat->owner, seat->owner_len, &out->who);
    }
    out->who.remaining_ms = seat->left_ms;
    out->since_ms = (int64_t)(seat->ticket / 1000);
}

/* `counter` is that of the latest grant. Of several sharers only one has it as
 * its fence, so they get no age. */
static void set_fence(const struct hf_client *client,
                      struct hf_queue_entry *entry, uint64_t counter)
{
    entry->who.fence = entry->waits ? 0 : hf_fence_of(client, counter);
    if (!entry->waits && entry->mode == HF_EXCLUSIVE && entry->permits == 0) {
        hf_holder_set_since(&entry->who, counter);
    }
}

static bool on_answer(struct hf_broadcast *query,
                      const struct hf_answer *answer)
{
    struct entry_list *found = query->user;
    if (reserve(found, answer->n_seats)) {
        for (size_t i = 0; i < answer->n_seats; i++) {
            read_seat(&answer->seats[i], answer->node,
                      &found->list[found->count++]);
            set_fence(query->op.client, &found->list[found->count - 1],
                      answer->counter);
        }
    }
    return false;
}

struct entries_query {
    struct hf_broadcast query; /* first: it is the item in the tables */
    struct entry_list found;
    hf_queue_fn *each;
    void *user; /* of `each` */
    char name[];
};

static void entries_init(struct entries_query *entries,
                         struct hf_client *client, const void *name,
                         size_t name_len)
{
    hf_broadcast_init(&entries->query, client, HF_VERB_QUEUE, name, name_len);
    entries->query.on_reply = on_answer;
    entries->query.user = &entries->found;
    entries->found = (struct entry_list){0};
}

/** The user may call any function from there, so it runs without the mutex.
 * @return false: stop. */
static bool tell(struct entries_query *entries,
                 const struct hf_queue_entry *entry)
{
    struct hf_client *client = entries->query.op.client;
    struct hf_caller self;
    hf_client_let_out(client, &self);
    bool goes_on = entries->each(entries->user, entry);
    hf_client_take_in(client, &self);
    if (client->is_closing) {
        entries->query.op.status = hf_fail(
            &entries->query.op.error, HF_CANCELLED, "the client was closed");
    }
    return goes_on && !client->is_closing && !entries->query.op.is_dropped;
}

/* Node by node, in the order of its reply: holders, then waiters. */
static bool report(struct hf_op *op)
{
    struct entries_query *entries = (struct entries_query *)(void *)op;
    const struct entry_list *found = &entries->found;
    if (found->is_short) {
        op->status = hf_fail_memory(&op->error);
        return true;
    }
    for (int node = 0; node < op->client->nodes.count; node++) {
        for (size_t i = 0; i < found->count; i++) {
            if (found->list[i].node == node &&
                !tell(entries, &found->list[i])) {
                return true;
            }
        }
    }
    return true;
}

static enum hf_status ask(struct hf_client *client, const void *name,
                          size_t name_len, hf_queue_fn *each, void *user,
                          struct hf_error *error)
{
    struct entries_query entries;
    entries_init(&entries, client, name, name_len);
    entries.each = each;
    entries.user = user;
    if (!hf_broadcast_begin(&entries.query)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&entries.query.op, error);
    if (status == HF_OK) {
        report(&entries.query.op);
        status = entries.query.op.status;
        if (status != HF_OK && error != NULL) {
            *error = entries.query.op.error;
        }
    }
    free(entries.found.list);
    return status;
}

enum hf_status hf_client_queue(struct hf_client *client, const void *name,
                               size_t name_len, hf_queue_fn *each, void *user,
                               struct hf_error *error)
{
    enum hf_status status =
        hf_op_enter(client, each == NULL ? "no callback" : NULL, NULL, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(client, name, name_len, error);
    if (status == HF_OK) {
        status = ask(client, name, name_len, each, user, error);
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

static void fini(struct hf_op *op)
{
    free(((struct entries_query *)(void *)op)->found.list);
}

static enum hf_status start(struct hf_client *client, const void *name,
                            size_t name_len, hf_queue_fn *each, hf_op_fn *done,
                            void *user, struct hf_op **out,
                            struct hf_error *error)
{
    enum hf_status status = hf_client_start_thread(client, error);
    if (status != HF_OK) {
        return status;
    }
    struct entries_query *entries = malloc(sizeof(*entries) + name_len);
    if (entries == NULL) {
        return hf_fail_memory(error);
    }
    struct hf_op *op = &entries->query.op;
    memcpy(entries->name, name, name_len);
    entries_init(entries, client, entries->name, name_len);
    entries->each = each;
    entries->user = user;
    hf_op_set_done(op, done, user);
    op->report = report;
    op->fini = fini;
    if (!hf_broadcast_begin(&entries->query)) {
        hf_op_free(op);
        return hf_fail_memory(error);
    }
    if (out != NULL) {
        *out = op;
    }
    return HF_OK;
}

enum hf_status hf_op_start_queue(struct hf_client *client, const void *name,
                                 size_t name_len, hf_queue_fn *each,
                                 hf_op_fn *done, void *user, struct hf_op **out,
                                 struct hf_error *error)
{
    const char *missing = done == NULL ? "no callback for the end" : NULL;
    enum hf_status status =
        hf_op_enter(client, each == NULL ? "no callback" : missing, out, error);
    if (status != HF_OK) {
        return status;
    }
    status = hf_name_check(client, name, name_len, error);
    if (status == HF_OK) {
        status = start(client, name, name_len, each, done, user, out, error);
    }
    hf_client_leave(client);
    return status;
}
