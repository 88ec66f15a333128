/* SPDX-License-Identifier: Apache-2.0 */
/* WAITING IN THE QUEUES
 *
 * Each node keeps a queue for the name. A waiter has a place in all of them,
 * under one ticket that orders the waiters:
 *
 *   a majority refused      the waiter takes its ticket: the median of the
 *                           clock readings in the replies. It never changes.
 *   ACQUIRE with a ticket   sent to all nodes: each gives it a place, which
 *                           lasts Q (hf_lease_place()). Sent again every Q/3,
 *                           as a heartbeat.
 *   GRANT, pushed           a vote: the script that released the name on this
 *                           node has granted it to the first live waiter
 *   majority at counter T   held; CONFIRM then extends each vote from Q to the
 *                           whole ttl
 *
 * Further requests:
 *   - When the holder's lease should have expired, the first few waiters send
 *     ACQUIRE, in case the first of them is dead too.
 *   - The first waiter polls, with a growing interval, if the end of the hold
 *     will not be pushed to it: the holder uses another library, or is a
 *     process whose death frees the name (embedded store). If another library
 *     holds the name, the interval stays short enough to get a turn.
 *   - Every waiter polls if the node cannot push to it: the push connection is
 *     down, or the store has none. The second one waits twice as long between
 *     polls as the first, the third three times, so a long queue costs the node
 *     little, and the next in turn learns soon that it is the first. Each
 *     change of a waiter's place starts the growth of its interval anew.
 *   - A waiter with some votes but no majority asks those nodes again soon,
 *     since the queues differ while messages travel. If the reply says that an
 *     earlier ticket waits there, it returns that vote by YIELD (Rule Y).
 *     Without this rule three waiters can deadlock, and with a timeout in its
 *     place they can exchange votes for ever.
 *
 * lease_grant.c has the rules which pushed grants count.
 *
 * Cost: one round trip to be queued, after the one that was refused; with one
 * node the refusal queues. Then one request to each node in Q/3. A grant costs
 * the way of one message from the node, and one round trip more only if the
 * nodes' counters differ; the CONFIRMs that extend it are not waited for. */
#include "core/lease_parts.h"

/* Polling: the first interval in milliseconds, some round trips within a site;
 * each next one is twice as long, up to the last. Two polls a second cost a
 * node nothing, and a waiter that polls at most half a second of delay. */
#define POLL_MIN_MS 10
#define POLL_MAX_MS 500

/* When the holder's lease should have expired, this many waiters send ACQUIRE,
 * the second 25 ms after the first, and so on. Eight: some of the first may be
 * dead too, and the others follow at their heartbeat. 25 ms: more than
 * a round trip within a site, so that a long queue makes no burst. */
#define EXPIRY_CHECKERS_MAX 8
#define EXPIRY_STAGGER_MS 25

/* A key may expire a little later than its remaining time said: 2 ms is the
 * precision of an expiry (core/validity.h). */
#define EXPIRY_MARGIN_MS 2

/* Clock readings that differ by more are not both right: 1 s. */
#define CLOCKS_APART_US 1000000

static bool may_send(const struct hf_step *step, unsigned node)
{
    HF_ASSERT(node < step->lease->n_nodes);
    return (step->nodes->voting & hf_node_bit(node)) != 0 &&
           !hf_vote_is_pending(&step->lease->votes[node], HF_VERB_ACQUIRE) &&
           !hf_vote_is_pending(&step->lease->votes[node], HF_VERB_YIELD);
}

static void send_acquire(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (may_send(step, node)) {
        hf_step_send(step, node, HF_VERB_ACQUIRE, step->lease->fence);
    }
}

/* ---- When to ask again ------------------------------------------------- */

/* A third of Q, so that one heartbeat may be lost, and up to a sixteenth more,
 * so that the waiters of a fleet do not send theirs together. */
static struct hf_span heartbeat_interval(const struct hf_lease *lease)
{
    HF_ASSERT(lease->phase == HF_PHASE_WAITING);
    struct hf_span period = hf_span_div(hf_lease_place(lease), 3);
    return hf_span_add(period, hf_lease_jitter(lease, hf_span_div(period, 16)));
}

/* Twice as long after each poll. Jitter makes it up to a quarter shorter, so
 * that the longest is kept to. */
