/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that begin with the size that the caller was compiled with. */
#ifndef HF_BASE_SIZED_H
#define HF_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copy `size` bytes of a caller's struct to ours of `known` bytes. Members that
 * the caller's lacks become zero. @return false: ours lacks members that the
 * caller has set. */
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

/* Set a caller's struct of `size` bytes to ours; what ours lacks becomes
 * zero. */
static inline void hf_sized_write(void *out, size_t size, const void *from,
                                  size_t known)
{
    memset(out, 0, size);
    memcpy(out, from, size < known ? size : known);
}

#endif
