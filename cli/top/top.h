/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-top: the program that `holdfast top` runs. A program of its own,
 * since a command that runs under a lock must not pay for ncurses at its start.
 *
 *   main.c      options, signals, the loop
 *   look.c      polls the store, in a thread of its own
 *   rows.c      filter, order, selection
 *   draw.c      head, table and foot
 *   lower.c     the lower half: holders and waiters; help
 *   keyboard.c  actions of keys
 *   screen.c    the terminal
 */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "top/look.h"
#include "top/rows.h"

#include <stdbool.h>
#include <stdint.h>

struct top {
    const char *url;       /* without password */
    struct top_look *look; /* the last one that succeeded, or NULL */
    struct top_rows rows;
    /* The result of the last poll, also if it failed. */
    bool has_looked;
    enum hf_status status;
    struct hf_error error;
    int n_nodes;
    struct cli_node nodes[HF_NODES_MAX];
    int64_t seen_wall_ms; /* Unix time of `look` */
    /* Set by keys. */
    int64_t interval_ms;
    bool is_paused;
    bool is_typing; /* the filter */
    bool has_entries;
    bool has_help;
    bool is_ending;
};

/* Process a new snapshot. */
void top_take(struct top *top, struct top_look *look);

/* Filter and sort the present rows again. */
void top_refill(struct top *top);

/* Everything, in one update of the screen. */
void top_draw(struct top *top);

/* Rows of the table on the screen. */
int top_table_rows(const struct top *top);

/* The lower half, from row `y` to before `end`. */
void top_draw_entries(const struct top *top, int y, int end);
void top_draw_help(int y, int end);

/* Handle a key. */
void top_key(struct top *top, int key);

#endif
