/* SPDX-License-Identifier: Apache-2.0 */
/* THE ORACLES: their claims are in ordered_world.h
 *
 * They compare the answers that a client got with the state of the store. Those
 * of marks are in once_marks.c, those of values in judge_values.c. */
#include "parts.h"

/* Milliseconds. In calm, a session is renewed each third of a ttl, and twice
 * that is enough to find and remove a stranger. */
#define ORPHAN_MS 4000

/* Milliseconds. Eight times a message of at most 3 ms, and some more. */
#define TURN_MS 100

/* The same, in calm: no request is under way for so long. */
#define ANSWER_MS 10000

static bool excludes(enum hf_mode a, enum hf_mode b, bool has_same_terms)
{
    return a != HF_SHARED || b != HF_SHARED || !has_same_terms;
}

/* ---- EXCLUSION ----------------------------------------------------------- */

static void judge_exclusion(struct world *world, const struct slot *slot)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        for (unsigned j = 0; j < SLOTS_MAX; j++) {
            const struct slot *other = &world->clients[i].slots[j];
            if (other == slot || other->name != slot->name ||
                !hf_instant_before(world->now, other->until)) {
                continue;
            }
            bool is_excused = other->is_revoked || slot->is_revoked;
            bool is_same = slot->permits == other->permits;
            if (excludes(slot->mode, other->mode, is_same) && !is_excused) {
                violate(world, "EXCLUSION: two believe that they hold");
            }
            world->report->shared +=
                slot->mode == HF_SHARED && other->mode == HF_SHARED;
        }
    }
}

/* ---- PROOF and DEADLINE -------------------------------------------------- */

static void judge_entry(struct world *world, const struct hf_answer *answer,
                        const struct entry *entry)
{
    const struct session *session = &world->server.sessions[entry->session];
    if (hf_instant_before(session->proven, answer->sent)) {
        /* It was moved while the answer was under way. */
        session = &world->server.sessions[entry->before];
    }
    if (hf_instant_before(session->proven, answer->sent)) {
        violate(world, answer->sent.ns == session->untrue.ns
                           ? "PROOF: the session had ended before the renewal"
                           : "DEADLINE: counted from after its renewal");
    }
    /* Of several renewals the latest counts: then this one was before it. */
    bool is_last = answer->sent.ns == session->proven.ns;
    if (answer->verb == HF_VERB_CONFIRM && !entry->is_live && is_last &&
        hf_instant_before(entry->ended, session->renewed)) {
        violate(world, "PROOF: the entry had ended before the renewal");
    }
}

void judge_ok(struct client *client, struct slot *slot,
              const struct hf_answer *answer, struct hf_instant asked)
{
    struct world *world = client->world;
    const struct entry *entry =
        server_entry(world, slot->attempt, answer->counter);
    if (entry == NULL) {
        violate(world, "PROOF: no such entry has ever been");
        return;
    }
    if (hf_instant_before(answer->sent, asked) ||
        hf_instant_before(world->now, answer->sent)) {
        violate(world, "DEADLINE: not between request and answer");
    }
    judge_entry(world, answer, entry);
    if (answer->verb == HF_VERB_CONFIRM && slot->number != 0 &&
        slot->number != answer->counter) {
        violate(world, "PROOF: another entry than that which was granted");
    }
    struct hf_instant until =
        hf_instant_add(answer->sent, hf_span_ms(slot->ttl_ms));
    if (hf_instant_before(world->now, until)) { /* else it came too late */
        judge_exclusion(world, slot);
    }
}

/* ---- FENCE --------------------------------------------------------------- */

static void judge_queue(struct world *world, const struct slot *slot)
{
    for (unsigned i = world->server.first_live; i < world->server.n_entries;
         i++) {
        const struct entry *entry = &world->server.entries[i];
        if (entry->is_live && entry->name == slot->name &&
            entry->number < slot->number &&
            excludes(entry->mode, slot->mode,
                     entry->permits == slot->permits)) {
            violate(world, "FENCE: an earlier entry was passed over");
        }
    }
}

void judge_grant(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    world->report->grants += !slot->is_keeper;
    if (slot->is_revoked) {
        return;
    }
    judge_queue(world, slot);
    for (unsigned i = 0; i < world->n_grants; i++) {
        const struct grant *grant = &world->grants[i];
        if (grant->name == slot->name && grant->number >= slot->number &&
            excludes(grant->mode, slot->mode,
                     grant->permits == slot->permits)) {
            violate(world, "FENCE: a later holder with a smaller counter");
        }
    }
    if (world->n_grants < GRANTS_MAX) {
        world->grants[world->n_grants++] =
            (struct grant){slot->name, slot->mode, slot->permits, slot->number};
    }
    if (slot->name < NAMES &&
        hf_instant_before(world->now, world->reserved[slot->name])) {
        violate(world, "RESERVED: a name that is reserved is held");
    }
}

/* ---- KEPT ---------------------------------------------------------------- */

void judge_loss(struct client *client, struct slot *slot)
{
    if (!slot->is_revoked && !slot->is_broken && slot->stage == STAGE_HOLDING &&
        hf_instant_before(client->world->now, slot->until)) {
        violate(client->world, "KEPT: a lock was lost before its time");
    }
}

/* ---- LOSS ---------------------------------------------------------------- */

