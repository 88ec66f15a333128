/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include "nodes.h"
#include "world_node.h"

#include "core/lease.h"
#include "core/validity.h"

#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 6    /* one more than any plan has */
#define WIRE_MAX 64      /* messages of a connection: a further one is lost */
#define HISTORY_MAX 4096 /* fences: more than a run has events */

/* A request in flight; later, the reply to it in flight. */
struct letter {
    bool is_answer;
    uint32_t owner; /* number of the attempt */
    struct hf_event event;
    struct node_ask ask;
    struct hf_instant at; /* time of arrival; never before that of the one in
                             front */
};

struct wire {
    struct letter letters[WIRE_MAX];
    unsigned n;
    bool broken; /* requests still arrive, replies do not */
};

struct client {
    _Alignas(struct hf_lease) char room[sizeof(struct hf_lease) +
                                        HF_NODES_MAX * sizeof(struct hf_vote)];
    struct hf_nodes nodes;
    struct wire wires[HF_NODES_MAX];
    struct wire pushes[HF_NODES_MAX]; /* the second connections */
    uint32_t owner;
    bool is_shared;
    uint64_t hint;
    struct hf_instant began;
    struct hf_instant resumes; /* paused until then */
    struct hf_instant idle_until;
    uint64_t floor_at_begin; /* greatest fence completed before it began */
    uint64_t fence_at_round; /* … before the present renewal began */
    uint64_t writers_at_begin;
    struct hf_instant calm_since; /* it waits, and no further faults happen */
    bool is_busy;                 /* has a lease that is not done */
};

static struct hf_lease *lease_of(struct client *client)
{
    return (struct hf_lease *)(void *)client->room;
}

