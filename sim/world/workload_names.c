/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a turn's names. Processes with an even index ask for them in
 * alphabetical order, the others in the opposite order: if the library did not
 * wait for them in an order of its own, two processes would block each other.
 * The locks of a handle are in the order of its request. */
#include "world/workload.h"

#include "base/assert.h"

#include <holdfast/holdfast.h>

static bool is_reversed(const struct sim_lane *lane)
{
    return lane->process->index % 2 == 1;
}

void sim_lane_ask_for(const struct sim_lane *lane, struct hf_request *request,
                      struct hf_name *names)
{
    static const char letters[] = "abcd";
    size_t n = 0;
    for (int i = 0; i < SIM_NAMES_MAX; i++) {
        int name = is_reversed(lane) ? SIM_NAMES_MAX - 1 - i : i;
        if ((lane->turn->names & 1U << name) != 0) {
            names[n++] = (struct hf_name){&letters[name], 1, request->mode};
        }
    }
    HF_ASSERT(n > 0);
    request->name = names[0].name;
    request->name_len = names[0].name_len;
    request->more = names + 1;
    request->n_more = n - 1;
}

uint64_t sim_lane_fence(const struct sim_lane *lane)
{
    return hf_lock_fence_at(
        lane->lock, is_reversed(lane) ? hf_lock_count(lane->lock) - 1 : 0);
}
