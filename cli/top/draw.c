/* SPDX-License-Identifier: Apache-2.0 */
/* Head, table and foot. Columns that do not fit are omitted, the least needed
 * first; names, holders and labels share the remaining width. */
#include "clocks.h"
#include "top/top.h"

#include "format.h"
#include "text_size.h"
#include "timefmt.h"
#include "top/screen.h"

#include <string.h>

#define HEAD_ROWS 3 /* store, counts, titles */
#define FOOT_ROWS 1 /* keys, or the typed text */

/* Longest text of a cell; the screen cuts it to its column. */
#define CELL_TEXT 1200

/* A lease with so little left was not renewed in time. */
#define LOW_MS 4000

/* Bytes of the store's URL: wider than any screen. */
#define URL_SHOWN_MAX 1024

/* ---- Columns ----------------------------------------------------------- */

struct drawn_column {
    const char *title;
    int width; /* at least */
    int share; /* of the remaining width; 0: none */
    int from;  /* columns of the screen from which on it is shown */
    bool is_right;
};

static const struct drawn_column columns[TOP_COLUMNS] = {
    [TOP_NAME] = {.title = "NAME", .width = 12, .share = 3},
    [TOP_MODE] = {.title = "MODE", .width = 11, .from = 53},
    [TOP_HOLDER] = {.title = "HOLDER", .width = 12, .share = 2, .from = 41},
    [TOP_SINCE] = {.title = "SINCE", .width = 8, .from = 70},
    [TOP_LEFT] = {.title = "LEFT", .width = 7, .is_right = true},
    [TOP_WAITING] = {.title = "WAIT", .width = 6, .is_right = true},
    [TOP_FENCE] = {.title = "FENCE", .width = 16, .from = 110},
    [TOP_LABEL] = {.title = "LABEL", .width = 8, .share = 2, .from = 92},
};

/* Widths for a screen of `all` columns; 0: not shown. */
static void lay_out(int widths[TOP_COLUMNS], int all)
{
    int shares = 0;
    int left = all;
    for (int i = 0; i < TOP_COLUMNS; i++) {
        bool is_shown = all >= columns[i].from;
        widths[i] = is_shown ? columns[i].width : 0;
        shares += is_shown ? columns[i].share : 0;
        left -= is_shown ? columns[i].width + 1 : 0;
    }
    for (int i = 0; i < TOP_COLUMNS && left > 0; i++) {
        if (widths[i] > 0 && columns[i].share > 0) {
            int more = left * columns[i].share / shares;
            widths[i] += more;
            left -= more;
            shares -= columns[i].share;
        }
    }
}

static void put_cell(struct cli_out *out, enum top_column column,
                     const struct cli_row *row)
{
    const struct cli_row *shown = cli_row_shown(row);
    switch (column) {
    case TOP_NAME:
        (void)cli_out_shown(out, row->name, row->name_len);
        return;
    case TOP_MODE:
        cli_row_mode(out, row);
        return;
    case TOP_HOLDER:
        cli_row_holder(out, row);
        return;
    case TOP_SINCE:
        cli_row_since(out, shown);
        return;
    case TOP_LEFT:
        if (!row->is_split) {
            cli_row_left(out, shown);
        }
        return;
    case TOP_WAITING:
        if (cli_row_waiting(row) > 0) {
            cli_out_int(out, cli_row_waiting(row));
        }
        return;
    case TOP_FENCE:
        if (shown->fence > 0 && !cli_row_is_semaphore(shown)) {
            cli_out_uint(out, shown->fence);
        }
        return;
    case TOP_LABEL:
        (void)cli_out_shown(out, shown->label, strlen(shown->label));
        return;
    case TOP_COLUMNS:
        return;
    }
}

/* Only cells that need attention have a colour. */
static enum top_style cell_style(enum top_column column,
                                 const struct cli_row *row, bool is_selected)
{
    bool is_low = row->remaining_ms >= 0 && row->remaining_ms < LOW_MS;
    if (is_selected) {
        return TOP_SELECTED;
    }
    if (column == TOP_WAITING && cli_row_waiting(row) > 0) {
        return TOP_BUSY;
    }
    if (row->holder_kind == HF_HOLDER_ENDED) {
        return TOP_FAINT;
    }
    if (row->is_split) {
        return column == TOP_HOLDER ? TOP_ALARM : TOP_PLAIN;
    }
    return column == TOP_LEFT && is_low ? TOP_ALARM : TOP_PLAIN;
}

