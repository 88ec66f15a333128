/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as one line of text for the caller. */
#ifndef HF_BASE_FAIL_H
#define HF_BASE_FAIL_H

#include "base/text_size.h"

#include <holdfast/holdfast.h>

/* Replace control characters by '?', so that the text is one line and safe for
 * a terminal. For texts that contain outside input. */
void hf_error_make_plain(char *text);

/** Set @p error (NULL is fine): the status, node -1, and the text, truncated to
 * its size and made plain. @return status, for `return hf_fail(…)`. */
enum hf_status
hf_fail(struct hf_error *error, enum hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with HF_NO_MEMORY. */
enum hf_status hf_fail_memory(struct hf_error *error);

/* The text of an errno. For EMFILE it names the remedy. */
const char *hf_errno_text(int number);

#endif
