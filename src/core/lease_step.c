/* SPDX-License-Identifier: Apache-2.0 */
/* THE LEASE MACHINE: DISPATCH OF EVENTS
 *
 *   IDLE ──ACQUIRE──▶ ASKING ──majority at one T──▶ HOLDING ──RELEASE──┐
 *     │               │   └──refused──▶ WAITING ──────┘ ▲              │
 *     │               │                    │            │              ▼
 *     │               └──out of reach──────┴─cancelled──┼───────▶ RELEASING
 *     ├──ADOPT────▶ ADOPTING ──majority confirms────────┘              │
 *     └──RELEASE_FOREIGN────────────────────────────────────────▶ ─────┤
 *                                  no node can store the owner ────▶ DONE
 *
 * Cost in round trips: one to acquire, a second only if the nodes' counters
 * differ; one to release. While held, only a renewal is sent every third of the
 * lease.
 *
 * Safety depends on five rules, each checked by a model. An owner is used for
 * one attempt. A vote counts for the counter in the node's reply. Validity is
 * counted from sending. A renewal needs a majority at exactly T. A request
 * without a reply may have been executed, so RELEASE is repeated until it is
 * answered or the lease has expired. */
#include "core/lease_parts.h"

#include <string.h>

/* lease.h states these sizes. */
_Static_assert(sizeof(void *) != 8 || (sizeof(struct hf_lease) == 64 &&
                                       sizeof(struct hf_vote) == 48),
               "bytes of a lease on 64-bit machines");

void hf_lease_init(struct hf_lease *lease, unsigned n_nodes, struct hf_span ttl,
                   uint8_t jitter)
{
    HF_ASSERT(n_nodes >= 1 && n_nodes <= HF_NODES_MAX);
    HF_ASSERT(ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    memset(lease, 0, hf_lease_size(n_nodes));
    lease->phase = HF_PHASE_IDLE;
    lease->state = HF_STATE_RELEASED;
    lease->n_nodes = (uint8_t)n_nodes;
    lease->jitter = jitter;
    lease->ttl = ttl;
    lease->wake = HF_NEVER;
    lease->next = HF_NEVER;
    for (unsigned i = 0; i < n_nodes; i++) {
        lease->votes[i].until = HF_LONG_AGO;
    }
}

/* A waiter requests a lease of Q only: if it dies, its grants at a minority of
 * the nodes must expire soon. With one node the first request already enqueues,
 * if the name is not free. */
static void fill_send(const struct hf_lease *lease, struct hf_send *send)
{
    HF_ASSERT(send->node < lease->n_nodes);
    bool is_waiting = lease->phase == HF_PHASE_WAITING;
    bool is_ask = send->verb == HF_VERB_ACQUIRE || send->verb == HF_VERB_YIELD;
    bool queues = (lease->flags & HF_LEASE_QUEUES) != 0 &&
                  (is_waiting || lease->n_nodes == 1);
    send->ttl = is_waiting ? hf_lease_place(lease) : lease->ttl;
    if (is_ask && queues) {
        send->queue = hf_lease_place(lease);
        send->ticket = is_waiting ? hf_lease_ticket(lease) : 0;
    }
}

void hf_step_send(struct hf_step *step, unsigned node, enum hf_verb verb,
                  uint64_t counter)
{
    HF_ASSERT(node < step->lease->n_nodes);
    struct hf_vote *vote = &step->lease->votes[node];
    uint16_t up = (uint16_t)(step->nodes->voting | step->nodes->repairing);
    bool is_ask = verb == HF_VERB_ACQUIRE || verb == HF_VERB_YIELD;
    uint16_t may = is_ask ? step->nodes->voting : up;
    HF_ASSERT(!hf_vote_is_pending(vote, verb));
    /* A node in quarantine gets no ACQUIRE, only requests that repair (C4). */
    HF_ASSERT((may & hf_node_bit(node)) != 0);
    HF_ASSERT(step->out->n_sends < 2 * HF_NODES_MAX);
    bool reacquires =
        verb == HF_VERB_CONFIRM && step->lease->phase == HF_PHASE_HOLDING;
    struct hf_send *send = &step->out->sends[step->out->n_sends++];
    *send = (struct hf_send){
        .node = (uint8_t)node,
        .verb = verb,
        .reacquires = reacquires,
        .counter = counter,
    };
    fill_send(step->lease, send);
    if (send->queue.ns > 0) {
        bool cannot_push = (step->nodes->listening & hf_node_bit(node)) == 0;
        vote->flags &= (uint16_t)~HF_VOTE_NO_PUSH;
        vote->flags |= cannot_push ? HF_VOTE_NO_PUSH : 0;
    }
    vote->flags &= (uint16_t)~hf_vote_old(verb);
    vote->pending |= (uint8_t)(1U << verb);
    vote->flags &= (uint16_t)~HF_VOTE_LATE;
    hf_vote_set_due(
        step->lease, vote,
        hf_instant_add(step->event->now,
                       hf_nodes_timeout(step->nodes, node, step->lease->ttl)));
    if (verb == HF_VERB_ACQUIRE || reacquires) {
        vote->flags |= HF_VOTE_MAY_HOLD;
    }
}

void hf_step_report(struct hf_step *step, enum hf_outcome outcome)
{
    HF_ASSERT(outcome != HF_OUT_NONE);
    HF_ASSERT(step->out->outcome == HF_OUT_NONE);
    step->out->outcome = outcome;
}

/* ---- Dispatch ---------------------------------------------------------- */

/* The node stores our owner, whether or not the reply counts as a vote. So a
 * RELEASE must be sent there. (Not after an adoption that failed: it leaves the
 * lock with its holder.) */
static bool says_yours(const struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_ANSWER);
    return step->event->verdict == HF_VERDICT_OK &&
           step->event->verb != HF_VERB_RELEASE &&
           step->lease->phase != HF_PHASE_ADOPTING;
}

