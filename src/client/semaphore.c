/* SPDX-License-Identifier: Apache-2.0 */
/* A PERMIT OF A SEMAPHORE
 *
 * A semaphore of n permits has n locks, NAME#0 to NAME#(n-1). A permit is any
 * one of them, and a shared hold of NAME itself, which says n. Its bundle
 * (multi_name.c) has these two parts, in this order.
 *
 * At most n holders: each of the n locks is exclusive by its own majority. The
 * shared hold excludes requests with another n, and exclusive requests for the
 * name.
 *
 * The first permit to try is random, so that requests that start together try
 * different ones; the next ones follow it. A waiter is queued at all n at the
 * same time, and gets the one that is free first.
 *
 * Cost: if the permit that is tried first is free, that of two names: on one
 * node one round trip; if it is one of the first 2, 4, 8 …, one more for each
 * step (multi_name.c). A waiter has n places in queues, and renews them all. */
#include "client/fork.h"
#include "client/lock_group.h"
#include "client/multi_name_parts.h"
#include "client/name.h"
#include "client/request.h"

#include <stdio.h>

enum { PART_SHARED, PART_PERMITS };

/* The names of the permits, and the NUL that snprintf() writes. */
size_t hf_semaphore_text_size(const struct hf_order *order)
{
    return order->n_slots * (order->name_len + HF_SLOT_TEXT_MAX) + 1;
}

void hf_semaphore_plan(struct hf_bundle *bundle, const struct hf_order *order,
                       char *text)
{
    struct hf_name name = {order->name, order->name_len, HF_SHARED};
    struct hf_part *shared = hf_bundle_add_part(bundle, 1, 0);
    text = hf_bundle_order_member(bundle, shared->members, &name, text);
    shared->members->op.order.permits = order->n_slots;
    unsigned start =
        (unsigned)(hf_client_random(bundle->op.client) % order->n_slots);
    struct hf_part *slots = hf_bundle_add_part(bundle, order->n_slots, start);
    name.mode = HF_EXCLUSIVE;
    for (unsigned i = 0; i < order->n_slots; i++) {
        struct hf_op *op = &slots->members[i].op;
        text = hf_bundle_order_member(bundle, &slots->members[i], &name, text);
        int len = snprintf(text, HF_SLOT_TEXT_MAX + 1, "#%u", i);
        text += len;
        op->order.name_len += (size_t)len;
    }
}

/** @return the handle: the lock of the permit, followed by the shared hold.
 */
struct hf_lock *hf_semaphore_link(struct hf_bundle *bundle)
{
    struct hf_part *slots = &bundle->parts[PART_PERMITS];
    struct hf_lock *lock = slots->got;
    hf_lock_group_join(lock, bundle->parts[PART_SHARED].got);
    for (unsigned i = 0; i < slots->count; i++) {
        if (hf_member_is_held(&slots->members[i])) {
            hf_lock_link(lock)->permit = (int16_t)i;
        }
    }
    return lock;
}

/* A member's own text names its lock, NAME#3, which the user has not asked for.
 */
void hf_semaphore_explain(struct hf_bundle *bundle, const struct hf_op *op)
{
    struct hf_error *error = &bundle->op.error;
    unsigned count = (unsigned)bundle->op.order.n_slots;
    bool is_permit = op->order.permits == 0;
    if (op->status == HF_INVALID && op->rival_permits != 0) {
        char name[HF_NAME_SHOWN_MAX];
        hf_name_show(op->order.name, op->order.name_len, name);
        snprintf(error->text, sizeof(error->text),
                 "%s is a semaphore of %u permits, not of %u", name,
                 (unsigned)op->rival_permits, (unsigned)op->order.permits);
    } else if (op->status == HF_BUSY && is_permit && count == 1) {
        snprintf(error->text, sizeof(error->text), "the only permit is %.900s",
                 op->error.text);
    } else if (op->status == HF_BUSY && is_permit) {
        snprintf(error->text, sizeof(error->text),
                 "all %u permits are taken; one is %.900s", count,
                 op->error.text);
    } else {
        snprintf(error->text, sizeof(error->text), "%s", op->error.text);
    }
}
