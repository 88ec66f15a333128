/* SPDX-License-Identifier: Apache-2.0 */
/* HOLDING: FROM THE GRANT TO THE RELEASE OR THE LOSS
 *
 *   confirmed            sending of the last request a majority confirmed
 *   + ttl/3              renewal (lease_renew.c)
 *   + ttl/2              still unconfirmed: AT_RISK
 *   + ttl - drift        deadline on our own clock: LOST (lease_lost.c)
 *
 * ADOPTING is the first renewal of a lock that another process acquired. Its
 * CONFIRMs do not acquire a free name, so a lost lock stays lost.
 *
 * Cost: an adoption is one round trip, to the node that completes the majority.
 */
#include "core/lease_parts.h"

/* A first majority agreed on T. Nodes that granted below T are raised to T at
 * once: later their clock floor may be above T and forbid it. */
void hf_hold_begin(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase < HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    unsigned first = (unsigned)__builtin_ctz(voters);
    lease->phase = HF_PHASE_HOLDING;
    lease->fence = lease->votes[first].counter;
    hf_lease_set_deadline(lease, HF_LONG_AGO);
    hf_lease_set_confirmed(lease, HF_LONG_AGO);
    hf_renew_done(step, voters);
    hf_step_report(step, HF_OUT_HELD);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->said == HF_SAID_YOURS && vote->counter < lease->fence) {
            hf_renew_node(step, i);
        }
    }
}

/* A majority granted the lock for Q: it is held before any further request. Its
 * first renewal extends the claim to the full lease. With several nodes it is
 * sent at once, since some of them are not at T yet. With one node it is sent
 * later: most short holds are over by then, and need no renewal. */
void hf_hold_claim(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_lease *lease = step->lease;
    unsigned first = (unsigned)__builtin_ctz(voters);
    lease->phase = HF_PHASE_HOLDING;
    lease->state = HF_STATE_HELD;
    lease->fence = lease->votes[first].counter;
    hf_renew_check(step, voters);
    hf_lease_set_deadline(lease,
                          hf_votes_until(lease, voters, step->nodes->quorum));
    hf_lease_set_confirmed(lease, step->event->now);
    lease->flags |= HF_LEASE_CLAIM;
    hf_votes_ttl_changed(lease); /* a waiter asks for Q */
    hf_step_report(step, HF_OUT_HELD);
    if (lease->n_nodes > 1) {
        hf_renew_begin(step);
        return;
    }
    struct hf_span left =
        hf_instant_until(step->event->now, hf_lease_deadline(lease));
    HF_ASSERT(left.ns > 0);
    lease->flags |= HF_LEASE_ROUND_DONE;
    lease->next = hf_instant_add(step->event->now, hf_claim_period(left));
}

/* AT_RISK at half of the lease. A claim is shorter than the ttl: half of the
 * time from its start to its deadline. */
struct hf_instant hf_hold_risk_at(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    struct hf_span half = hf_risk_after(lease->ttl);
    if ((lease->flags & HF_LEASE_CLAIM) != 0) {
        half = hf_span_div(hf_instant_until(hf_lease_confirmed(lease),
                                            hf_lease_deadline(lease)),
                           2);
    }
    return hf_instant_add(hf_lease_confirmed(lease), half);
}

void hf_hold_adopt(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_IDLE);
    HF_ASSERT(step->event->counter > 0);
    lease->phase = HF_PHASE_ADOPTING;
    lease->fence = step->event->counter;
    lease->round_at = step->event->now;
    lease->next =
        hf_instant_add(step->event->now, step->nodes->connect_timeout);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        hf_renew_node(step, i);
    }
    hf_hold_timer(step);
}

/* ---- Events ------------------------------------------------------------ */

/* After a late grant below T the node is raised to T. After a late reply to an
 * older round a request of this round is sent. */
