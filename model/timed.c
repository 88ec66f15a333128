/* SPDX-License-Identifier: Apache-2.0 */
/* EXCLUSION BY TIME: LEASES, CLAIMS, RENEWALS
 *
 * Discrete time; all clocks run at one rate unless a fault is injected.
 * Requests take any time, may be lost, repeated and overtaken; answers and
 * pushed grants too; clients may pause.
 *
 * Claim C4: two that exclude one another never believe at once that they hold.
 * A client believes for as long as a majority of its votes is good. A vote is
 * good until the sending of the request that it answers + the lease asked for;
 * a pushed grant (a claim) until the sending of the last request that this
 * node answered "queued" + CLAIM, and only if its counter is greater than the
 * one in that answer.
 *
 * All times are remaining ticks, which count down alike whether a reply is in
 * flight or received. A client uses the best reply that was ever sent to it,
 * which is more than a real client has.
 *
 * Two majorities share a node, so one node in detail shows most: NODES=1 with
 * long leases, NODES=3 with short ones.
 *
 * Bounds: NODES; CLIENTS; READERS, a bit each; TTL, CLAIM, RENEWED ticks;
 * SENDS of ACQUIRE for each client; COUNTERS. */
#include "timed_state.h"

/* ---- At a node --------------------------------------------------------- */

static bool is_reader(int who)
{
    return (READERS >> who & 1) != 0;
}

static bool admits(const struct node *node, int who)
{
    for (int k = 0; k < CLIENTS; k++) {
        bool excludes = !is_reader(k) || !is_reader(who);
        if (node->links[k].left > 0 && excludes) {
            return false;
        }
    }
    return true;
}

static void raise_to(uint8_t *ticks, int least)
{
    if (*ticks < least) {
        *ticks = (uint8_t)least;
    }
}

/* "Yours" in reply to a request of that age, which asked for so long a
 * lease. */
static void say_yours(struct link *link, int lease, int age)
{
    raise_to(&link->good[link->own], lease - age);
}

/* GRANT. At the bound on counters a node grants nothing. */
static bool grant(struct node *node, int who, int lease)
{
    if (node->counter == COUNTERS) {
        return false;
    }
    struct link *link = &node->links[who];
    node->counter++;
    link->own = node->counter;
    link->left = (uint8_t)lease;
    link->place = 0;
    return true;
}

/* Tickets are in the order of clients. A waiter that is granted the name out of
 * the queue has a claim: a lease of CLAIM from now, and a push. */
static void serve(struct node *node, int asker, int age)
{
    for (int k = 0; k < CLIENTS; k++) {
        struct link *link = &node->links[k];
        if (link->place == 0) {
            continue;
        }
        if (!admits(node, k) || !grant(node, k, k == asker ? TTL : CLAIM)) {
            return;
        }
        if (k == asker) {
            say_yours(link, TTL, age);
        } else {
            link->pushes |= (uint8_t)(1 << link->own);
        }
    }
}

static bool has_waiters(const struct node *node)
{
    for (int k = 0; k < CLIENTS; k++) {
        if (node->links[k].place > 0) {
            return true;
        }
    }
    return false;
}

static void say_queued(struct node *node, int who, int age)
{
    if (age < CLAIM) {
        raise_to(&node->links[who].queued[node->counter], CLAIM - age);
    }
}

static void refresh(struct link *link, int lease)
{
    if (EXPIRY == 2 || (EXPIRY == 1 && link->left < lease)) {
        link->left = (uint8_t)lease;
    }
}

static void execute_acquire(struct node *node, int who, int age)
{
    struct link *link = &node->links[who];
    if (link->left > 0) {
        refresh(link, TTL);
        say_yours(link, TTL, age);
    } else if (admits(node, who) && !has_waiters(node)) {
        if (grant(node, who, TTL)) {
            say_yours(link, TTL, age);
        }
    } else if (QUEUE) {
        link->place = CLAIM;
        serve(node, who, age);
        if (link->left == 0) {
            say_queued(node, who, age);
        }
    }
}

static void execute_confirm(struct node *node, int who, int age)
{
    struct link *link = &node->links[who];
    if (link->left == 0 && TAKES_BACK && link->own == node->counter &&
        link->own > 0 && admits(node, who)) {
        link->left = RENEWED; /* last is me */
        link->place = 0;
    }
    if (link->left > 0) {
        refresh(link, RENEWED);
        say_yours(link, RENEWED, age);
    }
}

