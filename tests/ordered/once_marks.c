/* SPDX-License-Identifier: Apache-2.0 */
/* MARKS OF --once
 *
 * The clock of a member shows whole steps, and may be wrong by a little; each
 * connection is to another member. A client marks names with fences that rise,
 * repeats requests without an answer, withdraws some, and reads. It need not
 * hold the lock: then more writes meet.
 *
 *   IDLE ─read─▶ READING ─▶ IDLE
 *     └─mark─▶ MARKING ─▶ [WITHDRAWING] ─▶ IDLE */
#include "parts.h"

#include "store/ordered/mark_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The Unix time of the beginning of the world, in milliseconds. */
#define EPOCH_MS INT64_C(1764000000000)

/* How often a request is sent that is not answered. */
#define TRIES_MAX 4

/* ---- The store ----------------------------------------------------------- */

static int64_t unix_ms(const struct world *world)
{
    return EPOCH_MS + world->now.ns / 1000000;
}

static unsigned name_of(struct hf_bytes name)
{
    return (unsigned)(*(const char *)name.data - 'a');
}

bool call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                    struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(
        wire, (struct letter){.kind = KIND_MARK_READ, .name = name_of(name)},
        call, now);
}

bool call_mark_write(struct hf_wire *wire, const struct hf_wire_mark *mark,
                     struct hf_wire_call *call, struct hf_instant now)
{
    struct letter letter = {.kind = KIND_MARK_WRITE,
                            .name = name_of(mark->name),
                            .version = mark->version};
    if (mark->text.len > MARK_LEN) {
        abort();
    }
    if ((mark->session == NULL) != wire->world->plan->stays) {
        abort();
    }
    letter.session =
        mark->session == NULL
            ? SESSIONS_MAX
            : (unsigned)(mark->session[0] << 8 | mark->session[1]) - 1;
    letter.mark.len = mark->text.len;
    if (mark->text.len > 0) {
        memcpy(letter.mark.text, mark->text.data, mark->text.len);
    }
    return wire_ask(wire, letter, call, now);
}

bool call_marks(struct hf_wire *wire, struct hf_wire_call *call,
                struct hf_instant now)
{
    return wire_ask(wire, (struct letter){.kind = KIND_MARKS}, call, now);
}

size_t marks_fill(const struct letter *letter, struct hf_wire_entry *out,
                  char *names)
{
    size_t n = 0;
    for (unsigned i = 0; letter->kind == KIND_MARKS && i < NAMES; i++) {
        names[i] = (char)('a' + i);
        if (letter->is_marked[i]) {
            out[n++] = (struct hf_wire_entry){.name = {&names[i], 1}};
        }
    }
    return n;
}

static struct hf_ordered_mark parse(const struct mark *mark)
{
    struct hf_ordered_mark out = {.fence = 0};
    struct hf_bytes text = {mark->text, mark->len};
    if (mark->version != 0 && !hf_ordered_mark_read(text, &out)) {
        abort();
    }
    return out;
}

/* By the clock of each member. */
static bool is_live(const struct world *world,
                    const struct hf_ordered_mark *mark)
{
    return mark->fence != 0 &&
           unix_ms(world) + CLOCK_WRONG_MS < mark->start_ms + mark->length_ms;
}

/* A writer has judged the mark by the clock of some member, before. */
static void judge_merge(struct world *world, const struct mark *old,
                        const struct mark *new)
{
    struct hf_ordered_mark was = parse(old);
    struct hf_ordered_mark is = parse(new);
    bool was_live = is_live(world, &was);
    bool withdraws =
        is.fence == was.fence && is.owner.len == 0 && was.owner.len > 0;
    if (was_live && is.fence <= was.fence && !withdraws) {
        violate(world, "MERGE: a live mark is replaced by an earlier one");
    }
    if (is.owner.len > 0) {
        world->made[is.fence] = world->now;
        world->lasts_ms[is.fence] = is.length_ms;
    }
    world->report->withdrawn += withdraws;
}

static void remove_mark(struct world *world, struct mark *mark)
{
    struct hf_ordered_mark was = parse(mark);
    if (is_live(world, &was)) {
        violate(world, "MERGE: a live mark is removed");
    }
    mark->version = 0;
    world->report->swept++;
}

