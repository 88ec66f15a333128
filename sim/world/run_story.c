/* SPDX-License-Identifier: Apache-2.0 */
#include "world/run_story.h"

#include "local/machine.h"
#include "redis/redis.h"
#include "world/faults.h"
#include "world/net.h"
#include "world/node.h"
#include "world/spin.h"
#include "world/workload.h"

#include "base/assert.h"

#include <stdlib.h>

/* After the last turn, and one longest ttl: the time in which the remaining
 * leases expire and releases in the background end. */
#define REST_NS INT64_C(8000000000)

/* One hour: every world ends by then; LIVE would be broken long before. */
#define LONGEST_NS INT64_C(3600000000000)

static void on_calm(struct sim_world *world, void *object, uint64_t arg)
{
    (void)object;
    (void)arg;
    world->is_calm = true;
    sim_world_note(
        world,
        (struct sim_note){.kind = SIM_NOTE_CALM, .process = -1, .node = -1});
    sim_faults_end(world);
    sim_oracle_calm(world->oracle);
}

static int64_t longest_ttl_ns(const struct sim_story *story)
{
    int64_t ms = 0;
    for (size_t i = 0; i < story->n_turns; i++) {
        ms = ms < story->turns[i].ttl_ms ? story->turns[i].ttl_ms : ms;
    }
    return ms * SIM_MS;
}

static bool are_turns_over(const struct sim_world *world)
{
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        if (!sim_lanes_are_over(&world->processes[i])) {
            return false;
        }
    }
    return true;
}

static bool is_anybody_alive(const struct sim_world *world)
{
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        if (world->processes[i].is_alive) {
            return true;
        }
    }
    return false;
}

static void on_end(struct sim_world *world, void *object, uint64_t arg)
{
    (void)object;
    (void)arg;
    world->is_ending = true;
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        sim_process_rouse(&world->processes[i]);
    }
}

/* If all turns are over, end all lanes once the remaining leases are over. */
static void look_for_end(struct sim_world *world)
{
    if (world->is_calm && world->quiet_ns == SIM_NEVER &&
        are_turns_over(world)) {
        world->quiet_ns = world->now_ns;
        sim_world_at(world,
                     world->now_ns + longest_ttl_ns(world->story) + REST_NS,
                     on_end, world, 0);
    }
}

/* One interpreter for all worlds of this process, so that scripts are compiled
 * once: scripts leave no state in it. */
static struct sim_lua *shared_lua(void)
{
    static struct sim_lua *lua;
    if (lua == NULL) {
        lua = sim_lua_new();
    }
    return lua;
}

static void set_up(struct sim_world *world)
{
    const struct sim_story *story = world->story;
    world->quiet_ns = SIM_NEVER;
    world->lua = shared_lua();
    if (story->is_local) {
        world->machine = sim_machine_new(world);
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        struct sim_node *node = &world->nodes[i];
        node->world = world;
        node->index = (int)i;
        sim_node_init(node, world->lua);
    }
    for (unsigned i = 0; i < story->n_processes; i++) {
        struct sim_process *process = &world->processes[i];
        process->world = world;
        process->index = (int)i;
        process->path = sim_random_of(story->seed, 0x9000 + i);
        process->n_lanes = SIM_LANES_MAX;
        for (unsigned j = 0; j < SIM_LANES_MAX; j++) {
            process->lanes[j].process = process;
            process->lanes[j].index = (uint8_t)j;
        }
        sim_process_start(process);
    }
    sim_faults_plan(world);
    sim_world_at(world, story->calm_ns, on_calm, world, 0);
}

static void tear_down(struct sim_world *world)
{
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        sim_process_crash(&world->processes[i]);
    }
    sim_links_free(world);
    sim_machine_free(world->machine);
    for (unsigned i = 0; i < world->story->n_nodes; i++) {
        sim_node_fini(&world->nodes[i]);
    }
    sim_world_fini(world);
}

void sim_run(const struct sim_story *story, sim_trace_fn *trace,
             void *trace_user, struct sim_verdict *out)
{
    struct sim_world *world = calloc(1, sizeof(*world));
    HF_ASSERT(world != NULL);
    world->story = story;
    world->trace = trace;
    world->trace_user = trace_user;
    world->oracle = sim_oracle_new(world);
    const struct sim_verdict *verdict = sim_oracle_verdict(world->oracle);
    sim_spin_begin(world);
    set_up(world);
    while (world->n_events > 0 && !verdict->is_broken &&
           !(world->is_ending && !is_anybody_alive(world))) {
        struct sim_event event = sim_world_next(world);
        world->now_ns = event.at_ns;
        if (world->now_ns > LONGEST_NS) {
            sim_oracle_breach(world->oracle, SIM_LIVE,
                              "the world has not ended within an hour");
            break;
        }
        world->n_steps++;
        if (sim_spin_event(world, &event)) {
            break;
        }
        event.fire(world, event.object, event.arg);
        look_for_end(world);
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        sim_node_tick(&world->nodes[i]);
    }
    if (!verdict->is_broken) {
        sim_oracle_finish(world->oracle);
    }
    *out = *verdict;
    tear_down(world);
    sim_spin_end();
    sim_oracle_free(world->oracle);
    free(world);
}
