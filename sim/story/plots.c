/* SPDX-License-Identifier: Apache-2.0 */
/* PLOTS: sequences of faults, each at the worst moment after the one before. */
#include "story/plan.h"

enum { STREAM_PLOTS = 0x51200 };

/* A process is paused around the thirds of a lease, or receives nothing until
 * just before, or just after, its end. */
static void plot_renewal(struct sim_plan *plan)
{
    int process = sim_plan_process(plan);
    int64_t third_ns = plan->ttl_ns / 3;
    enum sim_fault_kind kind = sim_plan_chance(plan, 50)   ? SIM_FAULT_PAUSE
                               : sim_plan_chance(plan, 50) ? SIM_FAULT_SILENCE
                                                           : SIM_FAULT_DEAFNESS;
    int64_t at_ns = sim_plan_time(plan);
    for (int64_t i = sim_plan_between(plan, 2, 6); i > 0; i--) {
        int64_t span_ns = third_ns * sim_plan_between(plan, 1, 3) +
                          sim_plan_between(plan, -third_ns / 10, third_ns / 10);
        sim_plan_add(plan, (struct sim_fault){.kind = kind,
                                              .at_ns = at_ns,
                                              .process = process,
                                              .node = -1,
                                              .span_ns = span_ns});
        at_ns += span_ns + sim_plan_between(plan, 0, plan->ttl_ns);
    }
}

/* Nodes become unreachable one after another, and return in another order. */
static void plot_rolling_partition(struct sim_plan *plan)
{
    int64_t ttl_ns = plan->ttl_ns;
    int64_t at_ns = sim_plan_time(plan);
    int64_t heal_ns =
        at_ns + sim_plan_between(plan, ttl_ns / 4, ttl_ns * 3 / 2);
    bool is_stop = sim_plan_chance(plan, 50);
    for (unsigned i = 0; i < plan->story->n_nodes; i++) {
        if (sim_plan_chance(plan, 75)) {
            int64_t end_ns = heal_ns + sim_plan_between(plan, 0, ttl_ns);
            sim_plan_add(
                plan, (struct sim_fault){.kind = is_stop ? SIM_FAULT_STOP
                                                         : SIM_FAULT_DEAFNESS,
                                         .at_ns = at_ns,
                                         .process = -1,
                                         .node = (int)i,
                                         .span_ns = end_ns - at_ns});
        }
        at_ns += sim_plan_between(plan, 0, ttl_ns / 4);
    }
}

static void add_cut(struct sim_plan *plan, int64_t at_ns)
{
    sim_plan_add(plan, (struct sim_fault){.kind = SIM_FAULT_CUT,
                                          .at_ns = at_ns,
                                          .process = sim_plan_process(plan),
                                          .node = sim_plan_node(plan)});
}

/* All nodes are paused at once, with requests in their buffers; some
 * connections end before they resume. */
static void plot_stale_requests(struct sim_plan *plan)
{
    int64_t at_ns = sim_plan_time(plan);
    int64_t span_ns = sim_plan_span(plan);
    for (unsigned i = 0; i < plan->story->n_nodes; i++) {
        sim_plan_add(plan, (struct sim_fault){.kind = SIM_FAULT_STOP,
                                              .at_ns = at_ns,
                                              .node = (int)i,
                                              .span_ns = span_ns});
        if (sim_plan_chance(plan, 60)) {
            sim_plan_add(
                plan, (struct sim_fault){
                          .kind = SIM_FAULT_CUT,
                          .at_ns = at_ns + sim_plan_between(plan, 0, span_ns),
                          .process = sim_plan_process(plan),
                          .node = (int)i});
        }
    }
}

/* A connection stalls and ends. Its process repeats its requests on the next
 * one; those of the old connection arrive up to `late_ns` later. */
static void add_ghost(struct sim_plan *plan, int64_t at_ns, int process,
                      int node, int64_t late_ns)
{
    int64_t end_ns = sim_plan_amount(plan, SIM_FAULT_GHOST);
    sim_plan_add(plan,
                 (struct sim_fault){
                     .kind = SIM_FAULT_GHOST,
                     .at_ns = at_ns,
                     .process = process,
                     .node = node,
                     .amount = end_ns,
                     .span_ns = end_ns + sim_plan_between(plan, 0, late_ns)});
}

/* Such ghosts at most nodes at once, repeatedly. */
static void plot_late_requests(struct sim_plan *plan)
{
    int process = sim_plan_chance(plan, 30) ? -1 : sim_plan_process(plan);
    int64_t at_ns = sim_plan_time(plan);
    for (int64_t i = sim_plan_between(plan, 2, 6); i > 0; i--) {
        for (unsigned n = 0; n < plan->story->n_nodes; n++) {
            if (sim_plan_chance(plan, 75)) {
                add_ghost(plan, at_ns, process, (int)n, plan->ttl_ns);
            }
        }
        at_ns += sim_plan_between(plan, 0, plan->ttl_ns / 2);
    }
}

