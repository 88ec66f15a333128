/* SPDX-License-Identifier: Apache-2.0 */
/* ATTEMPTS OF CLIENTS
 *
 * Each asks as the client of src/client does: one ACQUIRE at a time with one
 * owner, again as a heartbeat while it waits; CONFIRM at a pushed grant and
 * each third of the ttl; RELEASE until it is answered, or the ttl is over.
 *
 *   IDLE ─ACQUIRE─▶ ASKING ─QUEUED─▶ WAITING ─OK─▶ HOLDING ─▶ OVER ─▶ IDLE
 *
 * The keepers hold names of their own for as long as they can. So the sessions
 * of the others are renewed, and nothing disappears by itself. */
#include "parts.h"

#include "core/validity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds: longer than each session that is shared. */
#define LONG_TTL_MS 4000

/* Milliseconds: no longer than any session, for a lock that is adopted. */
#define SHORT_TTL_MS 2000

static bool is_pending(const struct slot *slot)
{
    return slot->acquire.cookie != 0 || slot->confirm.cookie != 0 ||
           slot->release.cookie != 0;
}

static struct hf_instant third(const struct world *world,
                               const struct slot *slot)
{
    return hf_instant_add(world->now, hf_span_ms(slot->ttl_ms / 3));
}

/* ---- Asking -------------------------------------------------------------- */

void send_ask(struct client *client, struct hf_ask *ask, uint32_t attempt,
              unsigned name_index, struct request *request)
{
    struct world *world = client->world;
    char owner[OWNER_LEN + 1];
    char name = (char)('a' + name_index);
    snprintf(owner, sizeof(owner), "%032x:", attempt);
    *request = (struct request){++world->cookies, world->now};
    ask->cookie = request->cookie;
    ask->name = &name;
    ask->name_len = 1;
    ask->owner = owner;
    ask->owner_len = OWNER_LEN;
    hf_ordered_ask(&client->ordered, ask, world->now);
}

static void send(struct client *client, struct slot *slot, enum hf_verb verb,
                 struct request *request)
{
    struct hf_ask ask = {
        .verb = verb,
        .reacquires = slot->stage == STAGE_HOLDING,
        .detaches = verb == HF_VERB_CONFIRM && slot->is_leaving,
        .ttl_ms = verb == HF_VERB_RELEASE ? slot->reserve_ms : slot->ttl_ms,
        .counter = verb == HF_VERB_CONFIRM ? slot->number : 0,
        .is_shared = slot->mode == HF_SHARED,
        .permits = slot->permits,
        .queue_ms = slot->waits ? hf_span_ms_floor(hf_queue_lease(
                                      hf_span_ms(slot->ttl_ms), true))
                                : 0,
    };
    send_ask(client, &ask, slot->attempt, slot->name, request);
}

static void acquire(struct client *client, struct slot *slot)
{
    slot->timer = third(client->world, slot);
    slot->cookie = client->world->cookies + 1;
    send(client, slot, HF_VERB_ACQUIRE, &slot->acquire);
}

/* Now and then a lock leaves this client, or gets a longer lease. */
static void draw_hand(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    bool may_go = world->plan->hands && !world->is_calm && !slot->is_keeper &&
                  slot->stage == STAGE_HOLDING && slot->acquire.cookie == 0;
    slot->is_leaving = may_go && draw(world, 4) == 0;
    if (may_go && !slot->is_leaving && draw(world, 8) == 0) {
        slot->ttl_ms = LONG_TTL_MS;
        world->report->longer++;
    }
}

static void confirm(struct client *client, struct slot *slot)
{
    draw_hand(client, slot);
    slot->timer = third(client->world, slot);
    slot->cookie = client->world->cookies + 1;
    send(client, slot, HF_VERB_CONFIRM, &slot->confirm);
}

static void begin(struct client *client, struct slot *slot)
{
    static const int64_t ttls[] = {2000, 3000, 2500};
    struct world *world = client->world;
    unsigned index = (unsigned)(slot - client->slots);
    if (++world->attempts == ENTRIES_MAX) {
        abort();
    }
    *slot = (struct slot){
        .attempt = world->attempts,
        .stage = STAGE_ASKING,
        .name = world->plan->crowds ? 0 : (unsigned)draw(world, NAMES),
        .mode = draw(world, 3) == 0 ? HF_SHARED : HF_EXCLUSIVE,
        .permits = 0,
        .waits = draw(world, 4) != 0,
        .ttl_ms = ttls[draw(world, 3)],
        .until = HF_LONG_AGO,
        .ends = HF_NEVER,
    };
    if (slot->mode == HF_SHARED && draw(world, 4) == 0) {
        slot->permits = 2;
    }
    if (index < KEEPERS) {
        slot->permits = 0;
        slot->name = NAMES + client->index * KEEPERS + index;
        slot->is_keeper = true;
        slot->mode = HF_EXCLUSIVE;
        slot->waits = true;
        slot->ttl_ms = ttls[index];
    } else if (draw(world, 6) == 0) { /* it gives up */
        slot->ends = later_us(world, draw(world, 3000000));
    }
    acquire(client, slot);
}

