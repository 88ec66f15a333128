/* SPDX-License-Identifier: Apache-2.0 */
/* TIME, FAULTS, THE ORDER OF EVENTS */
#include "ordered_world.h"
#include "parts.h"

#include <stdlib.h>
#include <string.h>

/* In calm, in milliseconds: the longest ttl is 3 s, and a session lives for
 * twice that. */
#define SERVE_MS 60000
#define CLEAN_MS 12000
#define END_MS 20000

/* Time goes on by so many microseconds when nothing is due. */
#define IDLE_US 10000000

uint64_t draw(struct world *world, uint64_t below)
{
    world->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = world->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

struct hf_instant later_us(const struct world *world, uint64_t us)
{
    return hf_instant_add(world->now, hf_span_us((int64_t)us));
}

void violate(struct world *world, const char *what)
{
    if (world->report->violation == NULL) {
        world->report->violation = what;
        world->report->violated_ms = (uint64_t)(world->now.ns / 1000000);
    }
}

/* ---- Requests without a connection --------------------------------------- */

static struct hf_instant next_ghost(const struct world *world)
{
    struct hf_instant next = HF_NEVER;
    for (const struct letter *ghost = world->ghosts; ghost != NULL;
         ghost = ghost->next) {
        next = hf_instant_min(next, ghost->at);
    }
    return next;
}

static void land_late(struct world *world)
{
    for (struct letter **at = &world->ghosts; *at != NULL;) {
        struct letter *ghost = *at;
        if (hf_instant_before(world->now, ghost->at)) {
            at = &ghost->next;
            continue;
        }
        *at = ghost->next;
        server_execute(world, ghost);
        world->report->late++;
        free(ghost);
    }
}

/* ---- The next event ------------------------------------------------------ */

static struct hf_instant next_of(const struct client *client)
{
    struct hf_instant next =
        hf_instant_min(contender_next(client), wire_next(client));
    next = hf_instant_min(next, force_next(client));
    next = hf_instant_min(next, marker_next(client));
    return hf_instant_min(next, writer_next(client));
}

static void happen(struct world *world)
{
    struct hf_instant next =
        hf_instant_min(server_next(world), next_ghost(world));
    struct client *first = NULL;
    next = hf_instant_min(next, later_us(world, IDLE_US));
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        struct hf_instant at = next_of(&world->clients[i]);
        if (hf_instant_before(at, next)) {
            next = at;
            first = &world->clients[i];
        }
    }
    world->now = hf_instant_max(world->now, next);
    if (first == NULL) {
        server_expire(world);
        land_late(world);
    } else if (hf_instant_before(world->now, wire_next(first))) {
        contender_step(first);
        force_step(first);
        marker_step(first);
        writer_step(first);
    } else {
        wire_step(first);
    }
    judge_turns(world);
    judge_losses(world);
}

/* ---- Faults -------------------------------------------------------------- */

static void revoke(struct world *world)
{
    struct server *server = &world->server;
    unsigned session = (unsigned)draw(world, server->n_sessions);
    if (!server->sessions[session].is_alive) {
        return;
    }
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];
        if (entry->is_live && entry->session == session) {
            slot_disown(world, entry->attempt);
            if (entry->is_ended) {
                world->reserved[entry->name] = HF_LONG_AGO;
            }
            world->report->revokes++;
        }
    }
    marks_revoked(world, session);
    server_end_session(world, session);
}

static bool is_writing(const struct client *client)
{
    const struct letter *letter = client->wire.letters;
    while (letter != NULL && letter->kind != KIND_VALUE_WRITE) {
        letter = letter->next;
    }
    return letter != NULL;
}

/* And another one begins. */
static void die(struct client *client)
{
    writer_die(client);
    wire_die(client);
    hf_ordered_fini(&client->ordered);
    memset(&client->ordered, 0, sizeof(client->ordered));
    machine_open(client);
    client->world->report->deaths++;
}

