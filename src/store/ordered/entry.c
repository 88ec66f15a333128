/* SPDX-License-Identifier: Apache-2.0 */
/* ENTRIES: CREATED, LISTED, JUDGED
 *
 *   try, exclusive  CREATE if the name is free     ours: held. Else refused
 *   try, shared     LIST; if all share, CREATE     ours: held. Something newer:
 *                   if nothing is newer            once more
 *   wait            CREATE unless it exists        judged: held, or queued
 *   wait, again     the same; or READ (place.c)    queued as before
 *
 * So a try that fails has left nothing, not for a moment. Each reply has the
 * list at the moment of the create. core/entry_rule.h says what follows from
 * it.
 *
 * The answer counts from the renewal that was sent last before the create, and
 * not before the request (core counts no reply from before its question).
 *
 * Cost: one create, which does not wait for the renewal before it; a shared try
 * lists first, and creates up to ROUNDS_MAX times. A few passes over the list.
 */
#include "store/ordered/ordered.h"

#include "base/array.h"
#include "base/assert.h"

#include <string.h>

/* A shared try that meets newer entries each time: 8 are as good as a refusal,
 * and core tries again. */
#define ROUNDS_MAX 8

static void on_created(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply,
                       struct hf_instant now);
static void on_listed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now);
static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now);

/* ---- Sending ------------------------------------------------------------- */

static void fail_memory(struct hf_ordered *store, struct hf_ordered_seat *seat)
{
    if (seat->number == 0 && !seat->is_unsure) {
        hf_ordered_seat_detach(seat);
    }
    hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE,
                            seat->is_unsure ? HF_VERDICT_UNKNOWN
                                            : HF_VERDICT_UNSENT,
                            HF_NO_MEMORY, "out of memory");
}

