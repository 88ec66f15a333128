/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the known word that a misspelled one is nearest to.
 *
 *     struct hf_nearest nearest;
 *     hf_nearest_init(&nearest, word, len);
 *     for each known word: hf_nearest_try(&nearest, known);
 *     nearest.best: the word to suggest, or NULL
 *
 * Pure: nothing is allocated or copied, so both texts live as long as it. */
#ifndef HF_BASE_NEAREST_H
#define HF_BASE_NEAREST_H

#include <stddef.h>

struct hf_nearest {
    const char *word; /* as typed */
    size_t len;
    const char *best; /* NULL: no known word is similar enough */
    unsigned distance;
};

/* @p len bytes of @p word; no NUL need follow. */
void hf_nearest_init(struct hf_nearest *nearest, const char *word, size_t len);

/* Consider one more known word. Of two that are equally near the first stays.
 */
void hf_nearest_try(struct hf_nearest *nearest, const char *known);

/* The nearest entry of the NULL-terminated @p known. NULL: none is similar. */
const char *hf_nearest(const char *word, const char *const *known);

#endif
