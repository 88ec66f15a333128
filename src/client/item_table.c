/* SPDX-License-Identifier: Apache-2.0 */
#include "client/item.h"

#include "base/assert.h"

#include <stdlib.h>

void hf_item_table_init(struct hf_item_table *slots)
{
    *slots = (struct hf_item_table){.first_free = HF_NOWHERE};
}

void hf_item_table_fini(struct hf_item_table *slots)
{
    for (uint32_t i = 0; i < slots->n_blocks; i++) {
        free(slots->blocks[i]);
    }
    free(slots->blocks);
    hf_item_table_init(slots);
}

static struct hf_handle_slot *slot_at(const struct hf_item_table *slots,
                                      uint32_t idx)
{
    HF_ASSERT(idx < hf_item_table_end(slots));
    return &slots->blocks[idx / HF_SLOTS_PER_BLOCK][idx % HF_SLOTS_PER_BLOCK];
}

static bool add_block(struct hf_item_table *slots)
{
    struct hf_handle_slot *block = malloc(HF_SLOTS_PER_BLOCK * sizeof(*block));
    struct hf_handle_slot **blocks = realloc(
        slots->blocks, (slots->n_blocks + 1) * sizeof(struct hf_handle_slot *));
    if (blocks != NULL) {
        slots->blocks = blocks;
    }
    if (block == NULL || blocks == NULL) {
        free(block);
        return false;
    }
    uint32_t first = hf_item_table_end(slots);
    for (uint32_t i = 0; i < HF_SLOTS_PER_BLOCK; i++) {
        block[i] = (struct hf_handle_slot){.generation = 1,
                                           .next_free = first + i + 1};
    }
    block[HF_SLOTS_PER_BLOCK - 1].next_free = slots->first_free;
    slots->first_free = first;
    slots->blocks[slots->n_blocks++] = block;
    return true;
}

bool hf_item_table_add(struct hf_item_table *slots, struct hf_item *item)
{
    if (slots->first_free == HF_NOWHERE && !add_block(slots)) {
        return false;
    }
    uint32_t idx = slots->first_free;
    struct hf_handle_slot *slot = slot_at(slots, idx);
    slots->first_free = slot->next_free;
    slots->n_used++;
    slot->item = item;
    item->slot = idx;
    return true;
}

void hf_item_table_remove(struct hf_item_table *slots, struct hf_item *item)
{
    struct hf_handle_slot *slot = slot_at(slots, item->slot);
    HF_ASSERT(slot->item == item);
    slot->item = NULL;
    slot->generation++;
    slot->next_free = slots->first_free;
    slots->first_free = item->slot;
    slots->n_used--;
    item->slot = HF_NOWHERE;
}

uint64_t hf_item_table_cookie(const struct hf_item_table *slots,
                              const struct hf_item *item)
{
    return (uint64_t)slot_at(slots, item->slot)->generation << 32 | item->slot;
}

struct hf_item *hf_item_table_find(const struct hf_item_table *slots,
                                   uint64_t cookie)
{
    uint32_t idx = (uint32_t)cookie;
    if (idx >= hf_item_table_end(slots)) {
        return NULL;
    }
    const struct hf_handle_slot *slot = slot_at(slots, idx);
    return slot->generation == (uint32_t)(cookie >> 32) ? slot->item : NULL;
}

struct hf_item *hf_item_table_at(const struct hf_item_table *slots,
                                 uint32_t idx)
{
    return slot_at(slots, idx)->item;
}
