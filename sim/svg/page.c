/* SPDX-License-Identifier: Apache-2.0 */
/* THE LAYOUT OF THE PAGE: from the extent of the model (extent.c) the place of
 * each row and time, before anything is drawn. Labels ask for their place, and
 * are left out if it is taken (svg_page_take()): a crowded picture loses words,
 * and no lines. Cost: a label is compared with all that are there. */
#include "svg/svg.h"

#include <string.h>

/* Tenths of a pixel, as all lengths of the picture. */
#define WIDTH 10000     /* 1,000 pixels: readable at 900 */
#define WIDTH_MAX 40000 /* four screens: a browser scrolls so far */
#define GUTTER 960      /* left: the names of processes and nodes */
#define MARGIN 260      /* right: the last label of the axis ends there */
#define HEAD 420        /* title */
#define GAP 100         /* between rows */
#define WIRES 480       /* between processes and nodes: four rows of labels */
#define KEPT_ROW 200    /* a grant's bar (SVG_KEPT), and room */

/* Tenths of a pixel: the width that a hold needs on the average, to be
 * distinguished from the next one. */
#define HOLD_WIDTH 160

static int count_names(unsigned names)
{
    int n = 0;
    for (; names != 0; names &= names - 1) {
        n++;
    }
    return n > 0 ? n : 1;
}

static int width_for(const struct svg_model *model)
{
    size_t wanted = GUTTER + MARGIN + model->n_holds * HOLD_WIDTH;
    return wanted < WIDTH       ? WIDTH
           : wanted > WIDTH_MAX ? WIDTH_MAX
                                : (int)wanted;
}

/* The number of rows in which no two spans overlap; two at most. */
static int fault_rows(const struct svg_model *model, size_t *n_faults)
{
    int64_t busy_ns = INT64_MIN;
    int rows = 0;
    for (size_t i = 0; i < model->n_spans; i++) {
        const struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_FAULT) {
            ++*n_faults;
            rows = rows == 0 ? 1 : rows;
            rows = span->from_ns < busy_ns ? 2 : rows;
            busy_ns = span->to_ns > busy_ns ? span->to_ns : busy_ns;
        }
    }
    return rows;
}

void svg_page_make(struct svg_page *page)
{
    const struct svg_model *model = &page->model;
    page->width = width_for(model);
    page->left = GUTTER;
    page->right = page->width - MARGIN;
    page->axis_y = HEAD + page->caption_lines * SVG_CAPTION_LINE + 340;
    int y = page->axis_y + 60;
    page->faults_y = y;
    page->faults_rows = fault_rows(model, &page->n_faults);
    y += page->faults_rows * 200 + (page->faults_rows > 0 ? GAP : 0);
    if (model->n_writes + model->n_refused > 0) {
        page->store_y = y + 160;
        y += 320 + GAP;
    }
    for (int i = 0; i < model->n_processes; i++) {
        page->process_y[i] = y;
        page->process_h[i] = 60 + model->rows[i] * SVG_ROW;
        y += page->process_h[i] + GAP;
    }
    y += WIRES;
    page->node_h =
        80 + count_names(model->names) * KEPT_ROW * (model->has_old ? 2 : 1);
    for (int i = 0; i < model->n_nodes; i++) {
        page->node_y[i] = y;
        y += page->node_h + GAP;
    }
    page->legend_y = y + 190;
    page->has_messages = model->n_messages <= (size_t)page->width / 50;
    page->height = page->legend_y + svg_legend_height(page);
}

int svg_x(const struct svg_page *page, int64_t at_ns)
{
    const struct svg_model *model = &page->model;
    if (at_ns <= model->from_ns) {
        return page->left;
    }
    if (at_ns >= model->to_ns) {
        return page->right;
    }
    /* Microseconds keep the product within 64 bits for a simulated month. */
    int64_t span_us = (model->to_ns - model->from_ns) / 1000;
    int64_t at_us = (at_ns - model->from_ns) / 1000;
    return page->left + (int)(at_us * (page->right - page->left) /
                              (span_us > 0 ? span_us : 1));
}

int svg_row_y(const struct svg_page *page, int process, int lane)
{
    return page->process_y[process] + 90 + (lane > 0 ? lane : 0) * SVG_ROW;
}

int svg_kept_y(const struct svg_page *page, const struct svg_span *grant)
{
    unsigned names = page->model.names;
    unsigned before = grant->name > 0 ? names & ((1U << grant->name) - 1) : 0;
    int row = before != 0 ? count_names(before) : 0;
    row += grant->is_old ? count_names(names) : 0;
    return page->node_y[grant->node] + 60 + row * KEPT_ROW;
}

bool svg_is_late(const struct svg_page *page, const struct svg_hold *hold)
{
    return svg_x(page, hold->to_ns) > svg_x(page, hold->deadline_ns) + 20;
}

bool svg_page_take(struct svg_page *page, int x, int y, int width, int height)
{
    int right = x + width;
    int bottom = y + height;
    for (size_t i = 0; i < page->n_boxes; i++) {
        const struct svg_box *box = &page->boxes[i];
        if (x < box->right && box->x < right && y < box->bottom &&
            box->y < bottom) {
            return false;
        }
    }
    if (right > page->right + 100 || page->n_boxes == SVG_BOXES_MAX) {
        return false;
    }
    page->boxes[page->n_boxes++] = (struct svg_box){x, y, right, bottom};
    return true;
}

bool svg_page_label(struct svg_page *page, int x, int y, const char *classes,
                    const char *text)
{
    int width = svg_text_width(text) + 70;
    if (strncmp(classes, "in", 2) == 0) {
        width += width / 6; /* larger print */
    }
    int left = strstr(classes, "mid") != NULL   ? x - width / 2
               : strstr(classes, "end") != NULL ? x - width
                                                : x;
    if (!svg_page_take(page, left, y - 90, width, 115)) {
        return false;
    }
    svg_put_text(page->out, x, y, classes, text);
    return true;
}
