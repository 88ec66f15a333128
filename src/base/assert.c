/* SPDX-License-Identifier: Apache-2.0 */
/* The message is written with write(2) alone: stdio takes a lock and
 * allocates, and the state of either may be what is broken. So a failed
 * assertion is reported also in a signal handler and in a forked child.
 * abort() runs no exit handlers, which would continue with that state. */
#include "base/assert.h"

#include "base/decimal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored; /* abort() follows */
}

_Noreturn void hf_assert_failed(const char *condition, const char *file,
                                int line)
{
    char digits[HF_DECIMAL_MAX + 1] = "";
    char *end = digits + HF_DECIMAL_MAX;
    put("holdfast: assertion failed: ");
    put(condition);
    put(" at ");
    put(file);
    put(":");
    put(hf_decimal_before(end, line < 0 ? 0 : (uint64_t)line));
    put("\n");
    abort();
}
