/* SPDX-License-Identifier: Apache-2.0 */
/* DEFERRED WORK
 *
 * A store calls back from inside ask() and flush(), where it must not be called
 * again. So its replies are queued in the inbox, and changes of its nodes are
 * kept in `changed`, `reset`, `news` and `push_changed`. hf_client_settle()
 * delivers them once the store has returned, until nothing is left:
 *
 *   1. status of nodes: the votes of a server that lost its data must not count
 *   2. push connections that opened or closed
 *   3. replies, in the order of arrival
 *   4. queries that have replies, and locks on several names
 *   5. one flush() for all requests of these steps
 *
 * Timers run only in the thread that has just read the sockets, so that a reply
 * which is in the kernel already is never taken for a timeout. Timers of locks
 * run a little early if another timer is due: renewals of many locks share one
 * write.
 *
 * Cost: a reply finds its lock in O(1), a timer in O(log n) of all. Only a node
 * that changes looks at every lock: twice for its status, once for its push
 * connection. After replies to queries all listed operations are looked at. */
#include "client/deferred.h"

#include "client/broadcast.h"
#include "client/callback.h"
#include "client/fork.h"
#include "client/lock.h"
#include "client/log.h"
#include "client/multi_name.h"
#include "client/op.h"
#include "client/step.h"
#include "client/timer.h"

#include "base/assert.h"
#include "core/validity.h"

static bool is_releasing(const struct hf_lock *lock)
{
    return hf_lease_phase(hf_lock_lease_const(lock)) == HF_PHASE_RELEASING;
}

static void notify_locks(struct hf_client *client, unsigned node,
                         enum hf_event_kind kind, bool releasing)
{
    struct hf_event event = {
        .kind = kind, .now = client->now, .node = (uint8_t)node};
    uint32_t end = hf_item_table_limit(&client->items);
    for (uint32_t i = 0; i < end; i++) {
        struct hf_item *item = hf_item_table_at(&client->items, i);
        if (item == NULL || item->kind != HF_ITEM_LOCK) {
            continue;
        }
        struct hf_lock *lock = hf_lock_of(item);
        if ((lock->flags & HF_LOCK_OVER) == 0 &&
            is_releasing(lock) == releasing) {
            hf_client_step(client, lock, &event);
        }
    }
}

/* Of the handshake, as the store has measured it; zero: it has not. */
static struct hf_span handshake_took(const struct hf_client *client,
                                     unsigned node)
{
    struct hf_node shown;
    client->store->ops->describe(client->store, node, client->now, &shown);
    return hf_span_us(shown.rtt_us);
}

static void deliver_status(struct hf_client *client)
{
    HF_ASSERT(client->changed != 0 &&
              client->changed <= hf_nodes_all(&client->nodes));
    unsigned node = (unsigned)__builtin_ctz(client->changed);
    uint16_t bit = (uint16_t)(1U << node);
    bool is_reset = (client->reset & bit) != 0;
    client->changed &= (uint16_t)~bit;
    client->reset &= (uint16_t)~bit;
    enum hf_node_status was = hf_nodes_status(&client->nodes, node);
    struct hf_nodes_event event = {
        .kind = HF_NODES_EV_STATUS,
        .node = (uint8_t)node,
        .status = (enum hf_node_status)client->news[node],
        .took = handshake_took(client, node),
    };
    hf_nodes_step(&client->nodes, &event);
    hf_log_node_status(client, node, was, is_reset);
    if (__builtin_popcount(client->nodes.voting) >= client->nodes.quorum) {
        client->has_reached = true;
    }
    /* Releases go first: otherwise the node would refuse the next attempt of an
     * operation because of the owner that its last attempt has left there. */
    enum hf_event_kind kind = is_reset ? HF_EV_NODE_RESET : HF_EV_NODE;
    notify_locks(client, node, kind, true);
    notify_locks(client, node, kind, false);
    struct hf_op *next = NULL;
    for (struct hf_op *op = client->ops.first; op != NULL; op = next) {
        next = op->next;
        if (op->handlers->node != NULL) {
            op->handlers->node(op);
        }
    }
}

/* A waiter polls a node that cannot push, and asks once more when it can: a
 * grant that came before is lost. */
static void deliver_listening(struct hf_client *client)
{
    HF_ASSERT(client->push_changed != 0 &&
              client->push_changed <= hf_nodes_all(&client->nodes));
    unsigned node = (unsigned)__builtin_ctz(client->push_changed);
    uint16_t bit = (uint16_t)(1U << node);
    uint32_t end = hf_item_table_limit(&client->items);
    struct hf_event event = {
        .kind = HF_EV_LISTEN, .now = client->now, .node = (uint8_t)node};
    client->push_changed &= (uint16_t)~bit;
    struct hf_nodes_event change = {
        .kind = HF_NODES_EV_LISTEN,
        .node = (uint8_t)node,
        .is_listening = (client->listens & bit) != 0,
    };
    hf_nodes_step(&client->nodes, &change);
    for (uint32_t i = 0; i < end; i++) {
        struct hf_item *item = hf_item_table_at(&client->items, i);
        if (item != NULL && item->kind == HF_ITEM_LOCK &&
            hf_lock_lease(hf_lock_of(item))->phase == HF_PHASE_WAITING) {
            hf_client_step(client, hf_lock_of(item), &event);
        }
    }
}