static void write_mark(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    struct mark *mark = &server->marks[letter->name];
    if (letter->session != SESSIONS_MAX &&
        !server->sessions[letter->session].is_alive) {
        letter->outcome = HF_WIRE_GONE;
        return;
    }
    if (mark->version != letter->version) {
        return;
    }
    letter->has_changed = true;
    if (letter->mark.len == 0) {
        remove_mark(world, mark);
        return;
    }
    letter->mark.version = letter->revision = ++server->revision;
    letter->mark.session = letter->session;
    judge_merge(world, mark, &letter->mark);
    *mark = letter->mark;
}

void server_mark(struct world *world, struct letter *letter)
{
    if (letter->kind == KIND_MARK_WRITE) {
        write_mark(world, letter);
        return;
    }
    if (letter->kind == KIND_MARKS) {
        for (unsigned i = 0; i < NAMES; i++) {
            letter->is_marked[i] = world->server.marks[i].version != 0;
        }
        return;
    }
    int64_t clock_ms =
        unix_ms(world) + world->clients[letter->client].wire.ahead_ms;
    letter->clock_ms = clock_ms - clock_ms % CLOCK_STEP_MS;
    letter->mark = world->server.marks[letter->name];
}

void server_unmark(struct world *world, unsigned session)
{
    for (unsigned i = 0; i < NAMES; i++) {
        struct mark *mark = &world->server.marks[i];
        if (mark->version != 0 && mark->session == session) {
            mark->version = 0;
        }
    }
}

void marks_revoked(struct world *world, unsigned session)
{
    for (unsigned i = 0; i < NAMES; i++) {
        const struct mark *mark = &world->server.marks[i];
        if (mark->version != 0 && mark->session == session) {
            world->is_taken[parse(mark).fence] = true;
            world->promises[i].fence = 0;
        }
    }
}

/* ---- Asking -------------------------------------------------------------- */

static void send(struct client *client, bool writes, bool withdraws)
{
    struct world *world = client->world;
    struct marker *marker = &client->marker;
    struct promise *promise = &world->promises[marker->name];
    char name = (char)('a' + marker->name);
    char owner[OWNER_LEN + 1];
    snprintf(owner, sizeof(owner),
             "%032llx:", (unsigned long long)marker->fence);
    marker->request = (struct request){++world->cookies, world->now};
    marker->timer = HF_NEVER;
    struct hf_ask ask = {
        .cookie = marker->request.cookie,
        .verb = HF_VERB_MARK,
        .name = &name,
        .name_len = 1,
        .owner = owner,
        .owner_len = writes && !withdraws ? OWNER_LEN : 0,
        .counter = writes ? marker->fence : 0,
        .ttl_ms = withdraws ? marker->length_ms + 2000
                  : writes  ? marker->length_ms
                            : 0,
    };
    /* From now on it may be replaced. */
    if (writes && (marker->fence > promise->fence ||
                   (withdraws && marker->fence == promise->fence))) {
        promise->fence = 0;
    }
    hf_ordered_ask(&client->ordered, &ask, world->now);
    hf_ordered_flush(&client->ordered, world->now);
}

static void begin(struct client *client)
{
    struct world *world = client->world;
    struct marker *marker = &client->marker;
    *marker = (struct marker){.name = (unsigned)draw(world, NAMES),
                              .began = world->now};
    if (draw(world, 6) != 0 || world->fences + 1 == FENCES_MAX) {
        marker->stage = MARK_READING;
        send(client, false, false);
        return;
    }
    marker->stage = MARK_MARKING;
    marker->fence = ++world->fences;
    world->greatest[marker->name] = marker->fence;
    marker->length_ms = 300 + (int64_t)draw(world, 4000);
    send(client, true, false);
}

struct hf_instant marker_next(const struct client *client)
{
    return client->world->plan->marks
               ? hf_instant_max(client->marker.timer, client->resumes)
               : HF_NEVER;
}