/* Does its client know by a watch? Not of a lock that it was only given. */
static bool is_watched(struct client *client, const struct slot *slot)
{
    char letter = (char)('a' + slot->name);
    const struct hf_ordered_name *name =
        hf_ordered_name_find(&client->ordered, &letter, 1);
    const struct hf_ordered_seat *seat = name == NULL ? NULL : name->seats;
    while (seat != NULL &&
           (seat->state != HF_ORDERED_HELD || seat->number != slot->number)) {
        seat = seat->next;
    }
    return seat != NULL && name->watch != NULL && name->watched == 0;
}

void judge_revoked(struct client *client, struct slot *slot)
{
    const struct world *world = client->world;
    if (!world->is_slow && slot->stage == STAGE_HOLDING &&
        is_watched(client, slot)) {
        slot->must_lose = true;
        slot->lose_by = hf_instant_add(world->now, hf_span_ms(TURN_MS));
    }
}

/* Its CONFIRM was to open that session, and is repeated after a while. */
static bool is_repeating(const struct client *client, const struct slot *slot)
{
    struct hf_instant since =
        hf_instant_sub(slot->lose_by, hf_span_ms(3 * TURN_MS));
    return hf_instant_before(since, client->shortened);
}

void judge_losses(struct world *world)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        for (unsigned j = 0; j < SLOTS_MAX; j++) {
            const struct slot *slot = &world->clients[i].slots[j];
            if (slot->must_lose && slot->stage == STAGE_HOLDING &&
                hf_instant_before(slot->lose_by, world->now) &&
                !is_repeating(&world->clients[i], slot)) {
                violate(world, "LOSS: a watch did not tell a holder of it");
            }
        }
    }
}

/* ---- TRY ----------------------------------------------------------------- */

void judge_refused_try(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    world->report->refusals++;
    world->is_refused[slot->attempt] = true; /* server.c: none is created */
    for (unsigned i = world->server.first_live; i < world->server.n_entries;
         i++) {
        const struct entry *entry = &world->server.entries[i];
        if (entry->is_live && entry->attempt == slot->attempt) {
            violate(world, "TRY: a refused try has left its entry");
        }
    }
}

/* ---- HERD ---------------------------------------------------------------- */

void judge_wake(struct client *client)
{
    struct end *end = client->world->hearing;
    if (end == NULL) {
        return;
    }
    client->world->report->wakes++;
    end->has_woken |= 1U << client->index;
    if ((end->has_woken & ~end->may_wake) != 0) {
        violate(client->world, "HERD: an end that it does not wait for");
    }
}

/* A waiter alone in its client, and behind another client's entry: it is told
 * of no other end. */
void judge_watch(struct client *client, const struct hf_ordered_name *name,
                 const struct hf_wire_watched *scope)
{
    const struct hf_ordered_seat *seat = name->seats;
    const struct server *server = &client->world->server;
    bool is_live = false;
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        is_live |= server->entries[i].is_live &&
                   server->entries[i].number == seat->behind;
    }
    if (is_live && seat->next == NULL && seat->state == HF_ORDERED_WAITING &&
        scope->number != seat->behind) {
        violate(client->world, "HERD: it is told of ends of other entries");
    }
}

/* ---- LIVE ---------------------------------------------------------------- */

static bool is_waiting(const struct client *client, uint32_t attempt)
{
    bool is_waiting = false;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        is_waiting |= client->slots[i].attempt == attempt &&
                      client->slots[i].stage == STAGE_WAITING;
    }
    return is_waiting;
}

void judge_turns(struct world *world)
{
    struct hf_instant since = hf_instant_sub(world->now, hf_span_ms(TURN_MS));
    const struct server *server = &world->server;
    for (unsigned i = server->first_live;
         i < server->n_entries && !world->is_faulty; i++) {
        const struct entry *entry = &server->entries[i];
        unsigned client = server->sessions[entry->session].client;
        if (entry->is_live && hf_instant_before(entry->turn, since) &&
            is_waiting(&world->clients[client], entry->attempt)) {
            violate(world, "LIVE: a waiter does not see that it is its turn");
        }
    }
}

/* ---- ONCE ---------------------------------------------------------------- */

static bool is_overdue(const struct world *world, const struct request *request)
{
    struct hf_instant due =
        hf_instant_add(request->asked, hf_span_ms(ANSWER_MS));
    return request->cookie != 0 && hf_instant_before(due, world->now);
}

void judge_answers(struct world *world)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        for (unsigned j = 0; j < SLOTS_MAX; j++) {
            const struct slot *slot = &world->clients[i].slots[j];
            if (is_overdue(world, &slot->acquire) ||
                is_overdue(world, &slot->confirm) ||
                is_overdue(world, &slot->release)) {
                violate(world, "ONCE: a request is not answered");
            }
        }
        for (unsigned j = 0; j < WRITERS; j++) {
            if (is_overdue(world, &world->clients[i].writers[j].request)) {
                violate(world, "ONCE: a GET or PUT is not answered");
            }
        }
    }
}

/* ---- ORPHAN -------------------------------------------------------------- */

void judge_orphans(struct world *world, bool are_none_allowed)
{
    struct hf_instant since = hf_instant_sub(world->now, hf_span_ms(ORPHAN_MS));
    for (unsigned i = world->server.first_live; i < world->server.n_entries;
         i++) {
        const struct entry *entry = &world->server.entries[i];
        if (entry->is_live && are_none_allowed) {
            violate(world, "ORPHAN: an entry when all sessions have ended");
        } else if (entry->is_live && world->is_over[entry->attempt] &&
                   hf_instant_before(entry->created, since)) {
            violate(world, "ORPHAN: an entry of an attempt that is over");
        }
    }
}
