/* SPDX-License-Identifier: Apache-2.0 */
/* INV-6: ONLY THE MEMBER OF A UNION THAT WAS WRITTEN LAST IS READ
 *
 *   lease  deadline        HOLDING, RELEASING
 *          raised          ASKING, WAITING
 *          confirmed       HOLDING
 *          ticket          WAITING
 *   vote   due             a request is pending; WAITING: always
 *          node_time_us    ASKING, and the node has refused, nothing pending
 *          rival, left_ms  the last reply was "not yours" or "queued"
 *          raise_*         the last reply was "yours"
 *
 * Four unions save 16 bytes a lease and 16 a vote, where a client may hold
 * 100,000 leases. Each function asserts its member on reading and on writing;
 * scripts/checks/layers finds accesses without these functions.
 * hf_lease_deadline() and hf_lease_confirmed() are in lease.h. */
#ifndef HF_CORE_LEASE_OVERLAY_H
#define HF_CORE_LEASE_OVERLAY_H

#include "core/lease.h"

/* The last reply of the node about this lease. */
enum hf_said {
    HF_SAID_NOTHING, /* not asked, or the request was never sent */
    HF_SAID_YOURS,
    HF_SAID_NOT_YOURS,
    HF_SAID_QUEUED, /* not ours, and we have a place there */
    HF_SAID_FREED,  /* to RELEASE: it was yours */
    HF_SAID_ERROR,  /* the node refused to execute; nothing changed */
    HF_SAID_UNKNOWN /* sent, no reply: it may be yours */
};

/* ---- Of the lease ------------------------------------------------------- */

/* HOLDING, RELEASING: by then every lease of this owner has expired. */
static inline void hf_lease_set_deadline(struct hf_lease *lease,
                                         struct hf_instant deadline)
{
    HF_ASSERT(((1U << lease->phase) & HF_PHASES_OF_DEADLINE) != 0);
    lease->deadline_or_raised.deadline = deadline;
}

/* HOLDING: when the last request that a majority confirmed was sent. */
static inline void hf_lease_set_confirmed(struct hf_lease *lease,
                                          struct hf_instant confirmed)
{
    HF_ASSERT(lease->phase == HF_PHASE_HOLDING);
    lease->confirmed_or_ticket.confirmed = confirmed;
}

/* ASKING or WAITING: no majority is there yet, and grants are counted. */
static inline bool hf_lease_counts_grants(const struct hf_lease *lease)
{
    return lease->phase == HF_PHASE_ASKING || lease->phase == HF_PHASE_WAITING;
}

/* ASKING, WAITING: the greatest counter in a CONFIRM that was sent to raise a
 * node. */
static inline uint64_t hf_lease_raised(const struct hf_lease *lease)
{
    HF_ASSERT(hf_lease_counts_grants(lease));
    return lease->deadline_or_raised.raised;
}

/* ASKING, WAITING. */
static inline void hf_lease_set_raised(struct hf_lease *lease, uint64_t raised)
{
    HF_ASSERT(hf_lease_counts_grants(lease));
    lease->deadline_or_raised.raised = raised;
}

/* WAITING: our ticket, the same at all nodes. */
static inline uint64_t hf_lease_ticket(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_WAITING);
    return lease->confirmed_or_ticket.ticket;
}

/* WAITING. */
static inline void hf_lease_set_ticket(struct hf_lease *lease, uint64_t ticket)
{
    HF_ASSERT(lease->phase == HF_PHASE_WAITING);
    lease->confirmed_or_ticket.ticket = ticket;
}

/* ---- Of a vote ---------------------------------------------------------- */

/* The timeout of the pending request; WAITING, with none pending: when to ask
 * again. */
static inline struct hf_instant hf_vote_due(const struct hf_lease *lease,
                                            const struct hf_vote *vote)
{
    if (lease->phase != HF_PHASE_WAITING) {
        HF_ASSERT(vote->pending != 0);
    }
    return vote->due_or_node_time_us.due;
}