static void release(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    if (slot->stage != STAGE_OVER) {
        bool reserves = world->plan->hands && slot->stage == STAGE_HOLDING &&
                        slot->mode != HF_SHARED && !slot->is_keeper &&
                        !world->is_calm && draw(world, 8) == 0;
        slot->reserve_ms = reserves ? 1000 + (int64_t)draw(world, 1000) : 0;
        slot->stage = STAGE_OVER;
        slot->over = world->now;
        slot->until = HF_LONG_AGO;
    }
    slot->timer = third(world, slot);
    send(client, slot, HF_VERB_RELEASE, &slot->release);
}

static void end(struct world *world, struct slot *slot)
{
    world->is_over[slot->attempt] = true;
    slot->stage = STAGE_IDLE;
    slot->until = HF_LONG_AGO;
    slot->timer = later_us(world, draw(world, 400000));
}

/* ---- Due events ---------------------------------------------------------- */

static bool must_end(const struct world *world, const struct slot *slot)
{
    bool is_lost = slot->stage == STAGE_HOLDING &&
                   !hf_instant_before(world->now, slot->until);
    bool is_last =
        world->is_calm &&
        (slot->is_keeper ? world->is_closing : slot->stage == STAGE_HOLDING);
    return is_lost || is_last || !hf_instant_before(world->now, slot->ends);
}

static void act(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    slot->timer = third(world, slot);
    switch (slot->stage) {
    case STAGE_IDLE:
        if (!is_pending(slot) &&
            (slot->is_keeper ? !world->is_closing : !world->is_calm)) {
            begin(client, slot);
        }
        return;
    case STAGE_OVER:
        if (slot->release.cookie == 0) {
            release(client, slot);
        }
        return;
    case STAGE_ASKING:
    case STAGE_WAITING:
        if (must_end(world, slot)) {
            release(client, slot);
        } else if (slot->acquire.cookie == 0 && slot->confirm.cookie == 0) {
            acquire(client, slot);
        }
        return;
    case STAGE_HOLDING:
        if (must_end(world, slot)) {
            release(client, slot);
        } else if (slot->confirm.cookie == 0) {
            confirm(client, slot);
        }
        return;
    }
}

static struct hf_instant due_of(const struct slot *slot)
{
    struct hf_instant due = slot->timer;
    bool may_end = slot->stage != STAGE_IDLE && slot->stage != STAGE_OVER;
    if (may_end) {
        due = hf_instant_min(due, slot->ends);
    }
    if (slot->stage == STAGE_HOLDING) {
        due = hf_instant_min(due, slot->until);
    }
    return due;
}

struct hf_instant contender_next(const struct client *client)
{
    struct hf_instant next = HF_NEVER;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        next = hf_instant_min(next, due_of(&client->slots[i]));
    }
    return hf_instant_max(next, client->resumes);
}

static void flush(struct client *client)
{
    hf_ordered_flush(&client->ordered, client->world->now);
    hf_ordered_check(&client->ordered);
}

void contender_step(struct client *client)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        if (!hf_instant_before(client->world->now, due_of(&client->slots[i]))) {
            act(client, &client->slots[i]);
        }
    }
    flush(client);
}

/* ---- Handing on ---------------------------------------------------------- */

static struct slot *free_slot(struct world *world, struct client **client)
{
    *client = &world->clients[draw(world, world->plan->n_clients)];
    for (unsigned i = KEEPERS; i < SLOTS_MAX; i++) {
        struct slot *slot = &(*client)->slots[i];
        if (slot->stage == STAGE_IDLE && !is_pending(slot)) {
            return slot;
        }
    }
    return NULL;
}

/* It is detached: another client has its text, adopts it or releases it. Its
 * holder goes on until the end of its lease. */
static void hand_on(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    struct client *other;
    struct slot *to = free_slot(world, &other);
    if (to == NULL) {
        to = slot; /* the same client */
        other = client;
    }
    *to = *slot;
    to->is_leaving = false;
    if (world->plan->shortens && draw(world, 2) == 0) {
        to->ttl_ms = SHORT_TTL_MS;
    }
    to->must_lose = false; /* its client is not told any more */
    to->ends =
        hf_instant_min(slot->ends, later_us(world, draw(world, 3000000)));
    to->timer = later_us(world, draw(world, 1000000));
    if (draw(world, 4) == 0) {
        to->ends = to->timer;
    }
    world->report->handed++;
    if (to != slot) {
        *slot = (struct slot){.ttl_ms = slot->ttl_ms,
                              .until = HF_LONG_AGO,
                              .ends = HF_NEVER,
                              .timer = later_us(world, draw(world, 400000))};
    }
    (void)other;
}

