/* SPDX-License-Identifier: Apache-2.0 */
/* TURNS, FROM BEGIN TO END; AND BREACHES
 *
 * The lanes report each change of a turn: begun, queued, held, released,
 * ended. A turn has a record, which stays, and while it is under way a live
 * part with the locks that it holds. A report that does not fit the state is a
 * breach of ONCE. After each run of a process its turns are looked at. What is
 * right at these moments is judged by the other files, one for each rule or
 * group of rules, which are called from here.
 *
 * The first breach of a rule that is promised now (rules.c) is the verdict. All
 * are counted: a rule that is not promised shows so that its check can fail.
 *
 * Cost: a search of the live parts, at most one for each lane, with each
 * report; memory for a record of each turn. */
#include "oracle/oracle.h"

#include "oracle/answer.h"
#include "oracle/beliefs.h"
#include "oracle/calls.h"
#include "oracle/chain.h"
#include "oracle/disturbed.h"
#include "oracle/once.h"
#include "oracle/order.h"
#include "oracle/prompt.h"
#include "oracle/residue.h"
#include "oracle/risk.h"
#include "oracle/spread.h"

#include "base/assert.h"
#include "client/lock_group.h"
#include "core/lease.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One step of the clock floor: 2^22 us. */
#define BUCKET_NS (INT64_C(4194304) * 1000)

/* `fence_keep`: how long a counter is kept after its last use. */
#define KEEP_NS (INT64_C(3600000) * SIM_MS)

/* ---- Life -------------------------------------------------------------- */

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* The time after which each node's floor is above the fences granted before a
 * loss of data, and the leases and requests from before are over. */
static int64_t later_ns(const struct sim_story *story)
{
    int64_t skew_ns = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        int64_t off_ns = magnitude(story->node_wall_ns[i]);
        skew_ns = off_ns > skew_ns ? off_ns : skew_ns;
    }
    return BUCKET_NS + 2 * skew_ns + 2 * story->max_ttl_ms * SIM_MS;
}

/* A clock that was ahead for as long as a counter is kept may have let it
 * expire; set back, the node's floor is below that counter. A fault that sets
 * right a clock that was far ahead does not count: nothing expires then. */
static bool has_expired(const struct sim_story *story)
{
    int64_t jumped_ns = 0;
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        if (fault->kind == SIM_FAULT_NODE_CLOCK &&
            !sim_is_set_back(story, fault)) {
            jumped_ns += magnitude(fault->amount);
        }
    }
    return jumped_ns >= KEEP_NS;
}

struct sim_oracle *sim_oracle_new(struct sim_world *world)
{
    struct sim_oracle *oracle = calloc(1, sizeof(*oracle));
    HF_ASSERT(oracle != NULL);
    oracle->world = world;
    oracle->answers = sim_answers_new();
    oracle->forgot_ns = -1;
    oracle->calm_ns = -1;
    oracle->later_ns = later_ns(world->story);
    oracle->has_expired = has_expired(world->story);
    oracle->prompt_ns = sim_oracle_prompt_ns(world->story);
    memset(oracle->free_ns, -1, sizeof(oracle->free_ns));
    memset(oracle->kept_ns, -1, sizeof(oracle->kept_ns));
    return oracle;
}

void sim_oracle_free(struct sim_oracle *oracle)
{
    if (oracle == NULL) {
        return;
    }
    for (unsigned name = 0; name < SIM_NAMES_MAX; name++) {
        for (unsigned slot = 0; slot <= SIM_SLOTS_MAX; slot++) {
            sim_chain_free(oracle->chains[name][slot]);
        }
    }
    sim_once_free(oracle->once);
    sim_calls_free(oracle->calls);
    free(oracle->answers);
    free(oracle->gone.pairs);
    free(oracle->records);
    free(oracle);
}

const struct sim_verdict *sim_oracle_verdict(const struct sim_oracle *oracle)
{
    return &oracle->verdict;
}

