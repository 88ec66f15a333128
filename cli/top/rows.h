/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are shown, in which order, and which one is selected. Knows
 * nothing of the screen. */
#ifndef CLI_TOP_ROWS_H
#define CLI_TOP_ROWS_H

#include "ls/view.h"

/* Columns, from left to right. */
enum top_column {
    TOP_NAME,
    TOP_MODE,
    TOP_HOLDER,
    TOP_SINCE,
    TOP_LEFT,
    TOP_WAITING,
    TOP_FENCE,
    TOP_LABEL,
    TOP_COLUMNS
};

/* Bytes of a filter with its NUL: as many as a terminal shows in one line. */
#define TOP_FILTER_MAX 64

/* The table on the screen. Borrows its rows from a view. */
struct top_rows {
    const struct cli_row **list; /* filtered and sorted, no slots */
    size_t count;
    size_t n_names; /* before the filter */
    uint64_t holders, waiting;
    enum top_column sort;
    bool is_reversed;
    char filter[TOP_FILTER_MAX]; /* a glob, or a part of the name */
    size_t selected;
    size_t first; /* at the top of the screen */
    char *name;   /* of the selected row, so that it stays selected */
};

/* Without rows or filter; names with the most waiters first. */
void top_rows_init(struct top_rows *rows);

/* Free the list and the selected name; then as after init. The rows are the
 * view's. */
void top_rows_fini(struct top_rows *rows);

/* Filter and sort those of `view`, which stays borrowed until the next call.
 * @return false if memory ran out; then there are none. */
bool top_rows_fill(struct top_rows *rows, const struct cli_view *view);

/* Move the selection by `by` rows. */
void top_rows_move(struct top_rows *rows, long by);

/* Scroll as little as it takes to have the selection among `n_visible`. */
void top_rows_scroll(struct top_rows *rows, size_t n_visible);

/* Another column, to the right or to the left, of those that sort. */
void top_rows_sort(struct top_rows *rows, int by);

/* The selected row, or NULL. */
const struct cli_row *top_rows_selected(const struct top_rows *rows);

#endif
