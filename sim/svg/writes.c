/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to the register that the lock protects, each with its fence. */
#include "svg/svg.h"

#include <string.h>

static void draw_write(struct svg_page *page, const struct sim_note *note)
{
    char classes[32];
    int x = svg_x(page, note->at_ns);
    int y = page->store_y;
    int from_y = svg_row_y(page, note->process, note->lane) + 20;
    if (note->kind == SIM_NOTE_REFUSED) {
        svg_put_line(page->out, x, from_y, x, y, "edge");
        svg_put_dot(page->out, x, y, 75, "no ring");
        svg_put_cross(page->out, x, y, 42, "red");
        svg_page_take(page, x - 75, y - 75, 150, 150);
        return;
    }
    snprintf(classes, sizeof(classes), "thin s%d", note->process + 1);
    svg_put_line(page->out, x, from_y, x, y, classes);
    snprintf(classes, sizeof(classes), "c%d", note->process + 1);
    svg_put_dot(page->out, x, y, 50, classes);
    svg_page_take(page, x - 50, y - 50, 100, 100);
}

/* Label a refused write at its right, at its left, or with a shorter text,
 * whichever place is free first. */
static void label_refused(struct svg_page *page, const struct sim_note *note)
{
    char text[48];
    int x = svg_x(page, note->at_ns);
    int y = page->store_y + 38;
    snprintf(text, sizeof(text), "refused: #%u < #%u",
             svg_rank(&page->model, note->fence),
             svg_rank(&page->model, note->counter));
    const char *in_short = strchr(text, '#');
    if (!svg_page_label(page, x + 110, y, "small bad", text) &&
        !svg_page_label(page, x - 110, y, "small bad end", text) &&
        !svg_page_label(page, x + 110, y, "small bad", in_short)) {
        svg_page_label(page, x - 110, y, "small bad end", in_short);
    }
}

static void label_taken(struct svg_page *page, const struct sim_note *note)
{
    char text[16];
    snprintf(text, sizeof(text), "#%u", svg_rank(&page->model, note->fence));
    svg_page_label(page, svg_x(page, note->at_ns), page->store_y - 75,
                   "small mid", text);
}

static void
each_write(struct svg_page *page, enum sim_note_kind kind,
           void (*draw)(struct svg_page *page, const struct sim_note *note))
{
    for (size_t i = 0; i < page->picture->n; i++) {
        if (page->picture->notes[i].kind == kind) {
            draw(page, &page->picture->notes[i]);
        }
    }
}

void svg_draw_writes(struct svg_page *page)
{
    each_write(page, SIM_NOTE_WRITE, draw_write);
    each_write(page, SIM_NOTE_REFUSED, draw_write);
    each_write(page, SIM_NOTE_REFUSED, label_refused);
    each_write(page, SIM_NOTE_WRITE, label_taken);
}