static void draw_row(int y, const int widths[TOP_COLUMNS],
                     const struct cli_row *row, bool is_selected)
{
    char text[CELL_TEXT];
    struct cli_out cell;
    int x = 0;
    for (int i = 0; i < TOP_COLUMNS; i++) {
        enum top_column column = (enum top_column)i;
        enum top_style style = cell_style(column, row, is_selected);
        if (widths[i] == 0) {
            continue;
        }
        cli_out_init_text(&cell, text, sizeof(text));
        put_cell(&cell, column, row);
        if (columns[i].is_right) {
            top_screen_put_right(y, x, widths[i], style, text);
        } else {
            (void)top_screen_put(y, x, widths[i], style, text);
        }
        x += widths[i];
        (void)top_screen_put(y, x++, 1, is_selected ? style : TOP_PLAIN, " ");
    }
}

static void draw_titles(const struct top *top, int y,
                        const int widths[TOP_COLUMNS])
{
    const char *up = top_screen_is_wide() ? "\u25b4" : "^";
    const char *down = top_screen_is_wide() ? "\u25be" : "v";
    char text[HF_TEXT_WORD];
    struct cli_out title;
    int x = 0;
    (void)top_screen_put(y, 0, top_screen_columns(), TOP_TITLE, "");
    for (int i = 0; i < TOP_COLUMNS; i++) {
        if (widths[i] == 0) {
            continue;
        }
        cli_out_init_text(&title, text, sizeof(text));
        cli_out_text(&title, columns[i].title);
        if ((int)top->rows.sort == i) {
            /* The most waited for comes first: that is downwards. */
            bool is_down = (i == TOP_WAITING) != top->rows.is_reversed;
            cli_out_text(&title, is_down ? down : up);
        }
        if (columns[i].is_right) {
            top_screen_put_right(y, x, widths[i], TOP_TITLE, text);
        } else {
            (void)top_screen_put(y, x, widths[i], TOP_TITLE, text);
        }
        x += widths[i] + 1;
    }
}

/* ---- Head and foot ----------------------------------------------------- */

static int count_nodes(const struct top *top, enum hf_health state)
{
    int count = 0;
    for (int i = 0; i < top->n_nodes; i++) {
        count += top->nodes[i].health == state;
    }
    return count;
}

/* "3 nodes up", "2 of 3 nodes up, 1 quarantined". @return are all up? */
static bool put_nodes(struct cli_out *out, const struct top *top)
{
    static const struct {
        enum hf_health state;
        const char *text;
    } others[] = {
        {HF_NODE_QUARANTINED, " quarantined"},
        {HF_NODE_DOWN, " down"},
        {HF_NODE_CONNECTING, " connecting"},
    };
    int n_up = count_nodes(top, HF_NODE_UP);
    if (n_up < top->n_nodes) {
        cli_out_int(out, n_up);
        cli_out_text(out, " of ");
    }
    cli_out_int(out, top->n_nodes);
    cli_out_text(out, top->n_nodes == 1 ? " node up" : " nodes up");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        int count = count_nodes(top, others[i].state);
        if (count > 0) {
            cli_out_text(out, ", ");
            cli_out_int(out, count);
            cli_out_text(out, others[i].text);
        }
    }
    return n_up == top->n_nodes;
}

static void draw_store(const struct top *top, int y)
{
    char text[HF_TEXT_ADDRESS];
    char url[URL_SHOWN_MAX];
    struct cli_out nodes;
    struct cli_out store;
    int width = top_screen_columns();
    bool is_well = true;
    cli_out_init_text(&nodes, text, sizeof(text));
    if (top->has_looked) {
        is_well = put_nodes(&nodes, top);
    }
    cli_out_text(&nodes, top->has_looked ? "  " : "");
    cli_time_text(&nodes, cli_time_wall_ms() / 1000);
    int right = (int)nodes.len < width - 20 ? (int)nodes.len : width - 20;
    right = right < 0 ? 0 : right;
    int left = width - right - 1;
    int x = top_screen_put(y, 0, left, TOP_STRONG, "holdfast ");
    cli_out_init_text(&store, url, sizeof(url));
    cli_out_plain(&store, top->url);
    (void)top_screen_put(y, x, left - x, TOP_PLAIN, url);
    (void)top_screen_put(y, width - right, right,
                         is_well ? TOP_PLAIN : TOP_ALARM, text);
}

static void put_count(struct cli_out *out, uint64_t count, const char *one,
                      const char *many)
{
    cli_out_uint(out, count);
    cli_out_text(out, count == 1 ? one : many);
}

