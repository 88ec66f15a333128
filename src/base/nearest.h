/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for a misspelled word. */
#ifndef HF_BASE_NEAREST_H
#define HF_BASE_NEAREST_H

/* The entry of the NULL-terminated @p known with the least edit distance:
 * letters inserted, deleted, replaced or swapped. NULL: none is similar. */
const char *hf_nearest(const char *word, const char *const *known);

#endif
