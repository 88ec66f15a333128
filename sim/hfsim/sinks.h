/* SPDX-License-Identifier: Apache-2.0 */
/* The listener of a run: it computes a digest of all notes and the rare states,
 * and on request writes a text and a picture. */
#ifndef HF_SIM_SINKS_H
#define HF_SIM_SINKS_H

#include "hfsim/coverage.h"
#include "world/trace.h"

#include <stdio.h>

struct sim_listener {
    uint64_t digest;
    uint64_t n_notes;
    struct sim_rares rares;
    FILE *text;                  /* NULL: none */
    struct sim_picture *picture; /* NULL: none */
};

/* A sim_trace_fn; `user` is a struct sim_listener. */
void sim_listen(void *user, const struct sim_note *note);

#endif
