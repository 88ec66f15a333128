/* SPDX-License-Identifier: Apache-2.0 */
/* COUNTING VOTES
 *
 * A vote is the last reply of one node to this owner (lease_grant.c). These
 * functions select and sort the votes of all nodes; the phases decide. The last
 * ones are for the client, after a step.
 *
 * Cost: no round trip; at most nine votes, as bit masks. */
#include "core/lease_parts.h"

uint16_t hf_votes_said(const struct hf_lease *lease, enum hf_said said)
{
    HF_ASSERT(said <= HF_SAID_UNKNOWN);
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if (lease->votes[i].said == said) {
            mask |= hf_node_bit(i);
        }
    }
    return mask;
}

uint16_t hf_votes_flagged(const struct hf_lease *lease, enum hf_vote_flags flag)
{
    HF_ASSERT(__builtin_popcount((unsigned)flag) == 1);
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if ((lease->votes[i].flags & (unsigned)flag) != 0) {
            mask |= hf_node_bit(i);
        }
    }
    return mask;
}

uint16_t hf_votes_awaited(const struct hf_step *step)
{
    HF_ASSERT(step->nodes->count == step->lease->n_nodes);
    uint16_t awaited = 0;
    uint16_t slow = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        if (hf_nodes_is_slow(step->nodes, i)) {
            slow |= hf_node_bit(i);
        } else if (hf_vote_is_awaited(vote)) {
            awaited |= hf_node_bit(i);
        }
    }
    uint16_t quick = (uint16_t)(step->nodes->voting & ~slow);
    if (hf_step_is_majority(step, quick)) {
        return awaited;
    }
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        if ((slow & hf_node_bit(i)) != 0 && hf_vote_is_awaited(vote)) {
            awaited |= hf_node_bit(i);
        }
    }
    return awaited;
}

/* The quorum-th latest: insertion into a sorted array of at most nine. */
struct hf_instant hf_votes_until(const struct hf_lease *lease, uint16_t mask,
                                 unsigned quorum)
{
    struct hf_instant sorted[HF_NODES_MAX] = {{0}};
    unsigned n = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        if ((mask & hf_node_bit(i)) == 0) {
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

/* True if both refusals name one rival. A refusal without a name (a key of
 * another library may be empty) matches itself alone. */
static bool is_same_rival(const struct hf_vote *a, const struct hf_vote *b)
{
    HF_ASSERT(a->said == HF_SAID_NOT_YOURS);
    return a == b || (b->said == HF_SAID_NOT_YOURS && hf_vote_rival(a) != 0 &&
                      hf_vote_rival(a) == hf_vote_rival(b));
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
            count += is_same_rival(&lease->votes[i], &lease->votes[k]);
        }
        best = count > best ? count : best;
    }
    HF_ASSERT(best <= lease->n_nodes);
    return best;
}

struct hf_instant hf_votes_due(const struct hf_lease *lease)
{
    HF_ASSERT(lease->n_nodes <= HF_NODES_MAX);
    struct hf_instant due = HF_NEVER;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (hf_vote_is_awaited(vote)) {
            due = hf_instant_min(due, hf_vote_due(lease, vote));
        }
    }
    return due;
}

void hf_votes_ttl_changed(struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        struct hf_vote *vote = &lease->votes[i];
        bool is_asked = hf_vote_is_pending(vote, HF_VERB_ACQUIRE) ||
                        hf_vote_is_pending(vote, HF_VERB_YIELD);
        vote->flags |= is_asked ? HF_VOTE_OLD_TTL_ASK : 0;
        bool is_renewed = hf_vote_is_pending(vote, HF_VERB_CONFIRM);
        vote->flags |= is_renewed ? HF_VOTE_OLD_TTL_CONFIRM : 0;
    }
}

/* ---- Queries of the client --------------------------------------------- */

static uint64_t named_by(const struct hf_vote *vote)
{
    return vote->counter > vote->refused ? vote->counter : vote->refused;
}

/* True if `quorum` nodes are at the value or above, or can surely be raised to
 * it. */
static bool is_common(const struct hf_lease *lease, uint64_t value,
                      unsigned quorum)
{
    HF_ASSERT(quorum >= 1 && quorum <= lease->n_nodes);
    unsigned above = 0;
    unsigned below = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        uint64_t named = named_by(&lease->votes[i]);
        above += named >= value;
        below +=
            named != 0 && named <= value && value - named <= HF_FENCE_AHEAD_MAX;
    }
    return above >= quorum || below >= quorum;
}

uint64_t hf_lease_seen(const struct hf_lease *lease)
{
    HF_ASSERT(lease->n_nodes >= 1);
    unsigned quorum = lease->n_nodes / 2U + 1;
    unsigned n = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        n += named_by(&lease->votes[i]) != 0;
    }
    if (n == 0) {
        return lease->fence;
    }
    quorum = n < quorum ? n : quorum;
    uint64_t seen = is_common(lease, lease->fence, quorum) ? lease->fence : 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        uint64_t named = named_by(&lease->votes[i]);
        seen = named > seen && is_common(lease, named, quorum) ? named : seen;
    }
    return seen;
}

uint64_t hf_lease_granted(const struct hf_lease *lease, unsigned node)
{
    HF_ASSERT(node < lease->n_nodes);
    const struct hf_vote *vote = &lease->votes[node];
    return vote->said == HF_SAID_YOURS ? vote->counter : 0;
}

bool hf_lease_is_spread(const struct hf_lease *lease,
                        const struct hf_nodes *nodes)
{
    HF_ASSERT(nodes->count == lease->n_nodes);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        bool is_new = vote->said == HF_SAID_NOTHING &&
                      (nodes->connecting & hf_node_bit(i)) != 0;
        if ((hf_vote_is_awaited(vote) || is_new) &&
            lease->state != HF_STATE_LOST) {
            return false;
        }
    }
    return true;
}

/* If k more grants are needed for a majority, it is the k-th shortest of the
 * rivals' remaining leases. */
struct hf_span hf_lease_rival_left(const struct hf_lease *lease)
{
    unsigned quorum = lease->n_nodes / 2U + 1;
    uint32_t sorted[HF_NODES_MAX] = {0};
    unsigned n = 0;
    unsigned granted = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        granted += vote->said == HF_SAID_YOURS;
        if (vote->said != HF_SAID_NOT_YOURS) {
            continue;
        }
        unsigned at = n++;
        while (at > 0 && sorted[at - 1] > hf_vote_left_ms(vote)) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = hf_vote_left_ms(vote);
    }
    HF_ASSERT(n >= quorum); /* TAKEN: so fewer than a quorum granted */
    HF_ASSERT(granted < quorum && n + granted <= lease->n_nodes);
    uint32_t left_ms = sorted[quorum - granted - 1];
    return left_ms == HF_LEFT_MS_ENDLESS ? HF_SPAN_MAX : hf_span_ms(left_ms);
}
