/* SPDX-License-Identifier: Apache-2.0 */
/* LIVE AFTER THE LAST FAULT, AND THE CHECKS AT THE END OF A RUN
 *
 * The time in which each waiter must be served is computed from the story, when
 * the last fault is over (sim_oracle_bound_ns(); oracle.h has the formula). At
 * the end of a run, RESIDUE reads all keys of each node: only counters, marks
 * and the server's marker may be left. ONCE looks for calls that have not
 * returned.
 *
 * Cost: once in a run, each of these. */
#include "oracle/oracle.h"
#include "oracle/state.h"

#include "local/machine.h"
#include "redis/redis.h"

#include "core/limits.h"

#include <stdlib.h>
#include <string.h>

/* The time for which a turn holds its lock after the last fault: 20 ms of work
 * (CALM_WORK_NS in world/workload.c), and the steps around it. */
#define WORK_NS (50 * SIM_MS)

/* ---- LIVE -------------------------------------------------------------- */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct load {
    int64_t ttl_ms;
    unsigned n_lanes;
    unsigned width;
};

static struct load load_of(const struct sim_story *story)
{
    struct load load = {0};
    uint32_t seen = 0;
    for (size_t i = 0; i < story->n_turns; i++) {
        const struct sim_turn *turn = &story->turns[i];
        unsigned names = (unsigned)__builtin_popcount(turn->names);
        unsigned width = turn->n_permits + names;
        load.ttl_ms = most(load.ttl_ms, turn->ttl_ms);
        load.width = width > load.width ? width : load.width;
        seen |= UINT32_C(1) << (turn->process * SIM_LANES_MAX + turn->lane);
    }
    load.n_lanes = (unsigned)__builtin_popcount(seen);
    return load;
}

/* The sum of a node's clock faults, and its greatest value. A fault that sets
 * an outlier's clock right does not count: outliers are a minority, and not
 * needed. */
struct offset {
    int64_t ns;
    int64_t peak_ns;
};

static struct offset offset_of(const struct sim_story *story, unsigned node)
{
    struct offset offset = {0};
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        if (fault->kind == SIM_FAULT_NODE_CLOCK &&
            (fault->node == (int)node || fault->node < 0) &&
            !sim_is_set_back(story, fault)) {
            offset.ns += fault->amount;
            offset.peak_ns = most(offset.peak_ns, offset.ns);
        }
    }
    return offset;
}

/* A lease that was set at a clock's greatest offset lasts longer by the
 * difference. */
static int64_t set_back_ns(const struct sim_story *story)
{
    int64_t sum_ns = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        struct offset offset = offset_of(story, i);
        sum_ns += offset.peak_ns - offset.ns;
    }
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        if (fault->kind == SIM_FAULT_PROCESS_CLOCK && fault->amount < 0) {
            sum_ns -= fault->amount;
        }
    }
    return sum_ns;
}

/* The same, of the node where it is longest: the place of a waiter lasts longer
 * by that, too. */
static int64_t place_set_back_ns(const struct sim_story *story)
{
    int64_t most_ns = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        struct offset offset = offset_of(story, i);
        most_ns = most(most_ns, offset.peak_ns - offset.ns);
    }
    return most_ns;
}

/* An outlier and a node that is less far ahead may have agreed on a counter
 * that the other nodes refuse until their clocks are near it (docs/caveats.md).
 */
static int64_t out_of_reach_ns(const struct sim_story *story)
{
    const int64_t reach_ns = (int64_t)HF_FENCE_AHEAD_MAX * 1000;
    int64_t most_ns = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        int64_t off_ns = story->node_wall_ns[i];
        for (unsigned j = 0; off_ns > reach_ns && j < story->n_nodes; j++) {
            int64_t ahead_ns =
                story->node_wall_ns[j] + offset_of(story, j).peak_ns;
            if (!sim_is_outlier(story, j) && off_ns - ahead_ns <= reach_ns) {
                most_ns = most(most_ns, off_ns - reach_ns);
            }
        }
    }
    return most_ns;
}

