/* SPDX-License-Identifier: Apache-2.0 */
/* All lanes of a process: whether they are idle or over, and their end when the
 * process crashes. */
#include "world/workload.h"

bool sim_lanes_are_idle(const struct sim_process *process)
{
    for (unsigned i = 0; i < process->n_lanes; i++) {
        if (process->lanes[i].phase != SIM_LANE_THINKING) {
            return false;
        }
    }
    return !process->parcel.is_full;
}

bool sim_lanes_are_over(const struct sim_process *process)
{
    for (unsigned i = 0; i < process->n_lanes; i++) {
        const struct sim_lane *lane = &process->lanes[i];
        if (lane->turn != NULL ||
            (!lane->is_last && lane->next < process->world->story->n_turns)) {
            return false;
        }
    }
    return !process->parcel.is_full;
}

void sim_lanes_crash(struct sim_process *process)
{
    struct sim_oracle *oracle = process->world->oracle;
    process->is_crashing = true;
    for (unsigned i = 0; i < process->n_lanes; i++) {
        struct sim_lane *lane = &process->lanes[i];
        if (lane->number != 0 && lane->phase == SIM_LANE_ASKING) {
            sim_oracle_given_up(oracle, lane->number);
        } else if (lane->number != 0) {
            sim_oracle_ended(oracle, lane->number);
        } else if (lane->phase == SIM_LANE_FOREIGN) {
            sim_foreign_ended(oracle, process->index, lane->index);
        }
        sim_oracle_uncalled(oracle, lane);
        sim_lane_rest(lane);
    }
    process->stepping = NULL;
    process->parcel.is_full = false;
    process->is_crashing = false;
    sim_prompt_anew(oracle);
}
