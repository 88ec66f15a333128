/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <time.h>

static uint32_t draws;

void load_seed(uint32_t seed)
{
    draws = seed;
}

/* A linear congruential generator, of which the upper bits are used. */
uint32_t draw(uint32_t below)
{
    draws = draws * 1664525U + 1013904223U;
    return (draws >> 8) % below;
}

void rest(int64_t us)
{
    struct timespec time = {.tv_sec = us / 1000000,
                            .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL); /* sleeps: the load, drawn by the seed */
}
