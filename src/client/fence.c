/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fence.h"

#include "base/fail.h"

uint64_t hf_fence_of(const struct hf_client *client, uint64_t counter)
{
    return counter == 0 ? 0 : counter + client->url->fence_base;
}

uint64_t hf_fence_counter(const struct hf_client *client, uint64_t fence)
{
    uint64_t base = client->url->fence_base;
    return fence > base ? fence - base : 0;
}

uint64_t hf_fence_counter_max(const struct hf_client *client)
{
    return HF_FENCE_MAX - client->url->fence_base;
}

enum hf_status hf_fence_check(const struct hf_client *client,
                              struct hf_error *error)
{
    bool has_fences = (client->store->ops->capabilities & HF_CAP_FENCES) != 0;
    if (has_fences || client->url->fence_base == 0) {
        return HF_OK;
    }
    return hf_fail(error, HF_UNSUPPORTED,
                   "fence_base is given, but a lock of this store has no "
                   "fence");
}
