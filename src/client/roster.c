/* SPDX-License-Identifier: Apache-2.0 */
/* The holders and waiters of a name at each node. The store's entries are valid
 * only in its callback, so they are copied, and reported when the query is
 * done. */
#include "client/inspect.h"

#include "base/fail.h"
#include "core/owner.h"

#include <stdlib.h>
#include <string.h>

struct places {
    struct hf_queue_entry *list;
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out */
};

static bool reserve(struct places *places, size_t n)
{
    if (places->count + n <= places->capacity) {
        return true;
    }
    size_t capacity = places->count + n;
    struct hf_queue_entry *list =
        realloc(places->list, capacity * sizeof(*list));
    if (list == NULL) {
        places->is_short = true;
        return false;
    }
    places->list = list;
    places->capacity = capacity;
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

/* The counter is that of the latest grant, so of several sharers only one has
 * it as its fence. */
static void date_holder(struct hf_queue_entry *place, uint64_t counter)
{
    place->who.fence = place->waits ? 0 : counter;
    if (!place->waits && place->mode == HF_EXCLUSIVE && place->permits == 0) {
        hf_holder_date(&place->who, counter);
    }
}

static bool on_answer(struct hf_broadcast *look, const struct hf_answer *answer)
{
    struct places *places = look->user;
    if (reserve(places, answer->n_seats)) {
        for (size_t i = 0; i < answer->n_seats; i++) {
            read_seat(&answer->seats[i], answer->node,
                      &places->list[places->count++]);
            date_holder(&places->list[places->count - 1], answer->counter);
        }
    }
    return false;
}

/* The query and the entries from its replies. */
struct roster {
    struct hf_broadcast look; /* first: it is the item in the tables */
    struct places places;
    hf_queue_fn *each;
    void *user; /* of `each` */
    char name[];
};

static void roster_init(struct roster *roster, struct hf_client *client,
                        const void *name, size_t name_len)
{
    hf_broadcast_init(&roster->look, client, HF_VERB_ROSTER, name, name_len);
    roster->look.heard = on_answer;
    roster->look.user = &roster->places;
    roster->places = (struct places){0};
}

/** Call the user's function, without the mutex. @return false: stop. */
static bool tell(struct roster *roster, const struct hf_queue_entry *entry)
{
    struct hf_client *client = roster->look.op.client;
    struct hf_caller self;
    hf_client_let_out(client, &self);
    bool goes_on = roster->each(roster->user, entry);
    hf_client_take_in(client, &self);
    return goes_on && !client->is_closing && !roster->look.op.is_dropped;
}

/* Node by node, in the order of its reply: holders, then waiters. */
static bool report(struct hf_op *op)
{
    struct roster *roster = (struct roster *)(void *)op;
    const struct places *places = &roster->places;
    if (places->is_short) {
        op->status = hf_fail_memory(&op->error);
        return true;
    }
    for (int node = 0; node < op->client->nodes.count; node++) {
        for (size_t i = 0; i < places->count; i++) {
            if (places->list[i].node == node &&
                !tell(roster, &places->list[i])) {
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
    struct roster roster;
    roster_init(&roster, client, name, name_len);
    roster.each = each;
    roster.user = user;
    if (!hf_broadcast_begin(&roster.look)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&roster.look.op, error);
    if (status == HF_OK) {
        report(&roster.look.op);
        status = roster.look.op.status;
        if (status != HF_OK) {
            hf_fail_memory(error);
        }
    }
    free(roster.places.list);
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
    status = hf_name_check(name, name_len, error);
    if (status == HF_OK) {
        status = ask(client, name, name_len, each, user, error);
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

static void fini(struct hf_op *op)
{
    free(((struct roster *)(void *)op)->places.list);
}

static enum hf_status start(struct hf_client *client, const void *name,
                            size_t name_len, hf_queue_fn *each, hf_op_fn *done,
                            void *user, struct hf_op **out,
                            struct hf_error *error)
{
    struct roster *roster = malloc(sizeof(*roster) + name_len);
    if (roster == NULL) {
        return hf_fail_memory(error);
    }
    struct hf_op *op = &roster->look.op;
    memcpy(roster->name, name, name_len);
    roster_init(roster, client, roster->name, name_len);
    roster->each = each;
    roster->user = user;
    hf_op_set_done(op, done, user);
    op->report = report;
    op->fini = fini;
    if (!hf_broadcast_begin(&roster->look)) {
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
    status = hf_name_check(name, name_len, error);
    if (status == HF_OK) {
        status = start(client, name, name_len, each, done, user, out, error);
    }
    hf_client_leave(client);
    return status;
}
