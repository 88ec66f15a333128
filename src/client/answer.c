/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES, PUSHES AND CHANGES OF NODES, AS EVENTS OF THE LEASE MACHINE
 *
 * The store's callbacks find the receiver by the cookie of the request, and
 * make an event. It steps the lock at once, unless the store is on the stack or
 * an earlier event is queued: then it is queued (deferred.c), so that a lock
 * sees its events in the order of their arrival.
 *
 * Safe: the cookie of a lock that has ended finds nothing, also when another
 * lock has its place in the table, and the reply is dropped. Without memory for
 * the queue a reply is dropped too, which is the same as one that the network
 * has lost: nothing is concluded from it, and the request stays pending.
 *
 * Cost: one look into the table for each reply. Only a queue that grows takes
 * memory. */
#include "client/answer.h"

#include "client/broadcast.h"
#include "client/fence.h"
#include "client/lock.h"
#include "client/log.h"
#include "client/op.h"
#include "client/step.h"

#include "base/assert.h"
#include "core/owner.h"

#include <stdio.h>

/* Another library deletes its key without a push to us, and its own clients
 * poll for the key: with half a second between polls, our waiter would rarely
 * get it. */
#define POLL_FOREIGN_MS 40

/* The end of a process is not pushed, only found by polling: as often as a
 * waiter polls that has no queue (POLL_MAX_MS in core/lease_wait.c). */
#define POLL_MORTAL_MS 500

/* A waiter of more names than its store watches at a time: as often as a place
 * in a queue has a heartbeat, so that this costs a server no more. */
#define POLL_UNWATCHED_MS 2000

/* The first waiter polls only where the end of the holder is not pushed: a
 * process that dies, a key of another library, a name without a watch. 0: do
 * not poll. */
static uint16_t poll_ms_max(const struct hf_client *client,
                            const struct hf_answer *answer)
{
    if ((client->store->ops->capabilities & HF_CAP_LIVENESS) != 0) {
        return POLL_MORTAL_MS;
    }
    bool is_foreign = answer->holder_kind == HF_HOLDER_TYPE ||
                      (answer->holder_kind == HF_HOLDER_FOREIGN &&
                       !hf_owner_is_ours(answer->owner, answer->owner_len));
    if (is_foreign) {
        return POLL_FOREIGN_MS;
    }
    return answer->is_unwatched ? POLL_UNWATCHED_MS : 0;
}

static struct hf_event event_of(const struct hf_client *client,
                                const struct hf_answer *answer)
{
    bool is_rival = answer->verdict == HF_VERDICT_REFUSED ||
                    answer->verdict == HF_VERDICT_QUEUED;
    bool has_rival = is_rival && answer->owner != NULL && answer->owner_len > 0;
    return (struct hf_event){
        .kind = HF_EV_ANSWER,
        .now = client->now,
        .node = answer->node,
        .verb = answer->verb,
        .verdict = answer->verdict,
        .sent = answer->sent,
        .counter = answer->counter,
        .floor = answer->floor,
        .bound = answer->bound,
        .rival =
            has_rival ? hf_owner_digest(answer->owner, answer->owner_len) : 0,
        .left = hf_span_ms_or_max(answer->left_ms),
        .poll_ms_max =
            has_rival || answer->is_unwatched ? poll_ms_max(client, answer) : 0,
        .ahead = answer->ahead,
        .ticket = answer->ticket,
    };
}

/* A reply that was read late does not show that the round trip has grown, so it
 * may only lower the measure. Without any measure yet it counts: else a node
 * with a round trip above node_timeout could never vote. */
static void measure(struct hf_client *client, const struct hf_answer *answer)
{
    struct hf_span took = hf_instant_until(answer->sent, client->now);
    struct hf_span known = client->nodes.rtt[answer->node];
    if (answer->verdict == HF_VERDICT_UNSENT ||
        answer->verdict == HF_VERDICT_UNKNOWN) {
        return;
    }
    if (known.ns > 0 &&
        hf_instant_before(answer->sent, client->reading_since)) {
        took = hf_span_min(took, known);
    }
    struct hf_nodes_event event = {
        .kind = HF_NODES_EV_REPLY, .node = answer->node, .took = took};
    hf_nodes_step(&client->nodes, &event);
}

/* Step the lock now; queue the event if the store is on the stack or an earlier
 * event is queued. */
