/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH NODES MAY VOTE, AND HOW LONG EACH IS WAITED FOR
 *
 *   status       ACQUIRE        its grant     RELEASE
 *   CONNECTING   awaited        -             once it is up
 *   VOTING       sent           is a vote     sent
 *   REPAIRING    not sent       is no vote    sent
 *   DOWN         not sent       -             once it is up
 *
 * The store reports the status; core never changes it by itself. A node is in
 * one mask exactly, so the four masks are a partition of all nodes.
 *
 *   timeout    min(node_timeout, ttl / 20), but at least three round trips:
 *              at first that of the handshake; each new one counts for one
 *              eighth (as in RFC 6298)
 *   slow       after HF_NODE_MISSES_MAX timeouts in a row, until it replies.
 *              Requests that time out together count once: one pause of the
 *              server is one miss, however many locks met it
 *
 * Why it is safe: only `voting` and `repairing` decide which replies are votes.
 * The estimates decide when to stop waiting for one. A reply that comes after
 * that still counts by its own rules (lease_grant.c), so a wrong estimate costs
 * time or an attempt, and never exclusion.
 *
 * Cost: no round trip. It measures those that the handshake and the leases need
 * anyway. */
#include "core/nodes.h"

#include "base/assert.h"

#include <string.h>

void hf_nodes_init(struct hf_nodes *nodes, unsigned count,
                   struct hf_span node_timeout, struct hf_span connect_timeout)
{
    HF_ASSERT(count >= 1 && count <= HF_NODES_MAX && count % 2 == 1);
    memset(nodes, 0, sizeof(*nodes));
    nodes->count = (uint8_t)count;
    nodes->quorum = (uint8_t)(count / 2 + 1);
    nodes->connecting = hf_nodes_all(nodes);
    nodes->node_timeout = node_timeout;
    nodes->connect_timeout = connect_timeout;
}

static uint16_t *mask_of(struct hf_nodes *nodes, enum hf_node_status status)
{
    HF_ASSERT(status <= HF_NODE_STATUS_DOWN);
    switch (status) {
    case HF_NODE_STATUS_CONNECTING:
        return &nodes->connecting;
    case HF_NODE_STATUS_VOTING:
        return &nodes->voting;
    case HF_NODE_STATUS_REPAIRING:
        return &nodes->repairing;
    case HF_NODE_STATUS_DOWN:
    default:
        return &nodes->down;
    }
}

static void set_status(struct hf_nodes *nodes, unsigned node,
                       enum hf_node_status status)
{
    HF_ASSERT(status <= HF_NODE_STATUS_DOWN);
    uint16_t bit = (uint16_t)(1U << node);
    *mask_of(nodes, hf_nodes_status(nodes, node)) ^= bit;
    *mask_of(nodes, status) |= bit;
    HF_ASSERT((nodes->connecting ^ nodes->voting ^ nodes->repairing ^
               nodes->down) == hf_nodes_all(nodes));
}

/* A request that timed out teaches nothing, so the first one must have the time
 * that the node needs. The handshake may have waited for the program to read
 * it, so the first reply is a better measure, and takes its place. */
static void note_status(struct hf_nodes *nodes,
                        const struct hf_nodes_event *event)
{
    HF_ASSERT(event->took.ns >= 0);
    set_status(nodes, event->node, event->status);
    uint16_t bit = (uint16_t)(1U << event->node);
    if (nodes->rtt[event->node].ns == 0 || (nodes->guessed & bit) != 0) {
        nodes->rtt[event->node] = event->took;
        nodes->guessed |= bit;
    }
}

static void set_listening(struct hf_nodes *nodes, unsigned node,
                          bool is_listening)
{
    uint16_t bit = (uint16_t)(1U << node);
    nodes->listening &= (uint16_t)~bit;
    nodes->listening |= is_listening ? bit : 0;
    HF_ASSERT((nodes->listening & ~hf_nodes_all(nodes)) == 0);
}

static void note_reply(struct hf_nodes *nodes, unsigned node,
                       struct hf_span took)
{
    HF_ASSERT(nodes->misses[node] <= HF_NODE_MISSES_MAX);
    nodes->misses[node] = 0;
    if (took.ns <= 0) {
        return; /* the embedded store: no round trip to measure */
    }
    uint16_t bit = (uint16_t)(1U << node);
    bool is_first = (nodes->guessed & bit) != 0;
    nodes->guessed &= (uint16_t)~bit;
    nodes->rtt[node] = is_first ? took : hf_span_smooth(nodes->rtt[node], took);
}

static void note_miss(struct hf_nodes *nodes, unsigned node,
                      struct hf_instant now)
{
    HF_ASSERT(nodes->misses[node] <= HF_NODE_MISSES_MAX);
    struct hf_instant again =
        hf_instant_add(nodes->missed_at[node], nodes->node_timeout);
    if (nodes->misses[node] == 0 || !hf_instant_before(now, again)) {
        nodes->missed_at[node] = now;
        if (nodes->misses[node] < HF_NODE_MISSES_MAX) {
            nodes->misses[node]++;
        }
    }
}

void hf_nodes_step(struct hf_nodes *nodes, const struct hf_nodes_event *event)
{
    HF_ASSERT(event->node < nodes->count);
    HF_ASSERT(event->kind <= HF_NODES_EV_MISS);
    switch (event->kind) {
    case HF_NODES_EV_STATUS:
        note_status(nodes, event);
        break;
    case HF_NODES_EV_LISTEN:
        set_listening(nodes, event->node, event->is_listening);
        break;
    case HF_NODES_EV_REPLY:
        note_reply(nodes, event->node, event->took);
        break;
    case HF_NODES_EV_MISS:
    default:
        note_miss(nodes, event->node, event->now);
        break;
    }
}

enum hf_node_status hf_nodes_status(const struct hf_nodes *nodes, unsigned node)
{
    HF_ASSERT(node < nodes->count);
    unsigned bit = 1U << node;
    if ((nodes->voting & bit) != 0) {
        return HF_NODE_STATUS_VOTING;
    }
    if ((nodes->repairing & bit) != 0) {
        return HF_NODE_STATUS_REPAIRING;
    }
    return (nodes->connecting & bit) != 0 ? HF_NODE_STATUS_CONNECTING
                                          : HF_NODE_STATUS_DOWN;
}

bool hf_nodes_is_slow(const struct hf_nodes *nodes, unsigned node)
{
    HF_ASSERT(node < nodes->count);
    return nodes->misses[node] >= HF_NODE_MISSES_MAX;
}

struct hf_span hf_nodes_timeout(const struct hf_nodes *nodes, unsigned node,
                                struct hf_span ttl)
{
    HF_ASSERT(node < nodes->count);
    struct hf_span share = hf_span_div(ttl, 20);
    struct hf_span trips = hf_span_scale(nodes->rtt[node], 3);
    return hf_span_max(hf_span_min(nodes->node_timeout, share), trips);
}

struct hf_span hf_nodes_patience(const struct hf_nodes *nodes,
                                 struct hf_span ttl)
{
    HF_ASSERT(nodes->count > 0);
    struct hf_span longest = {0};
    for (unsigned i = 0; i < nodes->count; i++) {
        longest = hf_span_max(longest, hf_nodes_timeout(nodes, i, ttl));
    }
    return longest;
}
