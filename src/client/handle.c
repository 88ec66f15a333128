/* SPDX-License-Identifier: Apache-2.0 */
/* What a holder asks of its lock. These read two words that the lease keeps up
 * to date (lock.h) and the clock: no mutex, no system call. Only a deadline
 * that has passed is taken to the core, which decides that the lock is LOST;
 * so nobody is told LOST of a lock that is HELD again a moment later. */
#include "client/op.h"

#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>

static struct hf_span left(const struct hf_lock *lock)
{
    int64_t deadline_ns =
        atomic_load_explicit(&lock->deadline_ns, memory_order_relaxed);
    if (deadline_ns == INT64_MIN || hf_client_is_forked(lock->client)) {
        return (struct hf_span){INT64_MIN};
    }
    return hf_instant_until(hf_clock_now(), (struct hf_instant){deadline_ns});
}

bool hf_lock_covers(const struct hf_lock *lock, int64_t ms)
{
    return lock != NULL && left(lock).ns > 0 &&
           left(lock).ns >= hf_span_ms(ms).ns;
}

int64_t hf_lock_remaining_ms(const struct hf_lock *lock)
{
    return lock == NULL ? 0 : hf_span_ms_floor(left(lock));
}

uint64_t hf_lock_fence(const struct hf_lock *lock)
{
    return lock == NULL ? 0 : hf_lease_fence(hf_lock_lease_const(lock));
}

void *hf_lock_user(const struct hf_lock *lock)
{
    return lock == NULL ? NULL : lock->user;
}

const void *hf_lock_name(const struct hf_lock *lock, size_t *name_len)
{
    if (name_len != NULL) {
        *name_len = lock == NULL ? 0 : lock->name_len;
    }
    return lock == NULL ? NULL : hf_lock_name_bytes(lock);
}

void hf_lock_write_owner(const struct hf_lock *lock,
                         char text[HF_OWNER_TEXT_MAX])
{
    char owner[HF_OWNER_MAX];
    size_t len = hf_lock_emit_owner(lock, owner);
    snprintf(text, HF_OWNER_TEXT_MAX, "%.*s@%" PRIu64, (int)len, owner,
             hf_lock_fence(lock));
}

void hf_lock_owner(const struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    if (lock == NULL) {
        text[0] = '\0';
    } else {
        hf_lock_write_owner(lock, text);
    }
}

/* ---- State ------------------------------------------------------------- */

enum hf_lock_state hf_lock_state_now(struct hf_lock *lock)
{
    const struct hf_lease *lease = hf_lock_lease(lock);
    enum hf_lock_state state = hf_lease_state(lease);
    bool is_held = state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
    if (is_held &&
        !hf_instant_before(lock->client->now, hf_lease_deadline(lease))) {
        hf_client_signal(lock->client, lock, HF_EV_TIMER);
        state = hf_lease_state(lease);
    }
    return state;
}

static enum hf_lock_state judge(struct hf_client *client, uint32_t slot)
{
    enum hf_lock_state state = HF_STATE_AT_RISK;
    if (client->is_calling_back &&
        pthread_equal(client->calling_back, pthread_self())) {
        return state; /* in on_state of another lock: to be judged next */
    }
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_STATE_LOST;
    }
    struct hf_item *item = hf_slots_at(&client->slots, slot);
    if (item != NULL) {
        state = hf_lock_state_now(hf_lock_of(item));
    }
    hf_client_leave(client);
    return state;
}

enum hf_lock_state hf_lock_state(const struct hf_lock *lock)
{
    if (lock == NULL || hf_client_is_forked(lock->client)) {
        return HF_STATE_LOST;
    }
    enum hf_lock_state state = (enum hf_lock_state)atomic_load_explicit(
        &lock->state, memory_order_acquire);
    bool is_held = state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
    if (is_held && left(lock).ns <= 0) {
        state = judge(lock->client, lock->item.slot);
    }
    return state;
}
