/* SPDX-License-Identifier: Apache-2.0 */
/* WHAT A WAITER WAITS FOR, AND WHAT A HOLDER MAY LOSE
 *
 * The waiters of a name share one watch. If the entry that one of them waits
 * for has ended, the name is listed once, for all of them: the end alone proves
 * nothing, since that entry may have waited too. Other ends change nothing for
 * them, so of many clients that wait one lists. A waiter that holds now is told
 * by a push.
 *
 *   waiters here wait for    watched
 *   one entry of another's   that entry: a change of another one is not even
 *                            reported, so what a grant costs does not depend on
 *                            how many wait
 *   several, or one of ours, all entries of the name
 *   or a lock is held here
 *
 * The watch begins after the list that said "wait", so no end is missed between
 * them. It is replaced when they wait for something else, by one that begins
 * after the list that shows it: of all waiters, or the former watch may have
 * been about to report an end that they wait for. An end may be reported before
 * a list that is older than it: `seen` shows it, and the name is listed again.
 * A watch of one entry ends with that, so such a list begins another one, which
 * reports that end again. When a watch fails, a list takes its place, and
 * begins the next one. And each waiter lists with its heartbeat, or reads the
 * entry that it waits for (place.c), so an event that was lost without a trace
 * costs that much time and no more.
 *
 * A holder learns by the same watch that its entry has ended before its time,
 * by hand perhaps: then a CONFIRM is asked for at once, which proves the loss.
 * The watch for it begins when the lock was proven once, a third of its lease
 * after its grant: most locks are released before that, and pay nothing. It
 * needs a connection, in some stores, so a client has few of them; the holders
 * of other names learn of a loss by their next renewal.
 *
 * Cost: one list for each end that one of our waiters waited for, and of no
 * more entries than there are before the last of them. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

#include <string.h>

/* A watch that fails at once is not begun anew at once, but by the next
 * heartbeat. In milliseconds. */
#define WATCH_AGAIN_MS 500

/* A client with so many watches begins none for a holder. If each is a
 * connection, a client has 40 (endpoints/watch.c), and waiters need them more:
 * a holder learns of a loss by its next renewal, too. */
#define WATCHES_ENOUGH 8

static bool is_waiter(const struct hf_ordered_seat *seat)
{
    return seat->state == HF_ORDERED_WAITING && seat->session != NULL &&
           seat->session->phase == HF_ORDERED_OPEN;
}

/* Waits one of them for this entry? 0: any may. */
static bool is_awaited(const struct hf_ordered_name *name, uint64_t number)
{
    const struct hf_ordered_seat *seat = name->seats;
    while (seat != NULL &&
           !(is_waiter(seat) && (number == 0 || seat->behind == number))) {
        seat = seat->next;
    }
    return seat != NULL;
}

static bool has_waiter(const struct hf_ordered_name *name)
{
    return is_awaited(name, 0);
}

static bool is_holder(const struct hf_ordered_seat *seat)
{
    return seat->state == HF_ORDERED_HELD && seat->session != NULL;
}

static bool has_holder(const struct hf_ordered_name *name)
{
    const struct hf_ordered_seat *seat = name->seats;
    while (seat != NULL && !is_holder(seat)) {
        seat = seat->next;
    }
    return seat != NULL;
}

/* ---- One watch, or none -------------------------------------------------- */

/** @param only  NULL: all entries. */
static void begin_watch(struct hf_ordered *store, struct hf_ordered_name *name,
                        const struct hf_wire_entry *only, uint64_t revision,
                        struct hf_instant now)
{
    struct hf_wire_watched what = {.name = {name->bytes, name->len},
                                   .revision = revision};
    struct hf_instant again =
        hf_instant_add(name->watched_at, hf_span_ms(WATCH_AGAIN_MS));
    if (name->watch != NULL || revision == 0 || hf_instant_before(now, again)) {
        return;
    }
    if (only != NULL) {
        what.id = only->id;
        what.number = only->entry.number;
    }
    name->watched_at = now;
    if (store->wire_ops->watch(store->wire, &what, name, now, &name->watch)) {
        HF_ASSERT(name->watch != NULL);
        store->n_watches++;
        name->watched = what.number;
    }
}

void hf_ordered_unwatch(struct hf_ordered *store, struct hf_ordered_name *name)
{
    if (name->watch != NULL) {
        HF_ASSERT(store->n_watches > 0);
        store->wire_ops->unwatch(store->wire, name->watch);
        store->n_watches--;
        name->watch = NULL;
        name->watched = 0;
        name->watched_at = HF_LONG_AGO;
    }
}