/* No node needs a quarantine in regimes where all keep their data. */
static bool may_quarantine(const struct sim_story *story)
{
    return story->has_quarantine && story->regime >= SIM_RESTART_DURABLE;
}

int64_t sim_oracle_bound_ns(const struct sim_story *story)
{
    struct load load = load_of(story);
    int64_t forgets_ns =
        may_quarantine(story)
            ? 2 * most(story->max_ttl_ms, HF_QUARANTINE_MS_MIN) * SIM_MS
            : 0;
    int64_t queue_ns = sim_claim_ns(load.ttl_ms);
    int64_t trip_ns = story->node_timeout_ms * SIM_MS + story->delay_ns +
                      8 * story->jitter_ns;
    int64_t each_ns =
        WORK_NS + load.width * (queue_ns + 100 * SIM_MS + 8 * trip_ns);
    return forgets_ns + set_back_ns(story) + out_of_reach_ns(story) +
           3 * load.ttl_ms * SIM_MS + 5000 * SIM_MS +
           2 * load.n_lanes * each_ns;
}

void sim_oracle_calm(struct sim_oracle *oracle)
{
    oracle->calm_ns = oracle->world->now_ns;
    oracle->bound_ns = sim_oracle_bound_ns(oracle->world->story);
    oracle->set_back_ns = place_set_back_ns(oracle->world->story);
}

/* ---- RESIDUE ----------------------------------------------------------- */

/* A line is "key type left value"; the key may be in quotes. */
static bool may_stay(const char *line, size_t len)
{
    static const char fence[] = ":fence";
    static const char mark[] = ":once";
    size_t key = 0;
    while (key < len && line[key] != ' ') {
        key++;
    }
    while (key > 0 && line[key - 1] == '"') {
        key--;
    }
    size_t from = len > 0 && line[0] == '"';
    bool is_marker = key - from == 7 && memcmp(line + from, "hf:node", 7) == 0;
    bool is_mark =
        key > sizeof(mark) - 1 &&
        memcmp(line + key - (sizeof(mark) - 1), mark, sizeof(mark) - 1) == 0;
    return is_marker || is_mark ||
           (key > sizeof(fence) - 1 && memcmp(line + key - (sizeof(fence) - 1),
                                              fence, sizeof(fence) - 1) == 0);
}

static void look_for_residue(struct sim_oracle *oracle, unsigned node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        abort();
    }
    sim_redis_dump(oracle->world->nodes[node].redis, out);
    fclose(out);
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (!may_stay(line, len)) {
            sim_oracle_breach(oracle, SIM_RESIDUE, "left at n%u: %.*s",
                              node + 1, (int)len, line);
            break;
        }
        line += len + (line[len] == '\n');
    }
    free(text);
}

/* ---- The end ----------------------------------------------------------- */

/* ONCE: a lane whose release has not returned. */
static void look_for_silence(struct sim_oracle *oracle)
{
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        const struct sim_process *process = &oracle->world->processes[i];
        for (unsigned j = 0; j < process->n_lanes; j++) {
            if (process->lanes[j].turn != NULL &&
                process->lanes[j].phase == SIM_LANE_RETURNING) {
                sim_oracle_breach(oracle, SIM_ONCE,
                                  "p%u.%u was never told what became of its "
                                  "release",
                                  i + 1, j + 1);
            }
        }
    }
}

void sim_oracle_finish(struct sim_oracle *oracle)
{
    look_for_silence(oracle);
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        if (live->turn != 0) {
            sim_oracle_breach(
                oracle, SIM_LIVE, "p%d %s at the end, since %.3f ms",
                live->process + 1, live->is_holding ? "holds" : "still waits",
                (double)live->begun_ns / 1e6);
        }
    }
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        look_for_residue(oracle, i);
    }
    if (oracle->world->machine != NULL) {
        sim_machine_judge_end(oracle->world->machine);
    }
}
