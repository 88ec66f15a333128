/* SPDX-License-Identifier: Apache-2.0 */
/* QUEUES AND HAND-OVER, EXCLUSIVE AND SHARED, OVER SEVERAL NODES
 *
 * Each node has a queue in ticket order and grants the name to the first
 * waiter. Messages arrive in any order, so nodes may grant it to different
 * waiters. No lease ends here while its client lives, so exclusion must hold
 * absolutely. Expiry is modelled in timed.c, and the effect of lost leases on
 * fences in fence.c.
 *
 * Claims
 *   exclusion   no client holds the lock beside a writer
 *   C1          no client has the same fence as a writer
 *   C2          completed before another began: smaller fence
 *   renewable   a holder is at its fence at a majority, whatever is still on
 *               its way: its first renewal cannot fail
 *   goal        from every state all can finish (AG EF)
 *
 * A client's number is its ticket: client 1 is first. Each client has one
 * connection to each node, with at most one request or answer on it, and gets
 * pushed grants beside it, early, late or twice. A connection that breaks may
 * leave its request behind, to be executed much later (a ghost).
 *
 * Bounds: NODES, of which LIVE answer; CLIENTS; READERS, a bit for each. */
#include "queue_state.h"

/* ---- At a node --------------------------------------------------------- */

/* A free name admits a writer or a reader; a name with readers admits
 * readers. */
static bool admits(const struct node *node, int who)
{
    return node->holders == 0 ||
           (is_reader(who) && (node->holders & ~READERS) == 0);
}

/* GRANT: every grant moves the counter, a sharer's too. */
static void grant(struct node *node, int who)
{
    if (node->counter >= COUNTER_MAX) {
        out_of_bounds("bound on counters");
    }
    if (SHARED_MOVES || !is_reader(who) || node->holders == 0) {
        node->counter++;
    }
    node->holders |= (uint8_t)(1 << who);
    node->links[who].own = node->counter;
}

/* Grants the name to the first waiters while it admits them. The grant is
 * pushed to all of them but the sender of the request. */
static void serve(struct node *node, int asker)
{
    for (int k = 0; k < CLIENTS; k++) {
        if ((node->queue >> k & 1) == 0) {
            continue;
        }
        if (!admits(node, k)) {
            return;
        }
        node->queue &= (uint8_t) ~(1 << k);
        grant(node, k);
        if (k != asker) {
            node->links[k].pushes |= (uint16_t)(1u << node->links[k].own);
        }
    }
}

static void answer(struct node *node, int who)
{
    struct link *link = &node->links[who];
    bool is_ours = is_holder(node, who);
    link->verdict = is_ours ? YOURS : NOT_YOURS;
    link->answer = is_ours ? link->own : node->counter;
    link->answer_ahead =
        is_ours && (node->queue & ((1 << who) - 1)) != 0 ? 1 : 0;
}

/* ACQUIRE with a place in the queue, which is the heartbeat too. */
static void execute_acquire(struct node *node, int who)
{
    if (!is_holder(node, who)) {
        node->queue |= (uint8_t)(1 << who);
        serve(node, who);
    }
}

/* CONFIRM: an owner's counter is the name's; a sharer has its own, and the
 * name's is never below it. */
static void execute_confirm(struct node *node, int who, uint8_t fence)
{
    struct link *link = &node->links[who];
    if (!is_holder(node, who) || link->own >= fence ||
        fence > node->counter + BOUND) {
        return;
    }
    link->own = fence & 15;
    if (node->counter < fence && (RAISE_MOVES || !is_reader(who))) {
        node->counter = fence;
    }
}

/* YIELD: back into the queue, if the owner still has the grant that it
 * names. */
static void execute_yield(struct node *node, int who, uint8_t counter)
{
    if (is_holder(node, who) &&
        (node->links[who].own == counter || !YIELD_NAMES_GRANT)) {
        node->holders &= (uint8_t) ~(1 << who);
        node->links[who].own = 0;
    }
    execute_acquire(node, who);
}

static void execute(struct node *node, int who, uint8_t verb, uint8_t counter)
{
    if (verb == ACQUIRE) {
        execute_acquire(node, who);
    } else if (verb == CONFIRM) {
        execute_confirm(node, who, counter);
    } else {
        execute_yield(node, who, counter);
    }
}

/* RELEASE, or the end of the lease of a client that died. */
static void execute_release(struct node *node, int who, uint8_t fence)
{
    bool was_holder = is_holder(node, who);
    node->queue &= (uint8_t) ~(1 << who);
    node->holders &= (uint8_t) ~(1 << who);
    node->links[who].own = 0;
    if (ALIGNS && (was_holder || node->holders == 0) && node->counter < fence) {
        node->counter = fence;
    }
    serve(node, -1);
}

