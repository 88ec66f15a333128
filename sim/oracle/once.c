/* SPDX-License-Identifier: Apache-2.0 */
/* PERIOD: ONE COMMAND IN A PERIOD. A run is a call of hf_lock_mark(): its
 * command starts when the call returns HF_OK. Then
 *
 *   - a majority of the nodes has stored the mark by that time;
 *   - no earlier run of that name has started whose period is not over, unless
 *     its mark was withdrawn, or its lock broken without a wait before it
 *     started (two may run then), or the mark is lost: each node that ever had
 *     it has lost its data since it last stored it, or did not reply to this
 *     run in time (docs/guarantees.md, client/mark.c);
 *   - a try returns no mark if all marks of the name are withdrawn (or, in the
 *     embedded store, over), as long as no node has lost data;
 *   - after the last fault, a try that finds the mark at some of the nodes that
 *     replied writes it to all of them.
 *
 * "In time" is a little less than the time for which a look waits for replies
 * beyond a majority: a node's timeout, at most a twentieth of the longest lease
 * (core/nodes.c). A reply has arrived when the process has read its bytes.
 *
 * A period may end early by the difference of the clocks, and by the time that
 * each copy of a mark took: the end of a copy counts from the request that
 * found the mark. */
#include "oracle/once.h"

#include "oracle/calls.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdlib.h>

/* The longest time of one look (client/broadcast.c). */
#define LOOK_NS (900 * SIM_MS)

struct sim_once *sim_once_of(struct sim_oracle *oracle)
{
    if (oracle->once == NULL) {
        oracle->once = calloc(1, sizeof(*oracle->once));
        HF_ASSERT(oracle->once != NULL);
    }
    return oracle->once;
}

void sim_once_free(struct sim_once *once)
{
    if (once != NULL) {
        free(once->runs);
        free(once);
    }
}

static struct sim_mark_run *add_run(struct sim_once *once,
                                    const struct sim_mark_run *run)
{
    if (once->n == once->cap) {
        once->cap = once->cap == 0 ? 64 : 2 * once->cap;
        once->runs = realloc(once->runs, once->cap * sizeof(*run));
        HF_ASSERT(once->runs != NULL);
    }
    once->runs[once->n] = *run;
    return &once->runs[once->n++];
}

/* The time by which a mark may end early: a node's clock may be 1% fast, and
 * each copy may lose the time of a look. */
static int64_t slack_ns(const struct sim_mark_run *run)
{
    return run->period_ns / 100 + 5 * SIM_MS +
           run->n_copies * (LOOK_NS + 2 * SIM_MS);
}

static bool is_in_period(const struct sim_mark_run *run, int64_t at_ns)
{
    int64_t left_ns = run->end_ns - at_ns;
    return left_ns > slack_ns(run);
}

/* ---- Tries --------------------------------------------------------------- */

static void begin_call(struct sim_oracle *oracle, int process)
{
    sim_once_of(oracle)->calls[process] = (struct sim_mark_call){
        .is_on = true, .begun_ns = oracle->world->now_ns};
}

static int64_t in_time_ns(const struct sim_oracle *oracle)
{
    const struct sim_story *story = oracle->world->story;
    int64_t wait_ns = story->node_timeout_ms * SIM_MS;
    int64_t share_ns = story->max_ttl_ms * SIM_MS / 20;
    wait_ns = wait_ns < share_ns ? wait_ns : share_ns;
    wait_ns = wait_ns < LOOK_NS ? wait_ns : LOOK_NS;
    return wait_ns * 9 / 10;
}

static bool is_in_time(const struct sim_oracle *oracle,
                       const struct sim_mark_call *call, int name,
                       const struct sim_mark_look *look)
{
    return look->read_ns > 0 &&
           look->read_ns - call->first_ns[name] <= in_time_ns(oracle);
}

/* In an embedded store a mark ends one period after it was written, since there
 * are no copies. */
static bool may_last(const struct sim_oracle *oracle,
                     const struct sim_mark_run *run, int64_t since_ns)
{
    return oracle->world->machine == NULL ||
           since_ns <= run->taken_ns + run->period_ns + slack_ns(run);
}

/* BUSY needs a cause: a mark of the name that may still have been in its
 * period, and was not withdrawn, when the call began. */
static void check_cause(struct sim_oracle *oracle, int name,
                        const struct sim_mark_call *call)
{
    const struct sim_once *once = oracle->once;
    for (size_t i = 0; i < once->n; i++) {
        const struct sim_mark_run *run = &once->runs[i];
        if (run->name == name && may_last(oracle, run, call->begun_ns) &&
            (!run->is_withdrawn || run->withdrawn_ns > call->begun_ns ||
             !is_in_period(run, oracle->world->now_ns))) {
            return;
        }
    }
    if (oracle->forgot_ns < 0) {
        sim_oracle_breach(oracle, SIM_PERIOD,
                          "\"%c\" is said to be marked, but all of its marks "
                          "were withdrawn, or are over",
                          'a' + name);
    }
}

