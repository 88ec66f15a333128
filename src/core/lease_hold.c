/* SPDX-License-Identifier: Apache-2.0 */
/* HOLDING: RENEWAL, EXTENSION AND LOSS
 *
 *   confirmed            sending of the last request a majority confirmed
 *   + ttl/3              renewal: CONFIRM(T, ttl) to all, as a new round;
 *                        repeated every ttl/30 to nodes that did not confirm
 *   + ttl/2              still unconfirmed: AT_RISK
 *   + ttl - drift        deadline on our own clock: LOST, which is final
 *
 * A round succeeds when a majority has replied exactly "yours, c == T" to
 * requests of this round. (In the model a renewal that checks only the owner
 * can succeed after a greater fence completed, in 16 steps.) The deadline is
 * the sending of the majority-th latest of those requests + ttl - drift. It
 * never moves back, and the fence never changes. If a majority replies "not
 * yours" in one round, the lock is LOST at once.
 *
 * ADOPTING is such a round of a lock that another process acquired. Its
 * CONFIRMs do not acquire a free name, so a lost lock stays lost.
 *
 * Cost: one request to each node in a third of the lease, for which no caller
 * waits. An extension or an adoption is one round trip, to the node that
 * completes the majority. */
#include "core/lease_parts.h"

/* Jitter spreads the renewals of many locks acquired together over an eighth of
 * the period, so that they are not sent in one burst each time. */
static struct hf_instant renewal_at(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    struct hf_span period = hf_renewal_period(lease->ttl);
    struct hf_span early =
        hf_span_scale(hf_span_div(period, 8 * 255), lease->jitter);
    return hf_instant_add(hf_lease_confirmed(lease),
                          hf_span_sub(period, early));
}

/* The nodes that count for a renewal: those that may vote. If the store is one
 * node, it also renews a held lock during its quarantine: it grants no name to
 * another owner in that time. */
static uint16_t renewers(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING &&
              step->lease->phase <= HF_PHASE_HOLDING);
    bool is_sole =
        step->nodes->count == 1 && step->lease->phase == HF_PHASE_HOLDING;
    return is_sole ? (uint16_t)(step->nodes->voting | step->nodes->repairing)
                   : step->nodes->voting;
}

static void confirm(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->fence > 0);
    uint16_t up = (uint16_t)(step->nodes->voting | step->nodes->repairing);
    if ((up & hf_node_bit(node)) != 0 &&
        !hf_vote_is_pending(&step->lease->votes[node], HF_VERB_CONFIRM)) {
        hf_step_send(step, node, HF_VERB_CONFIRM, step->lease->fence);
    }
}

static bool has_confirmed(const struct hf_lease *lease, unsigned node)
{
    HF_ASSERT(lease->fence > 0);
    const struct hf_vote *vote = &lease->votes[node];
    return vote->said == HF_SAID_YOURS && vote->counter == lease->fence &&
           (vote->flags & HF_VOTE_IN_ROUND) != 0;
}

static void confirm_missing(struct hf_step *step)
{
    HF_ASSERT((step->lease->flags & HF_LEASE_ROUND_DONE) == 0);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if (!has_confirmed(step->lease, i)) {
            confirm(step, i);
        }
    }
    step->lease->next =
        hf_instant_add(step->event->now, hf_renewal_retry(step->lease->ttl));
}

static void begin_round(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    HF_ASSERT(step->lease->state != HF_STATE_LOST);
    struct hf_lease *lease = step->lease;
    lease->round_at = step->event->now;
    lease->flags &= (uint8_t)~HF_LEASE_ROUND_DONE;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        lease->votes[i].flags &= (uint16_t)~HF_VOTE_IN_ROUND;
    }
    confirm_missing(step);
}

/* C1, E1: the voters are a majority with unexpired votes at the fence. */
static void check_majority(const struct hf_step *step, uint16_t voters)
{
    const struct hf_lease *lease = step->lease;
    uint16_t all = hf_grants_for(lease, lease->fence, step->event->now);
    HF_ASSERT(hf_step_is_majority(step, voters));
    HF_ASSERT((voters & ~all) == 0);
}

/* Neither instant moves back, since the caller may rely on one it has read: a
 * round may be confirmed by older requests than the one before it. */
static void confirmed(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    check_majority(step, voters);
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
    confirmed(step, voters);
    hf_step_report(step, HF_OUT_HELD);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->said == HF_SAID_YOURS && vote->counter < lease->fence) {
            confirm(step, i);
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
    check_majority(step, voters);
    hf_lease_set_deadline(lease,
                          hf_votes_until(lease, voters, step->nodes->quorum));
    hf_lease_set_confirmed(lease, step->event->now);
    lease->flags |= HF_LEASE_CLAIM;
    hf_votes_ttl_changed(lease); /* a waiter asks for Q */
    hf_step_report(step, HF_OUT_HELD);
    if (lease->n_nodes > 1) {
        begin_round(step);
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
        confirm(step, i);
    }
    hf_hold_timer(step);
}

/* ---- Judging a round --------------------------------------------------- */