void marker_step(struct client *client)
{
    struct world *world = client->world;
    struct marker *marker = &client->marker;
    if (!world->plan->marks || hf_instant_before(world->now, marker->timer)) {
        return;
    }
    switch (marker->stage) {
    case MARK_IDLE:
        if (world->is_calm) {
            marker->timer = HF_NEVER;
        } else {
            begin(client);
        }
        break;
    case MARK_MARKING:
        send(client, true, false);
        break;
    case MARK_WITHDRAWING:
        send(client, true, true);
        break;
    case MARK_READING:
        abort();
    }
}

bool marker_is_idle(const struct client *client)
{
    return client->marker.stage == MARK_IDLE;
}

/* ---- Answers ------------------------------------------------------------- */

static void judge_found(struct world *world, const struct marker *marker,
                        const struct hf_answer *answer)
{
    struct promise *promise = &world->promises[marker->name];
    struct hf_instant early =
        hf_instant_sub(promise->until, hf_span_ms(2 * CLOCK_WRONG_MS));
    bool is_promised =
        promise->fence != 0 &&
        !hf_instant_before(marker->request.asked, promise->since) &&
        hf_instant_before(world->now, early);
    bool is_live = answer->counter != 0 && answer->owner_len > 0;
    if (is_promised && (!is_live || answer->counter != promise->fence)) {
        violate(world, "MARK: one that was answered is not found");
    }
    world->report->found += is_promised;
    world->report->unmarked += !is_live && world->fences > 0;
    if (!is_live) {
        return;
    }
    struct hf_instant late =
        hf_instant_add(world->made[answer->counter],
                       hf_span_ms(world->lasts_ms[answer->counter] +
                                  2 * CLOCK_STEP_MS + 2 * CLOCK_WRONG_MS));
    if (hf_instant_before(late, marker->request.asked)) {
        violate(world, "MARK: one is found long after its period");
    }
    if (answer->left_ms <= 0 ||
        answer->left_ms > world->lasts_ms[answer->counter]) {
        violate(world, "MARK: it lasts longer than its period");
    }
}

static void keep(struct world *world, const struct marker *marker)
{
    struct promise *promise = &world->promises[marker->name];
    world->report->marks++;
    /* Meanwhile a greater fence may have replaced it. */
    if (marker->fence == world->greatest[marker->name] &&
        !world->is_taken[marker->fence]) {
        *promise = (struct promise){
            marker->fence, world->now,
            hf_instant_add(marker->began, hf_span_ms(marker->length_ms))};
    }
}

static void rest(struct client *client)
{
    struct marker *marker = &client->marker;
    marker->stage = MARK_IDLE;
    marker->timer = later_us(client->world, draw(client->world, 300000));
}

static void take_marked(struct client *client, const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct marker *marker = &client->marker;
    bool is_ok = answer->verdict == HF_VERDICT_OK;
    bool is_kept =
        is_ok && answer->counter == marker->fence && answer->owner_len > 0;
    if (is_ok && answer->counter < marker->fence) {
        violate(world, "MERGE: an earlier mark is kept");
    }
    if (is_kept) {
        keep(world, marker);
    }
    marker->tries++;
    bool is_last = is_ok || marker->tries == TRIES_MAX || world->is_calm;
    marker->timer = later_us(world, draw(world, 500000));
    if (is_last && (!is_kept || draw(world, 3) == 0)) {
        marker->stage = MARK_WITHDRAWING;
        marker->tries = 0;
    } else if (is_last) {
        rest(client);
    }
}

bool marker_answer(struct client *client, const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct marker *marker = &client->marker;
    bool is_ok = answer->verdict == HF_VERDICT_OK;
    if (marker->request.cookie == 0 ||
        marker->request.cookie != answer->cookie) {
        return false;
    }
    marker->request.cookie = 0;
    if (is_ok && (hf_instant_before(answer->sent, marker->request.asked) ||
                  hf_instant_before(world->now, answer->sent))) {
        violate(world, "DEADLINE: not between request and answer");
    }
    if (marker->stage == MARK_MARKING) {
        take_marked(client, answer);
    } else if (marker->stage == MARK_READING) {
        if (is_ok) {
            judge_found(world, marker, answer);
        }
        rest(client);
    } else if (is_ok || ++marker->tries == TRIES_MAX) {
        rest(client);
    } else {
        marker->timer = later_us(world, draw(world, 500000));
    }
    return true;
}
