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
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef COUNTERS
#define COUNTERS 3
#endif
#ifndef TTL
#define TTL 2 /* lease that ACQUIRE asks for */
#endif
#ifndef CLAIM
#define CLAIM TTL /* lease of a place, and of a grant out of the queue */
#endif
#ifndef RENEWED
#define RENEWED TTL /* lease that CONFIRM asks for */
#endif
#ifndef SENDS
#define SENDS 1
#endif
#ifndef QUORUM
#define QUORUM (NODES / 2 + 1)
#endif
/* Faults. */
#ifndef JUMPS
#define JUMPS 0 /* how often the clock of one node leaps one tick ahead */
#endif
#ifndef AMNESIAS
#define AMNESIAS 0
#endif
#ifndef QUARANTINE
#define QUARANTINE 0 /* ticks without a request after a data loss */
#endif
/* The parts of the model. */
#ifndef QUEUE
#define QUEUE 0
#endif
#ifndef CONFIRMS
#define CONFIRMS 0
#endif
#ifndef YIELDS
#define YIELDS 0
#endif
/* The rules; 1 is the product unless stated otherwise. */
/* A repeated request: 0: keeps the expiry; 1: takes the later of both; 2: sets
 * it. */
#ifndef EXPIRY
#define EXPIRY 1
#endif
/* From when a claim counts: 0: its receipt; 1: the sending of the last request
 * answered "queued"; 2: the sending of the last request. */
#ifndef CLAIM_SINCE
#define CLAIM_SINCE 1
#endif
#ifndef CLAIM_EXCEEDS
#define CLAIM_EXCEEDS 1 /* its counter exceeds the one in that reply */
#endif
#ifndef YIELD_FORGETS
#define YIELD_FORGETS 1 /* votes up to the one given back are stale */
#endif
#ifndef TAKES_BACK
#define TAKES_BACK 0 /* a holder's CONFIRM takes a free node back */
#endif
#ifndef FRESH_OWNER
#define FRESH_OWNER 1 /* 0: a second attempt reuses the owner */
#endif

#include <stdint.h>

#define AGE_MAX (RENEWED > TTL ? RENEWED : TTL) /* no effect from then on */

struct link {
    uint8_t left;  /* at the node: ticks of the lease; 0: no holder */
    uint8_t own;   /* at the node: counter of that holder */
    uint8_t place; /* at the node: ticks of the place in the queue */
    uint8_t asks;  /* ACQUIREs sent: a bit for each age in ticks */
    uint8_t confirms;
    uint8_t pushes;               /* grants pushed: a bit for each counter */
    uint8_t good[COUNTERS + 1];   /* "yours, c": ticks for which it is valid */
    uint8_t queued[COUNTERS + 1]; /* "queued, c" in flight: ticks for which a
                                     claim counted from it would be valid */
    uint8_t heard;                /* at the client: greatest c in a "queued" */
    uint8_t claim; /* at the client: ticks for which a claim is valid */
    uint8_t stale; /* at the client: votes up to that value do not count */
};

struct node {
    uint8_t counter;
    uint8_t quarantine;
    struct link links[CLIENTS];
};

enum phase { IDLE, TRYING, OVER };

struct client {
    uint8_t phase;
    uint8_t sends;
    uint8_t is_reused;
};

struct state {
    struct node nodes[NODES];
    struct client clients[CLIENTS];
    uint8_t jumps;
    uint8_t amnesias;
};

#include "checker.h"

enum kind {
    SEND,
    ACQUIRED,
    SEND_CONFIRM,
    CONFIRMED,
    HEARD_QUEUED,
    COUNTED,
    YIELDED,
    QUIT,
    RELEASED,
    SERVED,
    JUMP,
    AMNESIA,
    TICK
};

static void step_print(struct step step)
{
    static const char *const text[] = {
        "sends ACQUIRE to all",
        "ACQUIRE executed, sent so many ticks ago:",
        "sends CONFIRM to all",
        "CONFIRM executed, sent so many ticks ago:",
        "hears 'queued' with c =",
        "counts the pushed grant",
        "YIELD executed",
        "gives up or back",
        "RELEASE executed",
        "the queue is served",
        "THE CLOCK LEAPS",
        "MEMORY LOST",
        "a tick",
    };
    if (step.kind < SERVED) {
        printf("client %u: ", step.who + 1u);
    }
    printf("%s", text[step.kind]);
    if (step.kind == ACQUIRED || step.kind == CONFIRMED || step.value != 0) {
        printf(" %u", (unsigned)step.value);
    }
    if (step.node != 0) {
        printf(" at node %u", (unsigned)step.node);
    }
}

static void state_print(const struct state *state)
{
    static const char *const phases[] = {"idle", "tries", "over"};
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &state->nodes[i];
        printf("node %d: c=%d", i + 1, node->counter);
        for (int k = 0; k < CLIENTS; k++) {
            const struct link *link = &node->links[k];
            if (link->left > 0) {
                printf(" of %d for %d", k + 1, link->left);
            }
            if (link->place > 0) {
                printf(" waits %d for %d", k + 1, link->place);
            }
        }
        printf("; ");
    }
    for (int k = 0; k < CLIENTS; k++) {
        printf("\n       client %d %s, votes good for", k + 1,
               phases[state->clients[k].phase]);
        for (int i = 0; i < NODES; i++) {
            const struct link *link = &state->nodes[i].links[k];
            uint8_t best = 0;
            for (int v = link->stale + 1; v <= COUNTERS; v++) {
                best = link->good[v] > best ? link->good[v] : best;
            }
            printf(" %d", best);
        }
    }
}

static void state_init(struct state *state)
{
    state->jumps = JUMPS;
    state->amnesias = AMNESIAS;
}

static void state_canonical(struct state *state)
{
    for (int i = 1; i < NODES; i++) {
        for (int k = i; k > 0; k--) {
            struct node *a = &state->nodes[k - 1];
            struct node *b = &state->nodes[k];
            if (memcmp(a, b, sizeof *a) <= 0) {
                break;
            }
            struct node swap = *a;
            *a = *b;
            *b = swap;
        }
    }
}

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
