/* SPDX-License-Identifier: Apache-2.0 */
/* THE ORACLES OF VALUES: their claims are in ordered_world.h
 *
 * They keep each write that was executed, with the time for which it was the
 * last one of its name. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts --------------------------------------------------------------- */

/* The number of its put. */
static uint32_t put_of(const char *id)
{
    char digits[HF_WRITE_ID_LEN + 1] = {0};
    memcpy(digits, id, HF_WRITE_ID_LEN);
    return (uint32_t)strtoul(digits, NULL, 16);
}

static uint64_t number_of(const char *data, size_t len)
{
    char digits[MARK_LEN + 1] = {0};
    memcpy(digits, data, len);
    return strtoull(digits, NULL, 10);
}

/* ---- The writes of a name ------------------------------------------------ */

static const struct written *at(const struct world *world, unsigned index)
{
    return index == 0 ? NULL : &world->written[index - 1];
}

static bool is_deletion(const struct world *world,
                        const struct written *written)
{
    return world->puts[written->put].deletes;
}

static uint64_t version_of(const struct world *world, unsigned name)
{
    const struct written *last = at(world, world->last_written[name]);
    return last == NULL || is_deletion(world, last) ? 0 : last->revision;
}

/** The write with that version. @return NULL: no value has ever had it. */
static const struct written *find(const struct world *world, unsigned name,
                                  uint64_t version)
{
    const struct written *written = at(world, world->last_written[name]);
    while (written != NULL && written->revision > version) {
        written = at(world, written->before);
    }
    return written == NULL || written->revision != version ? NULL : written;
}

static bool was_last(const struct written *written, struct hf_instant since)
{
    return !hf_instant_before(written->until, since);
}

/* Was there a moment without a value since then? */
static bool was_none(const struct world *world, unsigned name,
                     struct hf_instant since)
{
    const struct written *written = at(world, world->last_written[name]);
    while (written != NULL && was_last(written, since) &&
           !is_deletion(world, written)) {
        if (written->before == 0) {
            return !hf_instant_before(written->since, since);
        }
        written = at(world, written->before);
    }
    return written == NULL || was_last(written, since);
}

/* ---- CAS ----------------------------------------------------------------- */

static void append(struct world *world, unsigned name, uint32_t put,
                   uint64_t revision)
{
    unsigned *last = &world->last_written[name];
    if (world->n_written == PUTS_MAX) {
        abort();
    }
    if (*last != 0) {
        world->written[*last - 1].until = world->now;
    }
    world->written[world->n_written] = (struct written){
        .put = put,
        .revision = revision,
        .before = *last,
        .since = world->now,
        .until = HF_NEVER,
    };
    *last = ++world->n_written;
}

void judge_written(struct world *world, unsigned name, const struct mark *value)
{
    uint32_t number = put_of(value->text);
    struct put *put = &world->puts[number];
    uint64_t version = version_of(world, name);
    if (put->name != name || put->deletes != (value->len == HF_WRITE_ID_LEN)) {
        violate(world, "CAS: it is no put of this name");
    }
    if (put->executed++ > 0) {
        violate(world, "CAS: a put is executed twice");
    }
    if (put->if_version != HF_VERSION_ANY && put->if_version != version) {
        violate(world, "CAS: it replaces another version than it names");
    }
    if (put->is_over) {
        violate(world, "PUT: one that was not executed is executed later");
    }
    world->report->recreated +=
        version == 0 && !put->deletes && world->last_written[name] != 0;
    append(world, name, number, value->revision);
}

void judge_removed(struct world *world, const struct mark *value)
{
    if (value->len != HF_WRITE_ID_LEN) {
        violate(world, "CAS: a value is removed");
    }
}

/* ---- PUT ----------------------------------------------------------------- */

void judge_done(struct world *world, const struct writer *writer,
                const struct hf_answer *answer)
{
    const struct put *put = &world->puts[writer->put];
    const struct written *written = find(world, writer->name, answer->counter);
    world->report->puts++;
    world->report->deletions += put->deletes;
    world->increments += writer->name == 0;
    if (answer->counter == 0 && put->deletes) {
        if (!was_none(world, writer->name, writer->request.asked)) {
            violate(world, "PUT: there was a value, and it is not deleted");
        }
        return;
    }
    if (written == NULL || written->put != writer->put) {
        violate(world, "PUT: OK, but no such write was executed");
    }
}

void judge_not_done(struct world *world, uint32_t number)
{
    struct put *put = &world->puts[number];
    put->is_over = true;
    if (put->executed > 0) {
        violate(world, "PUT: one that was not executed has been executed");
    }
}

void judge_refused(struct world *world, const struct writer *writer,
                   const struct hf_answer *answer)
{
    struct hf_instant asked = writer->request.asked;
    const struct written *written = find(world, writer->name, answer->counter);
    bool was_there = answer->counter == 0
                         ? was_none(world, writer->name, asked)
                         : written != NULL && was_last(written, asked) &&
                               !is_deletion(world, written);
    world->report->conflicts++;
    judge_not_done(world, writer->put);
    if (!was_there || answer->counter == writer->if_version) {
        violate(world, "PUT: it was refused for a version that was not there");
    }
}

/* ---- GET ----------------------------------------------------------------- */

static void judge_none(struct world *world, const struct writer *writer,
                       const struct hf_answer *answer)
{
    if (answer->value.data != NULL) {
        violate(world, "GET: a value without a version");
    }
    if (!was_none(world, writer->name, writer->request.asked)) {
        violate(world, "GET: a value is not found");
    }
}

uint64_t judge_got(struct world *world, const struct writer *writer,
                   const struct hf_answer *answer)
{
    struct hf_bytes data = answer->value;
    const struct written *written = find(world, writer->name, answer->counter);
    world->report->gets++;
    if (answer->counter == 0) {
        judge_none(world, writer, answer);
        return 0;
    }
    if (written == NULL || is_deletion(world, written) || data.data == NULL) {
        violate(world, "GET: no value has ever had this version");
        return 0;
    }
    uint64_t number = number_of(data.data, data.len);
    if (!was_last(written, writer->request.asked)) {
        violate(world, "GET: an older version than when it was asked for");
    }
    if (put_of(answer->owner) != written->put ||
        number != world->puts[written->put].number) {
        violate(world, "GET: the version of another value");
    }
    return number;
}

/* ---- COUNT --------------------------------------------------------------- */

void judge_count(struct world *world)
{
    const struct mark *value = &world->server.values[0];
    uint64_t count = 0;
    if (value->version != 0) {
        count = number_of(value->text + HF_WRITE_ID_LEN + 1,
                          value->len - HF_WRITE_ID_LEN - 1);
    }
    if (count < world->increments) {
        violate(world, "COUNT: an increment is lost");
    }
    if (count > world->increments + world->unsure) {
        violate(world, "COUNT: an increment is counted twice");
    }
}