static void on_answer(struct hf_step *step)
{
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    HF_ASSERT(step->lease->phase >= HF_PHASE_ASKING);
    HF_ASSERT(step->lease->phase <= HF_PHASE_RELEASING);
    HF_ASSERT(event->verb <= HF_VERB_YIELD);
    HF_ASSERT(event->verdict <= HF_VERDICT_ERROR);
    /* C4: a validity that is counted from the future would be too long. */
    HF_ASSERT(!hf_instant_before(event->now, event->sent));
    HF_ASSERT(hf_vote_is_pending(vote, event->verb));
    vote->pending &= (uint8_t) ~(1U << event->verb);
    vote->flags &= (uint16_t)~HF_VOTE_LATE;
    if (says_yours(step)) {
        vote->flags |= HF_VOTE_MAY_HOLD;
    }
    if (event->verb == HF_VERB_CONFIRM &&
        event->verdict == HF_VERDICT_UNKNOWN) {
        vote->flags |= HF_VOTE_IN_DOUBT;
    }
    switch (hf_lease_phase(step->lease)) {
    case HF_PHASE_ASKING:
        hf_ask_answer(step);
        break;
    case HF_PHASE_WAITING:
        hf_wait_answer(step);
        break;
    case HF_PHASE_ADOPTING:
    case HF_PHASE_HOLDING:
        hf_hold_answer(step);
        break;
    case HF_PHASE_IDLE: /* no: asserted above */
    case HF_PHASE_DONE: /* nor this */
    case HF_PHASE_RELEASING:
    default:
        hf_release_answer(step);
        break;
    }
}

/* Mark requests that timed out: their replies still count, but no decision
 * waits for them. */
static void mark_late(struct hf_step *step)
{
    HF_ASSERT(step->out->missed == 0);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        struct hf_vote *vote = &step->lease->votes[i];
        if (hf_vote_is_awaited(vote) &&
            !hf_instant_before(step->event->now,
                               hf_vote_due(step->lease, vote))) {
            vote->flags |= HF_VOTE_LATE;
            step->out->missed |= hf_node_bit(i);
        }
    }
}

static void on_timer(struct hf_step *step)
{
    HF_ASSERT(step->out->n_sends == 0);
    HF_ASSERT(step->lease->phase < HF_PHASE_DONE);
    mark_late(step);
    switch (hf_lease_phase(step->lease)) {
    case HF_PHASE_ASKING:
        hf_ask_judge(step);
        break;
    case HF_PHASE_WAITING:
        hf_wait_timer(step);
        break;
    case HF_PHASE_ADOPTING:
    case HF_PHASE_HOLDING:
        hf_hold_timer(step);
        break;
    case HF_PHASE_RELEASING:
        hf_release_timer(step);
        break;
    case HF_PHASE_IDLE:
    case HF_PHASE_DONE:
    default:
        break;
    }
}

static void on_node(struct hf_step *step)
{
    HF_ASSERT(step->event->node < step->lease->n_nodes);
    HF_ASSERT(step->lease->phase < HF_PHASE_DONE);
    switch (hf_lease_phase(step->lease)) {
    case HF_PHASE_ASKING:
        hf_ask_node(step);
        break;
    case HF_PHASE_WAITING:
        hf_wait_node(step);
        break;
    case HF_PHASE_ADOPTING:
    case HF_PHASE_HOLDING:
        hf_hold_node(step);
        break;
    case HF_PHASE_RELEASING:
        hf_release_node(step);
        break;
    case HF_PHASE_IDLE:
    case HF_PHASE_DONE:
    default:
        break;
    }
}

/* The server lost its data: its votes are void. Requests in flight may still be
 * executed, so `pending` stays. */
static void on_node_reset(struct hf_step *step)
{
    HF_ASSERT(step->event->node < step->lease->n_nodes);
    struct hf_vote *vote = &step->lease->votes[step->event->node];
    vote->counter = 0;
    vote->refused = 0;
    vote->until = HF_LONG_AGO;
    vote->said = HF_SAID_NOTHING;
    vote->flags &= (uint16_t)~HF_VOTE_IN_ROUND;
    on_node(step);
}

