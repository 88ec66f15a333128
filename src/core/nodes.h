/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a store, as the algorithm sees them: who may vote, who is slow,
 * how long to wait for each. One per client, shared by all its leases; it
 * holds no address and no socket. Sets of nodes are bit masks: bit i is node
 * i. */
#ifndef HF_CORE_NODES_H
#define HF_CORE_NODES_H

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* What a node is good for. */
enum hf_standing {
    HF_STANDING_CONNECTING, /* not known yet; may become anything soon */
    HF_STANDING_VOTING,     /* identified, remembers: its answers are votes */
    HF_STANDING_REPAIRING,  /* in quarantine: no ACQUIRE; CONFIRM repairs its
                               key but is no vote; its LOST does not count */
    HF_STANDING_DOWN        /* not reachable, or not usable at all */
};

struct hf_nodes {
    uint8_t count;
    uint8_t quorum;      /* count / 2 + 1 */
    uint16_t connecting; /* one mask per standing; each node is in one */
    uint16_t voting;
    uint16_t repairing;
    uint16_t down;
    uint16_t listening;           /* can push grants to us; of any standing */
    uint8_t misses[HF_NODES_MAX]; /* timeouts since the last answer */
    struct hf_instant missed_at[HF_NODES_MAX];
    struct hf_span rtt[HF_NODES_MAX]; /* smoothed; 0: not measured yet */
    struct hf_span node_timeout;      /* as configured */
    struct hf_span connect_timeout;
};

/* All nodes start as CONNECTING. count is odd, 1 .. HF_NODES_MAX. */
void hf_nodes_init(struct hf_nodes *nodes, unsigned count,
                   struct hf_span node_timeout, struct hf_span connect_timeout);

void hf_nodes_set(struct hf_nodes *nodes, unsigned node,
                  enum hf_standing standing);

enum hf_standing hf_nodes_standing(const struct hf_nodes *nodes, unsigned node);

/* An answer came: the node is not slow, and this is how long it took. */
void hf_nodes_answered(struct hf_nodes *nodes, unsigned node,
                       struct hf_span took);

/* A request was not answered in time. Many that miss together are one miss. */
void hf_nodes_missed(struct hf_nodes *nodes, unsigned node,
                     struct hf_instant now);

/* Missed its timeout several times in a row: waited for only if the majority
 * needs it. */
bool hf_nodes_is_slow(const struct hf_nodes *nodes, unsigned node);

/* How long to wait for an answer on an open connection, for a lease of `ttl`.
 * At most 5% of the lease, so that one lost answer never costs it; but never
 * less than three measured round trips, else a distant node could not vote. */
struct hf_span hf_nodes_timeout(const struct hf_nodes *nodes, unsigned node,
                                struct hf_span ttl);

/* The longest of the nodes' timeouts: a request that has waited so long in
 * vain need not wait for any node. */
struct hf_span hf_nodes_patience(const struct hf_nodes *nodes,
                                 struct hf_span ttl);

static inline uint16_t hf_nodes_all(const struct hf_nodes *nodes)
{
    return (uint16_t)((1U << nodes->count) - 1U);
}

#endif