/** The number that all waiters wait for. @return 0: there are several. */
static uint64_t awaited_by_all(const struct hf_ordered_name *name)
{
    uint64_t number = 0;
    for (const struct hf_ordered_seat *seat = name->seats; seat != NULL;
         seat = seat->next) {
        if (is_waiter(seat) && number != 0 && seat->behind != number) {
            return 0;
        }
        number = is_waiter(seat) ? seat->behind : number;
    }
    return number;
}

/** The one entry that is enough to watch. @return NULL: all are watched. */
static const struct hf_wire_entry *
awaited_entry(const struct hf_ordered_name *name,
              const struct hf_wire_reply *reply)
{
    uint64_t number = has_holder(name) ? 0 : awaited_by_all(name);
    for (const struct hf_ordered_seat *seat = name->seats; seat != NULL;
         seat = seat->next) {
        number = seat->number == number ? 0 : number; /* it is ours */
    }
    for (size_t i = 0; number != 0 && i < reply->n_entries; i++) {
        if (reply->entries[i].entry.number == number) {
            return &reply->entries[i];
        }
    }
    return NULL;
}

/* All that wait for one entry, and a list that has it: enough, whichever of
 * them it was for. */
static void watch_awaited(struct hf_ordered *store,
                          struct hf_ordered_name *name,
                          const struct hf_wire_reply *reply, bool is_of_all,
                          struct hf_instant now)
{
    const struct hf_wire_entry *only = awaited_entry(name, reply);
    uint64_t number = only == NULL ? 0 : only->entry.number;
    bool must_list = only == NULL && name->watched != 0 && !is_of_all;
    if (name->watched != number && !must_list) {
        hf_ordered_unwatch(store, name);
    }
    must_list |= name->watch != NULL && name->seen > reply->revision &&
                 reply->revision > 0;
    if (must_list) {
        hf_ordered_list(store, name, now);
    } else {
        begin_watch(store, name, only, reply->revision, now);
    }
}

static void watch_for(struct hf_ordered *store, struct hf_ordered_name *name,
                      const struct hf_wire_reply *reply, bool is_of_all,
                      struct hf_instant now)
{
    bool is_wanted = has_waiter(name);
    if (is_wanted && reply != NULL) {
        watch_awaited(store, name, reply, is_of_all, now);
    } else if (!is_wanted && (name->watched != 0 || !has_holder(name))) {
        hf_ordered_unwatch(store, name);
    }
}

/* A seat that holds now was a waiter, and others may be left. */
void hf_ordered_watch(struct hf_ordered *store,
                      const struct hf_ordered_seat *judged,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    const struct hf_ordered_seat *seat = judged->name->seats;
    while (seat != NULL && (seat == judged || !is_waiter(seat))) {
        seat = seat->next;
    }
    watch_for(store, judged->name, reply, seat == NULL, now);
}

void hf_ordered_watch_held(struct hf_ordered *store,
                           struct hf_ordered_name *name, uint64_t revision,
                           struct hf_instant now)
{
    if (store->n_watches < WATCHES_ENOUGH) {
        begin_watch(store, name, NULL, revision, now);
    }
}

/* ---- Listing ------------------------------------------------------------- */

static void judge_waiter(struct hf_ordered *store, struct hf_ordered_seat *seat,
                         const struct hf_wire_reply *reply)
{
    const struct hf_wire_entry *own = hf_ordered_entry_own(seat, reply);
    struct hf_entry_rank rank;
    (void)hf_ordered_entry_judge(store, reply, own, &rank);
    switch (rank.turn) {
    case HF_ENTRY_UNPROVEN: /* gone, or no memory: the next heartbeat finds it,
                               or makes another one */
        break;
    case HF_ENTRY_WAITS:
        HF_ASSERT(rank.watch < reply->n_entries);
        if (seat->behind != reply->entries[rank.watch].entry.number) {
            hf_ordered_place_free(seat);
        }
        seat->number = own->entry.number;
        seat->behind = reply->entries[rank.watch].entry.number;
        break;
    case HF_ENTRY_HOLDS:
        hf_ordered_place_free(seat);
        seat->number = own->entry.number;
        seat->behind = 0;
        seat->state = HF_ORDERED_HELD;
        seat->must_push = true;
        break;
    }
}

/* The client may ask, and so change the seats, from inside of a push. */
static void push_all(struct hf_ordered *store, struct hf_ordered_name *name)
{
    struct hf_ordered_seat *seat = name->seats;
    while (seat != NULL) {
        bool must_doubt = seat->must_doubt && !seat->confirm.is_pending;
        if (seat->must_push || must_doubt) {
            uint64_t counter = must_doubt ? 0 : seat->number;
            seat->must_push = false;
            seat->must_doubt = false;
            store->env.push(store->env.client, 0, seat->cookie, counter);
            seat = name->seats;
        } else {
            seat = seat->next;
        }
    }
}