static void on_release(struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_RELEASE);
    HF_ASSERT(step->lease->phase < HF_PHASE_DONE);
    switch (hf_lease_phase(step->lease)) {
    case HF_PHASE_HOLDING:
        hf_release_begin(step, true);
        break;
    case HF_PHASE_ASKING:
    case HF_PHASE_WAITING:
    case HF_PHASE_ADOPTING:
        hf_release_begin(step, false);
        break;
    case HF_PHASE_IDLE:
    case HF_PHASE_RELEASING:
    case HF_PHASE_DONE:
    default:
        break; /* nothing to release, or under way */
    }
}

static void on_doubt(struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_DOUBT);
    HF_ASSERT(step->event->node < step->lease->n_nodes);
    if (step->lease->phase == HF_PHASE_HOLDING) {
        hf_hold_doubt(step);
    } else {
        on_timer(step); /* nothing is held, but a time may have passed */
    }
}

static void on_listen(struct hf_step *step)
{
    HF_ASSERT(step->event->kind == HF_EV_LISTEN);
    HF_ASSERT(step->event->node < step->lease->n_nodes);
    if (step->lease->phase == HF_PHASE_WAITING) {
        hf_wait_listen(step);
    } else {
        on_timer(step); /* nothing to do, but the deadline may have passed */
    }
}

static void dispatch(struct hf_step *step)
{
    HF_ASSERT(step->event->kind <= HF_EV_DETACH);
    switch (step->event->kind) {
    case HF_EV_ACQUIRE:
        hf_ask_begin(step);
        break;
    case HF_EV_ADOPT:
        hf_hold_adopt(step);
        break;
    case HF_EV_RELEASE_FOREIGN:
        hf_release_foreign(step);
        break;
    case HF_EV_ANSWER:
        on_answer(step);
        break;
    case HF_EV_GRANT:
        hf_grant_push(step);
        break;
    case HF_EV_DOUBT:
        on_doubt(step);
        break;
    case HF_EV_LISTEN:
        on_listen(step);
        break;
    case HF_EV_TIMER:
        on_timer(step);
        break;
    case HF_EV_NODE:
        on_node(step);
        break;
    case HF_EV_NODE_RESET:
        on_node_reset(step);
        break;
    case HF_EV_EXTEND:
        hf_extend_begin(step);
        break;
    case HF_EV_RELEASE:
        on_release(step);
        break;
    case HF_EV_DETACH:
    default:
        hf_release_finish(step);
        break;
    }
}

/* In HOLDING and RELEASING `next` is set anew when it has passed. In ASKING and
 * ADOPTING it is the end of waiting for connections, and is ignored once it has
 * passed. */
static struct hf_instant wake_of(const struct hf_step *step)
{
    const struct hf_lease *lease = step->lease;
    struct hf_instant now = step->event->now;
    HF_ASSERT(!hf_instant_before(now, lease->round_at));
    HF_ASSERT(lease->phase <= HF_PHASE_DONE);
    struct hf_instant due = hf_votes_due(lease);
    struct hf_instant wake = hf_instant_min(lease->next, due);
    switch (hf_lease_phase(lease)) {
    case HF_PHASE_HOLDING:
        if (lease->state == HF_STATE_LOST) {
            return HF_NEVER;
        }
        if (lease->state == HF_STATE_HELD) {
            wake = hf_instant_min(wake, hf_hold_risk_at(lease));
        }
        return hf_instant_min(wake, hf_lease_deadline(lease));
    case HF_PHASE_RELEASING:
        return hf_instant_min(wake, hf_lease_deadline(lease));
    case HF_PHASE_WAITING:
        return hf_instant_min(due, hf_wait_due(step));
    case HF_PHASE_ASKING:
    case HF_PHASE_ADOPTING:
        return hf_instant_before(now, lease->next) ? wake : due;
    case HF_PHASE_IDLE:
    case HF_PHASE_DONE:
    default:
        return HF_NEVER;
    }
}

void hf_lease_step(struct hf_lease *lease, const struct hf_nodes *nodes,
                   const struct hf_event *event, struct hf_effects *out)
{
    struct hf_step step = {lease, nodes, event, out};
    struct hf_held held = hf_held_of(lease);
    uint8_t before = lease->state;
    HF_ASSERT(lease->n_nodes == nodes->count);
    HF_ASSERT(nodes->quorum == nodes->count / 2 + 1);
    HF_ASSERT(lease->phase != HF_PHASE_DONE);
    HF_ASSERT(event->node < lease->n_nodes);
    out->n_sends = 0;
    out->outcome = HF_OUT_NONE;
    out->missed = 0;
    out->done = false;
    dispatch(&step);
    lease->wake = wake_of(&step);
    out->state_changed = lease->state != before;
    hf_check_step(&step, &held);
}
