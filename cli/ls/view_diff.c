/* SPDX-License-Identifier: Apache-2.0 */
/* Merges two sorted lists. Changes of a semaphore's holders are found at its
 * slots, each a name with one holder. Changes of its waiters are found at the
 * semaphore, since a waiter is in the queues of all slots. */
#include "ls/view_diff.h"

#include <stdlib.h>
#include <string.h>

/* Tolerance for a node's rounding and the delay of its reply. */
#define SLACK_MS 50

struct diff {
    bool is_first;
    int64_t elapsed_ms;
    cli_change_fn *each;
    void *user;
};

/* A group of readers has another identity at each node. */
static bool is_same_holder(const struct cli_row *a, const struct cli_row *b)
{
    if (a->holder_kind == HF_HOLDER_SHARED &&
        b->holder_kind == HF_HOLDER_SHARED) {
        return a->permits == b->permits;
    }
    return a->holder_kind == b->holder_kind && strcmp(a->owner, b->owner) == 0;
}

/* A shorter remaining lease means that it expired: a renewal comes much
 * earlier.
 */
static bool is_expired(const struct diff *diff, const struct cli_row *before)
{
    return before->remaining_ms >= 0 &&
           before->remaining_ms <= diff->elapsed_ms + SLACK_MS;
}

static void report_holder(const struct diff *diff, const struct cli_row *before,
                          const struct cli_row *now)
{
    if (before == NULL) {
        diff->each(diff->user,
                   diff->is_first ? CLI_CHANGE_HELD : CLI_CHANGE_ACQUIRED, NULL,
                   now, 0);
    } else if (now == NULL) {
        diff->each(diff->user,
                   is_expired(diff, before) ? CLI_CHANGE_EXPIRED
                                            : CLI_CHANGE_RELEASED,
                   before, NULL, 0);
    } else if (is_same_holder(before, now)) {
        int64_t delta = (int64_t)now->sharers - before->sharers;
        if (delta != 0) {
            diff->each(diff->user, CLI_CHANGE_READERS, before, now, delta);
        }
    } else if (before->holder_kind == HF_HOLDER_HOLDFAST &&
               now->holder_kind == HF_HOLDER_ENDED) {
        diff->each(diff->user, CLI_CHANGE_ENDED, before, now, 0);
    } else if (is_expired(diff, before)) {
        diff->each(diff->user, CLI_CHANGE_EXPIRED, before, now, 0);
        diff->each(diff->user, CLI_CHANGE_ACQUIRED, before, now, 0);
    } else {
        diff->each(diff->user, CLI_CHANGE_HANDED, before, now, 0);
    }
}

static int64_t count_waiting(const struct cli_row *row)
{
    return row == NULL || row->slot_of != NULL ? 0
                                               : (int64_t)cli_row_waiting(row);
}

static bool has_holder(const struct cli_row *row)
{
    return row != NULL && !cli_row_is_semaphore(row);
}

static void report_change(const struct diff *diff, const struct cli_row *before,
                          const struct cli_row *now)
{
    const struct cli_row *held_before = has_holder(before) ? before : NULL;
    const struct cli_row *held_now = has_holder(now) ? now : NULL;
    int64_t delta = count_waiting(now) - count_waiting(before);
    if (held_before != NULL || held_now != NULL) {
        report_holder(diff, held_before, held_now);
    }
    if (delta != 0) {
        diff->each(diff->user, CLI_CHANGE_WAITING, before, now, delta);
    }
}

/* If the content of a row in `before` moved to `now`, that row is the split one
 * instead. */
static void take_over(struct cli_row **before, struct cli_row **now,
                      int64_t elapsed_ms)
{
    struct cli_row *row = *before;
    *before = *now;
    *now = row;
    if (row->remaining_ms >= 0) {
        row->remaining_ms =
            row->remaining_ms > elapsed_ms ? row->remaining_ms - elapsed_ms : 0;
    }
}

static void settle_splits(struct cli_view *before, struct cli_view *now,
                          int64_t elapsed_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < now->count; i++) {
        struct cli_row *row = now->rows[i];
        struct cli_row **old = NULL;
        if (row->is_split && before != NULL) {
            old = cli_view_find(before, row->name, row->name_len);
        }
        if (row->is_split && old == NULL) {
            free(row);
            continue;
        }
        now->rows[kept] = row;
        if (row->is_split) {
            take_over(old, &now->rows[kept], elapsed_ms);
        }
        kept++;
    }
    now->count = kept;
    cli_view_fold(now);
}

static int compare_next(const struct cli_view *before, size_t i,
                        const struct cli_view *now, size_t j)
{
    if (before == NULL || i == before->count) {
        return 1;
    }
    return j == now->count ? -1
                           : cli_row_compare(before->rows[i], now->rows[j]);
}

void cli_view_diff(struct cli_view *before, struct cli_view *now,
                   int64_t elapsed_ms, cli_change_fn *each, void *user)
{
    struct diff diff = {before == NULL, elapsed_ms, each, user};
    size_t n_before = before != NULL ? before->count : 0;
    size_t i = 0;
    size_t j = 0;
    settle_splits(before, now, elapsed_ms);
    while (i < n_before || j < now->count) {
        int order = compare_next(before, i, now, j);
        const struct cli_row *old = order <= 0 ? before->rows[i++] : NULL;
        const struct cli_row *new = order >= 0 ? now->rows[j++] : NULL;
        if (old == NULL || !old->is_split) {
            report_change(&diff, old, new);
        }
    }
}
