/* SPDX-License-Identifier: Apache-2.0 */
/* Source: The Unicode Standard 15.0, table 3-7, well-formed byte sequences;
 * EastAsianWidth.txt. */
#include "utf8.h"

struct range {
    uint32_t first, last;
};

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The second byte decides where the first alone does not. */
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

static bool is_in(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

bool cli_utf8_is_unsafe(uint32_t code)
{
    static const struct range ranges[] = {
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
    return is_in(code, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

bool cli_utf8_is_safe(const void *text, size_t len)
{
    const unsigned char *p = text;
    for (size_t i = 0; i < len;) {
        size_t n = cli_utf8_len(p + i, len - i);
        if (n == 0 || cli_utf8_is_unsafe(cli_utf8_code(p + i, n))) {
            return false;
        }
        i += n;
    }
    return true;
}

size_t cli_utf8_columns(uint32_t code)
{
    static const struct range none[] = {
        {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    /* Blocks as a whole, where nearly all of one is wide: a line may be cut
     * early, but does not wrap. */
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},
        {0x23e9, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
        {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},
        {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},
        {0x26c4, 0x26c5},   {0x26ce, 0x26ce},   {0x26d4, 0x26d4},
        {0x26ea, 0x26ea},   {0x26f2, 0x26fd},   {0x2705, 0x2705},
        {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274e},
        {0x2753, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27bf},
        {0x2b1b, 0x2b1c},   {0x2b50, 0x2b55},   {0x2e80, 0xa4cf},
        {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
        {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff},
        {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a},
        {0x1f200, 0x1faff}, {0x20000, 0x3fffd},
    };
    if (code < 0x0300) {
        return 1;
    }
    if (is_in(code, none, sizeof(none) / sizeof(none[0]))) {
        return 0;
    }
    return is_in(code, wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}
