/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the lanes, and the states of a whole lane: down, cut off, in
 * quarantine, paused. */
#include "svg/svg.h"

static void draw_lane(struct svg_page *page, int y, int height,
                      const char *classes, const char *who, const char *what)
{
    svg_put_rect(page->out, page->left, y, page->right - page->left, height,
                 classes);
    svg_put_text(page->out, 240, y + height / 2 + (*what == '\0' ? 45 : 0),
                 "who", who);
    if (*what != '\0') {
        svg_put_text(page->out, 240, y + height / 2 + 125, "what", what);
    }
}

/* The position of a span's band. @return false: it is on no lane. */
static bool find_band(const struct svg_page *page, const struct svg_span *span,
                      int *y, int *height)
{
    if (span->process >= 0 && span->node < 0) {
        *y = page->process_y[span->process];
        *height = page->process_h[span->process];
        return true;
    }
    if (span->node >= 0) {
        *y = page->node_y[span->node];
        *height = page->node_h;
        return true;
    }
    return false;
}

static void draw_bands(struct svg_page *page, enum svg_kind kind,
                       const char *classes, const char *label)
{
    for (size_t i = 0; i < page->model.n_spans; i++) {
        const struct svg_span *span = &page->model.spans[i];
        int y, height;
        if (span->kind != kind || !find_band(page, span, &y, &height)) {
            continue;
        }
        int x = svg_x(page, span->from_ns);
        int width = svg_x(page, span->to_ns) - x;
        svg_put_rect(page->out, x, y, width, height, classes);
        const char *text = label;
        if (kind == SVG_GONE) {
            text = span->process >= 0 ? "crashed" : "down";
        }
        if (text != NULL && width > svg_text_width(text)) {
            svg_page_label(page, x + 40, y + height - 30, "small", text);
        }
    }
}

static void draw_quarantine(struct svg_page *page, int node, int64_t from_ns,
                            int64_t to_ns)
{
    static const char text[] = "quarantine: its word does not count";
    int x = svg_x(page, from_ns);
    int width = svg_x(page, to_ns) - x;
    int y = page->node_y[node];
    int height = page->model.has_old ? page->node_h / 2 : page->node_h;
    svg_put_rect(page->out, x, y, width, height, "doubt");
    if (svg_text_width(text) < width) {
        svg_page_label(page, x + width / 2, y + height / 2 + 40,
                       "small halo mid", text);
    }
}

/* Processes see the begin and the end of a quarantine at different times: it is
 * drawn from the first begin to the first end. A process that sends no requests
 * sees it later. */
static void draw_quarantines(struct svg_page *page)
{
    int64_t from_ns[SIM_NODES_MAX];
    int64_t to_ns[SIM_NODES_MAX];
    for (int i = 0; i < SIM_NODES_MAX; i++) {
        to_ns[i] = -1;
    }
    for (size_t i = 0; i < page->model.n_spans; i++) {
        const struct svg_span *span = &page->model.spans[i];
        int node = span->node;
        if (span->kind != SVG_QUARANTINE) {
            continue;
        }
        if (span->from_ns < to_ns[node]) {
            to_ns[node] = span->to_ns < to_ns[node] ? span->to_ns : to_ns[node];
            continue;
        }
        if (to_ns[node] >= 0) {
            draw_quarantine(page, node, from_ns[node], to_ns[node]);
        }
        from_ns[node] = span->from_ns;
        to_ns[node] = span->to_ns;
    }
    for (int i = 0; i < SIM_NODES_MAX; i++) {
        if (to_ns[i] >= 0) {
            draw_quarantine(page, i, from_ns[i], to_ns[i]);
        }
    }
}

void svg_draw_ground(struct svg_page *page)
{
    char who[16];
    if (page->store_y > 0) {
        draw_lane(page, page->store_y - 160, 320, "lane", "register",
                  "guarded");
    }
    for (int i = 0; i < page->model.n_processes; i++) {
        snprintf(who, sizeof(who), "p%d", i + 1);
        draw_lane(page, page->process_y[i], page->process_h[i], "lane", who,
                  i == 0 ? "process" : "");
    }
    for (int i = 0; i < page->model.n_nodes; i++) {
        snprintf(who, sizeof(who), "n%d", i + 1);
        draw_lane(page, page->node_y[i], page->node_h, "node", who,
                  page->model.has_old ? "old primary"
                  : i == 0            ? "server"
                                      : "");
    }
    draw_bands(page, SVG_APART, "apart", NULL);
    draw_bands(page, SVG_GONE, "gone", "");
    draw_quarantines(page);
}

void svg_draw_pauses(struct svg_page *page)
{
    draw_bands(page, SVG_PAUSE, "pause", NULL);
}
