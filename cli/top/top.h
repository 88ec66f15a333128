/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-top: the program behind `holdfast top`. A program of its own, since
 * a command that runs under a lock must not pay for ncurses at its start.
 *
 *   main.c      options, signals, the loop
 *   look.c      looks at the store, in a thread of its own
 *   rows.c      filter, order, selection
 *   draw.c      head, table and foot
 *   lower.c     the lower half: who holds and waits; help
 *   keyboard.c  what keys do
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
    struct top_look *look; /* the last one that worked, or NULL */
    struct top_rows rows;
    /* The last look, whether it worked or not. */
    bool has_looked;
    enum hf_status status;
    struct hf_error error;
    int n_nodes;
    struct cli_node nodes[HF_NODES_MAX];
    int64_t seen_ms; /* Unix time of `look` */
    /* What the keys have set. */
    int64_t interval_ms;
    bool is_paused;
    bool is_typing; /* the filter */
    bool has_places;
    bool has_help;
    bool is_ending;
};

/* Take a look over. */
void top_take(struct top *top, struct top_look *look);

/* Filter and sort again what is there. */
void top_refill(struct top *top);

/* Everything, in one update of the screen. */
void top_draw(struct top *top);

/* Rows of the table on the screen. */
int top_table_rows(const struct top *top);

/* The lower half, from row `y` to before `end`. */
void top_draw_places(const struct top *top, int y, int end);
void top_draw_help(int y, int end);

/* Do what a key says. */
void top_key(struct top *top, int key);

#endif
