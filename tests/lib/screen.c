/* SPDX-License-Identifier: Apache-2.0 */
#include "screen.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A character with its combining marks. "": the right half of a wide
 * character. */
#define CELL 24

#define PARAMS_MAX 16 /* numbers of a control sequence: those of a VT510 */

static char cells[SCREEN_ROWS_MAX][SCREEN_COLUMNS_MAX][CELL];
static int n_rows, n_columns;
static int row, column; /* the cursor; column == n_columns: the next character
                           wraps */
static int top, bottom; /* the scroll region */
static int saved_row, saved_column;
static char last[CELL];
static bool draws_lines; /* ESC ( 0: line drawing, where q is a line */

/* ---- Cells ------------------------------------------------------------- */

static void erase(int y, int from, int to)
{
    for (int x = from; x < to && x < n_columns; x++) {
        strcpy(cells[y][x], " ");
    }
}

static void erase_rows(int from, int to)
{
    for (int y = from; y < to; y++) {
        erase(y, 0, n_columns);
    }
}

/* Move the rows `first` to `end` by one, up or down. */
static void scroll(int first, int end, bool is_up)
{
    size_t size = (size_t)(end - first - 1) * sizeof(cells[0]);
    if (is_up) {
        memmove(cells[first], cells[first + 1], size);
        erase(end - 1, 0, n_columns);
    } else {
        memmove(cells[first + 1], cells[first], size);
        erase(first, 0, n_columns);
    }
}

static void line_feed(void)
{
    if (row == bottom - 1) {
        scroll(top, bottom, true);
    } else if (row < n_rows - 1) {
        row++;
    }
}

static void put(const char *text, int width)
{
    if (width == 0) {
        char *to = column > 0 ? cells[row][column - 1] : cells[row][0];
        strncat(to, text, CELL - 1 - strlen(to));
        return;
    }
    if (column + width > n_columns) {
        column = 0;
        line_feed();
    }
    snprintf(cells[row][column], CELL, "%s", text);
    if (width == 2) {
        cells[row][column + 1][0] = '\0';
    }
    column += width;
    snprintf(last, sizeof(last), "%s", text);
}

/* ---- Sequences --------------------------------------------------------- */

static int at_least_1(int value)
{
    return value > 1 ? value : 1;
}

static int between(int value, int end)
{
    return value < 0 ? 0 : value >= end ? end - 1 : value;
}

static void erase_display(int mode)
{
    if (mode == 0) {
        erase(row, column, n_columns);
        erase_rows(row + 1, n_rows);
    } else if (mode == 1) {
        erase_rows(0, row);
        erase(row, 0, column + 1);
    } else {
        erase_rows(0, n_rows);
    }
}

/* Delete or insert `by` cells at the cursor. */
static void shift(int by, bool is_delete)
{
    int count = n_columns - column - by;
    if (count <= 0) {
        erase(row, column, n_columns);
        return;
    }
    char(*at)[CELL] = &cells[row][column];
    if (is_delete) {
        memmove(at, at + by, (size_t)count * CELL);
        erase(row, n_columns - by, n_columns);
    } else {
        memmove(at + by, at, (size_t)count * CELL);
        erase(row, column, column + by);
    }
}

static void edit(char final, const int *p)
{
    int n = at_least_1(p[0]);
    switch (final) {
    case 'J':
        erase_display(p[0]);
        return;
    case 'K':
        erase(row, p[0] == 0 ? column : 0, p[0] == 1 ? column + 1 : n_columns);
        return;
    case 'X':
        erase(row, column, column + n);
        return;
    case 'P':
        shift(n, true);
        return;
    case '@':
        shift(n, false);
        return;
    case 'b':
        for (int i = 0; i < n; i++) {
            put(last, 1);
        }
        return;
    default: /* L, M, S, T */
        for (int i = 0; i < n; i++) {
            scroll(final == 'S' || final == 'T' ? top : row, bottom,
                   final == 'M' || final == 'S');
        }
        return;
    }
}

static void move(char final, const int *p)
{
    int n = at_least_1(p[0]);
    switch (final) {
    case 'A':
        row -= n;
        break;
    case 'B':
        row += n;
        break;
    case 'C':
        column += n;
        break;
    case 'D':
        column -= n;
        break;
    case 'G':
        column = n - 1;
        break;
    case 'd':
        row = n - 1;
        break;
    default: /* H, f */
        row = n - 1;
        column = at_least_1(p[1]) - 1;
        break;
    }
    row = between(row, n_rows);
    column = between(column, n_columns);
}