/* ---- Answers ------------------------------------------------------------- */

/* From inside of the answer, or by the timer. */
static void go_on(struct client *client, struct slot *slot)
{
    struct world *world = client->world;
    slot->timer = later_us(world, draw(world, 2) == 0 ? 0 : draw(world, 30000));
    if (world->is_dispatching && draw(world, 3) == 0) {
        act(client, slot);
        hf_ordered_flush(&client->ordered, world->now);
    }
}

static void take_ok(struct client *client, struct slot *slot,
                    const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct hf_instant until =
        hf_instant_add(answer->sent, hf_span_ms(slot->ttl_ms));
    if (slot->stage == STAGE_OVER || slot->stage == STAGE_IDLE) {
        return;
    }
    slot->number = answer->counter;
    slot->has_doubt = true;
    if (!hf_instant_before(world->now, until)) {
        go_on(client, slot); /* it came too late */
        return;
    }
    slot->until = hf_instant_max(slot->until, until);
    slot->timer = third(world, slot);
    if (answer->verb == HF_VERB_CONFIRM && slot->is_leaving) {
        hand_on(client, slot);
        return;
    }
    if (slot->stage != STAGE_HOLDING) {
        slot->stage = STAGE_HOLDING;
        judge_grant(client, slot);
        if (!slot->is_keeper) {
            slot->ends = later_us(
                world, draw(world, draw(world, 4) == 0 ? 5000000 : 300000));
        }
    }
}

static void take_acquire(struct client *client, struct slot *slot,
                         const struct hf_answer *answer)
{
    if (slot->stage != STAGE_ASKING && slot->stage != STAGE_WAITING) {
        return;
    }
    if (answer->verdict == HF_VERDICT_QUEUED) {
        if (!slot->waits) {
            violate(client->world, "TRY: it was queued");
        }
        client->world->report->waits++;
        slot->has_doubt = true;
        slot->stage = STAGE_WAITING;
        slot->timer = third(client->world, slot);
        return;
    }
    if (answer->verdict == HF_VERDICT_REFUSED) {
        if (slot->waits) {
            violate(client->world, "LIVE: a waiter was refused");
        }
        judge_refused_try(client, slot);
        end(client->world, slot);
        return;
    }
    slot->has_doubt |= answer->verdict != HF_VERDICT_UNSENT;
    if (!slot->has_doubt && !slot->waits) {
        end(client->world, slot);
    } else if (!slot->waits || draw(client->world, 4) == 0) {
        slot->ends = slot->is_keeper ? HF_NEVER : client->world->now;
        go_on(client, slot);
    } else {
        slot->timer = later_us(client->world, draw(client->world, 100000));
    }
}

static void take_confirm(struct client *client, struct slot *slot,
                         const struct hf_answer *answer)
{
    if (slot->stage == STAGE_OVER || slot->stage == STAGE_IDLE) {
        return;
    }
    if (answer->verdict == HF_VERDICT_REFUSED) {
        client->world->report->losses++;
        judge_loss(client, slot);
        slot->ends = client->world->now;
        slot->until = HF_LONG_AGO;
        go_on(client, slot);
    } else {
        slot->timer = later_us(client->world, draw(client->world, 100000));
    }
}

/* Unless it was removed while the answer was under way. */
static void note_reserved(struct world *world, const struct slot *slot)
{
    const struct entry *entry =
        server_entry(world, slot->attempt, slot->number);
    if (slot->reserve_ms > 0 && entry != NULL && entry->is_live &&
        entry->is_ended) {
        world->report->reserved++;
        world->reserved[slot->name] =
            hf_instant_add(slot->over, hf_span_ms(slot->reserve_ms));
    }
}

static void take_release(struct client *client, struct slot *slot,
                         const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct hf_instant patience =
        hf_instant_add(slot->over, hf_span_ms(slot->ttl_ms));
    bool is_done = answer->verdict == HF_VERDICT_OK ||
                   answer->verdict == HF_VERDICT_REFUSED;
    if (answer->verdict == HF_VERDICT_OK) {
        note_reserved(world, slot);
    }
    if (is_done || hf_instant_before(patience, world->now)) {
        end(world, slot);
    } else {
        slot->timer = later_us(world, 10000 + draw(world, 200000));
    }
}

static struct slot *slot_of(struct client *client,
                            const struct hf_answer *answer, struct request *out)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        struct slot *slot = &client->slots[i];
        struct request *request =
            answer->verb == HF_VERB_ACQUIRE   ? &slot->acquire
            : answer->verb == HF_VERB_CONFIRM ? &slot->confirm
                                              : &slot->release;
        if (request->cookie == answer->cookie && answer->cookie != 0) {
            *out = *request;
            request->cookie = 0;
            return slot;
        }
    }
    return NULL;
}