static void follow_up(struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_ANSWER);
    const struct hf_event *event = step->event;
    struct hf_lease *lease = step->lease;
    const struct hf_vote *vote = &lease->votes[event->node];
    bool is_open = (lease->flags & HF_LEASE_ROUND_DONE) == 0;
    bool is_below = vote->said == HF_SAID_YOURS &&
                    vote->counter < lease->fence && event->floor == 0;
    bool is_stale = (vote->flags & HF_VOTE_IN_ROUND) == 0 && is_open;
    if (lease->phase == HF_PHASE_HOLDING && lease->state != HF_STATE_LOST &&
        event->verdict == HF_VERDICT_OK &&
        ((is_below && event->verb == HF_VERB_ACQUIRE) || is_stale)) {
        hf_renew_node(step, event->node);
    }
}

void hf_hold_answer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING);
    HF_ASSERT(step->lease->phase <= HF_PHASE_HOLDING);
    HF_ASSERT(step->event->verdict <= HF_VERDICT_ERROR);
    struct hf_vote *vote = &step->lease->votes[step->event->node];
    switch (step->event->verdict) {
    case HF_VERDICT_OK:
        hf_grant_reply(step, vote);
        break;
    case HF_VERDICT_REFUSED:
    case HF_VERDICT_QUEUED: /* the reply to an ACQUIRE or YIELD of WAITING */
        hf_grant_refusal(step, vote);
        break;
    case HF_VERDICT_UNSENT:
    case HF_VERDICT_UNKNOWN:
    case HF_VERDICT_ERROR:
    default:
        break; /* its vote stays; the next retry asks again */
    }
    follow_up(step);
    hf_lost_judge(step);
}

/* A node outside the first majority pushed its grant: raise it to T, and extend
 * it to the full lease. `is_new`: the grant was recorded. */
void hf_hold_granted(struct hf_step *step, bool is_new)
{
    const struct hf_lease *lease = step->lease;
    unsigned node = step->event->node;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    if (is_new && lease->state != HF_STATE_LOST &&
        lease->votes[node].counter <= lease->fence) {
        hf_renew_node(step, node);
    }
    hf_lost_judge(step);
}

/* A node reports that our lock may have ended: a renewal shows whether it has.
 * One that is under way shows the same, if it was not sent before. */
void hf_hold_doubt(struct hf_step *step)
{
    const struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    hf_lost_judge(step);
    if (lease->state != HF_STATE_LOST &&
        (lease->flags & HF_LEASE_ROUND_DONE) != 0) {
        hf_renew_begin(step);
    }
}

/* A node reconnected, or connected after the others had decided: confirm there
 * too, since a bare majority does not survive another failure. (A node that
 * lost its data is repaired by the next renewal, so that many locks are not
 * repaired in one burst.) */
void hf_hold_node(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING);
    HF_ASSERT(step->lease->phase <= HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    unsigned node = step->event->node;
    bool is_open = (lease->flags & HF_LEASE_ROUND_DONE) == 0;
    bool is_new = step->event->kind == HF_EV_NODE &&
                  lease->votes[node].said == HF_SAID_NOTHING;
    if (lease->state != HF_STATE_LOST && (is_open || is_new) &&
        !hf_renew_includes(lease, node)) {
        hf_renew_node(step, node);
    }
    hf_lost_judge(step);
}

void hf_hold_timer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING);
    HF_ASSERT(step->lease->phase <= HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    struct hf_instant now = step->event->now;
    hf_lost_judge(step);
    if (lease->phase != HF_PHASE_HOLDING || lease->state == HF_STATE_LOST) {
        return;
    }
    bool is_done = (lease->flags & HF_LEASE_ROUND_DONE) != 0;
    if (is_done &&
        !hf_instant_before(hf_instant_add(now, hf_renewal_slack(lease->ttl)),
                           lease->next)) {
        hf_renew_begin(step);
    } else if (!is_done && !hf_instant_before(now, lease->next)) {
        hf_renew_missing(step);
    }
    if (!hf_instant_before(now, hf_hold_risk_at(lease))) {
        lease->state = HF_STATE_AT_RISK;
    }
}
