/* SPDX-License-Identifier: Apache-2.0 */
/* DRAWING FAULTS
 *
 * About half of the seeds leave out a given kind of fault. The other kinds
 * occur a few times, often close to other faults, for spans around the length
 * of a lease. Some seeds also have plots (plots.c). */
#include "story/plan.h"

#include "base/assert.h"

enum { STREAM_FAULTS = 0x51100 };

/* System calls until a process stops or is killed in one: a request takes about
 * ten, so this reaches into the next ones. */
#define CALLS_MAX 64

/* The kinds of faults that each regime may have, and those that it always has.
 */
#define BIT(kind) (UINT32_C(1) << (kind))
#define OF_NETWORK                                                             \
    (BIT(SIM_FAULT_CUT) | BIT(SIM_FAULT_SILENCE) | BIT(SIM_FAULT_DEAFNESS) |   \
     BIT(SIM_FAULT_PARTITION) | BIT(SIM_FAULT_SLOW) | BIT(SIM_FAULT_GHOST) |   \
     BIT(SIM_FAULT_PAUSE) | BIT(SIM_FAULT_PAUSE_MIDWAY) |                      \
     BIT(SIM_FAULT_CRASH) | BIT(SIM_FAULT_STOP) | BIT(SIM_FAULT_FULL) |        \
     BIT(SIM_FAULT_FORGET_SCRIPTS) | BIT(SIM_FAULT_REBOOT))
#define OF_CLOCKS (BIT(SIM_FAULT_NODE_CLOCK) | BIT(SIM_FAULT_PROCESS_CLOCK))
#define OF_AMNESIA                                                             \
    (BIT(SIM_FAULT_RESTART) | BIT(SIM_FAULT_AGE) | BIT(SIM_FAULT_EMPTY) |      \
     BIT(SIM_FAULT_REPLICA))
#define OF_LOCAL                                                               \
    (BIT(SIM_FAULT_PAUSE) | BIT(SIM_FAULT_PAUSE_MIDWAY) |                      \
     BIT(SIM_FAULT_CRASH) | BIT(SIM_FAULT_REBOOT) | BIT(SIM_FAULT_FULL) |      \
     BIT(SIM_FAULT_DEAFNESS) | BIT(SIM_FAULT_SLOW) |                           \
     BIT(SIM_FAULT_STOP_IN_CALL) | BIT(SIM_FAULT_KILL_IN_CALL))

static const struct {
    uint32_t possible;
    uint32_t required; /* in every seed */
} kinds_of[SIM_REGIMES] = {
    [SIM_NETWORK] = {OF_NETWORK, 0},
    [SIM_RATES] = {OF_NETWORK, 0},
    [SIM_RESTART_DURABLE] = {OF_NETWORK, BIT(SIM_FAULT_RESTART)},
    [SIM_AMNESIA] = {OF_NETWORK | OF_AMNESIA,
                     BIT(SIM_FAULT_AGE) | BIT(SIM_FAULT_EMPTY)},
    [SIM_FLOOR_ALONE] = {OF_NETWORK | OF_AMNESIA,
                         BIT(SIM_FAULT_AGE) | BIT(SIM_FAULT_EMPTY)},
    [SIM_WILD_CLOCKS] = {OF_NETWORK, OF_CLOCKS},
    [SIM_AMNESIA_WILD] = {OF_NETWORK | OF_AMNESIA | OF_CLOCKS,
                          BIT(SIM_FAULT_EMPTY) | BIT(SIM_FAULT_NODE_CLOCK)},
    [SIM_FAILOVER] = {OF_NETWORK | BIT(SIM_FAULT_RETURN),
                      BIT(SIM_FAULT_PROMOTE)},
    [SIM_EVICT] = {OF_NETWORK, BIT(SIM_FAULT_EVICT)},
    [SIM_FLUSH] = {OF_NETWORK, BIT(SIM_FAULT_FLUSH)},
    [SIM_BOOT_CLOCKS] = {OF_NETWORK | OF_AMNESIA, BIT(SIM_FAULT_EMPTY)},
    [SIM_LOCAL] = {OF_LOCAL, 0},
};