/* ---- At a client ------------------------------------------------------- */

static void hear_yours(struct link *link, uint8_t counter)
{
    if (IGNORES_STALE && counter <= link->stale) {
        return;
    }
    if (counter > link->vote) {
        link->vote = counter & 15;
    }
    if (counter >= link->unanswered) {
        link->unanswered = 0;
    }
}

/* The client drops the vote before it sends YIELD. */
static void send_yield(struct link *link, uint8_t counter)
{
    if (counter > link->stale) {
        link->stale = counter & 15;
    }
    link->vote = 0;
    link->ahead = 0;
    link->verb = YIELD;
    link->counter = counter & 15;
}

static void hear_answer(struct link *link, enum phase phase)
{
    uint8_t counter = link->answer;
    uint8_t verdict = link->verdict;
    bool is_ahead = link->answer_ahead;
    link->verdict = SILENCE;
    link->answer = 0;
    link->answer_ahead = 0;
    link->most = link->answer_most;
    link->answer_most = 0;
    if (phase != WAITING) {
        link->most = 0;
        return;
    }
    if (verdict == YOURS) {
        if (IGNORES_STALE && YIELDS_AGAIN && counter <= link->stale) {
            send_yield(link, counter);
            return;
        }
        hear_yours(link, counter);
        link->ahead = is_ahead;
        return;
    }
    if (counter > link->stale) {
        link->stale = counter & 15;
    }
    if (link->vote <= link->stale) {
        link->vote = 0;
    }
    link->ahead = 0;
    link->unanswered = 0;
}

/* Whether a vote counts: not while a request in flight may change the
 * counter. */
static bool is_settled(const struct client *client, const struct link *link)
{
    bool is_moving = link->verb == CONFIRM ||
                     (link->verdict != SILENCE && link->answer > link->vote);
    switch (RAISED) {
    case 0:
        return true;
    case 1:
        return !is_moving;
    case 2:
        return !is_moving && link->unanswered == 0;
    case 3:
        return link->vote >= client->top;
    default:
        return link->vote >= client->top || (!is_moving && !link->lost);
    }
}

static unsigned votes_for(const struct state *state, int who, uint8_t counter)
{
    unsigned n = 0;
    for (int i = 0; i < LIVE; i++) {
        const struct link *link = &state->nodes[i].links[who];
        n += link->vote == counter && is_settled(&state->clients[who], link);
    }
    return n;
}

static bool is_renewable(const struct state *state, int who)
{
    unsigned n = 0;
    uint8_t fence = state->clients[who].fence;
    for (int i = 0; i < LIVE; i++) {
        const struct node *node = &state->nodes[i];
        const struct link *link = &node->links[who];
        bool moves =
            (link->verb == CONFIRM && link->counter > fence) ||
            (link->ghost_verb == CONFIRM && link->ghost_counter > fence);
        bool leaves =
            (link->verb == YIELD && link->counter == fence) ||
            (link->ghost_verb == YIELD && link->ghost_counter == fence);
        n += is_holder(node, who) && link->own <= fence && !moves && !leaves &&
             link->vote == fence;
    }
    return n >= MAJORITY;
}

static void check_completion(const struct state *state, int who)
{
    uint8_t fence = state->clients[who].fence;
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *other = &state->clients[k];
        if (k == who || other->phase < HOLDING || other->fence == 0) {
            continue;
        }
        bool is_shared = is_reader(k) && is_reader(who);
        if (other->phase == HOLDING && !is_shared) {
            broken("exclusion");
        }
        if (other->fence == fence && !is_shared) {
            broken("C1");
        }
    }
    bool may_share = !SHARED_MOVES && is_reader(who); /* C1 is about writers */
    if (fence < state->clients[who].least ||
        (fence == state->clients[who].least && !may_share)) {
        broken("C2");
    }
    if (!is_renewable(state, who)) {
        broken("renewable");
    }
}

/* ---- All that can happen ----------------------------------------------- */

static void reach_at(const struct state *next, enum kind kind, int who,
                     int node, uint8_t value)
{
    struct step step = {(uint8_t)kind, (uint8_t)who, (uint8_t)node, value};
    reach(next, step);
}

static void start(const struct state *state, int who)
{
    struct state next = *state;
    next.clients[who].phase = WAITING;
    for (int k = 0; k < CLIENTS; k++) {
        if (state->clients[k].fence > next.clients[who].least) {
            next.clients[who].least = state->clients[k].fence;
        }
    }
    reach_at(&next, START, who, 0, 0);
}

