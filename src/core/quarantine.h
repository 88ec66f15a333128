/* SPDX-License-Identifier: Apache-2.0 */
/* Quarantine: whether a server's grants count, or whether it may have lost
 * locks that are still held.
 *
 * A server that restarted empty would grant a lock that is still held. So each
 * server keeps a marker: its identity when Holdfast wrote the marker, and
 * whether its data is known to be complete since then. If identity and marker
 * do not prove that, the server has no vote until every lease that it may have
 * lost has expired. These functions are pure: the store reads the identity and
 * the marker, and writes the marker.
 * Source: antirez.com/news/101 and redis.io distlock, "delayed restarts". */
#ifndef HF_CORE_QUARANTINE_H
#define HF_CORE_QUARANTINE_H

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SERVER_ID_MAX 48 /* the longest run_id of a store has 42 bytes */

/* The identity that a server reports. Uptime and wall clock are no part of it:
 * both can be wrong, and neither shows whether data was lost. */
struct hf_identity {
    char run_id[HF_SERVER_ID_MAX]; /* empty: not reported */
    char replid[HF_SERVER_ID_MAX];
    bool has_replid2; /* another replid than the marker's is a promotion:
                         the server had one before, or it is always so */
    int64_t database; /* of several in one server, from 1: the one that we use.
                      0: its servers have one */
    bool knows_durability; /* CONFIG GET is permitted */
    bool is_durable;       /* at present every write is on disk before its reply
                            */
};

/* The configuration on which all clients of a store must agree. */
struct hf_shape {
    int64_t max_ttl_ms;
    int64_t nodes;
    int64_t fence_keep_ms; /* in a marker 0: it is of an older format */
    int64_t fence_base;    /* which an older format does not have: 0 */
};

/* The marker, key hf:node. */
struct hf_marker {
    bool exists;
    char value[HF_SERVER_ID_MAX]; /* random; every granting script compares it
                                   */
    char run_id[HF_SERVER_ID_MAX];
    char replid[HF_SERVER_ID_MAX];
    int64_t database; /* in which it was written; 0: not known, or the only one
                       */
    bool is_whole;    /* no lock that is still held was lost */
    bool is_durable;  /* the server was durable when the marker was written */
    struct hf_shape shape;
    bool has_entry;          /* of this host */
    struct hf_instant entry; /* when this host first saw this value, on the
                                clock of all its processes */
};

/* The state of the node at this client's last handshake. */
struct hf_known_server {
    bool has_met;                  /* there was one; else the rest is empty */
    char value[HF_SERVER_ID_MAX];  /* of the marker, as last seen */
    char run_id[HF_SERVER_ID_MAX]; /* of the server, as last seen */
    struct hf_instant since;       /* when this client first saw the value */
};

enum hf_trust {
    HF_TRUST_VOTES,      /* its data is complete */
    HF_TRUST_QUARANTINE, /* no vote until `until` */
    HF_TRUST_MISMATCH    /* the marker has another shape */
};

/* The reason of a quarantine. */
enum hf_suspicion {
    HF_SUSPECT_NO_TRACE, /* no marker: new, or restarted empty */
    HF_SUSPECT_EMPTIED,  /* no marker, and the run_id that this client knew */
    HF_SUSPECT_REPLACED, /* the marker has another identity */
    HF_SUSPECT_WATCHED   /* the marker has this identity, and is not whole yet
                          */
};

/* What a ruling depends on; all is borrowed for the call. */
struct hf_quarantine_input {
    const struct hf_identity *identity;
    const struct hf_marker *marker;
    const struct hf_known_server *known;
    const struct hf_shape *shape; /* our configuration */
    bool strict;                  /* false with quarantine=off */
    bool on_host; /* entries can be written: our host's clock has an identity */
    /* Our clock, read after the reply that contained `marker`, or that
     * confirmed its writing, was read. */
    struct hf_instant now;
};

struct hf_quarantine_ruling {
    enum hf_trust trust;
    enum hf_suspicion suspicion; /* QUARANTINE */
    struct hf_instant since;     /* when this client first saw the value */
    struct hf_instant until;     /* QUARANTINE: its end, on our clock */
    bool is_reset;               /* earlier votes of the node are void */
    bool must_write;             /* the caller must write `marker`, if the
                                    server still has the old value, and then
                                    judge again */
    struct hf_marker marker;     /* to write; the caller fills an empty `value`
                                    with fresh entropy */
};

/* Decide whether the server votes. Once nothing is to be written, the caller
 * stores the marker's value, the server's run id, and `since` in `known`. */
void hf_quarantine_judge(const struct hf_quarantine_input *in,
                         struct hf_quarantine_ruling *out);

/* The marker with which a declaration overwrites the present one: whole, or
 * with is_whole false to begin a quarantine (the operator knows that data was
 * lost). `value` is empty. */
void hf_quarantine_declare(const struct hf_identity *identity,
                           const struct hf_shape *shape, bool is_whole,
                           struct hf_marker *out);

/* How long a quarantine lasts. */
struct hf_span hf_quarantine_span(int64_t max_ttl_ms);

#endif