static struct hf_span poll_interval(const struct hf_step *step,
                                    const struct hf_vote *vote)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_span longest = hf_span_ms(POLL_MAX_MS);
    if (vote->said == HF_SAID_QUEUED && step->event->poll_ms_max != 0) {
        longest = hf_span_ms(step->event->poll_ms_max);
    }
    struct hf_span span = hf_span_ms(POLL_MIN_MS);
    for (unsigned i = 0; i < vote->polls && span.ns < longest.ns; i++) {
        span = hf_span_scale(span, 2);
    }
    span = hf_span_min(span, longest);
    if (vote->said == HF_SAID_QUEUED) {
        span = hf_span_scale(span, vote->ahead + 1);
    }
    span =
        hf_span_sub(span, hf_lease_jitter(step->lease, hf_span_div(span, 4)));
    HF_ASSERT(span.ns > 0); /* no busy loop */
    return hf_span_min(span, heartbeat_interval(step->lease));
}

/* When this waiter checks whether the holder's lease has expired; HF_NEVER: it
 * has no expiry, or enough waiters before us check. */
static struct hf_instant expiry_check_at(const struct hf_step *step,
                                         const struct hf_vote *vote)
{
    HF_ASSERT(vote->said == HF_SAID_QUEUED);
    const struct hf_event *event = step->event;
    if (hf_vote_left_ms(vote) == HF_LEFT_MS_ENDLESS ||
        event->ahead >= EXPIRY_CHECKERS_MAX) {
        return HF_NEVER;
    }
    return hf_instant_add(
        event->now,
        hf_span_ms((int64_t)hf_vote_left_ms(vote) + EXPIRY_MARGIN_MS +
                   (int64_t)event->ahead * EXPIRY_STAGGER_MS));
}

static bool can_push(const struct hf_step *step, unsigned node)
{
    HF_ASSERT(node < step->lease->n_nodes);
    return (step->nodes->listening & hf_node_bit(node)) != 0;
}

/* Queued: a grant that was pushed before the node could push to us is lost.
 * Refused: that request had no ticket, so the node gave no place. Ask once with
 * the ticket (polls == 0); if the node still refuses, poll. */
static bool must_ask_now(const struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_vote *vote = &step->lease->votes[node];
    if (vote->said == HF_SAID_QUEUED) {
        return (vote->flags & HF_VOTE_NO_PUSH) != 0 && can_push(step, node);
    }
    return vote->said == HF_SAID_NOT_YOURS && vote->polls == 0;
}

/* The node's queue may change without a push to us: ask before the heartbeat.
 */
static bool must_poll(const struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_vote *vote = &step->lease->votes[node];
    if (vote->said == HF_SAID_QUEUED) {
        return !can_push(step, node) ||
               (vote->ahead == 0 && step->event->poll_ms_max != 0);
    }
    return vote->said == HF_SAID_NOT_YOURS || vote->said == HF_SAID_YOURS;
}

/* When ACQUIRE is sent to this node again, if not now. */
static struct hf_instant next_due(const struct hf_step *step,
                                  const struct hf_vote *vote, bool polls)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_instant now = step->event->now;
    struct hf_instant due =
        hf_instant_add(now, heartbeat_interval(step->lease));
    if (polls) {
        due =
            hf_instant_min(due, hf_instant_add(now, poll_interval(step, vote)));
    }
    if (vote->said == HF_SAID_QUEUED) {
        due = hf_instant_min(due, expiry_check_at(step, vote));
    }
    return due;
}

/* A refusal without a ticket counts as the first poll. */
static void count_poll(struct hf_vote *vote, bool asks, bool polls)
{
    HF_ASSERT(vote->pending == 0);
    if (polls || (asks && vote->said == HF_SAID_NOT_YOURS)) {
        if (vote->polls < UINT8_MAX) {
            vote->polls++;
        }
    } else if (!asks) {
        vote->polls = 0;
    }
}

/* Another place in the queue is a change: the name is handed over. */
static void note_place(const struct hf_step *step, struct hf_vote *vote)
{
    const struct hf_event *event = step->event;
    HF_ASSERT(vote == &step->lease->votes[event->node]);
    if (event->kind != HF_EV_ANSWER || event->verdict != HF_VERDICT_QUEUED) {
        return;
    }
    uint8_t ahead =
        (uint8_t)(event->ahead < UINT8_MAX ? event->ahead : UINT8_MAX);
    if (vote->ahead != ahead) {
        vote->ahead = ahead;
        vote->polls = 0;
    }
}