bool sim_plan_has(const struct sim_plan *plan, enum sim_fault_kind kind)
{
    uint32_t required = kinds_of[plan->story->regime].required;
    return (required & BIT(kind)) != 0;
}

int sim_plan_process(struct sim_plan *plan)
{
    return (int)sim_plan_between(plan, 0, plan->story->n_processes - 1);
}

int sim_plan_node(struct sim_plan *plan)
{
    return (int)sim_plan_between(plan, 0, plan->story->n_nodes - 1);
}

int64_t sim_plan_time(struct sim_plan *plan)
{
    int64_t end_ns = plan->story->calm_ns * 9 / 10;
    if (sim_plan_chance(plan, 50)) {
        return sim_plan_between(plan, 0, end_ns);
    }
    int64_t centre_ns = plan->centres_ns[sim_plan_between(plan, 0, 3)];
    return sim_plan_between(plan, centre_ns, centre_ns + plan->ttl_ns);
}

/* Near a third of a lease, where renewals are due, or past its end. */
int64_t sim_plan_span(struct sim_plan *plan)
{
    int64_t ttl_ns = plan->ttl_ns;
    int64_t kind = sim_plan_between(plan, 0, 9);
    if (kind < 4) {
        return sim_plan_between(plan, ttl_ns / 100, ttl_ns / 3);
    }
    return kind < 8 ? sim_plan_between(plan, ttl_ns / 3, ttl_ns * 6 / 5)
                    : sim_plan_between(plan, ttl_ns, 3 * ttl_ns);
}

/* Shorten the fault to end before the calm; if it is then too short, leave it
 * out. */
void sim_plan_add(struct sim_plan *plan, struct sim_fault fault)
{
    const struct sim_fault_form *form = sim_fault_form(fault.kind);
    int64_t calm_ns = plan->story->calm_ns;
    int64_t at_ns = fault.at_ns / 1000 * 1000;
    int64_t span_ns = form->has_span ? fault.span_ns / 1000 * 1000 : 0;
    if (at_ns < 0 || at_ns >= calm_ns * 95 / 100 || fault.span_ns < 0) {
        return;
    }
    int64_t least_ns = sim_span_least_ns(plan->story, &fault);
    if (span_ns < least_ns) {
        span_ns = least_ns;
    }
    if (span_ns > calm_ns / 4) {
        span_ns = calm_ns / 4;
    }
    if (at_ns + span_ns > calm_ns * 99 / 100) {
        span_ns = calm_ns * 99 / 100 - at_ns;
    }
    if (span_ns < least_ns) {
        return;
    }
    fault.at_ns = at_ns;
    fault.span_ns = span_ns;
    fault.process = form->has_process ? fault.process : -1;
    fault.node = form->has_node ? fault.node : -1;
    if (fault.kind == SIM_FAULT_NODE_CLOCK &&
        !sim_step_has_room(plan->story, &fault)) {
        return;
    }
    sim_story_add_fault(plan->story, &fault);
}

/* ---- One by one ---------------------------------------------------------- */

/* Mostly up to some leases, seldom up to an hour. Steps back are smaller. A
 * process' clock that is set back stands still for that time: not for an hour.
 * A node's clock that is set back makes leases longer, while the waiters send
 * heartbeats: not for thousands of leases. */
static int64_t a_jump(struct sim_plan *plan, enum sim_fault_kind kind)
{
    bool is_long = sim_plan_chance(plan, 20);
    bool is_back = sim_plan_chance(plan, 50);
    is_long = is_long && !(is_back && kind == SIM_FAULT_PROCESS_CLOCK);
    int64_t jump_ns = sim_draw_log(&plan->random, SIM_MS,
                                   is_long ? 3600 * SIM_S : 3 * plan->ttl_ns);
    int64_t most_back_ns = 120 * plan->ttl_ns;
    return is_back ? -(jump_ns < most_back_ns ? jump_ns : most_back_ns)
                   : jump_ns;
}

