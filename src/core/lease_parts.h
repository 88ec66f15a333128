/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the lease machine; of the library nothing
 * else includes them. lease_step.c dispatches events. Each phase has a file:
 * lease_ask.c, lease_wait.c, lease_hold.c, lease_release.c. lease_grant.c
 * decides which grants count, lease_votes.c counts votes, lease_raise.c makes
 * the nodes' counters equal, lease_renew.c sends renewals, lease_extend.c
 * begins one that a caller waits for, lease_lost.c judges the replies to them,
 * lease_check.c asserts the invariants.
 *
 *     hf_lease_step()             one event, in lease_step.c
 *       hf_ask_begin(&step)       the handler of the event in this phase
 *         hf_step_send(...)       sends requests, at most one of a verb
 *                                 pending at each node
 *         hf_step_report(...)     reports the outcome, at most once
 *         hf_wait_begin(&step)    enters the next phase
 *       lease->wake = ...         from the votes and the phase
 *       hf_check_step()           every invariant, or the process aborts
 *
 * A function called PHASE_begin enters that phase; PHASE_answer, _node, _timer
 * and _granted handle an event in it. A part changes the lease and `out` alone.
 *
 * Owner: the caller of hf_lease_step() owns all that struct hf_step points to;
 * nothing is kept beyond the step. Threads: one at a time per lease. Errors:
 * none; replies of any content are handled, and a mistake inside fails an
 * assertion. Source: ARCHITECTURE.md (invariants); model/RULES.md (rules). */
#ifndef HF_CORE_LEASE_PARTS_H
#define HF_CORE_LEASE_PARTS_H

#include "base/assert.h"
#include "core/lease_overlay.h"
#include "core/validity.h"

enum hf_vote_flags {
    HF_VOTE_IN_ROUND = (1 << 0),    /* `said` belongs to the present round */
    HF_VOTE_LATE = (1 << 1),        /* its request has timed out */
    HF_VOTE_MAY_HOLD = (1 << 2),    /* ACQUIRE was sent: may have granted it */
    HF_VOTE_UNRELEASED = (1 << 3),  /* a RELEASE must still be sent */
    HF_VOTE_NO_PUSH = (1 << 4),     /* the last ACQUIRE was sent while the node
                                    could not push to us */
    HF_VOTE_OLD_TTL_ASK = (1 << 5), /* its ACQUIRE or YIELD was sent before the
                                   ttl changed, perhaps in that instant */
    HF_VOTE_OLD_TTL_CONFIRM = (1 << 6), /* the same of its CONFIRM */
    HF_VOTE_IN_DOUBT = (1 << 7), /* the reply to a raise was lost: the node may
                                    still execute it, at any later time */
    HF_VOTE_MAY_BE_FREED = (1 << 8) /* the reply to a RELEASE was lost */
};

enum hf_lease_flags {
    HF_LEASE_ROUND_DONE = (1 << 0), /* the present renewal is confirmed */
    HF_LEASE_EXTENDING = (1 << 1),  /* a caller waits for EXTENDED */
    HF_LEASE_REPORTS = (1 << 2),    /* a caller waits for RELEASED */
    HF_LEASE_QUEUES = (1 << 3),     /* if refused, wait in the queues */
    HF_LEASE_CLAIM = (1 << 4),      /* held by pushed grants, which last Q; not
                                       confirmed for the full ttl yet */
    HF_LEASE_PLACE_STAYS = (1 << 5) /* hf_queue_lease() */
};

/* The arguments of one hf_lease_step(). */
struct hf_step {
    struct hf_lease *lease;
    const struct hf_nodes *nodes;
    const struct hf_event *event;
    struct hf_effects *out;
};

/* Q of this lease. */
static inline struct hf_span hf_lease_place(const struct hf_lease *lease)
{
    return hf_queue_lease(lease->ttl,
                          (lease->flags & HF_LEASE_PLACE_STAYS) != 0);
}

/* The node's bit in a mask of nodes. */
static inline uint16_t hf_node_bit(unsigned node)
{
    return (uint16_t)(1U << node);
}

/* Whether the nodes of @p mask are a quorum. */
static inline bool hf_step_is_majority(const struct hf_step *step,
                                       uint16_t mask)
{
    return __builtin_popcount(mask) >= step->nodes->quorum;
}

/* Whether a request of this verb has no reply yet, in time or not. */
static inline bool hf_vote_is_pending(const struct hf_vote *vote,
                                      enum hf_verb verb)
{
    return (vote->pending & (1U << verb)) != 0;
}

/* A request is pending and has not timed out. */
static inline bool hf_vote_is_awaited(const struct hf_vote *vote)
{
    return vote->pending != 0 && (vote->flags & HF_VOTE_LATE) == 0;
}

/* Send a request to a node, and start its timeout. */
void hf_step_send(struct hf_step *step, unsigned node, enum hf_verb verb,
                  uint64_t counter);

