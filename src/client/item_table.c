/* SPDX-License-Identifier: Apache-2.0 */
/* THE TABLE OF LOCKS AND OPERATIONS (item.h has the calling sequence)
 *
 *     cookie = generation << 32 | index       cell[index] = item, generation
 *
 * A cell's generation is incremented when its item is removed. So a cookie
 * that a server returns late, or a second time, finds nothing, though its cell
 * is in use again: a cell would have to be used 2^32 times meanwhile.
 * Generations begin with 1, so 0 is no cookie of a new cell.
 *
 * Free cells are a list through the cells, last in first out, so the cells of
 * a client with few locks stay cached. Blocks are kept until the client is
 * closed.
 *
 * Cost: O(1) each; one malloc() and one realloc() for 256 items, none to find
 * or remove one. */
#include "client/item.h"

#include "base/assert.h"

#include <stdlib.h>

void hf_item_table_init(struct hf_item_table *table)
{
    *table = (struct hf_item_table){.first_free = HF_NOWHERE};
}

void hf_item_table_fini(struct hf_item_table *table)
{
    for (uint32_t i = 0; i < table->n_blocks; i++) {
        free(table->blocks[i]);
    }
    free(table->blocks);
    hf_item_table_init(table);
}

static struct hf_item_cell *cell_at(const struct hf_item_table *table,
                                    uint32_t idx)
{
    HF_ASSERT(idx < hf_item_table_limit(table));
    return &table->blocks[idx / HF_CELLS_PER_BLOCK][idx % HF_CELLS_PER_BLOCK];
}

static bool add_block(struct hf_item_table *table)
{
    struct hf_item_cell *block = malloc(HF_CELLS_PER_BLOCK * sizeof(*block));
    struct hf_item_cell **blocks = realloc(
        table->blocks, (table->n_blocks + 1) * sizeof(struct hf_item_cell *));
    if (blocks != NULL) {
        table->blocks = blocks;
    }
    if (block == NULL || blocks == NULL) {
        free(block);
        return false;
    }
    uint32_t first = hf_item_table_limit(table);
    for (uint32_t i = 0; i < HF_CELLS_PER_BLOCK; i++) {
        block[i] =
            (struct hf_item_cell){.generation = 1, .next_free = first + i + 1};
    }
    block[HF_CELLS_PER_BLOCK - 1].next_free = table->first_free;
    table->first_free = first;
    table->blocks[table->n_blocks++] = block;
    return true;
}

bool hf_item_table_add(struct hf_item_table *table, struct hf_item *item)
{
    if (table->first_free == HF_NOWHERE && !add_block(table)) {
        return false;
    }
    uint32_t idx = table->first_free;
    struct hf_item_cell *cell = cell_at(table, idx);
    HF_ASSERT(cell->item == NULL && item->idx == HF_NOWHERE);
    table->first_free = cell->next_free;
    table->n_used++;
    cell->item = item;
    item->idx = idx;
    return true;
}

void hf_item_table_remove(struct hf_item_table *table, struct hf_item *item)
{
    struct hf_item_cell *cell = cell_at(table, item->idx);
    HF_ASSERT(cell->item == item && table->n_used > 0);
    cell->item = NULL;
    cell->generation++;
    cell->next_free = table->first_free;
    table->first_free = item->idx;
    table->n_used--;
    item->idx = HF_NOWHERE;
}

uint64_t hf_item_table_cookie(const struct hf_item_table *table,
                              const struct hf_item *item)
{
    const struct hf_item_cell *cell = cell_at(table, item->idx);
    HF_ASSERT(cell->item == item);
    return (uint64_t)cell->generation << 32 | item->idx;
}

struct hf_item *hf_item_table_find(const struct hf_item_table *table,
                                   uint64_t cookie)
{
    uint32_t idx = (uint32_t)cookie;
    if (idx >= hf_item_table_limit(table)) {
        return NULL;
    }
    const struct hf_item_cell *cell = cell_at(table, idx);
    return cell->generation == (uint32_t)(cookie >> 32) ? cell->item : NULL;
}

struct hf_item *hf_item_table_at(const struct hf_item_table *table,
                                 uint32_t idx)
{
    return cell_at(table, idx)->item;
}
