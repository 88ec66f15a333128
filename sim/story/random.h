/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: the n-th draw of a stream depends on the seed,
 * the stream and n alone. Links, nodes and processes have streams of their own.
 */
#ifndef HF_SIM_RANDOM_H
#define HF_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* One stream. */
struct sim_random {
    uint64_t key;
    uint64_t n;
};

/* splitmix64's finalizer. */
static inline uint64_t sim_mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The beginning of a stream of this seed. Different streams are independent.
 */
static inline struct sim_random sim_random_of(uint64_t seed, uint64_t stream)
{
    return (struct sim_random){sim_mix(seed ^ sim_mix(stream)), 0};
}

/* The next draw: 64 bits, each equally likely. */
static inline uint64_t sim_draw(struct sim_random *random)
{
    return sim_mix(random->key + random->n++ * UINT64_C(0xd1342543de82ef95));
}

/* 0 to below - 1; 0, without a draw, if `below` is not positive. */
static inline int64_t sim_draw_below(struct sim_random *random, int64_t below)
{
    return below <= 0 ? 0 : (int64_t)(sim_draw(random) % (uint64_t)below);
}

/* Both ends included. */
static inline int64_t sim_draw_between(struct sim_random *random, int64_t least,
                                       int64_t most)
{
    return least + sim_draw_below(random, most - least + 1);
}

/* True in `ppm` of a million draws; 0 draws nothing. */
static inline bool sim_chance_ppm(struct sim_random *random, unsigned ppm)
{
    return ppm > 0 && sim_draw(random) % 1000000 < ppm;
}

#endif
