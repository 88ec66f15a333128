/* SPDX-License-Identifier: Apache-2.0 */
/* The two tables of a client. Their items are attempts (struct hf_lock) and
 * operations (struct hf_op), which contain a struct hf_item.
 *
 * The item table gives each item a cookie, which the store returns with its
 * reply. A cookie has the item's index and the generation of the cell there, so
 * a reply that arrives after its item was freed finds nothing. The heap orders
 * the items by due time. Room in both is reserved when an item begins, so that
 * no later step of it can run out of memory.
 *
 *     hf_item_table_add(&items, &lock->item);        an attempt begins
 *     hf_timer_heap_reserve(&heap, &lock->item);     needs its index
 *     ask.cookie = hf_item_table_cookie(&items, &lock->item);
 *     item = hf_item_table_find(&items, answer->cookie);      NULL: drop it
 *     hf_timer_heap_set(&heap, &lock->item, at);     as often as it changes
 *     hf_timer_heap_set(&heap, &lock->item, HF_NEVER);        it ends
 *     hf_timer_heap_unreserve(&heap);
 *     hf_item_table_remove(&items, &lock->item);     its cookies are void
 *
 * Owner: the caller allocates and frees items; the tables point to them, and
 * an item is in both until it is removed. Threads: the client's mutex is held.
 * Errors: add and reserve may lack memory, and then change nothing; nothing
 * else fails. Time: O(1) by index, O(log n) in the heap. */
#ifndef HF_CLIENT_ITEM_H
#define HF_CLIENT_ITEM_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

/* Neither in the table nor in the heap. */
#define HF_NOWHERE UINT32_MAX

enum hf_item_kind {
    HF_ITEM_LOCK, /* struct hf_lock: one attempt, one owner */
    HF_ITEM_OP,   /* struct hf_op: an acquisition and its retries */
    HF_ITEM_QUERY /* struct hf_broadcast: a query to all nodes */
};

struct hf_item {
    uint32_t idx; /* in the table */
    uint8_t kind; /* enum hf_item_kind */
};

struct hf_item_cell {
    struct hf_item *item; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

/* Cells are allocated in blocks, so they never move. A block has 4 KiB. */
#define HF_CELLS_PER_BLOCK 256

/* The client's items by cookie. Free cells are linked by index from
 * `first_free`, so each call takes constant time. */
struct hf_item_table {
    struct hf_item_cell **blocks;
    uint32_t n_blocks;
    uint32_t first_free;
    uint32_t n_used;
};

/* Without items, and without memory. */
void hf_item_table_init(struct hf_item_table *table);

/* Free the cells; the items are the caller's. Without items again. */
void hf_item_table_fini(struct hf_item_table *table);

/** @return false: no memory. */
bool hf_item_table_add(struct hf_item_table *table, struct hf_item *item);

/* Take the item out: its cookie finds nothing from now on, also when another
 * item has its cell. */
void hf_item_table_remove(struct hf_item_table *table, struct hf_item *item);

/* The cookie of an item of the table, which a store returns with each reply.
 * Unlike a pointer it is never that of a later item. */
uint64_t hf_item_table_cookie(const struct hf_item_table *table,
                              const struct hf_item *item);

/* The item of a cookie; NULL if it was removed. */
struct hf_item *hf_item_table_find(const struct hf_item_table *table,
                                   uint64_t cookie);

/* For iterating: the item at `idx`, or NULL; idx < hf_item_table_limit().
 */
struct hf_item *hf_item_table_at(const struct hf_item_table *table,
                                 uint32_t idx);

/* Cells of the table, free ones too; it never shrinks. */
static inline uint32_t hf_item_table_limit(const struct hf_item_table *table)
{
    return table->n_blocks * HF_CELLS_PER_BLOCK;
}

/* Three arrays, and no index inside the items: sifting touches no item, since
 * each would be a cache miss. */
struct hf_timer_heap {
    struct hf_instant *at; /* the heap: due time and index of each item */
    uint32_t *idx;
    uint32_t count;
    uint32_t capacity;
    uint32_t reserved;   /* items that may enter */
    uint32_t *positions; /* position in the heap, by index; or HF_NOWHERE */
    uint32_t n_positions;
};

/* Without items, and without memory. */
void hf_timer_heap_init(struct hf_timer_heap *heap);

/* Free the arrays. Without items again. */
void hf_timer_heap_fini(struct hf_timer_heap *heap);

/** Reserve room for `item`, which has its index. @return false: no memory. */
bool hf_timer_heap_reserve(struct hf_timer_heap *heap,
                           const struct hf_item *item);

/* Give back the room of one item, which has no due time. */
void hf_timer_heap_unreserve(struct hf_timer_heap *heap);

/* Set the due time of the item; HF_NEVER removes it. */
void hf_timer_heap_set(struct hf_timer_heap *heap, const struct hf_item *item,
                       struct hf_instant at);

/* When the first item is due; HF_NEVER if there is none. */
static inline struct hf_instant
hf_timer_heap_next(const struct hf_timer_heap *heap)
{
    return heap->count == 0 ? HF_NEVER : heap->at[0];
}

/* The index of that item in the table. */
static inline uint32_t hf_timer_heap_first(const struct hf_timer_heap *heap)
{
    return heap->count == 0 ? HF_NOWHERE : heap->idx[0];
}

#endif