/* The vote has changed. If no request to its node is pending, send ACQUIRE now
 * (must_ask_now()), or set the time at which it is sent. */
static void schedule(struct hf_step *step, unsigned node)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_vote *vote = &step->lease->votes[node];
    note_place(step, vote);
    if (vote->pending != 0) {
        return;
    }
    bool asks = must_ask_now(step, node);
    bool polls = !asks && must_poll(step, node);
    hf_vote_set_due(step->lease, vote, next_due(step, vote, polls));
    count_poll(vote, asks, polls);
    if (asks) {
        send_acquire(step, node);
    }
}

struct hf_instant hf_wait_due(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_instant due = HF_NEVER;
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if (step->lease->votes[i].pending == 0 && may_send(step, i)) {
            due = hf_instant_min(
                due, hf_vote_due(step->lease, &step->lease->votes[i]));
        }
    }
    return due;
}

/* ---- The ticket -------------------------------------------------------- */

/** The clock readings in the refusals, sorted. @return how many. */
static unsigned readings(const struct hf_lease *lease,
                         uint64_t sorted[HF_NODES_MAX])
{
    HF_ASSERT(lease->phase == HF_PHASE_ASKING);
    unsigned n = 0;
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        const struct hf_vote *vote = &lease->votes[i];
        uint64_t time_us = hf_vote_has_node_time(lease, vote)
                               ? hf_vote_node_time_us(lease, vote)
                               : 0;
        if (time_us == 0) {
            continue;
        }
        unsigned at = n++;
        while (at > 0 && sorted[at - 1] > time_us) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = time_us;
    }
    return n;
}

static uint64_t median_time(const struct hf_lease *lease)
{
    uint64_t sorted[HF_NODES_MAX] = {0};
    unsigned n = readings(lease, sorted);
    HF_ASSERT(n <= lease->n_nodes);
    return n == 0 ? 0 : sorted[(n - 1) / 2];
}

/* A single node stamps the ticket itself. If each of several nodes did, a
 * waiter would have another place in each queue, and could not know which of
 * two tickets is the earlier one. */
bool hf_wait_has_ticket(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    return step->lease->n_nodes == 1 || median_time(step->lease) != 0;
}

/* The median of three readings is right beside one wrong clock, that of two may
 * be the wrong one: then the waiter would be served before all others, or after
 * them. */
bool hf_wait_needs_reading(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_ASKING);
    uint64_t sorted[HF_NODES_MAX] = {0};
    unsigned n = readings(step->lease, sorted);
    for (unsigned i = 1; i < n; i++) {
        if (sorted[i] - sorted[i - 1] > CLOCKS_APART_US) {
            return true;
        }
    }
    return false;
}

/* Votes that were granted stay valid. All nodes are asked for a place, those
 * that granted too, to learn whether an earlier ticket waits there. With one
 * node the first request has taken a place already. */
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
    if (has_place && !hf_ask_judge(step)) {
        return; /* decided: the pushed grant came before this reply */
    }
    hf_step_report(step, HF_OUT_QUEUED);
    if (has_place) {
        schedule(step, event->node);
        return;
    }
    for (unsigned i = 0; i < lease->n_nodes; i++) {
        struct hf_vote *vote = &lease->votes[i];
        if (vote->pending == 0) {
            hf_vote_set_due(lease, vote, step->event->now);
        }
        send_acquire(step, i);
    }
}

/* ---- Rule Y ------------------------------------------------------------ */

/* Return the vote of `node`, granted at counter `grant`. Grants up to it do not
 * count any more, whichever reply still names one. */
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
    hf_vote_set_rival(vote, 0, HF_LEFT_MS_ENDLESS);
    hf_step_send(step, node, HF_VERB_YIELD, grant);
}

static bool must_yield(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_event *event = step->event;
    const struct hf_vote *vote = &step->lease->votes[event->node];
    return event->verdict == HF_VERDICT_OK && event->ahead > 0 &&
           vote->said == HF_SAID_YOURS && vote->counter == event->counter &&
           may_send(step, event->node);
}

/* The reply says that the node has us as owner, at a counter that was returned:
 * the YIELD was lost with its connection. Until it is sent again the node
 * grants the name to no waiter. */
static bool must_yield_again(const struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_event *event = step->event;
    const struct hf_vote *vote = &step->lease->votes[event->node];
    return event->verdict == HF_VERDICT_OK && event->counter <= vote->refused &&
           may_send(step, event->node);
}

