/* SPDX-License-Identifier: Apache-2.0 */
/* WAITING: A PLACE IN THE QUEUE OF EVERY NODE, UNDER ONE TICKET
 *
 *   refused by a majority   the ticket: the median of the nodes' own times,
 *                           the same at all nodes, for as long as we wait
 *   ACQUIRE, with a place   to all nodes; again every Q/3 as a heartbeat
 *   GRANT, pushed           a vote: the releaser's script gave it to us
 *   majority at one T       held; CONFIRM brings the claim to the full ttl
 *
 * Nothing else is sent, unless
 *   - the holder's lease must be over: a waiter near the head looks;
 *   - the head expects no push: the holder is not one of ours, or may end
 *     unnoticed, or the node cannot reach us: it polls, more and more slowly,
 *     but behind another library's lock often enough to get a turn;
 *   - some nodes are ours, but no majority: they are asked again soon, since
 *     the queues of nodes can differ while messages travel. If an earlier
 * ticket waits at one, it is given back there (Rule Y). Without that rule three
 *     waiters can stop each other for ever; giving back on a mere time-out
 *     goes on for ever.
 *
 * A push has its pitfalls, each found by a model. It may come before the answer
 * that puts us into the queue, or be older than one: it counts if its counter
 * exceeds the one in the last "queued". And since it is unsolicited, there is
 * no sending to count from: the node ends the claim Q after it granted, which
 * was after it answered the last "queued", so it is good until the sending of
 * that request + Q - drift. */
#include "core/lease_parts.h"

/* An owner without a majority, and a head that expects no push, ask again
 * after this, then twice that … */
#define POLL_FIRST_MS 10
#define POLL_MOST_MS 500

/* The first few look when the holder's lease must be over, one after another:
 * the head may be as dead as the holder. */
#define LOOKERS_MAX 8
#define LOOK_APART_MS 25

/* The expiry's own precision. */
#define LOOK_AFTER_MS 2

static bool may_ask(const struct hf_step *step, unsigned node)
{
    return (step->nodes->voting & hf_bit(node)) != 0 &&
           !hf_is_pending(&step->lease->votes[node], HF_VERB_ACQUIRE) &&
           !hf_is_pending(&step->lease->votes[node], HF_VERB_YIELD);
}

static void ask(struct hf_step *step, unsigned node)
{
    if (may_ask(step, node)) {
        hf_step_send(step, node, HF_VERB_ACQUIRE, step->lease->fence);
    }
}

/* ---- When to ask again ------------------------------------------------- */

/* The beat is Q/3, so that two may be lost; jitter makes it later, never
 * earlier: a waiter is to cost next to nothing. */
static struct hf_span beat(const struct hf_lease *lease)
{
    int64_t period_ns = hf_queue_lease(lease->ttl).ns / 3;
    return (struct hf_span){period_ns + period_ns / 16 / 255 * lease->jitter};
}

static struct hf_span poll_span(struct hf_step *step, struct hf_vote *vote)
{
    struct hf_span most = hf_span_ms(POLL_MOST_MS);
    if (vote->said == HF_SAID_QUEUED && step->event->look_ms != 0) {
        most = hf_span_min(most, hf_span_ms(step->event->look_ms));
    }
    struct hf_span span = hf_span_ms(POLL_FIRST_MS);
    for (unsigned i = 0; i < vote->polls && span.ns < most.ns; i++) {
        span.ns *= 2;
    }
    if (vote->polls < UINT8_MAX) {
        vote->polls++;
    }
    span = hf_span_min(span, most);
    int64_t jitter_ns = span.ns / 4 / 255 * step->lease->jitter;
    span.ns -= jitter_ns;
    return hf_span_min(span, beat(step->lease));
}

/* The holder's lease will be over: after its `left`, the first looks. */
static struct hf_instant look_at(const struct hf_step *step,
                                 const struct hf_vote *vote)
{
    const struct hf_event *event = step->event;
    if (hf_vote_left_ms(vote) == UINT32_MAX || event->ahead >= LOOKERS_MAX) {
        return HF_NEVER;
    }
    return hf_instant_add(
        event->now, hf_span_ms((int64_t)hf_vote_left_ms(vote) + LOOK_AFTER_MS +
                               (int64_t)event->ahead * LOOK_APART_MS));
}

