/* SPDX-License-Identifier: Apache-2.0 */
/* Marks as texts, and which of two marks is kept. */
#include "store/ordered/mark_text.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t hf_ordered_mark_write(const struct hf_ordered_mark *mark,
                             char out[HF_ORDERED_MARK_TEXT_MAX])
{
    char numbers[3 * 21 + 1];
    HF_ASSERT(mark->start_ms >= 0 && mark->length_ms > 0);
    HF_ASSERT(mark->owner.len <= HF_OWNER_MAX);
    int len = snprintf(numbers, sizeof(numbers),
                       "%" PRIu64 " %" PRId64 " %" PRId64 " ", mark->fence,
                       mark->start_ms, mark->length_ms);
    memcpy(out, numbers, (size_t)len);
    if (mark->owner.len > 0) {
        memcpy(out + len, mark->owner.data, mark->owner.len);
    }
    return (size_t)len + mark->owner.len;
}

/** A decimal number without leading zeros, and the space after it. @return the
 * bytes read; 0: it is none, or too great. */
static size_t read_number(const char *text, size_t len, uint64_t *out)
{
    size_t n = 0;
    *out = 0;
    while (n < len && text[n] >= '0' && text[n] <= '9') {
        uint64_t digit = (uint64_t)(text[n] - '0');
        if (*out > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        *out = *out * 10 + digit;
        n++;
    }
    bool has_one_form = n == 1 || (n > 1 && text[0] != '0');
    return has_one_form && n < len && text[n] == ' ' ? n + 1 : 0;
}

bool hf_ordered_mark_read(struct hf_bytes text, struct hf_ordered_mark *out)
{
    uint64_t numbers[3];
    const char *bytes = text.data;
    size_t at = 0;
    for (unsigned i = 0; i < 3; i++) {
        size_t n = read_number(bytes + at, text.len - at, &numbers[i]);
        if (n == 0) {
            return false;
        }
        at += n;
    }
    /* The end is a number, too. */
    if (numbers[0] == 0 || numbers[2] == 0 || numbers[1] > INT64_MAX / 2 ||
        numbers[2] > INT64_MAX / 2 || text.len - at > HF_OWNER_MAX) {
        return false;
    }
    *out = (struct hf_ordered_mark){.fence = numbers[0],
                                    .start_ms = (int64_t)numbers[1],
                                    .length_ms = (int64_t)numbers[2],
                                    .owner = {bytes + at, text.len - at}};
    return true;
}

int64_t hf_ordered_mark_left(const struct hf_ordered_mark *mark,
                             int64_t clock_ms)
{
    int64_t left_ms = mark->start_ms - clock_ms + mark->length_ms;
    if (left_ms > mark->length_ms) {
        return mark->length_ms; /* it begins later: that clock was ahead */
    }
    return left_ms > 0 ? left_ms : 0;
}

bool hf_ordered_mark_wins(const struct hf_ordered_mark *mark,
                          const struct hf_ordered_mark *kept)
{
    bool withdraws = mark->owner.len == 0 && kept->owner.len > 0;
    return mark->fence > kept->fence ||
           (mark->fence == kept->fence && mark->fence != 0 && withdraws);
}
