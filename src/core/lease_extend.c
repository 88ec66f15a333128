/* SPDX-License-Identifier: Apache-2.0 */
/* EXTENDING: A RENEWAL THAT A CALLER WAITS FOR, PERHAPS WITH ANOTHER TTL
 *
 * It is a round of lease_renew.c, which begins at once, and lease_lost.c
 * reports how it ended. With another ttl the replies to requests from before
 * prove no lease of that length (hf_votes_ttl_changed()).
 *
 * Cost: one round trip, to the node that completes the majority. */
#include "core/lease_parts.h"

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
void hf_extend_begin(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    if (step->event->ttl.ns != 0) {
        HF_ASSERT(step->event->ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    }
    if (lease->state == HF_STATE_LOST ||
        !hf_instant_before(step->event->now, hf_lease_deadline(lease))) {
        if (lease->state != HF_STATE_LOST) {
            hf_lost_report(step);
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
        hf_renew_begin(step);
    }
    hf_lost_judge(step);
}
