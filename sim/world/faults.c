/* SPDX-License-Identifier: Apache-2.0 */
#include "world/faults.h"

#include "local/machine.h"
#include "redis/redis.h"
#include "world/net.h"
#include "world/node.h"

/* ---- The targets of a fault -------------------------------------------- */

static bool is_meant(int wanted, unsigned index)
{
    return wanted < 0 || wanted == (int)index;
}

static void raise_to(int64_t *to, int64_t ns)
{
    *to = *to < ns ? ns : *to;
}

/* Called for every pair of a process and a node that the fault touches. */
typedef void each_passage_fn(struct sim_passage *passage,
                             const struct sim_fault *fault, int64_t until_ns);

static void each_passage(struct sim_world *world, const struct sim_fault *fault,
                         each_passage_fn *each)
{
    for (unsigned p = 0; p < world->story->n_processes; p++) {
        for (unsigned n = 0; n < world->story->n_nodes; n++) {
            bool is_apart =
                ((fault->mask >> p) & 1) != ((fault->mask >> (16 + n)) & 1);
            if (fault->kind == SIM_FAULT_PARTITION
                    ? is_apart
                    : is_meant(fault->process, p) && is_meant(fault->node, n)) {
                each(&world->passages[p][n], fault,
                     world->now_ns + fault->span_ns);
            }
        }
    }
}

static void block(struct sim_passage *passage, const struct sim_fault *fault,
                  int64_t until_ns)
{
    if (fault->kind != SIM_FAULT_DEAFNESS) {
        raise_to(&passage->up_ns, until_ns);
    }
    if (fault->kind != SIM_FAULT_SILENCE) {
        raise_to(&passage->down_ns, until_ns);
    }
}

static void slow_down(struct sim_passage *passage,
                      const struct sim_fault *fault, int64_t until_ns)
{
    passage->slow_until_ns = until_ns;
    passage->slow_ns = fault->amount;
}

static each_passage_fn *const to_passage[SIM_FAULTS] = {
    [SIM_FAULT_SILENCE] = block,
    [SIM_FAULT_DEAFNESS] = block,
    [SIM_FAULT_PARTITION] = block,
    [SIM_FAULT_SLOW] = slow_down,
};

/* ---- Processes --------------------------------------------------------- */

static void pause(struct sim_process *process, const struct sim_fault *fault)
{
    sim_process_pause(process, process->world->now_ns + fault->span_ns);
}

static void pause_midway(struct sim_process *process,
                         const struct sim_fault *fault)
{
    process->pauses_midway = process->is_alive;
    process->midway_ns = fault->span_ns;
}

static void crash(struct sim_process *process, const struct sim_fault *fault)
{
    sim_process_crash(process);
    sim_process_revive_later(process, process->world->now_ns + fault->span_ns);
}

static void reboot(struct sim_process *process, const struct sim_fault *fault)
{
    struct sim_world *world = process->world;
    int64_t back_ns = world->now_ns + fault->span_ns;
    sim_process_reboot(process, back_ns);
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        if (sim_process_host(&world->processes[i]) ==
            sim_process_host(process)) {
            sim_process_revive_later(&world->processes[i], back_ns);
        }
    }
}

static void shift_clock(struct sim_process *process,
                        const struct sim_fault *fault)
{
    sim_process_jump(process, fault->amount);
}

static void stop_in_call(struct sim_process *process,
                         const struct sim_fault *fault)
{
    sim_machine_stop_in(process, fault->amount, fault->span_ns);
}

static void kill_in_call(struct sim_process *process,
                         const struct sim_fault *fault)
{
    sim_machine_kill_in(process, fault->amount, fault->span_ns);
}

/* What a fault does to one process, now. */
typedef void to_process_fn(struct sim_process *, const struct sim_fault *);

static to_process_fn *const to_process[SIM_FAULTS] = {
    [SIM_FAULT_PAUSE] = pause,
    [SIM_FAULT_PAUSE_MIDWAY] = pause_midway,
    [SIM_FAULT_CRASH] = crash,
    [SIM_FAULT_REBOOT] = reboot,
    [SIM_FAULT_PROCESS_CLOCK] = shift_clock,
    [SIM_FAULT_STOP_IN_CALL] = stop_in_call,
    [SIM_FAULT_KILL_IN_CALL] = kill_in_call,
};