/* ---- Validity ---------------------------------------------------------- */

static bool believes(const struct state *state, int who)
{
    int votes = 0;
    for (int i = 0; i < NODES; i++) {
        const struct link *link = &state->nodes[i].links[who];
        bool is_good = false;
        for (int v = 1; v <= COUNTERS; v++) {
            is_good = is_good || (link->good[v] > 0 && v > link->stale);
        }
        votes += is_good;
    }
    return votes >= QUORUM && state->clients[who].phase == TRYING;
}

static void reach_at(const struct state *next, enum kind kind, int who,
                     int node, int value)
{
    struct step step = {(uint8_t)kind, (uint8_t)who, (uint8_t)node,
                        (uint8_t)value};
    bool is_held = false;
    bool is_held_alone = false;
    for (int k = 0; k < CLIENTS; k++) {
        if (!believes(next, k)) {
            continue;
        }
        if (is_held_alone || (is_held && !is_reader(k))) {
            broken("C4");
        }
        is_held = true;
        is_held_alone = is_held_alone || !is_reader(k);
    }
    reach(next, step);
}

/* ---- Transitions ------------------------------------------------------- */

static void forget_votes(struct link *link)
{
    memset(link->good, 0, sizeof link->good);
    link->claim = 0;
}

static void send_all(const struct state *state, int who)
{
    struct state next = *state;
    next.clients[who].phase = TRYING;
    next.clients[who].sends++;
    for (int i = 0; i < NODES; i++) {
        next.nodes[i].links[who].asks |= 1;
        if (CLAIM_SINCE == 2) {
            next.nodes[i].links[who].claim = CLAIM;
        }
    }
    reach_at(&next, SEND, who, 0, 0);
}

static void confirm_all(const struct state *state, int who)
{
    struct state next = *state;
    for (int i = 0; i < NODES; i++) {
        next.nodes[i].links[who].confirms |= 1;
    }
    reach_at(&next, SEND_CONFIRM, who, 0, 0);
}

static void execute_at(const struct state *state, int who, int i)
{
    const struct link *link = &state->nodes[i].links[who];
    for (int age = 0; age <= AGE_MAX; age++) {
        if ((link->asks >> age & 1) != 0) {
            struct state next = *state;
            execute_acquire(&next.nodes[i], who, age);
            reach_at(&next, ACQUIRED, who, i + 1, age);
        }
        if ((link->confirms >> age & 1) != 0) {
            struct state next = *state;
            execute_confirm(&next.nodes[i], who, age);
            reach_at(&next, CONFIRMED, who, i + 1, age);
        }
    }
}

/* Count "queued" replies and pushed grants. A grant that arrives before the
 * reply waits in `pushes`, since the reply determines from when the grant is
 * valid. */
static void hear_at(const struct state *state, int who, int i)
{
    const struct link *link = &state->nodes[i].links[who];
    for (int v = 0; v <= COUNTERS; v++) {
        if (link->queued[v] > 0) {
            struct state next = *state;
            struct link *mine = &next.nodes[i].links[who];
            raise_to(&mine->heard, v);
            raise_to(&mine->claim, link->queued[v]);
            mine->queued[v] = 0;
            reach_at(&next, HEARD_QUEUED, who, i + 1, v);
        }
        bool counts =
            (link->pushes >> v & 1) != 0 && (v > link->heard || !CLAIM_EXCEEDS);
        int ticks = CLAIM_SINCE == 0 ? CLAIM : link->claim;
        if (counts && ticks > 0) {
            struct state next = *state;
            struct link *mine = &next.nodes[i].links[who];
            raise_to(&mine->good[v], ticks);
            if (CLAIM_SINCE == 0) {
                mine->pushes &= (uint8_t) ~(1 << v);
            }
            reach_at(&next, COUNTED, who, i + 1, v);
        }
    }
}

/* YIELD: drop the vote, go back into the queue. */
static void yield_at(const struct state *state, int who, int i)
{
    struct state next = *state;
    struct node *node = &next.nodes[i];
    struct link *mine = &node->links[who];
    if (YIELD_FORGETS) {
        mine->stale = mine->own;
    }
    mine->left = 0;
    mine->place = QUEUE ? CLAIM : 0;
    serve(node, -1, 0);
    reach_at(&next, YIELDED, who, i + 1, 0);
}

