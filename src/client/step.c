/* SPDX-License-Identifier: Apache-2.0 */
/* ONE STEP OF A LOCK
 *
 * Passes an event to the lease machine of core, and carries out the effects: it
 * sends the requests to the store, copies the lease's state to where other
 * threads read it, queues the event of a changed state, reports the outcome to
 * the operation that waits for it, and sets the next timer.
 *
 * Why a reply is never lost here: a request is sent only if the inbox has room
 * for its reply. Otherwise it counts as not sent, and core sends it again
 * later. So a lock is released also if no memory is left: of many locks that
 * are released together some later, when others have been answered.
 *
 * Cost: no allocation unless more requests are in flight than ever before; at
 * most two requests to a node; O(nodes), and for the timer O(log n) of all
 * timers. */
#include "client/step.h"

#include "client/events.h"
#include "client/fork.h"
#include "client/lock_end.h"
#include "client/lock_group.h"
#include "client/log.h"
#include "client/op.h"

#include "base/array.h"
#include "base/assert.h"

#include <stdio.h>

void hf_client_ask(struct hf_client *client, const struct hf_ask *ask)
{
    if (hf_client_is_forked(client)) {
        return; /* the connection is the parent's */
    }
    HF_ASSERT(ask->node < client->nodes.count);
    hf_log_ask(client, ask);
    client->n_pending++;
    client->is_dirty = true;
    client->in_store++;
    client->store->ops->ask(client->store, ask, client->now);
    client->in_store--;
}

/* Rounded up: a reservation must not end early. 0: free the name. */
static int64_t reserve_ms(const struct hf_lock *lock)
{
    if ((lock->flags & HF_LOCK_RESERVES) == 0) {
        return 0;
    }
    return hf_span_ms_ceil(
        hf_instant_until(lock->client->now, hf_lock_reserve_until(lock)));
}

/* Requests to a node that have room for their replies at first: about those
 * that a connection of Redis has room for. */
#define FIRST_PENDING 16

bool hf_client_reserve_event(struct hf_client *client)
{
    size_t least = (size_t)client->nodes.count * FIRST_PENDING;
    size_t need = client->inbox_count + client->n_pending + 1;
    struct hf_queued_event *inbox =
        hf_array_reserve(client->inbox, &client->inbox_capacity,
                         need < least ? least : need, sizeof(*inbox));
    if (inbox != NULL) {
        client->inbox = inbox;
    }
    return inbox != NULL;
}

/* What was not sent, for want of memory, remains in `effects`. */
static void send_all(struct hf_client *client, struct hf_lock *lock,
                     struct hf_effects *effects)
{
    char owner[HF_OWNER_MAX];
    size_t owner_len = hf_lock_emit_owner(lock, owner);
    struct hf_ask ask = {
        .cookie = hf_item_table_cookie(&client->items, &lock->item),
        .name = hf_lock_name_bytes(lock),
        .name_len = lock->name_len,
        .owner = owner,
        .owner_len = owner_len,
        .is_shared = lock->is_shared,
        .permits = lock->permits,
        .is_unfair = lock->is_unfair,
        .detaches = (lock->flags & HF_LOCK_LEAVES) != 0,
    };
    unsigned n_sends = effects->n_sends;
    effects->n_sends = 0;
    for (unsigned i = 0; i < n_sends; i++) {
        const struct hf_send *send = &effects->sends[i];
        if (!hf_client_reserve_event(client)) {
            effects->sends[effects->n_sends++] = *send;
            continue;
        }
        ask.verb = send->verb;
        ask.node = send->node;
        ask.reacquires = send->reacquires;
        ask.counter = send->counter;
        bool frees = send->verb == HF_VERB_RELEASE;
        ask.ttl_ms = frees ? reserve_ms(lock) : hf_span_ms_floor(send->ttl);
        ask.queue_ms = hf_span_ms_floor(send->queue);
        ask.ticket = send->ticket;
        /* A RELEASE needs no processes: the store would read /proc for each. */
        ask.life = frees ? NULL : hf_lock_life(lock);
        hf_client_ask(client, &ask);
    }
}

static void note_missed(struct hf_client *client, uint16_t missed)
{
    HF_ASSERT(missed <= hf_nodes_all(&client->nodes));
    for (unsigned i = 0; missed != 0; i++, missed >>= 1) {
        if ((missed & 1) != 0) {
            struct hf_nodes_event event = {.kind = HF_NODES_EV_MISS,
                                           .node = (uint8_t)i,
                                           .now = client->now};
            hf_nodes_step(&client->nodes, &event);
        }
    }
}

void hf_client_note_fault(struct hf_client *client,
                          const struct hf_answer *answer)
{
    struct hf_peer *peer = &client->peers[answer->node];
    HF_ASSERT(answer->node < client->nodes.count);
    if (peer->config != HF_OK) {
        return;
    }
    peer->fault = answer->fault;
    snprintf(peer->reason, sizeof(peer->reason), "%s",
             answer->reason != NULL ? answer->reason : "");
}