static void deliver(struct hf_client *client, uint64_t cookie,
                    struct hf_lock *lock, const struct hf_event *event)
{
    if (client->in_store > 0 || hf_client_has_news(client) ||
        client->inbox_count > 0) {
        HF_ASSERT(client->inbox_count < client->inbox_capacity); /* step.c */
        client->inbox[client->inbox_count++] =
            (struct hf_queued_event){cookie, *event};
    } else if ((lock->flags & HF_LOCK_OVER) == 0) {
        hf_client_step(client, lock, event);
    }
}

static void answer_lock(struct hf_client *client, struct hf_lock *lock,
                        const struct hf_answer *answer)
{
    struct hf_event event = event_of(client, answer);
    if (lock->op != NULL) {
        hf_op_note(lock->op, answer, hf_lease_fence(hf_lock_lease(lock)));
    }
    deliver(client, answer->cookie, lock, &event);
}

/* A push is unsolicited: if its lock no longer exists, drop it. The RELEASE
 * that ended the lock passes the grant to the next waiter. Without memory it is
 * as if it was lost in the network. */
void hf_client_on_push(void *user, unsigned node, uint64_t cookie,
                       uint64_t counter)
{
    struct hf_client *client = user;
    struct hf_item *item = hf_item_table_find(&client->items, cookie);
    if (item == NULL || item->kind != HF_ITEM_LOCK ||
        counter > hf_fence_counter_max(client) ||
        !hf_client_reserve_event(client)) {
        return;
    }
    struct hf_event event = {
        .kind = counter == 0 ? HF_EV_DOUBT : HF_EV_GRANT,
        .now = client->now,
        .node = (uint8_t)node,
        .counter = counter,
    };
    deliver(client, cookie, hf_lock_of(item), &event);
}

void hf_client_on_listen(void *user, unsigned node, bool is_listening)
{
    struct hf_client *client = user;
    uint16_t bit = (uint16_t)(1U << node);
    client->listens &= (uint16_t)~bit;
    client->listens |= is_listening ? bit : 0;
    client->push_changed |= bit;
}

/* A grant with a fence of more than 53 bits does not count, and is
 * released as one that may have been made. A counter is that great only if it
 * was set by hand, or by a clock after the year 2112. */
static bool is_too_great(const struct hf_client *client,
                         const struct hf_answer *answer)
{
    bool is_grant = answer->verb == HF_VERB_ACQUIRE ||
                    answer->verb == HF_VERB_YIELD ||
                    answer->verb == HF_VERB_CONFIRM;
    return is_grant && answer->verdict == HF_VERDICT_OK &&
           answer->counter > hf_fence_counter_max(client);
}

void hf_client_on_answer(void *user, const struct hf_answer *answer)
{
    struct hf_client *client = user;
    struct hf_answer unknown = *answer;
    HF_ASSERT(answer->node < client->nodes.count);
    client->n_pending--;
    client->n_answers++;
    hf_log_answer(client, answer);
    if (is_too_great(client, answer)) {
        unknown.verdict = HF_VERDICT_UNKNOWN;
        unknown.fault = HF_CONFIG;
        unknown.reason = "the counter of a name, with fence_base, is above "
                         "9007199254740991, the greatest fence";
        answer = &unknown;
    }
    measure(client, answer);
    if (answer->verdict != HF_VERDICT_OK &&
        answer->verdict != HF_VERDICT_REFUSED &&
        answer->verdict != HF_VERDICT_QUEUED) {
        hf_client_note_fault(client, answer);
    }
    struct hf_item *item = hf_item_table_find(&client->items, answer->cookie);
    if (item == NULL) {
        return; /* its attempt or query has ended */
    }
    if (item->kind == HF_ITEM_QUERY) {
        hf_broadcast_answer(hf_broadcast_of(item), answer);
    } else {
        answer_lock(client, hf_lock_of(item), answer);
    }
}

/* Leases get the status of one node at a time (deferred.c), and must not see a
 * new status before its event. So it is kept in `news` until then. */
void hf_client_on_status(void *user, unsigned node, enum hf_node_status status,
                         bool is_reset, enum hf_status fault,
                         const char *reason)
{
    struct hf_client *client = user;
    HF_ASSERT(node < HF_NODES_MAX);
    struct hf_peer *peer = &client->peers[node];
    client->news[node] = (uint8_t)status;
    bool is_down = status == HF_NODE_STATUS_DOWN;
    peer->config = is_down && fault == HF_CONFIG ? HF_CONFIG : HF_OK;
    peer->fault = is_down ? fault : HF_OK;
    snprintf(peer->reason, sizeof(peer->reason), "%s",
             reason != NULL ? reason : "");
    client->changed |= (uint16_t)(1U << node);
    if (is_reset) {
        client->reset |= (uint16_t)(1U << node);
    }
}
