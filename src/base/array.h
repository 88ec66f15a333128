/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling, so that n items cost O(n) in all.
 *
 *     struct item *items = hf_array_reserve(list->items, &list->capacity,
 *                                           list->count + 1, sizeof(*items));
 *     if (items == NULL) {
 *         return false;
 *     }
 *     list->items = items;
 *     list->items[list->count++] = item;
 *
 * Not for secrets: realloc() leaves a copy of the old array in freed memory. */
#ifndef HF_BASE_ARRAY_H
#define HF_BASE_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

/* Items at first: one line of a cache for pointers. */
#define HF_ARRAY_FIRST 8

/** Make room for `need` items of `size` bytes in an array, which has room for
 * *capacity; NULL has none.
 * @return the array, which may have moved; NULL: no memory, or more bytes than
 * an object can have. Then it stays as it is, and so does *capacity. */
static inline void *hf_array_reserve(void *items, size_t *capacity, size_t need,
                                     size_t size)
{
    size_t room = *capacity < HF_ARRAY_FIRST ? HF_ARRAY_FIRST : *capacity;
    if (items != NULL && need <= *capacity) {
        return items;
    }
    if (need > PTRDIFF_MAX / 2 / size) {
        return NULL;
    }
    while (room < need) { /* ends below 2 * need */
        room *= 2;
    }
    void *grown = realloc(items, room * size);
    if (grown != NULL) {
        *capacity = room;
    }
    return grown;
}

#endif
