/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as answers. Missing is not refused: an error that is surely of the
 * statement itself has changed nothing (ERROR); after one at its commit, or
 * where a lock was not granted in time, the outcome is open (UNKNOWN). */
#include "store/sql/sql.h"

#include "base/assert.h"

#include <string.h>

/* The columns of an answer, and of a seat after it. */
enum {
    C_VERDICT,
    C_COUNTER,
    C_LEFT,
    C_OWNER,
    C_FLOOR,
    C_BOUND,
    C_TICKET,
    C_AHEAD,
    C_NODE_US,
    C_TERMS,
    C_SHARERS,
    C_WAITERS,
    C_END,
    C_SEAT_OWNER = C_END,
    C_SEAT_LEFT,
    C_SEAT_TICKET,
    C_SEAT_MODE,
    C_SEAT_END
};
_Static_assert(C_SEAT_END == HF_SQL_CELLS_MAX, "all of them are read");

void hf_sql_answer_with(const struct hf_sql_node *node,
                        const struct hf_answer *answer)
{
    node->store->env.answer(node->store->env.client, answer);
}

void hf_sql_answer_none(const struct hf_sql_node *node,
                        struct hf_answer *answer, enum hf_verdict verdict,
                        enum hf_status fault, const char *reason)
{
    HF_ASSERT(fault != HF_OK && reason != NULL);
    answer->verdict = verdict;
    answer->fault = fault;
    answer->reason = reason;
    hf_sql_answer_with(node, answer);
}

/* ---- Errors ------------------------------------------------------------- */

void hf_sql_answer_nonsense(const struct hf_sql_node *node,
                            struct hf_answer *answer)
{
    hf_sql_answer_none(node, answer, HF_VERDICT_ERROR, HF_UNAVAILABLE,
                       "an answer that makes no sense");
}

static void answer_starved(const struct hf_sql_node *node,
                           struct hf_answer *answer)
{
    hf_sql_answer_none(node, answer, HF_VERDICT_ERROR, HF_NO_MEMORY,
                       "out of memory");
}

/* The row was locked: the transaction was rolled back. So an attempt has
 * nothing to release, which would wait for the same row. A PUT is to be sent
 * again, as if it had not been sent. */
enum hf_verdict hf_sql_answer_verdict(enum hf_verb verb, bool is_undone,
                                      bool is_unknown)
{
    if (is_undone && verb == HF_VERB_PUT) {
        return HF_VERDICT_UNSENT;
    }
    bool is_over = is_undone && verb == HF_VERB_ACQUIRE;
    return is_unknown && !is_over ? HF_VERDICT_UNKNOWN : HF_VERDICT_ERROR;
}

/* ---- The row of a verb -------------------------------------------------- */

bool hf_sql_answer_is_row(const struct hf_sql_row *row)
{
    return row->n >= C_END;
}

bool hf_sql_answer_is_changed(const struct hf_sql_row *row)
{
    return row->cells[C_VERDICT].number < 0;
}

static void read_owner(struct hf_answer *answer, const struct hf_sql_row *row)
{
    struct hf_bytes owner = row->cells[C_OWNER].bytes;
    if (answer->left_ms == -2) {
        answer->left_ms = 0;
        answer->holder_kind = HF_HOLDER_NONE;
        return;
    }
    answer->holder_kind =
        answer->sharers > 0 ? HF_HOLDER_SHARED : HF_HOLDER_FOREIGN;
    answer->owner = owner.data;
    answer->owner_len = owner.len;
}

static void read_row(struct hf_answer *answer, const struct hf_sql_row *row)
{
    const struct hf_sql_cell *cells = row->cells;
    uint64_t node_us = (uint64_t)cells[C_NODE_US].number;
    answer->verdict = hf_answer_verdict(cells[C_VERDICT].number);
    answer->counter = (uint64_t)cells[C_COUNTER].number;
    answer->left_ms = cells[C_LEFT].number;
    answer->floor = (uint64_t)cells[C_FLOOR].number;
    answer->bound = (uint64_t)cells[C_BOUND].number;
    answer->ticket = (uint64_t)cells[C_TICKET].number;
    answer->ahead = (uint32_t)cells[C_AHEAD].number;
    answer->permits = (uint16_t)cells[C_TERMS].number;
    answer->sharers = (uint32_t)cells[C_SHARERS].number;
    answer->waiting = (uint32_t)cells[C_WAITERS].number;
    if (answer->verdict == HF_VERDICT_OK) {
        answer->node_time_us = node_us;
        answer->ticket = 0;
    } else if (answer->verdict == HF_VERDICT_REFUSED) {
        answer->ticket = node_us;
    }
    read_owner(answer, row);
}

