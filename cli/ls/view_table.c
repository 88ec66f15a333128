/* SPDX-License-Identifier: Apache-2.0 */
/* Two layouts. For a program each column begins at a fixed position, and
 * nothing is cut or omitted. On a terminal columns are as wide as their texts;
 * if that is too wide, whole columns are omitted in the order of `need`, and
 * then the rest is divided among those that may be cut. So a fence is shown
 * whole or not at all: a part of it would be another number.
 *
 * Cost: each cell is formatted twice, to measure and to print. */
#include "ls/view_table.h"

#include "timefmt.h"
#include "width.h"

#include <string.h>

enum {
    AT_NAME,
    AT_MODE,
    AT_HOLDER,
    AT_SINCE,
    AT_LEFT,
    AT_FENCE,
    AT_WAITING,
    AT_LABEL,
    N_COLUMNS
};

/* Blanks between two columns: with one, a holder ("db3 4711") would look like
 * two columns. */
#define GAP 2

/* Bytes: each byte of a name may be escaped to four. */
#define CELL_ROOM (4 * HF_NAME_MAX + 1)

struct ls_column {
    const char *title;
    size_t fixed; /* width for a program; 0: up to the end of the line */
    size_t least; /* on a terminal it may be cut to that; 0: it is not cut */
    int need;     /* the column with the least is omitted first */
};

static const struct ls_column columns[N_COLUMNS] = {
    [AT_NAME] = {.title = "NAME", .fixed = 24, .least = 12, .need = 8},
    [AT_MODE] = {.title = "MODE", .fixed = 13, .need = 4},
    [AT_HOLDER] = {.title = "HOLDER", .fixed = 20, .least = 12, .need = 5},
    [AT_SINCE] = {.title = "SINCE", .fixed = 10, .need = 3},
    [AT_LEFT] = {.title = "LEFT", .fixed = 8, .need = 7},
    [AT_FENCE] = {.title = "FENCE", .fixed = 18, .need = 1},
    [AT_WAITING] = {.title = "WAITING", .fixed = 9, .need = 6},
    [AT_LABEL] = {.title = "LABEL", .least = 8, .need = 2},
};

struct table {
    struct cli_out *out;
    bool is_fixed;
    bool is_shown[N_COLUMNS];
    size_t width[N_COLUMNS];
};

/* ---- Cells ------------------------------------------------------------- */

static void put_number(struct cli_out *out, uint64_t number)
{
    if (number > 0) {
        cli_out_uint(out, number);
    } else {
        cli_out_text(out, "-");
    }
}

/* For a program: the day too, and milliseconds. */
static void put_exact(struct cli_out *out, int column,
                      const struct cli_row *row)
{
    char text[CLI_DURATION_TEXT];
    if (column == AT_LEFT) {
        cli_out_text(out, row->remaining_ms < 0
                              ? "no expiry"
                              : cli_duration_text(row->remaining_ms, text));
    } else if (row->since_s > 0) {
        cli_time_text(out, row->since_s);
    } else {
        cli_out_text(out, "-");
    }
}

static void put_time(const struct table *table, struct cli_out *out, int column,
                     const struct cli_row *row)
{
    if (column == AT_LEFT && row->is_split) {
        cli_out_text(out, "-");
    } else if (table->is_fixed) {
        put_exact(out, column, row);
    } else if (column == AT_LEFT) {
        cli_row_left(out, row);
    } else {
        cli_row_since(out, row);
    }
}

static void put_cell(const struct table *table, struct cli_out *out, int column,
                     const struct cli_row *row)
{
    const struct cli_row *shown = cli_row_shown(row);
    switch (column) {
    case AT_NAME:
        (void)cli_out_shown(out, row->name, row->name_len);
        return;
    case AT_MODE:
        cli_row_mode(out, row);
        return;
    case AT_HOLDER:
        cli_row_holder(out, row);
        return;
    case AT_SINCE:
    case AT_LEFT:
        put_time(table, out, column, shown);
        return;
    case AT_FENCE:
        /* A semaphore's own counter guards nothing: each slot has its fence. */
        put_number(out, cli_row_is_semaphore(shown) ? 0 : shown->fence);
        return;
    case AT_WAITING:
        put_number(out, cli_row_waiting(row));
        return;
    default:
        (void)cli_out_shown(out, shown->label, strlen(shown->label));
        return;
    }
}

