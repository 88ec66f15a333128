/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as decimal digits, without stdio: in the core, on the path of each
 * request, and in signal handlers. */
#ifndef HF_DECIMAL_H
#define HF_DECIMAL_H

#include <stdint.h>

/* Most digits of a number of 64 bits. */
#define HF_DECIMAL_MAX 20
_Static_assert(UINT64_MAX / 10000000000U / 1000000000U == 1, "20 digits");

/** Write a number so that its last digit is before `end`. @return its first
 * digit. */
static inline char *hf_decimal_before(char *end, uint64_t number)
{
    while (number >= 100) { /* two digits a division */
        unsigned pair = (unsigned)(number % 100);
        number /= 100;
        *--end = (char)('0' + pair % 10);
        *--end = (char)('0' + pair / 10);
    }
    if (number >= 10) {
        *--end = (char)('0' + number % 10);
        number /= 10;
    }
    *--end = (char)('0' + number);
    return end;
}

#endif
