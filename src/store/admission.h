/* SPDX-License-Identifier: Apache-2.0 */
/* MAY THIS SERVER VOTE?
 *
 * Decided after each handshake, before the first request for a lock, by a store
 * whose servers may lose their data:
 *
 *     the marker has other settings (hf_shape)          refused: HF_CONFIG
 *     a job INIT or QUARANTINE is pending               its marker is written
 *     core/quarantine.h: locks may have been lost       quarantine: no vote
 *     otherwise                                         it votes
 *
 * The store reads the server's identity and marker, and passes them here:
 *
 *     hf_admission_begin     a handshake begins; fill `identity`, `marker`
 *     hf_admission_read      both are complete
 *     hf_admission_decide    the next step: WRITE, ACCEPT or a refusal
 *     hf_admission_wrote     the server has confirmed WRITE: decide again
 *     hf_admission_accept    ACCEPT: the node is ready for requests
 *
 * Only a script that compares the old marker's value writes the marker: of
 * several clients that notice a restart one writes. The others repeat the
 * handshake. A marker with a new value takes two writes: the time in our host's
 * entry must be later than the marker. These functions are pure. */
#ifndef HF_STORE_ADMISSION_H
#define HF_STORE_ADMISSION_H

#include "core/quarantine.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct hf_admission {
    /* The client's own configuration; borrowed from the store. */
    const struct hf_shape *shape;
    const char *host; /* the field of our host's entry; empty: no name */
    bool strict;      /* false with quarantine=off */

    /* The server's replies in the last handshake. */
    struct hf_identity identity;
    struct hf_marker marker;

    /* The decision on these replies. */
    struct hf_known_server known;
    struct hf_quarantine_ruling ruling;
    enum hf_suspicion suspicion;         /* why it is in quarantine */
    struct hf_instant quarantined_until; /* HF_LONG_AGO */

    /* The operator's jobs. */
    enum hf_job surveying;            /* SURVEY: the job that asks for it */
    bool is_declared;                 /* a job INIT or QUARANTINE has succeeded,
                                         or its marker is being written */
    bool has_declared;                /* and that job has written a marker */
    char looked_at[HF_SERVER_ID_MAX]; /* the marker that the last survey has
                                         shown; INIT replaces no other */
};

/* The reason of a node whose schema is being made. A try may end before a slow
 * server has made it, and then so does each one that follows. */
#define HF_MAKES_SCHEMA                                                        \
    "its schema is being made: wait longer, or run holdfast doctor --init"

/* The next step of the store. */
enum hf_admission_next {
    HF_ADMISSION_SURVEY, /* begin the survey `surveying`, before the marker
                            changes */
    HF_ADMISSION_REFUSE, /* hf_admission_mismatch_text() has the reason */
    HF_ADMISSION_WRITE,  /* write ruling.marker, if the server's marker still
                            has the value of `marker` */
    HF_ADMISSION_ACCEPT  /* the marker is up to date */
};

/* The node is opened: nothing is known of its server. */
void hf_admission_init(struct hf_admission *admission,
                       const struct hf_shape *shape, const char *host,
                       bool strict);

/* A handshake begins: `identity` and `marker` are unknown. */
void hf_admission_begin(struct hf_admission *admission);

/* `identity` and `marker` are complete. */
void hf_admission_read(struct hf_admission *admission);

/* ruling.marker was written, and is the server's marker now. */
void hf_admission_wrote(struct hf_admission *admission);

/** Decide the next step, after hf_admission_read() or hf_admission_wrote().
 * @param jobs  Pending jobs, a bit per enum hf_job.
 * @param now   Read after the reply: a quarantine begins with it. */
enum hf_admission_next hf_admission_decide(struct hf_admission *admission,
                                           unsigned jobs,
                                           struct hf_instant now);

/** The node is ready: from now on its server is known.
 * @return true: it has no vote until `quarantined_until`. */
bool hf_admission_accept(struct hf_admission *admission);

/* How long a quarantine of such a store lasts, in whole seconds. */
int64_t hf_admission_quarantine_s(const struct hf_admission *admission);

/* Write why a node has no vote, to follow its address in a message. `causes`
 * are the store's texts, one per enum hf_suspicion. */
void hf_admission_quarantine_text(const struct hf_admission *admission,
                                  const char *const causes[], char *out,
                                  size_t size);

/* Write how the settings in the marker differ from the client's, to follow the
 * server's address in a message. */
void hf_admission_mismatch_text(const struct hf_admission *admission, char *out,
                                size_t size);

#endif
