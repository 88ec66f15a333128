/* SPDX-License-Identifier: Apache-2.0 */
/* A LOCK IN ONE ALLOCATION
 *
 *     hf_lock │ lease, votes │ processes │ links │ notice │ name, NUL, text
 *
 * The three parts before the name are there only if the store, the request and
 * the options need them. No lock has a pointer to a part: its offset is
 * computed from the sizes of those before it. That is safe, since the number
 * of nodes, the capabilities of the store, `is_linked` and on_state never
 * change while the lock exists. All sizes are multiples of eight, so each part
 * is aligned; asserted below.
 *
 * Other threads read `state` and `deadline_ns` without the mutex. Both are
 * copies: only the lease decides, and hf_lock_mirror() copies it after each
 * step. A released lock has no reader, unless a callback runs: so without
 * on_state its unions have the data of the release.
 *
 * Cost: one malloc() for an attempt, and one now and then when the tables of
 * cells and timers grow: its cell and its timer are reserved with it, so no
 * later step can run out of memory. The only system call is for entropy, once
 * in 16 attempts. */
#include "client/lock.h"

#include "client/fork.h"

#include "base/assert.h"
#include "core/owner.h"
#include "io/clock.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct hf_lock) <= 80, "100,000 are held at once");
_Static_assert(sizeof(struct hf_lock) % 8 == 0, "the lease follows it");
_Static_assert(sizeof(struct hf_lease) % 8 == 0 &&
                   sizeof(struct hf_vote) % 8 == 0,
               "the processes follow them");
_Static_assert(sizeof(struct hf_life_set) % 8 == 0, "it follows the lease");
_Static_assert(sizeof(struct hf_lock_group) % 8 == 0,
               "it follows the processes");
_Static_assert(sizeof(struct hf_notice) % 8 == 0, "it follows the links");

static bool has_life(const struct hf_client *client)
{
    return (client->store->ops->capabilities & HF_CAP_LIVENESS) != 0;
}

static size_t lease_size(const struct hf_lock *lock)
{
    return hf_lease_size(lock->client->nodes.count);
}

static char *tail(const struct hf_lock *lock)
{
    return (char *)(uintptr_t)(lock + 1) + lease_size(lock);
}

struct hf_life_set *hf_lock_life(struct hf_lock *lock)
{
    if (!has_life(lock->client)) {
        return NULL;
    }
    return (struct hf_life_set *)(void *)tail(lock);
}

static size_t life_size(const struct hf_client *client)
{
    return has_life(client) ? sizeof(struct hf_life_set) : 0;
}

static size_t link_size(bool is_linked)
{
    return is_linked ? sizeof(struct hf_lock_group) : 0;
}

struct hf_lock_group *hf_lock_link(const struct hf_lock *lock)
{
    return lock->is_linked
               ? (struct hf_lock_group *)(void *)(tail(lock) +
                                                  life_size(lock->client))
               : NULL;
}

static size_t told_size(const struct hf_client *client)
{
    return client->options.on_state != NULL ? sizeof(struct hf_notice) : 0;
}

struct hf_notice *hf_lock_notice(const struct hf_lock *lock)
{
    if (told_size(lock->client) == 0) {
        return NULL;
    }
    return (struct hf_notice *)(void *)(tail(lock) + life_size(lock->client) +
                                        link_size(lock->is_linked));
}

static char *name_of(const struct hf_lock *lock)
{
    return tail(lock) + life_size(lock->client) + link_size(lock->is_linked) +
           told_size(lock->client);
}

const char *hf_lock_name_bytes(const struct hf_lock *lock)
{
    return name_of(lock);
}

static const char *text_bytes(const struct hf_lock *lock)
{
    return hf_lock_name_bytes(lock) + lock->name_len + 1;
}

/* Optional members follow the lease in the same allocation, so that a plain
 * lock on one server pays for none of them. */
static void fill_tail(struct hf_lock *lock, const struct hf_order *order)
{
    struct hf_life_set *life = hf_lock_life(lock);
    if (life != NULL) {
        *life = (struct hf_life_set){0};
        if (!order->is_lasting) {
            life->count = 1;
            life->pids[0] = lock->client->pid;
        }
    }
    if (lock->is_linked) {
        *hf_lock_link(lock) = (struct hf_lock_group){.permit = -1};
    }
    if (hf_lock_notice(lock) != NULL) {
        *hf_lock_notice(lock) = (struct hf_notice){.state = HF_STATE_HELD};
    }
    char *name = name_of(lock);
    memcpy(name, order->name, order->name_len);
    name[order->name_len] = '\0'; /* users print it */
    if (order->text_len > 0) {
        memcpy(name + order->name_len + 1, order->text, order->text_len);
    }
}