/* Report the outcome of the step; at most one. */
void hf_step_report(struct hf_step *step, enum hf_outcome outcome);

/* Nodes with `said` as their last reply. */
uint16_t hf_votes_said(const struct hf_lease *lease, enum hf_said said);

/* Nodes with `flag` among their `flags`. */
uint16_t hf_votes_flagged(const struct hf_lease *lease,
                          enum hf_vote_flags flag);

/* Nodes with a request that is pending and has not timed out. Slow nodes
 * (hf_nodes_is_slow()) only if the others are no majority. */
uint16_t hf_votes_awaited(const struct hf_step *step);

/* The instant until which at least `quorum` votes of the nodes in `mask` are
 * valid. */
struct hf_instant hf_votes_until(const struct hf_lease *lease, uint16_t mask,
                                 unsigned quorum);

/* Greatest number of refusals that name one and the same rival. A refusal
 * without a name counts alone. */
unsigned hf_votes_best_rival(const struct hf_lease *lease);

/* The instant at which the lease becomes AT_RISK, if not confirmed before. */
struct hf_instant hf_hold_risk_at(const struct hf_lease *lease);

/* Earliest timeout of the requests that have not timed out; HF_NEVER if none.
 */
struct hf_instant hf_votes_due(const struct hf_lease *lease);

/* The ttl changes: mark the pending requests as old. Replies to them prove no
 * lease of the new ttl. Their sending times cannot tell, since an old and a new
 * request may be sent in one instant. */
void hf_votes_ttl_changed(struct hf_lease *lease);

/* The flag that marks a request of this verb as old. */
static inline uint16_t hf_vote_old(enum hf_verb verb)
{
    return verb == HF_VERB_CONFIRM ? HF_VOTE_OLD_TTL_CONFIRM
                                   : HF_VOTE_OLD_TTL_ASK;
}

/* lease_grant.c. Record a reply in the node's vote: "yours", "not yours". */
void hf_grant_reply(struct hf_step *step, struct hf_vote *vote);

/* The same of "not yours" and "queued". */
void hf_grant_refusal(struct hf_step *step, struct hf_vote *vote);

/* Record a pushed grant, if it counts, and let the phase decide. */
void hf_grant_push(struct hf_step *step);

/* Nodes with an unexpired vote "yours, c == counter". */
uint16_t hf_grants_for(const struct hf_lease *lease, uint64_t counter,
                       struct hf_instant now);

/* lease_check.c. The fields that INV-1 and INV-2 constrain: copied before a
 * step, compared after it. */
struct hf_held {
    bool is_held;
    uint64_t fence;
    struct hf_instant deadline;
};

/* The fields of the lease now; without a lease that is held: none. */
struct hf_held hf_held_of(const struct hf_lease *lease);

/* Assert all invariants of the lease and of the requests of this step. */
void hf_check_step(const struct hf_step *step, const struct hf_held *before);

/* lease_ask.c. Enter ASKING: send ACQUIRE to the nodes. */
void hf_ask_begin(struct hf_step *step);

/* The reply to an ACQUIRE or a raise while ASKING: count it, and decide.
 * "queued" begins to wait. */
void hf_ask_answer(struct hf_step *step);

/* A node has connected, or its status has changed: send ACQUIRE there, and
 * decide. */
void hf_ask_node(struct hf_step *step);

/** Decide by the votes: held, failed, or undecided. Held or failed enters the
 * next phase. @return true: undecided, and the phase continues. */
bool hf_ask_judge(struct hf_step *step);

/* lease_raise.c. Most raises per attempt. The first ones suffice unless other
 * owners increment counters at the same time; so many raises are a livelock. */
#define HF_RAISES_MAX 64

/* Send CONFIRM(T) to the nodes of `granted`, a majority, that are below T. */
void hf_raise_begin(struct hf_step *step, uint16_t granted);

/* Record a reply "yours" in the node's vote, with its limits of raises. */
void hf_raise_note(struct hf_step *step, struct hf_vote *vote);

/* No raise above `counter` can still be executed at this node. */
bool hf_raise_is_settled(const struct hf_lease *lease,
                         const struct hf_vote *vote, uint64_t counter);

/* The largest value on which a majority of `granted` and `coming` can agree; 0
 * if there is none. `coming`: nodes that have not replied yet. */
uint64_t hf_raise_target(const struct hf_step *step, uint16_t granted,
                         uint16_t coming);

/* Nodes of `granted` with counters too far from those of the others. */
uint16_t hf_raise_apart(const struct hf_step *step, uint16_t granted);

/* WAITING: this owner can no longer get a majority; another owner can. */
bool hf_raise_is_spoiled(const struct hf_step *step, uint16_t granted);

/* lease_wait.c. True if a ticket can be computed. Without a refusal it cannot:
 * then grants expired before the other nodes replied. */
bool hf_wait_has_ticket(const struct hf_step *step);

/* The clock readings contradict each other: another one is worth waiting for.
 */