static void on_answer(void *user, const struct hf_answer *answer)
{
    struct client *client = user;
    struct request request;
    if (force_answer(client, answer) || marker_answer(client, answer) ||
        writer_answer(client, answer)) {
        return;
    }
    struct slot *slot = slot_of(client, answer, &request);
    if (slot == NULL) {
        violate(client->world, "ONCE: an answer without a request");
        return;
    }
    bool is_ok = answer->verdict == HF_VERDICT_OK;
    if (is_ok && answer->verb != HF_VERB_RELEASE) {
        client->world->report->renewals += answer->verb == HF_VERB_CONFIRM;
        if (slot->stage != STAGE_OVER && slot->stage != STAGE_IDLE) {
            judge_ok(client, slot, answer, request.asked);
        }
        take_ok(client, slot, answer);
    } else if (answer->verb == HF_VERB_ACQUIRE) {
        take_acquire(client, slot, answer);
    } else if (answer->verb == HF_VERB_CONFIRM) {
        take_confirm(client, slot, answer);
    } else {
        take_release(client, slot, answer);
    }
}

static void on_push(void *user, unsigned node, uint64_t cookie,
                    uint64_t counter)
{
    struct client *client = user;
    (void)node;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        struct slot *slot = &client->slots[i];
        if (slot->cookie == cookie && counter == 0) {
            client->world->report->doubts++;
            client->world->hearing = NULL; /* it may list, to move its entry */
            if (slot->stage == STAGE_HOLDING && slot->confirm.cookie == 0) {
                confirm(client, slot);
            }
        } else if (slot->cookie == cookie && slot->stage == STAGE_WAITING) {
            client->world->report->pushes++;
            slot->number = counter;
            if (slot->confirm.cookie == 0) {
                confirm(client, slot);
            }
            slot->timer = client->world->now;
        }
    }
    hf_ordered_flush(&client->ordered, client->world->now);
}

static void on_status(void *user, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    (void)user;
    (void)node;
    (void)status;
    (void)is_reset;
    (void)fault;
    (void)reason;
}

static void on_listen(void *user, unsigned node, bool is_listening)
{
    (void)user;
    (void)node;
    (void)is_listening;
}

/* ---- Life ---------------------------------------------------------------- */

void machine_open(struct client *client)
{
    static const struct hf_store_ops ops = {.name = "ordered"};
    static const uint32_t listed[] = {0, 1, HF_ORDERED_LISTED_EACH,
                                      HF_ORDERED_LISTED_EACH,
                                      HF_ORDERED_LISTED_EACH};
    struct hf_store_env env = {.client = client,
                               .answer = on_answer,
                               .status = on_status,
                               .push = on_push,
                               .listen = on_listen};
    client->wire_ops = sim_wire_ops;
    client->wire_ops.keeps_tombstones = client->world->plan->stays;
    if (!client->world->plan->stays) {
        client->wire_ops.marks = NULL;
    }
    hf_ordered_init(&client->ordered, &ops, &client->wire, &client->wire_ops,
                    &env);
    client->ordered.sweep_after_ms = 0; /* runs last seconds */
    /* Queues are short. Of 0, no heartbeat lists unless something changed. */
    client->ordered.listed_each = listed[client->world->plan->seed % 5];
}

void contender_open(struct client *client)
{
    struct world *world = client->world;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        client->slots[i].until = HF_LONG_AGO;
        client->slots[i].is_keeper = i < KEEPERS;
        client->slots[i].timer = world->plan->values
                                     ? HF_NEVER
                                     : later_us(world, draw(world, 500000));
        client->slots[i].ends = HF_NEVER;
    }
}

bool contender_is_idle(const struct client *client)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        const struct slot *slot = &client->slots[i];
        bool may_go_on = slot->is_keeper && !client->world->is_closing;
        if (!may_go_on && (slot->stage != STAGE_IDLE || is_pending(slot))) {
            return false;
        }
    }
    return true;
}

static void each_slot_of(struct world *world, uint32_t attempt, bool is_revoked)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        for (unsigned j = 0; j < SLOTS_MAX; j++) {
            struct slot *slot = &world->clients[i].slots[j];
            if (slot->attempt == attempt && is_revoked) {
                slot->is_revoked = true;
                judge_revoked(&world->clients[i], slot);
            } else if (slot->attempt == attempt) {
                slot->is_broken = true;
            }
        }
    }
}

void slot_disown(struct world *world, uint32_t attempt)
{
    each_slot_of(world, attempt, true);
}

void slot_break(struct world *world, uint32_t attempt)
{
    each_slot_of(world, attempt, false);
}
