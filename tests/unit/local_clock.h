/* SPDX-License-Identifier: Apache-2.0 */
/* The clock jumps: leases are long enough for a slow machine, and are over all
 * the same. For one file of a program, linked with --wrap=hf_clock_now. */
#ifndef HF_TESTS_LOCAL_CLOCK_H
#define HF_TESTS_LOCAL_CLOCK_H

#include "io/clock.h"

static int64_t jumped_ns;
struct hf_instant __real_hf_clock_now(void);
struct hf_instant __wrap_hf_clock_now(void);

struct hf_instant __wrap_hf_clock_now(void)
{
    return (struct hf_instant){__real_hf_clock_now().ns + jumped_ns};
}

static inline void jump_ms(int64_t ms)
{
    jumped_ns += ms * 1000000;
}

#endif
