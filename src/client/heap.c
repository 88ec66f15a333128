/* SPDX-License-Identifier: Apache-2.0 */
/* WHO IS DUE FIRST
 *
 * A heap with four children per entry: half as deep as a binary one, and the
 * four keys that are compared lie in one cache line. An item knows its place,
 * so that a renewal moves it in O(log n) without searching. The keys are in the
 * array itself: going down touches no item but those that move. */
#include "client/item.h"

#include "base/assert.h"

#include <stdlib.h>

#define CHILDREN 4
#define CAPACITY_MIN 16

void hf_heap_init(struct hf_heap *heap)
{
    *heap = (struct hf_heap){0};
}

void hf_heap_fini(struct hf_heap *heap)
{
    free(heap->entries);
    hf_heap_init(heap);
}

bool hf_heap_reserve(struct hf_heap *heap)
{
    if (heap->reserved == heap->capacity) {
        uint32_t capacity =
            heap->capacity == 0 ? CAPACITY_MIN : 2 * heap->capacity;
        struct hf_heap_entry *entries =
            realloc(heap->entries, capacity * sizeof(*entries));
        if (entries == NULL) {
            return false;
        }
        heap->entries = entries;
        heap->capacity = capacity;
    }
    heap->reserved++;
    return true;
}

void hf_heap_unreserve(struct hf_heap *heap)
{
    HF_ASSERT(heap->reserved > heap->count || heap->count == 0);
    HF_ASSERT(heap->reserved > 0);
    heap->reserved--;
}

static void put(struct hf_heap *heap, uint32_t place,
                struct hf_heap_entry entry)
{
    heap->entries[place] = entry;
    entry.item->place = place;
}

static void rise(struct hf_heap *heap, uint32_t place,
                 struct hf_heap_entry entry)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / CHILDREN;
        if (!hf_instant_before(entry.at, heap->entries[parent].at)) {
            break;
        }
        put(heap, place, heap->entries[parent]);
        place = parent;
    }
    put(heap, place, entry);
}

static uint32_t first_child(const struct hf_heap *heap, uint32_t place)
{
    uint32_t child = CHILDREN * place + 1;
    uint32_t end =
        child + CHILDREN < heap->count ? child + CHILDREN : heap->count;
    uint32_t first = child;
    for (uint32_t i = child + 1; i < end; i++) {
        if (hf_instant_before(heap->entries[i].at, heap->entries[first].at)) {
            first = i;
        }
    }
    return first;
}

static void sink(struct hf_heap *heap, uint32_t place,
                 struct hf_heap_entry entry)
{
    while (CHILDREN * place + 1 < heap->count) {
        uint32_t child = first_child(heap, place);
        if (!hf_instant_before(heap->entries[child].at, entry.at)) {
            break;
        }
        put(heap, place, heap->entries[child]);
        place = child;
    }
    put(heap, place, entry);
}

static void settle(struct hf_heap *heap, uint32_t place,
                   struct hf_heap_entry entry)
{
    if (place > 0 &&
        hf_instant_before(entry.at, heap->entries[(place - 1) / CHILDREN].at)) {
        rise(heap, place, entry);
    } else {
        sink(heap, place, entry);
    }
}

static void take_out(struct hf_heap *heap, struct hf_item *item)
{
    uint32_t place = item->place;
    struct hf_heap_entry last = heap->entries[--heap->count];
    item->place = HF_NOWHERE;
    if (last.item != item) {
        settle(heap, place, last);
    }
}

void hf_heap_set(struct hf_heap *heap, struct hf_item *item,
                 struct hf_instant at)
{
    struct hf_heap_entry entry = {at, item};
    if (at.ns == HF_NEVER.ns) {
        if (item->place != HF_NOWHERE) {
            take_out(heap, item);
        }
        return;
    }
    if (item->place == HF_NOWHERE) {
        HF_ASSERT(heap->count < heap->reserved);
        rise(heap, heap->count++, entry);
        return;
    }
    HF_ASSERT(heap->entries[item->place].item == item);
    if (heap->entries[item->place].at.ns != at.ns) {
        settle(heap, item->place, entry);
    }
}
