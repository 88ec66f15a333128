/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of locks, linked by slots. A lock is in at most one of them. */
#ifndef HF_CLIENT_QUEUE_H
#define HF_CLIENT_QUEUE_H

#include "client/lock.h"

void hf_queue_push(struct hf_client *client, uint32_t *first, uint32_t *last,
                   struct hf_lock *lock);
void hf_queue_remove(struct hf_client *client, uint32_t *first, uint32_t *last,
                     struct hf_lock *lock);

#endif
