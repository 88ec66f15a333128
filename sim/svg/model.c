/* SPDX-License-Identifier: Apache-2.0 */
/* Converts notes, which are points in time, to the spans that a picture shows.
 *
 * A hold is believed from "held" until its end for the process, or until its
 * deadline if that is earlier: from then on hf_lock_valid_for() returns false,
 * and hf_lock_state() LOST, whether or not the process calls them. */
#include "svg/svg.h"

#include <stdlib.h>

struct svg_span *svg_model_add(struct svg_model *model, enum svg_kind kind,
                               const struct sim_note *note, int64_t to_ns)
{
    model->spans = svg_grow(model->spans, model->n_spans, &model->cap_spans,
                            sizeof(model->spans[0]));
    struct svg_span *span = &model->spans[model->n_spans++];
    *span = (struct svg_span){.kind = kind,
                              .process = note->process,
                              .lane = note->lane,
                              .node = note->node,
                              .name = note->name,
                              .from_ns = note->at_ns,
                              .to_ns = to_ns,
                              .fence = note->fence,
                              .is_shared = note->is_shared,
                              .is_old = note->is_old,
                              .fault = note->fault,
                              .text = note->text};
    return span;
}

/* ---- Holds --------------------------------------------------------------- */

static struct svg_hold *open_hold(struct svg_model *model,
                                  const struct sim_note *note)
{
    for (size_t i = model->n_holds; i-- > 0;) {
        struct svg_hold *hold = &model->holds[i];
        if (hold->process == note->process && hold->lane == note->lane) {
            return hold->end == SVG_END_OPEN ? hold : NULL;
        }
    }
    return NULL;
}

/* End the open span of this kind and lane. @return that span. */
static struct svg_span *close_span(struct svg_model *model, enum svg_kind kind,
                                   const struct sim_note *note)
{
    for (size_t i = model->n_spans; i-- > 0;) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == kind && span->process == note->process &&
            span->lane == note->lane) {
            span->to_ns = span->to_ns > note->at_ns ? note->at_ns : span->to_ns;
            return span;
        }
    }
    return NULL;
}

static void hold(struct svg_model *model, const struct sim_note *note)
{
    close_span(model, SVG_WAIT, note);
    model->holds = svg_grow(model->holds, model->n_holds, &model->cap_holds,
                            sizeof(model->holds[0]));
    model->holds[model->n_holds++] =
        (struct svg_hold){.process = note->process,
                          .lane = note->lane,
                          .name = note->name,
                          .fence = note->fence,
                          .from_ns = note->at_ns,
                          .to_ns = INT64_MAX,
                          .deadline_ns = note->until_ns,
                          .is_shared = note->is_shared,
                          .end = SVG_END_OPEN};
    svg_model_add(model, SVG_LEASE, note, note->until_ns);
}

static void renew(struct svg_model *model, const struct sim_note *note)
{
    struct svg_hold *mine = open_hold(model, note);
    close_span(model, SVG_RISK, note);
    if (mine != NULL) {
        mine->deadline_ns = note->until_ns;
        svg_model_add(model, SVG_LEASE, note, note->until_ns);
    }
}

/* A process that releases no longer relies on its deadlines: cut its leases. */
static void cut_leases(struct svg_model *model, const struct sim_note *note)
{
    for (size_t i = 0; i < model->n_spans; i++) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_LEASE && span->process == note->process &&
            span->lane == note->lane && span->to_ns > note->at_ns) {
            span->to_ns = note->at_ns;
            span->is_cut = true;
        }
    }
}

static void end_hold(struct svg_model *model, const struct sim_note *note,
                     enum svg_end end)
{
    struct svg_hold *mine = open_hold(model, note);
    close_span(model, SVG_RISK, note);
    if (mine != NULL) {
        mine->to_ns = note->at_ns;
        mine->end = end;
    }
    if (end != SVG_END_LOST && end != SVG_END_CRASHED) {
        cut_leases(model, note);
    }
}

/* ---- Pauses and ends ----------------------------------------------------- */

static void crash(struct svg_model *model, const struct sim_note *note)
{
    struct sim_note lane = *note;
    for (lane.lane = 0; lane.lane < SIM_LANES_MAX; lane.lane++) {
        close_span(model, SVG_WAIT, &lane);
        end_hold(model, &lane, SVG_END_CRASHED);
    }
    svg_model_add(model, SVG_GONE, note, INT64_MAX)->node = -1;
}

/* ---- All notes ----------------------------------------------------------- */

static void give_up(struct svg_model *model, const struct sim_note *note)
{
    struct svg_span *wait = close_span(model, SVG_WAIT, note);
    if (wait != NULL) {
        wait->is_cut = true;
    }
}

static void read_note(struct svg_model *model, const struct sim_note *note,
                      const struct sim_story *story)
{
    switch (note->kind) {
    case SIM_NOTE_BEGIN:
        svg_model_add(model, SVG_WAIT, note, INT64_MAX);
        break;
    case SIM_NOTE_GIVEN_UP:
        give_up(model, note);
        break;
    case SIM_NOTE_HELD:
    case SIM_NOTE_ADOPTED:
        hold(model, note);
        break;
    case SIM_NOTE_RENEWED:
        renew(model, note);
        break;
    case SIM_NOTE_AT_RISK:
        svg_model_add(model, SVG_RISK, note, INT64_MAX);
        break;
    case SIM_NOTE_LOST:
        end_hold(model, note, SVG_END_LOST);
        break;
    case SIM_NOTE_RELEASED:
        end_hold(model, note, SVG_END_RELEASED);
        break;
    case SIM_NOTE_GIVEN:
        end_hold(model, note, SVG_END_GIVEN);
        break;
    case SIM_NOTE_WRITE:
        model->n_writes++;
        break;
    case SIM_NOTE_REFUSED:
        model->n_refused++;
        break;
    case SIM_NOTE_ASKED:
    case SIM_NOTE_PUSHED:
        model->n_messages++;
        break;
    case SIM_NOTE_FAULT:
        svg_state_fault(model, note, story);
        break;
    case SIM_NOTE_NODE_DOWN:
        svg_model_add(model, SVG_GONE, note, INT64_MAX)->process = -1;
        break;
    case SIM_NOTE_NODE_UP:
    case SIM_NOTE_STARTED:
        svg_state_back(model, note);
        break;
    case SIM_NOTE_NODE_STATUS:
        svg_state_node_status(model, note);
        break;
    case SIM_NOTE_PAUSED:
        svg_model_add(model, SVG_PAUSE, note, note->until_ns);
        break;
    case SIM_NOTE_CRASHED:
        crash(model, note);
        break;
    case SIM_NOTE_CALM:
    case SIM_NOTE_VIOLATION:
    case SIM_NOTE_CALLED:
        break;
    }
}

void svg_model_make(struct svg_model *model, const struct sim_picture *picture,
                    const struct sim_story *story)
{
    for (size_t i = 0; i < picture->n; i++) {
        read_note(model, &picture->notes[i], story);
    }
    for (size_t i = 0; i < story->n_turns; i++) {
        bool is_limited = story->turns[i].n_permits > 0;
        model->permits |= is_limited ? story->turns[i].names : 0U;
    }
    svg_grants_make(model, picture);
    svg_extent_make(model, picture, story);
}

void svg_model_fini(struct svg_model *model)
{
    free(model->holds);
    free(model->spans);
    free(model->fences);
}
