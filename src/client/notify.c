/* SPDX-License-Identifier: Apache-2.0 */
#include "client/notify.h"

#include "client/callback.h"
#include "client/lock.h"
#include "client/timer.h"

#include <stdlib.h>

void hf_notify_init(struct hf_teller *teller)
{
    *teller = (struct hf_teller){.first = HF_NOWHERE, .last = HF_NOWHERE};
}

/* ---- The queue --------------------------------------------------------- */

static struct hf_lock *lock_at(const struct hf_client *client, uint32_t slot)
{
    return hf_lock_of(hf_item_table_at(&client->slots, slot));
}

static uint32_t *next_of(struct hf_client *client, uint32_t prev)
{
    return prev == HF_NOWHERE ? &client->teller.first
                              : &hf_lock_told(lock_at(client, prev))->next;
}

static uint32_t *prev_of(struct hf_client *client, uint32_t next)
{
    return next == HF_NOWHERE ? &client->teller.last
                              : &hf_lock_told(lock_at(client, next))->prev;
}

void hf_notify_push(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_told *told = hf_lock_told(lock);
    if (told == NULL || told->is_queued) {
        return;
    }
    told->is_queued = true;
    told->prev = client->teller.last;
    told->next = HF_NOWHERE;
    *next_of(client, told->prev) = lock->item.slot;
    client->teller.last = lock->item.slot;
    if (client->has_thread) {
        hf_client_set_timer(client, (struct hf_instant){1}); /* wake it */
    }
}

void hf_notify_remove(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_told *told = hf_lock_told(lock);
    if (told != NULL && told->is_queued) {
        told->is_queued = false;
        *next_of(client, told->prev) = told->next;
        *prev_of(client, told->next) = told->prev;
    }
}

/* ---- The callbacks ----------------------------------------------------- */

bool hf_notify_is_due(const struct hf_client *client)
{
    return client->teller.first != HF_NOWHERE && !client->teller.is_telling &&
           !client->has_thread && !client->is_closing;
}

static void free_held(struct hf_teller *teller)
{
    while (teller->held != NULL) {
        struct hf_lock *lock = teller->held;
        teller->held = hf_lock_told(lock)->next_held;
        free(lock);
    }
}

static void tell(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_told *told = hf_lock_told(lock);
    enum hf_state state = hf_lock_group_state(lock);
    hf_notify_remove(client, lock);
    if (told->state == (uint8_t)state) {
        return; /* it has changed back before its callback ran */
    }
    told->state = (uint8_t)state;
    client->teller.lock = lock;
    struct hf_caller self;
    hf_client_let_out(client, &self);
    client->options.on_state(client->options.state_user, lock, state);
    hf_client_take_in(client, &self);
    client->teller.lock = NULL;
    free_held(&client->teller);
}

void hf_notify_all(struct hf_client *client)
{
    struct hf_teller *teller = &client->teller;
    if (teller->is_telling) {
        return; /* a call does, which began before the thread did */
    }
    teller->is_telling = true;
    while (teller->first != HF_NOWHERE && !client->is_closing) {
        tell(client, lock_at(client, teller->first));
    }
    teller->is_telling = false;
}

void hf_notify_here(struct hf_client *client)
{
    if (hf_notify_is_due(client)) {
        hf_notify_all(client);
    }
}

bool hf_notify_holds(struct hf_client *client, struct hf_lock *lock)
{
    const struct hf_lock *one = client->teller.lock;
    while (one != NULL && one != lock) {
        one = hf_lock_follows(one);
    }
    if (one == NULL) {
        return false;
    }
    hf_lock_told(lock)->next_held = client->teller.held;
    client->teller.held = lock;
    return true;
}