static void create(struct hf_ordered *store, struct hf_ordered_seat *seat,
                   enum hf_wire_when when, uint64_t revision,
                   struct hf_instant now)
{
    struct hf_wire_key key = hf_ordered_key(seat);
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_created, seat->session, NULL, seat);
    if (call == NULL) {
        fail_memory(store, seat);
    } else if (!store->wire_ops->create(store->wire, &key, when, revision,
                                        &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

void hf_ordered_entry_create(struct hf_ordered *store,
                             struct hf_ordered_seat *seat,
                             struct hf_instant now)
{
    struct hf_bytes name = {seat->name->bytes, seat->name->len};
    if (seat->number == 0) {
        memcpy(seat->born, seat->session->id, sizeof(seat->born));
        seat->born_ttl_s = seat->session->ttl_s;
    }
    if (hf_ordered_place_read(store, seat, on_read, now)) {
        return;
    }
    if (seat->waits || seat->mode != HF_SHARED) {
        create(store, seat, seat->waits ? HF_WIRE_UNLESS_OWN : HF_WIRE_IF_FREE,
               0, now);
        return;
    }
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_listed, seat->session, NULL, seat);
    if (call == NULL) {
        fail_memory(store, seat);
    } else if (!store->wire_ops->list(store->wire, name, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
}

/* ---- Judging ------------------------------------------------------------- */

/** The seat's entry in a list, also if it has a note. @return NULL: none. */
static const struct hf_wire_entry *find(const struct hf_ordered_seat *seat,
                                        const struct hf_wire_reply *reply)
{
    for (size_t i = 0; seat->session != NULL && i < reply->n_entries; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        if (hf_ordered_is_text(entry->owner, seat->owner, seat->owner_len) &&
            memcmp(entry->entry.owner.session, seat->session->id,
                   HF_SESSION_ID_LEN) == 0) {
            return entry;
        }
    }
    return NULL;
}

const struct hf_wire_entry *
hf_ordered_entry_own(const struct hf_ordered_seat *seat,
                     const struct hf_wire_reply *reply)
{
    const struct hf_wire_entry *entry = find(seat, reply);
    return entry != NULL && entry->note.len == 0 ? entry : NULL;
}

static bool reserve(struct hf_ordered *store, size_t n)
{
    struct hf_entry *judged =
        hf_array_reserve(store->judged, &store->judged_cap, n, sizeof(*judged));
    if (judged != NULL) {
        store->judged = judged;
    }
    return judged != NULL;
}

bool hf_ordered_entry_judge(struct hf_ordered *store,
                            const struct hf_wire_reply *reply,
                            const struct hf_wire_entry *own,
                            struct hf_entry_rank *out)
{
    *out = (struct hf_entry_rank){HF_ENTRY_UNPROVEN, 0, 0};
    if (own == NULL || own->entry.number == 0) {
        return true;
    }
    if (!reserve(store, reply->n_entries)) {
        return false;
    }
    for (size_t i = 0; i < reply->n_entries; i++) {
        store->judged[i] = reply->entries[i].entry;
        if (reply->entries[i].permits != own->permits) {
            store->judged[i].mode = HF_EXCLUSIVE;
        }
    }
    hf_entries_judge(store->judged, reply->n_entries, &own->entry, out);
    return true;
}

/** But for `own`, which another one with its number may be beside. */
static const struct hf_wire_entry *first_of(const struct hf_wire_reply *reply,
                                            const struct hf_wire_entry *own)
{
    const struct hf_wire_entry *first = NULL;
    for (size_t i = 0; i < reply->n_entries; i++) {
        const struct hf_wire_entry *entry = &reply->entries[i];
        if (entry != own &&
            (first == NULL || entry->entry.number < first->entry.number)) {
            first = entry;
        }
    }
    return first;
}

/* ---- Answering an ACQUIRE ------------------------------------------------ */

/* A list has no time that is left of an entry: its ttl is the most that can
 * be. */
static void name_holder(struct hf_answer *answer,
                        const struct hf_wire_reply *reply,
                        const struct hf_wire_entry *own)
{
    const struct hf_wire_entry *first = first_of(reply, own);
    answer->left_ms = -1;
    if (first != NULL) {
        answer->owner = hf_ordered_holder(first).data;
        answer->owner_len = hf_ordered_holder(first).len;
        answer->counter = first->entry.number;
        answer->permits = first->permits;
        answer->left_ms = first->ttl_s > 0 ? first->ttl_s * 1000 : -1;
    }
}

static void answer_held(struct hf_ordered *store, struct hf_ordered_seat *seat)
{
    struct hf_answer answer = {.verdict = HF_VERDICT_OK,
                               .sent = seat->session->renewed,
                               .counter = seat->number};
    hf_ordered_answer_with(store, seat, HF_VERB_ACQUIRE, &answer);
}

static void answer_refused(struct hf_ordered *store,
                           struct hf_ordered_seat *seat,
                           const struct hf_wire_reply *reply)
{
    struct hf_answer answer = {.verdict = HF_VERDICT_REFUSED,
                               .sent = seat->acquire.asked};
    name_holder(&answer, reply, NULL);
    hf_ordered_seat_detach(seat);
    hf_ordered_answer_with(store, seat, HF_VERB_ACQUIRE, &answer);
}

/* Counted from the session's renewal, since the place ends with the session.
 * The counter is below the entry's number, so that a push of its grant is
 * above it (W1). */
static void answer_queued(struct hf_ordered *store,
                          struct hf_ordered_seat *seat,
                          const struct hf_wire_reply *reply,
                          const struct hf_wire_entry *own, size_t ahead)
{
    struct hf_answer answer = {.verdict = HF_VERDICT_QUEUED,
                               .sent = seat->session->renewed,
                               .ticket = seat->number,
                               .ahead = (uint32_t)ahead,
                               .is_unwatched = seat->name->watch == NULL};
    name_holder(&answer, reply, own);
    answer.counter = hf_ordered_below(seat);
    HF_ASSERT(answer.counter < seat->number);
    seat->was_queued = true;
    hf_ordered_answer_with(store, seat, HF_VERB_ACQUIRE, &answer);
}

/* It was broken before this client knew of it. So it is not held, and is
 * removed with the RELEASE, or with the strangers. */
static void take_broken(struct hf_ordered *store, struct hf_ordered_seat *seat)
{
    seat->session->is_doubtful = true;
    seat->is_unsure = true;
    hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE, HF_VERDICT_UNKNOWN,
                            HF_UNAVAILABLE, "its entry was broken");
}

/* Not in the list. A try was refused, or met something newer; a waiter's entry
 * is always listed with its create. */
static void
take_unproven(struct hf_ordered *store, struct hf_ordered_seat *seat,
              const struct hf_wire_reply *reply, struct hf_instant now)
{
    bool is_shared = seat->mode == HF_SHARED;
    for (size_t i = 0; i < reply->n_entries; i++) {
        is_shared &= reply->entries[i].entry.mode == HF_SHARED &&
                     reply->entries[i].permits == seat->permits;
    }
    if (seat->waits || seat->rounds >= ROUNDS_MAX) {
        if (!seat->is_unsure) {
            hf_ordered_seat_detach(seat);
        }
        hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE,
                                HF_VERDICT_UNKNOWN, HF_UNAVAILABLE,
                                seat->waits ? "its entry is not listed"
                                            : "other requests came between");
    } else if (is_shared) {
        seat->rounds++;
        create(store, seat, HF_WIRE_IF_SINCE, reply->revision, now);
    } else {
        answer_refused(store, seat, reply);
    }
}

static void take_entry(struct hf_ordered *store, struct hf_ordered_seat *seat,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    const struct hf_wire_entry *own = hf_ordered_entry_own(seat, reply);
    struct hf_entry_rank rank;
    if (!hf_ordered_entry_judge(store, reply, own, &rank)) {
        seat->is_unsure = true; /* it is there: the RELEASE must remove it */
        fail_memory(store, seat);
        return;
    }
    seat->is_unsure &= own == NULL;
    if (own == NULL && find(seat, reply) != NULL) {
        take_broken(store, seat);
        return;
    }
    if (rank.turn == HF_ENTRY_UNPROVEN) {
        take_unproven(store, seat, reply, now);
        return;
    }
    HF_ASSERT(own != NULL);
    seat->number = own->entry.number;
    seat->version = 0;
    seat->rounds = 0;
    if (rank.turn == HF_ENTRY_HOLDS) {
        seat->state = HF_ORDERED_HELD;
        seat->behind = 0;
        hf_ordered_place_free(seat);
        hf_ordered_watch(store, seat, reply, now);
        answer_held(store, seat);
        return;
    }
    HF_ASSERT(rank.watch < reply->n_entries);
    const struct hf_wire_entry *before = &reply->entries[rank.watch];
    size_t ahead = rank.ahead + reply->n_unlisted;
    seat->state = HF_ORDERED_WAITING;
    seat->behind = before->entry.number;
    hf_ordered_place_keep(store, seat, own, before, (uint32_t)ahead);
    hf_ordered_watch(store, seat, reply, now);
    answer_queued(store, seat, reply, own, ahead);
}

/** Something newer than the request was asked for, or its session has ended, or
 * it was released. @return true: it is dealt with. */
static bool finish_early(struct hf_ordered *store, struct hf_ordered_seat *seat,
                         const struct hf_wire_reply *reply,
                         struct hf_instant now)
{
    static const struct hf_wire_reply gone = {.outcome = HF_WIRE_GONE};
    struct hf_ordered_session *session = seat->session;
    if (reply->outcome == HF_WIRE_GONE && session != NULL) {
        hf_ordered_session_gone(session);
    }
    if (seat->state == HF_ORDERED_LEAVING || session == NULL) {
        hf_ordered_answer_fault(store, seat, HF_VERB_ACQUIRE,
                                HF_VERDICT_UNKNOWN, reply->fault,
                                reply->reason);
        return true;
    }
    if (session->phase == HF_ORDERED_GONE) {
        hf_ordered_seat_detach(seat);
        seat->is_unsure = false;
        hf_ordered_answer_undone(store, seat, HF_VERB_ACQUIRE, &gone);
        return true;
    }
    if (reply->outcome != HF_WIRE_DONE) {
        if (reply->outcome != HF_WIRE_LOST && seat->number == 0 &&
            !seat->is_unsure) {
            hf_ordered_seat_detach(seat);
        }
        hf_ordered_answer_undone(store, seat, HF_VERB_ACQUIRE, reply);
        return true;
    }
    if (hf_instant_before(session->renewed, seat->acquire.asked) ||
        !hf_ordered_is_of_term(session->term, reply)) {
        seat->is_unsure |= hf_ordered_entry_own(seat, reply) != NULL;
        hf_ordered_session_asks(seat); /* it has no renewal that counts */
        hf_ordered_flush(store, now);
        return true;
    }
    return false;
}

static void on_created(struct hf_wire_call *wire_call,
                       const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat = call->seat;
    if (reply->outcome == HF_WIRE_LOST) {
        call->session->is_doubtful = true;
        seat->is_unsure = true;
    }
    hf_ordered_call_free(call);
    HF_ASSERT(seat->acquire.is_pending);
    if (!finish_early(store, seat, reply, now)) {
        take_entry(store, seat, reply, now);
    }
}

/** Of a call that only read: a reply that was lost is none.
 * @return true: the request is dealt with. */
static bool finish_read_early(struct hf_ordered_call *call,
                              const struct hf_wire_reply *reply,
                              struct hf_instant now)
{
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat = call->seat;
    struct hf_wire_reply read = *reply;
    if (read.outcome == HF_WIRE_LOST) {
        read.outcome = HF_WIRE_UNSENT;
    }
    hf_ordered_call_free(call);
    return finish_early(store, seat, &read, now);
}

/* The list before a shared try. It decides as the list of a create does. */
static void on_listed(struct hf_wire_call *wire_call,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat = call->seat;
    if (!finish_read_early(call, reply, now)) {
        take_entry(store, seat, reply, now);
    }
}

/* A heartbeat that lists nothing, unless something has changed. */
static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat = call->seat;
    if (finish_read_early(call, reply, now)) {
        return;
    }
    if (seat->place != NULL && hf_ordered_place_stands(seat, reply)) {
        hf_ordered_place_answer(store, seat);
    } else {
        hf_ordered_place_free(seat);
        hf_ordered_entry_create(store, seat, now);
    }
}
