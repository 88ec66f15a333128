/* SPDX-License-Identifier: Apache-2.0 */
/* THE WIRE
 *
 * A connection keeps order, in both directions. When it breaks, a request that
 * has arrived is LOST; one that has not may be UNSENT, or LOST and executed
 * later, or LOST and never executed. Nothing orders those that land late. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request lands so late at most: three short ttls. */
#define LATE_US 6000000

/* ---- Letters ------------------------------------------------------------- */

uint64_t wire_delay_us(struct world *world)
{
    uint64_t us = 100 + draw(world, 3000);
    bool is_slow = world->is_slow && !world->is_calm && draw(world, 60) == 0;
    return is_slow ? us + draw(world, 2500000) : us;
}

/* Behind the others that go the same way. */
static void post(struct world *world, struct hf_wire *wire,
                 struct letter *letter)
{
    struct letter **end = &wire->letters;
    letter->at = later_us(world, wire_delay_us(world));
    letter->next = NULL;
    while (*end != NULL) {
        if ((*end)->is_answer == letter->is_answer) {
            letter->at = hf_instant_max(letter->at, (*end)->at);
        }
        end = &(*end)->next;
    }
    *end = letter;
}

bool wire_ask(struct hf_wire *wire, struct letter letter,
              struct hf_wire_call *call, struct hf_instant now)
{
    if (!wire->is_up) {
        return false;
    }
    struct letter *copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        abort();
    }
    *copy = letter;
    copy->client = wire->client;
    copy->call = call;
    copy->sent = now;
    copy->term = wire->term;
    post(wire->world, wire, copy);
    return true;
}

/* ---- Texts and numbers --------------------------------------------------- */

static unsigned session_of(const uint8_t *id)
{
    return (unsigned)(id[0] << 8 | id[1]) - 1;
}

static void session_id(unsigned session, uint8_t *id)
{
    memset(id, 0, HF_SESSION_ID_LEN);
    id[0] = (uint8_t)((session + 1) >> 8);
    id[1] = (uint8_t)(session + 1);
}

static unsigned name_of(struct hf_bytes name)
{
    return (unsigned)(*(const char *)name.data - 'a');
}

static struct key key_of(const struct hf_wire_key *key)
{
    char digits[OWNER_LEN + 1] = {0};
    if (key->id.len > 0) {
        struct key listed = {.version = key->version};
        memcpy(&listed.listed, key->id.data, sizeof(listed.listed));
        return listed;
    }
    memcpy(digits, key->owner.data, OWNER_LEN);
    return (struct key){name_of(key->name),
                        session_of(key->session),
                        (uint32_t)strtoul(digits, NULL, 16),
                        key->mode,
                        key->permits,
                        key->ttl_s,
                        key->under == NULL ? SESSIONS_MAX
                                           : session_of(key->under),
                        key->version,
                        ENTRIES_MAX};
}

/* ---- Primitives ---------------------------------------------------------- */

static bool call_open(struct hf_wire *wire, int64_t ttl_s,
                      struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(wire, (struct letter){.kind = KIND_OPEN, .ttl_s = ttl_s},
                    call, now);
}

static bool call_renew(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(
        wire,
        (struct letter){.kind = KIND_RENEW, .session = session_of(session)},
        call, now);
}

static bool call_close(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(
        wire,
        (struct letter){.kind = KIND_CLOSE, .session = session_of(session)},
        call, now);
}

static bool call_owned(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(
        wire,
        (struct letter){.kind = KIND_OWNED, .session = session_of(session)},
        call, now);
}

static bool call_create(struct hf_wire *wire, const struct hf_wire_key *key,
                        enum hf_wire_when when, uint64_t revision,
                        struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(wire,
                    (struct letter){.kind = KIND_CREATE,
                                    .when = when,
                                    .since = revision,
                                    .name = name_of(key->name),
                                    .keys = {key_of(key)},
                                    .n_keys = 1},
                    call, now);
}

