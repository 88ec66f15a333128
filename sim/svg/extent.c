/* SPDX-License-Identifier: Apache-2.0 */
/* The extent of a picture: its processes, nodes and times; and the properties
 * of the whole run: the order of fences, and overlapping holds. */
#include "svg/svg.h"

#include <stdlib.h>

int64_t svg_believed_to(const struct svg_hold *hold)
{
    return hold->to_ns < hold->deadline_ns ? hold->to_ns : hold->deadline_ns;
}

/* ---- The order of fences ------------------------------------------------- */

static int by_fence(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void sort_fences(struct svg_model *model)
{
    model->fences = calloc(model->n_holds + 1, sizeof(model->fences[0]));
    if (model->fences == NULL) {
        abort();
    }
    for (size_t i = 0; i < model->n_holds; i++) {
        model->fences[i] = model->holds[i].fence;
    }
    qsort(model->fences, model->n_holds, sizeof(model->fences[0]), by_fence);
    for (size_t i = 0; i < model->n_holds; i++) {
        if (model->n_fences == 0 ||
            model->fences[model->n_fences - 1] != model->fences[i]) {
            model->fences[model->n_fences++] = model->fences[i];
        }
    }
}

unsigned svg_rank(const struct svg_model *model, uint64_t fence)
{
    const uint64_t *at = bsearch(&fence, model->fences, model->n_fences,
                                 sizeof(fence), by_fence);
    return at == NULL ? 0 : (unsigned)(at - model->fences) + 1;
}

/* ---- Overlapping holds --------------------------------------------------- */

static void compare(struct svg_model *model, const struct svg_hold *one,
                    const struct svg_hold *other)
{
    int64_t from_ns =
        one->from_ns > other->from_ns ? one->from_ns : other->from_ns;
    int64_t one_to = svg_believed_to(one);
    int64_t other_to = svg_believed_to(other);
    int64_t to_ns = one_to < other_to ? one_to : other_to;
    bool may_both = (one->is_shared && other->is_shared) ||
                    one->name != other->name || one->name < 0 ||
                    (model->permits >> one->name & 1) != 0;
    if (!may_both && from_ns < to_ns) {
        struct sim_note note = {.at_ns = from_ns,
                                .process = one->process,
                                .lane = other->process,
                                .node = -1,
                                .name = one->name};
        svg_model_add(model, SVG_BOTH, &note, to_ns);
    }
}

static void find_overlaps(struct svg_model *model)
{
    for (size_t i = 0; i < model->n_holds; i++) {
        for (size_t j = i + 1; j < model->n_holds; j++) {
            if (model->holds[j].from_ns >= model->holds[i].deadline_ns) {
                break; /* they are in the order in which they began */
            }
            compare(model, &model->holds[i], &model->holds[j]);
        }
    }
}

/* ---- The shown time ------------------------------------------------------ */

/* The picture shows the time from the first to the last note of such a kind. */
static bool is_shown_for(enum sim_note_kind kind)
{
    return kind <= SIM_NOTE_REFUSED || kind == SIM_NOTE_VIOLATION;
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static void find_times(struct svg_model *model,
                       const struct sim_picture *picture)
{
    bool is_begun = false;
    for (size_t i = 0; i < picture->n; i++) {
        const struct sim_note *note = &picture->notes[i];
        if (is_shown_for(note->kind)) {
            model->from_ns = is_begun ? model->from_ns : note->at_ns;
            is_begun = true;
            model->to_ns = later(note->at_ns, model->to_ns);
        }
    }
    for (size_t i = 0; i < model->n_holds; i++) {
        const struct svg_hold *hold = &model->holds[i];
        bool goes_on =
            hold->end == SVG_END_OPEN || hold->end == SVG_END_CRASHED;
        int64_t to_ns = goes_on ? hold->deadline_ns : hold->to_ns;
        model->to_ns = later(to_ns, model->to_ns);
    }
    int64_t span_ns = later(1000, model->to_ns - model->from_ns);
    model->from_ns = later(0, model->from_ns - span_ns / 50);
    model->to_ns += span_ns / 50;
}

/* Cut spans at the ends of the shown time; drop those outside of it. */
static void clip(struct svg_model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->n_holds; i++) {
        struct svg_hold *hold = &model->holds[i];
        if (hold->to_ns > model->to_ns) {
            hold->to_ns = model->to_ns;
        }
    }
    for (size_t i = 0; i < model->n_spans; i++) {
        struct svg_span span = model->spans[i];
        span.to_ns = span.to_ns > model->to_ns ? model->to_ns : span.to_ns;
        model->n_later +=
            span.kind == SVG_FAULT && span.from_ns >= model->to_ns;
        if (span.from_ns < model->to_ns && span.to_ns >= model->from_ns) {
            model->spans[kept++] = span;
        }
    }
    model->n_spans = kept;
}

/* ---- Processes and nodes ------------------------------------------------- */

static void count_rows(struct svg_model *model, const struct sim_note *note)
{
    if (note->kind > SIM_NOTE_REFUSED) {
        return;
    }
    if (note->process >= 0 && note->process < SIM_PROCESSES_MAX &&
        note->lane + 1 > model->rows[note->process]) {
        model->rows[note->process] = note->lane + 1;
    }
    if (note->name >= 0 && note->name < SIM_NAMES_MAX) {
        model->names |= 1U << note->name;
    }
}

void svg_extent_make(struct svg_model *model, const struct sim_picture *picture,
                     const struct sim_story *story)
{
    model->n_processes = (int)story->n_processes;
    model->n_nodes = (int)story->n_nodes;
    for (int i = 0; i < model->n_processes; i++) {
        model->rows[i] = 1;
    }
    for (size_t i = 0; i < picture->n; i++) {
        count_rows(model, &picture->notes[i]);
    }
    for (size_t i = 0; i < story->n_turns; i++) {
        model->names |= story->turns[i].names;
    }
    sort_fences(model);
    find_overlaps(model);
    find_times(model, picture);
    clip(model);
}
