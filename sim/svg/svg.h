/* SPDX-License-Identifier: Apache-2.0 */
/* How a picture is made, for this folder alone:
 *
 *   notes ──▶ model (model.c, …)                  spans of time
 *         ──▶ page (page.c)                       positions of the lanes
 *         ──▶ marks (lanes.c, requests.c, frame.c), by put.c
 *
 * From top to bottom: faults, the guarded register, processes, nodes; time runs
 * to the right. Positions are whole tenths of a pixel, so that the same notes
 * give the same bytes with any compiler. svg.c makes one page and calls
 * the functions in the order of this header; x, y, widths and heights are
 * tenths of a pixel, processes, lanes, nodes and names are indexes from 0 (-1:
 * none). */
#ifndef HF_SIM_SVG_H
#define HF_SIM_SVG_H

#include "world/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sim_picture {
    struct sim_note *notes; /* with copies of their texts */
    size_t n, cap;
};

/* Make room for one more element; aborts without memory. @return the array. */
void *svg_grow(void *array, size_t n, size_t *cap, size_t size);

/* ---- Model --------------------------------------------------------------- */

enum svg_end {
    SVG_END_OPEN, /* not ended when the picture ends */
    SVG_END_RELEASED,
    SVG_END_LOST,
    SVG_END_GIVEN,
    SVG_END_CRASHED
};

/* A hold: from "held" until its end for the process. */
struct svg_hold {
    int process, lane, name;
    uint64_t fence;
    int64_t from_ns, to_ns;
    int64_t deadline_ns; /* of the last renewal */
    bool is_shared;
    enum svg_end end;
};

enum svg_kind {
    SVG_WAIT,       /* process, lane: from the request to the grant */
    SVG_RISK,       /* …: at risk */
    SVG_LEASE,      /* …: a renewal, and its deadline */
    SVG_PAUSE,      /* process or node is paused */
    SVG_GONE,       /* process crashed, or node down */
    SVG_QUARANTINE, /* node: does not vote for process */
    SVG_APART,      /* process or node: on the smaller side of a partition */
    SVG_FAULT,      /* for the ribbon, with the note's text */
    SVG_BOTH,       /* two holds of `name` overlap */
    SVG_GRANT       /* node has granted `name` to process, with `fence` */
};

struct svg_span {
    enum svg_kind kind;
    int process, lane, node, name;
    int64_t from_ns, to_ns;
    uint64_t fence;
    bool is_shared;
    bool is_old;                   /* of a server that a promotion replaced */
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
    size_t n_later;         /* faults after the shown time */
    int64_t from_ns, to_ns; /* the shown time */
    int rows[SIM_PROCESSES_MAX];
    int n_processes, n_nodes;
    unsigned names;   /* bit mask of those that occur */
    bool has_old;     /* a promotion replaced a server that stayed up */
    unsigned permits; /* … of semaphores */
    uint64_t *fences; /* of completed acquisitions, sorted */
    size_t n_fences;
};

/* Read the notes of a picture into the model: spans, holds, grants, and the
 * times that are shown. */
void svg_model_make(struct svg_model *model, const struct sim_picture *picture,
                    const struct sim_story *story);

/* Free what the model owns, not the struct. */
void svg_model_fini(struct svg_model *model);

/* Add a span; borrowed until the next one is added. */
struct svg_span *svg_model_add(struct svg_model *model, enum svg_kind kind,
                               const struct sim_note *note, int64_t to_ns);

/* The end of the process' belief: the hold's end, or its deadline. */
int64_t svg_believed_to(const struct svg_hold *hold);

/* The rank of a fence, from 1; 0: no acquisition completed with it (extent.c).
 */
unsigned svg_rank(const struct svg_model *model, uint64_t fence);

/* Compute processes, nodes, times, fences, and overlapping holds. */
void svg_extent_make(struct svg_model *model, const struct sim_picture *picture,
                     const struct sim_story *story);

/* The states of processes and nodes, note by note (states.c): a start, a
 * change of a node's vote, a fault. */
void svg_state_back(struct svg_model *model, const struct sim_note *note);
void svg_state_node_status(struct svg_model *model,
                           const struct sim_note *note);
void svg_state_fault(struct svg_model *model, const struct sim_note *note,
                     const struct sim_story *story);

/* The node replied "yours", or "free" to a release. */
bool svg_is_yes(const struct sim_note *note);

/* The node did not know the script: the client then sends its text. */
bool svg_is_missed(const struct sim_note *note);

/* The grants of each node (grants.c). */
void svg_grants_make(struct svg_model *model,
                     const struct sim_picture *picture);

/* ---- Page ---------------------------------------------------------------- */

/* Labels: beyond that many a picture is full, and has no more of them. */
#define SVG_BOXES_MAX 1024

/* Tenths of a pixel; y grows downwards. */
struct svg_box {
    int x, y, right, bottom;
};

/* Bytes: some lines, of which a picture needs two or three; more is cut. */
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
    struct svg_box boxes[SVG_BOXES_MAX]; /* the places of labels */
    size_t n_boxes;
};

/* Tenths of a pixel. */
#define SVG_CAPTION_LINE 190 /* a line of small text */
#define SVG_ROW 340          /* of a process: bar, lease lines, room */
#define SVG_BAR 200          /* a hold's bar */
#define SVG_KEPT 150         /* a grant's bar at a node */

/* Lay the page out: set each place that the functions below use, from the
 * model and the title's lines. */
void svg_page_make(struct svg_page *page);

/* Title and caption from "TITLE\nCAPTION"; before svg_page_make(). */
void svg_title_make(struct svg_page *page, const char *title);

/* The places of a time, of the row of a lane, and of a grant's bar at its
 * node. A time beyond the picture is at its edge. */
int svg_x(const struct svg_page *page, int64_t at_ns);
int svg_row_y(const struct svg_page *page, int process, int lane);
int svg_kept_y(const struct svg_page *page, const struct svg_span *grant);

/* A bar beyond the deadline is drawn only where it would be visible. */
bool svg_is_late(const struct svg_page *page, const struct svg_hold *hold);

/* Take the place if it is free of labels. @return whether it was. */
bool svg_page_take(struct svg_page *page, int x, int y, int width, int height);

/* A label with its baseline at y, if there is room; @return was there? */
bool svg_page_label(struct svg_page *page, int x, int y, const char *classes,
                    const char *text);

/* ---- Marks (put.c) ------------------------------------------------------- */

/* Pixels with one digit: SVG_PX in a format, SVG_AT(tenths) as arguments. */
#define SVG_PX "%s%d.%d"
#define SVG_AT(tenths)                                                         \
    (tenths) < 0 ? "-" : "", svg_abs(tenths) / 10, svg_abs(tenths) % 10

/* For SVG_AT(). */
static inline int svg_abs(int number)
{
    return number < 0 ? -number : number;
}

/* Write a text, escaped for XML; or one mark: places in tenths of a pixel,
 * `classes` of the style sheet in the head. */
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

/* The height of legend and remarks (legend.c). */
int svg_legend_height(struct svg_page *page);

/* The head: size, palette, patterns. */
void svg_put_head(FILE *out, int width, int height);

/* ---- Layers, in the order in which they are drawn ------------------------ */

/* Each writes its elements to the page's file; a later layer covers those
 * before it. */
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
