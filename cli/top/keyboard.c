/* SPDX-License-Identifier: Apache-2.0 */
/* What each key does. While a filter is typed, letters are text, so a name may
 * have a q; the arrows still select. A key changes the state alone, and main.c
 * draws it and passes the new wish to look.c: no key waits for a server. */
#include "top/top.h"

#include "top/screen.h"

#include <string.h>

static const int64_t intervals_ms[] = {250,  500,   1000,  2000,
                                       5000, 10000, 30000, 60000};

/* --interval may be between two steps: the next one in either direction is
 * taken. */
static void change_interval(struct top *top, bool is_longer)
{
    int n = (int)(sizeof(intervals_ms) / sizeof(intervals_ms[0]));
    int at = is_longer ? 0 : n - 1;
    while (is_longer && at < n - 1 && intervals_ms[at] <= top->interval_ms) {
        at++;
    }
    while (!is_longer && at > 0 && intervals_ms[at] >= top->interval_ms) {
        at--;
    }
    top->interval_ms = intervals_ms[at];
}

/* Bytes of a UTF-8 character go together. */
static void erase_last(char *filter)
{
    size_t len = strlen(filter);
    while (len > 0 && ((unsigned char)filter[--len] & 0xc0) == 0x80) {
    }
    filter[len] = '\0';
}

static void type(struct top *top, int key)
{
    char *filter = top->rows.filter;
    size_t len = strlen(filter);
    if (key == TOP_KEY_ENTER) {
        top->is_typing = false;
    } else if (key == TOP_KEY_ESCAPE) {
        top->is_typing = false;
        filter[0] = '\0';
    } else if (key == TOP_KEY_ERASE) {
        erase_last(filter);
    } else if (key >= ' ' && key < 256 && len + 1 < TOP_FILTER_MAX) {
        filter[len] = (char)key;
        filter[len + 1] = '\0';
    }
    top_refill(top);
}

static void sort_by(struct top *top, int by)
{
    top_rows_sort(&top->rows, by);
    top_refill(top);
}

/* From the innermost outwards. */
static void go_back(struct top *top)
{
    if (top->has_help) {
        top->has_help = false;
    } else if (top->has_entries) {
        top->has_entries = false;
    } else if (top->rows.filter[0] != '\0') {
        top->rows.filter[0] = '\0';
        top_refill(top);
    }
}

static bool select_row(struct top *top, int key)
{
    long page = top_table_rows(top) > 1 ? top_table_rows(top) - 1 : 1;
    long all = (long)top->rows.count;
    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        top_rows_move(&top->rows, -1);
        return true;
    case TOP_KEY_DOWN:
    case 'j':
        top_rows_move(&top->rows, 1);
        return true;
    case TOP_KEY_PAGE_UP:
        top_rows_move(&top->rows, -page);
        return true;
    case TOP_KEY_PAGE_DOWN:
        top_rows_move(&top->rows, page);
        return true;
    case TOP_KEY_HOME:
        top_rows_move(&top->rows, -all);
        return true;
    case TOP_KEY_END:
        top_rows_move(&top->rows, all);
        return true;
    default:
        return false;
    }
}

static void act(struct top *top, int key)
{
    switch (key) {
    case 'q':
        top->is_ending = true;
        return;
    case '/':
        top->is_typing = true;
        return;
    case 's':
    case '>':
        sort_by(top, 1);
        return;
    case '<':
        sort_by(top, -1);
        return;
    case 'r':
        top->rows.is_reversed = !top->rows.is_reversed;
        top_refill(top);
        return;
    case 'p':
        top->is_paused = !top->is_paused;
        return;
    case '+':
    case '-':
        change_interval(top, key == '-');
        return;
    case 'h':
    case '?':
        top->has_help = !top->has_help;
        return;
    case TOP_KEY_ENTER:
        top->has_entries = !top->has_entries || top->has_help;
        top->has_help = false;
        return;
    case TOP_KEY_ESCAPE:
        go_back(top);
        return;
    default:
        return;
    }
}

void top_key(struct top *top, int key)
{
    if (key == TOP_KEY_REDRAW) {
        top_screen_redraw();
    } else if (top->is_typing && key != TOP_KEY_UP && key != TOP_KEY_DOWN) {
        type(top, key);
    } else if (!select_row(top, key)) {
        act(top, key);
    }
}
