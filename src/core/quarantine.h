/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that forget: has this one, since we last knew it, and may its grants
 * count?
 *
 * A server that restarted empty would grant a lock that somebody still holds.
 * So each keeps a marker with the identity it had when Holdfast last trusted
 * it. Identity and marker together say whether its memory is whole; if not, it
 * has no vote until every lease it may have forgotten is over. Pure: the store
 * reads the identity, this judges it, the store writes what is to be written.
 * Source: antirez.com/news/101 and redis.io distlock, "delayed restarts". */
#ifndef HF_CORE_QUARANTINE_H
#define HF_CORE_QUARANTINE_H

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SERVER_ID_MAX 48 /* run ids are 40 hex digits */

/* What a server says of itself. */
struct hf_identity {
    char run_id[HF_SERVER_ID_MAX];
    char replid[HF_SERVER_ID_MAX];
    bool has_replid2;  /* it was promoted: replid2 is not all zeros */
    int64_t uptime_ms; /* by its wall clock: a hint only */
    int64_t time_ms;   /* its wall clock */
    bool knows_fsync;  /* we may ask for appendfsync */
    bool fsync_always; /* appendonly yes and appendfsync always, now */
};

/* The marker, key hf:node. */
struct hf_marker {
    bool exists;
    char value[HF_SERVER_ID_MAX]; /* random; every granting script compares it
                                   */
    char run_id[HF_SERVER_ID_MAX];
    char replid[HF_SERVER_ID_MAX];
    int64_t until_ms; /* end of a quarantine, node's wall clock; 0: none */
    int64_t max_ttl_ms;
    int64_t nodes;     /* of the store */
    bool fsync_always; /* was so when it was written */
};

/* What this client remembers of the node. */
struct hf_acquaintance {
    bool has_met;
    char value[HF_SERVER_ID_MAX]; /* of the marker, as last seen */
    struct hf_instant until;      /* own end of a quarantine; HF_LONG_AGO */
};

enum hf_trust {
    HF_TRUST_VOTES,      /* its memory is whole */
    HF_TRUST_QUARANTINE, /* no vote until `until` */
    HF_TRUST_MISMATCH    /* the marker has another max_ttl or number of nodes */
};

struct hf_judgement {
    enum hf_trust trust;
    struct hf_instant until; /* QUARANTINE: on our clock */
    bool forgot;             /* votes from before now are void */
    bool write;              /* `marker` is to be written: compare with the
                                old value first; another client may be faster */
    struct hf_marker marker; /* what to write; an empty `value` is filled by
                                the caller with fresh entropy */
};

/* Judge. `now` is our clock, max_ttl_ms and nodes our configuration, strict
 * false with quarantine=off. `known` is not changed: once the marker is read
 * (or written), the caller notes its value and the judgement's `until`. */
void hf_quarantine_judge(const struct hf_identity *identity,
                         const struct hf_marker *marker,
                         const struct hf_acquaintance *known,
                         int64_t max_ttl_ms, int64_t nodes, bool strict,
                         struct hf_instant now, struct hf_judgement *out);

/* How long a quarantine lasts. */
struct hf_span hf_quarantine_span(int64_t max_ttl_ms);

#endif