static void complete(const struct state *state, int who)
{
    for (uint8_t counter = 1; counter <= COUNTER_MAX; counter++) {
        if (votes_for(state, who, counter) < MAJORITY) {
            continue;
        }
        struct state next = *state;
        next.clients[who].phase = HOLDING;
        next.clients[who].fence = counter;
        next.clients[who].top = 0;
        check_completion(&next, who);
        reach_at(&next, COMPLETED, who, 0, counter);
    }
}

/* Requests and replies on the one connection, and late requests of closed
 * connections. */
static void travel(const struct state *state, int who, int i)
{
    const struct link *link = &state->nodes[i].links[who];
    enum phase phase = state->clients[who].phase;
    bool is_quiet = link->verb == NOTHING && link->verdict == SILENCE;
    if (link->verb != NOTHING || (is_quiet && phase == WAITING)) {
        struct state next = *state;
        struct node *node = &next.nodes[i];
        struct link *mine = &node->links[who];
        uint8_t verb = link->verb == NOTHING ? ACQUIRE : link->verb;
        bool is_far = verb == CONFIRM && is_holder(node, who) &&
                      link->counter > node->counter + BOUND;
        execute(node, who, verb, link->counter);
        mine->answer_most = is_far ? (node->counter + BOUND) & 15 : 0;
        mine->lost |= is_far && !BOUND_IS_ANSWER;
        mine->verb = NOTHING;
        mine->counter = 0;
        answer(node, who);
        if (!ANSWERS_TRAVEL || phase >= HOLDING) {
            hear_answer(mine, phase);
        }
        reach_at(&next, EXECUTED, who, i + 1, verb);
    }
    if (link->verdict != SILENCE) {
        struct state next = *state;
        hear_answer(&next.nodes[i].links[who], phase);
        reach_at(&next, ANSWERED, who, i + 1, link->answer);
    }
    if (link->ghost_verb != NOTHING) {
        struct state next = *state;
        struct link *mine = &next.nodes[i].links[who];
        mine->ghost_verb = NOTHING;
        mine->ghost_counter = 0;
        reach_at(&next, GHOST, who, i + 1, 0); /* it never arrives */
        execute(&next.nodes[i], who, link->ghost_verb, link->ghost_counter);
        reach_at(&next, GHOST, who, i + 1, link->ghost_verb);
    }
    if (state->breaks > 0 && link->ghost_verb == NOTHING && !is_quiet) {
        struct state next = *state;
        struct link *mine = &next.nodes[i].links[who];
        next.breaks--;
        mine->ghost_verb = link->verb;
        mine->ghost_counter = link->counter;
        if (RAISED == 2 && link->verb == CONFIRM) {
            mine->unanswered = link->counter;
        } else if (RAISED == 2 && link->verdict == YOURS &&
                   link->answer > link->vote) {
            mine->unanswered = link->answer;
        }
        mine->lost |= link->verb == CONFIRM || link->verdict == YOURS;
        mine->verb = NOTHING;
        mine->counter = 0;
        mine->verdict = SILENCE;
        mine->answer = 0;
        mine->answer_ahead = 0;
        mine->answer_most = 0;
        reach_at(&next, BREAK, who, i + 1, 0);
    }
    for (uint8_t counter = 1; counter <= COUNTER_MAX; counter++) {
        if ((link->pushes >> counter & 1) != 0 && phase == WAITING) {
            struct state next = *state;
            hear_yours(&next.nodes[i].links[who], counter);
            reach_at(&next, PUSHED, who, i + 1, counter);
        }
    }
}

/* Whether the node may accept a raise to `value`, by its replies so far. */
static bool is_within(const struct link *link, uint8_t value)
{
    return link->vote > 0 && link->vote < value &&
           (!BOUND_IS_ANSWER || link->most == 0 || value <= link->most);
}

/* Whether the node surely accepts a raise to `value`. */
static bool is_sure(const struct link *link, uint8_t value)
{
    return !RAISES_SURELY || value <= link->vote + BOUND ||
           (BOUND_IS_ANSWER && link->most != 0 && value <= link->most);
}

/* The greatest value to which a majority of the granting nodes can be
 * raised. */
static uint8_t target(const struct state *state, int who, bool surely)
{
    for (uint8_t value = COUNTER_MAX; value > 0; value--) {
        unsigned n = 0;
        bool is_named = value == state->clients[who].top;
        for (int i = 0; i < LIVE; i++) {
            const struct link *link = &state->nodes[i].links[who];
            is_named |= link->vote == value;
            n += link->vote == value ||
                 (is_within(link, value) && (!surely || is_sure(link, value)));
        }
        if (is_named && n >= MAJORITY) {
            return value;
        }
    }
    return 0;
}

/* The least counter that a majority does not exceed; 0: not all nodes
 * granted. */
