/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include "base/assert.h"

#include <stddef.h>
#include <string.h>

/* Longest word that is compared, in bytes: above every option, command and
 * parameter, so that the rows fit on the stack. */
#define WORD_MAX 31

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance, row by row. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    HF_ASSERT(a_len <= WORD_MAX && b_len <= WORD_MAX);
    for (unsigned j = 0; j <= b_len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        const unsigned *above = rows[(i - 1) % 3];
        unsigned *row = rows[i % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned differs = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1]) {
                unsigned swapped = rows[(i - 2) % 3][j - 2] + 1;
                row[j] = swapped < row[j] ? swapped : row[j];
            }
        }
    }
    return rows[a_len % 3][b_len];
}

const char *hf_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    size_t len = strlen(word);
    unsigned best_distance = (unsigned)(len / 3) + 2;
    if (len == 0 || len > WORD_MAX) {
        return NULL;
    }
    for (; *known != NULL; known++) {
        if (strlen(*known) > WORD_MAX) {
            continue;
        }
        unsigned d = distance(word, *known);
        if (d < best_distance) {
            best_distance = d;
            best = *known;
        }
    }
    return best;
}
