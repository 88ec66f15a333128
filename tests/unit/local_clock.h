/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that tests set forward: leases are long enough for a slow machine,
 * and yet a test need not wait for their end. For one file of a program that is
 * linked with --wrap=hf_clock_now. If no process waits, the clock may stand
 * still: then a lease of 20 ms does not expire, either. */
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
