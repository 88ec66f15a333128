/* SPDX-License-Identifier: Apache-2.0 */
/* Handing a lock on. There are no renewals from then on, to make good what a
 * node has missed: so it first comes to every node that is up, since a bare
 * majority has no slack. One timeout for that, and no more. */
#include "client/op.h"

#include <stdio.h>
#include <string.h>

void hf_give_due(struct hf_op *op)
{
    hf_op_part(op);
    hf_op_finish(op, HF_OK);
}

void hf_give_heard(struct hf_op *op)
{
    if (hf_lease_is_spread(hf_lock_lease(op->lock), &op->client->nodes)) {
        hf_give_due(op);
    }
}

/* Without memory for it, it is given as it is. */
static void spread(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    const struct hf_lease *lease = hf_lock_lease(lock);
    struct hf_op op;
    hf_op_init(&op, client, HF_OP_GIVE);
    if (hf_lease_is_spread(lease, &client->nodes) || !hf_op_list(&op)) {
        return;
    }
    op.lock = lock;
    lock->op = &op;
    hf_heap_set(&client->heap, &op.item,
                hf_client_patience(client, lease->ttl));
    (void)hf_op_await(&op, NULL);
}

/* Nothing but the lease frees it from now on. A store that could not be told
 * would free it when this process ends, so the caller keeps the handle then. */
static enum hf_status outlive(struct hf_lock *lock)
{
    struct hf_life_set *life = hf_lock_life(lock);
    if (life == NULL || life->count == 0) {
        return HF_OK;
    }
    uint32_t count = life->count;
    life->count = 0;
    enum hf_status status = hf_extend(lock, 0, NULL);
    if (status != HF_OK) {
        life->count = count; /* the next renewal says so again */
    }
    return status;
}

/* The lease goes with the text, so that extending it needs no other source:
 * stores keep only what is left of it. */
static void write_text(struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    hf_lock_write_owner(lock, text);
    size_t len = strlen(text);
    snprintf(text + len, HF_OWNER_TEXT_MAX - len, "/%lld",
             (long long)hf_span_ms_floor(hf_lock_lease(lock)->ttl));
}

static enum hf_status give(struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    struct hf_client *client = lock->client;
    enum hf_status status =
        hf_lock_state_now(lock) != HF_STATE_LOST ? outlive(lock) : HF_LOST;
    if (status != HF_OK && status != HF_LOST) {
        return status;
    }
    if (status == HF_OK) {
        spread(lock);
    }
    if (status != HF_OK || hf_lock_state_now(lock) == HF_STATE_LOST) {
        hf_release_start(lock, NULL); /* a lost one is still freed */
        return HF_LOST;
    }
    write_text(lock, text);
    hf_client_untell(client, lock);
    lock->flags &= (uint8_t)~HF_LOCK_OURS;
    hf_client_signal(client, lock, HF_EV_FORSAKE);
    return HF_OK;
}

enum hf_status hf_lock_detach(struct hf_lock *lock,
                              char text[HF_OWNER_TEXT_MAX])
{
    if (text == NULL) {
        return HF_INVALID;
    }
    text[0] = '\0';
    if (lock == NULL) {
        return HF_INVALID;
    }
    struct hf_client *client = lock->client;
    enum hf_status status = hf_client_begin(client, NULL);
    if (status != HF_OK) {
        return status;
    }
    bool is_one = hf_link_next(lock) == NULL;
    status = is_one ? give(lock, text) : HF_UNSUPPORTED;
    hf_client_leave(client);
    return status;
}
