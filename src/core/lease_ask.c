/* SPDX-License-Identifier: Apache-2.0 */
/* ASKING: FROM THE FIRST REQUEST TO A DECISION
 *
 *   t0        ACQUIRE to every node that may vote, at once
 *   t0 + rtt  a majority has granted the same counter T: held
 *             a majority has granted, but counters differ: CONFIRM(T = the
 *             largest) to the nodes below T; a further reply may complete a
 *             majority at one counter first
 *   else      as soon as no majority can grant in time any more: fail
 *
 * A decision does not wait for the slowest node. The lock is held at the
 * majority-th grant. The attempt fails as soon as the grants that are still
 * possible are no majority; refusals are not counted, so a split vote or a dead
 * node cannot block the decision. A node that is still connecting is waited for
 * only while fewer than a majority have replied. A failed attempt sends RELEASE
 * to every node that was asked and did not refuse, since a missing reply is no
 * refusal.
 *
 * Cost: one round trip, to the node that completes the majority; one more if
 * the counters of the majority differ. */
#include "core/lease_parts.h"

static void ask(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    struct hf_vote *vote = &step->lease->votes[node];
    if (vote->said == HF_SAID_YOURS || vote->said == HF_SAID_NOT_YOURS ||
        vote->said == HF_SAID_ERROR ||
        hf_vote_is_pending(vote, HF_VERB_ACQUIRE)) {
        return;
    }
    if ((step->nodes->voting & hf_node_bit(node)) != 0) {
        hf_step_send(step, node, HF_VERB_ACQUIRE, step->lease->fence);
    }
}

void hf_ask_begin(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_IDLE);
    lease->phase = HF_PHASE_ASKING;
    hf_lease_set_raised(lease, 0);
    lease->round_at = step->event->now;
    lease->fence = step->event->counter;
    lease->flags |= step->event->queues ? HF_LEASE_QUEUES : 0;
    lease->flags |= step->event->place_stays ? HF_LEASE_PLACE_STAYS : 0;
    lease->next =
        step->nodes->connecting == 0
            ? HF_NEVER
            : hf_instant_add(step->event->now, step->nodes->connect_timeout);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        ask(step, i);
    }
    hf_ask_judge(step);
}

/* ---- Giving up --------------------------------------------------------- */

static uint16_t answered(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    return (uint16_t)(hf_votes_said(step->lease, HF_SAID_YOURS) |
                      hf_votes_said(step->lease, HF_SAID_NOT_YOURS) |
                      hf_votes_said(step->lease, HF_SAID_QUEUED));
}

/* TAKEN needs one rival at a majority. Otherwise no owner holds the lock: if
 * both halves of a split vote reported "held", neither would run. */
static enum hf_outcome failure(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    uint16_t apart = hf_raise_apart(step, granted);
    if (!hf_step_is_majority(step, (uint16_t)(answered(step) & ~apart))) {
        return HF_OUT_UNREACHED;
    }
    if (hf_votes_best_rival(step->lease) >= step->nodes->quorum) {
        return HF_OUT_TAKEN;
    }
    return HF_OUT_SPLIT;
}

static void give_up(struct hf_step *step, enum hf_outcome outcome)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    hf_step_report(step, outcome);
    hf_release_begin(step, false);
}

/* ---- Deciding ---------------------------------------------------------- */

/* The nodes of a majority that replied "yours, c == T" for one value T; 0 if
 * there is none. At most one T has a majority. Nodes that may still be raised
 * above T do not count: a lock held at T could never be renewed there. */
static uint16_t agreement(const struct hf_step *step)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    const struct hf_lease *lease = step->lease;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        uint64_t counter = lease->votes[i].counter;
        uint16_t voters = hf_grants_for(lease, counter, step->event->now);
        voters &= step->nodes->voting;
        for (unsigned k = 0; k < lease->n_nodes; k++) {
            if (!hf_raise_is_settled(lease, &lease->votes[k], counter)) {
                voters &= (uint16_t)~hf_node_bit(k);
            }
        }
        if ((voters & hf_node_bit(i)) != 0 &&
            hf_step_is_majority(step, voters)) {
            return voters;
        }
    }
    return 0;
}

/* A claim is valid for Q from the sending of the last heartbeat. If too little
 * of that is left, it is refreshed before the lock is reported as held. */
static void decide_claimed(struct hf_step *step, uint16_t voters,
                           struct hf_instant until)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (hf_wait_is_brief(step, until)) {
        hf_wait_refresh(step, voters);
        return;
    }
    hf_hold_claim(step, voters);
}

static void decide_held(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(hf_step_is_majority(step, voters));
    struct hf_lease *lease = step->lease;
    struct hf_instant until =
        hf_votes_until(lease, voters, step->nodes->quorum);
    if (lease->phase == HF_PHASE_WAITING) {
        decide_claimed(step, voters, until);
        return;
    }
    if (hf_instant_until(step->event->now, until).ns <
        hf_validity_min(lease->ttl).ns) {
        give_up(step, HF_OUT_TOO_SLOW);
        return;
    }
    hf_hold_begin(step, voters);
}

/* The nodes of `granted` that can still vote for T: no request to them has
 * timed out, and they are at T or may still be raised. */
static uint16_t unspent(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    uint16_t mask = granted;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        bool is_stuck = vote->counter < step->lease->fence &&
                        vote->counter != 0 &&
                        !hf_vote_is_pending(vote, HF_VERB_CONFIRM) &&
                        step->lease->raises >= HF_RAISES_MAX;
        if (is_stuck || (vote->flags & HF_VOTE_LATE) != 0) {
            mask &= (uint16_t)~hf_node_bit(i);
        }
    }
    return mask;
}

