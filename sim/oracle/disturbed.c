/* SPDX-License-Identifier: Apache-2.0 */
/* TIMES WITHOUT A FAULT. Rules about time hold after the last fault that
 * touches a process and a node is over. The oracle reads each fault from the
 * story when it begins; most end when calm begins, at the latest. It reads from
 * the client whether a node votes. Both are conservative: a time may count as
 * disturbed though it is not, never the other way round. */
#include "oracle/disturbed.h"

#include "oracle/reach.h"

/* Blocked data is retransmitted at most this much after the block ends: as
 * world/net.c does. */
#define RETRANSMIT_NS INT64_C(200000000)

/* The delay of a timeout at the gate, in addition to 1% of its time: clocks run
 * apart by that, and timers are rounded to milliseconds. */
#define GATE_NS (2 * SIM_MS)

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- Faults ------------------------------------------------------------ */

static bool is_of_process(enum sim_fault_kind kind)
{
    return kind == SIM_FAULT_PAUSE || kind == SIM_FAULT_PAUSE_MIDWAY ||
           kind == SIM_FAULT_CRASH || kind == SIM_FAULT_PROCESS_CLOCK ||
           kind == SIM_FAULT_REBOOT || kind == SIM_FAULT_STOP_IN_CALL ||
           kind == SIM_FAULT_KILL_IN_CALL;
}

static bool is_of_path(enum sim_fault_kind kind)
{
    return kind == SIM_FAULT_CUT || kind == SIM_FAULT_SILENCE ||
           kind == SIM_FAULT_DEAFNESS || kind == SIM_FAULT_SLOW ||
           kind == SIM_FAULT_GHOST;
}

/* A host has one clock, and restarts as a whole. */
static bool touches_process(const struct sim_oracle *oracle,
                            const struct sim_fault *fault, int process)
{
    const struct sim_process *all = oracle->world->processes;
    bool is_of_host = fault->kind == SIM_FAULT_REBOOT ||
                      fault->kind == SIM_FAULT_PROCESS_CLOCK;
    return fault->process < 0 || fault->process == process ||
           (is_of_host && sim_process_host(&all[fault->process]) ==
                              sim_process_host(&all[process]));
}

static bool touches(const struct sim_oracle *oracle,
                    const struct sim_fault *fault, int process, unsigned node)
{
    bool is_process = touches_process(oracle, fault, process);
    bool is_node = fault->node < 0 || fault->node == (int)node;
    if (fault->kind == SIM_FAULT_PARTITION) {
        return ((fault->mask >> process) & 1) !=
               ((fault->mask >> (16 + node)) & 1);
    }
    if (is_of_process(fault->kind)) {
        return is_process;
    }
    return is_of_path(fault->kind) ? is_process && is_node : is_node;
}

/* Until when the fault disturbs what it touches. */
static int64_t fault_until_ns(const struct sim_story *story,
                              const struct sim_fault *fault)
{
    int64_t until_ns = fault->at_ns + sim_reach_span_ns(fault) + RETRANSMIT_NS;
    if (fault->at_ns < story->calm_ns && story->regime != SIM_FAILOVER &&
        until_ns > story->calm_ns) {
        until_ns = story->calm_ns; /* not for a server that was replaced */
    }
    if (fault->kind == SIM_FAULT_PROCESS_CLOCK && fault->amount < 0) {
        until_ns -= fault->amount; /* the clock stops for that time */
    }
    return until_ns;
}

static void note_fault(struct sim_oracle *oracle, const struct sim_fault *fault)
{
    const struct sim_story *story = oracle->world->story;
    int64_t until_ns = fault_until_ns(story, fault);
    for (int i = 0; i < (int)story->n_processes; i++) {
        for (unsigned j = 0; j < story->n_nodes; j++) {
            int64_t *disturbed_ns = &oracle->disturbed_ns[i][j];
            if (touches(oracle, fault, i, j)) {
                *disturbed_ns = most(*disturbed_ns, until_ns);
            }
        }
        if (is_of_process(fault->kind) && touches_process(oracle, fault, i)) {
            oracle->paused_ns[i] = most(oracle->paused_ns[i], until_ns);
            oracle->midway_ns[i] = fault->kind == SIM_FAULT_PAUSE_MIDWAY
                                       ? fault->span_ns
                                       : oracle->midway_ns[i];
        }
    }
}

