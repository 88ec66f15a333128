/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the holder of a lock. They read the clock and two words of the
 * lock (lock.h): no mutex, no system call. Only when the deadline has passed,
 * they take the mutex and step the lease, which decides that the lock is LOST:
 * so no caller sees LOST and then HELD again. For a handle of several locks,
 * the worst state counts. */
#include "client/handle.h"

#include "client/enter.h"
#include "client/fence.h"
#include "client/fork.h"
#include "client/lock_group.h"
#include "client/op.h"
#include "client/step.h"

#include "base/assert.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>

static struct hf_span left(const struct hf_lock *lock)
{
    int64_t deadline_ns = HF_NEVER.ns;
    for (const struct hf_lock *one = lock; one != NULL;
         one = hf_lock_follows(one)) {
        int64_t ns =
            atomic_load_explicit(&one->deadline_ns, memory_order_relaxed);
        deadline_ns = ns < deadline_ns ? ns : deadline_ns;
    }
    if (deadline_ns == HF_LONG_AGO.ns || hf_client_is_forked(lock->client)) {
        return (struct hf_span){0};
    }
    return hf_instant_until(hf_clock_now(), (struct hf_instant){deadline_ns});
}

bool hf_lock_valid_for(const struct hf_lock *lock, int64_t ms)
{
    if (lock == NULL) {
        return false;
    }
    struct hf_span rest = left(lock);
    return rest.ns > 0 && rest.ns >= hf_span_ms(ms).ns;
}

int64_t hf_lock_remaining_ms(const struct hf_lock *lock)
{
    return lock == NULL ? 0 : hf_span_ms_floor(left(lock));
}

uint64_t hf_lock_fence(const struct hf_lock *lock)
{
    bool has_fence = lock != NULL && (lock->client->store->ops->capabilities &
                                      HF_CAP_FENCES) != 0;
    return has_fence ? hf_fence_of(lock->client,
                                   hf_lease_fence(hf_lock_lease_const(lock)))
                     : 0;
}

void *hf_lock_user(const struct hf_lock *lock)
{
    return lock == NULL ? NULL : lock->user;
}

const void *hf_lock_name(const struct hf_lock *lock, size_t *name_len)
{
    return hf_lock_name_at(lock, 0, name_len);
}

/* ---- Several locks ----------------------------------------------------- */

int hf_lock_slot(const struct hf_lock *lock)
{
    const struct hf_lock_group *link = lock == NULL ? NULL : hf_lock_link(lock);
    HF_ASSERT(link == NULL || link->permit >= -1);
    return link == NULL ? -1 : link->permit;
}

size_t hf_lock_count(const struct hf_lock *lock)
{
    if (hf_lock_slot(lock) >= 0) {
        return 1;
    }
    size_t n = 0;
    for (; lock != NULL; lock = hf_lock_follows(lock)) {
        n++;
    }
    return n;
}

static const struct hf_lock *lock_at(const struct hf_lock *lock, size_t idx)
{
    if (idx >= hf_lock_count(lock)) {
        return NULL;
    }
    for (; idx > 0; idx--) {
        lock = hf_lock_follows(lock);
    }
    return lock;
}

/* For a semaphore: its shared hold, which has the semaphore's name. */
static const struct hf_lock *named_at(const struct hf_lock *lock, size_t idx)
{
    const struct hf_lock *named = lock_at(lock, idx);
    if (hf_lock_slot(named) < 0) {
        return named;
    }
    const struct hf_lock *hold = hf_lock_follows(named);
    HF_ASSERT(hold != NULL && hold->is_shared && hold->permits > 0);
    return hold;
}

const void *hf_lock_name_at(const struct hf_lock *lock, size_t idx,
                            size_t *name_len)
{
    const struct hf_lock *named = named_at(lock, idx);
    if (name_len != NULL) {
        *name_len = named == NULL ? 0 : named->name_len;
    }
    return named == NULL ? NULL : hf_lock_name_bytes(named);
}

uint64_t hf_lock_fence_at(const struct hf_lock *lock, size_t idx)
{
    return hf_lock_fence(lock_at(lock, idx));
}

/* ---- The owner --------------------------------------------------------- */

void hf_lock_write_owner(const struct hf_lock *lock,
                         char text[HF_OWNER_TEXT_MAX])
{
    char owner[HF_OWNER_MAX];
    size_t len = hf_lock_emit_owner(lock, owner);
    int all = snprintf(text, HF_OWNER_TEXT_MAX, "%.*s@%" PRIu64, (int)len,
                       owner, hf_lock_fence(lock));
    /* Cut, the text would be another owner's, or have another fence. */
    HF_ASSERT(all > 0 && all < HF_OWNER_TEXT_MAX);
}

void hf_lock_owner_at(const struct hf_lock *lock, size_t idx,
                      char text[HF_OWNER_TEXT_MAX])
{
    const struct hf_lock *named = named_at(lock, idx);
    if (text == NULL) {
        return;
    }
    if (named == NULL) {
        text[0] = '\0';
    } else {
        hf_lock_write_owner(named, text);
    }
}

void hf_lock_owner(const struct hf_lock *lock, char text[HF_OWNER_TEXT_MAX])
{
    hf_lock_owner_at(lock, 0, text);
}

/* ---- State ------------------------------------------------------------- */

/* While a callback ran, another thread may have released the lock. */
static enum hf_state judge(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return HF_STATE_LOST;
    }
    enum hf_state state = lock->item.idx != HF_NOWHERE
                              ? hf_lock_group_state_now(lock)
                              : HF_STATE_RELEASED;
    hf_client_leave(client);
    return state;
}

enum hf_state hf_lock_state(const struct hf_lock *lock)
{
    if (lock == NULL || hf_client_is_forked(lock->client)) {
        return HF_STATE_LOST;
    }
    enum hf_state state = HF_STATE_HELD;
    for (const struct hf_lock *one = lock; one != NULL;
         one = hf_lock_follows(one)) {
        enum hf_state its = (enum hf_state)atomic_load_explicit(
            &one->state, memory_order_acquire);
        state = its > state ? its : state;
    }
    bool is_held = state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
    if (is_held && left(lock).ns <= 0) {
        state = judge((struct hf_lock *)(uintptr_t)lock);
    }
    return state;
}
