/* SPDX-License-Identifier: Apache-2.0 */
/* A mark of --once as the text that a store keeps, and the rules by which two
 * of them are merged:
 *
 *     FENCE START LENGTH OWNER      4711 1764117600000 3600000 9f…:build:17@0/0
 *
 * START is in milliseconds of Unix time by the clock of the servers, LENGTH in
 * milliseconds. Without an owner it is a tombstone, which ends with the space.
 * Pure: no clock, no state. */
#ifndef HF_ORDERED_MARK_TEXT_H
#define HF_ORDERED_MARK_TEXT_H

#include "core/lease.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes: three numbers of up to 20 digits, and spaces. */
#define HF_ORDERED_MARK_TEXT_MAX (HF_OWNER_MAX + 3 * 21)

struct hf_ordered_mark {
    uint64_t fence; /* 0: there is none */
    int64_t start_ms;
    int64_t length_ms;
    struct hf_bytes owner; /* len 0: a tombstone */
};

/** @return the length of the text. */
size_t hf_ordered_mark_write(const struct hf_ordered_mark *mark,
                             char out[HF_ORDERED_MARK_TEXT_MAX]);

/** The owner stays in the text. @return false: it is no mark. */
bool hf_ordered_mark_read(struct hf_bytes text, struct hf_ordered_mark *out);

/** How long it lasts yet, by a clock that shows @p clock_ms: its length at
 * most. 0: it is over. */
int64_t hf_ordered_mark_left(const struct hf_ordered_mark *mark,
                             int64_t clock_ms);

/** Does @p mark replace the one that is kept, whose fence may be 0? The greater
 * fence wins; of equal fences a tombstone, else the one that is kept. */
bool hf_ordered_mark_wins(const struct hf_ordered_mark *mark,
                          const struct hf_ordered_mark *kept);

#endif
