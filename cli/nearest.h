/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean …?": the nearest of some words. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct cli_nearest {
    const char *word; /* as typed */
    size_t len;
    const char *best; /* NULL: no known word is similar enough */
    unsigned distance;
};

void cli_nearest_init(struct cli_nearest *nearest, const char *word,
                      size_t len);

/* Consider one more known word. */
void cli_nearest_try(struct cli_nearest *nearest, const char *known);

#endif
