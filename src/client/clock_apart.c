/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with counters too far apart to agree, because a clock is, or was, far
 * off. The error names each node that is further than HF_FENCE_AHEAD_MAX
 * from the largest group of nodes, with the difference. If two groups have the
 * same size, the group nearer to this machine's clock is taken as right; this
 * clock affects only the message.
 *
 * Cost: no request, since the counters are in the replies of an attempt that
 * has failed. Each pair of nodes is compared, and the clock is read once. */
#include "client/clock_apart.h"

#include "core/limits.h"
#include "io/clock.h"

#include <stdio.h>

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static unsigned group_size(const struct hf_op *op, const struct hf_lease *lease,
                           uint64_t counter)
{
    unsigned n = 0;
    for (unsigned i = 0; i < op->client->nodes.count; i++) {
        uint64_t other = hf_lease_granted(lease, i);
        n += other > 0 && distance(other, counter) <= HF_FENCE_AHEAD_MAX;
    }
    return n;
}

/** @return the counter of the largest group; if two are equal, of the one
 * nearer to now; 0: no node granted. */
static uint64_t reference(const struct hf_op *op, const struct hf_lease *lease)
{
    uint64_t now_us = (uint64_t)hf_clock_wall_s() * 1000000;
    uint64_t best = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < op->client->nodes.count; i++) {
        uint64_t counter = hf_lease_granted(lease, i);
        unsigned n = counter > 0 ? group_size(op, lease, counter) : 0;
        if (n > most || (n > 0 && n == most &&
                         distance(counter, now_us) < distance(best, now_us))) {
            best = counter;
            most = n;
        }
    }
    return best;
}

static void write_span(uint64_t us, char *out, size_t size)
{
    static const struct {
        uint64_t s; /* used from twice this length on */
        const char *name;
    } units[] = {{31557600, "years"}, {86400, "days"}, {3600, "h"}};
    uint64_t s = us / 1000000;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (s >= 2 * units[i].s) {
            snprintf(out, size, "%llu %s",
                     (unsigned long long)((s + units[i].s / 2) / units[i].s),
                     units[i].name);
            return;
        }
    }
    snprintf(out, size, "%llu min", (unsigned long long)((s + 30) / 60));
}

static void name_node(struct hf_op *op, unsigned node, uint64_t counter,
                      uint64_t others)
{
    struct hf_peer *peer = &op->client->peers[node];
    char span[HF_TEXT_WORD];
    write_span(distance(counter, others), span, sizeof(span));
    if ((op->leading & (1U << node)) != 0) {
        snprintf(peer->reason, sizeof(peer->reason),
                 "its clock was %s ahead when this name was used there; it "
                 "does not count for this name",
                 span);
    } else {
        snprintf(peer->reason, sizeof(peer->reason),
                 "its clock is %s %s the others; it does not count until it "
                 "is right",
                 span, counter > others ? "ahead of" : "behind");
    }
    peer->fault = HF_UNAVAILABLE;
}

void hf_op_note_apart(struct hf_op *op, const struct hf_lease *lease)
{
    uint64_t others = reference(op, lease);
    for (unsigned i = 0; i < op->client->nodes.count; i++) {
        uint64_t counter = hf_lease_granted(lease, i);
        if (counter > 0 && distance(counter, others) > HF_FENCE_AHEAD_MAX) {
            uint16_t bit = (uint16_t)(1U << i);
            op->apart |= bit;
            op->refusing |= bit;
            op->answered &= (uint16_t)~bit;
            name_node(op, i, counter, others);
        }
    }
}
