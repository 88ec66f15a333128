/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of a run for readers: the world passes notes to a listener. There
 * are two listeners: one prints lines of text, one draws a picture.
 *
 *     sim_run(&story, sim_trace_text, stdout, &verdict);
 *
 *     struct sim_picture *picture = sim_picture_new();
 *     sim_run(&story, sim_picture_note, picture, &verdict);
 *     sim_picture_draw(picture, &story, "TITLE\nCAPTION", out);
 *     sim_picture_free(picture);
 *
 * Both at once, and a digest: hfsim/sinks.h. A listener is called in the middle
 * of a step of the world: it must not call the world, and a note with its texts
 * is valid only during the call. A run without a listener passes no notes. */
#ifndef HF_SIM_TRACE_H
#define HF_SIM_TRACE_H

#include "story/story.h"

#include <stdint.h>

enum sim_note_kind {
    SIM_NOTE_BEGIN,    /* process, lane: begins a turn; text: its request */
    SIM_NOTE_GIVEN_UP, /* …: acquired nothing; text: why */
    SIM_NOTE_HELD,     /* …: acquired the lock; fence; until_ns: deadline */
    SIM_NOTE_RENEWED,  /* …: until_ns: the new deadline */
    SIM_NOTE_AT_RISK,  /* … */
    SIM_NOTE_LOST,     /* …: by a callback, or when it read the state */
    SIM_NOTE_RELEASED, /* …: begins its release */
    SIM_NOTE_GIVEN,    /* …: handed the lock on to process `other` */
    SIM_NOTE_ADOPTED,  /* …: adopted the lock */
    SIM_NOTE_WRITE,    /* …: the guarded register accepted a write; fence */
    SIM_NOTE_REFUSED,  /* …: … refused it, having seen fence `counter` */
    SIM_NOTE_ASKED,    /* node executed a request of process: text: "acquire",
                          "confirm 7", "release" …; result: "yours 7", "held by
                          p2", "queued", "free", "not yours", "NOSCRIPT" …;
                          sent_ns; at_ns: executed; until_ns: the reply arrives,
                          or -1: never */
    SIM_NOTE_PUSHED,   /* node pushed a grant to process; counter; at_ns: sent;
                          until_ns: arrives, -1: never */
    SIM_NOTE_FAULT, /* text: which; process, node: target; until_ns: its end */
    SIM_NOTE_NODE_DOWN,
    SIM_NOTE_NODE_UP,     /* text: "with its memory", "empty" … */
    SIM_NOTE_NODE_STATUS, /* process sees node as text: "votes", "quarantined" …
                           */
    SIM_NOTE_PAUSED,      /* process, or node if process is -1; until_ns */
    SIM_NOTE_CRASHED,
    SIM_NOTE_STARTED,
    SIM_NOTE_CALM,      /* the last fault is over */
    SIM_NOTE_VIOLATION, /* text: which guarantee, and how */
    SIM_NOTE_CALLED     /* process, lane, name: text: a call other than those
                           above; result */
};

/* Times are the world's. Processes, lanes, nodes and names are indexes from 0.
 * Members that a kind does not name are not to be read. */
struct sim_note {
    enum sim_note_kind kind;
    int64_t at_ns;
    int process; /* -1: none */
    int lane;
    int node;  /* -1: none */
    int other; /* process; -1: none */
    int name;  /* which name, -1: none */
    bool is_shared;
    bool is_old; /* ASKED, PUSHED: by a server that a promotion replaced */
    uint64_t fence;
    uint64_t counter;
    int64_t sent_ns;
    int64_t until_ns;
    int64_t lease_ns; /* ASKED, PUSHED: the lease that the node has granted
                         from at_ns on; 0: none, or unknown */
    const struct sim_fault *fault; /* FAULT */
    const char *text;              /* borrowed for the call; may be NULL */
    const char *result;            /* the same */
};

/* Receives each note, in order of time; it must not change the world. */
typedef void sim_trace_fn(void *user, const struct sim_note *note);

/* trace.c: one line a note, as in tests/unit/lease_trace.c:
 *     [  100.250] p1 > acquire "a"
 * `user` is a FILE. */
void sim_trace_text(void *user, const struct sim_note *note);

/* svg/svg.c: collects the notes; they are drawn at the end. */
struct sim_picture;

/* Without notes. sim_picture_free(). */
struct sim_picture *sim_picture_new(void);
void sim_picture_free(struct sim_picture *picture);

/* A sim_trace_fn; `user` is the picture. Copies the note and its texts. */
void sim_picture_note(void *user, const struct sim_note *note);

/* Write the picture to `out` as SVG. `title`: "TITLE\nCAPTION". `story`: of
 * the world whose notes these are. */
void sim_picture_draw(const struct sim_picture *picture,
                      const struct sim_story *story, const char *title,
                      FILE *out);

#endif
