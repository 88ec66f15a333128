/* SPDX-License-Identifier: Apache-2.0 */
/* What a client keeps track of: attempts (struct hf_lock) and operations
 * (struct hf_op), as items in two tables.
 *
 * The slots give each item a cookie that comes back with a store's answer. A
 * cookie holds the slot's generation too, so that an answer which arrives after
 * its item is gone finds nothing. The heap says which item is due first. Room
 * in both is reserved when an item begins, so that nothing that happens to it
 * later can fail for want of memory. */
#ifndef HF_CLIENT_ITEM_H
#define HF_CLIENT_ITEM_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

/* Neither in a slot nor in the heap. */
#define HF_NOWHERE UINT32_MAX

enum hf_item_kind {
    HF_ITEM_LOCK, /* struct hf_lock: one attempt, one owner */
    HF_ITEM_OP,   /* struct hf_op: an acquisition and its retries */
    HF_ITEM_LOOK  /* struct hf_look: a question to all nodes */
};

struct hf_item {
    uint32_t slot;
    uint8_t kind; /* enum hf_item_kind */
};

struct hf_slot {
    struct hf_item *item; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

/* Slots never move: they come in blocks. */
#define HF_SLOTS_PER_BLOCK 256

struct hf_slots {
    struct hf_slot **blocks;
    uint32_t n_blocks;
    uint32_t first_free;
    uint32_t n_used;
};

void hf_slots_init(struct hf_slots *slots);
void hf_slots_fini(struct hf_slots *slots);

/* @return false: no memory. */
bool hf_slots_add(struct hf_slots *slots, struct hf_item *item);
void hf_slots_remove(struct hf_slots *slots, struct hf_item *item);

uint64_t hf_slots_cookie(const struct hf_slots *slots,
                         const struct hf_item *item);

/* The item of a cookie; NULL if it is gone. */
struct hf_item *hf_slots_find(const struct hf_slots *slots, uint64_t cookie);

/* For going through all: the item in slot `idx` or NULL; idx below the end. */
struct hf_item *hf_slots_at(const struct hf_slots *slots, uint32_t idx);
static inline uint32_t hf_slots_end(const struct hf_slots *slots)
{
    return slots->n_blocks * HF_SLOTS_PER_BLOCK;
}

/* Three arrays, and not one of structs with a pointer into each item: going up
 * and down touches no item, which would be a cache miss each. */
struct hf_heap {
    struct hf_instant *at; /* the heap: when, and whose slot */
    uint32_t *slots;
    uint32_t count;
    uint32_t capacity;
    uint32_t reserved; /* items that may enter */
    uint32_t *places;  /* by slot; HF_NOWHERE: not in it */
    uint32_t n_places;
};

void hf_heap_init(struct hf_heap *heap);
void hf_heap_fini(struct hf_heap *heap);

/* Room for one more item, which has its slot. @return false: no memory. */
bool hf_heap_reserve(struct hf_heap *heap, const struct hf_item *item);
void hf_heap_unreserve(struct hf_heap *heap);

/* The item is due at `at`; HF_NEVER takes it out. */
void hf_heap_set(struct hf_heap *heap, const struct hf_item *item,
                 struct hf_instant at);

/* When the first item is due; HF_NEVER if there is none. */
static inline struct hf_instant hf_heap_next(const struct hf_heap *heap)
{
    return heap->count == 0 ? HF_NEVER : heap->at[0];
}

/* Its slot. */
static inline uint32_t hf_heap_first(const struct hf_heap *heap)
{
    return heap->count == 0 ? HF_NOWHERE : heap->slots[0];
}

#endif
