/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a store, as the algorithm sees them: which may vote, which are
 * slow, and the timeout of each. One per client, shared by all its leases; it
 * has no address and no socket. Sets of nodes are bit masks: bit i is node
 * i. */
#ifndef HF_CORE_NODES_H
#define HF_CORE_NODES_H

#include "base/time.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* The status of a node. */
enum hf_node_status {
    HF_NODE_STATUS_CONNECTING, /* status unknown until the handshake is done */
    HF_NODE_STATUS_VOTING, /* identified, data complete: its replies are votes
                            */
    HF_NODE_STATUS_REPAIRING, /* in quarantine: no ACQUIRE; CONFIRM repairs its
                              key but is no vote; its refusals do not count */
    HF_NODE_STATUS_DOWN       /* not reachable, or not usable at all */
};

struct hf_nodes {
    uint8_t count;
    uint8_t quorum;      /* count / 2 + 1 */
    uint16_t connecting; /* one mask per status; each node is in one */
    uint16_t voting;
    uint16_t repairing;
    uint16_t down;
    uint16_t listening;           /* can push grants to us; of any status */
    uint16_t guessed;             /* `rtt` is that of the handshake, or 0 */
    uint8_t misses[HF_NODES_MAX]; /* timeouts since the last reply */
    struct hf_instant missed_at[HF_NODES_MAX];
    struct hf_span rtt[HF_NODES_MAX]; /* smoothed; 0: not measured yet */
    struct hf_span node_timeout;      /* as configured */
    struct hf_span connect_timeout;
};

/* All nodes start as CONNECTING. count is odd, 1 .. HF_NODES_MAX. */
void hf_nodes_init(struct hf_nodes *nodes, unsigned count,
                   struct hf_span node_timeout, struct hf_span connect_timeout);

/* A change that the client has noticed at one node. */
enum hf_nodes_event_kind {
    HF_NODES_EV_STATUS, /* it has another status. Each lease gets HF_EV_NODE
                           next */
    HF_NODES_EV_LISTEN, /* it can push grants to us from now on, or no longer.
                           Each lease that waits gets HF_EV_LISTEN next */
    HF_NODES_EV_REPLY,  /* it replied: it is no longer slow */
    HF_NODES_EV_MISS    /* a request timed out. Those of several requests at
                           once count as one */
};

struct hf_nodes_event {
    enum hf_nodes_event_kind kind;
    uint8_t node;
    enum hf_node_status status; /* STATUS */
    bool is_listening;          /* LISTEN */
    struct hf_span took;        /* REPLY: since the request was sent; STATUS:
                                   of the handshake, 0: unknown */
    struct hf_instant now;      /* MISS */
};

/* The only way to change struct hf_nodes. */
void hf_nodes_step(struct hf_nodes *nodes, const struct hf_nodes_event *event);

/** @return the status that the leases know: the store may have reported a newer
 * one (client/answer.c). */
enum hf_node_status hf_nodes_status(const struct hf_nodes *nodes,
                                    unsigned node);

/* True after HF_NODE_MISSES_MAX timeouts in a row: a request waits for this
 * node only if the other nodes are no majority. */
bool hf_nodes_is_slow(const struct hf_nodes *nodes, unsigned node);

/* The timeout of a request on an open connection, for a lease of `ttl`.
 * At most 5% of the lease, so that one lost reply never costs the lease; but at
 * least three measured round trips, else a distant node could not vote. */
struct hf_span hf_nodes_timeout(const struct hf_nodes *nodes, unsigned node,
                                struct hf_span ttl);

/* The longest of the nodes' timeouts. */
struct hf_span hf_nodes_patience(const struct hf_nodes *nodes,
                                 struct hf_span ttl);

/* The mask of all nodes, whatever their status. */
static inline uint16_t hf_nodes_all(const struct hf_nodes *nodes)
{
    return (uint16_t)((1U << nodes->count) - 1U);
}

#endif
