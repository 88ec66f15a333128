/* SPDX-License-Identifier: Apache-2.0 */
/* COUNTING VOTES
 *
 * A vote is the last reply of one node to this owner. It counts for the counter
 * in that reply only, and until it expires: sending of the request + ttl -
 * drift. (In the model, counting "ok" for a value that was not in the reply
 * gave two owners one fence, in 17 steps.) */
#include "core/lease_parts.h"

uint16_t hf_votes_said(const struct hf_lease *lease, enum hf_said said)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if (lease->votes[i].said == said) {
            mask |= hf_bit(i);
        }
    }
    return mask;
}

uint16_t hf_votes_flagged(const struct hf_lease *lease, enum hf_vote_flags flag)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if ((lease->votes[i].flags & (unsigned)flag) != 0) {
            mask |= hf_bit(i);
        }
    }
    return mask;
}

uint16_t hf_votes_for(const struct hf_lease *lease, uint64_t counter,
                      struct hf_instant now)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->said == HF_SAID_YOURS && vote->counter == counter &&
            hf_instant_before(now, vote->until)) {
            mask |= hf_bit(i);
        }
    }
    return mask;
}

uint16_t hf_votes_awaited(const struct hf_step *step)
{
    uint16_t prompt = 0;
    uint16_t slow = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        if (hf_nodes_is_slow(step->nodes, i)) {
            slow |= hf_bit(i);
        } else if (hf_is_awaited(vote)) {
            prompt |= hf_bit(i);
        }
    }
    uint16_t quick = (uint16_t)(step->nodes->voting & ~slow);
    if (hf_is_majority(step, quick)) {
        return prompt;
    }
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        if ((slow & hf_bit(i)) != 0 && hf_is_awaited(vote)) {
            prompt |= hf_bit(i);
        }
    }
    return prompt;
}

/* The quorum-th latest: insertion into a sorted array of at most nine. */
struct hf_instant hf_votes_until(const struct hf_lease *lease, uint16_t mask,
                                 unsigned quorum)
{
    struct hf_instant sorted[HF_NODES_MAX] = {{0}};
    unsigned n = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if ((mask & hf_bit(i)) == 0) {
            continue;
        }
        unsigned at = n++;
        while (at > 0 &&
               hf_instant_before(sorted[at - 1], lease->votes[i].until)) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = lease->votes[i].until;
    }
    HF_ASSERT(quorum >= 1 && n >= quorum);
    return sorted[quorum - 1];
}

unsigned hf_votes_best_rival(const struct hf_lease *lease)
{
    unsigned best = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        unsigned count = 0;
        if (lease->votes[i].said != HF_SAID_NOT_YOURS) {
            continue;
        }
        for (unsigned k = 0; k < lease->n_nodes; k++) {
            if (lease->votes[k].said == HF_SAID_NOT_YOURS &&
                hf_vote_rival(&lease->votes[k]) ==
                    hf_vote_rival(&lease->votes[i])) {
                count++;
            }
        }
        best = count > best ? count : best;
    }
    return best;
}

struct hf_instant hf_votes_due(const struct hf_lease *lease)
{
    struct hf_instant due = HF_NEVER;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (hf_is_awaited(vote)) {
            due = hf_instant_min(due, hf_vote_due(lease, vote));
        }
    }
    return due;
}

void hf_votes_outdate(struct hf_lease *lease)
{
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        struct hf_vote *vote = &lease->votes[i];
        bool is_asked = hf_is_pending(vote, HF_VERB_ACQUIRE) ||
                        hf_is_pending(vote, HF_VERB_YIELD);
        vote->flags |= is_asked ? HF_VOTE_OLD_ASK : 0;
        vote->flags |=
            hf_is_pending(vote, HF_VERB_CONFIRM) ? HF_VOTE_OLD_CONFIRM : 0;
    }
}

static bool is_waiting(const struct hf_step *step)
{
    return step->lease->phase == HF_PHASE_WAITING;
}

/* The expiry of the lease that the request asked for. A waiter requests Q; its
 * first ACQUIRE requested the ttl, which is no less. */
static struct hf_instant proof_until(const struct hf_step *step)
{
    struct hf_span ttl =
        is_waiting(step) ? hf_queue_lease(step->lease->ttl) : step->lease->ttl;
    return hf_instant_add(step->event->sent, hf_validity(ttl));
}

/* Record a reply "yours". A request from before this round may have asked for
 * another ttl: its reply proves ownership, but does not extend the vote. */
void hf_vote_grant(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(step->event->verdict == HF_VERDICT_OK);
    const struct hf_event *event = step->event;
    if (event->counter <= vote->refused) {
        return; /* stale: a later reply was "not yours" */
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
    bool is_of_round = !hf_instant_before(event->sent, step->lease->round_at) &&
                       (vote->flags & hf_vote_old(event->verb)) == 0;
    if (is_waiting(step) || is_of_round) {
        vote->until = hf_instant_max(vote->until, proof_until(step));
        vote->flags |= HF_VOTE_IN_ROUND;
    }
}

static uint32_t saturated_ms(struct hf_span left)
{
    if (left.ns < 0) {
        return UINT32_MAX;
    }
    int64_t ms = hf_span_ms_ceil(left);
    return ms >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)ms;
}

void hf_vote_refusal(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(step->event->verdict != HF_VERDICT_OK);
    const struct hf_event *event = step->event;
    struct hf_span queue = hf_queue_lease(step->lease->ttl);
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
        vote->until = is_queued ? vote->until : HF_LONG_AGO; /* another Q */
        return;
    }
    /* Earlier votes are void. `until` is now the expiry of a grant that the
     * node pushes after this reply, or has pushed already with a counter above
     * the one in this reply. */
    vote->until = hf_instant_add(event->sent, hf_validity(queue));
    if (!hf_instant_before(event->sent, step->lease->round_at)) {
        vote->flags |= HF_VOTE_IN_ROUND;
    }
}
