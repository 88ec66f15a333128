/* SPDX-License-Identifier: Apache-2.0 */
/* How a picture is made, for this folder alone:
 *
 *   notes ──▶ model (model.c, …)                  stretches of time
 *         ──▶ page (page.c)                       where each lane is
 *         ──▶ marks (lanes.c, requests.c, frame.c), by put.c
 *
 * From top to bottom: what goes wrong, what is guarded, processes, nodes; time
 * runs to the right. Places are whole tenths of a pixel, so that the same
 * notes give the same bytes with any compiler. */
#ifndef HF_SIM_SVG_H
#define HF_SIM_SVG_H

#include "world/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sim_picture {
    struct sim_note *notes; /* their texts are the picture's own */
    size_t n, cap;
};

/* Room for one more; aborts without memory. @return the array. */
void *svg_grow(void *array, size_t n, size_t *cap, size_t size);

/* ---- Model --------------------------------------------------------------- */

enum svg_end {
    SVG_END_OPEN, /* still going on when the picture ends */
    SVG_END_RELEASED,
    SVG_END_LOST,
    SVG_END_GIVEN,
    SVG_END_CRASHED
};

/* From "held" until it ended for the process. */
struct svg_hold {
    int process, lane, name;
    uint64_t fence;
    int64_t from_ns, to_ns;
    int64_t deadline_ns; /* of the last renewal */
    bool is_shared;
    enum svg_end end;
};

enum svg_kind {
    SVG_WAIT,       /* process, lane: between asking and having it */
    SVG_RISK,       /* …: at risk */
    SVG_LEASE,      /* …: a renewal, and its deadline */
    SVG_PAUSE,      /* process or node stands still */
    SVG_GONE,       /* process crashed, or node down */
    SVG_QUARANTINE, /* node: its word does not count for process */
    SVG_APART,      /* process or node: on the smaller side of a partition */
    SVG_FAULT,      /* as told, for the ribbon */
    SVG_BOTH,       /* two at once believed that they held `name` */
    SVG_GRANT       /* node kept `name` for process, under `fence` */
};

struct svg_span {
    enum svg_kind kind;
    int process, lane, node, name;
    int64_t from_ns, to_ns;
    uint64_t fence;
    bool is_shared;
    bool is_old;                   /* of what a promotion left behind */
    bool is_cut;                   /* ended before its time */
    const struct sim_fault *fault; /* of the note; may be NULL */
    const char *text;              /* the same */
};

struct svg_model {
    struct svg_hold *holds;
    size_t n_holds, cap_holds;
    struct svg_span *spans;
    size_t n_spans, cap_spans;
    size_t n_messages, n_writes, n_refused;
    size_t n_later;         /* faults after all that is shown */
    int64_t from_ns, to_ns; /* what is shown */
    int rows[SIM_PROCESSES_MAX];
    int n_processes, n_nodes;
    unsigned names;   /* bit mask of those that occur */
    bool has_old;     /* was anything left behind by a promotion? */
    unsigned permits; /* … of semaphores */
    uint64_t *fences; /* of completed acquisitions, sorted */
    size_t n_fences;
};

void svg_model_make(struct svg_model *model, const struct sim_picture *picture,
                    const struct sim_story *story);
void svg_model_free(struct svg_model *model);

/* Add one; borrowed until the next. */
struct svg_span *svg_model_add(struct svg_model *model, enum svg_kind kind,
                               const struct sim_note *note, int64_t to_ns);

/* Until when it was believed: its end, or its deadline. */
int64_t svg_believed_to(const struct svg_hold *hold);

/* Its place in order, from 1; 0: no acquisition completed with it (extent.c).
 */
unsigned svg_rank(const struct svg_model *model, uint64_t fence);

/* Who is there, from when to when, which fences, who overlaps. */
void svg_extent_make(struct svg_model *model, const struct sim_picture *picture,
                     const struct sim_story *story);

/* The states of processes and nodes, note by note (states.c): it is back, its
 * vote counts or does not, a fault. */
void svg_befall_back(struct svg_model *model, const struct sim_note *note);
void svg_befall_standing(struct svg_model *model, const struct sim_note *note);
void svg_befall_fault(struct svg_model *model, const struct sim_note *note,
                      const struct sim_story *story);

/* A request that was granted, or did what it should. */
bool svg_is_yes(const struct sim_note *note);

