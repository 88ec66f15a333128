/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH GRANTS COUNT, AND UNTIL WHEN; LATE GRANTS
 *
 * A grant is a reply "yours", or a message that the node pushes to a waiter. It
 * becomes the node's vote, for the counter that it names only. (In the model,
 * counting "ok" for a value that was not in the reply gave two owners one
 * fence, in 17 steps.) A vote expires: sending of the request + ttl - drift. It
 * is never counted from the receipt, since a message may be late by any time. A
 * late grant is treated according to the event that it missed:
 *
 *   THE GRANT COMES AFTER          IT IS TREATED AS
 *   the end of its own lease       no vote: hf_grants_for()
 *   a later refusal or YIELD       no vote, by its counter (rule W1). If a
 *                                  reply names a grant that was returned,
 *                                  YIELD is sent again (lease_wait.c)
 *   a new round, or a new ttl      ownership only: does not extend the vote
 *   a majority at T                a vote below T: the node is raised to T
 *                                  (lease_hold.c)
 *   the end of the attempt         no vote: RELEASE frees the node
 *                                  (lease_release.c)
 *
 * WHICH PUSHED GRANTS COUNT (each rule from a counter-example in model/)
 *
 * A grant can overtake the reply that names our place, and it can be older
 * than the last such reply. So it counts only if its counter exceeds
 * vote->refused, which has the counter of the last refusal, and of each grant
 * that was returned.
 *
 * No request belongs to a pushed grant. But a grant above vote->refused was
 * made after the request of that refusal was sent, and the node keeps it for Q,
 * the length of a place (validity.h). So hf_grant_refusal() sets vote->until
 * to: that request sent + Q - drift.
 *
 * Cost: none; nothing is sent from here. */
#include "core/lease_parts.h"

uint16_t hf_grants_for(const struct hf_lease *lease, uint64_t counter,
                       struct hf_instant now)
{
    HF_ASSERT(lease->n_nodes <= HF_NODES_MAX);
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->said == HF_SAID_YOURS && vote->counter == counter &&
            hf_instant_before(now, vote->until)) {
            mask |= hf_node_bit(i);
        }
    }
    return mask;
}

static bool is_waiting(const struct hf_step *step)
{
    return step->lease->phase == HF_PHASE_WAITING;
}

/* The expiry of the lease that the request asked for. A waiter requests Q; its
 * first ACQUIRE requested the ttl, which is no less. */
static struct hf_instant proof_until(const struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_ANSWER);
    struct hf_span ttl =
        is_waiting(step) ? hf_lease_place(step->lease) : step->lease->ttl;
    return hf_instant_add(step->event->sent, hf_validity(ttl));
}

/* A request from before this round may have asked for another ttl: its reply
 * proves ownership, but does not extend the vote. A waiter has no rounds and
 * one ttl: each reply proves Q. */
void hf_grant_reply(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(step->event->verdict == HF_VERDICT_OK);
    const struct hf_event *event = step->event;
    if (event->counter <= vote->refused) {
        return; /* stale: it was refused or returned since */
    }
    bool is_new = vote->said != HF_SAID_YOURS;
    vote->said = HF_SAID_YOURS;
    if (is_new || (event->floor == 0 && event->bound == 0)) {
        hf_vote_unlimit(vote);
    }
    if (is_new) {
        vote->until = HF_LONG_AGO; /* a refusal set it for a pushed grant */
    }
    if (vote->counter < event->counter) {
        vote->counter = event->counter;
    }
    HF_ASSERT(vote->counter > vote->refused); /* INV-3 */
    bool is_of_round = !hf_instant_before(event->sent, step->lease->round_at) &&
                       (vote->flags & hf_vote_old(event->verb)) == 0;
    if (is_waiting(step) || is_of_round) {
        vote->until = hf_instant_max(vote->until, proof_until(step));
        vote->flags |= HF_VOTE_IN_ROUND;
    }
}

static uint32_t saturated_ms(struct hf_span left)
{
    int64_t ms = hf_span_ms_ceil(left);
    HF_ASSERT(ms >= 0);
    if (left.ns == HF_SPAN_MAX.ns) {
        return HF_LEFT_MS_ENDLESS;
    }
    return ms >= HF_LEFT_MS_ENDLESS ? HF_LEFT_MS_ENDLESS - 1 : (uint32_t)ms;
}

void hf_grant_refusal(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(step->event->verdict != HF_VERDICT_OK);
    const struct hf_event *event = step->event;
    struct hf_span queue = hf_lease_place(step->lease);
    bool is_queued = event->verdict == HF_VERDICT_QUEUED;
    bool is_old = (vote->flags & hf_vote_old(event->verb)) != 0;
    vote->said = is_queued ? HF_SAID_QUEUED : HF_SAID_NOT_YOURS;
    if (vote->refused < event->counter) {
        vote->refused = event->counter;
    }
    hf_vote_set_rival(vote, event->rival, saturated_ms(event->left));
    if (is_queued && vote->counter > vote->refused) {
        vote->said = HF_SAID_YOURS;
        hf_vote_unlimit(vote);
    }
    if (is_old) {
        return; /* of another round or ttl: `until` stays */
    }
    /* A lease that an earlier reply proved is void. `until` is now the expiry
     * of a grant that the node pushes after this reply, or has pushed already
     * with a counter above the one in this reply. */
    vote->until = hf_instant_add(event->sent, hf_validity(queue));
    if (!hf_instant_before(event->sent, step->lease->round_at)) {
        vote->flags |= HF_VOTE_IN_ROUND;
    }
}

/* ---- Pushed grants ----------------------------------------------------- */

/* W1: it was returned or refused, or a later reply named it. */
static bool is_stale(const struct hf_event *event, const struct hf_vote *vote)
{
    HF_ASSERT(event->kind == HF_EV_GRANT);
    return event->counter <= vote->refused || event->counter <= vote->counter;
}

static void record(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(!is_stale(step->event, vote));
    vote->counter = step->event->counter;
    if (step->lease->phase == HF_PHASE_ASKING) {
        return; /* it counts from the reply that names our place */
    }
    vote->said = HF_SAID_YOURS; /* WAITING: it counts until vote->until */
    hf_vote_unlimit(vote);
    if (step->lease->phase == HF_PHASE_HOLDING) {
        vote->until = HF_LONG_AGO; /* unknown until the reply to CONFIRM: the
                                      ttl may have changed */
        vote->flags &= (uint16_t)~HF_VOTE_IN_ROUND;
    }
}

/* A grant during RELEASING is ignored: the RELEASE is executed after it, and
 * grants the name to the next waiter. A lock that is ADOPTING is held: it has
 * no place in a queue. */
void hf_grant_push(struct hf_step *step)
{
    HF_ASSERT(step->event->node < step->lease->n_nodes);
    struct hf_vote *vote = &step->lease->votes[step->event->node];
    bool is_new = !is_stale(step->event, vote);
    HF_ASSERT(step->lease->phase < HF_PHASE_DONE);
    switch (hf_lease_phase(step->lease)) {
    case HF_PHASE_ASKING:
    case HF_PHASE_WAITING:
        if (is_new) {
            record(step, vote);
            hf_wait_granted(step);
        }
        break;
    case HF_PHASE_HOLDING:
        if (is_new) {
            record(step, vote);
        }
        hf_hold_granted(step, is_new);
        break;
    case HF_PHASE_IDLE:
    case HF_PHASE_ADOPTING:
    case HF_PHASE_RELEASING:
    case HF_PHASE_DONE:
    default:
        break;
    }
}
