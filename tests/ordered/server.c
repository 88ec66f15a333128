/* SPDX-License-Identifier: Apache-2.0 */
/* THE STORE: ONE LOG
 *
 * Each request is executed at one moment, at the next revision if it changes
 * something; an entry's number is that of its create. A session ends between
 * one and two times its ttl after the last renewal that was executed, never
 * sooner; with all its entries, at one revision. One answer may be untrue: a
 * renewal is answered by one member alone, so also for a session that has just
 * ended, and by a leader that was replaced (wire.h: RENEW need not be
 * linearizable). That one executes nothing else. */
#include "parts.h"

#include <stdlib.h>

/* Milliseconds in which a renewal may be answered that proves nothing. */
#define STALE_MS 300

/* Microseconds until a member knows of a new leader: longer than any ttl. */
#define BEHIND_US 5000000

static struct hf_instant end_of(struct world *world, int64_t ttl_s)
{
    uint64_t ttl_us = (uint64_t)ttl_s * 1000000;
    return later_us(world, ttl_us + draw(world, ttl_us));
}

static bool excludes(const struct entry *a, const struct entry *b)
{
    return a->mode != HF_SHARED || b->mode != HF_SHARED ||
           a->permits != b->permits;
}

/* ---- Ends ---------------------------------------------------------------- */

/* The entry that `entry` waits for. */
static const struct entry *awaited(const struct server *server,
                                   const struct entry *entry)
{
    const struct entry *last = NULL;
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        const struct entry *other = &server->entries[i];
        if (other->is_live && other->name == entry->name &&
            other->number < entry->number && excludes(other, entry)) {
            last = other;
        }
    }
    return last;
}

/* Also those with an entry that has ended while it waited: they may not know.
 */
static unsigned waiters_of(const struct server *server,
                           const struct entry *ended)
{
    unsigned clients = 0;
    for (const struct entry *entry = ended + 1;
         entry < server->entries + server->n_entries; entry++) {
        bool waits = entry->is_live ? entry->name == ended->name &&
                                          awaited(server, entry) == ended
                                    : entry->awaited == ended->number;
        if (waits) {
            clients |= 1U << server->sessions[entry->session].client;
        }
    }
    return clients;
}

static void take_turns(struct world *world, unsigned name)
{
    struct server *server = &world->server;
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        struct entry *entry = &server->entries[i];
        if (entry->is_live && entry->name == name &&
            hf_instant_is_never(entry->turn) &&
            entry->version == entry->number && awaited(server, entry) == NULL) {
            entry->turn = world->now;
        }
    }
}

static void end_entry(struct world *world, struct entry *entry)
{
    struct server *server = &world->server;
    struct end *end = &server->ends[server->n_ends++ % ENDS_MAX];
    *end = (struct end){entry->name, entry->number, server->revision,
                        waiters_of(server, entry), 0};
    const struct entry *before = awaited(server, entry);
    entry->awaited = before == NULL ? 0 : before->number;
    entry->is_live = false;
    entry->ended = world->now;
    while (server->first_live < server->n_entries &&
           !server->entries[server->first_live].is_live) {
        server->first_live++;
    }
    take_turns(world, entry->name);
    wire_publish(world, end);
}

static bool has_entry(const struct server *server, unsigned session)
{
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        if (server->entries[i].is_live &&
            server->entries[i].session == session) {
            return true;
        }
    }
    return false;
}

void server_end_session(struct world *world, unsigned session)
{
    struct server *server = &world->server;
    server->sessions[session].is_alive = false;
    server->sessions[session].ended = world->now;
    server->revision += has_entry(server, session);
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        struct entry *entry = &server->entries[i];
        if (entry->is_live && entry->session == session) {
            end_entry(world, entry);
        }
    }
    server_unmark(world, session);
}

struct hf_instant server_next(const struct world *world)
{
    struct hf_instant next = HF_NEVER;
    for (unsigned i = 0; i < world->server.n_sessions; i++) {
        const struct session *session = &world->server.sessions[i];
        if (session->is_alive) {
            next = hf_instant_min(next, session->ends);
        }
    }
    return next;
}

void server_expire(struct world *world)
{
    for (unsigned i = 0; i < world->server.n_sessions; i++) {
        const struct session *session = &world->server.sessions[i];
        if (session->is_alive &&
            !hf_instant_before(world->now, session->ends)) {
            world->report->expiries += has_entry(&world->server, i);
            server_end_session(world, i);
        }
    }
}

