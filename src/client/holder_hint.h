/* SPDX-License-Identifier: Apache-2.0 */
/* The holder that the last refusal named. */
#ifndef HF_CLIENT_HOLDER_HINT_H
#define HF_CLIENT_HOLDER_HINT_H

#include <holdfast/holdfast.h>

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_holder_hint {
    bool is_known;
    enum hf_kind kind; /* TYPE; else `owner` shows it */
    unsigned node;
    int64_t left_ms;
    uint64_t counter; /* of the name */
    struct hf_instant read_at;
    size_t len;
    char owner[HF_OWNER_MAX];
};

/* Fill `out` from the rival, with its remaining lease at `now`. */
void hf_holder_hint_holder(const struct hf_holder_hint *rival,
                           struct hf_instant now, struct hf_holder *out);

/* The longest text of hf_holder_hint_write(): a host, a label, an owner that is
 * shown with escapes, and numbers. */
#define HF_HOLDER_HINT_TEXT_MAX 512

/* "held by db3 pid 4711 since 02:00:04 (label), lease ends in 12.3 s" */
void hf_holder_hint_write(const struct hf_holder_hint *rival,
                          struct hf_instant now, char *out, size_t len);

#endif
