/* SPDX-License-Identifier: Apache-2.0 */
/* A member is an ordinary acquisition (acquire.c). It keeps the lock that it
 * acquires until the bundle has all its parts.
 *
 * Cost: that of an acquisition. A member that begins again keeps the counter
 * that it has seen, as an acquisition's next attempt does: the nodes then agree
 * in one round trip. */
#include "client/acquire.h"
#include "client/multi_name_parts.h"
#include "client/release.h"

#include "base/fail.h"

#include <string.h>

/* ---- Setting up -------------------------------------------------------- */

char *hf_bundle_order_member(struct hf_bundle *bundle, struct hf_member *member,
                             const struct hf_name *name, char *text)
{
    hf_op_init(&member->op, bundle->op.client, &hf_acquire_handlers);
    member->is_begun = false;
    member->op.bundle = &bundle->op;
    struct hf_order *order = &member->op.order;
    *order = bundle->op.order;
    order->name = text;
    order->name_len = name->name_len;
    order->is_shared = name->mode == HF_SHARED;
    order->is_linked = true;
    order->n_slots = 0;
    order->n_more = 0;
    order->more = NULL;
    memcpy(text, name->name, name->name_len);
    return text + name->name_len;
}

struct hf_part *hf_bundle_add_part(struct hf_bundle *bundle, unsigned count,
                                   unsigned start)
{
    HF_ASSERT(start < count);
    struct hf_part *part = &bundle->parts[bundle->n_parts++];
    *part = (struct hf_part){.members = bundle->members + bundle->n_members,
                             .count = count,
                             .start = start};
    bundle->n_members += count;
    return part;
}

/* ---- Beginning and dropping -------------------------------------------- */

/* Keeps the counter hint and the known holder of the attempt before, and when
 * the nodes named it. */
void hf_member_begin(struct hf_member *member, int64_t wait_ms)
{
    struct hf_op *op = &member->op;
    struct hf_order order = op->order;
    struct hf_op *bundle = op->bundle;
    uint64_t counter = op->counter;
    bool is_known = op->rival.is_known;
    struct hf_instant heard_at[HF_NODES_MAX];
    memcpy(heard_at, op->heard_at, sizeof(heard_at));
    HF_ASSERT(!hf_member_is_asking(member) && op->lock == NULL);
    hf_op_init(op, op->client, &hf_acquire_handlers);
    op->order = order;
    op->order.wait_ms = wait_ms;
    op->bundle = bundle;
    op->counter = counter;
    op->rival.is_known = is_known;
    memcpy(op->heard_at, heard_at, sizeof(heard_at));
    member->is_begun = true;
    if (hf_op_list(op)) {
        hf_acquire_begin(op);
    } else {
        hf_fail_memory(&op->error);
        hf_op_finish(op, HF_NO_MEMORY);
    }
}

void hf_member_drop(struct hf_member *member)
{
    struct hf_op *op = &member->op;
    struct hf_lock *lock = op->lock;
    if (hf_member_is_asking(member)) {
        hf_op_abandon(op);
    } else if (lock != NULL) {
        hf_op_part(op);
        hf_release_start(lock, NULL);
    }
    member->is_begun = false;
}

void hf_part_keep(struct hf_part *part, const struct hf_member *but)
{
    for (unsigned i = 0; i < part->count; i++) {
        if (&part->members[i] != but) {
            hf_member_drop(&part->members[i]);
        }
    }
    part->got = but == NULL ? NULL : but->op.lock;
}

void hf_bundle_drop_from(struct hf_bundle *bundle, unsigned at)
{
    for (; at < bundle->n_parts; at++) {
        hf_part_keep(&bundle->parts[at], NULL);
    }
}
