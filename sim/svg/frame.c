/* SPDX-License-Identifier: Apache-2.0 */
/* Above the lanes: title, caption, axis. */
#include "svg/svg.h"

#include <inttypes.h>
#include <string.h>

#define TICKS 8 /* of the time axis: their labels must not overlap */

/* Characters of the caption that fit into 950 pixels. */
#define CAPTION_COLUMNS 122

static const struct sim_note *find_violation(const struct svg_page *page)
{
    for (size_t i = 0; i < page->picture->n; i++) {
        if (page->picture->notes[i].kind == SIM_NOTE_VIOLATION) {
            return &page->picture->notes[i];
        }
    }
    return NULL;
}

/* ---- Title --------------------------------------------------------------- */

static void say_counts(const struct svg_model *model, char *text, size_t size)
{
    size_t both = 0;
    for (size_t i = 0; i < model->n_spans; i++) {
        both += model->spans[i].kind == SVG_BOTH;
    }
    snprintf(text, size,
             "%d process%s, %d server%s; holds: %zu, writes taken: %zu, "
             "refused: %zu, overlaps of holders: %zu",
             model->n_processes, model->n_processes == 1 ? "" : "es",
             model->n_nodes, model->n_nodes == 1 ? "" : "s", model->n_holds,
             model->n_writes, model->n_refused, both);
}

/* The length of the caption's next line, with the blank after it. */
static size_t line_of(const char *text)
{
    size_t len = strlen(text);
    if (len <= CAPTION_COLUMNS) {
        return len;
    }
    for (len = CAPTION_COLUMNS; len > 0 && text[len] != ' '; len--) {
    }
    return len > 0 ? len + 1 : CAPTION_COLUMNS;
}

void svg_title_make(struct svg_page *page, const char *title)
{
    size_t len = strcspn(title, "\n");
    snprintf(page->title, sizeof(page->title), "%.*s", (int)len, title);
    if (title[len] == '\n') {
        snprintf(page->caption, sizeof(page->caption), "%s", title + len + 1);
    } else {
        say_counts(&page->model, page->caption, sizeof(page->caption));
    }
    for (const char *at = page->caption; *at != '\0'; at += line_of(at)) {
        page->caption_lines++;
    }
    page->caption_lines += find_violation(page) != NULL;
}

void svg_draw_title(struct svg_page *page)
{
    char text[SVG_CAPTION_MAX];
    int y = 410;
    svg_put_head(page->out, page->width, page->height);
    fputs("<title>", page->out);
    svg_put_escaped(page->out, page->title);
    fputs("</title>\n", page->out);
    fprintf(page->out,
            "<rect x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"8\" "
            "class=\"paper\"/>\n",
            page->width / 10 - 1, page->height / 10 - 1);
    svg_put_text(page->out, 240, 370, "title", page->title);
    for (const char *at = page->caption; *at != '\0'; at += line_of(at)) {
        snprintf(text, sizeof(text), "%.*s", (int)line_of(at), at);
        y += SVG_CAPTION_LINE;
        svg_put_text(page->out, 240, y, "caption", text);
    }
    const struct sim_note *broken = find_violation(page);
    if (broken != NULL) {
        svg_put_text(page->out, 240, y + SVG_CAPTION_LINE, "small bad",
                     broken->text == NULL ? "a promise was broken"
                                          : broken->text);
    }
}

/* ---- Axis ---------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, TICKS times or less. */
static int64_t step_of(int64_t span_ns)
{
    int64_t step = 1000;
    static const int64_t grow[] = {2, 5, 10};
    for (;; step *= 10) {
        if (span_ns / step <= TICKS) {
            return step;
        }
        for (int i = 0; i < 2; i++) {
            if (span_ns / (step * grow[i]) <= TICKS) {
                return step * grow[i];
            }
        }
    }
}

/* The shortest exact text: "0.5 s", "250 ms", "3 s". */
static void say_time(int64_t ns, bool in_s, char *text, size_t size)
{
    char digits[32];
    int64_t unit = in_s ? SIM_S : SIM_MS;
    snprintf(digits, sizeof(digits), "%" PRId64 ".%03d", ns / unit,
             (int)(ns % unit / (unit / 1000)));
    size_t len = strlen(digits);
    while (digits[len - 1] == '0') {
        len--;
    }
    len -= digits[len - 1] == '.';
    snprintf(text, size, "%.*s %s", (int)len, digits, in_s ? "s" : "ms");
}

void svg_draw_axis(struct svg_page *page)
{
    const struct svg_model *model = &page->model;
    char text[40];
    int64_t step = step_of(model->to_ns - model->from_ns);
    bool in_s = step >= 100000000;
    int bottom = page->legend_y - 260;
    svg_put_line(page->out, page->left, page->axis_y, page->right, page->axis_y,
                 "axis");
    for (int64_t at = (model->from_ns + step - 1) / step * step;
         at <= model->to_ns; at += step) {
        int x = svg_x(page, at);
        svg_put_line(page->out, x, page->axis_y, x, bottom, "grid");
        say_time(at, in_s, text, sizeof(text));
        svg_put_text(page->out, x, page->axis_y - 50, "small mid", text);
    }
    const struct sim_note *broken = find_violation(page);
    if (broken != NULL) {
        int x = svg_x(page, broken->at_ns);
        svg_put_line(page->out, x, page->axis_y, x, bottom, "edge");
    }
}
