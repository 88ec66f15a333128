/* SPDX-License-Identifier: Apache-2.0 */
/* VALUES
 *
 * The store keeps one text for each name. Each client has some writers, which
 * read, write and delete values as src/client/value.c does: a put whose reply
 * was lost is sent again, if it names a version; else the value is read, and
 * only its id settles it. The first name is a counter, which is only
 * incremented. A client may die, with all that it has under way.
 *
 *   IDLE ─GET─▶ READING ─▶ IDLE
 *     │           └─▶ [increment] ─┐
 *     └─────────── PUT ────────────┴▶ PUTTING ─▶ IDLE
 *                                      │   ▲
 *                                      └ lost: FINDING */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a request is sent that is not answered. */
#define TRIES_MAX 6

/* Microseconds between two of them, and between two puts of a writer. */
#define AGAIN_US 300000
#define PAUSE_US 400000

/* ---- The store ----------------------------------------------------------- */

static unsigned name_of(struct hf_bytes name)
{
    return (unsigned)(*(const char *)name.data - 'a');
}

bool call_value_read(struct hf_wire *wire, struct hf_bytes name,
                     struct hf_wire_call *call, struct hf_instant now)
{
    return wire_ask(
        wire, (struct letter){.kind = KIND_VALUE_READ, .name = name_of(name)},
        call, now);
}

bool call_value_write(struct hf_wire *wire, const struct hf_wire_mark *value,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct letter letter = {.kind = KIND_VALUE_WRITE,
                            .name = name_of(value->name),
                            .version = value->version};
    if (value->text.len > MARK_LEN || value->session != NULL) {
        abort();
    }
    letter.mark.len = value->text.len;
    if (value->text.len > 0) {
        memcpy(letter.mark.text, value->text.data, value->text.len);
    }
    return wire_ask(wire, letter, call, now);
}

/* If they stay, versions begin anew when a text was removed, as ZooKeeper's do;
 * else the version is the revision. */
static void write_value(struct world *world, struct letter *letter)
{
    struct server *server = &world->server;
    struct mark *value = &server->values[letter->name];
    if (value->version != letter->version) {
        return;
    }
    letter->has_changed = true;
    letter->revision = ++server->revision;
    world->report->late_writes += letter->call == NULL;
    if (letter->mark.len == 0) {
        judge_removed(world, value);
        value->version = 0;
        return;
    }
    letter->mark.revision = letter->revision;
    letter->mark.version =
        world->plan->stays ? value->version + 1 : letter->revision;
    judge_written(world, letter->name, &letter->mark);
    *value = letter->mark;
}

void server_value(struct world *world, struct letter *letter)
{
    if (letter->kind == KIND_VALUE_WRITE) {
        write_value(world, letter);
        return;
    }
    letter->mark = world->server.values[letter->name];
    letter->revision = letter->mark.version == 0 ? 0 : letter->mark.revision;
}

/* ---- Asking -------------------------------------------------------------- */

static void send(struct client *client, struct writer *writer,
                 struct hf_ask ask)
{
    struct world *world = client->world;
    char name = (char)('a' + writer->name);
    writer->request = (struct request){++world->cookies, world->now};
    writer->timer = HF_NEVER;
    ask.cookie = writer->request.cookie;
    ask.name = &name;
    ask.name_len = 1;
    hf_ordered_ask(&client->ordered, &ask, world->now);
    hf_ordered_flush(&client->ordered, world->now);
}

static void get(struct client *client, struct writer *writer)
{
    send(client, writer, (struct hf_ask){.verb = HF_VERB_GET});
}

static void put(struct client *client, struct writer *writer)
{
    const struct put *put = &client->world->puts[writer->put];
    char id[HF_WRITE_ID_LEN + 1];
    char data[24];
    snprintf(id, sizeof(id), "%032x", writer->put);
    int len =
        snprintf(data, sizeof(data), "%llu", (unsigned long long)put->number);
    struct hf_ask ask = {.verb = HF_VERB_PUT,
                         .owner = id,
                         .owner_len = HF_WRITE_ID_LEN,
                         .counter = writer->if_version};
    if (!put->deletes) {
        ask.value = (struct hf_bytes){data, (size_t)len};
    }
    send(client, writer, ask);
}

