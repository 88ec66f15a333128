/* SPDX-License-Identifier: Apache-2.0 */
#include "hfsim/sinks.h"

#include "story/random.h"

static void add(struct sim_listener *listener, uint64_t value)
{
    listener->digest = sim_mix(listener->digest ^ value);
}

static void add_text(struct sim_listener *listener, const char *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; text != NULL && *text != '\0'; text++) {
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    add(listener, sum);
}

static void digest(struct sim_listener *listener, const struct sim_note *note)
{
    add(listener, (uint64_t)note->at_ns);
    add(listener, (uint64_t)note->kind << 48 |
                      (uint64_t)(uint8_t)note->process << 32 |
                      (uint64_t)(uint8_t)note->lane << 24 |
                      (uint64_t)(uint8_t)note->node << 16 |
                      (uint64_t)(uint8_t)note->other << 8 |
                      (uint64_t)(uint8_t)note->name);
    add(listener, note->fence);
    add(listener, note->counter);
    add(listener, (uint64_t)note->sent_ns);
    add(listener, (uint64_t)note->until_ns);
    add_text(listener, note->text);
    add_text(listener, note->result);
}

void sim_listen(void *user, const struct sim_note *note)
{
    struct sim_listener *listener = user;
    listener->n_notes++;
    digest(listener, note);
    sim_rares_note(&listener->rares, note);
    if (listener->text != NULL) {
        sim_trace_text(listener->text, note);
    }
    if (listener->picture != NULL) {
        sim_picture_note(listener->picture, note);
    }
}
