/* SPDX-License-Identifier: Apache-2.0 */
/* MARKS THAT ARE OVER, WHERE NO SESSION REMOVES THEM
 *
 *   a mark was made ──▶ names of all marks ──▶ some of them: read ─▶ remove
 *                                                ▲    [over]       │
 *                                                └─────────────────┘
 *
 * The mark of a name that is used again is replaced. Those of names that are
 * used once would stay, so each mark that is made, not replaced, pays for a
 * look at a few others, in the background. If one in so many is over, as many
 * are removed as made: the others are a small part of those that last.
 *
 * A mark is removed only if it is as it was read, and only a day after its end,
 * so a clock that is a little wrong removes none that lasts yet. One that is
 * over counts for nothing, so its removal changes no answer. A write that lands
 * after it makes a mark that ends when the other one did.
 *
 * A failure ends the sweep: another one begins with the next mark.
 *
 * Cost: a list of the names, and for each look a read and, rarely, a write. */
#include "store/ordered/mark_text.h"
#include "store/ordered/ordered.h"

#include <stdlib.h>
#include <string.h>

/* Marks that one sweep looks at: see above. */
#define LOOKS 16

struct hf_ordered_sweep {
    uint64_t seed;
    size_t at, n;
    size_t lens[LOOKS];
    char *names[LOOKS];
};

static void look_next(struct hf_ordered *store, struct hf_instant now);

void hf_ordered_sweep_free(struct hf_ordered *store)
{
    struct hf_ordered_sweep *sweep = store->sweep;
    for (size_t i = 0; sweep != NULL && i < sweep->n; i++) {
        free(sweep->names[i]);
    }
    free(sweep);
    store->sweep = NULL;
}

static struct hf_bytes name_of(const struct hf_ordered_sweep *sweep)
{
    return (struct hf_bytes){sweep->names[sweep->at], sweep->lens[sweep->at]};
}

/** Take the call of a reply. @return false: it has failed, and the sweep is
 * over. */
static bool take(struct hf_wire_call *wire_call,
                 const struct hf_wire_reply *reply, struct hf_ordered **store)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    *store = call->store;
    hf_ordered_call_free(call);
    if (reply->outcome != HF_WIRE_DONE) {
        hf_ordered_sweep_free(*store);
    }
    return reply->outcome == HF_WIRE_DONE;
}

/** @return NULL: no memory, and the sweep is over. */
static struct hf_ordered_call *call_of(struct hf_ordered *store,
                                       hf_wire_done_fn *done)
{
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, done, NULL, NULL, NULL);
    if (call == NULL) {
        hf_ordered_sweep_free(store);
    }
    return call;
}

/* ---- Looking ------------------------------------------------------------- */

static void on_removed(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered *store;
    if (take(wire_call, reply, &store)) {
        store->sweep->at++;
        look_next(store, now);
    }
}

static void remove_mark(struct hf_ordered *store, uint64_t version,
                        struct hf_instant now)
{
    struct hf_wire_mark none = {.name = name_of(store->sweep),
                                .version = version};
    struct hf_ordered_call *call = call_of(store, on_removed);
    if (call != NULL &&
        !store->wire_ops->mark_write(store->wire, &none, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* What is none of Holdfast's stays. */
static bool is_long_over(const struct hf_ordered *store,
                         const struct hf_wire_reply *reply)
{
    struct hf_ordered_mark mark;
    if (reply->mark.data == NULL || reply->clock_ms <= store->sweep_after_ms ||
        !hf_ordered_mark_read(reply->mark, &mark)) {
        return false;
    }
    return hf_ordered_mark_left(&mark,
                                reply->clock_ms - store->sweep_after_ms) == 0;
}

static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered *store;
    if (!take(wire_call, reply, &store)) {
        return;
    }
    if (is_long_over(store, reply)) {
        remove_mark(store, reply->version, now);
    } else {
        store->sweep->at++;
        look_next(store, now);
    }
}

static void look_next(struct hf_ordered *store, struct hf_instant now)
{
    struct hf_ordered_sweep *sweep = store->sweep;
    if (sweep->at == sweep->n) {
        hf_ordered_sweep_free(store);
        return;
    }
    struct hf_ordered_call *call = call_of(store, on_read);
    if (call != NULL && !store->wire_ops->mark_read(store->wire, name_of(sweep),
                                                    &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* ---- Choosing ------------------------------------------------------------ */

/** As many in a row, from any of them on. @return false: no memory. */
static bool choose(struct hf_ordered_sweep *sweep,
                   const struct hf_wire_reply *reply)
{
    size_t n = reply->n_entries;
    size_t from = n == 0 ? 0 : (size_t)(sweep->seed % n);
    while (sweep->n < LOOKS && sweep->n < n) {
        struct hf_bytes name = reply->entries[(from + sweep->n) % n].name;
        char *copy = malloc(name.len);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, name.data, name.len);
        sweep->names[sweep->n] = copy;
        sweep->lens[sweep->n++] = name.len;
    }
    return true;
}

static void on_named(struct hf_wire_call *wire_call,
                     const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered *store;
    if (!take(wire_call, reply, &store)) {
        return;
    }
    if (choose(store->sweep, reply)) {
        look_next(store, now);
    } else {
        hf_ordered_sweep_free(store);
    }
}

/* Knuth's multiplicative hash: fences follow each other. */
void hf_ordered_sweep(struct hf_ordered *store, uint64_t seed,
                      struct hf_instant now)
{
    if (store->wire_ops->marks == NULL || store->sweep != NULL) {
        return;
    }
    store->sweep = calloc(1, sizeof(*store->sweep));
    if (store->sweep == NULL) {
        return;
    }
    store->sweep->seed = seed * UINT64_C(11400714819323198485) >> 16;
    struct hf_ordered_call *call = call_of(store, on_named);
    if (call != NULL &&
        !store->wire_ops->marks(store->wire, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}
