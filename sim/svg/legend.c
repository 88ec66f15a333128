/* SPDX-License-Identifier: Apache-2.0 */
/* The legend: the meaning of the marks that occur, in as many lines as needed;
 * and remarks about parts that the picture leaves out. */
#include "svg/svg.h"

#include <inttypes.h>
#include <string.h>

/* Tenths of a pixel: the place of the sample before a text, and the sample; one
 * line of text. */
#define SWATCH 260
#define SWATCH_WIDTH (SWATCH - 90)
#define LINE 190

enum item {
    ITEM_HOLD,
    ITEM_LEASE,
    ITEM_RISK,
    ITEM_LOST,
    ITEM_BEYOND,
    ITEM_CRASHED,
    ITEM_BOTH,
    ITEM_WAIT,
    ITEM_GIVEN_UP,
    ITEM_PAUSE,
    ITEM_GONE,
    ITEM_APART,
    ITEM_KEPT,
    ITEM_DOUBT,
    ITEM_ASK,
    ITEM_NO,
    ITEM_NEVER,
    ITEM_PUSH,
    ITEM_WRITE,
    ITEM_REFUSED,
    ITEMS
};

static const char *const texts[ITEMS] = {
    [ITEM_HOLD] = "believes to hold, fence #1",
    [ITEM_LEASE] = "its deadline, by each renewal",
    [ITEM_RISK] = "at risk",
    [ITEM_LOST] = "lost",
    [ITEM_BEYOND] = "has not noticed yet",
    [ITEM_CRASHED] = "crashed; its lease goes on",
    [ITEM_BOTH] = "two holders at once",
    [ITEM_WAIT] = "waits for it",
    [ITEM_GIVEN_UP] = "did not get it",
    [ITEM_PAUSE] = "stands still",
    [ITEM_GONE] = "is not there",
    [ITEM_APART] = "cut off from the others",
    [ITEM_KEPT] = "what a server keeps, and the owner",
    [ITEM_DOUBT] = "in quarantine",
    [ITEM_ASK] = "asks; yes",
    [ITEM_NO] = "no, or wait",
    [ITEM_NEVER] = "reply that never came",
    [ITEM_PUSH] = "handed over by the server",
    [ITEM_WRITE] = "write taken",
    [ITEM_REFUSED] = "write refused, older fence",
};

/* ---- Marks that occur ---------------------------------------------------- */

static unsigned of_spans(const struct svg_page *page)
{
    const struct svg_model *model = &page->model;
    static const enum item items[] = {
        [SVG_WAIT] = ITEM_WAIT,   [SVG_RISK] = ITEM_RISK,
        [SVG_LEASE] = ITEM_LEASE, [SVG_PAUSE] = ITEM_PAUSE,
        [SVG_GONE] = ITEM_GONE,   [SVG_QUARANTINE] = ITEM_DOUBT,
        [SVG_APART] = ITEM_APART, [SVG_FAULT] = ITEMS,
        [SVG_BOTH] = ITEM_BOTH,   [SVG_GRANT] = ITEM_KEPT,
    };
    unsigned found = 0;
    for (size_t i = 0; i < model->n_spans; i++) {
        const struct svg_span *span = &model->spans[i];
        found |= 1U << items[span->kind];
        if (span->kind == SVG_WAIT && span->is_cut) {
            found |= 1U << ITEM_GIVEN_UP;
        }
    }
    for (size_t i = 0; i < model->n_holds; i++) {
        const struct svg_hold *hold = &model->holds[i];
        bool is_late = svg_is_late(page, hold);
        found |= 1U << ITEM_HOLD;
        found |= hold->end == SVG_END_LOST || is_late ? 1U << ITEM_LOST : 0;
        found |= hold->end == SVG_END_CRASHED ? 1U << ITEM_CRASHED : 0;
        found |= is_late ? 1U << ITEM_BEYOND : 0;
    }
    return found;
}

static unsigned of_note(const struct sim_note *note, bool has_messages)
{
    if (note->kind == SIM_NOTE_WRITE) {
        return 1U << ITEM_WRITE;
    }
    if (note->kind == SIM_NOTE_REFUSED) {
        return 1U << ITEM_REFUSED;
    }
    if (!has_messages) {
        return 0;
    }
    if (note->kind == SIM_NOTE_PUSHED) {
        return 1U << ITEM_PUSH;
    }
    if (note->kind == SIM_NOTE_ASKED) {
        return 1U << ITEM_ASK | (svg_is_yes(note) ? 0 : 1U << ITEM_NO) |
               (note->until_ns < 0 ? 1U << ITEM_NEVER : 0);
    }
    return 0;
}

static unsigned find_items(const struct svg_page *page)
{
    unsigned found = of_spans(page);
    for (size_t i = 0; i < page->picture->n; i++) {
        found |= of_note(&page->picture->notes[i], page->has_messages);
    }
    return found & ((1U << ITEMS) - 1);
}

/* ---- Swatches ---------------------------------------------------------- */

/* From the back to the front: bar, pattern on it, line, dot, cross. */
struct swatch {
    const char *bar, *pattern, *line, *dot, *cross;
    int radius; /* of dot, or cross if there is no dot */
    enum { AT_MID, AT_START, AT_END } where;
};