struct world {
    const struct world_plan *plan;
    struct world_report *report;
    uint64_t random;
    struct hf_instant now;
    struct node nodes[HF_NODES_MAX];
    struct client clients[CLIENTS_MAX];
    uint32_t owners;
    struct {
        uint64_t fence;
        bool is_shared;
    } history[HISTORY_MAX];
    unsigned n_fences;
    uint64_t top;         /* greatest completed fence */
    uint64_t top_writers; /* of exclusive attempts only */
    uint64_t skew_us[HF_NODES_MAX];
    bool is_calm; /* the end: no faults, no new attempts */
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = world->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static struct hf_instant later(const struct world *world, int64_t us)
{
    return hf_instant_add(world->now, hf_span_us(us));
}

static void violate(struct world *world, const char *what)
{
    if (world->report->violation == NULL) {
        world->report->violation = what;
    }
}

/* ---- Nodes ------------------------------------------------------------- */

static void execute(struct world *world, unsigned idx, struct letter *letter)
{
    struct node *node = &world->nodes[idx];
    bool is_mad = world->plan->wrong_clocks && draw(world, 20) == 0;
    node->now = world->now;
    node->time_us = (uint64_t)(world->now.ns / 1000) + world->skew_us[idx];
    if (is_mad) {
        node->expiry = HF_LONG_AGO;
        for (unsigned i = 0; i < node->n_sharers; i++) {
            node->sharers[i].end = HF_LONG_AGO;
        }
    }
    node_expire(node);
    node_execute(node, &letter->ask, &letter->event);
}

/* ---- Clients ----------------------------------------------------------- */

static void post(struct world *world, struct wire *wire, struct letter letter)
{
    int64_t us = 100 + (int64_t)draw(world, 2000);
    if (draw(world, 50) == 0 && !world->is_calm) {
        us += (int64_t)draw(world, (uint64_t)world->plan->ttl_ms * 1500);
    }
    letter.at = later(world, us);
    for (unsigned i = 0; i < wire->n; i++) {
        if (wire->letters[i].is_answer == letter.is_answer) {
            letter.at = hf_instant_max(letter.at, wire->letters[i].at);
        }
    }
    if (wire->n < WIRE_MAX) {
        wire->letters[wire->n++] = letter;
    }
}

static void note_held(struct world *world, struct client *client)
{
    uint64_t fence = hf_lease_fence(lease_of(client));
    world->report->grants++;
    for (unsigned i = 0; i < world->n_fences; i++) {
        bool may_be = world->history[i].is_shared && client->is_shared;
        if (world->history[i].fence == fence && !may_be) {
            violate(world, "C1: two acquisitions with one fence");
        }
    }
    if (fence <= client->floor_at_begin) {
        violate(world, "C2: a later acquisition with a smaller fence");
    }
    if (world->n_fences < HISTORY_MAX) {
        world->history[world->n_fences].is_shared = client->is_shared;
        world->history[world->n_fences++].fence = fence;
    }
    if (!client->is_shared && fence > world->top_writers) {
        world->top_writers = fence;
    }
    world->top = fence > world->top ? fence : world->top;
}

static void apply(struct world *world, struct client *client,
                  const struct hf_effects *effects)
{
    struct hf_lease *lease = lease_of(client);
    for (unsigned i = 0; i < effects->n_sends; i++) {
        const struct hf_send *send = &effects->sends[i];
        struct letter letter = {
            .owner = client->owner,
            .ask = {.owner = client->owner,
                    .verb = send->verb,
                    .reacquires = send->reacquires,
                    .is_shared = client->is_shared,
                    .counter = send->counter,
                    .ttl = send->ttl,
                    .queue = send->queue,
                    .ticket = send->ticket},
            .event = {.kind = HF_EV_ANSWER,
                      .node = send->node,
                      .verb = send->verb,
                      .counter = send->counter,
                      .sent = world->now},
        };
        if (send->verb == HF_VERB_CONFIRM && !send->reacquires) {
            world->report->second_rounds++;
        }
        world->report->yields += send->verb == HF_VERB_YIELD;
        post(world, &client->wires[send->node], letter);
    }
    if (effects->outcome == HF_OUT_HELD) {
        note_held(world, client);
    }
    world->report->waits += effects->outcome == HF_OUT_QUEUED;
    if (effects->done || effects->outcome == HF_OUT_TAKEN ||
        effects->outcome == HF_OUT_SPLIT) {
        client->hint = hf_lease_seen(lease) + 1;
    }
    if (effects->outcome == HF_OUT_LOST && lease->phase == HF_PHASE_HOLDING) {
        client->idle_until = later(world, (int64_t)draw(world, 5000));
    }
    if (effects->done) {
        client->is_busy = false;
        client->idle_until = later(world, (int64_t)draw(world, 5000));
    }
}

static void step(struct world *world, struct client *client,
                 struct hf_event event)
{
    struct hf_effects effects;
    struct hf_lease *lease = lease_of(client);
    struct hf_instant round_at = hf_lease_round_at(lease);
    bool was_holding = lease->phase == HF_PHASE_HOLDING;
    struct hf_instant confirmed =
        was_holding ? hf_lease_confirmed(lease) : HF_LONG_AGO;
    event.now = world->now;
    hf_lease_step(lease, &client->nodes, &event, &effects);
    if (was_holding && lease->phase == HF_PHASE_HOLDING) {
        if (hf_lease_round_at(lease).ns != round_at.ns) {
            client->fence_at_round =
                client->is_shared ? world->top_writers : world->top;
        }
        if (hf_lease_confirmed(lease).ns > confirmed.ns) {
            world->report->renewals++;
            if (client->fence_at_round > lease->fence) {
                violate(world, "E1: renewed after a greater fence completed");
            }
        }
    }
    apply(world, client, &effects);
}

static void begin(struct world *world, struct client *client)
{
    client->owner = ++world->owners;
    client->is_busy = true;
    client->floor_at_begin = world->top;
    client->fence_at_round = 0;
    client->is_shared = world->plan->shares && draw(world, 3) != 0;
    hf_lease_init(lease_of(client), world->plan->n_nodes,
                  hf_span_ms(world->plan->ttl_ms), (uint8_t)draw(world, 256));
    step(world, client,
         (struct hf_event){.kind = HF_EV_ACQUIRE,
                           .queues = world->plan->queues && draw(world, 5) != 0,
                           .place_stays = draw(world, 4) == 0,
                           .counter = draw(world, 2) ? client->hint : 0});
}

/* ---- The next event ---------------------------------------------------- */

static void remove_letter(struct wire *wire, unsigned idx)
{
    wire->n--;
    memmove(&wire->letters[idx], &wire->letters[idx + 1],
            (wire->n - idx) * sizeof(wire->letters[0]));
}

/* The connection closes. Each request without a reply is unknown; requests in
 * flight may still arrive. */
static void break_wire(struct world *world, struct client *client,
                       unsigned node)
{
    struct wire *wire = &client->wires[node];
    struct letter cut[WIRE_MAX];
    unsigned n_cut = wire->n;
    memcpy(cut, wire->letters, sizeof(cut));
    for (unsigned i = wire->n; i-- > 0;) {
        if (wire->letters[i].is_answer) {
            remove_letter(wire, i);
        } else {
            wire->letters[i].event.kind = HF_EV_NODE; /* a request from the
                                                         closed connection */
        }
    }
    nodes_set(&client->nodes, node, HF_NODE_STATUS_CONNECTING);
    for (unsigned i = 0; i < n_cut && client->is_busy; i++) {
        if (cut[i].owner == client->owner &&
            cut[i].event.kind == HF_EV_ANSWER) {
            cut[i].event.verdict = HF_VERDICT_UNKNOWN;
            step(world, client, cut[i].event);
        }
    }
    nodes_set(&client->nodes, node, HF_NODE_STATUS_VOTING);
    if (client->is_busy) {
        step(world, client,
             (struct hf_event){.kind = HF_EV_NODE, .node = (uint8_t)node});
    }
}

/* A node pushes a grant to `owner`. It is sent if the owner's client
 * listens. */
struct listener {
    struct world *world;
    unsigned node;
};

static bool push(void *user, uint32_t owner, uint64_t counter)
{
    const struct listener *listener = user;
    struct world *world = listener->world;
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        struct client *client = &world->clients[i];
        uint16_t bit = (uint16_t)(1U << listener->node);
        if (client->owner != owner || (client->nodes.listening & bit) == 0) {
            continue;
        }
        struct letter letter = {
            .is_answer = true,
            .owner = owner,
            .event = {.kind = HF_EV_GRANT,
                      .node = (uint8_t)listener->node,
                      .counter = counter},
        };
        bool is_swallowed = !world->is_calm && draw(world, 40) == 0;
        if (!is_swallowed) {
            post(world, &client->pushes[listener->node], letter);
        }
        return true;
    }
    return false;
}

