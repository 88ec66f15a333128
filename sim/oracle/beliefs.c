/* SPDX-License-Identifier: Apache-2.0 */
/* BELIEFS OF HOLDERS. A turn believes that it holds a name from the callback or
 * return of its acquisition until the deadline that its lock shows, or until
 * it releases the lock. Two beliefs can only begin to overlap when one of them
 * begins, or begins again after its end: an ordinary renewal needs no
 * comparison. The comparison computes the deadlines of the other holders again,
 * since a clock that stood still has moved them. */
#include "oracle/beliefs.h"

#include "oracle/calls.h"

#include "core/lease.h"

#include <stdio.h>

static int64_t deadline_of(const struct sim_part *part)
{
    return atomic_load_explicit(&part->lock->deadline_ns, memory_order_relaxed);
}

int64_t sim_part_until(const struct sim_oracle *oracle,
                       const struct sim_live *live, const struct sim_part *part)
{
    int64_t deadline_ns = deadline_of(part);
    if (deadline_ns == HF_LONG_AGO.ns) {
        return HF_LONG_AGO.ns;
    }
    return sim_process_when(&oracle->world->processes[live->process],
                            (struct hf_instant){deadline_ns});
}

static bool is_compatible(const struct sim_part *a, const struct sim_part *b)
{
    return a->lock->is_shared && b->lock->is_shared &&
           a->lock->permits == b->lock->permits;
}

static void tell_conflict(struct sim_oracle *oracle, const struct sim_live *a,
                          const struct sim_part *of_a, const struct sim_live *b,
                          const struct sim_part *of_b)
{
    sim_oracle_breach(
        oracle, of_a->chain->is_slot ? SIM_PERMITS : SIM_C4,
        "p%d and p%d both believe that they hold \"%s\": fence %llu until "
        "%.3f ms, fence %llu until %.3f ms",
        a->process + 1, b->process + 1, of_a->chain->text,
        (unsigned long long)of_a->fence,
        (double)sim_part_until(oracle, a, of_a) / 1e6,
        (unsigned long long)of_b->fence,
        (double)sim_part_until(oracle, b, of_b) / 1e6);
}

/* The holder that such a break has replaced may believe on until its lease
 * ends: the break reports that, and it is no breach. */
static bool is_excused(const struct sim_oracle *oracle,
                       const struct sim_part *a, const struct sim_part *b)
{
    return sim_break_excuses(oracle, a) || sim_break_excuses(oracle, b);
}

static void check_part(struct sim_oracle *oracle, const struct sim_live *live,
                       const struct sim_part *part)
{
    int64_t now_ns = oracle->world->now_ns;
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *other = &oracle->live[i];
        for (unsigned j = 0; j < other->n_parts && other->is_holding; j++) {
            const struct sim_part *its = &other->parts[j];
            if (other != live && its->chain == part->chain &&
                !is_compatible(part, its) &&
                sim_part_until(oracle, other, its) > now_ns &&
                !is_excused(oracle, part, its)) {
                tell_conflict(oracle, other, its, live, part);
                return;
            }
        }
    }
}

/* As the user sees it: a turn holds while all of its parts are valid. */
static bool believes(const struct sim_oracle *oracle,
                     const struct sim_live *live)
{
    for (unsigned i = 0; i < live->n_parts; i++) {
        if (sim_part_until(oracle, live, &live->parts[i]) <=
            oracle->world->now_ns) {
            return false;
        }
    }
    return live->is_holding;
}

/* The limit is the number that the turn asked for, not that of its lock. */
static void check_permits(struct sim_oracle *oracle,
                          const struct sim_live *live)
{
    const struct sim_part *name = &live->parts[live->n_parts - 1];
    unsigned permits = oracle->records[live->turn - 1].turn->n_permits;
    unsigned holders = 0;
    if (permits == 0) {
        return;
    }
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *other = &oracle->live[i];
        holders +=
            other->is_holding && other->n_parts == live->n_parts &&
            other->parts[other->n_parts - 1].chain == name->chain &&
            believes(oracle, other) &&
            !sim_break_excuses(oracle, &other->parts[other->n_parts - 1]);
    }
    if (holders > permits) {
        sim_oracle_breach(oracle, SIM_PERMITS,
                          "%u believe that they have one of %u permits of "
                          "\"%s\", p%d with fence %llu the last of them",
                          holders, permits, name->chain->text,
                          live->process + 1,
                          (unsigned long long)live->parts[0].fence);
    }
}

void sim_beliefs_begin(struct sim_oracle *oracle, struct sim_live *live)
{
    for (unsigned i = 0; i < live->n_parts; i++) {
        struct sim_part *part = &live->parts[i];
        part->deadline_ns = deadline_of(part);
        part->until_ns = sim_part_until(oracle, live, part);
        if (part->until_ns > oracle->world->now_ns) {
            check_part(oracle, live, part);
            sim_foreign_check(oracle, live, part);
        }
    }
    check_permits(oracle, live);
}

void sim_beliefs_look(struct sim_oracle *oracle, struct sim_live *live)
{
    bool is_new = false;
    for (unsigned i = 0; i < live->n_parts; i++) {
        struct sim_part *part = &live->parts[i];
        int64_t deadline_ns = deadline_of(part);
        if (deadline_ns != part->deadline_ns) {
            is_new |= part->until_ns <= oracle->world->now_ns;
            part->deadline_ns = deadline_ns;
            part->until_ns = sim_part_until(oracle, live, part);
        }
    }
    if (is_new) {
        sim_beliefs_begin(oracle, live);
    }
}
