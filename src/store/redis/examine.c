/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/node.h"

void hf_redis_jobs_end(struct hf_redis_node *node, enum hf_status status,
                       const char *reason)
{
    struct hf_redis *store = node->store;
    bool is_asked = node->jobs != 0;
    node->jobs = 0;
    if (is_asked && store->has_sink) {
        store->sink.done(store->sink.user, node->index, status, reason);
    }
}

void hf_redis_examine(struct hf_redis_node *node, struct hf_instant now)
{
    (void)now;
    hf_redis_jobs_end(node, HF_OK, "");
}

void hf_redis_examined(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now)
{
    (void)node;
    (void)pending;
    (void)now;
}
