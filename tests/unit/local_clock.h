/* SPDX-License-Identifier: Apache-2.0 */
/* The clock jumps: leases are long enough for a slow machine, and are over all
 * the same. For one file of a program, linked with --wrap=hf_clock_now. Where
 * nothing waits it may stand still: then a lease of 20 ms lasts, too. */
#ifndef HF_TESTS_LOCAL_CLOCK_H
#define HF_TESTS_LOCAL_CLOCK_H

#include "io/clock.h"

static int64_t jumped_ns;
struct hf_instant __real_hf_clock_now(void);
struct hf_instant __wrap_hf_clock_now(void);

static int64_t still_ns; /* 0: it runs */

struct hf_instant __wrap_hf_clock_now(void)
{
    int64_t ns = still_ns != 0 ? still_ns : __real_hf_clock_now().ns;
    return (struct hf_instant){ns + jumped_ns};
}

static inline void jump_ms(int64_t ms)
{
    jumped_ns += ms * 1000000;
}

#endif