/* ---- Nodes ------------------------------------------------------------- */

/* Also in a primary that was replaced meanwhile, and may come back. */
static void make_room(struct sim_node *node)
{
    sim_redis_set_full(node->redis, false);
    if (node->old != NULL) {
        sim_redis_set_full(node->old, false);
    }
}

static void on_room(struct sim_world *world, void *object, uint64_t arg)
{
    (void)arg;
    make_room(object);
    if (world->machine != NULL) {
        sim_machine_set_full(world->machine, false);
    }
}

static void on_sync(struct sim_world *world, void *object, uint64_t arg)
{
    (void)world;
    (void)arg;
    sim_node_set_sync(object);
}

static void stop(struct sim_node *node, const struct sim_fault *fault)
{
    raise_to(&node->resumes_ns, node->world->now_ns + fault->span_ns);
}

/* The sync settings of a server are in its configuration, which survives a
 * crash. */
static void keep_sync(struct sim_node *node)
{
    int64_t now_ns = node->world->now_ns;
    node->everysec_ns = node->everysec_ns > now_ns ? INT64_MAX : 0;
    node->unsynced_ns = node->unsynced_ns > now_ns ? INT64_MAX : 0;
}

static void restart(struct sim_node *node, const struct sim_fault *fault)
{
    static const enum sim_return with[SIM_FAULTS] = {
        [SIM_FAULT_RESTART] = SIM_WITH_ALL,
        [SIM_FAULT_AGE] = SIM_WITH_OLDER,
        [SIM_FAULT_EMPTY] = SIM_WITH_NOTHING,
        [SIM_FAULT_REPLICA] = SIM_WITH_REPLICA,
    };
    if (fault->kind == SIM_FAULT_AGE) {
        keep_sync(node);
    }
    sim_node_restart(node, node->world->now_ns + fault->span_ns,
                     with[fault->kind], fault->amount);
}

static void promote(struct sim_node *node, const struct sim_fault *fault)
{
    sim_node_promote(node, fault->amount, node->world->now_ns + fault->span_ns);
}

static void give_back_address(struct sim_node *node,
                              const struct sim_fault *fault)
{
    (void)fault;
    sim_node_return(node);
}

static void sync_seldom(struct sim_node *node, const struct sim_fault *fault)
{
    int64_t until_ns = node->world->now_ns + fault->span_ns;
    raise_to(fault->kind == SIM_FAULT_EVERYSEC ? &node->everysec_ns
                                               : &node->unsynced_ns,
             until_ns);
    sim_node_set_sync(node);
    sim_world_at(node->world, until_ns, on_sync, node, 0);
}

static void flush(struct sim_node *node, const struct sim_fault *fault)
{
    (void)fault;
    sim_redis_flush(node->redis);
    sim_oracle_node_forgot(node->world->oracle, node->index);
}

static void evict(struct sim_node *node, const struct sim_fault *fault)
{
    struct sim_random random =
        sim_random_of(node->world->story->seed, (uint64_t)node->world->now_ns);
    for (int64_t i = 0; i < fault->amount; i++) {
        sim_redis_evict(node->redis, sim_draw(&random));
    }
    sim_oracle_node_forgot(node->world->oracle, node->index);
}

static void fill(struct sim_node *node, const struct sim_fault *fault)
{
    sim_redis_set_full(node->redis, true);
    if (node->world->machine != NULL) {
        sim_machine_set_full(node->world->machine, true);
    }
    sim_world_at(node->world, node->world->now_ns + fault->span_ns, on_room,
                 node, 0);
}

static void forget_scripts(struct sim_node *node, const struct sim_fault *fault)
{
    (void)fault;
    sim_redis_script_flush(node->redis);
}

static void shift_wall(struct sim_node *node, const struct sim_fault *fault)
{
    sim_node_jump(node, fault->amount);
}

/* What a fault does to one node, now. */
typedef void to_node_fn(struct sim_node *, const struct sim_fault *);