/* Connections end repeatedly, with data in flight. */
static void plot_flaky(struct sim_plan *plan)
{
    int64_t at_ns = sim_plan_time(plan);
    for (int64_t i = sim_plan_between(plan, 5, 30); i > 0; i--) {
        add_cut(plan, at_ns);
        at_ns += sim_plan_between(plan, 0, plan->ttl_ns / 10);
    }
}

/* A partition: one process reaches only a minority of the nodes, the others
 * reach only the majority. */
static void plot_minority(struct sim_plan *plan)
{
    uint32_t nodes = (UINT32_C(1) << (plan->story->n_nodes / 2)) - 1;
    uint32_t process = UINT32_C(1) << sim_plan_process(plan);
    sim_plan_add(plan, (struct sim_fault){.kind = SIM_FAULT_PARTITION,
                                          .at_ns = sim_plan_time(plan),
                                          .span_ns = sim_plan_span(plan),
                                          .mask = process | nodes << 16});
}

/* A kind of restart that fits the regime. */
static enum sim_fault_kind a_restart(struct sim_plan *plan)
{
    if (!sim_plan_has(plan, SIM_FAULT_EMPTY)) {
        return SIM_FAULT_RESTART;
    }
    return sim_plan_chance(plan, 50)   ? SIM_FAULT_EMPTY
           : sim_plan_chance(plan, 50) ? SIM_FAULT_AGE
                                       : SIM_FAULT_REPLICA;
}

static bool has_restarts(const struct sim_plan *plan)
{
    return sim_plan_has(plan, SIM_FAULT_RESTART) ||
           sim_plan_has(plan, SIM_FAULT_EMPTY);
}

/* All nodes restart, one after another. */
static void plot_rolling(struct sim_plan *plan)
{
    int64_t at_ns = sim_plan_time(plan);
    for (unsigned i = 0; has_restarts(plan) && i < plan->story->n_nodes; i++) {
        int64_t down_ns =
            sim_plan_between(plan, SIM_MS, plan->ttl_ns / 2 + SIM_MS);
        enum sim_fault_kind kind = a_restart(plan);
        sim_plan_add(plan,
                     (struct sim_fault){.kind = kind,
                                        .at_ns = at_ns,
                                        .node = (int)i,
                                        .span_ns = down_ns,
                                        .amount = sim_plan_amount(plan, kind)});
        at_ns += down_ns + sim_plan_between(plan, 0, plan->ttl_ns / 2);
    }
}

/* Nodes lose their data while a process that may hold a lock is paused or cut
 * off, and believes that it holds it until its lease ends. */
static void plot_data_loss(struct sim_plan *plan)
{
    int64_t ttl_ns = plan->ttl_ns;
    int64_t at_ns = sim_plan_time(plan);
    bool is_pause = sim_plan_chance(plan, 50);
    int victim = sim_plan_process(plan);
    if (!has_restarts(plan)) {
        return;
    }
    sim_plan_add(
        plan, (struct sim_fault){
                  .kind = is_pause ? SIM_FAULT_PAUSE : SIM_FAULT_SILENCE,
                  .at_ns = at_ns,
                  .process = victim,
                  .node = -1,
                  .span_ns = sim_plan_between(plan, ttl_ns / 2, ttl_ns * 2)});
    for (unsigned i = 0; i < plan->story->n_nodes; i++) {
        if (!sim_plan_chance(plan, 80)) {
            continue;
        }
        enum sim_fault_kind kind = a_restart(plan);
        sim_plan_add(
            plan,
            (struct sim_fault){
                .kind = kind,
                .at_ns = at_ns + sim_plan_between(plan, 0, ttl_ns / 10),
                .node = (int)i,
                .span_ns = sim_plan_between(plan, SIM_MS, ttl_ns / 10 + SIM_MS),
                .amount = sim_plan_amount(plan, kind)});
    }
}

/* The outliers' clocks, those of a minority, are set right. (A sole server's
 * clock is not: setting it back would make leases there years longer.) */
static void plot_set_right(struct sim_plan *plan)
{
    const struct sim_story *story = plan->story;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        if (story->regime == SIM_WILD_CLOCKS && story->n_nodes > 1 &&
            sim_is_outlier(story, i)) {
            sim_plan_add(plan,
                         (struct sim_fault){.kind = SIM_FAULT_NODE_CLOCK,
                                            .at_ns = sim_plan_time(plan),
                                            .node = (int)i,
                                            .amount = -story->node_wall_ns[i]});
        }
    }
}

