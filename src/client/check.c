/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A CLIENT, ITS LOCKS AND ITS OPERATIONS, ASSERTED AS IT RUNS
 *
 * Only an error in the library can violate them, whatever callers do and
 * servers reply. If one is violated the process aborts: a handle that shows
 * another state than its lease, or a reply that is never read, lets a caller
 * act without its lock. ARCHITECTURE.md lists them; those of a lease are in
 * core/lease_check.c.
 *
 * Cost: nothing is searched. A lock is checked after each of its steps, an
 * operation when it begins, gets an outcome and ends, the client whenever the
 * mutex is about to be released. */
#include "client/op.h"

#include "base/assert.h"

static bool is_timed_at(const struct hf_timer_heap *heap,
                        const struct hf_item *item, struct hf_instant at)
{
    uint32_t position = heap->positions[item->idx];
    return position == HF_NOWHERE ? at.ns == HF_NEVER.ns
                                  : heap->at[position].ns == at.ns;
}

static bool is_in_table(const struct hf_client *client,
                        const struct hf_item *item)
{
    return hf_item_table_at(&client->items, item->idx) == item;
}

/* CL-2: the copies that other threads read without the mutex equal the lease.
 *       (After the release they read nothing, and the union of the deadline may
 *       hold other data.) */
static void check_mirror(const struct hf_lock *lock)
{
    const struct hf_lease *lease = hf_lock_lease_const(lock);
    enum hf_state state = hf_lease_state(lease);
    HF_ASSERT((uint8_t)state ==
              atomic_load_explicit(&lock->state, memory_order_relaxed));
    if (state == HF_STATE_LOST) {
        HF_ASSERT(lock->deadline_ns == HF_LONG_AGO.ns);
    } else {
        HF_ASSERT(lock->deadline_ns == hf_lease_deadline(lease).ns);
    }
}

/* CL-1: a lock is in its client's tables: replies find it by its cookie, and
 *       its timer is due when its lease says, or off if the lease is over.
 * CL-3: a handle that the user has is of a lease that was held; until its
 *       release it is HOLDING.
 * CL-4: an outcome has one receiver: the operation, which is of the same
 *       client, or the callback of a release. */
void hf_lock_check(const struct hf_lock *lock)
{
    const struct hf_lease *lease = hf_lock_lease_const(lock);
    bool is_over = (lock->flags & HF_LOCK_OVER) != 0;
    HF_ASSERT(is_in_table(lock->client, &lock->item));
    HF_ASSERT(is_over == (hf_lease_phase(lease) == HF_PHASE_DONE));
    HF_ASSERT(is_timed_at(&lock->client->heap, &lock->item,
                          is_over ? HF_NEVER : hf_lease_wake(lease)));
    if ((lock->flags & HF_LOCK_OURS) != 0) {
        HF_ASSERT(hf_lease_phase(lease) == HF_PHASE_HOLDING);
        check_mirror(lock);
    }
    if ((lock->flags & HF_LOCK_HAS_CALLBACK) != 0) {
        HF_ASSERT((lock->flags & HF_LOCK_CALLING) != 0 && lock->op == NULL);
    }
    if (lock->op != NULL) {
        HF_ASSERT(lock->op->client == lock->client);
    }
}

/* CL-5: an operation that may get a timer has room for it, and one that is done
 *       is in no table, so that no reply and no timer finds it: a blocking call
 *       has it on its stack.
 * CL-6: until it is done, the attempt that it waits for reports to it. (Of the
 *       locks that an extension began with, some have reported already.) */
void hf_op_check(const struct hf_op *op)
{
    if (op->is_listed) {
        HF_ASSERT(op->is_reserved);
    }
    if (op->is_reserved) {
        HF_ASSERT(is_in_table(op->client, &op->item));
    }
    if (op->is_done) {
        HF_ASSERT(!op->is_reserved);
        HF_ASSERT(op->item.idx == HF_NOWHERE);
    } else if (op->lock != NULL && op->kind != HF_OP_EXTEND) {
        HF_ASSERT(op->lock->op == op);
    }
    HF_ASSERT(op->bundle == NULL || op->parent == NULL);
}

static bool is_list(const struct hf_ops *ops)
{
    return (ops->first == NULL) == (ops->last == NULL);
}

/* CL-7: when the mutex is released, no reply and no change of a node is left
 *       that a lease has not seen.
 * CL-8: each node has one status, and a majority is more than half.
 * CL-9: each lock and each operation has room for its timer, so that none is
 *       lost for want of memory. */
void hf_client_check(const struct hf_client *client)
{
    const struct hf_nodes *nodes = &client->nodes;
    HF_ASSERT(client->in_store == 0);
    HF_ASSERT(!hf_client_has_news(client) && client->inbox_count == 0);
    HF_ASSERT(client->bundles == NULL && !client->has_reply);
    HF_ASSERT((nodes->connecting ^ nodes->voting ^ nodes->repairing ^
               nodes->down) == hf_nodes_all(nodes));
    HF_ASSERT(2 * nodes->quorum == nodes->count + 1);
    HF_ASSERT(client->heap.count <= client->heap.reserved);
    HF_ASSERT(client->heap.reserved == client->items.n_used);
    HF_ASSERT(is_list(&client->ops) && is_list(&client->finished));
}
