/* SPDX-License-Identifier: Apache-2.0 */
/* THE TIMERS OF ALL LOCKS AND OPERATIONS
 *
 * A heap with four children per entry: half as deep as a binary heap, and the
 * four keys that are compared are adjacent in memory. An array by index has the
 * position of each item, so that a renewal moves an item in O(log n) without a
 * search, and without touching other items: of 100,000, few are cached.
 *
 * Cost: O(1) to find the first, O(log n) to set or clear one. Memory is
 * reserved with the item, 16 bytes for each and doubled when full, so that
 * setting a timer needs none. */
#include "client/item.h"

#include "base/assert.h"

#include <stdlib.h>

/* Of an entry: see above. */
#define CHILDREN 4

/* Entries at first: enough for most clients, and a fraction of a page. */
#define CAPACITY_MIN 16

void hf_timer_heap_init(struct hf_timer_heap *heap)
{
    *heap = (struct hf_timer_heap){0};
}

void hf_timer_heap_fini(struct hf_timer_heap *heap)
{
    free(heap->at);
    free(heap->idx);
    free(heap->positions);
    hf_timer_heap_init(heap);
}

static uint32_t twice(uint32_t capacity)
{
    return capacity == 0 ? CAPACITY_MIN : 2 * capacity;
}

/* If the second array cannot grow, the first one is only larger than
 * `capacity` says: nothing is lost, and the next try succeeds or fails the
 * same way. */
static bool grow(struct hf_timer_heap *heap)
{
    uint32_t capacity = twice(heap->capacity);
    struct hf_instant *at = realloc(heap->at, capacity * sizeof(*at));
    if (at == NULL) {
        return false;
    }
    heap->at = at;
    uint32_t *idx = realloc(heap->idx, capacity * sizeof(*idx));
    if (idx == NULL) {
        return false;
    }
    heap->idx = idx;
    heap->capacity = capacity;
    return true;
}

static bool grow_positions(struct hf_timer_heap *heap, uint32_t idx)
{
    uint32_t n = heap->n_positions;
    while (n <= idx) {
        n = twice(n);
    }
    uint32_t *positions = realloc(heap->positions, n * sizeof(*positions));
    if (positions == NULL) {
        return false;
    }
    for (uint32_t i = heap->n_positions; i < n; i++) {
        positions[i] = HF_NOWHERE;
    }
    heap->positions = positions;
    heap->n_positions = n;
    return true;
}

bool hf_timer_heap_reserve(struct hf_timer_heap *heap,
                           const struct hf_item *item)
{
    HF_ASSERT(item->idx != HF_NOWHERE);
    if (heap->reserved == heap->capacity && !grow(heap)) {
        return false;
    }
    if (item->idx >= heap->n_positions && !grow_positions(heap, item->idx)) {
        return false;
    }
    HF_ASSERT(heap->positions[item->idx] == HF_NOWHERE);
    heap->reserved++;
    return true;
}

void hf_timer_heap_unreserve(struct hf_timer_heap *heap)
{
    HF_ASSERT(heap->reserved > heap->count);
    heap->reserved--;
}

static void put(struct hf_timer_heap *heap, uint32_t position,
                struct hf_instant at, uint32_t idx)
{
    HF_ASSERT(position < heap->count && idx < heap->n_positions);
    heap->at[position] = at;
    heap->idx[position] = idx;
    heap->positions[idx] = position;
}

static void rise(struct hf_timer_heap *heap, uint32_t position,
                 struct hf_instant at, uint32_t idx)
{
    while (position > 0) {
        uint32_t parent = (position - 1) / CHILDREN;
        if (!hf_instant_before(at, heap->at[parent])) {
            break;
        }
        put(heap, position, heap->at[parent], heap->idx[parent]);
        position = parent;
    }
    put(heap, position, at, idx);
}

static uint32_t first_child(const struct hf_timer_heap *heap, uint32_t position)
{
    uint32_t child = CHILDREN * position + 1;
    uint32_t end =
        child + CHILDREN < heap->count ? child + CHILDREN : heap->count;
    uint32_t first = child;
    for (uint32_t i = child + 1; i < end; i++) {
        if (hf_instant_before(heap->at[i], heap->at[first])) {
            first = i;
        }
    }
    return first;
}

static void sink(struct hf_timer_heap *heap, uint32_t position,
                 struct hf_instant at, uint32_t idx)
{
    while (CHILDREN * position + 1 < heap->count) {
        uint32_t child = first_child(heap, position);
        if (!hf_instant_before(heap->at[child], at)) {
            break;
        }
        put(heap, position, heap->at[child], heap->idx[child]);
        position = child;
    }
    put(heap, position, at, idx);
}

static void settle(struct hf_timer_heap *heap, uint32_t position,
                   struct hf_instant at, uint32_t idx)
{
    if (position > 0 &&
        hf_instant_before(at, heap->at[(position - 1) / CHILDREN])) {
        rise(heap, position, at, idx);
    } else {
        sink(heap, position, at, idx);
    }
}

static void take_out(struct hf_timer_heap *heap, uint32_t position)
{
    HF_ASSERT(position < heap->count);
    uint32_t last = --heap->count;
    heap->positions[heap->idx[position]] = HF_NOWHERE;
    if (last != position) {
        settle(heap, position, heap->at[last], heap->idx[last]);
    }
}

void hf_timer_heap_set(struct hf_timer_heap *heap, const struct hf_item *item,
                       struct hf_instant at)
{
    uint32_t idx = item->idx;
    HF_ASSERT(idx < heap->n_positions);
    uint32_t position = heap->positions[idx];
    HF_ASSERT(position == HF_NOWHERE || heap->idx[position] == idx);
    if (hf_instant_is_never(at)) {
        if (position != HF_NOWHERE) {
            take_out(heap, position);
        }
    } else if (position == HF_NOWHERE) {
        HF_ASSERT(heap->count < heap->reserved);
        rise(heap, heap->count++, at, idx);
    } else if (heap->at[position].ns != at.ns) {
        settle(heap, position, at, idx);
    }
}
