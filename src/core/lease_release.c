/* SPDX-License-Identifier: Apache-2.0 */
/* RELEASING: UNTIL NO NODE CAN STORE THIS OWNER
 *
 * RELEASE is sent to every node that may store this owner, including nodes that
 * never replied, since they may have granted. It uses the connection of the
 * request that it cancels, so the node executes it after that request. If a
 * node is unreachable or does not execute it, RELEASE is sent again, until the
 * node has replied or the lease that it may have granted has expired. The
 * caller gets a result after a majority, or after one timeout; the remaining
 * nodes are released in the background.
 *
 * "Not yours" of a node in quarantine proves nothing: it may have lost its
 * data, and grants nothing to others.
 *
 * A RELEASE whose reply was lost may have freed the lock. Then "not yours", the
 * reply to its repetition, is neither RELEASED nor LOST: it is UNKNOWN.
 *
 * RELEASE carries the largest counter seen. A node where the name is free
 * raises its counter to it, so the next acquisition finds equal counters and
 * needs one round trip (simulated: second round trips fall from 7% to 1.5%).
 *
 * Cost: one round trip, to the node that completes the majority, or one timeout
 * if there is none. Later repetitions cost the caller nothing. */
#include "core/lease_parts.h"

static void send_release(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    HF_ASSERT((step->lease->votes[node].flags & HF_VOTE_UNRELEASED) != 0);
    struct hf_vote *vote = &step->lease->votes[node];
    uint16_t up = (uint16_t)(step->nodes->voting | step->nodes->repairing);
    if ((up & hf_node_bit(node)) == 0) {
        return; /* UNRELEASED: sent when the node is back */
    }
    vote->flags &= (uint16_t)~HF_VOTE_UNRELEASED;
    hf_step_send(step, node, HF_VERB_RELEASE, hf_lease_seen(step->lease));
}

void hf_release_finish(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase != HF_PHASE_DONE);
    step->lease->phase = HF_PHASE_DONE;
    step->lease->state = HF_STATE_RELEASED;
    step->out->done = true;
}

static bool is_over(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    const struct hf_lease *lease = step->lease;
    if (!hf_instant_before(step->event->now, hf_lease_deadline(lease))) {
        return true;
    }
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->pending != 0 || (vote->flags & HF_VOTE_UNRELEASED) != 0) {
            return false;
        }
    }
    return true;
}

/* Report the result to the caller: RELEASED if a majority freed the lock, LOST
 * if a majority with votes replied that it was not ours, UNKNOWN if neither is
 * possible any more before the requests time out. */
static void judge_report(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    struct hf_lease *lease = step->lease;
    if ((lease->flags & HF_LEASE_REPORTS) == 0) {
        return;
    }
    uint16_t in_round = hf_votes_flagged(lease, HF_VOTE_IN_ROUND);
    uint16_t freed = hf_votes_said(lease, HF_SAID_FREED) & in_round;
    uint16_t denied = hf_votes_said(lease, HF_SAID_NOT_YOURS) & in_round;
    denied &= step->nodes->voting;
    uint16_t awaited = hf_votes_awaited(step);
    if (!hf_instant_is_never(lease->next) &&
        hf_instant_before(step->event->now, lease->next)) {
        awaited |= step->nodes->connecting;
    }
    enum hf_outcome outcome = HF_OUT_NONE;
    if (hf_step_is_majority(step, freed)) {
        outcome = HF_OUT_RELEASED;
    } else if (hf_step_is_majority(step, denied)) {
        outcome = HF_OUT_LOST;
    } else if (!hf_step_is_majority(step, (uint16_t)(freed | awaited)) &&
               !hf_step_is_majority(step, (uint16_t)(denied | awaited))) {
        outcome = HF_OUT_UNKNOWN;
    }
    if (outcome != HF_OUT_NONE) {
        lease->flags &= (uint8_t)~HF_LEASE_REPORTS;
        hf_step_report(step, outcome);
    }
}

static void judge(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    judge_report(step);
    if (is_over(step)) {
        if ((step->lease->flags & HF_LEASE_REPORTS) != 0) {
            step->lease->flags &= (uint8_t)~HF_LEASE_REPORTS;
            hf_step_report(step, HF_OUT_UNKNOWN);
        }
        hf_release_finish(step);
    }
}

/* Send RELEASE to the nodes in `mask`. `patience`: how long the caller's result
 * waits for nodes that are connecting. */