bool hf_wait_needs_reading(const struct hf_step *step);

/* Enter WAITING, with a ticket: enqueue at all nodes, those that granted too,
 * to learn whether an earlier ticket waits there. */
void hf_wait_begin(struct hf_step *step);

/* A reply while WAITING: count it, decide, and yield a grant if an earlier
 * ticket waits. */
void hf_wait_answer(struct hf_step *step);

/* A pushed grant was recorded: decide. While ASKING it counts only with the
 * reply that names our place. */
void hf_wait_granted(struct hf_step *step);

/* The status of a node has changed: enqueue there again, with the same ticket.
 */
void hf_wait_node(struct hf_step *step);

/* A node can push again, or no more: ask it once, since a grant from before may
 * wait there. */
void hf_wait_listen(struct hf_step *step);

/* Send the heartbeats that are due. */
void hf_wait_timer(struct hf_step *step);

/* Renew the votes of @p voters that expire too soon to begin a lease with, and
 * only those. */
void hf_wait_refresh(struct hf_step *step, uint16_t voters);

/* A claim that expires at `until` is too short to be reported as held. */
bool hf_wait_is_brief(const struct hf_step *step, struct hf_instant until);

/* The earliest instant at which a node is to be asked again. */
struct hf_instant hf_wait_due(const struct hf_step *step);

/* lease_renew.c. Begin a round: CONFIRM(T) to every node. */
void hf_renew_begin(struct hf_step *step);

/* CONFIRM(T) to the nodes that have not confirmed in this round, or to one node
 * if none is pending there. */
void hf_renew_missing(struct hf_step *step);

/* CONFIRM(T) to one node, if it is up and none is pending there. */
void hf_renew_node(struct hf_step *step, unsigned node);

/* This lease's share of `most`: from none to all of it. */
static inline struct hf_span hf_lease_jitter(const struct hf_lease *lease,
                                             struct hf_span most)
{
    HF_ASSERT(most.ns >= 0);
    return hf_span_scale(hf_span_div(most, UINT8_MAX), lease->jitter);
}

/* The node has confirmed T in this round. */
bool hf_renew_includes(const struct hf_lease *lease, unsigned node);

/* The nodes whose replies count for a renewal. */
uint16_t hf_renew_voters(const struct hf_step *step);

/* C1, E1: assert that `voters` are a majority with unexpired votes at T. */
void hf_renew_check(const struct hf_step *step, uint16_t voters);

/* The round succeeded by the replies of `voters`: HELD, with a later deadline.
 */
void hf_renew_done(struct hf_step *step, uint16_t voters);

/* lease_lost.c. Decide by the votes of the round and by the clock. */
void hf_lost_judge(struct hf_step *step);

/* LOST, which is final: report it. */
void hf_lost_report(struct hf_step *step);

/* lease_hold.c: HOLDING, and ADOPTING which is its first round. Enter HOLDING
 * with the full lease: `voters`, a majority, have granted one T. */
void hf_hold_begin(struct hf_step *step, uint16_t voters);

/* Enter HOLDING from WAITING, with a lease of Q: pushed grants last so long.
 * The first renewal makes it the full lease. */
void hf_hold_claim(struct hf_step *step, uint16_t voters);

/* Enter ADOPTING: CONFIRM(T) to all nodes. A majority makes it HOLDING. */
void hf_hold_adopt(struct hf_step *step);

/* A node reports that the lock may have ended: renew now, to learn it. */
void hf_hold_doubt(struct hf_step *step);

/** A node outside of the first majority has pushed its grant: raise it to T.
 * @param is_new  the grant was recorded. */
void hf_hold_granted(struct hf_step *step, bool is_new);

/* A reply while ADOPTING or HOLDING: count it, and decide. */
void hf_hold_answer(struct hf_step *step);

/* A node has connected: confirm there too, unless it is in this round. */
void hf_hold_node(struct hf_step *step);

/* Begin the renewal that is due, retry, or judge the end of the lease. */
void hf_hold_timer(struct hf_step *step);

/* lease_extend.c. A caller wants the full lease, or another ttl, from now on:
 * begin a round that reports EXTENDED. */
void hf_extend_begin(struct hf_step *step);

/* lease_release.c. Enter RELEASING: send RELEASE to each node that may hold
 * this owner. `reports`: a caller waits for the outcome. */
void hf_release_begin(struct hf_step *step, bool reports);

/* Release a lock of another attempt's owner, from its text and fence, at all
 * nodes but those spared. */
void hf_release_foreign(struct hf_step *step);

/* A reply while RELEASING: done if no node can hold the owner any more. */
void hf_release_answer(struct hf_step *step);

/* Send the RELEASEs that are due again, or end without them when every lease
 * has expired. */
void hf_release_timer(struct hf_step *step);

/* A node has connected: send the RELEASE that it still must get. */
void hf_release_node(struct hf_step *step);

/* End the lease: DONE. */
void hf_release_finish(struct hf_step *step);

#endif