/* ---- Breaches ---------------------------------------------------------- */

void sim_oracle_breach(struct sim_oracle *oracle, enum sim_rule rule,
                       const char *format, ...)
{
    struct sim_verdict *verdict = &oracle->verdict;
    verdict->n_breaches[rule]++;
    if (verdict->is_broken || !sim_oracle_promises(oracle, rule)) {
        return;
    }
    int len = snprintf(verdict->text, sizeof(verdict->text),
                       "%s: ", sim_rule_name(rule));
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text + len, sizeof(verdict->text) - (size_t)len, format,
              args);
    va_end(args);
    verdict->is_broken = true;
    verdict->rule = rule;
    verdict->at_ns = oracle->world->now_ns;
    sim_world_note(oracle->world, (struct sim_note){.kind = SIM_NOTE_VIOLATION,
                                                    .process = -1,
                                                    .lane = -1,
                                                    .node = -1,
                                                    .other = -1,
                                                    .name = -1,
                                                    .text = verdict->text});
}

/* ---- Turns ------------------------------------------------------------- */

static struct sim_record *record_of(struct sim_oracle *oracle, uint64_t turn)
{
    return turn == 0 || turn > oracle->n_records ? NULL
                                                 : &oracle->records[turn - 1];
}

/* @return NULL: the turn never began, is over, or is in the other state; that
 * is a breach of ONCE. */
static struct sim_live *live_of(struct sim_oracle *oracle, uint64_t turn,
                                bool is_holding, const char *what)
{
    struct sim_record *record = record_of(oracle, turn);
    if (record == NULL || record->live == NULL ||
        record->live->is_holding != is_holding) {
        sim_oracle_breach(oracle, SIM_ONCE, "turn %llu %s, but %s",
                          (unsigned long long)turn, what,
                          record == NULL         ? "never began"
                          : record->live == NULL ? "was over already"
                          : is_holding           ? "has nothing"
                                                 : "holds already");
        return NULL;
    }
    return record->live;
}

static struct sim_live *free_live(struct sim_oracle *oracle)
{
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        if (oracle->live[i].turn == 0) {
            return &oracle->live[i];
        }
    }
    HF_ASSERT(false); /* more turns at once than lanes */
    return NULL;
}

static void over(struct sim_oracle *oracle, struct sim_live *live)
{
    record_of(oracle, live->turn)->live = NULL;
    *live = (struct sim_live){0};
}

uint64_t sim_oracle_begin(struct sim_oracle *oracle,
                          const struct sim_turn *turn)
{
    if (oracle->n_records == oracle->cap_records) {
        oracle->cap_records =
            oracle->cap_records == 0 ? 256 : 2 * oracle->cap_records;
        oracle->records = realloc(
            oracle->records, oracle->cap_records * sizeof(oracle->records[0]));
        HF_ASSERT(oracle->records != NULL);
    }
    struct sim_live *live = free_live(oracle);
    *live = (struct sim_live){.turn = oracle->n_records + 1,
                              .process = turn->process,
                              .n_done = oracle->n_done,
                              .begun_ns = oracle->world->now_ns};
    oracle->records[oracle->n_records++] = (struct sim_record){turn, live, 0};
    oracle->verdict.n_begun++;
    sim_prompt_look(oracle);
    return live->turn;
}

/* LIVE: how long the turn has waited since the last fault ended. */
static void note_wait(struct sim_oracle *oracle, const struct sim_live *live)
{
    int64_t from_ns =
        oracle->calm_ns > live->begun_ns ? oracle->calm_ns : live->begun_ns;
    int64_t wait_ns = oracle->world->now_ns - from_ns;
    if (oracle->calm_ns < 0) {
        return;
    }
    if (wait_ns > oracle->verdict.slowest_ns) {
        oracle->verdict.slowest_ns = wait_ns;
    }
    if (wait_ns > oracle->bound_ns) {
        sim_oracle_breach(oracle, SIM_LIVE,
                          "p%d waits since %.3f ms, and nothing breaks since "
                          "%.3f ms: longer than %.3f ms",
                          live->process + 1, (double)live->begun_ns / 1e6,
                          (double)oracle->calm_ns / 1e6,
                          (double)oracle->bound_ns / 1e6);
    }
}