static bool call_list(struct hf_wire *wire, struct hf_bytes name,
                      struct hf_wire_call *call, struct hf_instant now)
{
    judge_wake(&wire->world->clients[wire->client]);
    return wire_ask(wire,
                    (struct letter){.kind = KIND_LIST,
                                    .name = name_of(name),
                                    .until = call->until},
                    call, now);
}

static bool call_read(struct hf_wire *wire, const struct hf_wire_key *keys,
                      size_t n, struct hf_wire_call *call,
                      struct hf_instant now)
{
    struct letter letter = {.kind = KIND_READ, .n_keys = n};
    if (n > sizeof(letter.keys) / sizeof(letter.keys[0])) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        letter.keys[i] = key_of(&keys[i]);
    }
    return wire_ask(wire, letter, call, now);
}

static bool call_replace(struct hf_wire *wire,
                         const struct hf_wire_change *change,
                         struct hf_wire_call *call, struct hf_instant now)
{
    struct letter letter = {.kind = KIND_REPLACE,
                            .version = change->version,
                            .removes = change->session == NULL};
    const struct force *force = &wire->world->clients[wire->client].force;
    letter.is_forced = force->stage == FORCE_TAKING && force->now;
    char note[NOTE_LEN + 1] = {0};
    memcpy(&letter.replaced, change->id.data, sizeof(letter.replaced));
    if (!letter.removes) {
        letter.session = session_of(change->session);
    }
    if (change->note.len > 0) {
        memcpy(note, change->note.data, change->note.len);
        letter.is_ended = change->note.len == NOTE_LEN;
        letter.note =
            (uint32_t)strtoul(note + change->note.len - OWNER_LEN, NULL, 16);
    }
    return wire_ask(wire, letter, call, now);
}

static bool call_scan(struct hf_wire *wire, struct hf_bytes from,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct letter letter = {.kind = KIND_SCAN};
    letter.from = from.len == 0 ? 0 : name_of(from) + 1;
    return wire_ask(wire, letter, call, now);
}

static bool call_remove(struct hf_wire *wire, const struct hf_wire_key *key,
                        struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(wire,
                    (struct letter){.kind = KIND_REMOVE,
                                    .keys = {key_of(key)},
                                    .n_keys = 1},
                    call, now);
}

/* ---- Replies ------------------------------------------------------------- */

static void fill(struct world *world, const struct letter *letter,
                 struct hf_wire_entry *out, char (*owners)[OWNER_LEN + 1],
                 char *names)
{
    static char notes[LIVE_MAX][NOTE_LEN + 1];
    for (size_t i = 0; i < letter->n_listed; i++) {
        memset(&out[i], 0, sizeof(out[i]));
        if (letter->listed[i] == ENTRIES_MAX) {
            continue;
        }
        const struct entry *entry = &world->server.entries[letter->listed[i]];
        snprintf(owners[i], sizeof(owners[i]), "%032x:", entry->attempt);
        int note = entry->note == 0
                       ? 0
                       : snprintf(notes[i], sizeof(notes[i]),
                                  "%s%032x:", entry->is_ended ? "ended:" : "",
                                  entry->note);
        names[i] = (char)('a' + entry->name);
        out[i] = (struct hf_wire_entry){
            .entry = {.number = entry->number, .mode = entry->mode},
            .owner = {owners[i], OWNER_LEN},
            .name = {&names[i], 1},
            .ttl_s = world->server.sessions[entry->session].ttl_s,
            .born_ttl_s = world->server.sessions[entry->born].ttl_s,
            .permits = entry->permits,
            .note = {notes[i], (size_t)note},
            .id = {&letter->listed[i], sizeof(letter->listed[i])},
            .version = entry->version,
        };
        session_id(entry->born, out[i].born);
        memcpy(out[i].entry.owner.attempt, &entry->attempt,
               sizeof(entry->attempt));
        session_id(entry->session, out[i].entry.owner.session);
        if (letter->kind == KIND_OWNED) {
            out[i].entry.number = 0;
        }
    }
}