static void quit(const struct state *state, int who)
{
    struct state next = *state;
    struct client *client = &next.clients[who];
    for (int i = 0; i < NODES; i++) {
        forget_votes(&next.nodes[i].links[who]);
    }
    client->phase = OVER;
    reach_at(&next, QUIT, who, 0, 0);
    if (!FRESH_OWNER && !client->is_reused) {
        client->phase = IDLE;
        client->sends = 0;
        client->is_reused = 1;
        reach_at(&next, QUIT, who, 0, 1);
    }
}

static void release_at(const struct state *state, int who, int i)
{
    struct state next = *state;
    struct link *mine = &next.nodes[i].links[who];
    mine->left = 0;
    mine->place = 0;
    mine->own = 0;
    serve(&next.nodes[i], -1, 0);
    reach_at(&next, RELEASED, who, i + 1, 0);
}

static void happen_to(const struct state *state, int who)
{
    const struct client *client = &state->clients[who];
    bool has_let_go = client->phase == OVER || client->is_reused;
    if (client->phase != OVER && client->sends < SENDS) {
        send_all(state, who);
    }
    if (client->phase == TRYING) {
        quit(state, who);
        if (CONFIRMS && believes(state, who)) {
            confirm_all(state, who);
        }
    }
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &state->nodes[i];
        const struct link *link = &node->links[who];
        if (node->quarantine > 0) {
            continue;
        }
        execute_at(state, who, i);
        if (client->phase == TRYING) {
            hear_at(state, who, i);
        }
        if (has_let_go && (link->left > 0 || link->place > 0)) {
            release_at(state, who, i);
        }
        if (YIELDS && client->phase == TRYING && link->left > 0 &&
            !believes(state, who)) {
            yield_at(state, who, i);
        }
    }
}

static void run_down(uint8_t *ticks)
{
    *ticks -= *ticks > 0;
}

/* The end of a lease frees the node; its counter stays for TAKES_BACK. */
static void pass_tick(struct node *node)
{
    for (int k = 0; k < CLIENTS; k++) {
        run_down(&node->links[k].left);
        run_down(&node->links[k].place);
        if (node->links[k].left == 0 && !TAKES_BACK) {
            node->links[k].own = 0;
        }
    }
}

/* A request that is too old for a valid reply can still take a node. */
static uint8_t age(uint8_t requests)
{
    unsigned older = (unsigned)requests << 1;
    unsigned oldest = requests & 1u << AGE_MAX;
    return (uint8_t)((older | oldest) & ((2u << AGE_MAX) - 1));
}

static void tick(const struct state *state)
{
    struct state next = *state;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &next.nodes[i];
        pass_tick(node);
        run_down(&node->quarantine);
        for (int k = 0; k < CLIENTS; k++) {
            struct link *link = &node->links[k];
            link->asks = age(link->asks);
            link->confirms = age(link->confirms);
            run_down(&link->claim);
            for (int v = 0; v <= COUNTERS; v++) {
                run_down(&link->good[v]);
                run_down(&link->queued[v]);
            }
        }
    }
    reach_at(&next, TICK, 0, 0, 0);
}

/* Its connections close, and the requests on them are lost. */
static void forget(const struct state *state, int i)
{
    struct state next = *state;
    struct node *node = &next.nodes[i];
    next.amnesias--;
    node->quarantine = QUARANTINE;
    for (int k = 0; k < CLIENTS; k++) {
        struct link *link = &node->links[k];
        link->left = 0;
        link->own = 0;
        link->place = 0;
        link->asks = 0;
        link->confirms = 0;
    }
    reach_at(&next, AMNESIA, 0, i + 1, 0);
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        happen_to(state, k);
    }
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &state->nodes[i];
        if (QUEUE && has_waiters(node)) { /* as the script of any client does */
            struct state next = *state;
            serve(&next.nodes[i], -1, 0);
            reach_at(&next, SERVED, 0, i + 1, 0);
        }
        if (state->jumps > 0) {
            struct state next = *state;
            next.jumps--;
            pass_tick(&next.nodes[i]);
            reach_at(&next, JUMP, 0, i + 1, 0);
        }
        if (state->amnesias > 0) {
            forget(state, i);
        }
    }
    tick(state);
}