struct hf_lock *hf_lock_new(struct hf_client *client,
                            const struct hf_order *order)
{
    HF_ASSERT(order->name_len <= HF_NAME_MAX);
    HF_ASSERT(order->text_len <= (order->is_owner ? HF_OWNER_MAX : UINT8_MAX));
    struct hf_lock *lock =
        malloc(sizeof(*lock) + hf_lease_size(client->nodes.count) +
               life_size(client) + link_size(order->is_linked) +
               told_size(client) + order->name_len + 1 + order->text_len);
    if (lock == NULL) {
        return NULL;
    }
    *lock = (struct hf_lock){
        .item = {HF_NOWHERE, HF_ITEM_LOCK},
        .name_len = (uint16_t)order->name_len,
        .text_len = (uint16_t)order->text_len,
        .since_s = (uint32_t)hf_clock_wall_s(),
        .client = client,
        .user = order->user,
        .deadline_ns = HF_LONG_AGO.ns,
        .queue_prev = HF_NOWHERE,
        .queue_next = HF_NOWHERE,
        .state = HF_STATE_RELEASED,
        .is_shared = order->is_shared,
        .is_unfair = order->is_unfair,
        .is_linked = order->is_linked,
        .is_adopted = order->is_owner,
        .permits = order->permits,
    };
    if (!hf_item_table_add(&client->items, &lock->item)) {
        free(lock);
        return NULL;
    }
    if (!hf_timer_heap_reserve(&client->heap, &lock->item)) {
        hf_item_table_remove(&client->items, &lock->item);
        free(lock);
        return NULL;
    }
    if (!order->is_owner) {
        hf_client_entropy(client, lock->id, sizeof(lock->id));
    }
    fill_tail(lock, order);
    hf_lease_init(hf_lock_lease(lock), client->nodes.count,
                  hf_span_ms(order->ttl_ms), (uint8_t)hf_client_random(client));
    return lock;
}

/* ---- Data of a release ------------------------------------------------- */

/* With on_state, a callback may still read `user` and `deadline_ns` after the
 * release, so the union members next to them are not used. */

void hf_lock_set_reserve_until(struct hf_lock *lock, struct hf_instant until)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    HF_ASSERT((lock->flags & HF_LOCK_CALLING) == 0);
    *(notice != NULL ? &notice->reserve_until : &lock->reserve_until) = until;
    lock->flags |= HF_LOCK_RESERVES;
}

struct hf_instant hf_lock_reserve_until(const struct hf_lock *lock)
{
    const struct hf_notice *notice = hf_lock_notice(lock);
    HF_ASSERT((lock->flags & HF_LOCK_RESERVES) != 0);
    return notice != NULL ? notice->reserve_until : lock->reserve_until;
}

void hf_lock_set_done(struct hf_lock *lock, hf_op_fn *done, void *user)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    HF_ASSERT((lock->flags & HF_LOCK_RESERVES) == 0);
    *(notice != NULL ? &notice->done : &lock->done) = done;
    *(notice != NULL ? &notice->done_user : &lock->done_user) = user;
    lock->flags |= HF_LOCK_CALLING;
}

hf_op_fn *hf_lock_done(const struct hf_lock *lock, void **user)
{
    const struct hf_notice *notice = hf_lock_notice(lock);
    HF_ASSERT((lock->flags & HF_LOCK_CALLING) != 0);
    *user = notice != NULL ? notice->done_user : lock->done_user;
    return notice != NULL ? notice->done : lock->done;
}

/* ---- The owner, and the copies for other threads ----------------------- */

size_t hf_lock_emit_owner(const struct hf_lock *lock, char out[HF_OWNER_MAX])
{
    const char *text = text_bytes(lock);
    if (lock->is_adopted) {
        HF_ASSERT(lock->text_len <= HF_OWNER_MAX);
        memcpy(out, text, lock->text_len);
        return lock->text_len;
    }
    char label[UINT8_MAX + 1];
    HF_ASSERT(lock->text_len < sizeof(label));
    memcpy(label, text, lock->text_len);
    label[lock->text_len] = '\0';
    return hf_owner_emit(out, lock->id, lock->client->host, lock->client->pid,
                         lock->since_s, lock->text_len > 0 ? label : NULL);
}

/* The deadline is stored first: a thread that reads the new state reads the new
 * deadline, too. */
void hf_lock_mirror(struct hf_lock *lock)
{
    const struct hf_lease *lease = hf_lock_lease(lock);
    enum hf_state state = hf_lease_state(lease);
    bool is_held = state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
    if ((lock->flags & HF_LOCK_CALLING) != 0 && hf_lock_notice(lock) == NULL) {
        return; /* released: the union holds done_user */
    }
    atomic_store_explicit(&lock->deadline_ns,
                          is_held ? hf_lease_deadline(lease).ns
                                  : HF_LONG_AGO.ns,
                          memory_order_relaxed);
    atomic_store_explicit(&lock->state, (uint8_t)state, memory_order_release);
}
