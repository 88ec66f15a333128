/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, replies and pushes between processes and nodes; and the grants of
 * the nodes. */
#include "svg/svg.h"

#include <inttypes.h>
#include <string.h>

/* So many fit between processes and nodes (WIRES in page.c); tenths of a pixel
 * from one to the next: a line of small text. */
#define LABEL_ROWS 4
#define LABEL_ROW 130
#define LABEL_AGAIN 600 /* an equal label nearer than this is left out */

/* ---- Grants of nodes ----------------------------------------------------- */

void svg_draw_kept(struct svg_page *page)
{
    char classes[32];
    char text[32];
    for (size_t i = 0; i < page->model.n_spans; i++) {
        const struct svg_span *span = &page->model.spans[i];
        if (span->kind != SVG_GRANT || span->node >= page->model.n_nodes) {
            continue;
        }
        int x = svg_x(page, span->from_ns);
        int width = svg_x(page, span->to_ns) - x;
        int y = svg_kept_y(page, span);
        int shift = span->is_shared ? span->process % 3 * 40 : 0;
        unsigned rank = svg_rank(&page->model, span->fence);
        snprintf(classes, sizeof(classes), "kept c%d s%d", span->process + 1,
                 span->process + 1);
        svg_put_rect(page->out, x, y + shift, width,
                     span->is_shared ? SVG_KEPT - 80 : SVG_KEPT, classes);
        snprintf(text, sizeof(text), rank > 0 ? "p%d #%u" : "p%d",
                 span->process + 1, rank);
        if (svg_text_width(text) < width && !span->is_shared) {
            svg_page_label(page, x + 30, y + 112, "small dark", text);
        }
    }
}

/* ---- Messages ------------------------------------------------------------ */

static int bottom_of(const struct svg_page *page, int process)
{
    return page->process_y[process] + page->process_h[process];
}

/* The verb is the first word: "renew 7", "raise to 7". @return false: the
 * request gets no label, as that for the marker in a handshake. */
static bool say_verb(const struct sim_note *note, char *out, size_t size)
{
    const char *text = note->text == NULL ? "" : note->text;
    bool is_queued =
        note->result != NULL && strcmp(note->result, "queued") == 0;
    snprintf(out, size, "%.*s", (int)strcspn(text, " "), text);
    bool is_told = *out != '\0' && strcmp(out, "marker") != 0;
    if (svg_is_missed(note)) {
        snprintf(out, size, "NOSCRIPT");
    } else if (is_queued && strcmp(out, "acquire") == 0) {
        snprintf(out, size, "queue");
    }
    return is_told;
}

/* Place a label in the first row between processes and nodes that has room. */
static bool label_row(struct svg_page *page, int process, int x,
                      const char *text)
{
    char classes[32];
    int y = page->node_y[0] - 60;
    snprintf(classes, sizeof(classes), "small halo t%d", process + 1);
    for (int row = 0; row < LABEL_ROWS; row++) {
        if (svg_page_label(page, x, y - row * LABEL_ROW, classes, text)) {
            return true;
        }
    }
    return false;
}

/* Label only once the same request to several nodes, or repeated soon after. */
static void label_once(struct svg_page *page, int process, int at, int x,
                       const char *text)
{
    if (strcmp(text, page->said[process].verb) == 0 &&
        svg_abs(at - page->said[process].x) < LABEL_AGAIN) {
        return;
    }
    if (label_row(page, process, x, text)) {
        snprintf(page->said[process].verb, sizeof(page->said[process].verb),
                 "%s", text);
        page->said[process].x = at;
    }
}

static void label_asked(struct svg_page *page, const struct sim_note *note)
{
    char verb[24];
    int from_x = svg_x(page, note->sent_ns);
    int x = from_x + (svg_x(page, note->at_ns) - from_x) / 2;
    if (say_verb(note, verb, sizeof(verb))) {
        label_once(page, note->process, x, x + 30, verb);
    }
}

static void label_pushed(struct svg_page *page, const struct sim_note *note)
{
    int64_t at_ns = note->until_ns < 0 ? note->at_ns : note->until_ns;
    int x = svg_x(page, at_ns);
    label_once(page, note->process, x, x + 60, "handed over");
}

static void draw_asked(struct svg_page *page, const struct sim_note *note)
{
    char classes[32];
    bool is_yes = svg_is_yes(note);
    int x = svg_x(page, note->at_ns);
    int y = page->node_y[note->node];
    int from_x = svg_x(page, note->sent_ns);
    int from_y = bottom_of(page, note->process);
    snprintf(classes, sizeof(classes), "ask s%d", note->process + 1);
    svg_put_line(page->out, from_x, from_y, x, y, classes);
    snprintf(classes, sizeof(classes), "reply s%d", note->process + 1);
    if (note->until_ns < 0) {
        int end_x = x + (x - from_x) / 2 + 20;
        int end_y = (y + from_y) / 2;
        svg_put_line(page->out, x, y, end_x, end_y, classes);
        svg_put_cross(page->out, end_x, end_y, 30, "red");
    } else {
        svg_put_line(page->out, x, y, svg_x(page, note->until_ns), from_y,
                     classes);
    }
    snprintf(classes, sizeof(classes), is_yes ? "c%d" : "no s%d",
             note->process + 1);
    svg_put_dot(page->out, x, y, is_yes ? 30 : 26, classes);
}

static void draw_pushed(struct svg_page *page, const struct sim_note *note)
{
    char classes[32];
    int x = svg_x(page, note->at_ns);
    int y = page->node_y[note->node];
    int to_x = svg_x(page, note->until_ns < 0 ? note->at_ns : note->until_ns);
    int to_y = bottom_of(page, note->process);
    snprintf(classes, sizeof(classes), "push s%d", note->process + 1);
    if (note->until_ns < 0) {
        to_y = (y + to_y) / 2;
        svg_put_cross(page->out, to_x, to_y, 30, "red");
    } else {
        fprintf(page->out,
                "<path d=\"M" SVG_PX " " SVG_PX "l-4.5 9h9z\" "
                "class=\"c%d\"/>\n",
                SVG_AT(to_x), SVG_AT(to_y - 10), note->process + 1);
    }
    svg_put_line(page->out, x, y, to_x, to_y + 60, classes);
    svg_put_dot(page->out, x, y, 42, "full");
}

static void
each_message(struct svg_page *page,
             void (*asked)(struct svg_page *page, const struct sim_note *note),
             void (*pushed)(struct svg_page *page, const struct sim_note *note))
{
    for (size_t i = 0; i < page->picture->n; i++) {
        const struct sim_note *note = &page->picture->notes[i];
        if (note->at_ns > page->model.to_ns ||
            note->at_ns < page->model.from_ns || note->node < 0 ||
            note->process < 0) {
            continue;
        }
        if (note->kind == SIM_NOTE_ASKED) {
            asked(page, note);
        } else if (note->kind == SIM_NOTE_PUSHED) {
            pushed(page, note);
        }
    }
}

/* Draw all messages; no line crosses a label. */
void svg_draw_messages(struct svg_page *page)
{
    if (page->has_messages) {
        each_message(page, draw_asked, draw_pushed);
        each_message(page, label_asked, label_pushed);
    }
}