/* In the same states as hf_vote_due(). */
static inline void hf_vote_set_due(const struct hf_lease *lease,
                                   struct hf_vote *vote, struct hf_instant due)
{
    if (lease->phase != HF_PHASE_WAITING) {
        HF_ASSERT(vote->pending != 0);
    }
    vote->due_or_node_time_us.due = due;
}

/* Whether the vote has the time of its node's clock, by which a ticket is
 * computed. */
static inline bool hf_vote_has_node_time(const struct hf_lease *lease,
                                         const struct hf_vote *vote)
{
    return lease->phase == HF_PHASE_ASKING && vote->said == HF_SAID_NOT_YOURS &&
           vote->pending == 0;
}

/* hf_vote_has_node_time(): the node's clock in its refusal, in microseconds;
 * 0: none. */
static inline uint64_t hf_vote_node_time_us(const struct hf_lease *lease,
                                            const struct hf_vote *vote)
{
    HF_ASSERT(hf_vote_has_node_time(lease, vote));
    return vote->due_or_node_time_us.node_time_us;
}

/* hf_vote_has_node_time(): once the refusal is noted. */
static inline void hf_vote_set_node_time_us(const struct hf_lease *lease,
                                            struct hf_vote *vote,
                                            uint64_t time_us)
{
    HF_ASSERT(hf_vote_has_node_time(lease, vote));
    vote->due_or_node_time_us.node_time_us = time_us;
}

/* Whether the last reply names a rival. */
static inline bool hf_vote_is_refusal(const struct hf_vote *vote)
{
    return vote->said == HF_SAID_NOT_YOURS || vote->said == HF_SAID_QUEUED;
}

/* hf_vote_is_refusal(): the digest of the holder's owner; 0: none was named.
 */
static inline uint32_t hf_vote_rival(const struct hf_vote *vote)
{
    HF_ASSERT(hf_vote_is_refusal(vote));
    return vote->rival_or_raise.rival;
}

/* hf_vote_is_refusal(): the rest of the rival's lease at the reply, or
 * HF_LEFT_MS_ENDLESS. */
static inline uint32_t hf_vote_left_ms(const struct hf_vote *vote)
{
    HF_ASSERT(hf_vote_is_refusal(vote));
    return vote->rival_or_raise.left_ms;
}

/* hf_vote_is_refusal(): both come with the reply. */
static inline void hf_vote_set_rival(struct hf_vote *vote, uint32_t rival,
                                     uint32_t left_ms)
{
    HF_ASSERT(hf_vote_is_refusal(vote));
    vote->rival_or_raise.rival = rival;
    vote->rival_or_raise.left_ms = left_ms;
}

/* YOURS: the node raises its counter to this bucket of the clock floor or
 * above; 0: unknown. */
static inline uint32_t hf_vote_floor_bucket(const struct hf_vote *vote)
{
    HF_ASSERT(vote->said == HF_SAID_YOURS);
    return vote->rival_or_raise.floor_bucket;
}

/* YOURS: and only below this bucket; 0: unknown. */
static inline uint32_t hf_vote_bound_bucket(const struct hf_vote *vote)
{
    HF_ASSERT(vote->said == HF_SAID_YOURS);
    return vote->rival_or_raise.bound_bucket;
}

/* YOURS; 0: unknown. */
static inline void hf_vote_set_floor_bucket(struct hf_vote *vote,
                                            uint32_t least)
{
    HF_ASSERT(vote->said == HF_SAID_YOURS);
    vote->rival_or_raise.floor_bucket = least;
}

/* YOURS; 0: unknown. */
static inline void hf_vote_set_bound_bucket(struct hf_vote *vote, uint32_t most)
{
    HF_ASSERT(vote->said == HF_SAID_YOURS);
    vote->rival_or_raise.bound_bucket = most;
}

/* Reset the limits of raises: they are unknown. */
static inline void hf_vote_unlimit(struct hf_vote *vote)
{
    HF_ASSERT(vote->said == HF_SAID_YOURS);
    hf_vote_set_floor_bucket(vote, 0);
    hf_vote_set_bound_bucket(vote, 0);
}

#endif
