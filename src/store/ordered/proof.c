/* SPDX-License-Identifier: Apache-2.0 */
/* WHAT A RENEWAL PROVES
 *
 *   renew answered ──▶ read, up to 128 entries ──▶ each CONFIRM is answered
 *
 * A CONFIRM's read is sent when the renewal was answered: a server that had
 * lost the session, or the entry, before that cannot answer both.
 *
 *   the entry is there, and under the session   OK, from the renewal's sending
 *   under another one                           it was adopted by its owner's
 *                                               text: it is moved back
 *   it has a note                               broken, or ended: REFUSED
 *   it is gone                                  REFUSED, also if an ACQUIRE
 *                                               that was late made another
 *
 * A renewal may be answered by a leader that was replaced before without
 * knowing it: then the new one did not renew the session. So a renewal counts
 * only with a reply of the term in which it was sent (wire.h); else it is sent
 * again.
 *
 * A read may compare the versions of entries that were proven before. Nothing
 * was written to them since then if all are the same; else they are read.
 *
 * A server may take fewer entries in one read than 128: if it refuses so many,
 * half as many are read at a time, from then on.
 *
 * An entry that was broken stays until its owner must have stopped: the session
 * that other locks keep alive removes it a ttl later, if nothing else did.
 *
 * Cost: one read behind one renewal for up to 128 locks; one more read if an
 * entry of it has changed, both again after a change of leader. O(1) for each
 * lock. A block on the heap for each read. */
#include "store/ordered/ordered.h"

#include "base/assert.h"

static const struct hf_wire_reply no_memory = {.outcome = HF_WIRE_UNSENT,
                                               .fault = HF_NO_MEMORY,
                                               .reason = "out of memory"};

static struct hf_ordered_seat *pop_proof(struct hf_ordered_call *call)
{
    struct hf_ordered_seat *seat = call->seats;
    if (seat != NULL) {
        call->seats = seat->next_proving;
    }
    return seat;
}

static bool is_there(const struct hf_ordered_seat *seat,
                     const struct hf_wire_entry *entry)
{
    return entry->entry.number != 0 && entry->entry.number == seat->number &&
           entry->note.len == 0;
}

static bool is_under(const struct hf_ordered_session *session,
                     const struct hf_wire_entry *entry)
{
    return memcmp(entry->entry.owner.session, session->id, HF_SESSION_ID_LEN) ==
           0;
}

/* ---- Answers ------------------------------------------------------------- */

/* Its entry is gone. A create that was late has made another one, or may yet:
 * no seat has that, so the session removes it. */
static void doubt(const struct hf_ordered_seat *seat,
                  const struct hf_wire_entry *entry)
{
    if (seat->session != NULL &&
        (entry->entry.number != 0 || seat->acquire.is_pending)) {
        seat->session->is_doubtful = true;
    }
}

static void
answer_lost(struct hf_ordered_call *call, struct hf_ordered_seat *seat,
            const struct hf_wire_entry *entry, struct hf_instant now)
{
    bool is_left = seat->state == HF_ORDERED_LEAVING;
    if (entry->note.len > 0 && !is_left && seat->session != NULL) {
        hf_ordered_seat_broken(seat, now);
    } else if (!is_left) {
        doubt(seat, entry);
        hf_ordered_seat_detach(seat);
    }
    hf_ordered_answer_refusal(call->store, seat, HF_VERB_CONFIRM);
}

/* Ends after this are news. A read without a revision leaves the entry's last
 * change: then a change of another entry since that is a doubt, and costs one
 * renewal. */
static uint64_t watched_from(const struct hf_wire_reply *reply,
                             const struct hf_wire_entry *entry)
{
    return reply->revision > 0 ? reply->revision : entry->version;
}

static void
answer_proof(struct hf_ordered_call *call, struct hf_ordered_seat *seat,
             const struct hf_wire_entry *entry,
             const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_answer answer = {.verdict = HF_VERDICT_OK,
                               .sent = call->renewed,
                               .counter = seat->number};
    struct hf_ordered *store = call->store;
    uint64_t cookie = seat->cookie;
    bool is_doubted = seat->must_doubt;
    seat->version = entry->version;
    seat->must_doubt = false;
    if (seat->leaves && seat->state == HF_ORDERED_HELD) {
        hf_ordered_seat_detach(seat);
    } else if (seat->state == HF_ORDERED_HELD) {
        hf_ordered_watch_held(store, seat->name, watched_from(reply, entry),
                              now);
    }
    hf_ordered_answer_with(store, seat, HF_VERB_CONFIRM, &answer);
    if (is_doubted) { /* since it was read; the seat may be freed */
        store->env.push(store->env.client, 0, cookie, 0);
    }
}

/** @return true: the session is to be renewed once more. */
static bool
judge_proof(struct hf_ordered_call *call, struct hf_ordered_seat *seat,
            const struct hf_wire_entry *entry,
            const struct hf_wire_reply *reply, struct hf_instant now)
{
    bool is_ours = seat->session == call->session;
    if (!is_there(seat, entry) || seat->state == HF_ORDERED_LEAVING) {
        answer_lost(call, seat, entry, now);
        return false;
    }
    if (seat->number != seat->proves) { /* its ACQUIRE has made another one */
        hf_ordered_answer_refusal(call->store, seat, HF_VERB_CONFIRM);
        return false;
    }
    if (is_ours && !is_under(call->session, entry)) {
        hf_ordered_move(call->store, seat, seat->number, seat->ttl_ms, now);
        return false;
    }
    if (is_ours && !hf_ordered_is_of_term(call->term, reply)) {
        hf_ordered_session_proves(seat);
        return true;
    }
    answer_proof(call, seat, entry, reply, now);
    return false;
}