/* The node does not know the script: the request comes again, with its text. */
bool svg_is_missed(const struct sim_note *note);

/* What each node kept, for which owner (grants.c). */
void svg_grants_make(struct svg_model *model,
                     const struct sim_picture *picture);

/* ---- Page ---------------------------------------------------------------- */

#define SVG_BOXES_MAX 1024

struct svg_box {
    int x, y, right, bottom;
};

#define SVG_CAPTION_MAX 400

struct svg_page {
    const struct sim_picture *picture;
    const struct sim_story *story;
    struct svg_model model;
    FILE *out;
    int width, height, left, right;
    char title[120], caption[SVG_CAPTION_MAX];
    int caption_lines;
    int axis_y;
    int faults_y, faults_rows;
    size_t n_faults;
    int store_y; /* 0: no writes */
    int process_y[SIM_PROCESSES_MAX], process_h[SIM_PROCESSES_MAX];
    int node_y[SIM_NODES_MAX], node_h;
    int legend_y;
    bool has_messages;
    struct {
        char verb[24];
        int x;
    } said[SIM_PROCESSES_MAX];           /* the last label of a message */
    struct svg_box boxes[SVG_BOXES_MAX]; /* where labels stand */
    size_t n_boxes;
};

#define SVG_CAPTION_LINE 190
#define SVG_ROW 340  /* of a process: bar, lease lines, room */
#define SVG_BAR 200  /* a hold's bar */
#define SVG_KEPT 150 /* a grant's bar at a node */

void svg_page_make(struct svg_page *page);

/* Title and caption from "TITLE\nCAPTION"; before svg_page_make(). */
void svg_title_make(struct svg_page *page, const char *title);
int svg_x(const struct svg_page *page, int64_t at_ns);
int svg_row_y(const struct svg_page *page, int process, int lane);
int svg_kept_y(const struct svg_page *page, const struct svg_span *grant);

/* So long that it can be seen: did the hold go on after its deadline? */
bool svg_is_late(const struct svg_page *page, const struct svg_hold *hold);

/* Is this place free of labels? Takes it if so. */
bool svg_page_take(struct svg_page *page, int x, int y, int width, int height);

/* A label with its baseline at y, if there is room; @return was there? */
bool svg_page_label(struct svg_page *page, int x, int y, const char *classes,
                    const char *text);

/* ---- Marks (put.c) ------------------------------------------------------- */

/* Pixels with one digit: SVG_PX in a format, SVG_AT(tenths) as arguments. */
#define SVG_PX "%s%d.%d"
#define SVG_AT(tenths)                                                         \
    (tenths) < 0 ? "-" : "", svg_abs(tenths) / 10, svg_abs(tenths) % 10

static inline int svg_abs(int number)
{
    return number < 0 ? -number : number;
}

void svg_put_escaped(FILE *out, const char *text);
void svg_put_rect(FILE *out, int x, int y, int width, int height,
                  const char *classes);
void svg_put_line(FILE *out, int x1, int y1, int x2, int y2,
                  const char *classes);
void svg_put_dot(FILE *out, int x, int y, int radius, const char *classes);
void svg_put_cross(FILE *out, int x, int y, int radius, const char *classes);
void svg_put_text(FILE *out, int x, int y, const char *classes,
                  const char *text);
int svg_text_width(const char *text); /* of small print; an upper bound */

/* Legend and remarks: how high are they? (legend.c) */
int svg_legend_height(struct svg_page *page);

/* The head: size, palette, patterns. */
void svg_put_head(FILE *out, int width, int height);

/* ---- Layers, in the order in which they are drawn ------------------------ */

void svg_draw_title(struct svg_page *page); /* frame.c */
void svg_draw_axis(struct svg_page *page);
void svg_draw_faults(struct svg_page *page); /* fault_ribbon.c */
void svg_draw_legend(struct svg_page *page); /* legend.c */
void svg_draw_ground(struct svg_page *page); /* background.c: lanes, bands */
void svg_draw_pauses(struct svg_page *page);
void svg_draw_holds(struct svg_page *page); /* lanes.c */
void svg_draw_ends(struct svg_page *page);
void svg_draw_writes(struct svg_page *page); /* writes.c */
void svg_draw_kept(struct svg_page *page);   /* requests.c: at nodes */
void svg_draw_messages(struct svg_page *page);

#endif
