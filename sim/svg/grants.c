/* SPDX-License-Identifier: Apache-2.0 */
/* The grants of each node: from the request that acquired the name there to its
 * release, another owner's grant, or the end of the lease at the node. */
#include "svg/svg.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

bool svg_is_yes(const struct sim_note *note)
{
    return begins(note->result, "yours") || begins(note->result, "free");
}

/* "yours 7" */
static uint64_t number_in(const char *text)
{
    const char *blank = strrchr(text, ' ');
    return blank == NULL ? 0 : strtoull(blank + 1, NULL, 10);
}

/* The open grant of the name at that node: of the note's process if `is_mine`,
 * else of another. Sharers have one each. */
static struct svg_span *find(struct svg_model *model,
                             const struct sim_note *note, bool is_mine)
{
    for (size_t i = model->n_spans; i-- > 0;) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_GRANT && span->node == note->node &&
            span->name == note->name && span->to_ns > note->at_ns &&
            span->is_old == note->is_old &&
            (span->process == note->process) == is_mine) {
            return span;
        }
    }
    return NULL;
}

/* The end of the old primary that a promotion replaced. */
static int64_t end_of_old(const struct svg_model *model,
                          const struct sim_note *note)
{
    for (size_t i = model->n_spans; i-- > 0;) {
        const struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_FAULT && span->fault != NULL &&
            span->fault->kind == SIM_FAULT_PROMOTE &&
            span->from_ns <= note->at_ns &&
            (span->node == note->node || span->node < 0)) {
            return span->to_ns;
        }
    }
    return INT64_MAX;
}

static int64_t expiry(const struct svg_model *model,
                      const struct sim_note *note)
{
    int64_t to_ns =
        note->lease_ns > 0 ? note->at_ns + note->lease_ns : INT64_MAX;
    int64_t end_ns = note->is_old ? end_of_old(model, note) : INT64_MAX;
    return to_ns < end_ns ? to_ns : end_ns;
}

static void grant(struct svg_model *model, const struct sim_note *note,
                  uint64_t fence)
{
    struct svg_span *other;
    bool is_beside = note->is_shared || (model->permits >> note->name & 1) != 0;
    while (!is_beside && (other = find(model, note, false)) != NULL) {
        other->to_ns = note->at_ns;
    }
    struct svg_span *mine = find(model, note, true);
    if (mine == NULL) {
        mine = svg_model_add(model, SVG_GRANT, note, expiry(model, note));
    } else if (expiry(model, note) > mine->to_ns) {
        mine->to_ns = expiry(model, note);
    }
    mine->is_shared = is_beside;
    mine->fence = fence != 0 ? fence : mine->fence;
}

static void take_back(struct svg_model *model, const struct sim_note *note)
{
    struct svg_span *mine = find(model, note, true);
    if (mine != NULL) {
        mine->to_ns = note->at_ns;
    }
}

bool svg_is_missed(const struct sim_note *note)
{
    return begins(note->result, "NOSCRIPT");
}

static void asked(struct svg_model *model, const struct sim_note *note)
{
    if (svg_is_missed(note)) {
        return; /* nothing was executed */
    }
    bool is_release = begins(note->text, "release");
    if (!is_release && begins(note->result, "yours")) {
        grant(model, note, number_in(note->result));
    } else if (is_release || begins(note->text, "yield")) {
        take_back(model, note);
    }
}

static void forget(struct svg_model *model, int node, int64_t at_ns)
{
    for (size_t i = 0; i < model->n_spans; i++) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_GRANT && span->to_ns > at_ns &&
            (span->node == node || node < 0)) {
            span->to_ns = at_ns;
        }
    }
}

/* A promotion: the replica has older data, for which there are no notes; the
 * old primary keeps its grants for as long as it is up. */
static void leave_behind(struct svg_model *model, const struct sim_note *note)
{
    size_t n = model->n_spans;
    for (size_t i = 0; i < n; i++) {
        struct svg_span *span = &model->spans[i];
        if (span->kind == SVG_GRANT && !span->is_old &&
            span->to_ns > note->at_ns &&
            (span->node == note->node || note->node < 0)) {
            struct svg_span old = *span;
            struct sim_note from = *note;
            span->to_ns = note->at_ns;
            from.process = old.process;
            from.node = old.node;
            from.name = old.name;
            from.fence = old.fence;
            from.is_old = true;
            int64_t to_ns =
                old.to_ns < note->until_ns ? old.to_ns : note->until_ns;
            svg_model_add(model, SVG_GRANT, &from, to_ns);
        }
    }
    model->has_old = true;
}

static bool is_promoting(const struct sim_note *note)
{
    return note->kind == SIM_NOTE_FAULT && note->fault != NULL &&
           note->fault->kind == SIM_FAULT_PROMOTE;
}

static bool is_forgetting(const struct sim_note *note)
{
    return note->kind == SIM_NOTE_FAULT && note->fault != NULL &&
           (note->fault->kind == SIM_FAULT_AGE ||
            note->fault->kind == SIM_FAULT_EMPTY ||
            note->fault->kind == SIM_FAULT_REPLICA ||
            note->fault->kind == SIM_FAULT_FLUSH);
}

void svg_grants_make(struct svg_model *model, const struct sim_picture *picture)
{
    for (size_t i = 0; i < picture->n; i++) {
        const struct sim_note *note = &picture->notes[i];
        if (note->kind == SIM_NOTE_ASKED && note->name >= 0) {
            asked(model, note);
        } else if (note->kind == SIM_NOTE_PUSHED && note->name >= 0) {
            grant(model, note, note->counter);
        } else if (is_promoting(note)) {
            leave_behind(model, note);
        } else if (is_forgetting(note)) {
            forget(model, note->node, note->at_ns);
        }
    }
}
