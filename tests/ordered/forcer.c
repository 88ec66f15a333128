/* SPDX-License-Identifier: Apache-2.0 */
/* BREAKS
 *
 * As src/client/break.c does it: BREAK; wait for the lease that it found; then
 * RELEASE with the breaker's owner. Or give it back before. Or BREAK with
 * --now, which frees it at once.
 *
 *   IDLE ─BREAK─▶ TAKING ─▶ TAKEN ─RELEASE─▶ FREEING ─▶ IDLE
 *                              └───BREAK────▶ RETURNING ──┘
 *
 * One that is not answered is given up: its texts end with the holder. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

/* Milliseconds in which a request is repeated; and between two breaks. */
#define PATIENCE_MS 4000
#define PAUSE_US 6000000

static void pause(struct client *client)
{
    struct world *world = client->world;
    client->force.stage = FORCE_IDLE;
    client->force.timer = later_us(world, draw(world, PAUSE_US));
}

static void begin(struct client *client)
{
    struct world *world = client->world;
    struct force *force = &client->force;
    if (++world->attempts == ENTRIES_MAX) {
        abort();
    }
    *force = (struct force){.attempt = world->attempts,
                            .stage = FORCE_TAKING,
                            .name = (unsigned)draw(world, NAMES),
                            .now = draw(world, 4) == 0,
                            .timer = HF_NEVER};
    struct hf_ask ask = {.verb = HF_VERB_BREAK, .frees_now = force->now};
    send_ask(client, &ask, force->attempt, force->name, &force->request);
}

static void free_it(struct client *client)
{
    struct force *force = &client->force;
    struct hf_ask ask = {.verb = HF_VERB_RELEASE};
    force->stage = FORCE_FREEING;
    force->timer = HF_NEVER;
    send_ask(client, &ask, force->attempt, force->name, &force->request);
}

static void give_back(struct client *client)
{
    struct force *force = &client->force;
    struct hf_ask ask = {
        .verb = HF_VERB_BREAK, .back = force->holder, .back_len = OWNER_LEN};
    force->stage = FORCE_RETURNING;
    force->timer = HF_NEVER;
    send_ask(client, &ask, force->attempt, force->name, &force->request);
}

/* ---- Due events ---------------------------------------------------------- */

struct hf_instant force_next(const struct client *client)
{
    return client->world->plan->forces
               ? hf_instant_max(client->force.timer, client->resumes)
               : HF_NEVER;
}

void force_step(struct client *client)
{
    struct world *world = client->world;
    struct force *force = &client->force;
    if (!world->plan->forces || hf_instant_before(world->now, force->timer)) {
        return;
    }
    switch (force->stage) {
    case FORCE_IDLE:
        if (world->is_calm) {
            force->timer = HF_NEVER;
        } else {
            begin(client);
        }
        break;
    case FORCE_TAKEN:
        free_it(client);
        break;
    case FORCE_FREEING:
        free_it(client);
        break;
    case FORCE_RETURNING:
        give_back(client);
        break;
    case FORCE_TAKING:
        abort();
    }
    hf_ordered_flush(&client->ordered, world->now);
    hf_ordered_check(&client->ordered);
}

/* ---- Answers ------------------------------------------------------------- */

/* BREAK: of the holders whose entries it has taken none believes longer. */
static void judge_wait(const struct client *client, struct hf_span left)
{
    struct world *world = client->world;
    struct hf_instant over = hf_instant_add(world->now, left);
    for (unsigned i = 0; i < world->plan->n_clients * SLOTS_MAX; i++) {
        const struct slot *slot =
            &world->clients[i / SLOTS_MAX].slots[i % SLOTS_MAX];
        const struct entry *entry =
            server_entry(world, slot->attempt, slot->number);
        bool is_taken = entry != NULL && entry->note == client->force.attempt;
        if (is_taken && !slot->is_revoked &&
            hf_instant_before(over, slot->until)) {
            violate(world, "BREAK: a holder believes for longer than its wait");
        }
    }
}

static void take_taken(struct client *client, const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct force *force = &client->force;
    struct hf_span left = hf_span_ms(answer->left_ms);
    if (answer->verdict != HF_VERDICT_OK || force->now) {
        pause(client);
        return;
    }
    judge_wait(client, left);
    bool returns = answer->holder_kind == HF_HOLDER_FOREIGN &&
                   answer->owner_len == OWNER_LEN && draw(world, 3) == 0;
    force->over = hf_instant_add(world->now, hf_span_ms(PATIENCE_MS));
    if (returns) {
        memcpy(force->holder, answer->owner, OWNER_LEN);
        force->stage = FORCE_RETURNING;
        force->timer = later_us(world, draw(world, 2500000));
        return;
    }
    force->stage = FORCE_TAKEN;
    force->timer = hf_instant_add(world->now, left);
    force->over = hf_instant_add(force->timer, hf_span_ms(PATIENCE_MS));
}

bool force_answer(struct client *client, const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct force *force = &client->force;
    if (force->request.cookie == 0 || force->request.cookie != answer->cookie) {
        return false;
    }
    force->request.cookie = 0;
    bool is_done = answer->verdict == HF_VERDICT_OK ||
                   answer->verdict == HF_VERDICT_REFUSED;
    if (force->stage == FORCE_TAKING) {
        take_taken(client, answer);
    } else if (is_done || hf_instant_before(force->over, world->now)) {
        pause(client);
    } else {
        force->timer = later_us(world, 10000 + draw(world, 200000));
    }
    return true;
}

bool force_is_idle(const struct client *client)
{
    return client->force.stage == FORCE_IDLE;
}
