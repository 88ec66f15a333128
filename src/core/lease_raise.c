/* SPDX-License-Identifier: Apache-2.0 */
/* RAISING: MAKING THE COUNTERS OF A MAJORITY EQUAL TO ONE VALUE T
 *
 * A node's counter is about its time in microseconds: each grant moves it up,
 * to its clock's floor at least (HF_FLOOR_BITS), so that the counters of nodes
 * are mostly equal. Here three of them are small numbers:
 *
 *   granted at 7, 9    two of three have; CONFIRM(9) to the node at 7
 *   "yours, c = 9"     both are at 9: held
 *   "yours, c = 7,     refused: this node accepts less than 8 (its bound), and
 *   bound 8"           has changed nothing; 9 is no target with it any more
 *   no reply           the node may execute the raise at any later time: until
 *                      it replies it counts for 9 and above, not for 7
 *
 * A node refuses to raise a counter too far above its own clock and counter
 * (HF_FENCE_AHEAD_MAX), and its reply has that bound. So if a node's clock is
 * far ahead, its counter is no target for the others: T is the largest value
 * that a majority can reach, and only that node's vote is lost. A node whose
 * clock lags far refuses T and loses its own vote, too. The client cannot
 * compute the bound: if a node granted an hour ago, its clock has advanced
 * since.
 *
 * A raise that is accepted overwrites the node's counter. After it the node no
 * longer agrees with nodes that cannot be raised so far. So nodes whose bound
 * allows T are raised only when the client is sure that a majority can reach T.
 * As long as it is not, it sends the raise to the nodes with an unknown bound
 * alone: a refusal changes nothing, and has the bound. (Without this rule the
 * model raised a node between two clocks far ahead and two right ones away from
 * the right ones, in 6 steps.)
 *
 * If all nodes have granted, and no majority can reach one value at once, T is
 * the counter in the middle. At least one node with a right clock has as large
 * a counter, so T is not far ahead, and the nodes below it are raised in steps:
 * each to the last value below its bound, which its reply then moves up.
 *
 * Cost: one round trip, to the nodes below T; one more to ask for an unknown
 * bound, and one for each step if they are raised in steps. Equal counters cost
 * none. */
#include "core/lease_parts.h"

/* Most steps to raise one node, each by up to HF_FENCE_AHEAD_MAX: by 4.8 h in
 * all. */
#define RAISE_STEPS_MAX 4

/* True if no raise above `counter` was sent to any node, or none is pending at
 * this one or without a reply. */
bool hf_raise_is_settled(const struct hf_lease *lease,
                         const struct hf_vote *vote, uint64_t counter)
{
    return counter >= hf_lease_raised(lease) ||
           (!hf_vote_is_pending(vote, HF_VERB_CONFIRM) &&
            (vote->flags & HF_VOTE_IN_DOUBT) == 0);
}

/* True if this node's known limits, its clock floor and its bound, allow a
 * raise to `value`; an unknown one allows all. */
static bool is_within(const struct hf_vote *vote, uint64_t value)
{
    HF_ASSERT(vote->counter <= HF_FENCE_MAX);
    uint64_t bucket = value >> HF_FLOOR_BITS;
    if (value <= vote->counter) {
        return value == vote->counter;
    }
    uint32_t bound = hf_vote_bound_bucket(vote);
    return bucket >= hf_vote_floor_bucket(vote) &&
           (bound == 0 || bucket < bound);
}

/* True if the node surely accepts the value: its bound is known (and
 * is_within()), or the value is below every possible bound. */
static bool is_sure(const struct hf_vote *vote, uint64_t value)
{
    HF_ASSERT(vote->counter <= HF_FENCE_MAX); /* so the sum is right */
    return hf_vote_bound_bucket(vote) != 0 ||
           value <= vote->counter + HF_FENCE_AHEAD_MAX;
}

/* True if the node may still vote for `value`. */
static bool can_reach(const struct hf_lease *lease, const struct hf_vote *vote,
                      uint64_t value)
{
    HF_ASSERT(hf_lease_counts_grants(lease));
    bool is_in_doubt = (vote->flags & HF_VOTE_IN_DOUBT) != 0;
    return is_within(vote, value) &&
           (value >= hf_lease_raised(lease) || !is_in_doubt);
}

