/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/reach.h"

#include "core/limits.h"

#define BIT(kind) (UINT64_C(1) << (kind))

/* Faults after which the data, the marker or the identity of a node may differ,
 * so that clients quarantine it. */
#define OF_MEMORY                                                              \
    (BIT(SIM_FAULT_RESTART) | BIT(SIM_FAULT_AGE) | BIT(SIM_FAULT_EMPTY) |      \
     BIT(SIM_FAULT_PROMOTE) | BIT(SIM_FAULT_FLUSH) | BIT(SIM_FAULT_EVICT) |    \
     BIT(SIM_FAULT_REPLICA) | BIT(SIM_FAULT_RETURN))

#define OF_PROCESS                                                             \
    (BIT(SIM_FAULT_PAUSE) | BIT(SIM_FAULT_PAUSE_MIDWAY) |                      \
     BIT(SIM_FAULT_CRASH) | BIT(SIM_FAULT_PROCESS_CLOCK) |                     \
     BIT(SIM_FAULT_STOP_IN_CALL) | BIT(SIM_FAULT_KILL_IN_CALL))

#define OF_LINK                                                                \
    (BIT(SIM_FAULT_CUT) | BIT(SIM_FAULT_SILENCE) | BIT(SIM_FAULT_DEAFNESS) |   \
     BIT(SIM_FAULT_SLOW) | BIT(SIM_FAULT_GHOST))

#define OF_NODE                                                                \
    (OF_MEMORY | BIT(SIM_FAULT_STOP) | BIT(SIM_FAULT_FULL) |                   \
     BIT(SIM_FAULT_FORGET_SCRIPTS) | BIT(SIM_FAULT_NODE_CLOCK) |               \
     BIT(SIM_FAULT_EVERYSEC) | BIT(SIM_FAULT_UNSYNCED))

/* ---- Faults ------------------------------------------------------------ */

static bool is_meant(int wanted, int index)
{
    return wanted < 0 || wanted == index;
}

/* A clock fault of a process touches all processes on its host. */
static bool is_of(const struct sim_process *process,
                  const struct sim_fault *fault)
{
    const struct sim_process *all = process->world->processes;
    return is_meant(fault->process, process->index) ||
           (fault->kind == SIM_FAULT_PROCESS_CLOCK &&
            sim_process_host(&all[fault->process]) ==
                sim_process_host(process));
}

/* A kind that is in none of the sets above touches all. */
static bool concerns(const struct sim_process *process, int node,
                     const struct sim_fault *fault)
{
    uint64_t bit = BIT(fault->kind);
    bool is_process = is_of(process, fault);
    if (fault->kind == SIM_FAULT_PARTITION) {
        return ((fault->mask >> process->index) & 1) !=
               ((fault->mask >> (16 + node)) & 1);
    }
    if ((OF_LINK & bit) != 0) {
        return is_process && is_meant(fault->node, node);
    }
    if ((OF_PROCESS & bit) != 0) {
        return is_process;
    }
    return (OF_NODE & bit) == 0 || is_meant(fault->node, node);
}

int64_t sim_reach_span_ns(const struct sim_fault *fault)
{
    int64_t span_ns = fault->span_ns;
    if (fault->kind == SIM_FAULT_GHOST && fault->amount > span_ns) {
        return fault->amount;
    }
    if (fault->kind == SIM_FAULT_SLOW) {
        span_ns += 2 * fault->amount; /* the last request, and its reply */
    }
    return span_ns;
}

/* Faults end when calm begins, at the latest; but a fault of memory lasts its
 * whole time, since a node that is down then starts later. */
static int64_t end_of(const struct sim_story *story,
                      const struct sim_fault *fault)
{
    int64_t end_ns = fault->at_ns + sim_reach_span_ns(fault);
    bool goes_on = (OF_MEMORY & BIT(fault->kind)) != 0;
    return !goes_on && end_ns > story->calm_ns ? story->calm_ns : end_ns;
}

/* One quarantine, observed by a host without faults, and one more for clients
 * that begin to observe it late. */
static int64_t quarantine_ns(const struct sim_story *story)
{
    int64_t ms = story->max_ttl_ms > HF_QUARANTINE_MS_MIN
                     ? story->max_ttl_ms
                     : HF_QUARANTINE_MS_MIN;
    return story->has_quarantine ? 2 * ms * SIM_MS : 0;
}

/* A message that the network delays counts as a fault, too: the vote in it may
 * come too late. */
static int64_t trouble_ns(const struct sim_process *process, int node)
{
    const struct sim_world *world = process->world;
    const struct sim_story *story = world->story;
    int64_t last_ns = 0;
    int64_t trouble_ns = world->is_calm && story->late_ppm > 0
                             ? story->calm_ns
                             : world->passages[process->index][node].late_ns;
    trouble_ns = trouble_ns == 0 ? -SIM_SETTLE_NS : trouble_ns;
    bool has_forgotten = false;
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        int64_t end_ns = end_of(story, fault);
        if (fault->at_ns > world->now_ns) {
            continue;
        }
        last_ns = end_ns > last_ns ? end_ns : last_ns;
        if (concerns(process, node, fault)) {
            trouble_ns = end_ns > trouble_ns ? end_ns : trouble_ns;
            has_forgotten |= (OF_MEMORY & BIT(fault->kind)) != 0;
        }
    }
    if (has_forgotten && last_ns + quarantine_ns(story) > trouble_ns) {
        trouble_ns = last_ns + quarantine_ns(story);
    }
    return trouble_ns;
}

/* ---- Well -------------------------------------------------------------- */

/* In the embedded store a process that was paused may have been inside the
 * gate, where it blocks all others. */
static bool has_anyone_stood(const struct sim_world *world, int64_t since_ns)
{
    bool has_stood = false;
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        int64_t stood_ns = world->processes[i].stood_ns;
        has_stood |= stood_ns > 0 && stood_ns > since_ns;
    }
    return has_stood;
}

bool sim_reach_is_running(const struct sim_process *process, int64_t from_ns)
{
    const struct sim_story *story = process->world->story;
    int64_t settled_ns = from_ns - SIM_SETTLE_NS;
    if (story->is_local && has_anyone_stood(process->world, settled_ns)) {
        return false;
    }
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        bool is_its = (OF_PROCESS & BIT(fault->kind)) != 0
                          ? is_of(process, fault)
                          : fault->kind == SIM_FAULT_REBOOT;
        if (is_its && fault->at_ns <= process->world->now_ns &&
            end_of(story, fault) > settled_ns) {
            return false;
        }
    }
    return process->stood_ns == 0 || process->stood_ns <= settled_ns;
}

unsigned sim_reach_well(const struct sim_process *process, int64_t from_ns)
{
    const struct sim_world *world = process->world;
    unsigned well = 0;
    if (!sim_reach_is_running(process, from_ns)) {
        return 0;
    }
    for (unsigned i = 0; i < world->story->n_nodes; i++) {
        if (trouble_ns(process, (int)i) + SIM_SETTLE_NS <= from_ns &&
            world->nodes[i].is_up && !sim_is_outlier(world->story, i)) {
            well |= 1U << i;
        }
    }
    return well;
}
