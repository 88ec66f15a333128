/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions, always on: a lock library that goes on with corrupt state is
 * worse than one that stops. For programmers' mistakes inside the library; a
 * mistake at the public door is HF_INVALID instead. */
#ifndef HF_BASE_ASSERT_H
#define HF_BASE_ASSERT_H

_Noreturn void hf_assert_failed(const char *what, const char *file, int line);

#define HF_ASSERT(condition)                                                   \
    do {                                                                       \
        if (__builtin_expect(!(condition), 0)) {                               \
            hf_assert_failed(#condition, __FILE__, __LINE__);                  \
        }                                                                      \
    } while (0)

#endif
