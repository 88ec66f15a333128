/* SPDX-License-Identifier: Apache-2.0 */
/* WATCHES
 *
 * A watch has a connection of its own: its events come late, twice or never. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

static void tell(struct hf_wire_watch *watch, struct heard heard)
{
    struct world *world = watch->wire->world;
    struct heard **end = &watch->heard;
    struct heard *copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        abort();
    }
    heard.at = later_us(world, wire_delay_us(world));
    while (*end != NULL) {
        heard.at = hf_instant_max(heard.at, (*end)->at);
        end = &(*end)->next;
    }
    *copy = heard;
    copy->next = NULL;
    *end = copy;
}

/* Only the end of its entry; of that, the moment is not always known. */
static void report(struct hf_wire_watch *watch, const struct end *end)
{
    struct world *world = watch->wire->world;
    bool is_bad = world->plan->deaf && !world->is_calm;
    bool is_bare = watch->number != 0 && world->plan->stays;
    struct heard heard = {.number = end->number,
                          .revision = is_bare ? 0 : end->revision};
    if (watch->name != end->name || end->revision <= watch->revision ||
        (watch->number != 0 && watch->number != end->number)) {
        return;
    }
    if (is_bad && draw(world, 20) == 0) {
        world->report->unheard++;
        return;
    }
    if (is_bad && draw(world, 20) == 0) {
        heard.number = 0; /* compacted */
    }
    tell(watch, heard);
    if (is_bad && draw(world, 20) == 0) {
        tell(watch, heard);
    }
}

bool call_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                void *user, struct hf_instant now, struct hf_wire_watch **out)
{
    struct world *world = wire->world;
    const struct server *server = &world->server;
    struct hf_wire_watch *watch = calloc(1, sizeof(*watch));
    unsigned entry = 0;
    (void)now;
    if (watch == NULL) {
        abort();
    }
    *watch = (struct hf_wire_watch){
        .next = wire->watches,
        .wire = wire,
        .name = (unsigned)(*(const char *)scope->name.data - 'a'),
        .revision = scope->revision,
        .user = user,
    };
    if (scope->id.len > 0) {
        memcpy(&entry, scope->id.data, sizeof(entry));
        watch->number = server->entries[entry].number;
        world->report->narrow++;
    }
    judge_watch(&world->clients[wire->client], user, scope);
    wire->watches = watch;
    unsigned first = server->n_ends > ENDS_MAX ? server->n_ends - ENDS_MAX : 0;
    for (unsigned i = first; i < server->n_ends; i++) {
        report(watch, &server->ends[i % ENDS_MAX]);
    }
    *out = watch;
    return true;
}

void call_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch)
{
    struct hf_wire_watch **at = &wire->watches;
    while (*at != watch) {
        at = &(*at)->next;
    }
    *at = watch->next;
    while (watch->heard != NULL) {
        struct heard *heard = watch->heard;
        watch->heard = heard->next;
        free(heard);
    }
    free(watch);
}

void wire_publish(struct world *world, const struct end *end)
{
    for (unsigned i = 0; i < world->plan->n_clients; i++) {
        struct hf_wire_watch *watch = world->clients[i].wire.watches;
        for (; watch != NULL; watch = watch->next) {
            report(watch, end);
        }
    }
}

void wire_cancel_watch(struct client *client)
{
    struct hf_wire_watch *watch = client->wire.watches;
    if (watch != NULL) {
        tell(watch, (struct heard){.is_end = true});
    }
}

static struct end *find_end(struct server *server, uint64_t number)
{
    unsigned first = server->n_ends > ENDS_MAX ? server->n_ends - ENDS_MAX : 0;
    for (unsigned i = server->n_ends; i-- > first;) {
        if (number != 0 && server->ends[i % ENDS_MAX].number == number) {
            return &server->ends[i % ENDS_MAX];
        }
    }
    return NULL;
}

void watch_hear(struct client *client, struct hf_wire_watch *watch)
{
    struct world *world = client->world;
    struct heard heard = *watch->heard;
    free(watch->heard);
    watch->heard = heard.next;
    world->is_dispatching = true;
    if (heard.is_end) {
        void *user = watch->user;
        call_unwatch(&client->wire, watch);
        hf_ordered_unwatched(&client->ordered, user, world->now);
    } else {
        world->hearing = find_end(&world->server, heard.number);
        hf_ordered_ended(&client->ordered, watch->user, heard.number,
                         heard.revision, world->now);
        world->hearing = NULL;
    }
    hf_ordered_check(&client->ordered);
    world->is_dispatching = false;
}
