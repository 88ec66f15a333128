/* SPDX-License-Identifier: Apache-2.0 */
/* RISK: THE STATE CALLBACKS OF A HOLDER. According to the public header, a lock
 * is AT_RISK if it was not confirmed lately and LOST if its deadline has
 * passed. In figures:
 *
 *   confirmed           a majority replied to requests sent at that time
 *   + ttl/2             AT_RISK, unless a round has succeeded since
 *   + ttl - 1% - 2 ms   the deadline: LOST
 *
 * Users see the deadline, so AT_RISK is due when less than ttl/2 - 1% - 2 ms
 * are left; for a grant that was pushed, when less than half of the time is
 * left that was left when it was acquired, if that is later. Both states are
 * due at that moment, not at the next reply: a process that runs its timers
 * must get the callback within 2 ms. A process that was paused gets it when it
 * resumes; so does one that waits at the gate of an embedded store, for
 * node_timeout at most. No call returns a lock of which a part is LOST, or a
 * remaining time that is too long. */
#include "oracle/risk.h"

#include "oracle/disturbed.h"

#include "client/lock_group.h"
#include "core/lease.h"

#include <holdfast/holdfast.h>
#include <stdatomic.h>

/* The longest delay of a timer: it is set in whole milliseconds, and the clock
 * may be read between two of them. */
#define LATE_NS (2 * SIM_MS)

static int64_t deadline_of(const struct sim_part *part)
{
    return atomic_load_explicit(&part->lock->deadline_ns, memory_order_relaxed);
}

static int64_t ttl_of(const struct sim_oracle *oracle,
                      const struct sim_live *live)
{
    return oracle->records[live->turn - 1].turn->ttl_ms * SIM_MS;
}

/* The lock must be AT_RISK when no more than this is left. */
static int64_t margin_of(const struct sim_oracle *oracle,
                         const struct sim_live *live,
                         const struct sim_risk *risk)
{
    int64_t ttl_ns = ttl_of(oracle, live);
    int64_t half_ns = ttl_ns / 2 - ttl_ns / 100 - 2 * SIM_MS;
    int64_t claim_ns = risk->span_ns / 2;
    return risk->is_renewed || half_ns < claim_ns ? half_ns : claim_ns;
}

/* Compute the times when the states are due, by the world's clock: that of the
 * process may have stood still. */
static void plan(struct sim_oracle *oracle, const struct sim_live *live,
                 struct sim_risk *risk)
{
    const struct sim_process *process =
        &oracle->world->processes[live->process];
    int64_t margin_ns = margin_of(oracle, live, risk);
    risk->end_ns =
        sim_process_when(process, (struct hf_instant){risk->deadline_ns});
    risk->risk_ns = sim_process_when(
        process, (struct hf_instant){risk->deadline_ns - margin_ns});
}

static void note_deadline(struct sim_oracle *oracle,
                          const struct sim_live *live, struct sim_part *part)
{
    struct sim_risk *risk = &part->risk;
    int64_t deadline_ns = deadline_of(part);
    if (deadline_ns != risk->deadline_ns && deadline_ns != HF_LONG_AGO.ns) {
        struct hf_instant now = sim_process_clock(
            &oracle->world->processes[live->process], oracle->world->now_ns);
        risk->is_renewed = risk->deadline_ns != 0;
        risk->deadline_ns = deadline_ns;
        risk->span_ns = deadline_ns - now.ns;
    }
    plan(oracle, live, risk);
}

/* Callbacks run after the call that blocks another lane of the process, so a
 * state may be reported late. */
static bool was_deferred(const struct sim_oracle *oracle,
                         const struct sim_live *live)
{
    const struct sim_process *process =
        &oracle->world->processes[live->process];
    bool is_blocked = process->stepping != NULL &&
                      process->stepped_ns < oracle->world->now_ns;
    return process->blocked_ns > live->begun_ns ||
           (is_blocked && !oracle->records[live->turn - 1].turn->is_blocking);
}

void sim_risk_begin(struct sim_oracle *oracle, const struct sim_live *live,
                    struct sim_part *part)
{
    note_deadline(oracle, live, part);
    part->risk.state = HF_STATE_HELD;
    bool is_lost = atomic_load_explicit(&part->lock->state,
                                        memory_order_relaxed) == HF_STATE_LOST;
    if (is_lost && !was_deferred(oracle, live) &&
        sim_reach_runs_since(oracle, live->process) <= live->begun_ns) {
        sim_oracle_breach(oracle, SIM_RISK,
                          "p%d was given \"%s\" with fence %llu, which is LOST",
                          live->process + 1, part->chain->text,
                          (unsigned long long)part->fence);
    }
}

/* An extension may have asked for another ttl. */
static bool is_judged(const struct sim_oracle *oracle,
                      const struct sim_live *live, const struct sim_part *part)
{
    return hf_lease_ttl(hf_lock_lease_const(part->lock)).ns ==
               ttl_of(oracle, live) &&
           oracle->records[live->turn - 1].turn->n_extends == 0;
}

static void judge(struct sim_oracle *oracle, const struct sim_live *live,
                  const struct sim_part *part, const char *what, int64_t at_ns)
{
    if (oracle->world->now_ns > at_ns + LATE_NS &&
        is_judged(oracle, live, part) &&
        sim_reach_runs_since(oracle, live->process) <= at_ns) {
        sim_oracle_breach(
            oracle, SIM_RISK, "p%d was not told at %.3f ms that \"%s\" is %s",
            live->process + 1, (double)at_ns / 1e6, part->chain->text, what);
    }
}

void sim_risk_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part)
{
    struct sim_risk *risk = &part->risk;
    uint8_t state =
        atomic_load_explicit(&part->lock->state, memory_order_relaxed);
    bool was_held = risk->state == HF_STATE_HELD;
    if (risk->state != HF_STATE_LOST) {
        judge(oracle, live, part, "LOST", risk->end_ns);
    }
    if (was_held) {
        judge(oracle, live, part, "AT_RISK", risk->risk_ns);
    }
    note_deadline(oracle, live, part);
    risk->state = state;
}

/* What the caller is told of its handle must be true of each of its locks. The
 * process' clock is read before the call, in which it may be paused. */
void sim_oracle_look_at_time(struct sim_oracle *oracle, uint64_t turn)
{
    const struct sim_live *live = oracle->records[turn - 1].live;
    for (unsigned i = 0; live != NULL && i < live->n_parts; i++) {
        const struct sim_part *part = &live->parts[i];
        int64_t clock_ns =
            sim_process_clock(&oracle->world->processes[live->process],
                              oracle->world->now_ns)
                .ns;
        int64_t told_ms = hf_lock_remaining_ms(hf_lock_group_first(part->lock));
        int64_t deadline_ns = deadline_of(part); /* HF_LONG_AGO: none */
        int64_t left_ns = deadline_ns < clock_ns ? 0 : deadline_ns - clock_ns;
        if (told_ms > 0 && told_ms * SIM_MS > left_ns) {
            sim_oracle_breach(
                oracle, SIM_RISK,
                "p%d was told that \"%s\" lasts for %lld ms, but its deadline "
                "was %.6f ms ahead",
                live->process + 1, part->chain->text, (long long)told_ms,
                (double)left_ns / 1e6);
        }
    }
}