static void finish(struct client *client, struct letter *letter)
{
    static struct hf_wire_entry entries[LIVE_MAX];
    static char owners[LIVE_MAX][OWNER_LEN + 1];
    static char names[LIVE_MAX];
    struct world *world = client->world;
    struct hf_wire_reply reply = {
        .outcome = letter->outcome,
        .sent = letter->sent,
        .ttl_ms = letter->ttl_s * 1000,
        .is_too_long = letter->is_too_long,
        .is_unchanged = letter->is_unchanged,
        .has_changed = letter->has_changed,
        .revision = letter->revision,
        .term = letter->kind == KIND_OPEN ? HF_WIRE_TERM_ANY : letter->term,
        .entries = entries,
        .n_entries = letter->n_listed,
        .n_unlisted = letter->n_unlisted,
        .fault = HF_UNAVAILABLE,
        .reason = "connection lost",
        .mark = {letter->mark.version == 0 ? NULL : letter->mark.text,
                 letter->mark.len},
        .version = letter->mark.version,
        .clock_ms = letter->clock_ms,
        .clock_step_ms = CLOCK_STEP_MS,
    };
    if (letter->outcome == HF_WIRE_DONE && letter->kind != KIND_RENEW) {
        client->wire.term = letter->term;
    }
    fill(world, letter, entries, owners, names);
    reply.n_entries += marks_fill(letter, entries, names);
    if (letter->kind == KIND_SCAN && letter->n_listed > 0) {
        reply.next = entries[0].name;
    }
    session_id(letter->session, reply.session);
    world->is_dispatching = true;
    letter->call->done(letter->call, &reply, world->now);
    hf_ordered_check(&client->ordered);
    world->is_dispatching = false;
}

/* ---- The connection ------------------------------------------------------ */

void wire_up(struct client *client)
{
    client->wire.is_up = true;
    client->wire.term = 0;
    client->wire.up_at = HF_NEVER;
    if (client->world->plan->marks) {
        client->wire.ahead_ms =
            (int64_t)draw(client->world, 2 * CLOCK_WRONG_MS) - CLOCK_WRONG_MS;
    }
    hf_ordered_up(&client->ordered, client->world->now);
}

/* It is executed later, unless the network drops it. */
static void haunt(struct world *world, const struct letter *letter)
{
    if (draw(world, 4) == 0) {
        return;
    }
    struct letter *ghost = malloc(sizeof(*ghost));
    if (ghost == NULL) {
        abort();
    }
    *ghost = *letter;
    ghost->call = NULL;
    ghost->at =
        later_us(world, draw(world, draw(world, 2) == 0 ? LATE_US : 20000));
    ghost->next = world->ghosts;
    world->ghosts = ghost;
}

static void cut(struct client *client, struct letter *letter)
{
    struct world *world = client->world;
    bool is_unsent = !letter->is_answer && draw(world, 2) == 0;
    if (!letter->is_answer && !is_unsent) {
        haunt(world, letter);
    }
    letter->outcome = is_unsent ? HF_WIRE_UNSENT : HF_WIRE_LOST;
    letter->n_listed = 0;
    world->report->lost += !is_unsent;
    finish(client, letter);
}

void wire_break(struct client *client)
{
    struct world *world = client->world;
    struct letter *letter = client->wire.letters;
    client->wire.letters = NULL;
    client->wire.is_up = false;
    while (letter != NULL) {
        struct letter *next = letter->next;
        cut(client, letter);
        free(letter);
        letter = next;
    }
    bool is_long = draw(world, 4) == 0;
    client->wire.up_at =
        later_us(world, draw(world, is_long ? 5000000 : 50000));
    hf_ordered_down(&client->ordered, !is_long, HF_UNAVAILABLE,
                    "connection lost");
}

