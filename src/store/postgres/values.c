/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of value_put(). */
#include "store/postgres/node.h"

void hf_pg_value_params(struct hf_pg_params *params,
                        const struct hf_pg_node *node, const struct hf_ask *ask)
{
    bool is_delete = ask->value.data == NULL;
    if (ask->counter == HF_VERSION_ANY) {
        hf_pg_params_null(params);
    } else {
        hf_pg_params_number(params, (int64_t)ask->counter);
    }
    hf_pg_params_bytes(params, ask->owner, ask->owner_len);
    if (is_delete) {
        hf_pg_params_number(params, node->store->base.fence_keep_ms);
        hf_pg_params_null(params);
    } else {
        hf_pg_params_null(params);
        hf_pg_params_bytes(params, ask->value.data, ask->value.len);
    }
}
