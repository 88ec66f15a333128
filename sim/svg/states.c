/* SPDX-License-Identifier: Apache-2.0 */
/* The states of processes and nodes, as spans of time. */
#include "svg/svg.h"

#include <string.h>

/* End the last open span of this process or node. */
void svg_state_back(struct svg_model *model, const struct sim_note *note)
{
    for (size_t i = model->n_spans; i-- > 0;) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_GONE && span->process == note->process &&
            (note->process >= 0 || span->node == note->node)) {
            span->to_ns = note->at_ns;
            span->text = note->text;
            return;
        }
    }
}

/* The quarantine of a node, as one process sees it. background.c draws one band
 * for all processes. */
void svg_state_node_status(struct svg_model *model, const struct sim_note *note)
{
    bool counts =
        note->text == NULL || strstr(note->text, "quarantine") == NULL;
    struct svg_span *open = NULL;
    for (size_t i = model->n_spans; i-- > 0 && open == NULL;) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_QUARANTINE && span->node == note->node &&
            span->process == note->process) {
            open = span;
        }
    }
    bool is_open = open != NULL && open->to_ns == INT64_MAX;
    if (counts && is_open) {
        open->to_ns = note->at_ns;
    } else if (!counts && !is_open) {
        svg_model_add(model, SVG_QUARANTINE, note, INT64_MAX);
    }
}

/* ---- Faults -------------------------------------------------------------- */

/* Lanes on the smaller side of a partition are marked. */
static void part(struct svg_model *model, const struct sim_note *note,
                 const struct sim_story *story)
{
    uint32_t mask = note->fault->mask;
    unsigned inside = 0;
    for (unsigned i = 0; i < story->n_nodes; i++) {
        inside += (mask >> (16 + i)) & 1;
    }
    uint32_t side = inside * 2 < story->n_nodes ? mask : ~mask;
    for (unsigned i = 0; i < story->n_processes; i++) {
        if ((side >> i & 1) != 0) {
            struct svg_span *span =
                svg_model_add(model, SVG_APART, note, note->until_ns);
            span->process = (int)i;
            span->node = -1;
        }
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        if ((side >> (16 + i) & 1) != 0) {
            struct svg_span *span =
                svg_model_add(model, SVG_APART, note, note->until_ns);
            span->process = -1;
            span->node = (int)i;
        }
    }
}

void svg_state_fault(struct svg_model *model, const struct sim_note *note,
                     const struct sim_story *story)
{
    svg_model_add(model, SVG_FAULT, note, note->until_ns);
    if (note->fault == NULL) {
        return;
    }
    if (note->fault->kind == SIM_FAULT_PARTITION) {
        part(model, note, story);
    } else if (note->fault->kind == SIM_FAULT_STOP) {
        for (int i = 0; i < (int)story->n_nodes; i++) {
            if (note->node == i || note->node < 0) {
                struct svg_span *span =
                    svg_model_add(model, SVG_PAUSE, note, note->until_ns);
                span->process = -1;
                span->node = i;
            }
        }
    }
}