/* The node has answered: when is it to be asked again? */
static void plan(struct hf_step *step, unsigned node)
{
    struct hf_vote *vote = &step->lease->votes[node];
    const struct hf_event *event = step->event;
    bool is_deaf = (step->nodes->listening & hf_bit(node)) == 0;
    bool was_deaf = (vote->flags & HF_VOTE_DEAF) != 0;
    if (vote->pending != 0) {
        return;
    }
    struct hf_instant due = hf_instant_add(event->now, beat(step->lease));
    if (vote->said == HF_SAID_QUEUED && was_deaf && !is_deaf) {
        ask(step, node); /* it may have tried to push meanwhile */
    } else if (vote->said == HF_SAID_NOT_YOURS && vote->polls == 0) {
        vote->polls++;
        ask(step, node); /* to what was asked before we had a ticket */
    } else if (vote->said == HF_SAID_NOT_YOURS || vote->said == HF_SAID_YOURS ||
               (vote->said == HF_SAID_QUEUED && event->ahead == 0 &&
                (is_deaf || event->look_ms != 0))) {
        due = hf_instant_min(due,
                             hf_instant_add(event->now, poll_span(step, vote)));
    } else {
        vote->polls = 0;
    }
    if (vote->pending != 0) {
        return; /* asked at once */
    }
    if (vote->said == HF_SAID_QUEUED) {
        due = hf_instant_min(due, look_at(step, vote));
    }
    hf_vote_set_due(step->lease, vote, due);
}

struct hf_instant hf_wait_due(const struct hf_step *step)
{
    struct hf_instant due = HF_NEVER;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if (step->lease->votes[i].pending == 0 && may_ask(step, i)) {
            due = hf_instant_min(
                due, hf_vote_due(step->lease, &step->lease->votes[i]));
        }
    }
    return due;
}

/* ---- The ticket -------------------------------------------------------- */

/* The median of what the refusing nodes said their time is, so that one wrong
 * clock decides nothing while a majority is right. */
static uint64_t median_time(const struct hf_lease *lease)
{
    uint64_t sorted[HF_NODES_MAX] = {0};
    unsigned n = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        uint64_t time = hf_vote_has_node_time(lease, vote)
                            ? hf_vote_node_time(lease, vote)
                            : 0;
        if (time == 0) {
            continue;
        }
        unsigned at = n++;
        while (at > 0 && sorted[at - 1] > time) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = time;
    }
    return n == 0 ? 0 : sorted[(n - 1) / 2];
}

/* One node stamps the ticket itself. If several did, the queues would differ,
 * and an owner is not told how foreign tickets compare. */
bool hf_wait_has_ticket(const struct hf_step *step)
{
    return step->lease->n_nodes == 1 || median_time(step->lease) != 0;
}

/* Earlier grants stay valid. We enqueue at every node, including those that
 * granted, to learn whether an earlier ticket waits there. With one node the
 * first request has asked already. */
void hf_wait_begin(struct hf_step *step)
{
    struct hf_lease *lease = step->lease;
    const struct hf_event *event = step->event;
    bool has_place =
        event->kind == HF_EV_ANSWER && event->verdict == HF_VERDICT_QUEUED;
    HF_ASSERT(lease->phase == HF_PHASE_ASKING);
    uint64_t ticket = has_place ? event->ticket : median_time(lease);
    lease->phase = HF_PHASE_WAITING;
    hf_lease_set_ticket(lease, ticket);
    lease->raises = 0;
    if (has_place) {
        hf_ask_judge(step); /* it may have been pushed before this was read */
    }
    if (lease->phase != HF_PHASE_WAITING) {
        return;
    }
    hf_step_report(step, HF_OUT_QUEUED);
    if (has_place) {
        plan(step, event->node);
        return;
    }
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        struct hf_vote *vote = &lease->votes[i];
        if (vote->pending == 0) {
            hf_vote_set_due(lease, vote, step->event->now);
        }
        ask(step, i);
    }
}

/* ---- Rule Y ------------------------------------------------------------ */

/* Forget the vote before sending: whatever the node said of it up to now is
 * stale from here on. */
static void yield(struct hf_step *step, unsigned node, uint64_t grant)
{
    struct hf_vote *vote = &step->lease->votes[node];
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (vote->refused < grant) {
        vote->refused = grant;
    }
    vote->counter = 0;
    vote->until = HF_LONG_AGO;
    vote->said = HF_SAID_QUEUED;
    hf_vote_set_rival(vote, 0, UINT32_MAX);
    hf_step_send(step, node, HF_VERB_YIELD, grant);
}