static void mischief(struct world *world)
{
    const struct world_plan *plan = world->plan;
    struct client *client = &world->clients[draw(world, plan->n_clients)];
    bool is_awake = !hf_instant_before(world->now, client->resumes);
    uint64_t rate = is_writing(client) ? 15 : 100;
    if (plan->breaks && draw(world, rate) == 0 && is_awake &&
        client->wire.is_up) {
        wire_break(client);
    }
    if (plan->pauses && draw(world, 150) == 0 && is_awake) {
        bool is_long = draw(world, 4) == 0;
        client->resumes =
            later_us(world, draw(world, is_long ? 7000000 : 500000));
    }
    if (plan->revokes && draw(world, 100) == 0 &&
        world->server.n_sessions > 0) {
        revoke(world);
    }
    if (plan->deaf && draw(world, 60) == 0 && is_awake) {
        wire_cancel_watch(client);
    }
    if (plan->dies && draw(world, 400) == 0 && is_awake) {
        die(client);
    }
    if (draw(world, 400) == 0) {
        server_elect(world);
    }
}

/* ---- The end ------------------------------------------------------------- */

static bool is_idle(const struct world *world)
{
    bool is_idle = true;
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        is_idle &= contender_is_idle(&world->clients[i]) &&
                   force_is_idle(&world->clients[i]) &&
                   marker_is_idle(&world->clients[i]) &&
                   writer_is_idle(&world->clients[i]);
    }
    return is_idle;
}

static void run_until(struct world *world, struct hf_instant end)
{
    while (world->report->violation == NULL &&
           hf_instant_before(world->now, end)) {
        happen(world);
    }
}

static void serve_all(struct world *world)
{
    struct hf_instant clean = hf_instant_add(world->now, hf_span_ms(CLEAN_MS));
    struct hf_instant end = hf_instant_add(world->now, hf_span_ms(SERVE_MS));
    while (world->report->violation == NULL && !is_idle(world)) {
        happen(world);
        if (hf_instant_before(clean, world->now)) {
            judge_orphans(world, false);
        }
        if (hf_instant_before(end, world->now)) {
            judge_answers(world);
            violate(world, "LIVE: a waiter is not granted the lock");
        }
    }
}

static void calm_down(struct world *world)
{
    world->is_calm = true;
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        struct client *client = &world->clients[i];
        client->resumes = hf_instant_min(client->resumes, world->now);
        client->wire.up_at = hf_instant_min(client->wire.up_at, world->now);
        client->wire.behind_until =
            hf_instant_min(client->wire.behind_until, world->now);
    }
    serve_all(world);
    run_until(world, hf_instant_add(world->now, hf_span_ms(CLEAN_MS)));
    judge_orphans(world, false);
    world->is_closing = true;
    serve_all(world);
    run_until(world, hf_instant_add(world->now, hf_span_ms(END_MS)));
    judge_orphans(world, true);
    judge_count(world);
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
    world->server.term = 1;
    for (unsigned i = 0; i < NAMES; i++) {
        world->reserved[i] = HF_LONG_AGO;
    }
    world->is_slow = plan->breaks || plan->pauses || plan->deaf;
    world->is_faulty = world->is_slow || plan->revokes;
    for (unsigned i = 0; i < plan->n_clients; i++) {
        struct client *client = &world->clients[i];
        client->world = world;
        client->index = i;
        client->shortened = HF_LONG_AGO;
        client->wire = (struct hf_wire){
            .world = world, .client = i, .behind_until = HF_LONG_AGO};
        machine_open(client);
        contender_open(client);
        if (plan->values) {
            writer_open(client);
        }
    }
    for (unsigned i = 0; i < plan->events && report->violation == NULL; i++) {
        happen(world);
        mischief(world);
    }
    calm_down(world);
    for (unsigned i = 0; i < plan->n_clients; i++) {
        wire_free(&world->clients[i]);
        hf_ordered_fini(&world->clients[i].ordered);
    }
    while (world->ghosts != NULL) {
        struct letter *ghost = world->ghosts;
        world->ghosts = ghost->next;
        free(ghost);
    }
    free(world);
}