static bool control(char final, bool is_private, const int *p)
{
    if (strchr("JKXP@bLMST", final) != NULL) {
        edit(final, p);
    } else if (strchr("ABCDGdHf", final) != NULL) {
        move(final, p);
    } else if (final == 'r') {
        top = at_least_1(p[0]) - 1;
        bottom = p[1] > 0 && p[1] <= n_rows ? p[1] : n_rows;
        row = column = 0;
    } else if (is_private && p[0] == 1049) {
        erase_rows(0, n_rows); /* the alternate screen */
    } else {
        return strchr("mhltnc", final) != NULL; /* without a visible effect */
    }
    return true;
}

/* @return its length; 0: unknown, or incomplete. */
static size_t control_sequence(const char *at, size_t len)
{
    int p[PARAMS_MAX] = {0};
    int count = 0;
    size_t i = 2;
    bool is_private = i < len && strchr("?>=", at[i]) != NULL;
    for (i += is_private ? 1 : 0; i < len; i++) {
        if (at[i] >= '0' && at[i] <= '9') {
            p[count] = 10 * p[count] + (at[i] - '0');
        } else if (at[i] == ';' && count < PARAMS_MAX - 1) {
            count++;
        } else {
            return control(at[i], is_private, p) ? i + 1 : 0;
        }
    }
    return 0;
}

static size_t escape_sequence(const char *at, size_t len)
{
    switch (len > 1 ? at[1] : '\0') {
    case '[':
        return control_sequence(at, len);
    case '(':
        draws_lines = len > 2 ? at[2] == '0' : draws_lines;
        return len > 2 ? 3 : 0;
    case ')':
        return len > 2 ? 3 : 0;
    case ']':
        for (size_t i = 2; i < len; i++) {
            if (at[i] == '\a') {
                return i + 1;
            }
        }
        return 0;
    case '7':
        saved_row = row;
        saved_column = column;
        return 2;
    case '8':
        row = saved_row;
        column = saved_column;
        return 2;
    case 'M':
        if (row == top) {
            scroll(top, bottom, false);
        } else {
            row = between(row - 1, n_rows);
        }
        return 2;
    case '=':
    case '>':
        return 2;
    default:
        return 0;
    }
}

static size_t character(const char *at, size_t len)
{
    mbstate_t state;
    wchar_t c;
    char text[CELL] = "?";
    memset(&state, 0, sizeof(state));
    size_t n = mbrtowc(&c, at, len, &state);
    if (n == (size_t)-2) {
        return 0;
    }
    if (n == (size_t)-1 || wcwidth(c) < 0) {
        put(text, 1);
        return 1;
    }
    bool is_line = draws_lines && *at == 'q';
    snprintf(text, sizeof(text), "%.*s", is_line ? 3 : (int)n,
             is_line ? "\u2500" : at);
    put(text, wcwidth(c));
    return n;
}

static size_t one(const char *at, size_t len)
{
    switch (at[0]) {
    case '\033':
        return escape_sequence(at, len);
    case '\r':
        column = 0;
        return 1;
    case '\n':
        line_feed();
        return 1;
    case '\b':
        column = between(column - 1, n_columns);
        return 1;
    case '\t':
        column = between((column / 8 + 1) * 8, n_columns);
        return 1;
    case '\a':
    case '\016':
    case '\017':
    case '\0':
        return 1;
    default:
        return character(at, len);
    }
}

bool screen_replay(const char *output, size_t len, int rows, int columns,
                   size_t *rest)
{
    n_rows = rows < SCREEN_ROWS_MAX ? rows : SCREEN_ROWS_MAX;
    n_columns = columns < SCREEN_COLUMNS_MAX ? columns : SCREEN_COLUMNS_MAX;
    row = column = top = saved_row = saved_column = 0;
    bottom = n_rows;
    draws_lines = false;
    strcpy(last, " ");
    erase_rows(0, n_rows);
    size_t n;
    for (*rest = 0; *rest < len; *rest += n) {
        n = one(output + *rest, len - *rest);
        if (n == 0) {
            return false;
        }
    }
    return true;
}

/* ---- Rows -------------------------------------------------------------- */

static const char *row_text(int y)
{
    static char text[SCREEN_COLUMNS_MAX * CELL];
    size_t len = 0;
    size_t end = 0;
    for (int x = 0; x < n_columns; x++) {
        size_t n = strlen(cells[y][x]);
        memcpy(text + len, cells[y][x], n);
        len += n;
        end = n > 0 && strcmp(cells[y][x], " ") != 0 ? len : end;
    }
    text[end] = '\0';
    return text;
}

bool screen_has(const char *text)
{
    for (int y = 0; y < n_rows; y++) {
        if (strstr(row_text(y), text) != NULL) {
            return true;
        }
    }
    return false;
}

void screen_print(FILE *file)
{
    int end = n_rows;
    while (end > 0 && row_text(end - 1)[0] == '\0') {
        end--;
    }
    for (int y = 0; y < end; y++) {
        fprintf(file, "%s\n", row_text(y));
    }
}