static uint8_t middle(const struct state *state, int who)
{
    for (uint8_t value = 1; value <= COUNTER_MAX; value++) {
        unsigned n = 0;
        unsigned all = NODES - LIVE;
        for (int i = 0; i < LIVE; i++) {
            uint8_t vote = state->nodes[i].links[who].vote;
            n += vote > 0 && vote <= value;
            all += vote == 0;
        }
        if (n >= MAJORITY) {
            return STEPS && all == 0 ? value : 0;
        }
    }
    return 0;
}

/* The next value to raise a node to, towards the target; 0: none. */
static uint8_t next_of(const struct link *link, uint8_t sure, uint8_t may,
                       uint8_t steps)
{
    if (sure > 0) {
        return is_within(link, sure) ? sure : 0;
    }
    if (may > 0) {
        bool is_asked = !RAISES_SURELY || !is_sure(link, may);
        return is_asked && is_within(link, may) ? may : 0;
    }
    if (link->vote >= steps) {
        return 0;
    }
    return link->most != 0 && link->most < steps ? link->most : steps;
}

static void wait_on(const struct state *state, int who)
{
    unsigned granted = 0;
    uint8_t sure = target(state, who, true);
    uint8_t may = target(state, who, false);
    uint8_t steps = middle(state, who);
    for (int i = 0; i < LIVE; i++) {
        granted += state->nodes[i].links[who].vote > 0;
    }
    complete(state, who);
    for (int i = 0; i < LIVE; i++) {
        const struct link *link = &state->nodes[i].links[who];
        if (link->verb != NOTHING || link->verdict != SILENCE ||
            link->vote == 0) {
            continue;
        }
        uint8_t top = next_of(link, sure, may, steps);
        if (granted >= MAJORITY && top > 0) {
            struct state next = *state;
            next.nodes[i].links[who].verb = CONFIRM;
            next.nodes[i].links[who].counter = top & 15;
            if (RAISED < 3) {
                next.clients[who].top = 0;
            } else if (next.clients[who].top < top) {
                next.clients[who].top = top;
            }
            reach_at(&next, SENT_CONFIRM, who, i + 1, top);
        }
        if (YIELDS && link->ahead) {
            struct state next = *state;
            send_yield(&next.nodes[i].links[who], link->vote);
            reach_at(&next, SENT_YIELD, who, i + 1, link->vote);
        }
    }
}

static void end(const struct state *state, int who, enum phase phase,
                enum kind kind)
{
    struct state next = *state;
    next.clients[who].phase = (uint8_t)phase;
    next.clients[who].top = 0;
    next.crashes -= kind == CRASH;
    for (int i = 0; i < LIVE; i++) { /* the client's state is lost */
        struct link *link = &next.nodes[i].links[who];
        link->vote = 0;
        link->stale = 0;
        link->ahead = 0;
        link->unanswered = 0;
        link->pushes = 0;
        link->verdict = SILENCE;
        link->answer = 0;
        link->answer_ahead = 0;
        link->answer_most = 0;
        link->most = 0;
        link->lost = 0;
    }
    reach_at(&next, kind, who, 0, 0);
}

/* A client that is done or dead: RELEASE, or its leases end one by one. */
static void vanish(const struct state *state, int who)
{
    for (int i = 0; i < LIVE; i++) {
        const struct node *node = &state->nodes[i];
        if (((node->holders | node->queue) >> who & 1) == 0) {
            continue;
        }
        struct state next = *state;
        bool is_release = state->clients[who].phase == DONE;
        execute_release(&next.nodes[i], who,
                        is_release ? state->clients[who].fence : 0);
        next.nodes[i].links[who].pushes = 0;
        reach_at(&next, FREED, who, i + 1, 0);
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        enum phase phase = state->clients[k].phase;
        if (phase == IDLE) {
            start(state, k);
            continue;
        }
        for (int i = 0; i < LIVE; i++) {
            travel(state, k, i);
            if (state->forgets > 0 && (state->nodes[i].queue >> k & 1) != 0) {
                struct state next = *state;
                next.forgets--;
                next.nodes[i].queue &= (uint8_t) ~(1 << k);
                serve(&next.nodes[i], -1);
                reach_at(&next, FORGET, k, i + 1, 0);
            }
        }
        if (phase == WAITING) {
            wait_on(state, k);
            if ((LEAVERS >> k & 1) != 0) {
                end(state, k, DONE, LEAVE);
            }
        } else if (phase == HOLDING && (KEEPERS >> k & 1) == 0) {
            end(state, k, DONE, RELEASES);
        } else if (phase >= DONE) {
            vanish(state, k);
        }
        if (state->crashes > 0 && phase < DONE) {
            end(state, k, CRASHED, CRASH);
        }
    }
}