void sim_once_look_begins(struct sim_oracle *oracle, int process)
{
    begin_call(oracle, process);
}

/* Only replies that were read in time: the library need not know of others. */
static uint8_t lacking(const struct sim_oracle *oracle,
                       const struct sim_mark_call *call,
                       const struct sim_mark_run *run)
{
    uint8_t mask = 0;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        const struct sim_mark_look *look = &call->looks[run->name][i];
        if (look->is_executed && look->fence < run->fence &&
            is_in_time(oracle, call, run->name, look)) {
            mask |= (uint8_t)(1U << i);
        }
    }
    return mask;
}

/* A look that meets a newer mark repairs that one, and not this. */
static bool has_found(const struct sim_oracle *oracle,
                      const struct sim_mark_call *call,
                      const struct sim_mark_run *run)
{
    bool has = false;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        const struct sim_mark_look *look = &call->looks[run->name][i];
        bool is_heard = is_in_time(oracle, call, run->name, look);
        has |= is_heard && look->is_live && look->fence == run->fence;
        if (look->is_executed && look->fence > run->fence) {
            return false;
        }
    }
    return has;
}

/* The copies that a look has written have arrived by now. */
static void on_repaired(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_oracle *oracle = object;
    const struct sim_mark_run *run = &oracle->once->runs[arg >> 8];
    uint8_t wanted = (uint8_t)arg;
    (void)world;
    if (!is_in_period(run, oracle->world->now_ns) || run->may_be_withdrawn ||
        run->is_over || (run->has & wanted) == wanted) {
        return;
    }
    for (size_t i = 0; i < oracle->once->n; i++) {
        const struct sim_mark_run *other = &oracle->once->runs[i];
        if (other->name == run->name && other->fence > run->fence) {
            return; /* it has replaced this one */
        }
    }
    sim_oracle_breach(oracle, SIM_PERIOD,
                      "the mark %" PRIu64 " of \"%c\" was found at some nodes, "
                      "but is not written back to the others",
                      run->fence, 'a' + run->name);
}

void sim_once_looked(struct sim_oracle *oracle, int process, int name,
                     int64_t left_ms)
{
    struct sim_once *once = sim_once_of(oracle);
    struct sim_mark_call *call = &once->calls[process];
    call->is_on = false;
    if (left_ms <= 0) {
        return;
    }
    check_cause(oracle, name, call);
    for (size_t i = 0; i < once->n && oracle->world->is_calm; i++) {
        uint8_t mask = lacking(oracle, call, &once->runs[i]);
        if (once->runs[i].name == name && mask != 0 &&
            has_found(oracle, call, &once->runs[i])) {
            sim_world_at(oracle->world, oracle->world->now_ns + LOOK_NS,
                         on_repaired, oracle, (uint64_t)i << 8 | mask);
        }
    }
}

/* ---- Runs ---------------------------------------------------------------- */

static struct sim_live *live_of(struct sim_oracle *oracle, uint64_t turn)
{
    HF_ASSERT(turn > 0 && turn <= oracle->n_records);
    return oracle->records[turn - 1].live;
}

/* The latest run for this part of a turn. */
static struct sim_mark_run *run_of(struct sim_once *once,
                                   const struct sim_part *part)
{
    for (size_t i = once->n; i > 0; i--) {
        struct sim_mark_run *run = &once->runs[i - 1];
        if (run->name == part->chain->text[0] - 'a' &&
            run->fence == part->fence) {
            return run;
        }
    }
    return NULL;
}

void sim_once_mark_begins(struct sim_oracle *oracle, uint64_t turn,
                          int64_t period_ms)
{
    const struct sim_live *live = live_of(oracle, turn);
    begin_call(oracle, live->process);
    for (unsigned i = 0; i < live->n_parts; i++) {
        const struct sim_part *part = &live->parts[i];
        struct sim_mark_run run = {.fence = part->fence,
                                   .name = part->chain->text[0] - 'a',
                                   .process = live->process,
                                   .period_ns = period_ms * SIM_MS};
        run.end_ns = oracle->world->now_ns + run.period_ns;
        add_run(sim_once_of(oracle), &run);
    }
}

/* The excuse of the rule: each node that ever had the mark has lost it, or did
 * not reply to this call in time. */
static bool may_be_lost(const struct sim_oracle *oracle,
                        const struct sim_mark_call *call,
                        const struct sim_mark_run *run)
{
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        const struct sim_mark_look *look = &call->looks[run->name][i];
        uint8_t bit = (uint8_t)(1U << i);
        if ((run->ever & bit) == 0 || !look->is_executed ||
            look->fence > run->fence) {
            continue;
        }
        bool has_it = look->is_live && look->fence == run->fence;
        if (has_it ? is_in_time(oracle, call, run->name, look)
                   : (run->lost & bit) == 0) {
            return false;
        }
    }
    return true;
}