/* Connecting nodes that are still waited for: none once a majority replied. */
static uint16_t awaited_connections(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    if (hf_step_is_majority(step, answered(step)) ||
        !hf_instant_before(step->event->now, step->lease->next)) {
        return 0;
    }
    return step->nodes->connecting;
}

/* The attempt has failed, but the reason is open: fewer than a majority have
 * replied, and pending replies may still make it TAKEN instead of UNREACHED. */
static bool may_become_taken(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    uint16_t awaited = hf_votes_awaited(step) & step->nodes->voting;
    uint16_t possible =
        (uint16_t)(answered(step) | awaited | awaited_connections(step));
    return !hf_step_is_majority(step, answered(step)) &&
           hf_step_is_majority(step, possible);
}

/* A majority has replied or still has a request pending, though timed out. An
 * attempt that waits anyway keeps these requests, and so its position in the
 * nodes' queues; a new attempt would be queued after its own late requests. */
static bool is_only_late(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    uint16_t coming =
        (uint16_t)(answered(step) & ~hf_raise_apart(step, granted));
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if (step->lease->votes[i].pending != 0) {
            coming |= (uint16_t)(hf_node_bit(i) & step->nodes->voting);
        }
    }
    return hf_step_is_majority(step, coming);
}

static void end_without_majority(struct hf_step *step, uint16_t granted,
                                 uint16_t coming)
{
    enum hf_outcome outcome = failure(step, granted);
    bool queues = (step->lease->flags & HF_LEASE_QUEUES) != 0;
    bool is_reached = outcome != HF_OUT_UNREACHED;
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    if (queues && is_reached && hf_wait_has_ticket(step)) {
        if (coming == 0 || !hf_wait_needs_reading(step)) {
            hf_wait_begin(step);
        }
    } else if (!queues || is_reached || !is_only_late(step, granted)) {
        give_up(step, outcome);
    }
}

/* It goes on until a grant, or a rival's release. */
static void judge_waiting(struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (hf_step_is_majority(step, granted)) {
        hf_raise_begin(step, granted);
    } else {
        step->lease->raises = 0;
    }
    if (hf_raise_is_spoiled(step, granted)) {
        give_up(step, HF_OUT_SPLIT);
    }
}

static void judge_asking(struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    if (hf_step_is_majority(step, granted)) {
        hf_raise_begin(step, granted);
    }
    uint16_t coming =
        (uint16_t)((hf_votes_awaited(step) & step->nodes->voting) |
                   awaited_connections(step));
    if (hf_step_is_majority(step, coming) ||
        hf_raise_target(step, unspent(step, granted), coming) != 0 ||
        may_become_taken(step)) {
        return;
    }
    end_without_majority(step, granted, coming);
}

static void judge(struct hf_step *step)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    uint16_t voters = agreement(step);
    if (voters != 0) {
        decide_held(step, voters);
        return;
    }
    uint16_t granted = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        granted |= hf_grants_for(step->lease, step->lease->votes[i].counter,
                                 step->event->now);
    }
    granted &= step->nodes->voting;
    if (step->lease->phase == HF_PHASE_WAITING) {
        judge_waiting(step, granted);
    } else {
        judge_asking(step, granted);
    }
}

bool hf_ask_judge(struct hf_step *step)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    uint8_t phase = step->lease->phase;
    judge(step);
    return step->lease->phase == phase;
}

/* ---- Events ------------------------------------------------------------ */

/* The reply shows that the node does not store our owner: it refused, or it did
 * not execute the only ACQUIRE that it was sent. */
static bool disproves(const struct hf_event *event, const struct hf_vote *vote)
{
    HF_ASSERT(event->kind == HF_EV_ANSWER);
    bool is_unexecuted = event->verdict == HF_VERDICT_UNSENT ||
                         event->verdict == HF_VERDICT_ERROR;
    return event->verb == HF_VERB_ACQUIRE &&
           (event->verdict == HF_VERDICT_REFUSED ||
            (is_unexecuted && vote->said == HF_SAID_NOTHING));
}

static void note(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    HF_ASSERT(event->verdict <= HF_VERDICT_ERROR);
    if (disproves(event, vote)) {
        vote->flags &= (uint16_t)~HF_VOTE_MAY_HOLD;
    }
    switch (event->verdict) {
    case HF_VERDICT_OK:
        hf_raise_note(step, vote);
        break;
    case HF_VERDICT_REFUSED:
    case HF_VERDICT_QUEUED:
        hf_grant_refusal(step, vote);
        break;
    case HF_VERDICT_UNSENT:
        break;
    case HF_VERDICT_UNKNOWN:
        vote->said = HF_SAID_UNKNOWN;
        break;
    case HF_VERDICT_ERROR:
    default:
        vote->said = HF_SAID_ERROR;
        break;
    }
    if (hf_vote_has_node_time(step->lease, vote)) {
        bool names_time = event->verdict == HF_VERDICT_REFUSED &&
                          event->verb == HF_VERB_ACQUIRE;
        hf_vote_set_node_time_us(step->lease, vote,
                                 names_time ? event->ticket : 0);
    }
}

void hf_ask_answer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    note(step);
    if (step->event->verdict == HF_VERDICT_QUEUED) {
        hf_wait_begin(step);
    } else {
        hf_ask_judge(step);
    }
}

/* The node connected: send ACQUIRE, or send it again with the same owner if the
 * reply was lost with the previous connection. */
void hf_ask_node(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    ask(step, step->event->node);
    hf_ask_judge(step);
}
