/* SPDX-License-Identifier: Apache-2.0 */
/* Source: The Unicode Standard 15.0, table 3-7, well-formed byte sequences. */
#include "utf8.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The second byte decides what the first alone does not. */
static bool is_second(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return is_tail(second);
    }
}

size_t cli_utf8_len(const unsigned char *p, size_t len)
{
    size_t n;
    if (len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        n = 2;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        n = 3;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        n = 4;
    } else {
        return 0;
    }
    if (len < n || !is_second(p[0], p[1])) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if (!is_tail(p[i])) {
            return 0;
        }
    }
    return n;
}

uint32_t cli_utf8_code(const unsigned char *p, size_t n)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & first_bits[n];
    for (size_t i = 1; i < n; i++) {
        code = code << 6 | (p[i] & 0x3f);
    }
    return code;
}

bool cli_utf8_is_unsafe(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0000, 0x001f},   /* C0 */
        {0x007f, 0x009f},   /* DEL, C1 */
        {0x061c, 0x061c},   /* Arabic letter mark */
        {0x180e, 0x180e},   /* Mongolian vowel separator: invisible */
        {0x200b, 0x200f},   /* zero width; marks of direction */
        {0x2028, 0x202e},   /* line, paragraph; embeddings, overrides */
        {0x2060, 0x206f},   /* invisible operators; isolates */
        {0xfeff, 0xfeff},   /* zero width no-break space */
        {0xfff9, 0xfffb},   /* interlinear annotation */
        {0xe0000, 0xe007f}, /* tags: invisible letters */
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}
