/* SPDX-License-Identifier: Apache-2.0 */
/* LOST, OR CONFIRMED: WHAT THE REPLIES TO A ROUND PROVE
 *
 *   a majority "yours, c == T"      confirmed; an extension or an adoption
 *                                   succeeds
 *   a majority "not yours"          LOST at once; the adoption fails
 *   now >= deadline, by our clock   LOST
 *
 * LOST is final, whatever a node replies later.
 *
 * Cost: none; nothing is sent from here. One pass over the votes. */
#include "core/lease_parts.h"

static uint16_t round_of(const struct hf_step *step, enum hf_said said)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING &&
              step->lease->phase <= HF_PHASE_HOLDING);
    return (uint16_t)(hf_votes_said(step->lease, said) &
                      hf_votes_flagged(step->lease, HF_VOTE_IN_ROUND));
}

void hf_lost_report(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    HF_ASSERT(lease->state != HF_STATE_LOST); /* final */
    lease->state = HF_STATE_LOST;
    lease->next = HF_NEVER;
    lease->flags &= (uint8_t)~HF_LEASE_EXTENDING;
    hf_step_report(step, HF_OUT_LOST);
}

/* A failed adoption has acquired nothing, so the release sends nothing. */
static void fail_adoption(struct hf_step *step, enum hf_outcome outcome)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ADOPTING);
    hf_step_report(step, outcome);
    hf_release_begin(step, false);
}

/* True if pending replies can still make @p nodes, which have replied alike, a
 * majority. */
static bool is_hopeful(const struct hf_step *step, uint16_t nodes)
{
    HF_ASSERT((nodes & ~hf_nodes_all(step->nodes)) == 0);
    uint16_t reach = (uint16_t)(nodes | hf_votes_awaited(step));
    if (hf_instant_before(step->event->now, step->lease->next) &&
        step->lease->phase == HF_PHASE_ADOPTING) {
        reach |= step->nodes->connecting;
    }
    return hf_step_is_majority(step, reach);
}

/* True if pending replies can still decide the caller's operation: a majority
 * that confirms, or one that refuses, which is the better news for a caller
 * than an unreachable majority. */
static bool is_open(const struct hf_step *step, uint16_t voters,
                    uint16_t refusers)
{
    return is_hopeful(step, voters) || is_hopeful(step, refusers);
}

/* The previous holder may hold the lock at any node, including nodes that we
 * have not contacted: RELEASE must go there, too. */
static void take_over(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ADOPTING);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        step->lease->votes[i].flags |= HF_VOTE_MAY_HOLD;
    }
    hf_hold_begin(step, voters);
}

static void judge_adoption(struct hf_step *step, uint16_t voters,
                           uint16_t refusers)
{
    HF_ASSERT((voters & refusers) == 0);
    if (hf_step_is_majority(step, voters)) {
        take_over(step, voters);
    } else if (hf_step_is_majority(step, refusers)) {
        fail_adoption(step, HF_OUT_LOST);
    } else if (!is_open(step, voters, refusers)) {
        fail_adoption(step, HF_OUT_UNREACHED);
    }
}

static void judge_extension(struct hf_step *step, uint16_t voters,
                            uint16_t refusers)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    if ((lease->flags & HF_LEASE_EXTENDING) == 0) {
        return;
    }
    bool is_done = (lease->flags & HF_LEASE_ROUND_DONE) != 0;
    if (is_done || !is_open(step, voters, refusers)) {
        lease->flags &= (uint8_t)~HF_LEASE_EXTENDING;
        hf_step_report(step, is_done ? HF_OUT_EXTENDED : HF_OUT_UNEXTENDED);
    }
}

void hf_lost_judge(struct hf_step *step)
{
    HF_ASSERT(step->lease->fence > 0);
    struct hf_lease *lease = step->lease;
    uint16_t voters =
        (uint16_t)(hf_grants_for(lease, lease->fence, step->event->now) &
                   round_of(step, HF_SAID_YOURS) & hf_renew_voters(step));
    uint16_t refusers =
        (uint16_t)(round_of(step, HF_SAID_NOT_YOURS) & step->nodes->voting);
    if (lease->phase == HF_PHASE_ADOPTING) {
        judge_adoption(step, voters, refusers);
        return;
    }
    if (lease->state == HF_STATE_LOST) {
        return; /* final, whatever a node replies later */
    }
    if (hf_step_is_majority(step, refusers) ||
        !hf_instant_before(step->event->now, hf_lease_deadline(lease))) {
        hf_lost_report(step);
        return;
    }
    if ((lease->flags & HF_LEASE_ROUND_DONE) == 0 &&
        hf_step_is_majority(step, voters)) {
        hf_renew_done(step, voters);
    }
    judge_extension(step, voters, refusers);
}
