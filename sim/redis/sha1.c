/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/sha1.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64U /* bytes: FIPS 180-4, 512 bits */

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static void expand(uint32_t w[80], const uint8_t *block)
{
    for (unsigned i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * (size_t)i;
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
               (uint32_t)at[2] << 8 | at[3];
    }
    for (unsigned i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999U;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1U;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
    default:
        return (b ^ c ^ d) + 0xca62c1d6U;
    }
}

static void step(uint32_t state[5], const uint8_t *block)
{
    uint32_t w[80];
    expand(w, block);
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    uint32_t e = state[4];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sim_sha1_hex(char out[41], const void *data, size_t len)
{
    uint32_t state[5] = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U,
                         0xc3d2e1f0U};
    const uint8_t *at = data;
    size_t left = len;
    for (; left >= BLOCK; left -= BLOCK, at += BLOCK) {
        step(state, at);
    }
    uint8_t tail[2 * BLOCK] = {0};
    if (left > 0) {
        memcpy(tail, at, left);
    }
    tail[left] = 0x80;
    size_t padded = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
    for (unsigned i = 0; i < 8; i++) {
        tail[padded - 1 - i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
    }
    for (size_t done = 0; done < padded; done += BLOCK) {
        step(state, tail + done);
    }
    for (unsigned i = 0; i < 40; i++) {
        unsigned nibble = state[i / 8] >> (28 - 4 * (i % 8)) & 0xf;
        out[i] = "0123456789abcdef"[nibble];
    }
    out[40] = '\0';
}
