/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of locks: each is a pair of indices, HF_NOWHERE if it is empty. The
 * locks themselves are linked, so queueing needs no memory and cannot fail. A
 * lock is in at most one queue. */
#ifndef HF_CLIENT_LOCK_QUEUE_H
#define HF_CLIENT_LOCK_QUEUE_H

#include "client/lock.h"

/* Append a lock that is in no queue. */
void hf_lock_queue_push(struct hf_client *client, uint32_t *first,
                        uint32_t *last, struct hf_lock *lock);

/* Remove a lock that is in this queue. */
void hf_lock_queue_remove(struct hf_client *client, uint32_t *first,
                          uint32_t *last, struct hf_lock *lock);

/* The lock at an index. */
struct hf_lock *hf_lock_queue_at(const struct hf_client *client, uint32_t idx);

#endif
