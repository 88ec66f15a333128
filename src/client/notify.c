/* SPDX-License-Identifier: Apache-2.0 */
#include "client/notify.h"

#include "client/callback.h"
#include "client/fork.h"
#include "client/lock.h"
#include "client/lock_group.h"
#include "client/timer.h"

#include "base/assert.h"

#include <stdlib.h>

void hf_notify_init(struct hf_notifier *notifier)
{
    *notifier = (struct hf_notifier){.first = HF_NOWHERE, .last = HF_NOWHERE};
}

/* ---- The queue --------------------------------------------------------- */

static struct hf_lock *lock_at(const struct hf_client *client, uint32_t idx)
{
    return hf_lock_of(hf_item_table_at(&client->items, idx));
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
    *next_of(client, notice->prev) = lock->item.idx;
    client->notifier.last = lock->item.idx;
    if (client->has_thread && !hf_client_is_forked(client)) {
        hf_alarm_set(&client->alarm, (struct hf_instant){1}); /* wake it */
    }
}

void hf_notify_remove(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    if (notice != NULL && notice->is_queued) {
        HF_ASSERT(*next_of(client, notice->prev) == lock->item.idx);
        HF_ASSERT(*prev_of(client, notice->next) == lock->item.idx);
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

static bool reads(const struct hf_reader *reader, const struct hf_lock *lock)
{
    const struct hf_lock *one = reader->lock;
    while (one != NULL && one != lock) {
        one = hf_lock_follows(one);
    }
    return one != NULL;
}

static bool is_read(const struct hf_notifier *notifier,
                    const struct hf_lock *lock)
{
    const struct hf_reader *reader = notifier->readers;
    while (reader != NULL && !reads(reader, lock)) {
        reader = reader->next;
    }
    return reader != NULL;
}

void hf_notify_read(struct hf_client *client, struct hf_reader *reader,
                    const struct hf_lock *lock)
{
    *reader = (struct hf_reader){lock, client->notifier.readers};
    client->notifier.readers = reader;
}

/* Free what no other one reads. A chain of locks that one reads is all kept. */
void hf_notify_read_end(struct hf_client *client, struct hf_reader *reader)
{
    struct hf_notifier *notifier = &client->notifier;
    struct hf_reader **at = &notifier->readers;
    while (*at != reader) {
        HF_ASSERT(*at != NULL); /* it began, and ends once */
        at = &(*at)->next;
    }
    *at = reader->next;
    for (struct hf_lock **held = &notifier->held; *held != NULL;) {
        struct hf_lock *lock = *held;
        if (is_read(notifier, lock)) {
            held = &hf_lock_notice(lock)->next_held;
        } else {
            *held = hf_lock_notice(lock)->next_held;
            free(lock);
        }
    }
}

static void notify_one(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_notice *notice = hf_lock_notice(lock);
    enum hf_state state = hf_lock_group_state(lock);
    HF_ASSERT(client->notifier.is_notifying && notice->is_queued);
    hf_notify_remove(client, lock);
    if (notice->state == (uint8_t)state) {
        return; /* it has changed back before its callback ran */
    }
    notice->state = (uint8_t)state;
    struct hf_reader reader;
    struct hf_caller self;
    hf_notify_read(client, &reader, lock);
    hf_client_let_out(client, &self);
    client->options.on_state(client->options.state_user, lock, state);
    hf_client_take_in(client, &self);
    hf_notify_read_end(client, &reader);
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
    if (hf_lock_notice(lock) == NULL || !is_read(&client->notifier, lock)) {
        return false; /* without on_state, no callback releases it */
    }
    hf_lock_notice(lock)->next_held = client->notifier.held;
    client->notifier.held = lock;
    return true;
}
