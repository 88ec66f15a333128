/* SPDX-License-Identifier: Apache-2.0 */
#include "client/notify.h"

#include "client/callback.h"
#include "client/lock.h"
#include "client/timer.h"

#include <stdlib.h>

void hf_notify_init(struct hf_notifier *notifier)
{
    *notifier = (struct hf_notifier){.first = HF_NOWHERE, .last = HF_NOWHERE};
}

/* ---- The queue --------------------------------------------------------- */

static struct hf_lock *lock_at(const struct hf_client *client, uint32_t slot)
{
    return hf_lock_of(hf_item_table_at(&client->slots, slot));
}

static uint32_t *next_of(struct hf_client *client, uint32_t prev)
{
    return prev == HF_NOWHERE ? &client->notifier.first
                              : &hf_lock_notice(lock_at(client, prev))->next;
}

static uint32_t *prev_of(struct hf_client *client, uint32_t next)
{
    return next == HF_NOWHERE ? &client->notifier.last
                              : &hf_lock_notice(lock_at(client, next))->prev;
}

void hf_notify_push(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    if (notice == NULL || notice->is_queued) {
        return;
    }
    notice->is_queued = true;
    notice->prev = client->notifier.last;
    notice->next = HF_NOWHERE;
    *next_of(client, notice->prev) = lock->item.slot;
    client->notifier.last = lock->item.slot;
    if (client->has_thread) {
        hf_alarm_set(&client->alarm, (struct hf_instant){1}); /* wake it */
    }
}

void hf_notify_remove(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    if (notice != NULL && notice->is_queued) {
        notice->is_queued = false;
        *next_of(client, notice->prev) = notice->next;
        *prev_of(client, notice->next) = notice->prev;
    }
}

/* ---- The callbacks ----------------------------------------------------- */

bool hf_notify_is_due(const struct hf_client *client)
{
    return client->notifier.first != HF_NOWHERE &&
           !client->notifier.is_notifying && !client->has_thread &&
           !client->is_closing;
}

static void free_held(struct hf_notifier *notifier)
{
    while (notifier->held != NULL) {
        struct hf_lock *lock = notifier->held;
        notifier->held = hf_lock_notice(lock)->next_held;
        free(lock);
    }
}

static void notify_one(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    enum hf_state state = hf_lock_group_state(lock);
    hf_notify_remove(client, lock);
    if (notice->state == (uint8_t)state) {
        return; /* it has changed back before its callback ran */
    }
    notice->state = (uint8_t)state;
    client->notifier.lock = lock;
    struct hf_caller self;
    hf_client_let_out(client, &self);
    client->options.on_state(client->options.state_user, lock, state);
    hf_client_take_in(client, &self);
    client->notifier.lock = NULL;
    free_held(&client->notifier);
}

void hf_notify_all(struct hf_client *client)
{
    struct hf_notifier *notifier = &client->notifier;
    if (notifier->is_notifying) {
        return; /* a call does, which began before the thread did */
    }
    notifier->is_notifying = true;
    while (notifier->first != HF_NOWHERE && !client->is_closing) {
        notify_one(client, lock_at(client, notifier->first));
    }
    notifier->is_notifying = false;
}

void hf_notify_here(struct hf_client *client)
{
    if (hf_notify_is_due(client)) {
        hf_notify_all(client);
    }
}

bool hf_notify_holds(struct hf_client *client, struct hf_lock *lock)
{
    const struct hf_lock *one = client->notifier.lock;
    while (one != NULL && one != lock) {
        one = hf_lock_follows(one);
    }
    if (one == NULL) {
        return false;
    }
    hf_lock_notice(lock)->next_held = client->notifier.held;
    client->notifier.held = lock;
    return true;
}