/* ---- Servers that start with a wrong clock, or sync too seldom ----------- */

static void add_to_node(struct sim_plan *plan, enum sim_fault_kind kind,
                        int node, int64_t at_ns, int64_t span_ns,
                        int64_t amount)
{
    sim_plan_add(plan, (struct sim_fault){.kind = kind,
                                          .at_ns = at_ns,
                                          .process = -1,
                                          .node = node,
                                          .span_ns = span_ns,
                                          .amount = amount});
}

/* The offset of a wall clock before it is set right: behind by up to decades,
 * as without a battery; or ahead by less than a story, since a lease that is
 * set in that time lasts longer by the offset. */
static int64_t a_wrong_wall(struct sim_plan *plan)
{
    return sim_plan_chance(plan, 75)
               ? -sim_draw_log(&plan->random, SIM_S, 20 * 365 * 86400 * SIM_S)
               : sim_draw_log(&plan->random, SIM_S, 600 * SIM_S);
}

static int64_t until_set_right(struct sim_plan *plan)
{
    int64_t most_ns = sim_set_right_most_ns(plan->story);
    return most_ns <= 0 ? 0 : sim_plan_between(plan, 0, most_ns);
}

/* A node restarts without its data, and with a wrong clock that is set right
 * soon after. */
static void plot_boot_clock(struct sim_plan *plan)
{
    int64_t at_ns = sim_plan_time(plan);
    int64_t down_ns = sim_plan_between(plan, 2 * SIM_MS, plan->ttl_ns / 4);
    int node = sim_plan_node(plan);
    int64_t off_ns = a_wrong_wall(plan) / SIM_MS * SIM_MS;
    int64_t right_ns = at_ns + down_ns + until_set_right(plan);
    if (plan->story->regime != SIM_BOOT_CLOCKS ||
        right_ns >= plan->story->calm_ns * 9 / 10) {
        return;
    }
    add_to_node(plan, SIM_FAULT_NODE_CLOCK, node, at_ns + 1000, 0, off_ns);
    add_to_node(plan, SIM_FAULT_NODE_CLOCK, node, right_ns, 0, -off_ns);
    enum sim_fault_kind kind =
        sim_plan_chance(plan, 70) ? SIM_FAULT_EMPTY : SIM_FAULT_AGE;
    add_to_node(plan, kind, node, at_ns, down_ns, sim_plan_amount(plan, kind));
}

/* A durable server is configured to sync seldom, and loses its last seconds. */
static void plot_unsynced(struct sim_plan *plan)
{
    int64_t at_ns = sim_plan_time(plan);
    int64_t lost_ns = sim_draw_log(&plan->random, SIM_MS, 2 * SIM_S);
    int64_t down_ns = sim_plan_between(plan, SIM_MS, plan->ttl_ns / 4 + SIM_MS);
    int node = sim_plan_node(plan);
    enum sim_fault_kind kind =
        sim_plan_chance(plan, 50) ? SIM_FAULT_EVERYSEC : SIM_FAULT_UNSYNCED;
    if (plan->story->regime != SIM_RESTART_DURABLE) {
        return;
    }
    int64_t loss_ns = at_ns + sim_plan_between(plan, 0, 2 * plan->ttl_ns);
    if (lost_ns > loss_ns - at_ns) {
        lost_ns = loss_ns - at_ns; /* earlier writes are on the disk */
    }
    if (loss_ns + down_ns < plan->story->calm_ns * 9 / 10) {
        sim_story_add_fault(
            plan->story,
            &(struct sim_fault){.kind = kind,
                                .at_ns = at_ns / 1000 * 1000,
                                .process = -1,
                                .node = node,
                                .span_ns = plan->story->calm_ns - at_ns});
        add_to_node(plan, SIM_FAULT_AGE, node, loss_ns, down_ns,
                    lost_ns / 1000 * 1000);
    }
}

void sim_plots_add(struct sim_plan *plan)
{
    static void (*const plots[])(struct sim_plan *) = {
        plot_renewal,  plot_rolling_partition, plot_stale_requests,
        plot_minority, plot_rolling,           plot_data_loss,
        plot_flaky,    plot_late_requests,     plot_boot_clock,
        plot_unsynced, plot_set_right,
    };
    for (size_t i = 0; i < sizeof(plots) / sizeof(plots[0]); i++) {
        plan->random = sim_random_of(plan->story->seed, STREAM_PLOTS + i);
        if (sim_plan_chance(plan, 35)) {
            for (int64_t n = sim_plan_between(plan, 1, 3); n > 0; n--) {
                plots[i](plan);
            }
        }
    }
}
