/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are pointers into a view, sorted anew after each poll. The selection is
 * kept by name, not by index: rows that come and go do not move it to another
 * lock. Equal rows are sorted by name, so they do not change places between
 * polls. Cost: O(n log n) for each poll, two allocations. */
#include "top/rows.h"

#include "base/glob.h"

#include <stdlib.h>
#include <string.h>

void top_rows_init(struct top_rows *rows)
{
    /* The names with the most waiters come first: there the work is delayed. */
    *rows = (struct top_rows){.sort = TOP_WAITING};
}

void top_rows_fini(struct top_rows *rows)
{
    free(rows->list);
    free(rows->name);
    top_rows_init(rows);
}

/* ---- Filter ------------------------------------------------------------ */

static bool is_wanted(const struct top_rows *rows, const struct cli_row *row)
{
    if (rows->filter[0] == '\0') {
        return true;
    }
    return strpbrk(rows->filter, "*?[") != NULL
               ? hf_glob_match(rows->filter, strlen(rows->filter), row->name,
                               row->name_len)
               : strstr(row->name, rows->filter) != NULL;
}

static void count(struct top_rows *rows, const struct cli_row *row)
{
    uint32_t n_holders = 1;
    if (row->holder_kind == HF_HOLDER_SHARED) {
        n_holders =
            cli_row_is_semaphore(row) ? cli_row_held(row) : row->sharers;
    }
    rows->n_names++;
    rows->holders += n_holders;
    rows->waiting += cli_row_waiting(row);
}

/* ---- Order ------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Without expiry is longest; without a time is latest. */
static int64_t left_key(const struct cli_row *row)
{
    return row->remaining_ms < 0 ? INT64_MAX : row->remaining_ms;
}

static int64_t since_key(const struct cli_row *row)
{
    int64_t since_s = cli_row_shown(row)->since_s;
    return since_s == 0 ? INT64_MAX : since_s;
}

static const struct cli_row *holder_key(const struct cli_row *row)
{
    return row->first_slot != NULL ? row->first_slot : row;
}

static int compare_holders(const struct cli_row *a, const struct cli_row *b)
{
    int order = strcmp(holder_key(a)->host, holder_key(b)->host);
    return order != 0 ? order
                      : compare_numbers(holder_key(a)->pid, holder_key(b)->pid);
}

static int compare_by(enum top_column column, const struct cli_row *a,
                      const struct cli_row *b)
{
    switch (column) {
    case TOP_MODE:
        return a->holder_kind != b->holder_kind
                   ? compare_numbers((int64_t)a->holder_kind,
                                     (int64_t)b->holder_kind)
                   : compare_numbers(b->sharers, a->sharers);
    case TOP_HOLDER:
        return compare_holders(a, b);
    case TOP_SINCE:
        return compare_numbers(since_key(a), since_key(b));
    case TOP_LEFT:
        return compare_numbers(left_key(a), left_key(b));
    case TOP_WAITING: /* the most first */
        return compare_numbers(cli_row_waiting(b), cli_row_waiting(a));
    case TOP_NAME:
    case TOP_FENCE:
    case TOP_LABEL:
    case TOP_COLUMNS:
        break;
    }
    return 0;
}

/* Equal ones stay in the order of their names. */
static int compare(const void *left, const void *right, void *user)
{
    const struct top_rows *rows = user;
    const struct cli_row *a = *(const struct cli_row *const *)left;
    const struct cli_row *b = *(const struct cli_row *const *)right;
    int order = compare_by(rows->sort, a, b);
    order =
        order != 0 || rows->sort != TOP_NAME ? order : cli_row_compare(a, b);
    order = rows->is_reversed ? -order : order;
    return order != 0 ? order : cli_row_compare(a, b);
}

/* ---- Selection --------------------------------------------------------- */

static void remember(struct top_rows *rows)
{
    const struct cli_row *row = top_rows_selected(rows);
    free(rows->name);
    rows->name = row != NULL ? strdup(row->name) : NULL;
}

static void find_again(struct top_rows *rows)
{
    for (size_t i = 0; rows->name != NULL && i < rows->count; i++) {
        if (strcmp(rows->list[i]->name, rows->name) == 0) {
            rows->selected = i;
            return;
        }
    }
    if (rows->selected >= rows->count) {
        rows->selected = rows->count > 0 ? rows->count - 1 : 0;
    }
    remember(rows);
}

bool top_rows_fill(struct top_rows *rows, const struct cli_view *view)
{
    const struct cli_row **list =
        realloc(rows->list, (view->count + 1) * sizeof(struct cli_row *));
    rows->count = 0;
    rows->n_names = 0;
    rows->holders = 0;
    rows->waiting = 0;
    if (list == NULL) {
        return false;
    }
    rows->list = list;
    for (size_t i = 0; i < view->count; i++) {
        const struct cli_row *row = view->rows[i];
        if (row->slot_of == NULL) {
            count(rows, row);
            if (is_wanted(rows, row)) {
                list[rows->count++] = row;
            }
        }
    }
    qsort_r(list, rows->count, sizeof(struct cli_row *), compare, rows);
    find_again(rows);
    return true;
}

void top_rows_move(struct top_rows *rows, long by)
{
    long last = (long)rows->count - 1;
    long to = (long)rows->selected + by;
    to = to > last ? last : to;
    rows->selected = to < 0 ? 0 : (size_t)to;
    remember(rows);
}

void top_rows_scroll(struct top_rows *rows, size_t n_visible)
{
    if (n_visible == 0 || rows->first > rows->selected) {
        rows->first = rows->selected;
    } else if (rows->selected - rows->first >= n_visible) {
        rows->first = rows->selected - n_visible + 1;
    }
    /* No empty lines at the end while there are rows above. */
    size_t last_first = rows->count > n_visible ? rows->count - n_visible : 0;
    rows->first = rows->first > last_first ? last_first : rows->first;
}

void top_rows_sort(struct top_rows *rows, int by)
{
    int n_sorting = TOP_WAITING + 1;
    rows->sort =
        (enum top_column)(((int)rows->sort + by + n_sorting) % n_sorting);
    rows->is_reversed = false;
}

const struct cli_row *top_rows_selected(const struct top_rows *rows)
{
    return rows->selected < rows->count ? rows->list[rows->selected] : NULL;
}
