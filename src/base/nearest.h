/* SPDX-License-Identifier: Apache-2.0 */
/* What was probably meant. */
#ifndef HF_BASE_NEAREST_H
#define HF_BASE_NEAREST_H

/* The entry of the NULL-terminated @p known with the fewest letters inserted,
 * left out, replaced or swapped; NULL if none is near enough to be meant. */
const char *hf_nearest(const char *word, const char *const *known);

#endif
