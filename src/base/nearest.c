/* SPDX-License-Identifier: Apache-2.0 */
/* Damerau's distance (insert, delete, replace, swap neighbours) by dynamic
 * programming over three rows. Only short words are compared. */
#include "base/nearest.h"

#include "base/assert.h"

#include <string.h>

/* Longest word that is compared, in bytes: above every option, command and
 * parameter, so that the rows fit on the stack. */
#define WORD_MAX 40

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *a, size_t a_len, const char *b,
                         size_t b_len)
{
    unsigned rows[3][WORD_MAX + 1];
    HF_ASSERT(a_len <= WORD_MAX && b_len <= WORD_MAX);
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++) {
        above[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned replace = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(replace, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_len];
}

void hf_nearest_init(struct hf_nearest *nearest, const char *word, size_t len)
{
    *nearest = (struct hf_nearest){.word = word, .len = len};
}

void hf_nearest_try(struct hf_nearest *nearest, const char *known)
{
    size_t len = strlen(known);
    if (nearest->len > WORD_MAX || len > WORD_MAX) {
        return;
    }
    unsigned far = distance(nearest->word, nearest->len, known, len);
    /* Similar: at most a third of either differs, or one begins the other. */
    if (nearest->len >= 3 && nearest->len < len &&
        memcmp(known, nearest->word, nearest->len) == 0) {
        far = 1;
    }
    size_t shorter = len < nearest->len ? len : nearest->len;
    if (far > least(3, (unsigned)(shorter + 2) / 3)) {
        return;
    }
    if (nearest->best == NULL || far < nearest->distance) {
        nearest->best = known;
        nearest->distance = far;
    }
}

const char *hf_nearest(const char *word, const char *const *known)
{
    struct hf_nearest nearest;
    hf_nearest_init(&nearest, word, strlen(word));
    for (; *known != NULL; known++) {
        hf_nearest_try(&nearest, *known);
    }
    return nearest.best;
}