/* True if the node can be raised to `value` in RAISE_STEPS_MAX steps. */
static bool is_on_way(const struct hf_lease *lease, const struct hf_vote *vote,
                      uint64_t value)
{
    HF_ASSERT(hf_lease_counts_grants(lease));
    bool is_in_doubt = (vote->flags & HF_VOTE_IN_DOUBT) != 0;
    return value >= vote->counter &&
           value - vote->counter <= RAISE_STEPS_MAX * HF_FENCE_AHEAD_MAX &&
           (value >= hf_lease_raised(lease) || !is_in_doubt);
}

/* The next value on the way to `value`: the node's bound, if it is lower. */
static uint64_t step_to(const struct hf_vote *vote, uint64_t value)
{
    HF_ASSERT(value >= vote->counter);
    uint32_t bucket = hf_vote_bound_bucket(vote);
    uint64_t most = ((uint64_t)bucket << HF_FLOOR_BITS) - 1;
    return bucket != 0 && most < value ? most : value;
}

static uint16_t reachers(const struct hf_step *step, uint16_t granted,
                         uint64_t value, bool surely)
{
    HF_ASSERT((granted & ~hf_nodes_all(step->nodes)) == 0);
    uint16_t mask = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        bool counts = (granted & hf_node_bit(i)) != 0 &&
                      can_reach(step->lease, vote, value) &&
                      (!surely || is_sure(vote, value));
        mask |= counts ? hf_node_bit(i) : 0;
    }
    return mask;
}

struct aim {
    uint16_t granted;
    uint16_t coming; /* no reply yet: may grant at any value */
    bool surely;
};

/** @return `value` if it is larger and a majority can reach it; else `best`. */
static uint64_t better(const struct hf_step *step, struct aim aim,
                       uint64_t best, uint64_t value)
{
    HF_ASSERT((aim.coming & ~hf_nodes_all(step->nodes)) == 0);
    uint16_t mask = reachers(step, aim.granted, value, aim.surely);
    bool is_better = value > best &&
                     hf_step_is_majority(step, (uint16_t)(mask | aim.coming));
    return is_better ? value : best;
}

/* The largest value that a majority can reach. Candidates: the previous target,
 * each node's counter, and the smallest value each node can be raised to. */
static uint64_t best(const struct hf_step *step, struct aim aim)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    const struct hf_lease *lease = step->lease;
    uint64_t most = better(step, aim, 0, lease->fence);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if ((aim.granted & hf_node_bit(i)) != 0) {
            uint64_t least = (uint64_t)hf_vote_floor_bucket(vote)
                             << HF_FLOOR_BITS;
            most = better(step, aim, most, vote->counter);
            most = better(step, aim, most, least);
        }
    }
    return most;
}

/* The smallest of the counters that those of a majority do not exceed. If all
 * nodes granted, a minority of wrong clocks cannot make it larger than every
 * right one. 0: not all granted, it takes too many steps, or a reply was lost.
 */
static uint64_t middle(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    const struct hf_lease *lease = step->lease;
    uint64_t value = UINT64_MAX;
    uint16_t mask = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        uint64_t counter = lease->votes[i].counter;
        unsigned below = 0;
        for (unsigned k = 0; k < lease->n_nodes; k++) {
            below += lease->votes[k].counter <= counter;
        }
        value =
            below >= step->nodes->quorum && counter < value ? counter : value;
    }
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        bool counts = is_on_way(lease, &lease->votes[i], value);
        mask |= counts ? hf_node_bit(i) : 0;
    }
    bool is_all = granted == hf_nodes_all(step->nodes);
    return is_all && hf_step_is_majority(step, mask) ? value : 0;
}

uint64_t hf_raise_target(const struct hf_step *step, uint16_t granted,
                         uint16_t coming)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    struct aim aim = {granted, coming, true};
    uint64_t value = best(step, aim);
    aim.surely = false;
    value = value != 0 ? value : best(step, aim);
    return value != 0 ? value : middle(step, granted);
}

/* The value to which this node is raised next, so that a majority reaches T; 0:
 * no request. If a majority can surely reach T: T. If it is unknown whether one
 * can: T, but only to nodes with an unknown bound. If none can: one step. */
static uint64_t next_of(const struct hf_step *step, uint16_t granted,
                        const struct hf_vote *vote, uint64_t value)
{
    HF_ASSERT(value > 0);
    const struct hf_lease *lease = step->lease;
    if (hf_step_is_majority(step, reachers(step, granted, value, true))) {
        return can_reach(lease, vote, value) ? value : 0;
    }
    if (hf_step_is_majority(step, reachers(step, granted, value, false))) {
        bool is_asked = can_reach(lease, vote, value) && !is_sure(vote, value);
        return is_asked ? value : 0;
    }
    return is_on_way(lease, vote, value) ? step_to(vote, value) : 0;
}