int64_t sim_plan_amount(struct sim_plan *plan, enum sim_fault_kind kind)
{
    struct sim_random *random = &plan->random;
    const struct sim_fault_form *form = sim_fault_form(kind);
    if (form->is_count) {
        bool is_call = kind != SIM_FAULT_EVICT;
        return is_call ? sim_draw_log(random, 1, CALLS_MAX)
                       : sim_plan_between(plan, 1, 6);
    }
    int64_t ns = 0;
    if (kind == SIM_FAULT_GHOST) {
        ns = sim_draw_log(random, SIM_MS, plan->ttl_ns / 3 + SIM_MS);
    } else if (kind == SIM_FAULT_SLOW) {
        ns = sim_draw_log(random, SIM_MS, plan->ttl_ns / 2 + SIM_MS);
    } else if (kind == SIM_FAULT_AGE || kind == SIM_FAULT_REPLICA ||
               kind == SIM_FAULT_PROMOTE) {
        ns = sim_draw_log(random, SIM_MS, 2 * plan->ttl_ns + 2 * SIM_MS);
    } else if (form->amount != NULL) {
        ns = a_jump(plan, kind);
    }
    return ns / 1000 * 1000;
}

/* One side of a partition: any set of processes and nodes, but not empty. */
static uint32_t a_mask(struct sim_plan *plan)
{
    const struct sim_story *story = plan->story;
    uint32_t processes = (UINT32_C(1) << story->n_processes) - 1;
    uint32_t nodes = (UINT32_C(1) << story->n_nodes) - 1;
    uint32_t mask = (uint32_t)sim_draw(&plan->random) & processes;
    mask |= ((uint32_t)sim_draw(&plan->random) & nodes) << 16;
    return mask != 0 ? mask : 1;
}

static struct sim_fault a_fault(struct sim_plan *plan, enum sim_fault_kind kind)
{
    struct sim_fault fault = {.kind = kind,
                              .at_ns = sim_plan_time(plan),
                              .process = sim_plan_process(plan),
                              .node = sim_plan_node(plan),
                              .span_ns = sim_plan_span(plan)};
    const struct sim_fault_form *form = sim_fault_form(kind);
    fault.amount = sim_plan_amount(plan, kind);
    if (form->has_mask) {
        fault.mask = a_mask(plan);
    }
    if (kind == SIM_FAULT_GHOST) {
        fault.span_ns += fault.amount;
    }
    if (form->has_process && form->has_node && sim_plan_chance(plan, 30)) {
        *(sim_plan_chance(plan, 50) ? &fault.process : &fault.node) = -1;
    }
    return fault;
}

static void add_kinds(struct sim_plan *plan)
{
    uint32_t possible = kinds_of[plan->story->regime].possible;
    uint32_t required = kinds_of[plan->story->regime].required;
    for (int kind = 0; kind < SIM_FAULTS; kind++) {
        plan->random =
            sim_random_of(plan->story->seed, STREAM_FAULTS + (uint64_t)kind);
        bool is_on = sim_plan_chance(plan, 45);
        bool is_required = (required & BIT(kind)) != 0;
        if (!is_required && (!is_on || (possible & BIT(kind)) == 0)) {
            continue;
        }
        int64_t n = sim_draw_log(&plan->random, 1, is_required ? 6 : 8);
        for (int64_t i = 0; i < n; i++) {
            sim_plan_add(plan, a_fault(plan, (enum sim_fault_kind)kind));
        }
    }
}

void sim_faults_draw(struct sim_story *story, int64_t ttl_ns)
{
    struct sim_plan plan = {.story = story, .ttl_ns = ttl_ns};
    HF_ASSERT(story->regime < SIM_REGIMES);
    plan.random = sim_random_of(story->seed, STREAM_FAULTS - 1);
    for (int i = 0; i < 4; i++) {
        plan.centres_ns[i] =
            sim_plan_between(&plan, 0, story->calm_ns * 9 / 10);
    }
    if (story->regime == SIM_LOCAL && sim_plan_chance(&plan, 25)) {
        return; /* without faults FIFO is checked */
    }
    add_kinds(&plan);
    if (story->regime != SIM_LOCAL) {
        sim_plots_add(&plan);
    }
}