void server_elect(struct world *world)
{
    world->server.term++;
    for (unsigned i = 0; world->plan->breaks && i < world->plan->n_clients;
         i++) {
        if (draw(world, 3) == 0) {
            world->clients[i].wire.behind_until =
                later_us(world, draw(world, BEHIND_US));
        }
    }
    for (unsigned i = 0; i < world->server.n_sessions; i++) {
        struct session *session = &world->server.sessions[i];
        if (session->is_alive) {
            session->ends =
                hf_instant_max(session->ends, end_of(world, session->ttl_s));
        }
    }
}

/* ---- Requests ------------------------------------------------------------ */

/* The reply to OPEN has the ttl, and nothing else shows it later. */
static void shorten(struct world *world, struct letter *letter)
{
    bool may_shorten = world->plan->shortens && !world->is_calm;
    if (may_shorten && letter->ttl_s > 1 && draw(world, 8) == 0) {
        letter->ttl_s = 1 + (int64_t)draw(world, (uint64_t)letter->ttl_s - 1);
        world->clients[letter->client].shortened = world->now;
        world->report->shortened++;
    }
}

static void open_session(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    int64_t asked_s = letter->ttl_s;
    shorten(world, letter);
    if (server->n_sessions == SESSIONS_MAX) {
        abort();
    }
    letter->session = server->n_sessions++;
    server->sessions[letter->session] = (struct session){
        .client = letter->client,
        .ttl_s = letter->ttl_s,
        .asked_s = asked_s,
        .is_alive = true,
        .ends = end_of(world, letter->ttl_s),
        .proven = letter->sent,
        .renewed = world->now,
        .untrue = HF_LONG_AGO,
    };
}

static bool is_behind(const struct world *world, const struct letter *letter)
{
    return hf_instant_before(world->now,
                             world->clients[letter->client].wire.behind_until);
}

static void renew(struct world *world, struct letter *letter)
{
    struct session *session = &world->server.sessions[letter->session];
    struct hf_instant stale =
        hf_instant_add(session->ended, hf_span_ms(STALE_MS));
    if (is_behind(world, letter)) {
        world->report->deposed++;
        session->untrue = letter->sent;
    } else if (session->is_alive) {
        session->ends = end_of(world, session->ttl_s);
        if (!hf_instant_before(letter->sent, session->proven)) {
            session->proven = letter->sent; /* one that lands late is not it */
            session->renewed = world->now;
        }
    } else if (hf_instant_before(world->now, stale) && draw(world, 2) == 0) {
        world->report->stale++;
        session->untrue = letter->sent;
    } else {
        letter->outcome = HF_WIRE_GONE;
    }
}

/* What a wire may leave out of a list, which is in order yet. At every second
 * revision: a draw would change the course of all seeds. */
static void leave_out(const struct world *world, struct letter *letter)
{
    const struct entry *entries = world->server.entries;
    unsigned *listed = letter->listed;
    size_t *n = &letter->n_listed;
    bool is_last = letter->kind == KIND_CREATE && letter->has_changed &&
                   letter->when == HF_WIRE_UNLESS_OWN &&
                   letter->keys[0].mode != HF_SHARED;
    if (letter->revision % 2 == 0) {
        return;
    }
    while (letter->until != 0 && *n > 0 &&
           entries[listed[*n - 1]].number > letter->until) {
        --*n;
    }
    if (is_last && *n > 3) {
        letter->n_unlisted = *n - 3;
        memmove(&listed[1], &listed[*n - 2], 2 * sizeof(*listed));
        *n = 3;
    }
}

static void list(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    letter->revision = server->revision;
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];
        bool is_listed = letter->kind == KIND_OWNED
                             ? entry->session == letter->session
                             : entry->name == letter->name;
        if (entry->is_live && is_listed) {
            if (letter->n_listed == LIVE_MAX) {
                abort();
            }
            letter->listed[letter->n_listed++] = i;
        }
    }
    leave_out(world, letter);
    for (size_t i = letter->n_listed; i > 1; i--) { /* in any order */
        size_t other = (size_t)draw(world, i);
        unsigned moved = letter->listed[i - 1];
        letter->listed[i - 1] = letter->listed[other];
        letter->listed[other] = moved;
    }
}

