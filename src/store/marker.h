/* SPDX-License-Identifier: Apache-2.0 */
/* The marker (core/quarantine.h) as fields of text, as every server keeps it.
 * Of the entries that hosts have written, a client reads its own host's. */
#ifndef HF_STORE_MARKER_H
#define HF_STORE_MARKER_H

#include "base/text_size.h"
#include "core/quarantine.h"

#include <stdint.h>

/* The arguments of the script or function that writes a marker, without the
 * first, the value that it must replace: value, whole, host, its entry, then
 * each field and its content. Must not be copied or moved: they point into it,
 * and into the marker. */
#define HF_MARKER_TEXTS 18
struct hf_marker_texts {
    const char *texts[HF_MARKER_TEXTS];
    char numbers[5][HF_TEXT_NUMBER];
};

/** Read one field into a marker that was zeroed before the first. Unknown
 * fields are ignored, and the entries of other hosts.
 * @param host  The field of our host's entry; empty: our clock has no name. */
void hf_marker_read(struct hf_marker *marker, const char *host,
                    const char *field, const char *content);

/* Write the marker as texts. A marker without a value gets a fresh one. */
void hf_marker_write(struct hf_marker *marker, const char *host,
                     struct hf_marker_texts *out);

/* A number of a marker, or of another reply: from 0 to 2^53. A greater one
 * (285,000 years of milliseconds) is not a time, and arithmetic with it could
 * overflow. */
int64_t hf_marker_number(int64_t number);

#endif