static bool must_yield(const struct hf_step *step)
{
    const struct hf_event *event = step->event;
    const struct hf_vote *vote = &step->lease->votes[event->node];
    return event->verdict == HF_VERDICT_OK && event->ahead > 0 &&
           vote->said == HF_SAID_YOURS && vote->counter == event->counter &&
           may_ask(step, event->node);
}

/* Still ours, it says, at a counter that we have given back: the YIELD was lost
 * with its connection. No other waiter would be served there, nor we. */
static bool must_yield_again(const struct hf_step *step)
{
    const struct hf_event *event = step->event;
    const struct hf_vote *vote = &step->lease->votes[event->node];
    return event->verdict == HF_VERDICT_OK && event->counter <= vote->refused &&
           may_ask(step, event->node);
}

/* ---- Claims ------------------------------------------------------------ */

bool hf_wait_is_brief(const struct hf_step *step, struct hf_instant until)
{
    struct hf_span least = hf_validity_min(hf_queue_lease(step->lease->ttl));
    return hf_instant_until(step->event->now, until).ns < least.ns;
}

/* The node did nothing: to ask it the same at once would be answered the same,
 * as fast as it answers; without end by a store that answers inside ask(). */
static bool is_failure(const struct hf_event *event)
{
    return event->kind == HF_EV_ANSWER &&
           (event->verdict == HF_VERDICT_ERROR ||
            event->verdict == HF_VERDICT_UNKNOWN ||
            event->verdict == HF_VERDICT_UNSENT);
}

/* Ours at a majority, but for too short a time: ask those for more whose claims
 * are about to run out. The others have answered: to ask them again, too, would
 * go on as fast as they answer, for as long as one of these does not. After a
 * failure no node is asked: plan() says when. */
void hf_wait_refresh(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (is_failure(step->event)) {
        return;
    }
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if ((voters & hf_bit(i)) != 0 &&
            hf_wait_is_brief(step, step->lease->votes[i].until)) {
            ask(step, i);
        }
    }
}

/* ---- Events ------------------------------------------------------------ */

static void note(struct hf_step *step)
{
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    switch (event->verdict) {
    case HF_VERDICT_OK:
        hf_raise_note(step, vote);
        break;
    case HF_VERDICT_QUEUED:
    case HF_VERDICT_REFUSED:
        hf_vote_refusal(step, vote);
        break;
    case HF_VERDICT_UNSENT:
    case HF_VERDICT_UNKNOWN:
    case HF_VERDICT_ERROR:
    default:
        break; /* what was proved, stays so until it runs out */
    }
}

/* The node did not raise a counter. The next beat comes to it. */
static bool is_vain_raise(const struct hf_event *event)
{
    return event->verb == HF_VERB_CONFIRM && is_failure(event);
}

void hf_wait_answer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (is_vain_raise(step->event)) {
        plan(step, step->event->node); /* nothing else has changed */
        return;
    }
    if (step->event->verb != HF_VERB_CONFIRM) {
        step->lease->raises = 0; /* who waits never gives up */
    }
    note(step);
    hf_ask_judge(step);
    if (step->lease->phase != HF_PHASE_WAITING) {
        return;
    }
    if (must_yield(step) || must_yield_again(step)) {
        yield(step, step->event->node, step->event->counter);
    }
    plan(step, step->event->node);
}

void hf_wait_grant(struct hf_step *step)
{
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    if (event->counter <= vote->refused || event->counter <= vote->counter) {
        return; /* older than what we know */
    }
    vote->counter = event->counter;
    if (step->lease->phase == HF_PHASE_WAITING) {
        vote->said = HF_SAID_YOURS; /* counts while `until` is ahead */
        hf_vote_unlimit(vote);
        vote->polls = 0;
        hf_ask_judge(step);
    }
    if (step->lease->phase == HF_PHASE_WAITING) {
        plan(step, event->node);
    }
}

/* It is back: our place there may be gone, but not our ticket. */
void hf_wait_node(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    ask(step, step->event->node);
    hf_ask_judge(step);
}

void hf_wait_listen(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    unsigned node = step->event->node;
    const struct hf_vote *vote = &step->lease->votes[node];
    if ((step->nodes->listening & hf_bit(node)) != 0 &&
        (vote->flags & HF_VOTE_DEAF) != 0) {
        ask(step, node);
    }
}

void hf_wait_timer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        const struct hf_vote *vote = &step->lease->votes[i];
        if (vote->pending == 0 &&
            !hf_instant_before(step->event->now,
                               hf_vote_due(step->lease, vote))) {
            ask(step, i);
        }
    }
    hf_ask_judge(step);
}