/* ---- Claims ------------------------------------------------------------ */

bool hf_wait_is_brief(const struct hf_step *step, struct hf_instant until)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    struct hf_span least = hf_validity_min(hf_lease_place(step->lease));
    return hf_instant_until(step->event->now, until).ns < least.ns;
}

/* An event after which the same request must not be sent at once: it would fail
 * as quickly again, and with a store that replies before its ask() returns that
 * would be a loop without end. */
static bool is_failure(const struct hf_event *event)
{
    HF_ASSERT(event->verdict <= HF_VERDICT_ERROR); /* OK if it is no answer */
    return event->kind == HF_EV_ANSWER &&
           (event->verdict == HF_VERDICT_ERROR ||
            event->verdict == HF_VERDICT_UNKNOWN ||
            event->verdict == HF_VERDICT_UNSENT);
}

/* A majority has granted, but the votes expire too soon to start with. Renew
 * those that do, and only those: if the others were asked too, each reply of
 * theirs would cause the next request, for as long as one node is silent. */
void hf_wait_refresh(struct hf_step *step, uint16_t voters)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (is_failure(step->event)) {
        return;
    }
    for (unsigned i = 0; i < step->lease->n_nodes; i++) {
        if ((voters & hf_node_bit(i)) != 0 &&
            hf_wait_is_brief(step, step->lease->votes[i].until)) {
            send_acquire(step, i);
        }
    }
}

/* ---- Events ------------------------------------------------------------ */

static void note(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    const struct hf_event *event = step->event;
    struct hf_vote *vote = &step->lease->votes[event->node];
    HF_ASSERT(event->verdict <= HF_VERDICT_ERROR);
    switch (event->verdict) {
    case HF_VERDICT_OK:
        hf_raise_note(step, vote);
        break;
    case HF_VERDICT_QUEUED:
    case HF_VERDICT_REFUSED:
        hf_grant_refusal(step, vote);
        break;
    case HF_VERDICT_UNSENT:
    case HF_VERDICT_UNKNOWN:
    case HF_VERDICT_ERROR:
    default:
        break; /* an earlier vote stays valid until it expires */
    }
}

/* A raise that was not confirmed. If the verdict is UNKNOWN, the node may still
 * execute it: on_answer() in lease_step.c has marked the vote IN_DOUBT. */
static bool is_unconfirmed_raise(const struct hf_event *event)
{
    HF_ASSERT(event->kind == HF_EV_ANSWER);
    return event->verb == HF_VERB_CONFIRM && is_failure(event);
}

void hf_wait_answer(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    if (is_unconfirmed_raise(step->event)) {
        schedule(step, step->event->node); /* with the next heartbeat */
        return;
    }
    if (step->event->verb != HF_VERB_CONFIRM) {
        step->lease->raises = 0; /* a waiter does not give up */
    }
    note(step);
    if (!hf_ask_judge(step)) {
        return;
    }
    if (must_yield(step) || must_yield_again(step)) {
        yield(step, step->event->node, step->event->counter);
    }
    schedule(step, step->event->node);
}

/* A pushed grant was recorded. While asking, it counts from the reply that
 * names our place. */
void hf_wait_granted(struct hf_step *step)
{
    HF_ASSERT(hf_lease_counts_grants(step->lease));
    if (step->lease->phase == HF_PHASE_ASKING) {
        return;
    }
    step->lease->votes[step->event->node].polls = 0;
    if (hf_ask_judge(step)) {
        schedule(step, step->event->node);
    }
}

/* The status of the node changed. If it votes again, its queue may have lost
 * our place: enqueue again with the same ticket. If it no longer votes, a
 * majority may be out of reach. */
void hf_wait_node(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    send_acquire(step, step->event->node);
    hf_ask_judge(step);
}

/* The push connection of a node has changed: a grant from before it was open
 * may be waiting there. */
void hf_wait_listen(struct hf_step *step)
{
    HF_ASSERT(step->lease->phase == HF_PHASE_WAITING);
    unsigned node = step->event->node;
    const struct hf_vote *vote = &step->lease->votes[node];
    if ((step->nodes->listening & hf_node_bit(node)) != 0 &&
        (vote->flags & HF_VOTE_NO_PUSH) != 0) {
        send_acquire(step, node);
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
            send_acquire(step, i);
        }
    }
    hf_ask_judge(step);
}
