/* SPDX-License-Identifier: Apache-2.0 */
/* Quarantine: may a server's grants count, or may it have lost locks that are
 * still held?
 *
 * A server that restarted empty would grant a lock that is still held. Each
 * server keeps a marker: the identity it had when Holdfast wrote it, and
 * whether its memory is known to be whole since. Identity and marker together
 * decide; if they prove nothing, the server has no vote until every lease it
 * may have lost is over. Pure: the store reads the identity and the marker,
 * this judges them, the store writes the marker.
 * Source: antirez.com/news/101 and redis.io distlock, "delayed restarts". */
#ifndef HF_CORE_QUARANTINE_H
#define HF_CORE_QUARANTINE_H

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SERVER_ID_MAX 48 /* run ids are 40 hex digits */

/* What a server says of itself. No uptime and no wall clock: both can be
 * wrong, and neither says whether data was lost. */
struct hf_identity {
    char run_id[HF_SERVER_ID_MAX]; /* empty: it does not say */
    char replid[HF_SERVER_ID_MAX];
    bool has_replid2;      /* it was promoted: replid2 is not all zeros */
    bool knows_durability; /* CONFIG GET is permitted */
    bool is_durable;       /* every write is on disk before the reply, now */
};

/* What all clients of a store must agree on. */
struct hf_shape {
    int64_t max_ttl_ms;
    int64_t nodes;
    int64_t fence_keep_ms; /* in a marker 0: it is of an older format */
};

/* The marker, key hf:node. */
struct hf_marker {
    bool exists;
    char value[HF_SERVER_ID_MAX]; /* random; every granting script compares it
                                   */
    char run_id[HF_SERVER_ID_MAX];
    char replid[HF_SERVER_ID_MAX];
    bool is_whole;   /* nothing that is still held was lost */
    bool is_durable; /* so was the server when the marker was written */
    struct hf_shape shape;
    bool has_entry;          /* of this host */
    struct hf_instant entry; /* when this host first saw this value, on the
                                clock of all its processes */
};

/* What this client remembers of the node. */
struct hf_acquaintance {
    bool has_met;
    char value[HF_SERVER_ID_MAX];  /* of the marker, as last seen */
    char run_id[HF_SERVER_ID_MAX]; /* of the server, as last seen */
    struct hf_instant since;       /* when this client first saw the value */
};

enum hf_trust {
    HF_TRUST_VOTES,      /* its memory is whole */
    HF_TRUST_QUARANTINE, /* no vote until `until` */
    HF_TRUST_MISMATCH    /* the marker has another shape */
};

/* Why there is a quarantine. */
enum hf_suspicion {
    HF_SUSPECT_NO_TRACE, /* no marker: new, restarted empty, or emptied */
    HF_SUSPECT_EMPTIED,  /* the marker that this client knew is gone */
    HF_SUSPECT_REPLACED, /* the marker names another identity */
    HF_SUSPECT_WATCHED   /* the marker names this one, and is not whole yet */
};

struct hf_judgement {
    enum hf_trust trust;
    enum hf_suspicion suspicion; /* QUARANTINE */
    struct hf_instant since;     /* when this client first saw the value */
    struct hf_instant until;     /* QUARANTINE: on our clock */
    bool forgot;                 /* votes from before now are void */
    bool write;                  /* `marker` is to be written, if the old value
                                    is still there; once it is, judge again */
    struct hf_marker marker;     /* what to write; an empty `value` is filled by
                                    the caller with fresh entropy */
};

/* Judge.
 * @param shape   Our configuration.
 * @param strict  False with quarantine=off.
 * @param on_host This host's clock can be named: entries can be written.
 * @param now     Our clock, read after the reply that brought `marker` was
 *                read, or the reply that said that it was written.
 *
 * `known` is not changed: once there is nothing to write, the caller notes the
 * marker's value, the server's run id, and `since`. */
void hf_quarantine_judge(const struct hf_identity *identity,
                         const struct hf_marker *marker,
                         const struct hf_acquaintance *known,
                         const struct hf_shape *shape, bool strict,
                         bool on_host, struct hf_instant now,
                         struct hf_judgement *out);

/* The marker that a declaration writes over whatever there is: whole, or to be
 * watched anew (the operator knows that data was lost). `value` is empty. */
void hf_quarantine_declare(const struct hf_identity *identity,
                           const struct hf_shape *shape, bool is_whole,
                           struct hf_marker *out);

/* How long a quarantine lasts. */
struct hf_span hf_quarantine_span(int64_t max_ttl_ms);

#endif
