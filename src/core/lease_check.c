/* SPDX-License-Identifier: Apache-2.0 */
/* INVARIANTS OF A LEASE, ASSERTED AFTER EVERY STEP
 *
 * Only an error in core can violate them: they hold whatever nodes reply. If
 * one is violated the process aborts, because two holders would be worse.
 * ARCHITECTURE.md lists all invariants. INV-6 is in lease_overlay.h.
 *
 * Cost: no round trip; one pass over at most nine votes in each step. */
#include "core/lease_parts.h"

struct hf_held hf_held_of(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase <= HF_PHASE_DONE);
    if (lease->phase != HF_PHASE_HOLDING || lease->state == HF_STATE_LOST) {
        return (struct hf_held){.is_held = false};
    }
    return (struct hf_held){true, lease->fence, hf_lease_deadline(lease)};
}

static bool is_held_state(uint8_t state)
{
    HF_ASSERT(state <= HF_STATE_RELEASED);
    return state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
}

/* INV-1: a lease that is held has a fence and a deadline in the future.
 * INV-2: while it is held, its fence is constant, and its deadline never moves
 *        back. */
static void check_held(const struct hf_lease *lease, struct hf_instant now,
                       const struct hf_held *before)
{
    struct hf_held held = hf_held_of(lease);
    HF_ASSERT(held.is_held == is_held_state(lease->state));
    if (!held.is_held) {
        return;
    }
    HF_ASSERT(held.fence > 0 && held.fence <= HF_FENCE_MAX);
    HF_ASSERT(hf_instant_before(now, held.deadline));
    if (before->is_held) {
        HF_ASSERT(held.fence == before->fence);
        HF_ASSERT(!hf_instant_before(held.deadline, before->deadline));
    }
}

/* INV-3: a vote is for a counter above every counter that the node has refused.
 * INV-4: a request that timed out stays pending: a late reply is accepted, but
 *        no step waits for it. An extension gives it one more timeout.
 * INV-5: while grants are counted, the value of every raise that a node may
 *        still execute is recorded. W4 depends on that. */
static void check_votes(const struct hf_lease *lease)
{
    bool counts = hf_lease_counts_grants(lease);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (vote->said == HF_SAID_YOURS) {
            HF_ASSERT(vote->counter > vote->refused);
        }
        if ((vote->flags & HF_VOTE_LATE) != 0) {
            HF_ASSERT(vote->pending != 0);
        }
        bool may_rise = hf_vote_is_pending(vote, HF_VERB_CONFIRM) ||
                        (vote->flags & HF_VOTE_IN_DOUBT) != 0;
        if (counts && may_rise) {
            HF_ASSERT(hf_lease_raised(lease) > 0);
        }
    }
}

/* INV-7: a request that was sent is pending, at most one of each verb per node.
 *        So its reply is accepted, and a RELEASE is sent after it.
 * INV-8: the step that ends a lease sets `done`. */
static void check_effects(const struct hf_step *step)
{
    const struct hf_lease *lease = step->lease;
    const struct hf_effects *out = step->out;
    HF_ASSERT(out->done == (lease->phase == HF_PHASE_DONE));
    for (unsigned i = 0; i < out->n_sends; i++) {
        const struct hf_send *send = &out->sends[i];
        HF_ASSERT(send->node < lease->n_nodes);
        HF_ASSERT(hf_vote_is_pending(&lease->votes[send->node], send->verb));
    }
}

void hf_check_step(const struct hf_step *step, const struct hf_held *before)
{
    HF_ASSERT(step->lease->n_nodes == step->nodes->count);
    check_held(step->lease, step->event->now, before);
    check_votes(step->lease);
    check_effects(step);
}