void sim_oracle_given_up(struct sim_oracle *oracle, uint64_t turn)
{
    struct sim_live *live = live_of(oracle, turn, false, "was given up");
    oracle->verdict.n_given_up++;
    if (live != NULL) {
        note_wait(oracle, live);
        sim_owner_ended(oracle, live, false);
        over(oracle, live);
    }
    sim_prompt_look(oracle);
}

void sim_oracle_queued(struct sim_oracle *oracle, uint64_t turn)
{
    struct sim_live *live = live_of(oracle, turn, false, "was queued");
    oracle->verdict.n_waits++;
    if (live != NULL) {
        live->was_queued = true;
        live->queue =
            oracle->world->story->n_nodes > 1 ? ++oracle->n_arrivals : 0;
    }
}

static void find_process(const struct sim_oracle *oracle, struct sim_live *live,
                         const struct hf_lock *lock)
{
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        if (oracle->world->processes[i].client == lock->client) {
            live->process = (int)i;
        }
    }
}

static void take_parts(struct sim_oracle *oracle, struct sim_live *live,
                       struct hf_lock *lock)
{
    find_process(oracle, live, lock);
    live->is_holding = true;
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        const struct hf_lease *lease = hf_lock_lease_const(lock);
        struct sim_chain *chain =
            sim_oracle_chain(oracle, hf_lock_name_bytes(lock), lock->name_len);
        HF_ASSERT(chain != NULL && live->n_parts < SIM_PARTS_MAX);
        live->parts[live->n_parts++] =
            (struct sim_part){.chain = chain,
                              .lock = lock,
                              .fence = hf_lease_fence(lease),
                              .confirmed_ns = hf_lease_confirmed(lease).ns,
                              .round_at_ns = hf_lease_round_at(lease).ns,
                              .n_round_done = live->n_done};
        sim_spread_begin(oracle, &live->parts[live->n_parts - 1]);
        sim_risk_begin(oracle, live, &live->parts[live->n_parts - 1]);
    }
    sim_prompt_look(oracle);
    record_of(oracle, live->turn)->fence = live->parts[0].fence;
}

void sim_oracle_held(struct sim_oracle *oracle, uint64_t turn,
                     struct hf_lock *lock)
{
    struct sim_live *live = live_of(oracle, turn, false, "got it");
    oracle->verdict.n_grants++;
    oracle->n_done++;
    if (live == NULL) {
        return;
    }
    note_wait(oracle, live);
    take_parts(oracle, live, lock);
    oracle->verdict.n_pushes += live->was_queued;
    for (unsigned i = 0; i < live->n_parts; i++) {
        sim_chain_completed(oracle, live, &live->parts[i]);
        sim_order_served(oracle, live, &live->parts[i]);
    }
    sim_calls_held(oracle, live);
    sim_beliefs_begin(oracle, live);
}

void sim_oracle_released(struct sim_oracle *oracle, uint64_t turn)
{
    struct sim_record *record = record_of(oracle, turn);
    if (record != NULL && record->live != NULL) {
        record->live->is_released = true;
        sim_owner_ended(oracle, record->live, true);
    }
}

void sim_oracle_ended(struct sim_oracle *oracle, uint64_t turn)
{
    struct sim_live *live = live_of(oracle, turn, true, "gave it back");
    if (live != NULL) {
        sim_owner_handed_on(oracle, live);
        sim_prompt_left(oracle, live);
        over(oracle, live);
    }
    sim_prompt_look(oracle);
}