static void begin_put(struct client *client, struct writer *writer,
                      struct put put_of)
{
    struct world *world = client->world;
    if (++world->n_puts == PUTS_MAX) {
        abort();
    }
    writer->stage = WRITE_PUTTING;
    writer->put = world->n_puts;
    writer->if_version = put_of.if_version;
    writer->is_lost = writer->was_found = false;
    writer->tries = 0;
    put_of.name = writer->name;
    world->puts[writer->put] = put_of;
    put(client, writer);
}

/* Of any version, of none, or of the last one that it has seen. */
static struct put draw_put(struct world *world, const struct writer *writer)
{
    uint64_t versions[] = {HF_VERSION_ANY, 0, writer->seen[writer->name]};
    struct put put = {.if_version = versions[draw(world, 3)],
                      .number = world->n_puts + 1};
    put.deletes = put.if_version != 0 && draw(world, 2) == 0;
    return put;
}

static void begin(struct client *client, struct writer *writer)
{
    struct world *world = client->world;
    bool reads = draw(world, 4) == 0;
    writer->name = (unsigned)draw(world, NAMES);
    writer->tries = 0;
    writer->increments = !reads && (writer->name == 0 || draw(world, 3) == 0);
    if (reads || writer->increments) {
        writer->stage = WRITE_READING;
        get(client, writer);
    } else {
        begin_put(client, writer, draw_put(world, writer));
    }
}

static void act(struct client *client, struct writer *writer)
{
    switch (writer->stage) {
    case WRITE_IDLE:
        if (client->world->is_calm) {
            writer->timer = HF_NEVER;
        } else {
            begin(client, writer);
        }
        break;
    case WRITE_READING:
    case WRITE_FINDING:
        get(client, writer);
        break;
    case WRITE_PUTTING:
        put(client, writer);
        break;
    }
}

struct hf_instant writer_next(const struct client *client)
{
    struct hf_instant next = HF_NEVER;
    for (unsigned i = 0; i < WRITERS && client->world->plan->values; i++) {
        next = hf_instant_min(next, client->writers[i].timer);
    }
    return hf_instant_max(next, client->resumes);
}

void writer_step(struct client *client)
{
    for (unsigned i = 0; i < WRITERS && client->world->plan->values; i++) {
        struct writer *writer = &client->writers[i];
        if (!hf_instant_before(client->world->now, writer->timer)) {
            act(client, writer);
        }
    }
}

bool writer_is_idle(const struct client *client)
{
    bool is_idle = true;
    for (unsigned i = 0; i < WRITERS; i++) {
        is_idle &= client->writers[i].stage == WRITE_IDLE;
    }
    return is_idle;
}

/* ---- Answers ------------------------------------------------------------- */

static void rest(struct client *client, struct writer *writer)
{
    struct world *world = client->world;
    writer->stage = WRITE_IDLE;
    writer->timer = later_us(world, draw(world, PAUSE_US));
}

/* The answer of the put is unknown, for ever; or it was not executed. */
static void give_up(struct client *client, struct writer *writer)
{
    struct world *world = client->world;
    if (writer->is_lost) {
        world->report->unsure++;
        world->unsure += writer->name == 0;
    } else {
        judge_not_done(world, writer->put);
    }
    rest(client, writer);
}

static void again(struct client *client, struct writer *writer)
{
    struct world *world = client->world;
    if (++writer->tries < TRIES_MAX) {
        writer->timer = later_us(world, draw(world, AGAIN_US));
    } else if (writer->stage == WRITE_READING) {
        rest(client, writer);
    } else {
        give_up(client, writer);
    }
}

static void take_refused(struct client *client, struct writer *writer,
                         const struct hf_answer *answer)
{
    struct world *world = client->world;
    if (writer->is_lost) {
        give_up(client, writer);
        return;
    }
    judge_refused(world, writer, answer);
    writer->seen[writer->name] = answer->counter;
    if (writer->increments) {
        writer->stage = WRITE_READING;
        again(client, writer);
    } else {
        rest(client, writer);
    }
}