static const char *cell_text(const struct table *table, int column,
                             const struct cli_row *row, char text[CELL_ROOM])
{
    struct cli_out cell;
    cli_out_init_text(&cell, text, CELL_ROOM);
    if (row == NULL) {
        cli_out_text(&cell, columns[column].title);
    } else {
        put_cell(table, &cell, column, row);
    }
    return text;
}

/* ---- Rows -------------------------------------------------------------- */

/* No blanks at the end of a line on a terminal: they might wrap. */
static void put_row(const struct table *table, const struct cli_row *row)
{
    char text[CELL_ROOM];
    struct cli_out *out = table->out;
    size_t pad = 0;
    for (int i = 0; i < N_COLUMNS; i++) {
        if (!table->is_shown[i]) {
            continue;
        }
        const char *cell = cell_text(table, i, row, text);
        if (table->is_fixed) {
            cli_out_text(out, cell);
            size_t used = cli_width_of(cell);
            size_t wanted = columns[i].fixed;
            cli_out_pad(out, wanted == 0     ? 0
                             : used < wanted ? wanted - used
                                             : 1);
        } else if (cell[0] != '\0') {
            cli_out_pad(out, pad);
            size_t used = cli_width_cut(out, cell, table->width[i]);
            pad = table->width[i] - used + GAP;
        }
    }
    cli_out_text(out, "\n");
}

/* ---- Fitting the width ------------------------------------------------- */

static void measure(struct table *table, const struct cli_view *view)
{
    char text[CELL_ROOM];
    for (int i = 0; i < N_COLUMNS; i++) {
        table->width[i] = strlen(columns[i].title);
        for (size_t j = 0; j < view->count; j++) {
            const struct cli_row *row = view->rows[j];
            size_t width = row->slot_of == NULL
                               ? cli_width_of(cell_text(table, i, row, text))
                               : 0;
            table->width[i] = width > table->width[i] ? width : table->width[i];
        }
    }
}

static size_t least_width(const struct table *table, int column)
{
    size_t least = columns[column].least;
    size_t width = table->width[column];
    return least > 0 && least < width ? least : width;
}

static size_t least_sum(const struct table *table)
{
    size_t sum = 0;
    for (int i = 0; i < N_COLUMNS; i++) {
        sum += table->is_shown[i] ? least_width(table, i) + GAP : 0;
    }
    return sum - GAP;
}

static int least_needed(const struct table *table)
{
    int found = AT_NAME;
    for (int i = 0; i < N_COLUMNS; i++) {
        if (table->is_shown[i] && columns[i].need < columns[found].need) {
            found = i;
        }
    }
    return found;
}

/* One column of the screen each, in turn: what is missing is spread over
 * them. */
static void share(struct table *table, size_t left)
{
    size_t least[N_COLUMNS];
    bool has_grown = true;
    for (int i = 0; i < N_COLUMNS; i++) {
        least[i] = least_width(table, i);
    }
    while (left > 0 && has_grown) {
        has_grown = false;
        for (int i = 0; i < N_COLUMNS && left > 0; i++) {
            if (table->is_shown[i] && least[i] < table->width[i]) {
                least[i]++;
                left--;
                has_grown = true;
            }
        }
    }
    memcpy(table->width, least, sizeof(least));
}

static void fit(struct table *table, size_t width)
{
    while (least_sum(table) > width) {
        int column = least_needed(table);
        if (column == AT_NAME) {
            table->width[AT_NAME] = width;
            return;
        }
        table->is_shown[column] = false;
    }
    share(table, width - least_sum(table));
}

void cli_view_table(struct cli_out *out, const struct cli_view *view,
                    size_t width)
{
    struct table table = {.out = out, .is_fixed = width == CLI_WIDTH_ANY};
    for (int i = 0; i < N_COLUMNS; i++) {
        table.is_shown[i] = true;
    }
    if (!table.is_fixed) {
        measure(&table, view);
        fit(&table, width);
    }
    put_row(&table, NULL);
    for (size_t i = 0; i < view->count; i++) {
        if (view->rows[i]->slot_of == NULL) {
            put_row(&table, view->rows[i]);
        }
    }
}