static void note_faults(struct sim_oracle *oracle)
{
    const struct sim_story *story = oracle->world->story;
    int64_t now_ns = oracle->world->now_ns;
    int64_t next_ns = INT64_MAX;
    if (now_ns < oracle->next_fault_ns) {
        return;
    }
    for (size_t i = 0; i < story->n_faults; i++) { /* in any order */
        int64_t at_ns = story->faults[i].at_ns;
        if (at_ns >= oracle->next_fault_ns && at_ns <= now_ns) {
            note_fault(oracle, &story->faults[i]);
        }
        if (at_ns > now_ns && at_ns < next_ns) {
            next_ns = at_ns;
        }
    }
    oracle->next_fault_ns = next_ns;
}

/* A pause in the middle of a call begins some time after its fault, and takes
 * the whole span from then on. */
static void note_midway(struct sim_oracle *oracle, int process)
{
    int64_t *span_ns = &oracle->midway_ns[process];
    if (*span_ns > 0) {
        oracle->midway_until_ns[process] = oracle->world->now_ns + *span_ns;
        *span_ns =
            oracle->world->processes[process].pauses_midway ? *span_ns : 0;
    }
}

/* The store promises to wait no longer than node_timeout for the gate. A longer
 * wait excuses nothing. */
void sim_oracle_held_up(struct sim_oracle *oracle, int process,
                        int64_t since_ns)
{
    const struct sim_world *world = oracle->world;
    int64_t patience_ns = world->story->node_timeout_ms * SIM_MS;
    if (world->now_ns - since_ns <= patience_ns + patience_ns / 100 + GATE_NS) {
        oracle->held_up_ns[process] = world->now_ns;
    }
}

/* ---- Queries ----------------------------------------------------------- */

int64_t sim_reach_runs_since(struct sim_oracle *oracle, int process)
{
    note_faults(oracle);
    note_midway(oracle, process);
    int64_t since_ns =
        most(oracle->paused_ns[process], oracle->midway_until_ns[process]);
    if (oracle->world->machine != NULL) {
        since_ns = most(since_ns, oracle->held_up_ns[process]);
        since_ns = most(since_ns, oracle->world->processes[process].stood_ns);
    }
    bool runs = oracle->world->processes[process].client != NULL &&
                since_ns <= oracle->world->now_ns;
    return runs ? since_ns : INT64_MAX;
}

static bool votes(const struct sim_oracle *oracle, int process, unsigned node)
{
    const struct hf_client *client = oracle->world->processes[process].client;
    return client != NULL && (client->nodes.voting >> node & 1) != 0;
}

void sim_reach_look(struct sim_oracle *oracle, int process)
{
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        if (!votes(oracle, process, i)) {
            oracle->apart_ns[process][i] = oracle->world->now_ns;
        }
    }
}

int64_t sim_reach_since(struct sim_oracle *oracle, int process, unsigned node)
{
    int64_t runs_ns = sim_reach_runs_since(oracle, process);
    int64_t since_ns = most(oracle->disturbed_ns[process][node],
                            oracle->apart_ns[process][node]);
    bool is_there = oracle->world->nodes[node].is_up &&
                    oracle->world->nodes[node].old == NULL &&
                    votes(oracle, process, node) &&
                    since_ns <= oracle->world->now_ns;
    return is_there && runs_ns < INT64_MAX ? most(runs_ns, since_ns)
                                           : INT64_MAX;
}

int64_t sim_reach_way_ns(const struct sim_world *world)
{
    const struct sim_story *story = world->story;
    int64_t ns = story->delay_ns + 2 * story->jitter_ns;
    return ns + (story->late_ppm > 0 && !world->is_calm ? story->late_ns : 0);
}

bool sim_reach_is_fast(const struct sim_story *story, int64_t ttl_ms)
{
    int64_t trip_ns = 2 * (story->delay_ns + 2 * story->jitter_ns);
    return ttl_ms * SIM_MS > 6 * trip_ns;
}
