/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the public API that begin with their size, as compiled into the
 * caller, so that a later version can add members. */
#ifndef HF_BASE_SIZED_H
#define HF_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** Copy `size` bytes of a caller's struct to ours of `known` bytes. Members
 * that the caller's struct lacks become zero. @return false: the caller has set
 * members that our struct lacks. */
static inline bool hf_sized_read(void *out, size_t known, const void *from,
                                 size_t size)
{
    const unsigned char *bytes = from;
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    memset(out, 0, known);
    memcpy(out, from, size < known ? size : known);
    return true;
}

/* Copy our struct of `known` bytes to a caller's of `size` bytes. Members that
 * our struct lacks become zero. */
static inline void hf_sized_write(void *out, size_t size, const void *from,
                                  size_t known)
{
    memset(out, 0, size);
    memcpy(out, from, size < known ? size : known);
}

#endif