static uint16_t round_of(const struct hf_step *step, enum hf_said said)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING &&
              step->lease->phase <= HF_PHASE_HOLDING);
    return (uint16_t)(hf_votes_said(step->lease, said) &
                      hf_votes_flagged(step->lease, HF_VOTE_IN_ROUND));
}

static void lose(struct hf_step *step)
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

/* True if pending replies can still complete a majority for the caller's
 * operation. */
static bool is_hopeful(const struct hf_step *step, uint16_t voters)
{
    HF_ASSERT((voters & ~hf_nodes_all(step->nodes)) == 0);
    uint16_t reach = (uint16_t)(voters | hf_votes_awaited(step));
    if (hf_instant_before(step->event->now, step->lease->next) &&
        step->lease->phase == HF_PHASE_ADOPTING) {
        reach |= step->nodes->connecting;
    }
    return hf_step_is_majority(step, reach);
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
    } else if (!is_hopeful(step, voters)) {
        fail_adoption(step, HF_OUT_UNREACHED);
    }
}

static void judge_extension(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    if ((lease->flags & HF_LEASE_EXTENDING) == 0) {
        return;
    }
    bool is_done = (lease->flags & HF_LEASE_ROUND_DONE) != 0;
    if (is_done || !is_hopeful(step, voters)) {
        lease->flags &= (uint8_t)~HF_LEASE_EXTENDING;
        hf_step_report(step, is_done ? HF_OUT_EXTENDED : HF_OUT_UNEXTENDED);
    }
}

static void judge(struct hf_step *step)
{
    HF_ASSERT(step->lease->fence > 0);
    struct hf_lease *lease = step->lease;
    uint16_t voters =
        (uint16_t)(hf_grants_for(lease, lease->fence, step->event->now) &
                   round_of(step, HF_SAID_YOURS) & renewers(step));
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
        lose(step);
        return;
    }
    if ((lease->flags & HF_LEASE_ROUND_DONE) == 0 &&
        hf_step_is_majority(step, voters)) {
        confirmed(step, voters);
    }
    judge_extension(step, voters);
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
        confirm(step, event->node);
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
    judge(step);
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
        confirm(step, node);
    }
    judge(step);
}

/* A node reports that our lock may have ended: a renewal shows whether it has.
 * One that is under way shows the same, if it was not sent before. */
void hf_hold_doubt(struct hf_step *step)
{
    const struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    judge(step);
    if (lease->state != HF_STATE_LOST &&
        (lease->flags & HF_LEASE_ROUND_DONE) != 0) {
        begin_round(step);
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
        !has_confirmed(lease, node)) {
        confirm(step, node);
    }
    judge(step);
}

void hf_hold_timer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase >= HF_PHASE_ADOPTING);
    HF_ASSERT(step->lease->phase <= HF_PHASE_HOLDING);
    struct hf_lease *lease = step->lease;
    struct hf_instant now = step->event->now;
    judge(step);
    if (lease->phase != HF_PHASE_HOLDING || lease->state == HF_STATE_LOST) {
        return;
    }
    bool is_done = (lease->flags & HF_LEASE_ROUND_DONE) != 0;
    if (is_done &&
        !hf_instant_before(hf_instant_add(now, hf_renewal_slack(lease->ttl)),
                           lease->next)) {
        begin_round(step);
    } else if (!is_done && !hf_instant_before(now, lease->next)) {
        confirm_missing(step);
    }
    if (!hf_instant_before(now, hf_hold_risk_at(lease))) {
        lease->state = HF_STATE_AT_RISK;
    }
}

/* Requests that timed out stay pending and are not sent again. An extension
 * that begins now waits for their replies for one more timeout. */
static void wait_anew(struct hf_step *step)
{
    HF_ASSERT((step->lease->flags & HF_LEASE_EXTENDING) != 0);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        struct hf_vote *vote = &step->lease->votes[i];
        if ((vote->flags & HF_VOTE_LATE) != 0) {
            vote->flags &= (uint16_t)~HF_VOTE_LATE;
            hf_vote_set_due(step->lease, vote,
                            hf_instant_add(step->event->now,
                                           hf_nodes_timeout(step->nodes, i,
                                                            step->lease->ttl)));
        }
    }
}

/* An earlier extension may still be running after its caller returned. The
 * first round of a claim is already an extension to the full ttl. */
void hf_hold_extend(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    if (step->event->ttl.ns != 0) {
        HF_ASSERT(step->event->ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    }
    if (lease->state == HF_STATE_LOST ||
        !hf_instant_before(step->event->now, hf_lease_deadline(lease))) {
        if (lease->state != HF_STATE_LOST) {
            lose(step);
        }
        return;
    }
    if (step->event->ttl.ns > 0) {
        hf_votes_ttl_changed(lease);
        lease->ttl = step->event->ttl;
    }
    lease->flags |= HF_LEASE_EXTENDING;
    wait_anew(step);
    bool is_under_way = (lease->flags & HF_LEASE_CLAIM) != 0 &&
                        (lease->flags & HF_LEASE_ROUND_DONE) == 0 &&
                        step->event->ttl.ns == 0;
    if (!is_under_way) {
        begin_round(step);
    }
    judge(step);
}