/* A majority has granted, but their counters differ. Any T that a majority then
 * confirms is safe; the largest that it can reach loses the vote of no node
 * that is above a smaller one. A node with a clock floor above T replies with
 * that floor, which is the next candidate. */
void hf_raise_begin(struct hf_step *step, uint16_t granted)
{
    struct hf_lease *lease = step->lease;
    HF_ASSERT(hf_step_is_majority(step, granted));
    uint64_t value = hf_raise_target(step, granted, 0);
    if (value == 0) {
        return; /* until further nodes grant */
    }
    lease->fence = value;
    uint64_t raised = hf_lease_raised(lease);
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        uint64_t next = (granted & hf_node_bit(i)) != 0
                            ? next_of(step, granted, vote, value)
                            : 0;
        if (vote->counter < next &&
            !hf_vote_is_pending(vote, HF_VERB_CONFIRM) &&
            lease->raises < HF_RAISES_MAX) {
            lease->raises++;
            raised = raised < next ? next : raised;
            hf_step_send(step, i, HF_VERB_CONFIRM, next);
        }
    }
    hf_lease_set_raised(lease, raised);
}

/* If every raise has been answered, none can be executed later: reset `raised`.
 */
static void settle_raises(struct hf_lease *lease)
{
    HF_ASSERT(hf_lease_counts_grants(lease));
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if (hf_vote_is_pending(vote, HF_VERB_CONFIRM) ||
            (vote->flags & HF_VOTE_IN_DOUBT) != 0) {
            return;
        }
    }
    hf_lease_set_raised(lease, 0);
}

void hf_raise_note(struct hf_step *step, struct hf_vote *vote)
{
    HF_ASSERT(step->event->verdict == HF_VERDICT_OK);
    const struct hf_event *event = step->event;
    hf_grant_reply(step, vote);
    if (event->floor > step->lease->fence) {
        step->lease->fence = event->floor;
    }
    bool is_yours = vote->said == HF_SAID_YOURS; /* the reply was not stale */
    if (event->floor > 0 && is_yours) {
        hf_vote_set_floor_bucket(vote,
                                 (uint32_t)(event->floor >> HF_FLOOR_BITS));
    }
    if (event->bound > 0 && is_yours) {
        hf_vote_set_bound_bucket(vote,
                                 (uint32_t)(event->bound >> HF_FLOOR_BITS));
    }
    settle_raises(step->lease);
}

/* The reply to a raise was lost, and the node cannot be asked for that value
 * again, as its bound is below. Its vote at a smaller one does not count for
 * this attempt any more, since the lost request may still be executed. If there
 * is no value for a majority, the attempt must end. */
bool hf_raise_is_spoiled(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_lease *lease = step->lease;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        if ((granted & hf_node_bit(i)) != 0 &&
            (vote->flags & HF_VOTE_IN_DOUBT) != 0 &&
            vote->counter < hf_lease_raised(lease) &&
            !can_reach(lease, vote, hf_lease_raised(lease))) {
            return hf_step_is_majority(step, granted) &&
                   hf_raise_target(step, granted, 0) == 0;
        }
    }
    return false;
}

/* Nodes of `granted` that can be raised to the counter of node `of`. */
static uint16_t group_of(const struct hf_step *step, uint16_t granted,
                         unsigned of)
{
    HF_ASSERT(of < step->lease->n_nodes);
    const struct hf_vote *votes = step->lease->votes;
    uint16_t mask = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        bool is_in = ((granted >> i) & (granted >> of) & 1) != 0 &&
                     is_within(&votes[i], votes[of].counter);
        mask |= is_in ? hf_node_bit(i) : 0;
    }
    return mask;
}

/* All nodes of `granted` but the largest group that can agree. Lost replies do
 * not matter here. */
uint16_t hf_raise_apart(const struct hf_step *step, uint16_t granted)
{
    HF_ASSERT((granted & ~hf_nodes_all(step->nodes)) == 0);
    uint16_t group = 0;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        uint16_t mask = group_of(step, granted, i);
        if (__builtin_popcount(mask) > __builtin_popcount(group)) {
            group = mask;
        }
    }
    return (uint16_t)(granted & ~group);
}