/* Check the run against earlier runs of its name whose periods are not over. */
static void
check_earlier(struct sim_oracle *oracle, const struct sim_mark_call *call,
              const struct sim_mark_run *now, int64_t at_ns, bool is_last)
{
    struct sim_once *once = oracle->once;
    for (size_t i = 0; i < once->n; i++) {
        struct sim_mark_run *run = &once->runs[i];
        if (run == now || run->name != now->name || !run->is_started ||
            run->fence > now->fence || run->may_be_withdrawn || run->is_over ||
            !is_in_period(run, at_ns)) {
            continue;
        }
        bool may = may_be_lost(oracle, call, run);
        run->is_over = may ? is_last && now->ever != 0 : now->is_started;
        if (!may && now->is_started) {
            sim_oracle_breach(
                oracle, SIM_PERIOD,
                "p%d started a command under \"%c\" with fence %" PRIu64
                ", in the period of p%d with fence %" PRIu64
                ", which lasts until %.3f ms",
                now->process + 1, 'a' + now->name, now->fence, run->process + 1,
                run->fence, (double)run->end_ns / 1e6);
        }
    }
}

/* By now the process has read all replies that were in time. */
static void on_heard(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_oracle *oracle = object;
    struct sim_mark_check *check = &oracle->once->checks[arg];
    if (check->at_ns != 0 &&
        world->now_ns >= check->at_ns + in_time_ns(oracle)) {
        check_earlier(oracle, &check->call, &oracle->once->runs[check->run],
                      check->at_ns, true);
        check->at_ns = 0;
        check->call.is_on = false;
    }
}

static void check_run(struct sim_oracle *oracle, struct sim_mark_run *run)
{
    unsigned n_nodes = oracle->world->story->n_nodes;
    struct sim_once *once = oracle->once;
    int64_t now_ns = oracle->world->now_ns;
    const struct sim_mark_call *call = &once->calls[run->process];
    check_earlier(oracle, call, run, now_ns, !run->is_started);
    if (!run->is_started) {
        return;
    }
    if ((unsigned)__builtin_popcount(run->ever) <= n_nodes / 2) {
        sim_oracle_breach(oracle, SIM_PERIOD,
                          "p%d started a command under \"%c\", and its mark "
                          "%" PRIu64 " was at %d of %u nodes",
                          run->process + 1, 'a' + run->name, run->fence,
                          __builtin_popcount(run->ever), n_nodes);
    }
    once->checks[run->process] =
        (struct sim_mark_check){(size_t)(run - once->runs), now_ns, *call};
    once->checks[run->process].call.is_on = true;
    sim_world_at(oracle->world, now_ns + in_time_ns(oracle), on_heard, oracle,
                 (uint64_t)run->process);
}

void sim_once_marked(struct sim_oracle *oracle, uint64_t turn,
                     enum hf_status status)
{
    const struct sim_live *live = live_of(oracle, turn);
    sim_once_of(oracle)->calls[live->process].is_on = false;
    for (unsigned i = 0; i < live->n_parts; i++) {
        struct sim_mark_run *run = run_of(oracle->once, &live->parts[i]);
        run->is_started = status == HF_OK;
        run->may_be_withdrawn |= sim_break_excuses(oracle, &live->parts[i]);
        check_run(oracle, run);
    }
    if (status == HF_BUSY && live->n_parts == 1) { /* else: which name? */
        check_cause(oracle, live->parts[0].chain->text[0] - 'a',
                    &oracle->once->calls[live->process]);
    }
}

/* ---- Withdrawing --------------------------------------------------------- */

void sim_once_unmark_begins(struct sim_oracle *oracle, uint64_t turn)
{
    const struct sim_live *live = live_of(oracle, turn);
    for (unsigned i = 0; i < live->n_parts; i++) {
        run_of(oracle->once, &live->parts[i])->may_be_withdrawn = true;
    }
}

void sim_once_unmarked(struct sim_oracle *oracle, uint64_t turn,
                       enum hf_status status)
{
    const struct sim_live *live = live_of(oracle, turn);
    for (unsigned i = 0; i < live->n_parts && status == HF_OK; i++) {
        struct sim_mark_run *run = run_of(oracle->once, &live->parts[i]);
        run->is_withdrawn = true;
        run->withdrawn_ns = oracle->world->now_ns;
    }
}

void sim_once_break_begins(struct sim_oracle *oracle, int process, int name)
{
    sim_once_of(oracle)->breaks[process] |= (uint8_t)(1U << name);
}
