/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of value_put(). */
#include "store/mysql/node.h"

void hf_my_value_arguments(struct hf_my_text *call,
                           const struct hf_my_node *node,
                           const struct hf_ask *ask)
{
    if (ask->counter == HF_VERSION_ANY) {
        hf_my_null(call);
    } else {
        hf_my_number(call, (int64_t)ask->counter);
    }
    hf_my_bytes(call, ask->owner, ask->owner_len);
    if (ask->value.data == NULL) {
        hf_my_number(call, node->store->base.fence_keep_ms);
        hf_my_null(call);
    } else {
        hf_my_null(call);
        hf_my_bytes(call, ask->value.data, ask->value.len);
    }
}
