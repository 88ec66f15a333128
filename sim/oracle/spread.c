/* SPDX-License-Identifier: Apache-2.0 */
/* SPREAD: THE NODES THAT HAVE A LOCK. A bare majority has no slack: if one of
 * its nodes fails, the lock is lost. So each renewal of a holder acquires the
 * lock at the nodes that lack it. A node must have the lock after two renewals
 * in a row that could have reached it:
 *
 *   - the node votes, and no fault has touched it and the holder since before
 *     the first of them began;
 *   - no other client owned the name there since then;
 *   - the node may accept the fence: its clock floor and its counter are not
 *     above it, and it is not more than 71 minutes ahead of the node's clock.
 *
 * Sharers are not checked: they are members of a group. */
#include "oracle/spread.h"

#include "oracle/disturbed.h"
#include "oracle/residue.h"

#include "redis/redis.h"
#include "world/node.h"

#include "core/lease.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Renewals in a row, of the rule above. */
#define ROUNDS 2

/* Steps of the clock floor, and the furthest fence, in microseconds. */
#define FLOOR_US (INT64_C(1) << HF_FLOOR_BITS)
#define BOUND_US ((int64_t)HF_FENCE_AHEAD_MAX)

/* The wall clock of a node at time 0, in microseconds. */
#define WALL_US (SIM_WALL_S * 1000000)

/* ---- A node ------------------------------------------------------------ */

static bool is_mine(const struct sim_part *part, const char *text, size_t len)
{
    char owner[HF_OWNER_MAX];
    size_t n = hf_lock_emit_owner(part->lock, owner);
    return text != NULL && len == n && memcmp(text, owner, n) == 0;
}

/* "0000000000000017 owner" */
static bool counter_admits(const struct sim_oracle *oracle,
                           const struct sim_part *part, unsigned node)
{
    const struct sim_chain *chain = part->chain;
    size_t len;
    const char *text = sim_redis_get(oracle->world->nodes[node].redis,
                                     chain->key, strlen(chain->key), &len);
    uint64_t counter = text == NULL ? 0 : strtoull(text, NULL, 10);
    return counter < part->fence || (counter == part->fence && len > 17 &&
                                     is_mine(part, text + 17, len - 17));
}

static bool clock_admits(const struct sim_oracle *oracle,
                         const struct sim_part *part, unsigned node)
{
    const struct sim_node *at = &oracle->world->nodes[node];
    int64_t fence = (int64_t)part->fence;
    if (at->world == NULL) {
        return true; /* a unit test's node, without a clock */
    }
    int64_t us = WALL_US + sim_node_wall(at, oracle->world->now_ns) / 1000;
    return fence >= us - us % FLOOR_US && fence <= us + BOUND_US;
}

enum place { HAS_IT, COULD, COULD_NOT };

static enum place place_at(struct sim_oracle *oracle,
                           const struct sim_part *part, unsigned node)
{
    size_t len;
    const char *text = sim_owner_at(oracle, part->chain, node, &len);
    if (is_mine(part, text, len)) {
        return HAS_IT;
    }
    return text == NULL && counter_admits(oracle, part, node) &&
                   clock_admits(oracle, part, node)
               ? COULD
               : COULD_NOT;
}

/* ---- Rounds ------------------------------------------------------------ */

void sim_spread_begin(struct sim_oracle *oracle, struct sim_part *part)
{
    int64_t now_ns = oracle->world->now_ns;
    part->spread.confirmed_ns =
        hf_lease_confirmed(hf_lock_lease_const(part->lock)).ns;
    part->spread.renewed_ns = now_ns;
    for (unsigned i = 0; i < SIM_NODES_MAX; i++) {
        part->spread.others_ns[i] = now_ns;
    }
}

/* A renewal has just succeeded, which began later than the one before it. Count
 * it for `node` if its request could have brought the lock there. */
static void count_round(struct sim_oracle *oracle, const struct sim_live *live,
                        struct sim_part *part, unsigned node)
{
    struct sim_spread *spread = &part->spread;
    int64_t since_ns = sim_reach_since(oracle, live->process, node);
    enum place place = place_at(oracle, part, node);
    if (place != COULD || since_ns > spread->renewed_ns ||
        spread->others_ns[node] > spread->renewed_ns) {
        spread->n_rounds[node] = 0;
        return;
    }
    if (spread->n_rounds[node]++ == 0) {
        spread->first_ns[node] = spread->renewed_ns;
    }
}

static void check(struct sim_oracle *oracle, const struct sim_live *live,
                  const struct sim_part *part, unsigned node)
{
    const struct sim_spread *spread = &part->spread;
    int64_t had_ns = oracle->world->now_ns - spread->first_ns[node];
    if (spread->n_rounds[node] >= ROUNDS &&
        had_ns > 2 * sim_reach_way_ns(oracle->world)) {
        sim_oracle_breach(oracle, SIM_SPREAD,
                          "p%d has renewed \"%s\" with fence %" PRIu64
                          " %u times since %.3f ms, but n%u does not have it",
                          live->process + 1, part->chain->text, part->fence,
                          (unsigned)spread->n_rounds[node],
                          (double)spread->first_ns[node] / 1e6, node + 1);
    }
}

void sim_spread_look(struct sim_oracle *oracle, const struct sim_live *live,
                     struct sim_part *part)
{
    const struct hf_lease *lease = hf_lock_lease_const(part->lock);
    struct sim_spread *spread = &part->spread;
    if (hf_lease_phase(lease) != HF_PHASE_HOLDING || part->lock->is_shared ||
        hf_lease_confirmed(lease).ns <= spread->confirmed_ns) {
        return;
    }
    spread->confirmed_ns = hf_lease_confirmed(lease).ns;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        count_round(oracle, live, part, i);
        check(oracle, live, part, i);
    }
    spread->renewed_ns = oracle->world->now_ns;
}

void sim_spread_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node)
{
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        struct sim_live *live = &oracle->live[i];
        for (unsigned j = 0; j < live->n_parts; j++) {
            struct sim_part *part = &live->parts[j];
            size_t len;
            const char *text =
                part->chain == chain
                    ? sim_owner_at(oracle, chain, (unsigned)node, &len)
                    : NULL;
            if (text != NULL && !is_mine(part, text, len)) {
                part->spread.others_ns[node] = oracle->world->now_ns;
            }
        }
    }
}