/* The schema returns none below zero, but for the verdict and what is left; and
 * none that a member of the answer cannot have. A text with a number beyond 64
 * bits is read as INT64_MAX. For numbers of fences hf_answer_is_sound() knows
 * the bounds. */
static bool has_range(const struct hf_sql_row *row)
{
    static const struct {
        unsigned column;
        int64_t most;
    } limits[] = {
        {C_TICKET, INT64_MAX - 1},  {C_AHEAD, UINT32_MAX},
        {C_NODE_US, INT64_MAX - 1}, {C_TERMS, UINT16_MAX},
        {C_SHARERS, UINT32_MAX},    {C_WAITERS, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        int64_t number = row->cells[limits[i].column].number;
        if (number < 0 || number > limits[i].most) {
            return false;
        }
    }
    return true;
}

bool hf_sql_answer_read(const struct hf_sql_node *node,
                        struct hf_answer *answer, const struct hf_sql_row *row)
{
    struct hf_answer sent = *answer;
    read_row(answer, row);
    if (has_range(row) && hf_answer_is_sound(answer)) {
        return true;
    }
    hf_sql_answer_nonsense(node, &sent);
    return false;
}

/* ---- Holders and waiters ------------------------------------------------ */

bool hf_sql_seats_begin(const struct hf_sql_node *node,
                        struct hf_answer *answer, const struct hf_sql_row *row,
                        size_t n)
{
    struct hf_seat_list *seats = &node->store->seats;
    if (!hf_seat_list_reserve(seats, n + 1)) {
        answer_starved(node, answer);
        return false;
    }
    if (!hf_sql_answer_read(node, answer, row)) {
        return false;
    }
    hf_seat_list_begin(seats, answer);
    return true;
}

void hf_sql_seats_add(const struct hf_sql_node *node, struct hf_answer *answer,
                      const struct hf_sql_row *row)
{
    char mode[HF_TEXT_SHORT];
    const struct hf_sql_cell *owner = &row->cells[C_SEAT_OWNER];
    uint64_t ticket = (uint64_t)row->cells[C_SEAT_TICKET].number;
    if (!owner->is_there) {
        return;
    }
    struct hf_seat seat = {
        .waits = ticket != 0,
        .owner = owner->bytes.data,
        .owner_len = owner->bytes.len,
        .left_ms = row->cells[C_SEAT_LEFT].number,
        .ticket = ticket,
    };
    hf_sql_row_text(row, C_SEAT_MODE, mode, sizeof(mode));
    hf_seat_set_mode(&seat, mode);
    node->store->seats.items[answer->n_seats++] = seat;
}

/* ---- Which names are there ---------------------------------------------- */

bool hf_sql_names_begin(const struct hf_sql_node *node,
                        struct hf_answer *answer, size_t n)
{
    struct hf_name_list *names = &node->store->names;
    if (!hf_name_list_reserve(names, n)) {
        answer_starved(node, answer);
        return false;
    }
    answer->verdict = HF_VERDICT_OK;
    answer->names = names->items;
    return true;
}

void hf_sql_names_add(const struct hf_sql_node *node, struct hf_answer *answer,
                      const struct hf_sql_row *row, bool is_last)
{
    struct hf_sql_store *store = node->store;
    struct hf_bytes name = row->cells[0].bytes;
    if (name.len > HF_CURSOR_NAME_MAX || name.len <= store->prefix_len ||
        memcmp(name.data, store->prefix, store->prefix_len) != 0) {
        return;
    }
    if (is_last) {
        answer->counter = hf_cursors_keep(&store->cursors, name);
    }
    store->names.items[answer->n_names++] =
        (struct hf_bytes){(const char *)name.data + store->prefix_len,
                          name.len - store->prefix_len};
}
