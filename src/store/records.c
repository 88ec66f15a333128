/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a reply are checked here, before core sees them: core asserts that
 * they are possible, and a value that was written by hand must be an error of
 * its server, not of the program.
 *
 * A cursor of a SCAN is the id of a name in a ring. Ids are never used again,
 * so a cursor that was overwritten is noticed: its scan must begin anew, where
 * a wrong name would leave others out.
 *
 * Cost: lists grow with the largest reply, and are kept for the next one. */
#include "store/records.h"

#include "base/array.h"
#include "base/assert.h"
#include "core/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- Answers ------------------------------------------------------------- */

enum hf_verdict hf_answer_verdict(int64_t number)
{
    switch (number) {
    case 1:
        return HF_VERDICT_OK;
    case 2:
        return HF_VERDICT_QUEUED;
    default:
        return HF_VERDICT_REFUSED;
    }
}

bool hf_answer_is_sound(const struct hf_answer *answer)
{
    bool asks =
        answer->verb == HF_VERB_ACQUIRE || answer->verb == HF_VERB_YIELD;
    bool is_granted = answer->verdict == HF_VERDICT_OK &&
                      (asks || answer->verb == HF_VERB_CONFIRM);
    return answer->counter <= HF_FENCE_MAX && answer->floor <= HF_FENCE_MAX &&
           answer->bound <= HF_FENCE_MAX &&
           (answer->counter > 0 || !is_granted) &&
           (answer->verdict != HF_VERDICT_QUEUED || asks);
}

/* ---- Seats --------------------------------------------------------------- */

bool hf_seat_list_reserve(struct hf_seat_list *list, size_t n)
{
    struct hf_seat *items =
        hf_array_reserve(list->items, &list->cap, n, sizeof(*items));
    if (items != NULL) {
        list->items = items;
    }
    return items != NULL;
}

void hf_seat_list_begin(const struct hf_seat_list *list,
                        struct hf_answer *answer)
{
    HF_ASSERT(list->cap > 0 && answer->n_seats == 0);
    answer->seats = list->items;
    if (answer->holder_kind != HF_HOLDER_NONE &&
        answer->holder_kind != HF_HOLDER_SHARED) {
        list->items[answer->n_seats++] = (struct hf_seat){
            .owner = answer->owner,
            .owner_len = answer->owner_len,
            .left_ms = answer->left_ms,
        };
    }
}

void hf_seat_set_mode(struct hf_seat *seat, const char *mode)
{
    seat->is_shared = mode[0] == 's';
    unsigned long permits = seat->is_shared ? strtoul(mode + 1, NULL, 10) : 0;
    seat->permits = permits > UINT16_MAX ? UINT16_MAX : (uint16_t)permits;
}

/* ---- Names --------------------------------------------------------------- */

bool hf_name_list_reserve(struct hf_name_list *list, size_t n)
{
    struct hf_bytes *items =
        hf_array_reserve(list->items, &list->cap, n, sizeof(*items));
    if (items != NULL) {
        list->items = items;
    }
    return items != NULL;
}

uint64_t hf_cursors_keep(struct hf_cursors *cursors, struct hf_bytes name)
{
    uint64_t id = ++cursors->last;
    struct hf_cursor *cursor = &cursors->ring[id % HF_CURSORS_MAX];
    HF_ASSERT(name.len <= sizeof(cursor->name));
    cursor->id = id;
    cursor->len = name.len;
    memcpy(cursor->name, name.data, name.len);
    return id;
}

bool hf_cursors_find(const struct hf_cursors *cursors, uint64_t id,
                     struct hf_bytes *out)
{
    *out = (struct hf_bytes){"", 0};
    for (unsigned i = 0; i < HF_CURSORS_MAX && id != 0; i++) {
        const struct hf_cursor *cursor = &cursors->ring[i];
        if (cursor->id == id) {
            *out = (struct hf_bytes){cursor->name, cursor->len};
            return true;
        }
    }
    return id == 0;
}
