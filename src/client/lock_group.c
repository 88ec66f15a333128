/* SPDX-License-Identifier: Apache-2.0 */
#include "client/lock_group.h"

#include "client/lock.h"

#include "base/assert.h"

void hf_lock_group_join(struct hf_lock *lock, struct hf_lock *next)
{
    HF_ASSERT(hf_lock_link(lock)->next == NULL);
    HF_ASSERT(hf_lock_link(next)->prev == NULL && lock != next);
    HF_ASSERT(lock->client == next->client);
    hf_lock_link(lock)->next = next;
    hf_lock_link(next)->prev = lock;
    if (hf_lock_notice(lock) != NULL) {
        hf_lock_notice(lock)->follows = next;
    }
}

struct hf_lock *hf_lock_group_leave(struct hf_lock *lock)
{
    struct hf_lock_group *link = hf_lock_link(lock);
    if (link == NULL) {
        return NULL;
    }
    struct hf_lock *prev = link->prev;
    struct hf_lock *next = link->next;
    HF_ASSERT(prev == NULL || hf_lock_link(prev)->next == lock);
    HF_ASSERT(next == NULL || hf_lock_link(next)->prev == lock);
    if (prev != NULL) {
        hf_lock_link(prev)->next = next;
    }
    if (next != NULL) {
        hf_lock_link(next)->prev = prev;
    }
    link->prev = NULL;
    link->next = NULL;
    return next != NULL ? next : prev;
}

struct hf_lock *hf_lock_group_next(const struct hf_lock *lock)
{
    const struct hf_lock_group *link = hf_lock_link(lock);
    return link == NULL ? NULL : link->next;
}

static struct hf_lock *before(const struct hf_lock *lock)
{
    return lock->is_linked ? hf_lock_link(lock)->prev : NULL;
}

struct hf_lock *hf_lock_group_first(struct hf_lock *lock)
{
    while (before(lock) != NULL) {
        lock = before(lock);
    }
    return lock;
}

const struct hf_lock *hf_lock_follows(const struct hf_lock *lock)
{
    const struct hf_notice *notice = hf_lock_notice(lock);
    return notice != NULL ? notice->follows : hf_lock_group_next(lock);
}

enum hf_state hf_lock_group_state(const struct hf_lock *first)
{
    enum hf_state worst = HF_STATE_HELD;
    for (const struct hf_lock *lock = first; lock != NULL;
         lock = hf_lock_group_next(lock)) {
        enum hf_state state = hf_lease_state(hf_lock_lease_const(lock));
        worst = state > worst ? state : worst;
    }
    return worst;
}

bool hf_lock_group_is_awaited(const struct hf_lock *lock,
                              const struct hf_op *op)
{
    while (before(lock) != NULL) {
        lock = before(lock);
    }
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        if (lock->op == op) {
            return true;
        }
    }
    return false;
}
