/* SPDX-License-Identifier: Apache-2.0 */
/* The holder of a lock, read from one node's reply. */
#include "client/holder.h"

#include "client/fence.h"

#include "core/owner.h"
#include "io/clock.h"

#include <string.h>

/* An owner contains the time at which its attempt began, which may have waited
 * for hours. Its counter is at least the clock floor at the time of the grant.
 * It is above that only if the counter was ahead of the clock: such a counter
 * is in the future, or within the 4.2 s of one floor. So the later of the two
 * times is never after the grant by the server's clock, and at most 4.2 s
 * before it.
 */
void hf_holder_set_since(struct hf_holder *out, uint64_t counter)
{
    int64_t floor_s = (int64_t)(counter / 1000000);
    if (out->kind == HF_HOLDER_HOLDFAST && out->since_s > 0 &&
        floor_s > out->since_s && floor_s <= hf_clock_wall_s()) {
        out->since_s = floor_s;
    }
}

void hf_holder_read(const struct hf_client *client,
                    const struct hf_answer *answer, struct hf_holder *out)
{
    memset(out, 0, sizeof(*out));
    out->fence = hf_fence_of(client, answer->counter);
    if (answer->holder_kind == HF_HOLDER_NONE) {
        return;
    }
    out->kind = answer->holder_kind;
    if (answer->holder_kind != HF_HOLDER_TYPE && answer->owner != NULL) {
        hf_owner_describe(answer->owner, answer->owner_len, out);
    }
    out->kind =
        answer->holder_kind == HF_HOLDER_SHARED ? HF_HOLDER_SHARED : out->kind;
    hf_holder_set_since(out, answer->counter);
    out->sharers = answer->sharers;
    out->permits = answer->permits;
    out->remaining_ms = answer->left_ms;
}
