/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a name and who waits for it, as each node sees it. The seats are
 * borrowed from the store while it answers, so they are kept until all nodes
 * have spoken and the user may be called. */
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

/* The counter is that of the latest grant: of several who share the name it
 * dates none but one. */
static void date_holder(struct hf_queue_entry *place, uint64_t counter)
{
    place->who.fence = place->waits ? 0 : counter;
    if (!place->waits && place->mode == HF_EXCLUSIVE && place->permits == 0) {
        hf_holder_date(&place->who, counter);
    }
}

static bool on_answer(struct hf_look *look, const struct hf_answer *answer)
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

/* Stable: holders first, waiters in order, as the node gave them. */
static void report(const struct places *places, int n_nodes, hf_queue_fn *each,
                   void *user)
{
    for (int node = 0; node < n_nodes; node++) {
        for (size_t i = 0; i < places->count; i++) {
            if (places->list[i].node == node && !each(user, &places->list[i])) {
                return;
            }
        }
    }
}

static enum hf_status ask(struct hf_client *client, const void *name,
                          size_t name_len, struct places *places,
                          struct hf_error *error)
{
    struct hf_look look;
    enum hf_status status = hf_name_check(name, name_len, error);
    if (status != HF_OK) {
        return status;
    }
    hf_look_init(&look, client, HF_VERB_ROSTER, name, name_len);
    look.heard = on_answer;
    look.user = places;
    if (!hf_look_begin(&look)) {
        return hf_fail_memory(error);
    }
    status = hf_op_await(&look.op, error);
    return status == HF_OK && places->is_short ? hf_fail_memory(error) : status;
}

enum hf_status hf_client_queue(struct hf_client *client, const void *name,
                               size_t name_len, hf_queue_fn *each, void *user,
                               struct hf_error *error)
{
    struct places places = {0};
    if (each == NULL) {
        return hf_fail(error, HF_INVALID, "no callback");
    }
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = ask(client, name, name_len, &places, error);
    int n_nodes = client->nodes.count;
    hf_client_leave(client);
    if (status == HF_OK) {
        report(&places, n_nodes, each, user);
    }
    free(places.list);
    return status;
}
