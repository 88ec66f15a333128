/* SPDX-License-Identifier: Apache-2.0 */
/* RENEWAL: A ROUND OF CONFIRM(T, ttl)
 *
 *   confirmed            sending of the last request a majority confirmed
 *   + ttl/3              a new round: CONFIRM to all, repeated every ttl/30 to
 *                        nodes that did not confirm
 *   deadline             sending of the majority-th latest of the confirmed
 *                        requests + ttl - drift
 *
 * A round succeeds when a majority has replied exactly "yours, c == T" to
 * requests of this round. (In the model a renewal that checks only the owner
 * can succeed after a greater fence completed, in 16 steps.) The deadline never
 * moves back, and the fence never changes. lease_lost.c judges the replies.
 *
 * Cost: one request to each node in a third of the lease, for which no caller
 * waits. */
#include "core/lease_parts.h"

/* Jitter spreads the renewals of many locks acquired together over an eighth of
 * the period, so that they are not sent in one burst each time. */
static struct hf_instant renewal_at(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    struct hf_span period = hf_renewal_period(lease->ttl);
    struct hf_span early = hf_lease_jitter(lease, hf_span_div(period, 8));
    return hf_instant_add(hf_lease_confirmed(lease),
                          hf_span_sub(period, early));
}

/* The nodes that count for a renewal: those that may vote. If the store is one
 * node, it also renews a held lock during its quarantine: it grants no name to
 * another owner in that time. */
uint16_t hf_renew_voters(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING &&
              step->lease->phase <= HF_PHASE_HOLDING);
    bool is_sole =
        step->nodes->count == 1 && step->lease->phase == HF_PHASE_HOLDING;
    return is_sole ? (uint16_t)(step->nodes->voting | step->nodes->repairing)
                   : step->nodes->voting;
}

void hf_renew_node(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->fence > 0);
    uint16_t up = (uint16_t)(step->nodes->voting | step->nodes->repairing);
    if ((up & hf_node_bit(node)) != 0 &&
        !hf_vote_is_pending(&step->lease->votes[node], HF_VERB_CONFIRM)) {
        hf_step_send(step, node, HF_VERB_CONFIRM, step->lease->fence);
    }
}

bool hf_renew_includes(const struct hf_lease *lease, unsigned node)
{
    HF_ASSERT(lease->fence > 0);
    const struct hf_vote *vote = &lease->votes[node];
    return vote->said == HF_SAID_YOURS && vote->counter == lease->fence &&
           (vote->flags & HF_VOTE_IN_ROUND) != 0;
}

void hf_renew_missing(struct hf_step *step)
{
    HF_ASSERT((step->lease->flags & HF_LEASE_ROUND_DONE) == 0);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if (!hf_renew_includes(step->lease, i)) {
            hf_renew_node(step, i);
        }
    }
    step->lease->next =
        hf_instant_add(step->event->now, hf_renewal_retry(step->lease->ttl));
}

void hf_renew_begin(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    HF_ASSERT(step->lease->state != HF_STATE_LOST);
    struct hf_lease *lease = step->lease;
    lease->round_at = step->event->now;
    lease->flags &= (uint8_t)~HF_LEASE_ROUND_DONE;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        lease->votes[i].flags &= (uint16_t)~HF_VOTE_IN_ROUND;
    }
    hf_renew_missing(step);
}

/* C1, E1: the voters are a majority with unexpired votes at the fence. */
void hf_renew_check(const struct hf_step *step, uint16_t voters)
{
    const struct hf_lease *lease = step->lease;
    uint16_t all = hf_grants_for(lease, lease->fence, step->event->now);
    HF_ASSERT(hf_step_is_majority(step, voters));
    HF_ASSERT((voters & ~all) == 0);
}

/* Neither instant moves back, since the caller may rely on one it has read: a
 * round may be confirmed by older requests than the one before it. */
void hf_renew_done(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    hf_renew_check(step, voters);
    struct hf_instant until =
        hf_votes_until(lease, voters, step->nodes->quorum);
    struct hf_instant sent = hf_instant_sub(until, hf_validity(lease->ttl));
    hf_lease_set_deadline(lease,
                          hf_instant_max(hf_lease_deadline(lease), until));
    hf_lease_set_confirmed(lease,
                           hf_instant_max(hf_lease_confirmed(lease), sent));
    lease->flags |= HF_LEASE_ROUND_DONE;
    lease->flags &= (uint8_t)~HF_LEASE_CLAIM;
    lease->next = renewal_at(lease);
    lease->state = HF_STATE_HELD;
}
