/* SPDX-License-Identifier: Apache-2.0 */
/* The lower half of the screen: holders and waiters of the selected name, or
 * the help. It draws what the last poll has read, and sends nothing. If there
 * are more lines than rows, the last row says how many are hidden. The entries
 * of a name that was selected since that poll are not there yet, so nothing of
 * another name is shown for it. */
#include "top/top.h"

#include "text_size.h"

#include "top/screen.h"

#include <string.h>

/* Bytes of a line; the screen cuts it to its columns. */
#define LINE_TEXT 1600

/* The column where the text of an entry begins, behind its number. */
#define AT_ENTRY 6

/* ---- Help -------------------------------------------------------------- */

void top_draw_help(int y, int end)
{
    static const char *const lines[] = {
        "up down PgUp PgDn Home End   select        Enter   holders and "
        "waiters",
        "< > or s   sort by another column          r       the other way "
        "round",
        "/          filter: part of a name, or a pattern with * ? [a-z]",
        "p          pause                           + -     look more, less "
        "often",
        "Esc        back                            q       quit",
        "WAIT: how many wait. LEFT: of the lease, renewed while it is held.",
        "SINCE: when it was granted, by the server, to within 4.2 s.",
    };
    size_t n = sizeof(lines) / sizeof(lines[0]);
    top_screen_rule(y++);
    for (size_t i = 0; i < n && y < end; i++) {
        (void)top_screen_put(y++, 1, top_screen_columns() - 1, TOP_PLAIN,
                             lines[i]);
    }
}

/* ---- Entries ----------------------------------------------------------- */

struct lower {
    const struct cli_entries *entries;
    int y, end; /* rows that may be drawn to */
};

static bool is_shown(const struct cli_entries *entries,
                     const struct cli_entry *entry)
{
    return cli_entry_is_shown(entries, entry,
                              cli_entries_queue(entries, entry->at.node));
}

static int count_lines(const struct top_look *look)
{
    int count = look->n_nodes > 1 ? look->n_nodes : 0;
    for (size_t i = 0; i < look->entries.count; i++) {
        count += is_shown(&look->entries, &look->entries.list[i]) ? 1 : 0;
    }
    return count;
}

static bool next_line(struct lower *lower, int *y)
{
    if (lower->y >= lower->end) {
        return false;
    }
    *y = lower->y++;
    return true;
}

static void draw_node(struct lower *lower, const struct cli_node *node)
{
    char text[CLI_LINE_MAX];
    struct cli_out out;
    int y;
    if (!next_line(lower, &y)) {
        return;
    }
    cli_out_init_text(&out, text, sizeof(text));
    (void)cli_out_shown(&out, node->address, strlen(node->address));
    cli_out_text(&out, node->health == HF_NODE_QUARANTINED ? ": quarantined"
                       : node->health == HF_NODE_DOWN      ? ": down"
                                                           : "");
    (void)top_screen_put(y, 0, top_screen_columns(),
                         node->health == HF_NODE_UP ? TOP_FAINT : TOP_ALARM,
                         text);
}

static void put_head(struct cli_out *out, const struct cli_entry *entry)
{
    if (entry->at.waits) {
        cli_out_int(out, (int64_t)entry->ahead + 1);
        cli_out_text(out, ".");
    } else if (entry->slot != CLI_NO_SLOT) {
        cli_out_text(out, "#");
        cli_out_int(out, entry->slot);
    }
}

static void draw_entry(struct lower *lower, const struct cli_entry *entry)
{
    char text[LINE_TEXT];
    struct cli_out out;
    int y;
    if (!next_line(lower, &y)) {
        return;
    }
    cli_out_init_text(&out, text, sizeof(text));
    put_head(&out, entry);
    top_screen_put_right(y, 0, AT_ENTRY - 1, TOP_FAINT, text);
    cli_out_init_text(&out, text, sizeof(text));
    cli_entry_text(&out, entry);
    (void)top_screen_put(y, AT_ENTRY, top_screen_columns() - AT_ENTRY,
                         entry->at.waits ? TOP_PLAIN : TOP_STRONG, text);
}

static void draw_some(struct lower *lower, int node, bool waits)
{
    for (size_t i = 0; i < lower->entries->count; i++) {
        const struct cli_entry *entry = &lower->entries->list[i];
        if (entry->at.node == node && entry->at.waits == waits &&
            is_shown(lower->entries, entry)) {
            draw_entry(lower, entry);
        }
    }
}

static void draw_title(int y, const struct cli_row *row)
{
    char text[LINE_TEXT];
    struct cli_out out;
    int room = top_screen_columns() - 6;
    top_screen_rule(y);
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, " ");
    (void)cli_out_shown(&out, row->name, row->name_len);
    cli_out_text(&out, ": ");
    cli_row_mode(&out, row);
    cli_out_text(&out, " ");
    int width = (int)out.len < room ? (int)out.len : room;
    (void)top_screen_put(y, 3, width, TOP_STRONG, text);
}

static void draw_rest(int y, int n_hidden)
{
    char text[HF_TEXT_PHRASE];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, "and ");
    cli_out_int(&out, n_hidden);
    cli_out_text(&out, " more lines: see holdfast ls NAME");
    (void)top_screen_put(y, AT_ENTRY, top_screen_columns() - AT_ENTRY,
                         TOP_FAINT, text);
}

static void draw_look(const struct top_look *look, int y, int end)
{
    int n_lines = count_lines(look);
    int room = end - y;
    bool is_cut = n_lines > room && room > 0;
    struct lower lower = {&look->entries, y, is_cut ? end - 1 : end};
    for (int i = 0; i < look->n_nodes; i++) {
        if (look->n_nodes > 1) {
            draw_node(&lower, &look->nodes[i]);
        }
        draw_some(&lower, i, false);
        draw_some(&lower, i, true);
    }
    if (is_cut) {
        draw_rest(end - 1, n_lines - room + 1);
    }
}

void top_draw_entries(const struct top *top, int y, int end)
{
    const struct cli_row *row = top_rows_selected(&top->rows);
    const struct top_look *look = top->look;
    if (row == NULL || look == NULL) {
        top_screen_rule(y);
        return;
    }
    draw_title(y, row);
    /* The entries of a name that was just selected have not been read yet. */
    if (look->name_len == row->name_len &&
        memcmp(look->name, row->name, row->name_len) == 0) {
        draw_look(look, y + 1, end);
    }
}
