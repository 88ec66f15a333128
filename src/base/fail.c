/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of errors often quote a server or a file, so each is cut to its room
 * and loses its control characters: it cannot end the line, or send a sequence
 * to a terminal. Bytes from 0x80 on stay, since they may be UTF-8.
 *
 * No allocation: an error can be reported when memory has run out. The text of
 * an errno is static and in English: strerror() may use a buffer that another
 * thread overwrites. */
#include "base/fail.h"

#include "base/assert.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hf_error_make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7f) {
            *text = '?';
        }
    }
}

enum hf_status hf_fail(struct hf_error *error, enum hf_status status,
                       const char *format, ...)
{
    HF_ASSERT(status != HF_OK); /* the caller returns it as a failure */
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof(error->text), format, arguments);
        va_end(arguments);
        hf_error_make_plain(error->text);
        error->status = status;
        error->node = -1;
    }
    return status;
}

const char *hf_errno_text(int number)
{
    if (number == EMFILE) {
        return "too many open files; raise the limit (ulimit -n)";
    }
    const char *text = strerrordesc_np(number);
    return text == NULL ? "unknown error" : text;
}

enum hf_status hf_fail_memory(struct hf_error *error)
{
    return hf_fail(error, HF_NO_MEMORY, "out of memory");
}
