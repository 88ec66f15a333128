/* SPDX-License-Identifier: Apache-2.0 */
#include "world/world.h"

#include "base/assert.h"

#include <stdlib.h>

/* ---- The heap: earliest first, then in order of adding ----------------- */

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void rise(struct sim_event *heap, size_t at)
{
    struct sim_event event = heap[at];
    while (at > 0 && is_before(&event, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = event;
}

static void sink(struct sim_event *heap, size_t n)
{
    size_t at = 0;
    struct sim_event event = heap[0];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (child >= n || !is_before(&heap[child], &event)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = event;
}

uint64_t sim_world_at(struct sim_world *world, int64_t at_ns,
                      sim_event_fn *fire, void *object, uint64_t arg)
{
    HF_ASSERT(at_ns >= world->now_ns);
    if (world->n_events == world->cap_events) {
        world->cap_events =
            world->cap_events == 0 ? 256 : 2 * world->cap_events;
        world->events = realloc(world->events,
                                world->cap_events * sizeof(world->events[0]));
        HF_ASSERT(world->events != NULL);
    }
    world->events[world->n_events] =
        (struct sim_event){at_ns, ++world->order, fire, object, arg};
    rise(world->events, world->n_events++);
    return world->order;
}

struct sim_event sim_world_next(struct sim_world *world)
{
    struct sim_event event = world->events[0];
    world->events[0] = world->events[--world->n_events];
    if (world->n_events > 0) {
        sink(world->events, world->n_events);
    }
    return event;
}

/* ---- Memory that events carry ------------------------------------------ */

struct sim_kept {
    struct sim_kept *prev, *next;
};

void *sim_world_keep(struct sim_world *world, size_t size)
{
    struct sim_kept *kept = malloc(sizeof(*kept) + size);
    HF_ASSERT(kept != NULL);
    kept->prev = NULL;
    kept->next = world->kept;
    if (kept->next != NULL) {
        kept->next->prev = kept;
    }
    world->kept = kept;
    return kept + 1;
}

void sim_world_forget(struct sim_world *world, void *memory)
{
    struct sim_kept *kept = (struct sim_kept *)memory - 1;
    if (kept->prev != NULL) {
        kept->prev->next = kept->next;
    } else {
        world->kept = kept->next;
    }
    if (kept->next != NULL) {
        kept->next->prev = kept->prev;
    }
    free(kept);
}

void sim_world_fini(struct sim_world *world)
{
    while (world->kept != NULL) {
        sim_world_forget(world, world->kept + 1);
    }
    free(world->events);
}

/* ---- Notes ------------------------------------------------------------- */

void sim_world_note(struct sim_world *world, struct sim_note note)
{
    if (world->trace != NULL) {
        note.at_ns = world->now_ns;
        world->trace(world->trace_user, &note);
    }
}