void sim_oracle_adopted(struct sim_oracle *oracle, uint64_t turn, uint64_t from,
                        struct hf_lock *lock)
{
    struct sim_live *live = live_of(oracle, turn, false, "took it on");
    const struct sim_record *giver = record_of(oracle, from);
    oracle->verdict.n_adoptions++;
    if (live == NULL || giver == NULL) {
        return;
    }
    note_wait(oracle, live);
    take_parts(oracle, live, lock);
    if (live->parts[0].fence != giver->fence) {
        sim_oracle_breach(oracle, SIM_C1,
                          "p%d took on \"%s\" with fence %llu, but was given "
                          "%llu",
                          live->process + 1, live->parts[0].chain->text,
                          (unsigned long long)live->parts[0].fence,
                          (unsigned long long)giver->fence);
    }
    sim_beliefs_begin(oracle, live);
}

/* ---- Reports for once.c and calls.c ------------------------------------ */

void sim_oracle_script(struct sim_oracle *oracle, const struct sim_link *link,
                       const struct sim_run *run)
{
    sim_once_script(oracle, link, run);
    sim_calls_script(oracle, link, run);
}

void sim_oracle_wrote(struct sim_oracle *oracle, const struct sim_link *link)
{
    sim_once_wrote(oracle, link);
}

void sim_oracle_read(struct sim_oracle *oracle, const struct sim_link *link)
{
    sim_once_read(oracle, link);
}

/* ---- After each run of a process --------------------------------------- */

/* A waiter that does not hear of a grant may be overtaken by a later one, so
 * FIFO counts its place only from this time on. */
static void note_listening(struct sim_oracle *oracle, int process)
{
    const struct hf_client *client = oracle->world->processes[process].client;
    unsigned all = (1U << oracle->world->story->n_nodes) - 1;
    bool listens = client != NULL && (client->nodes.listening & all) == all;
    if (!listens) {
        oracle->listens_ns[process] = 0;
    } else if (oracle->listens_ns[process] == 0) {
        oracle->listens_ns[process] = oracle->world->now_ns;
    }
}

/* A lease of fewer round trips may end before its renewal is confirmed, without
 * any fault. */
static bool must_keep(struct sim_oracle *oracle, const struct sim_live *live)
{
    const struct sim_story *story = oracle->world->story;
    const struct sim_turn *turn = record_of(oracle, live->turn)->turn;
    int64_t trip_ns = 2 * (story->delay_ns + 2 * story->jitter_ns);
    return story->regime == SIM_CALM && turn->ttl_ms * SIM_MS > 6 * trip_ns;
}

static void note_loss(struct sim_oracle *oracle, struct sim_live *live)
{
    live->was_lost = true;
    oracle->verdict.n_losses++;
    sim_answer_lost(oracle, live);
    if (must_keep(oracle, live)) {
        sim_oracle_breach(oracle, SIM_LIVE,
                          "p%d lost \"%s\", and nothing ever breaks",
                          live->process + 1, live->parts[0].chain->text);
    }
}

static void look_at(struct sim_oracle *oracle, struct sim_live *live)
{
    bool is_lost = false;
    for (unsigned i = 0; i < live->n_parts; i++) {
        struct sim_part *part = &live->parts[i];
        sim_part_look(oracle, live, part);
        sim_spread_look(oracle, live, part);
        sim_risk_look(oracle, live, part);
        is_lost |= atomic_load_explicit(&part->lock->state,
                                        memory_order_relaxed) == HF_STATE_LOST;
    }
    if (is_lost && !live->was_lost) {
        note_loss(oracle, live);
    }
    sim_beliefs_look(oracle, live);
    sim_break_look(oracle, live);
}

void sim_oracle_look(struct sim_oracle *oracle, int process)
{
    note_listening(oracle, process);
    sim_reach_look(oracle, process);
    sim_owner_look(oracle);
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        struct sim_live *live = &oracle->live[i];
        if (live->turn == 0 || live->process != process) {
            continue;
        }
        if (live->is_holding) {
            look_at(oracle, live);
        } else {
            note_wait(oracle, live);
        }
    }
    sim_prompt_look(oracle);
}
