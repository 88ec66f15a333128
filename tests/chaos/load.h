/* SPDX-License-Identifier: Apache-2.0 */
/* The load of a client: numbers and pauses, drawn by a seed. */
#ifndef HF_TESTS_LOAD_H
#define HF_TESTS_LOAD_H

#include <stdint.h>

void load_seed(uint32_t seed);

/* A number below `below`: the same for a seed on every machine. */
uint32_t draw(uint32_t below);

/* Sleep for so many microseconds, or until a signal. */
void rest(int64_t us);

#endif
