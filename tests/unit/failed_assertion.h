/* SPDX-License-Identifier: Apache-2.0 */
/* Which assertion a call fails. For programs that are linked with
 * -Wl,--wrap=hf_assert_failed: the call ends there, instead of the process. */
#ifndef HF_TESTS_FAILED_ASSERTION_H
#define HF_TESTS_FAILED_ASSERTION_H

#include <setjmp.h>
#include <stddef.h>

static jmp_buf failed_assertion_end;
static const char *failed_assertion_text;

_Noreturn void __wrap_hf_assert_failed(const char *what, const char *file,
                                       int line);
_Noreturn void __wrap_hf_assert_failed(const char *what, const char *file,
                                       int line)
{
    (void)file;
    (void)line;
    failed_assertion_text = what;
    longjmp(failed_assertion_end, 1);
}

/** @return the text of the assertion that `call` fails; NULL: none. */
static const char *failed_assertion(void (*call)(void *user), void *user)
{
    failed_assertion_text = NULL;
    if (setjmp(failed_assertion_end) == 0) {
        call(user);
    }
    return failed_assertion_text;
}

#endif