/* What is after the last of our waiters changes nothing for them. */
static uint64_t last_of_ours(const struct hf_ordered_name *name)
{
    uint64_t number = 0;
    for (const struct hf_ordered_seat *seat = name->seats; seat != NULL;
         seat = seat->next) {
        if (is_waiter(seat) && seat->number > number) {
            number = seat->number;
        }
    }
    return number;
}

/* A list that was asked for before the last of our entries was created may
 * lack it, and would tell its waiter nothing: list once more. */
static void on_listed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_name *name = call->name;
    bool is_done = reply->outcome == HF_WIRE_DONE;
    bool is_of_all = last_of_ours(name) <= wire_call->until;
    bool must_list = is_done && (name->must_list || !is_of_all);
    HF_ASSERT(name->is_listing);
    name->is_listing = false;
    name->must_list = false;
    for (struct hf_ordered_seat *seat = name->seats; seat != NULL && is_done;
         seat = seat->next) {
        if (is_waiter(seat)) {
            judge_waiter(store, seat, reply);
        }
    }
    push_all(store, name);
    if (must_list) {
        hf_ordered_list(store, name, now);
    } else if (is_done) {
        watch_for(store, name, reply, true, now);
    }
    hf_ordered_call_free(call);
    hf_ordered_name_drop(store, name);
}

void hf_ordered_list(struct hf_ordered *store, struct hf_ordered_name *name,
                     struct hf_instant now)
{
    struct hf_bytes bytes = {name->bytes, name->len};
    if (name->is_listing) {
        name->must_list = true;
        return;
    }
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_listed, NULL, name, NULL);
    if (call == NULL) {
        return; /* the next heartbeat lists */
    }
    name->is_listing = true;
    call->wire.until = last_of_ours(name);
    if (!store->wire_ops->list(store->wire, bytes, &call->wire, now)) {
        name->is_listing = false;
        hf_ordered_call_free(call); /* so does it here */
    }
}

/* ---- Events -------------------------------------------------------------- */

void hf_ordered_ended(struct hf_ordered *store, void *user, uint64_t number,
                      uint64_t revision, struct hf_instant now)
{
    struct hf_ordered_name *name = user;
    HF_ASSERT(name->watch != NULL);
    name->seen = name->seen < revision ? revision : name->seen;
    if (number != 0 && number == name->watched) {
        hf_ordered_unwatch(store, name);
    }
    if (!name->is_listing && is_awaited(name, number)) {
        hf_ordered_list(store, name, now);
    }
    for (struct hf_ordered_seat *seat = name->seats; seat != NULL;
         seat = seat->next) {
        seat->must_doubt |=
            is_holder(seat) && (number == 0 || seat->number == number);
    }
    name->calls++; /* it is kept */
    push_all(store, name);
    name->calls--;
    hf_ordered_name_drop(store, name);
}

/* Each of its holders asks for a CONFIRM now, and is told that it is GONE. */
static void doubt_all(struct hf_ordered *store, struct hf_ordered_name *name,
                      const uint8_t id[HF_SESSION_ID_LEN])
{
    for (struct hf_ordered_seat *seat = name->seats; seat != NULL;
         seat = seat->next) {
        seat->must_doubt |= is_holder(seat) && memcmp(seat->session->id, id,
                                                      HF_SESSION_ID_LEN) == 0;
    }
    push_all(store, name);
}

void hf_ordered_session_ended(struct hf_ordered *store,
                              const uint8_t id[HF_SESSION_ID_LEN])
{
    for (size_t i = 0; i < HF_ORDERED_BUCKETS; i++) {
        struct hf_ordered_name *next = NULL;
        for (struct hf_ordered_name *name = store->names[i]; name != NULL;
             name = next) {
            name->calls++; /* it is kept */
            doubt_all(store, name, id);
            name->calls--;
            next = name->next;
            hf_ordered_name_drop(store, name);
        }
    }
}

void hf_ordered_unwatched(struct hf_ordered *store, void *user,
                          struct hf_instant now)
{
    struct hf_ordered_name *name = user;
    HF_ASSERT(name->watch != NULL && store->n_watches > 0);
    name->watch = NULL;
    name->watched = 0;
    store->n_watches--;
    if (has_waiter(name)) {
        hf_ordered_list(store, name, now);
    }
}
