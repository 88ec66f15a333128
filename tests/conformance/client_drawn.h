/* SPDX-License-Identifier: Apache-2.0 */
/* On a slow server only a part of all failures is tried:
 *
 *   HF_TEST_EVERY=N    every N-th; without it, all
 *   HF_TEST_SEED=S     the first one is number S % N */
#ifndef CLIENT_DRAWN_H
#define CLIENT_DRAWN_H

#include <stdlib.h>

static inline unsigned drawn_number(const char *variable)
{
    const char *text = getenv(variable);
    return text == NULL ? 0 : (unsigned)strtoul(text, NULL, 10);
}

static inline unsigned drawn_every(void)
{
    unsigned every = drawn_number("HF_TEST_EVERY");
    return every == 0 ? 1 : every;
}

static inline unsigned drawn_first(void)
{
    return drawn_number("HF_TEST_SEED") % drawn_every();
}

#endif