/* The client was told so, and must not have used the session. */
static void judge_ttl(struct world *world, unsigned session)
{
    const struct session *it = &world->server.sessions[session];
    if (it->ttl_s < it->asked_s) {
        violate(world, "TTL: an entry in a session that was shortened");
    }
}

static struct entry *find(struct server *server, const struct key *key)
{
    if (key->listed != ENTRIES_MAX) {
        struct entry *listed = &server->entries[key->listed];
        return listed->is_live ? listed : NULL;
    }
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        struct entry *entry = &server->entries[i];
        if (entry->is_live && entry->name == key->name &&
            entry->born == key->session && entry->attempt == key->attempt) {
            return entry;
        }
    }
    return NULL;
}

static bool may_create(struct server *server, const struct letter *letter)
{
    if (letter->when == HF_WIRE_UNLESS_OWN) {
        return find(server, &letter->keys[0]) == NULL;
    }
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];
        bool is_new =
            letter->when == HF_WIRE_IF_FREE || entry->number > letter->since;
        if (entry->is_live && entry->name == letter->name && is_new) {
            return false;
        }
    }
    return true;
}

static void create(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    const struct key *key = &letter->keys[0];
    if (!server->sessions[key->session].is_alive) {
        letter->outcome = HF_WIRE_GONE;
        return;
    }
    judge_ttl(world, key->session);
    if (may_create(server, letter)) {
        if (server->n_entries == ENTRIES_MAX) {
            abort();
        }
        server->revision++;
        server->entries[server->n_entries++] = (struct entry){
            .name = key->name,
            .session = key->session,
            .before = key->session,
            .born = key->session,
            .attempt = key->attempt,
            .mode = key->mode,
            .permits = key->permits,
            .is_live = true,
            .number = server->revision,
            .version = server->revision,
            .created = world->now,
            .turn = HF_NEVER,
        };
        take_turns(world, key->name);
        letter->has_changed = true;
        if (world->is_refused[key->attempt]) {
            violate(world, "TRY: an entry of a refused try");
        }
        world->report->ghosts += world->is_over[key->attempt];
    }
    list(world, letter);
}

/* Whether the versions are compared, and no entry is read. */
static bool compare_keys(struct world *world, struct letter *letter)
{
    bool is_unchanged = true;
    for (size_t i = 0; i < letter->n_keys; i++) {
        const struct entry *entry = find(&world->server, &letter->keys[i]);
        if (world->plan->stays || letter->keys[i].version == 0) {
            return false;
        }
        is_unchanged &=
            entry != NULL && entry->version == letter->keys[i].version;
    }
    letter->is_unchanged = is_unchanged;
    world->report->unchanged += is_unchanged;
    world->report->changed += !is_unchanged;
    return true;
}

/* The heartbeat of a waiter, and what it waits for. */
static void count_place(struct world *world, const struct letter *letter)
{
    if (letter->n_keys == 2 && letter->keys[1].listed != ENTRIES_MAX) {
        bool stands = find(&world->server, &letter->keys[0]) != NULL &&
                      find(&world->server, &letter->keys[1]) != NULL;
        world->report->stood += stands;
        world->report->moved += !stands;
    }
}

/* In one world of so many the server takes one key in a READ, but those of a
 * place. */
#define ONE_KEY_EACH 2

static void read_keys(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    letter->is_too_long = letter->n_keys > 1 &&
                          letter->keys[1].listed == ENTRIES_MAX &&
                          world->plan->seed % ONE_KEY_EACH == 0;
    if (letter->is_too_long) {
        letter->outcome = HF_WIRE_ERROR;
        world->report->too_long++;
        return;
    }
    letter->revision = world->plan->stays ? 0 : server->revision;
    count_place(world, letter);
    if (compare_keys(world, letter)) {
        return;
    }
    letter->n_listed = letter->n_keys;
    for (size_t i = 0; i < letter->n_keys; i++) {
        const struct entry *entry = find(server, &letter->keys[i]);
        letter->listed[i] =
            entry == NULL ? ENTRIES_MAX : (unsigned)(entry - server->entries);
    }
}

static void remove_entry(struct world *world, struct letter *letter)
{
    const struct key *key = &letter->keys[0];
    struct entry *entry = find(&world->server, key);
    if (entry != NULL &&
        (key->under == SESSIONS_MAX || key->under == entry->session)) {
        world->server.revision++;
        letter->has_changed = entry->note == 0;
        end_entry(world, entry);
    }
}