static void begin(struct hf_step *step, uint16_t mask, bool reports,
                  struct hf_span patience)
{
    HF_ASSERT(step->lease->phase < HF_PHASE_RELEASING);
    struct hf_lease *lease = step->lease;
    lease->phase = HF_PHASE_RELEASING;
    lease->state = HF_STATE_RELEASED;
    lease->round_at = step->event->now;
    hf_lease_set_deadline(lease, hf_instant_add(step->event->now, lease->ttl));
    lease->flags = reports ? HF_LEASE_REPORTS : 0;
    lease->next = (mask & step->nodes->connecting) == 0
                      ? HF_NEVER
                      : hf_instant_add(step->event->now, patience);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        lease->votes[i].flags &= (uint16_t)~HF_VOTE_IN_ROUND;
        if ((mask & hf_node_bit(i)) != 0) {
            lease->votes[i].flags |= HF_VOTE_UNRELEASED;
            send_release(step, i);
        }
    }
    judge(step);
}

/* Nodes with a request in flight. Each such request may still make this owner
 * the holder, even if the node refused an earlier one: it may have lost its
 * data in between. An adoption acquires nothing, and if it fails the lock stays
 * with its holder: none. */
static uint16_t in_flight(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase < HF_PHASE_RELEASING);
    uint16_t mask = 0;
    if (lease->phase == HF_PHASE_ADOPTING) {
        return 0;
    }
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        mask |= lease->votes[i].pending != 0 ? hf_node_bit(i) : 0;
    }
    return mask;
}

void hf_release_begin(struct hf_step *step, bool reports)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ASKING &&
              step->lease->phase <= HF_PHASE_HOLDING);
    bool was_lost = step->lease->state == HF_STATE_LOST;
    uint16_t mask = hf_votes_flagged(step->lease, HF_VOTE_MAY_HOLD);
    mask |= in_flight(step->lease);
    if (reports) {
        /* It was held: also nodes without it, to align their counters. */
        mask |= (uint16_t)(step->nodes->voting | step->nodes->repairing);
        mask |= hf_votes_said(step->lease, HF_SAID_YOURS);
    }
    if (was_lost) {
        hf_step_report(step, HF_OUT_LOST);
    }
    begin(step, mask, reports && !was_lost, step->nodes->node_timeout);
}

void hf_release_foreign(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_IDLE);
    step->lease->fence = step->event->counter;
    uint16_t mask = hf_nodes_all(step->nodes);
    mask &= (uint16_t)~step->event->spared;
    begin(step, mask, true, step->nodes->connect_timeout);
}

void hf_release_answer(struct hf_step *step)
{
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    if (event->verb != HF_VERB_RELEASE) {
        judge(step); /* the reply to the RELEASE after it decides */
        return;
    }
    HF_ASSERT(event->verdict <= HF_VERDICT_ERROR);
    switch (event->verdict) {
    case HF_VERDICT_OK:
        vote->said = HF_SAID_FREED;
        vote->flags |= HF_VOTE_IN_ROUND;
        break;
    case HF_VERDICT_REFUSED:
    case HF_VERDICT_QUEUED:
        vote->said = (vote->flags & HF_VOTE_MAY_BE_FREED) == 0
                         ? HF_SAID_NOT_YOURS
                         : HF_SAID_UNKNOWN;
        vote->flags |= HF_VOTE_IN_ROUND;
        break;
    case HF_VERDICT_UNSENT:
    case HF_VERDICT_UNKNOWN:
    case HF_VERDICT_ERROR:
    default:
        vote->flags |= event->verdict == HF_VERDICT_UNKNOWN
                           ? HF_VOTE_UNRELEASED | HF_VOTE_MAY_BE_FREED
                           : HF_VOTE_UNRELEASED;
        if (hf_instant_is_never(step->lease->next)) {
            step->lease->next = hf_instant_add(
                event->now, hf_span_min(step->nodes->node_timeout,
                                        hf_renewal_retry(step->lease->ttl)));
        }
        break;
    }
    judge(step);
}

/* To every node that is up and still needs it, and only then judge: the caller
 * may mark several nodes as up before it passes the first event. */
static void send_releases(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if ((step->lease->votes[i].flags & HF_VOTE_UNRELEASED) != 0) {
            send_release(step, i);
        }
    }
}

void hf_release_timer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    struct hf_lease *lease = step->lease;
    if (!hf_instant_before(step->event->now, lease->next)) {
        lease->next = HF_NEVER;
        send_releases(step);
    }
    judge(step);
}

void hf_release_node(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_RELEASING);
    send_releases(step);
    judge(step);
}