/* Up to the first change of a node, which goes before the next reply. */
static void read_inbox(struct hf_client *client)
{
    for (size_t i = 0; i < client->inbox_count && !hf_client_has_news(client);
         i++) {
        struct hf_queued_event letter = client->inbox[i];
        struct hf_item *item =
            hf_item_table_find(&client->items, letter.cookie);
        client->inbox[i].cookie = 0; /* no cell has generation 0 */
        if (item == NULL || item->kind != HF_ITEM_LOCK) {
            continue;
        }
        struct hf_lock *lock = hf_lock_of(item);
        if ((lock->flags & HF_LOCK_OVER) == 0) {
            letter.event.now = client->now;
            hf_client_step(client, lock, &letter.event);
        }
    }
    if (!hf_client_has_news(client)) {
        client->inbox_count = 0;
    }
}

/* Timers that are due within this time run together, in milliseconds: their
 * renewals share a write, and are too few to delay other requests. */
#define JOIN_MS 20

/* May the timer of `item`, due at `at`, run with one that is due now? That of a
 * lock may: core bears it early by hf_renewal_slack(). */
static bool may_join(const struct hf_client *client, struct hf_item *item,
                     struct hf_instant at)
{
    struct hf_span slack = {0};
    if (item->kind == HF_ITEM_LOCK) {
        struct hf_span most =
            hf_span_max(client->store->ops->joins, hf_span_ms(JOIN_MS));
        slack = hf_span_min(
            hf_renewal_slack(hf_lock_lease(hf_lock_of(item))->ttl), most);
    }
    return !hf_instant_before(hf_instant_add(client->now, slack), at);
}

static void run_timer(struct hf_client *client, struct hf_item *item)
{
    if (item->kind == HF_ITEM_LOCK) {
        hf_client_signal(client, hf_lock_of(item), HF_EV_TIMER);
        return;
    }
    struct hf_op *op = (struct hf_op *)item;
    HF_ASSERT(op->handlers->due != NULL);
    op->handlers->due(op);
}

/* The pause of a timer that ran when due, and is still due: the shortest wait
 * that is no busy loop. */
#define STUCK_PAUSE_MS 1

/* Run all timers if one is due: those that are due, and those that may join. A
 * lock that had nothing to do yet leaves its timer unchanged; the later timers
 * then run when they are due. */
static void run_due(struct hf_client *client)
{
    struct hf_timer_heap *heap = &client->heap;
    if (hf_instant_before(client->now, hf_timer_heap_next(heap))) {
        return;
    }
    while (heap->count > 0) {
        uint32_t idx = hf_timer_heap_first(heap);
        struct hf_item *item = hf_item_table_at(&client->items, idx);
        struct hf_instant at = hf_timer_heap_next(heap);
        HF_ASSERT(item != NULL); /* its timer was cleared before it left */
        if (!may_join(client, item, at)) {
            return;
        }
        run_timer(client, item);
        bool is_stuck = hf_timer_heap_first(heap) == idx &&
                        hf_timer_heap_next(heap).ns == at.ns;
        if (is_stuck && hf_instant_before(client->now, at)) {
            return;
        }
        if (is_stuck) {
            hf_timer_heap_set(
                heap, hf_item_table_at(&client->items, idx),
                hf_instant_add(client->now, hf_span_ms(STUCK_PAUSE_MS)));
        }
    }
}

/* Replies were only noted, since the store was on the stack. */
static void pump_queries(struct hf_client *client)
{
    struct hf_op *next = NULL;
    client->has_reply = false;
    for (struct hf_op *op = client->ops.first; op != NULL; op = next) {
        next = op->next;
        if (op->kind == HF_OP_QUERY) {
            hf_broadcast_pump((struct hf_broadcast *)op);
        }
    }
}

static void flush(struct hf_client *client)
{
    client->is_dirty = false;
    if (client->store->ops->flush != NULL) {
        client->in_store++;
        client->store->ops->flush(client->store, client->now);
        client->in_store--;
    }
}

void hf_client_settle(struct hf_client *client)
{
    HF_ASSERT(client->in_store == 0);
    while (!hf_client_is_forked(client)) {
        if (client->changed != 0) {
            deliver_status(client);
        } else if (client->push_changed != 0) {
            deliver_listening(client);
        } else if (client->inbox_count > 0) {
            read_inbox(client);
        } else if (client->has_reply) {
            pump_queries(client);
        } else if (client->bundles != NULL) {
            hf_bundles_pump(client);
        } else if (client->is_dirty && !hf_client_is_deferring(client)) {
            flush(client);
        } else {
            return;
        }
    }
}

void hf_client_resume(struct hf_client *client)
{
    const struct hf_store_ops *ops = client->store->ops;
    if (ops->resume == NULL ||
        client->nodes.voting == hf_nodes_all(&client->nodes) ||
        hf_instant_before(client->now, hf_loop_next_timer(client->loop))) {
        return;
    }
    client->in_store++;
    ops->resume(client->store, client->now);
    client->in_store--;
}

void hf_client_begin_write(struct hf_client *client)
{
    const struct hf_store_ops *ops = client->store->ops;
    if (ops->begin_write == NULL) {
        return;
    }
    client->in_store++;
    ops->begin_write(client->store, client->now);
    client->in_store--;
    if (hf_client_has_news(client)) {
        hf_client_settle(client);
    }
}

void hf_client_dispatch(struct hf_client *client)
{
    hf_client_tick(client);
    hf_loop_dispatch(client->loop, client->now);
    hf_client_settle(client);
    run_due(client);
    hf_client_settle(client);
}

void hf_client_poll(struct hf_client *client)
{
    if (hf_client_is_forked(client)) {
        return; /* the replies are the parent's */
    }
    if (client->is_polling) {
        hf_client_settle(client);
        return; /* the polling thread reads, and runs the due timers */
    }
    hf_loop_wait(client->loop, HF_LONG_AGO);
    hf_client_dispatch(client);
}