/* ---- Replacing ----------------------------------------------------------- */

static void take_away(struct world *world, struct entry *entry,
                      const struct letter *letter)
{
    if (entry->is_ended) {
        world->reserved[entry->name] = HF_LONG_AGO;
    } else if (letter->is_forced) {
        slot_disown(world, entry->attempt);
        world->report->forced++;
    }
    end_entry(world, entry);
}

static void change_note(struct world *world, struct entry *entry,
                        const struct letter *letter)
{
    world->report->broken += letter->note != 0 && !letter->is_ended;
    world->report->returned += letter->note == 0 && entry->note != 0;
    if (letter->note != 0 && !letter->is_ended) {
        slot_break(world, entry->attempt);
    }
    if (entry->note != 0 || letter->note != 0) {
        entry->turn = HF_NEVER; /* its owner sees it with a heartbeat */
    }
    entry->note = letter->note;
    entry->is_ended = letter->is_ended;
}

/* Its former holder believes until the end of the ttl that it had. Not so if it
 * has a note: it was released, or its break waits for that end. */
static void judge_move(struct world *world, const struct entry *entry,
                       const struct letter *letter)
{
    const struct session *sessions = world->server.sessions;
    judge_ttl(world, letter->session);
    if (letter->note == 0 &&
        sessions[letter->session].ttl_s < sessions[entry->session].ttl_s) {
        violate(world, "MOVE: into a session with a shorter ttl");
    }
}

static void replace(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    struct entry *entry = &server->entries[letter->replaced];
    if (!letter->removes && !server->sessions[letter->session].is_alive) {
        letter->outcome = HF_WIRE_GONE;
        return;
    }
    if (!entry->is_live || entry->version != letter->version) {
        return;
    }
    letter->has_changed = true;
    letter->revision = entry->version = ++server->revision;
    if (letter->removes) {
        take_away(world, entry, letter);
        return;
    }
    if (entry->session != letter->session) {
        judge_move(world, entry, letter);
        entry->before = entry->session;
        entry->session = letter->session;
    }
    change_note(world, entry, letter);
}

static void scan(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    unsigned first = ENTRIES_MAX;
    for (unsigned i = server->first_live; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];
        bool is_first =
            first == ENTRIES_MAX || entry->name < server->entries[first].name;
        if (entry->is_live && entry->name >= letter->from && is_first) {
            first = i;
        }
    }
    letter->n_listed = first != ENTRIES_MAX;
    letter->listed[0] = first;
}

void server_execute(struct world *world, struct letter *letter)
{
    bool may_err = world->plan->breaks && !world->is_calm;
    if (may_err && draw(world, 50) == 0) { /* it has no leader, say */
        letter->outcome = HF_WIRE_ERROR;
        world->report->errors++;
        return;
    }
    letter->outcome = HF_WIRE_DONE;
    letter->term =
        letter->kind == KIND_RENEW ? letter->term : world->server.term;
    switch (letter->kind) {
    case KIND_OPEN:
        open_session(world, letter);
        break;
    case KIND_RENEW:
        renew(world, letter);
        break;
    case KIND_CLOSE:
        if (world->server.sessions[letter->session].is_alive) {
            server_end_session(world, letter->session);
        }
        break;
    case KIND_CREATE:
        create(world, letter);
        break;
    case KIND_OWNED:
    case KIND_LIST:
        list(world, letter);
        break;
    case KIND_READ:
        read_keys(world, letter);
        break;
    case KIND_REPLACE:
        replace(world, letter);
        break;
    case KIND_SCAN:
        scan(world, letter);
        break;
    case KIND_REMOVE:
        remove_entry(world, letter);
        break;
    case KIND_MARK_READ:
    case KIND_MARK_WRITE:
    case KIND_MARKS:
        server_mark(world, letter);
        break;
    case KIND_VALUE_READ:
    case KIND_VALUE_WRITE:
        server_value(world, letter);
        break;
    }
}

struct entry *server_entry(struct world *world, uint32_t attempt,
                           uint64_t number)
{
    for (unsigned i = world->server.n_entries; i-- > 0;) {
        struct entry *entry = &world->server.entries[i];
        if (entry->attempt == attempt && entry->number == number) {
            return entry;
        }
    }
    return NULL;
}
