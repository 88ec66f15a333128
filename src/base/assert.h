/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions, also in release builds: a lock library that continues with
 * corrupt state is worse than one that stops. For bugs of the library only;
 * invalid arguments of the public API return HF_INVALID. */
#ifndef HF_BASE_ASSERT_H
#define HF_BASE_ASSERT_H

/* For HF_ASSERT: write the condition and its place to stderr, and abort.
 * Allocates nothing, takes no lock. */
_Noreturn void hf_assert_failed(const char *condition, const char *file,
                                int line);

#define HF_ASSERT(condition)                                                   \
    do {                                                                       \
        if (__builtin_expect(!(condition), 0)) {                               \
            hf_assert_failed(#condition, __FILE__, __LINE__);                  \
        }                                                                      \
    } while (0)

#endif