static const struct swatch swatches[ITEMS] = {
    [ITEM_HOLD] = {.bar = "c1"},
    [ITEM_LEASE] = {.line = "lease s1"},
    [ITEM_RISK] = {.bar = "c1", .pattern = "risk"},
    [ITEM_BEYOND] = {.bar = "beyond"},
    [ITEM_CRASHED] = {.bar = "pale c1 s1", .cross = "red", .radius = 50},
    [ITEM_BOTH] = {.bar = "both"},
    [ITEM_WAIT] = {.bar = "wait c1"},
    [ITEM_GIVEN_UP] = {.bar = "wait c1",
                       .cross = "ink",
                       .radius = 35,
                       .where = AT_END},
    [ITEM_PAUSE] = {.bar = "pause"},
    [ITEM_GONE] = {.bar = "gone"},
    [ITEM_APART] = {.bar = "apart"},
    [ITEM_KEPT] = {.bar = "kept c1 s1"},
    [ITEM_DOUBT] = {.bar = "doubt"},
    [ITEM_ASK] = {.line = "ask s1", .dot = "c1", .radius = 30, .where = AT_END},
    [ITEM_NO] = {.line = "ask s1",
                 .dot = "no s1",
                 .radius = 26,
                 .where = AT_END},
    [ITEM_NEVER] = {.line = "reply s1",
                    .cross = "red",
                    .radius = 30,
                    .where = AT_END},
    [ITEM_PUSH] = {.line = "push s1",
                   .dot = "full",
                   .radius = 42,
                   .where = AT_START},
    [ITEM_WRITE] = {.dot = "c1", .radius = 50},
    [ITEM_REFUSED] = {.dot = "no ring", .cross = "red", .radius = 75},
};

/* A lease ends with a stroke. @return its x. */
static int draw_stroke(FILE *out, enum item item, int x, int mid)
{
    bool is_lost = item == ITEM_LOST;
    int half = is_lost ? 60 : 25;
    int at = is_lost ? x + SWATCH_WIDTH / 2 : x + SWATCH_WIDTH;
    svg_put_line(out, at, mid - half, at, mid + half,
                 is_lost ? "red" : "lease s1");
    return at;
}

static void draw_bar(FILE *out, enum item item, int x, int y, const char *class)
{
    if (item == ITEM_WAIT || item == ITEM_GIVEN_UP) {
        svg_put_rect(out, x, y - 65, SWATCH_WIDTH, 60, class); /* thin */
    } else {
        svg_put_rect(out, x, y - 90, SWATCH_WIDTH, 110, class);
    }
}

static void draw_swatch(FILE *out, enum item item, int x, int y)
{
    const struct swatch *swatch = &swatches[item];
    int width = SWATCH_WIDTH;
    int at = swatch->where == AT_MID     ? x + width / 2
             : swatch->where == AT_START ? x
                                         : x + width;
    int mid = y - 35;
    if (swatch->bar != NULL) {
        draw_bar(out, item, x, y, swatch->bar);
    }
    if (swatch->pattern != NULL) {
        svg_put_rect(out, x, y - 90, width, 110, swatch->pattern);
    }
    if (swatch->line != NULL) {
        svg_put_line(out, x, mid, x + width, mid, swatch->line);
    }
    if (item == ITEM_LEASE || item == ITEM_LOST) {
        at = draw_stroke(out, item, x, mid);
    }
    if (swatch->dot != NULL) {
        svg_put_dot(out, at, mid, swatch->radius, swatch->dot);
    }
    if (swatch->cross != NULL) {
        svg_put_cross(out, at, mid, swatch->dot != NULL ? 42 : swatch->radius,
                      swatch->cross);
    }
}

/* ---- Lines --------------------------------------------------------------- */

/* @return the y of the last line; without `out` nothing is drawn. */
static int flow(const struct svg_page *page, FILE *out)
{
    unsigned found = find_items(page);
    int x = 240;
    int y = page->legend_y;
    for (int i = 0; i < ITEMS; i++) {
        if ((found >> i & 1) == 0) {
            continue;
        }
        int width = SWATCH + svg_text_width(texts[i]) + 60;
        if (x > 240 && x + width > page->width - 100) {
            x = 240;
            y += LINE;
        }
        if (out != NULL) {
            draw_swatch(out, (enum item)i, x, y);
            svg_put_text(out, x + SWATCH, y, "small", texts[i]);
        }
        x += width;
    }
    return y;
}

/* The remarks below the legend. @return false: there are none. */
static bool say_remarks(const struct svg_page *page, char *text, size_t size)
{
    const struct svg_model *model = &page->model;
    size_t at = 0;
    text[0] = '\0';
    if (model->n_fences > 0) {
        at += (size_t)snprintf(
            text, size,
            "#1, #2 …: fences of acquisitions, in their order; #1 is %" PRIu64
            ".",
            model->fences[0]);
    }
    if (!page->has_messages) {
        at += (size_t)snprintf(
            text + at, size - at,
            " %zu messages are left out, too many to be told apart.",
            model->n_messages);
    }
    if (model->n_later > 0) {
        snprintf(text + at, size - at, " Faults after the last turn: %zu.",
                 model->n_later);
    }
    return *text != '\0';
}

int svg_legend_height(struct svg_page *page)
{
    char text[256];
    int height = flow(page, NULL) - page->legend_y + 180;
    return say_remarks(page, text, sizeof(text)) ? height + LINE : height;
}

void svg_draw_legend(struct svg_page *page)
{
    char text[256];
    int y = flow(page, page->out) + LINE;
    if (say_remarks(page, text, sizeof(text))) {
        svg_put_text(page->out, 240, y, "what", text);
    }
}
