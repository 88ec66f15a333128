/* SPDX-License-Identifier: Apache-2.0 */
/* How a function that can fail says why: in one line, to its caller. */
#ifndef HF_BASE_FAIL_H
#define HF_BASE_FAIL_H

#include <holdfast/holdfast.h>

/* Make it one line, fit for a terminal: control characters become '?'. For
 * texts that have something from outside in them. */
void hf_make_plain(char *text);

/* Write @p status and the text into @p error (NULL is fine), node -1; what
 * does not fit is cut, and the rest made plain. @return status, so that one
 * can `return hf_fail(…)`. */
enum hf_status
hf_fail(struct hf_error *error, enum hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for memory that could not be had. */
enum hf_status hf_fail_memory(struct hf_error *error);

/* What an errno means. For a lack of descriptors it names the remedy. */
const char *hf_errno_text(int number);

#endif