static void hear(struct world *world, struct client *client, unsigned node,
                 bool is_listening)
{
    nodes_listen(&client->nodes, node, is_listening);
    if (!is_listening) {
        client->pushes[node].n = 0; /* messages in flight are lost */
    }
    if (client->is_busy) {
        step(world, client,
             (struct hf_event){.kind = HF_EV_LISTEN, .node = (uint8_t)node});
    }
}

static void deliver_push(struct world *world, struct client *client,
                         unsigned node)
{
    struct letter letter = client->pushes[node].letters[0];
    remove_letter(&client->pushes[node], 0);
    if (client->is_busy && letter.owner == client->owner) {
        world->report->pushes++;
        step(world, client, letter.event);
    }
}

static void deliver(struct world *world, struct client *client, unsigned node,
                    unsigned idx)
{
    struct wire *wire = &client->wires[node];
    struct letter letter = wire->letters[idx];
    remove_letter(wire, idx);
    if (letter.is_answer) {
        if (client->is_busy && letter.owner == client->owner) {
            step(world, client, letter.event);
        }
        return;
    }
    bool is_ghost = letter.event.kind == HF_EV_NODE;
    if (is_ghost && draw(world, 2) == 0) {
        return;
    }
    struct listener listener = {world, node};
    world->nodes[node].push = push;
    world->nodes[node].user = &listener;
    execute(world, node, &letter);
    if (!is_ghost) {
        letter.is_answer = true;
        post(world, wire, letter);
    }
}

/* The earliest message or timer for a client that is not paused. */
struct next {
    struct hf_instant at;
    struct client *client;
    unsigned node;
    int letter; /* -1: timer or begin; -2: push */
};

static void consider(struct next *next, struct hf_instant at,
                     struct client *client, unsigned node, int letter)
{
    if (hf_instant_before(at, next->at)) {
        *next = (struct next){at, client, node, letter};
    }
}

/* Its user has not released it yet. */
static bool is_lost(struct client *client)
{
    return lease_of(client)->phase == HF_PHASE_HOLDING &&
           lease_of(client)->state == HF_STATE_LOST;
}

static void look_at(struct world *world, struct client *client,
                    struct next *next)
{
    for (unsigned node = 0; node < world->plan->n_nodes; node++) {
        struct wire *wire = &client->wires[node];
        for (unsigned i = 0; i < wire->n; i++) {
            struct hf_instant at = wire->letters[i].at;
            if (wire->letters[i].is_answer) {
                at = hf_instant_max(at, client->resumes);
            }
            consider(next, at, client, node, (int)i);
        }
        if (client->pushes[node].n > 0) {
            consider(next,
                     hf_instant_max(client->pushes[node].letters[0].at,
                                    client->resumes),
                     client, node, -2);
        }
    }
    struct hf_instant timer = client->is_busy && !is_lost(client)
                                  ? hf_lease_wake(lease_of(client))
                                  : client->idle_until;
    bool may_begin = client->is_busy || !world->is_calm;
    if (timer.ns != HF_NEVER.ns && may_begin) {
        consider(next, hf_instant_max(timer, client->resumes), client, 0, -1);
    }
}