/* After a deletion. Then a copy of it would be executed. */
static bool may_be_true_again(uint64_t if_version)
{
    return if_version == HF_VERSION_ANY || if_version == 0;
}

static void take_put(struct client *client, struct writer *writer,
                     const struct hf_answer *answer)
{
    struct world *world = client->world;
    switch (answer->verdict) {
    case HF_VERDICT_OK:
        judge_done(world, writer, answer);
        writer->seen[writer->name] = answer->counter;
        rest(client, writer);
        return;
    case HF_VERDICT_REFUSED:
        take_refused(client, writer, answer);
        return;
    case HF_VERDICT_UNKNOWN:
        writer->is_lost = true;
        if (!writer->was_found && may_be_true_again(writer->if_version)) {
            writer->stage = WRITE_FINDING;
        }
        again(client, writer);
        return;
    case HF_VERDICT_ERROR:
    case HF_VERDICT_UNSENT:
        if (writer->is_lost || answer->verdict == HF_VERDICT_UNSENT) {
            again(client, writer);
        } else {
            give_up(client, writer);
        }
        return;
    case HF_VERDICT_QUEUED:
        violate(world, "PUT: it was queued");
        return;
    }
}

/* Only a value with its id says that the put was executed: then a copy that
 * names the version found confirms it. */
static void take_found(struct client *client, struct writer *writer,
                       const struct hf_answer *answer)
{
    char id[HF_WRITE_ID_LEN + 1];
    snprintf(id, sizeof(id), "%032x", writer->put);
    if (answer->owner_len == HF_WRITE_ID_LEN &&
        memcmp(answer->owner, id, HF_WRITE_ID_LEN) == 0) {
        client->world->report->settled++;
        writer->stage = WRITE_PUTTING;
        writer->was_found = true;
        writer->if_version = answer->counter;
        writer->timer = later_us(client->world, draw(client->world, AGAIN_US));
    } else {
        give_up(client, writer);
    }
}

static void take_got(struct client *client, struct writer *writer,
                     const struct hf_answer *answer)
{
    if (answer->verdict != HF_VERDICT_OK) {
        again(client, writer);
        return;
    }
    uint64_t number = judge_got(client->world, writer, answer);
    writer->seen[writer->name] = answer->counter;
    if (writer->stage == WRITE_FINDING) {
        take_found(client, writer, answer);
    } else if (writer->increments) {
        struct put put = {.if_version = answer->counter, .number = number + 1};
        begin_put(client, writer, put);
    } else {
        rest(client, writer);
    }
}

bool writer_answer(struct client *client, const struct hf_answer *answer)
{
    struct world *world = client->world;
    struct writer *writer = client->writers;
    while (writer < client->writers + WRITERS &&
           (writer->request.cookie == 0 ||
            writer->request.cookie != answer->cookie)) {
        writer++;
    }
    if (writer == client->writers + WRITERS) {
        return false;
    }
    writer->request.cookie = 0;
    if (answer->verdict == HF_VERDICT_OK &&
        (hf_instant_before(answer->sent, writer->request.asked) ||
         hf_instant_before(world->now, answer->sent))) {
        violate(world, "DEADLINE: not between request and answer");
    }
    if (writer->stage == WRITE_PUTTING) {
        take_put(client, writer, answer);
    } else {
        take_got(client, writer, answer);
    }
    return true;
}

/* ---- Life ---------------------------------------------------------------- */

void writer_open(struct client *client)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        client->writers[i].timer =
            later_us(client->world, draw(client->world, PAUSE_US));
    }
}

/* A put that is under way may be executed, or was. */
void writer_die(struct client *client)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        struct writer *writer = &client->writers[i];
        bool is_put =
            writer->stage == WRITE_PUTTING || writer->stage == WRITE_FINDING;
        writer->is_lost |=
            writer->stage == WRITE_PUTTING && writer->request.cookie != 0;
        if (is_put) {
            give_up(client, writer);
        } else {
            rest(client, writer);
        }
        writer->request.cookie = 0;
    }
}