/** The entry that the seat has proven is unchanged: under the call's session,
 * if the seat is. @return true: the session is to be renewed once more. */
static bool
judge_unchanged(struct hf_ordered_call *call, struct hf_ordered_seat *seat,
                const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_wire_entry entry = {.entry.number = seat->number,
                                  .version = seat->version};
    memcpy(entry.entry.owner.session, call->session->id, HF_SESSION_ID_LEN);
    if (seat->session == call->session && entry.version == 0) {
        hf_ordered_session_proves(seat); /* it was written since it was asked */
        return true;
    }
    return judge_proof(call, seat, &entry, reply, now);
}

static void read_all(struct hf_ordered_call *from, struct hf_instant renewed,
                     uint64_t term, struct hf_instant now);

/* From now on the server is asked for half as many at a time as it has refused.
 */
static bool shorten(struct hf_ordered_call *call)
{
    uint32_t n = 0;
    const struct hf_ordered_seat *seat = call->seats;
    for (; seat != NULL; seat = seat->next_proving) {
        n++;
    }
    if (n > 1 && call->store->read_most > n / 2) {
        call->store->read_most = n / 2;
    }
    return n > 1;
}

/** Nothing was read, and the same is to be read again: without versions if one
 * of them has changed, to see which, or less at a time. */
static bool prepare_reread(struct hf_ordered_call *call,
                           const struct hf_wire_reply *reply)
{
    struct hf_ordered_seat *seat = call->seats;
    if (reply->outcome == HF_WIRE_ERROR && reply->is_too_long) {
        return shorten(call);
    }
    if (reply->outcome != HF_WIRE_DONE || reply->is_unchanged ||
        reply->n_entries > 0) {
        return false;
    }
    for (; seat != NULL; seat = seat->next_proving) {
        seat->version = 0;
    }
    return true;
}

static void on_read(struct hf_wire_call *wire_call,
                    const struct hf_wire_reply *reply, struct hf_instant now)
{
    struct hf_ordered_call *call = (struct hf_ordered_call *)(void *)wire_call;
    struct hf_ordered *store = call->store;
    struct hf_ordered_seat *seat;
    bool is_done = reply->outcome == HF_WIRE_DONE;
    bool must_renew = false;
    if (prepare_reread(call, reply)) {
        read_all(call, call->renewed, call->term, now);
    }
    for (size_t i = 0; (seat = pop_proof(call)) != NULL; i++) {
        if (!is_done) {
            hf_ordered_answer_undone(store, seat, HF_VERB_CONFIRM, reply);
        } else if (reply->is_unchanged) {
            must_renew |= judge_unchanged(call, seat, reply, now);
        } else {
            HF_ASSERT(i < reply->n_entries);
            must_renew |=
                judge_proof(call, seat, &reply->entries[i], reply, now);
        }
    }
    hf_ordered_call_free(call);
    if (must_renew) {
        hf_ordered_flush(store, now);
    }
}

/* ---- Reading ------------------------------------------------------------- */

/** Read the first of `from`, which are moved. @return false: no memory. */
static bool read_some(struct hf_ordered_call *from, struct hf_instant renewed,
                      uint64_t term, struct hf_instant now)
{
    struct hf_wire_key keys[HF_WIRE_READ_MAX];
    struct hf_ordered *store = from->store;
    struct hf_ordered_call *call =
        hf_ordered_call_new(store, on_read, from->session, NULL, NULL);
    if (call == NULL) {
        return false;
    }
    struct hf_ordered_seat **end = &call->seats;
    struct hf_ordered_seat *seat;
    size_t n = 0;
    while (n < store->read_most && (seat = pop_proof(from)) != NULL) {
        if (seat->session == NULL) { /* released, and removed, meanwhile */
            hf_ordered_answer_refusal(store, seat, HF_VERB_CONFIRM);
            continue;
        }
        keys[n] = hf_ordered_key(seat);
        keys[n++].version = seat->version;
        seat->next_proving = NULL;
        *end = seat;
        end = &seat->next_proving;
    }
    call->renewed = renewed;
    call->term = term;
    if (n == 0) {
        hf_ordered_call_free(call);
    } else if (!store->wire_ops->read(store->wire, keys, n, &call->wire, now)) {
        hf_ordered_call_fail(call, now);
    }
    return true;
}

static void fail_proofs(struct hf_ordered_call *call,
                        const struct hf_wire_reply *reply)
{
    struct hf_ordered_seat *seat;
    while ((seat = pop_proof(call)) != NULL) {
        if (reply->outcome == HF_WIRE_GONE) {
            hf_ordered_seat_detach(seat);
            hf_ordered_answer_refusal(call->store, seat, HF_VERB_CONFIRM);
        } else {
            hf_ordered_answer_undone(call->store, seat, HF_VERB_CONFIRM, reply);
        }
    }
}

static void read_all(struct hf_ordered_call *from, struct hf_instant renewed,
                     uint64_t term, struct hf_instant now)
{
    static const struct hf_wire_reply gone = {.outcome = HF_WIRE_GONE};
    if (from->session->phase == HF_ORDERED_GONE) {
        fail_proofs(from, &gone);
        return;
    }
    while (from->seats != NULL && read_some(from, renewed, term, now)) {
    }
    fail_proofs(from, &no_memory);
}

void hf_ordered_prove(struct hf_ordered_call *renewal,
                      const struct hf_wire_reply *reply, struct hf_instant now)
{
    if (reply->outcome == HF_WIRE_DONE ||
        renewal->session->phase == HF_ORDERED_GONE) {
        read_all(renewal, reply->sent, reply->term, now);
    } else {
        fail_proofs(renewal, reply);
    }
}