static to_node_fn *const to_node[SIM_FAULTS] = {
    [SIM_FAULT_STOP] = stop,
    [SIM_FAULT_RESTART] = restart,
    [SIM_FAULT_AGE] = restart,
    [SIM_FAULT_EMPTY] = restart,
    [SIM_FAULT_PROMOTE] = promote,
    [SIM_FAULT_REPLICA] = restart,
    [SIM_FAULT_RETURN] = give_back_address,
    [SIM_FAULT_EVERYSEC] = sync_seldom,
    [SIM_FAULT_UNSYNCED] = sync_seldom,
    [SIM_FAULT_FLUSH] = flush,
    [SIM_FAULT_EVICT] = evict,
    [SIM_FAULT_FULL] = fill,
    [SIM_FAULT_FORGET_SCRIPTS] = forget_scripts,
    [SIM_FAULT_NODE_CLOCK] = shift_wall,
};

/* ---- The heap ---------------------------------------------------------- */

static void note(struct sim_world *world, const struct sim_fault *fault)
{
    sim_world_note(world, (struct sim_note){
                              .kind = SIM_NOTE_FAULT,
                              .process = fault->process,
                              .node = fault->node,
                              .until_ns = world->now_ns + fault->span_ns,
                              .text = sim_fault_name(fault->kind),
                              .counter = fault->mask,
                              .fault = fault,
                          });
}

static void on_fault(struct sim_world *world, void *object, uint64_t arg)
{
    const struct sim_fault *fault = object;
    (void)arg;
    note(world, fault);
    if (fault->kind == SIM_FAULT_CUT) {
        sim_links_cut(world, fault->process, fault->node, false);
    } else if (fault->kind == SIM_FAULT_GHOST) {
        sim_links_delay_after_close(world, fault->process, fault->node,
                                    world->now_ns + fault->amount,
                                    world->now_ns + fault->span_ns);
    } else if (to_passage[fault->kind] != NULL) {
        each_passage(world, fault, to_passage[fault->kind]);
    }
    for (unsigned p = 0; p < world->story->n_processes; p++) {
        if (to_process[fault->kind] != NULL && is_meant(fault->process, p)) {
            to_process[fault->kind](&world->processes[p], fault);
        }
    }
    for (unsigned n = 0; n < world->story->n_nodes; n++) {
        if (to_node[fault->kind] != NULL && is_meant(fault->node, n)) {
            to_node[fault->kind](&world->nodes[n], fault);
        }
    }
}

static void on_remember(struct sim_world *world, void *object, uint64_t arg)
{
    (void)world;
    (void)arg;
    sim_node_remember(object);
}

/* A fault that needs older data: plan to save the data at that earlier time. */
static void plan_memory(struct sim_world *world, const struct sim_fault *fault)
{
    int64_t at_ns =
        fault->at_ns > fault->amount ? fault->at_ns - fault->amount : 0;
    for (unsigned n = 0; n < world->story->n_nodes; n++) {
        if (is_meant(fault->node, n)) {
            sim_world_at(world, at_ns, on_remember, &world->nodes[n], 0);
        }
    }
}

void sim_faults_plan(struct sim_world *world)
{
    for (size_t i = 0; i < world->story->n_faults; i++) {
        struct sim_fault *fault = &world->story->faults[i];
        if (fault->kind == SIM_FAULT_AGE || fault->kind == SIM_FAULT_REPLICA ||
            fault->kind == SIM_FAULT_PROMOTE) {
            plan_memory(world, fault);
        }
        sim_world_at(world, fault->at_ns, on_fault, fault, 0);
    }
}

void sim_faults_end(struct sim_world *world)
{
    for (unsigned p = 0; p < world->story->n_processes; p++) {
        for (unsigned n = 0; n < world->story->n_nodes; n++) {
            world->passages[p][n] = (struct sim_passage){0};
        }
        struct sim_process *process = &world->processes[p];
        process->resumes_ns = 0;
        process->pauses_midway = false;
        sim_process_revive(process);
        sim_process_rouse(process);
    }
    for (unsigned n = 0; n < world->story->n_nodes; n++) {
        world->nodes[n].resumes_ns = 0;
        make_room(&world->nodes[n]);
    }
    if (world->machine != NULL) {
        sim_machine_calm(world->machine);
    }
    sim_links_heal(world);
}
