/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of processes: waits, holds, losses, hand-overs. */
#include "svg/svg.h"

#include <string.h>

/* Tenths of a pixel: lease lines are in turn above and below each other, three
 * pixels apart, so that two that touch are two. */
#define LEASE_STEP 32

static const char *class_of(char *out, size_t size, const char *classes,
                            int process)
{
    snprintf(out, size, "%s c%d s%d", classes, process + 1, process + 1);
    return out;
}

/* White text could not be read on these colours (put.c): theirs is dark. */
static bool is_bright(int process)
{
    return process == 1 || process == 3 || process == 4 || process == 7;
}

/* ---- Holds --------------------------------------------------------------- */

static void draw_wait(struct svg_page *page, const struct svg_span *span)
{
    char classes[32];
    int x = svg_x(page, span->from_ns);
    int width = svg_x(page, span->to_ns) - x;
    int y = svg_row_y(page, span->process, span->lane);
    snprintf(classes, sizeof(classes), "wait c%d", span->process + 1);
    svg_put_rect(page->out, x, y + 70, width, 60, classes);
    if (span->is_cut) {
        svg_put_cross(page->out, x + width, y + SVG_BAR / 2, 35, "ink");
    }
    if (width > 500) {
        svg_page_label(page, x + 20, y + 50, "small halo", "waits");
    }
}

static void draw_lease(struct svg_page *page, const struct svg_span *span,
                       size_t turn)
{
    char classes[32];
    int x = svg_x(page, span->from_ns);
    int to = svg_x(page, span->to_ns);
    int y = svg_row_y(page, span->process, span->lane) + SVG_BAR + 30 +
            (int)(turn % 2) * LEASE_STEP;
    class_of(classes, sizeof(classes), "lease", span->process);
    svg_put_line(page->out, x, y, to, y, classes);
    if (!span->is_cut) {
        svg_put_line(page->out, to, y - 22, to, y + 22, classes);
    }
}

static void say_hold(const struct svg_page *page, const struct svg_hold *hold,
                     int width, char *text, size_t size)
{
    char name[4] = "";
    unsigned rank = svg_rank(&page->model, hold->fence);
    if ((page->model.names & (page->model.names - 1)) != 0 && hold->name >= 0) {
        snprintf(name, sizeof(name), "%c ", 'a' + hold->name);
    }
    snprintf(text, size, "%s %s#%u", hold->is_shared ? "shares" : "holds", name,
             rank);
    if (svg_text_width(text) > width) {
        snprintf(text, size, "%s#%u", name, rank);
    }
    if (svg_text_width(text) > width + 40) {
        *text = '\0';
    }
}

static void draw_end(struct svg_page *page, const struct svg_hold *hold)
{
    char classes[32];
    int y = svg_row_y(page, hold->process, hold->lane);
    int x = svg_x(page, hold->to_ns);
    int deadline_x = svg_x(page, hold->deadline_ns);
    int end_x = x < deadline_x ? x : deadline_x;
    if (svg_is_late(page, hold)) {
        svg_put_rect(page->out, deadline_x, y + 40, x - deadline_x,
                     SVG_BAR - 80, "beyond");
    }
    if (hold->end == SVG_END_LOST || svg_is_late(page, hold)) {
        svg_put_line(page->out, end_x, y - 40, end_x, y + SVG_BAR + 40, "red");
        svg_page_label(page, end_x + 20, y - 10, "small bad halo", "lost");
    }
    if (hold->end == SVG_END_CRASHED && deadline_x > x) {
        class_of(classes, sizeof(classes), "pale", hold->process);
        svg_put_rect(page->out, x, y, deadline_x - x, SVG_BAR, classes);
        svg_put_cross(page->out, x, y + SVG_BAR / 2, 60, "red");
    }
}

static void draw_hold(struct svg_page *page, const struct svg_hold *hold)
{
    char classes[32];
    char text[32];
    int y = svg_row_y(page, hold->process, hold->lane);
    int x = svg_x(page, hold->from_ns);
    int width = svg_x(page, svg_believed_to(hold)) - x;
    snprintf(classes, sizeof(classes), "bar c%d", hold->process + 1);
    svg_put_rect(page->out, x, y, width, SVG_BAR, classes);
    say_hold(page, hold, width, text, sizeof(text));
    if (*text != '\0') {
        svg_page_label(page, x + 30, y + 142,
                       is_bright(hold->process) ? "in dark" : "in", text);
    }
}

static void draw_risk(struct svg_page *page, const struct svg_span *span)
{
    int x = svg_x(page, span->from_ns);
    int y = svg_row_y(page, span->process, span->lane);
    svg_put_rect(page->out, x, y, svg_x(page, span->to_ns) - x, SVG_BAR,
                 "risk");
    svg_page_label(page, x + 20, y - 10, "small halo", "at risk");
}

static void draw_both(struct svg_page *page, const struct svg_span *span)
{
    int last = page->model.n_processes - 1;
    int x = svg_x(page, span->from_ns);
    int to = svg_x(page, span->to_ns);
    int y = page->process_y[0] - 40;
    int bottom = page->process_y[last] + page->process_h[last] + 40;
    svg_put_rect(page->out, x, y, to - x, bottom - y, "both");
    svg_put_line(page->out, x, y, x, bottom, "edge");
    svg_put_line(page->out, to, y, to, bottom, "edge");
    svg_page_label(page, (x + to) / 2, bottom + 80, "small bad mid",
                   "two holders at once");
}

/* From the end of one hold to the process that adopts the lock. */
static void draw_given(struct svg_page *page, const struct sim_note *note)
{
    for (size_t i = 0; i < page->model.n_holds; i++) {
        const struct svg_hold *hold = &page->model.holds[i];
        if (hold->process == note->other && hold->from_ns >= note->at_ns) {
            svg_put_line(
                page->out, svg_x(page, note->at_ns),
                svg_row_y(page, note->process, note->lane) + SVG_BAR / 2,
                svg_x(page, hold->from_ns),
                svg_row_y(page, hold->process, hold->lane) + SVG_BAR / 2,
                "ink");
            return;
        }
    }
}

void svg_draw_holds(struct svg_page *page)
{
    const struct svg_model *model = &page->model;
    size_t leases = 0;
    for (size_t i = 0; i < model->n_spans; i++) {
        if (model->spans[i].kind == SVG_WAIT) {
            draw_wait(page, &model->spans[i]);
        } else if (model->spans[i].kind == SVG_LEASE) {
            draw_lease(page, &model->spans[i], leases++);
        }
    }
    for (size_t i = 0; i < model->n_holds; i++) {
        draw_hold(page, &model->holds[i]);
    }
    for (size_t i = 0; i < model->n_spans; i++) {
        if (model->spans[i].kind == SVG_RISK) {
            draw_risk(page, &model->spans[i]);
        }
    }
}

void svg_draw_ends(struct svg_page *page)
{
    const struct svg_model *model = &page->model;
    for (size_t i = 0; i < model->n_holds; i++) {
        draw_end(page, &model->holds[i]);
    }
    for (size_t i = 0; i < model->n_spans; i++) {
        if (model->spans[i].kind == SVG_BOTH) {
            draw_both(page, &model->spans[i]);
        }
    }
    for (size_t i = 0; i < page->picture->n; i++) {
        const struct sim_note *note = &page->picture->notes[i];
        if (note->kind == SIM_NOTE_GIVEN && note->other >= 0) {
            draw_given(page, note);
        }
    }
}
