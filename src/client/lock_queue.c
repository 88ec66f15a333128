/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of locks, linked by index: it takes half the room of a pointer. */
#include "client/lock_queue.h"

#include "base/assert.h"

struct hf_lock *hf_lock_queue_at(const struct hf_client *client, uint32_t idx)
{
    return hf_lock_of(hf_item_table_at(&client->items, idx));
}

void hf_lock_queue_push(struct hf_client *client, uint32_t *first,
                        uint32_t *last, struct hf_lock *lock)
{
    HF_ASSERT((*first == HF_NOWHERE) == (*last == HF_NOWHERE));
    HF_ASSERT(lock->queue_prev == HF_NOWHERE &&
              lock->queue_next == HF_NOWHERE && *last != lock->item.idx);
    lock->queue_prev = *last;
    lock->queue_next = HF_NOWHERE;
    if (*last != HF_NOWHERE) {
        hf_lock_queue_at(client, *last)->queue_next = lock->item.idx;
    } else {
        *first = lock->item.idx;
    }
    *last = lock->item.idx;
}

void hf_lock_queue_remove(struct hf_client *client, uint32_t *first,
                          uint32_t *last, struct hf_lock *lock)
{
    HF_ASSERT(lock->queue_prev != HF_NOWHERE || *first == lock->item.idx);
    HF_ASSERT(lock->queue_next != HF_NOWHERE || *last == lock->item.idx);
    if (lock->queue_prev != HF_NOWHERE) {
        hf_lock_queue_at(client, lock->queue_prev)->queue_next =
            lock->queue_next;
    } else {
        *first = lock->queue_next;
    }
    if (lock->queue_next != HF_NOWHERE) {
        hf_lock_queue_at(client, lock->queue_next)->queue_prev =
            lock->queue_prev;
    } else {
        *last = lock->queue_prev;
    }
    lock->queue_prev = HF_NOWHERE;
    lock->queue_next = HF_NOWHERE;
}