static void draw_counts(const struct top *top, int y)
{
    char text[TOP_FILTER_MAX + 160];
    char every[CLI_DURATION_TEXT];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    put_count(&out, top->rows.n_names, " name, ", " names, ");
    put_count(&out, top->rows.holders, " holder, ", " holders, ");
    put_count(&out, top->rows.waiting, " waiting", " waiting");
    if (top->rows.filter[0] != '\0' && !top->is_typing) {
        cli_out_text(&out, "   /");
        (void)cli_out_shown(&out, top->rows.filter, strlen(top->rows.filter));
        cli_out_text(&out, ": ");
        cli_out_int(&out, (int64_t)top->rows.count);
    }
    int x = top_screen_put(y, 0, top_screen_columns(), TOP_PLAIN, text);
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, top->is_paused ? "paused" : "every ");
    cli_out_text(
        &out, top->is_paused ? "" : cli_duration_text(top->interval_ms, every));
    int room = top_screen_columns() - x - 2;
    if (room >= (int)out.len) {
        top_screen_put_right(y, x + 2, room,
                             top->is_paused ? TOP_BUSY : TOP_FAINT, text);
    }
}

/* In place of the counts: the rows below are old. */
static void draw_outage(const struct top *top, int y)
{
    char text[sizeof(top->error.text) + 128];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, "no answer");
    if (top->seen_wall_ms > 0) {
        cli_out_text(&out, " since ");
        cli_time_text(&out, top->seen_wall_ms / 1000);
    }
    cli_out_text(&out, ": ");
    cli_out_plain(&out, top->error.text[0] != '\0'
                            ? top->error.text
                            : hf_status_text(top->status));
    (void)top_screen_put(y, 0, top_screen_columns(), TOP_ALARM, text);
}

static void draw_foot(const struct top *top, int y)
{
    char text[TOP_FILTER_MAX * 4 + 16];
    struct cli_out out;
    int width = top_screen_columns();
    if (!top->is_typing) {
        (void)top_screen_put(y, 0, width - 1, TOP_FAINT,
                             "q quit  / filter  < > sort  r reverse  p pause  "
                             "Enter queue  ? help");
        top_screen_cursor(-1, 0);
        return;
    }
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, "/");
    (void)cli_out_shown(&out, top->rows.filter, strlen(top->rows.filter));
    int x = top_screen_put(y, 0, width - 1, TOP_STRONG, text);
    top_screen_cursor(y, x);
}

/* ---- All of it --------------------------------------------------------- */

/* Both halves need two rows to be of use: on a smaller screen the table has
 * all. */
static int table_end(const struct top *top)
{
    int end = top_screen_rows() - FOOT_ROWS;
    int body = end - HEAD_ROWS;
    bool has_lower = top->has_help || top->has_entries;
    return has_lower && body >= 4 ? HEAD_ROWS + body / 2 : end;
}

int top_table_rows(const struct top *top)
{
    int rows = table_end(top) - HEAD_ROWS;
    return rows > 0 ? rows : 0;
}

static void draw_table(struct top *top)
{
    int widths[TOP_COLUMNS];
    size_t n_visible = (size_t)top_table_rows(top);
    lay_out(widths, top_screen_columns());
    top_rows_scroll(&top->rows, n_visible);
    draw_titles(top, HEAD_ROWS - 1, widths);
    for (size_t i = 0; i < n_visible; i++) {
        size_t at = top->rows.first + i;
        if (at < top->rows.count) {
            draw_row(HEAD_ROWS + (int)i, widths, top->rows.list[at],
                     at == top->rows.selected);
        }
    }
    if (top->rows.count == 0 && n_visible > 1 && top->look != NULL) {
        (void)top_screen_put(
            HEAD_ROWS + 1, 2, top_screen_columns() - 2, TOP_FAINT,
            top->rows.n_names == 0 ? "nothing is held" : "no name matches");
    }
}

void top_draw(struct top *top)
{
    int foot = top_screen_rows() - FOOT_ROWS;
    int end = table_end(top);
    top_screen_erase();
    draw_store(top, 0);
    if (top->has_looked && top->status != HF_OK) {
        draw_outage(top, 1);
    } else if (top->has_looked) {
        draw_counts(top, 1);
    } else {
        (void)top_screen_put(1, 0, top_screen_columns(), TOP_FAINT,
                             "connecting");
    }
    draw_table(top);
    if (top->has_help && end < foot) {
        top_draw_help(end, foot);
    } else if (top->has_entries && end < foot) {
        top_draw_entries(top, end, foot);
    }
    draw_foot(top, foot);
    top_screen_show();
}