static void mischief(struct world *world)
{
    struct client *client =
        &world->clients[draw(world, world->plan->n_clients)];
    if (world->plan->breaks && draw(world, 60) == 0) {
        if (!hf_instant_before(world->now, client->resumes)) {
            break_wire(world, client,
                       (unsigned)draw(world, world->plan->n_nodes));
        }
    }
    if (world->plan->pauses && draw(world, 80) == 0) {
        client->resumes = later(
            world, (int64_t)draw(world, (uint64_t)world->plan->ttl_ms * 2000));
    }
    unsigned node = (unsigned)draw(world, world->plan->n_nodes);
    if (world->plan->breaks && draw(world, 60) == 0 &&
        !hf_instant_before(world->now, client->resumes)) {
        hear(world, client, node, draw(world, 3) != 0);
    }
    if (client->is_busy && draw(world, 12) == 0 &&
        !hf_instant_before(world->now, client->resumes) &&
        lease_of(client)->phase != HF_PHASE_RELEASING) {
        step(world, client, (struct hf_event){.kind = HF_EV_RELEASE});
    }
}

static void check_beliefs(struct world *world)
{
    unsigned believers = 0;
    unsigned sharers = 0;
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        struct client *client = &world->clients[i];
        const struct hf_lease *lease = lease_of(client);
        bool believes = client->is_busy && lease->phase == HF_PHASE_HOLDING &&
                        lease->state != HF_STATE_LOST &&
                        hf_instant_before(world->now, hf_lease_deadline(lease));
        believers += believes;
        sharers += believes && client->is_shared;
    }
    world->report->together += sharers > 1;
    if (believers > 1 && sharers < believers) {
        world->report->overlaps++;
        if (!world->plan->wrong_clocks) {
            violate(world, "C4: two believe that they hold");
        }
    }
}

static void happen(struct world *world)
{
    struct next next = {.at = HF_NEVER};
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        look_at(world, &world->clients[i], &next);
    }
    if (next.client == NULL) {
        violate(world, "nothing can happen any more");
        return;
    }
    world->now = hf_instant_max(world->now, next.at);
    if (next.letter == -2) {
        deliver_push(world, next.client, next.node);
    } else if (next.letter >= 0) {
        deliver(world, next.client, next.node, (unsigned)next.letter);
    } else if (next.client->is_busy) {
        enum hf_event_kind kind =
            is_lost(next.client) ? HF_EV_RELEASE : HF_EV_TIMER;
        step(world, next.client, (struct hf_event){.kind = kind});
    } else {
        begin(world, next.client);
    }
}

static bool is_any_client_busy(const struct world *world)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        if (world->clients[i].is_busy) {
            return true;
        }
    }
    return false;
}

/* No more faults, and each holder releases at once. Every waiter must get the
 * lock within a lease, for the leases of dead clients, and a few queue leases
 * for each client. */
static void settle(struct world *world)
{
    int64_t bound_ms =
        (int64_t)world->plan->ttl_ms * (3 + (int64_t)world->plan->n_clients);
    struct hf_instant end = later(world, bound_ms * 1000);
    world->is_calm = true;
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        world->clients[i].resumes = world->now;
        for (unsigned node = 0; node < world->plan->n_nodes; node++) {
            hear(world, &world->clients[i], node, true);
        }
    }
    while (world->report->violation == NULL && is_any_client_busy(world)) {
        happen(world);
        check_beliefs(world);
        for (unsigned i = 0; i < world->plan->n_clients; i++) {
            struct client *client = &world->clients[i];
            if (client->is_busy &&
                lease_of(client)->phase == HF_PHASE_HOLDING) {
                step(world, client, (struct hf_event){.kind = HF_EV_RELEASE});
            }
        }
        if (!hf_instant_before(world->now, end)) {
            violate(world, "a waiter is not served");
        }
    }
}

void world_run(const struct world_plan *plan, struct world_report *report)
{
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL) {
        abort();
    }
    memset(report, 0, sizeof(*report));
    world->plan = plan;
    world->report = report;
    world->random = plan->seed;
    for (unsigned i = 0; i < plan->n_clients; i++) {
        struct client *client = &world->clients[i];
        hf_nodes_init(&client->nodes, plan->n_nodes, hf_span_ms(50),
                      hf_span_ms(1000));
        for (unsigned node = 0; node < plan->n_nodes; node++) {
            nodes_set(&client->nodes, node, HF_NODE_STATUS_VOTING);
            nodes_listen(&client->nodes, node, true);
        }
        client->idle_until = later(world, (int64_t)draw(world, 5000));
    }
    for (unsigned i = 0; i < plan->n_nodes; i++) {
        world->skew_us[i] = draw(world, 5000);
    }
    for (unsigned i = 0; i < plan->events && report->violation == NULL; i++) {
        happen(world);
        mischief(world);
        check_beliefs(world);
    }
    settle(world);
    free(world);
}
