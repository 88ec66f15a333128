/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to what the lock protects, each with its fence. */
#include "svg.h"

static void draw_write(struct svg_page *page, const struct sim_note *note)
{
    char classes[32];
    char text[48];
    int x = svg_x(page, note->at_ns);
    int y = page->store_y;
    bool is_refused = note->kind == SIM_NOTE_REFUSED;
    unsigned rank = svg_rank(&page->model, note->fence);
    unsigned newest = svg_rank(&page->model, note->counter);
    snprintf(classes, sizeof(classes), "thin s%d", note->process + 1);
    svg_put_line(page->out, x, svg_row_y(page, note->process, note->lane) + 20,
                 x, y, is_refused ? "edge" : classes);
    if (is_refused) {
        svg_put_dot(page->out, x, y, 75, "no ring");
        svg_put_cross(page->out, x, y, 42, "red");
        snprintf(text, sizeof(text), "refused: #%u < #%u", rank, newest);
        bool is_tight = x + 110 + svg_text_width(text) > page->right;
        svg_page_label(page, is_tight ? x - 110 : x + 110, y + 38,
                       is_tight ? "small bad end" : "small bad", text);
        return;
    }
    snprintf(classes, sizeof(classes), "c%d", note->process + 1);
    svg_put_dot(page->out, x, y, 50, classes);
    snprintf(text, sizeof(text), "#%u", rank);
    svg_page_label(page, x, y - 75, "small mid", text);
}

void svg_draw_writes(struct svg_page *page)
{
    for (size_t i = 0; i < page->picture->n; i++) {
        const struct sim_note *note = &page->picture->notes[i];
        if (note->kind == SIM_NOTE_WRITE || note->kind == SIM_NOTE_REFUSED) {
            draw_write(page, note);
        }
    }
}