void wire_die(struct client *client)
{
    struct world *world = client->world;
    for (const struct letter *letter = client->wire.letters; letter != NULL;
         letter = letter->next) {
        if (!letter->is_answer) {
            haunt(world, letter);
        }
    }
    wire_free(client);
    client->wire.is_up = false;
    client->wire.up_at = later_us(world, draw(world, 50000));
}

/* ---- Time ---------------------------------------------------------------- */

static struct hf_instant due_of(const struct client *client,
                                const struct letter *letter)
{
    return letter->is_answer ? hf_instant_max(letter->at, client->resumes)
                             : letter->at;
}

struct hf_instant wire_next(const struct client *client)
{
    struct hf_instant next = HF_NEVER;
    const struct hf_wire *wire = &client->wire;
    if (!wire->is_up) {
        next = hf_instant_max(wire->up_at, client->resumes);
    }
    for (const struct letter *letter = wire->letters; letter != NULL;
         letter = letter->next) {
        next = hf_instant_min(next, due_of(client, letter));
    }
    for (const struct hf_wire_watch *watch = wire->watches; watch != NULL;
         watch = watch->next) {
        if (watch->heard != NULL) {
            next = hf_instant_min(
                next, hf_instant_max(watch->heard->at, client->resumes));
        }
    }
    return next;
}

/* A leader that was replaced gets no majority: all but a renewal waits until
 * its member knows the new one, and requests that were sent after it wait, too.
 */
static bool is_held(const struct client *client, const struct letter *letter)
{
    return letter->kind != KIND_RENEW &&
           hf_instant_before(client->world->now, client->wire.behind_until);
}

static void hold(struct client *client)
{
    for (struct letter *letter = client->wire.letters; letter != NULL;
         letter = letter->next) {
        if (!letter->is_answer) {
            letter->at = hf_instant_max(letter->at, client->wire.behind_until);
        }
    }
}

static void deliver(struct client *client, struct letter **at)
{
    struct world *world = client->world;
    struct letter *letter = *at;
    *at = letter->next;
    if (letter->is_answer) {
        finish(client, letter);
        free(letter);
    } else if (is_held(client, letter)) {
        *at = letter;
        hold(client);
    } else {
        server_execute(world, letter);
        letter->is_answer = true;
        post(world, &client->wire, letter);
    }
}

void wire_step(struct client *client)
{
    struct hf_wire *wire = &client->wire;
    struct hf_instant now = client->world->now;
    bool is_awake = !hf_instant_before(now, client->resumes);
    if (!wire->is_up && is_awake && !hf_instant_before(now, wire->up_at)) {
        wire_up(client);
        return;
    }
    for (struct letter **at = &wire->letters; *at != NULL; at = &(*at)->next) {
        if (!hf_instant_before(now, due_of(client, *at))) {
            deliver(client, at);
            return;
        }
    }
    for (struct hf_wire_watch *watch = wire->watches; watch != NULL;
         watch = watch->next) {
        if (is_awake && watch->heard != NULL &&
            !hf_instant_before(now, watch->heard->at)) {
            watch_hear(client, watch);
            return;
        }
    }
}

void wire_free(struct client *client)
{
    while (client->wire.letters != NULL) {
        struct letter *letter = client->wire.letters;
        client->wire.letters = letter->next;
        free(letter);
    }
    while (client->wire.watches != NULL) {
        call_unwatch(&client->wire, client->wire.watches);
    }
}

const struct hf_wire_ops sim_wire_ops = {
    .open = call_open,
    .renew = call_renew,
    .close = call_close,
    .owned = call_owned,
    .create = call_create,
    .list = call_list,
    .read = call_read,
    .replace = call_replace,
    .scan = call_scan,
    .remove = call_remove,
    .watch = call_watch,
    .unwatch = call_unwatch,
    .mark_read = call_mark_read,
    .mark_write = call_mark_write,
    .marks = call_marks,
    .value_read = call_value_read,
    .value_write = call_value_write,
    .reads_by_id = true,
};