static bool step_once(struct hf_client *client, struct hf_lock *lock,
                      const struct hf_event *event);

/** Answer the requests that were not sent: core sends them again later.
 * @return false: as step_once(). */
static bool answer_unsent(struct hf_client *client, struct hf_lock *lock,
                          const struct hf_effects *effects)
{
    bool is_there = true;
    for (unsigned i = 0; is_there && i < effects->n_sends; i++) {
        const struct hf_send *send = &effects->sends[i];
        struct hf_answer answer = {.node = send->node,
                                   .verb = send->verb,
                                   .verdict = HF_VERDICT_UNSENT,
                                   .fault = HF_NO_MEMORY,
                                   .reason = "out of memory"};
        struct hf_event event = {.kind = HF_EV_ANSWER,
                                 .now = client->now,
                                 .node = send->node,
                                 .verb = send->verb,
                                 .verdict = HF_VERDICT_UNSENT,
                                 .sent = client->now};
        hf_client_note_fault(client, &answer);
        if (lock->op != NULL) {
            hf_op_note(lock->op, &answer, hf_lease_fence(hf_lock_lease(lock)));
        }
        is_there = step_once(client, lock, &event);
    }
    return is_there;
}

/** One step. @return false: the lease is done, and the lock must not be used.
 * It is freed, or kept until its operation or callback has the outcome. */
static bool step_once(struct hf_client *client, struct hf_lock *lock,
                      const struct hf_event *event)
{
    struct hf_effects effects;
    enum hf_phase was = hf_lease_phase(hf_lock_lease(lock));
    hf_lease_step(hf_lock_lease(lock), &client->nodes, event, &effects);
    note_missed(client, effects.missed);
    hf_lock_mirror(lock);
    hf_log_step(client, lock, was, &effects);
    if (effects.n_sends > 0) {
        send_all(client, lock, &effects);
    }
    if (effects.state_changed && (lock->flags & HF_LOCK_OURS) != 0) {
        hf_client_notify(client, lock);
    }
    if (effects.outcome != HF_OUT_NONE) {
        if (lock->op != NULL) {
            hf_op_outcome(lock->op, lock, effects.outcome);
        } else if ((lock->flags & HF_LOCK_CALLING) != 0) {
            hf_lock_note_outcome(lock, effects.outcome);
        }
    }
    if (lock->op != NULL && lock->op->handlers->stepped != NULL) {
        lock->op->handlers->stepped(lock->op);
    }
    if (effects.done) {
        lock->flags |= HF_LOCK_OVER;
        hf_timer_heap_set(&client->heap, &lock->item, HF_NEVER);
        if (lock->op == NULL && (lock->flags & HF_LOCK_HAS_CALLBACK) == 0) {
            hf_lock_free(lock);
        } else {
            hf_lock_check(lock);
        }
        return false;
    }
    hf_timer_heap_set(&client->heap, &lock->item,
                      hf_lease_wake(hf_lock_lease(lock)));
    hf_lock_check(lock);
    return answer_unsent(client, lock, &effects);
}

/* The handling of an outcome may decide to cancel the attempt (GIVE_UP). The
 * release is a separate step, after the one that reported the outcome. */
void hf_client_step(struct hf_client *client, struct hf_lock *lock,
                    const struct hf_event *event)
{
    HF_ASSERT(lock->client == client && (lock->flags & HF_LOCK_OVER) == 0);
    if (!step_once(client, lock, event)) {
        return;
    }
    if ((lock->flags & HF_LOCK_GIVE_UP) != 0) {
        struct hf_event release = {.kind = HF_EV_RELEASE, .now = client->now};
        lock->flags &= (uint8_t)~HF_LOCK_GIVE_UP;
        step_once(client, lock, &release);
    }
}

void hf_client_signal(struct hf_client *client, struct hf_lock *lock,
                      enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind, .now = client->now};
    hf_client_step(client, lock, &event);
}

enum hf_state hf_lock_state_now(struct hf_lock *lock)
{
    const struct hf_lease *lease = hf_lock_lease(lock);
    enum hf_state state = hf_lease_state(lease);
    bool is_held = state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
    if (is_held &&
        !hf_instant_before(lock->client->now, hf_lease_deadline(lease))) {
        hf_client_signal(lock->client, lock, HF_EV_TIMER);
        state = hf_lease_state(lease);
    }
    return state;
}

enum hf_state hf_lock_group_state_now(struct hf_lock *first)
{
    enum hf_state worst = HF_STATE_HELD;
    for (struct hf_lock *lock = first; lock != NULL;
         lock = hf_lock_group_next(lock)) {
        enum hf_state state = hf_lock_state_now(lock);
        worst = state > worst ? state : worst;
    }
    return worst;
}
