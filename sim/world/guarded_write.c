/* SPDX-License-Identifier: Apache-2.0 */
/* The writes of a lane that holds a lock: read-modify-writes of two registers
 * for each name, one that compares fences and one that does not.
 *
 * The lane reads at one step and writes at the next; the lease may end between
 * the two. It checks its lock before the read and not again, as careless users
 * do: a write that has begun is sent even if the lease is over. It does not
 * read again before its last write has arrived: fences order the requests of
 * different holders, not those of one. */
#include "world/workload.h"

#include <holdfast/holdfast.h>

/* A request to a register, with the fence that the lane had when it sent it. */
struct errand {
    struct sim_lane *lane;
    uint64_t number;
    uint64_t fence;
    int name;
    int guarded;
    bool writes;
    uint64_t value;
};

static void note_write(struct sim_world *world, const struct errand *errand,
                       bool is_taken)
{
    if (world->trace == NULL || errand->guarded == 0 || !errand->writes) {
        return;
    }
    sim_world_note(
        world, (struct sim_note){
                   .kind = is_taken ? SIM_NOTE_WRITE : SIM_NOTE_REFUSED,
                   .process = errand->lane->process->index,
                   .lane = errand->lane->index,
                   .node = -1,
                   .other = -1,
                   .name = errand->name,
                   .fence = errand->fence,
                   .counter = sim_register_newest(world->oracle, errand->name),
               });
}

static void on_errand(struct sim_world *world, void *object, uint64_t arg)
{
    struct errand *errand = object;
    struct sim_lane *lane = errand->lane;
    bool is_guarded = errand->guarded != 0;
    (void)arg;
    if (lane->number == errand->number) {
        lane->n_sent[errand->guarded]--;
    }
    if (errand->writes) {
        bool is_taken =
            sim_register_write(world->oracle, errand->name, errand->fence,
                               is_guarded, errand->value + 1);
        note_write(world, errand, is_taken);
    } else {
        uint64_t value;
        bool is_read = sim_register_read(world->oracle, errand->name,
                                         errand->fence, is_guarded, &value);
        if (is_read && lane->number == errand->number) {
            lane->has_read[errand->guarded] = true;
            lane->value[errand->guarded] = value;
        }
    }
    sim_world_forget(world, errand);
}

static void send_errand(struct sim_lane *lane, int guarded, bool writes)
{
    struct sim_world *world = lane->process->world;
    struct errand *errand = sim_world_keep(world, sizeof(*errand));
    *errand = (struct errand){
        .lane = lane,
        .number = lane->number,
        .fence = sim_lane_fence(lane),
        .name = sim_turn_first_name(lane->turn),
        .guarded = guarded,
        .writes = writes,
        .value = lane->value[guarded],
    };
    int64_t delay_ns =
        world->story->delay_ns +
        sim_draw_below(&lane->process->path, 2 * world->story->jitter_ns);
    lane->n_sent[guarded]++;
    sim_world_at(world, world->now_ns + delay_ns, on_errand, errand, 0);
}

bool sim_lane_is_writing(const struct sim_lane *lane)
{
    return lane->n_writes % 2 == 1 && (lane->has_read[0] || lane->has_read[1]);
}

void sim_lane_write(struct sim_lane *lane)
{
    bool reads = lane->n_writes % 2 == 0;
    lane->n_writes--;
    if (reads && !hf_lock_valid_for(lane->lock, 0)) {
        return;
    }
    sim_oracle_look_at_time(lane->process->world->oracle, lane->number);
    for (int guarded = 0; guarded < 2; guarded++) {
        if (reads) {
            lane->has_read[guarded] = false;
            if (lane->n_sent[guarded] == 0) {
                send_errand(lane, guarded, false);
            }
        } else if (lane->has_read[guarded]) {
            send_errand(lane, guarded, true);
        }
    }
}
