/* SPDX-License-Identifier: Apache-2.0 */
/* COUNTERS AT THE NODES. The oracle reads the counter of a name after each
 * script on it: it never decreases (I1), and each value of it belongs to one
 * owner, or one group of sharers (I2). Since it only rises, I2 needs the owner
 * of the present value alone. A node that lost its data may start at any value;
 * but the values that it grants then must be above the greatest that it had
 * before, or belong to the same owner. A counter that expired is treated in the
 * same way. */
#include "oracle/calls.h"
#include "oracle/chain.h"
#include "oracle/once.h"
#include "oracle/order.h"
#include "oracle/prompt.h"
#include "oracle/residue.h"
#include "oracle/spread.h"

#include "redis/redis.h"

#include "base/assert.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Indexes in the words of EVALSHA, hash, number of keys, keys, arguments. */
#define LOCK_KEY 3
#define FENCE_KEY 4
#define OWNER 10

/* Arguments of CONFIRM: T, and "1" if a holder sends it. */
#define FENCE_ARG 12
#define HOLDER_ARG 15

#define PREFIX "lock:"

/* In the low bits of a digest, since the owner's text is not kept. */
enum { IS_SOMEBODY = 1, IS_SHARED = 2 };

static uint64_t digest(const char *owner, size_t len)
{
    static const char shared[] = "shared:";
    size_t n = sizeof(shared) - 1;
    bool is_shared = len >= n && memcmp(owner, shared, n) == 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum = (sum ^ (unsigned char)owner[i]) * UINT64_C(0x100000001b3);
    }
    return sum << 2 | (is_shared ? IS_SHARED : 0) | (len > 0 ? IS_SOMEBODY : 0);
}

/* Read "0000000000000017 owner". @return false: the text is no fence. */
static bool read_fence(const char *text, size_t len, uint64_t *counter,
                       uint64_t *owner)
{
    *counter = 0;
    for (size_t i = 0; i < 16; i++) {
        if (i >= len || text[i] < '0' || text[i] > '9') {
            return false;
        }
        *counter = *counter * 10 + (uint64_t)(text[i] - '0');
    }
    *owner = len > 17 ? digest(text + 17, len - 17) : 0;
    return true;
}

/* A holder's CONFIRM restores its fence at a node that lost its data: that is
 * no new grant. */
static bool is_repair(const struct sim_run *run, uint64_t counter)
{
    return strcmp(run->script, "confirm") == 0 && run->argc > HOLDER_ARG &&
           run->argv[HOLDER_ARG].len == 1 &&
           run->argv[HOLDER_ARG].data[0] == '1' &&
           strtoull(run->argv[FENCE_ARG].data, NULL, 10) == counter;
}

/* C3 orders acquisitions that completed. The counter that the node lost may
 * have been granted to an attempt that never completed, at a value above the
 * clock floor of that time: the node's clock was ahead, or two attempts came
 * within one step of the floor. A holder with a smaller fence then repairs the
 * node, also in quarantine, where the repair is no vote. Only such a repair may
 * be below the lost value: if no acquisition completed at a value in between,
 * and the fence is not below the floor. Sharers have no order among themselves.
 */
static bool is_in_order(const struct sim_chain *chain,
                        const struct sim_run *run, const struct sim_seen *seen,
                        uint64_t now_us)
{
    uint64_t counter = seen->counter;
    bool is_below_floor = counter >> HF_FLOOR_BITS < now_us >> HF_FLOOR_BITS;
    const struct sim_pair *next = sim_series_from(&chain->fences, counter + 1);
    const struct sim_pair *end =
        next == NULL ? NULL : chain->fences.pairs + chain->fences.n;
    while (next < end && next->key <= seen->lost) {
        if ((seen->owner & IS_SHARED) == 0 || (next->value & 1) == 0) {
            return false;
        }
        next++;
    }
    return run != NULL && is_repair(run, counter) && !is_below_floor;
}

/* The node has granted the name since it lost its data: check C3. (A RELEASE
 * and a BREAK leave a fence without a grant. Each of several sharers may
 * restore its own fence.) */
static void check_lost(struct sim_oracle *oracle, const struct sim_chain *chain,
                       int node, const struct sim_run *run)
{
    const struct sim_seen *seen = &chain->nodes[node];
    uint64_t counter = seen->counter;
    uint64_t now_us =
        (uint64_t)sim_redis_clock(oracle->world->nodes[node].redis);
    bool is_same = (counter == seen->lost && seen->owner == seen->lost_owner) ||
                   (seen->owner & seen->lost_owner & IS_SHARED) != 0;
    bool is_break = run != NULL && strcmp(run->script, "break") == 0;
    if (seen->owner != 0 && counter <= seen->lost && !is_same && !is_break &&
        !is_in_order(chain, run, seen, now_us)) {
        sim_oracle_breach(oracle, SIM_C3,
                          "n%d, which lost the value %" PRIu64
                          " of \"%s\", gave %" PRIu64 " after it",
                          node + 1, seen->lost, chain->text, counter);
    }
}

/* @return whether the counter has changed. */
static bool check_counter(struct sim_oracle *oracle, struct sim_chain *chain,
                          int node, uint64_t counter, uint64_t owner)
{
    bool is_known = chain->nodes[node].is_known;
    uint64_t before = is_known ? chain->nodes[node].counter : 0;
    if (counter < before) {
        sim_oracle_breach(oracle, SIM_C3,
                          "the counter of \"%s\" at n%d fell from %" PRIu64
                          " to %" PRIu64,
                          chain->text, node + 1, before, counter);
    } else if (is_known && counter == before && owner != 0 &&
               owner != chain->nodes[node].owner) {
        sim_oracle_breach(oracle, SIM_C3,
                          "value %" PRIu64 " of \"%s\" at n%d was given to "
                          "another owner",
                          counter, chain->text, node + 1);
    }
    bool is_other = !is_known || counter != before;
    if (is_other) {
        chain->nodes[node].counter = counter;
        chain->nodes[node].owner = owner;
    }
    chain->nodes[node].is_known = true;
    return is_other;
}

void sim_oracle_counter(struct sim_oracle *oracle, const char *name, size_t len,
                        uint64_t counter, const char *owner, size_t owner_len)
{
    struct sim_chain *chain = sim_oracle_chain(oracle, name, len);
    HF_ASSERT(chain != NULL);
    uint64_t before = chain->nodes[0].counter;
    if (check_counter(oracle, chain, 0, counter, digest(owner, owner_len))) {
        check_lost(oracle, chain, 0, NULL);
    }
    if (counter > before) {
        sim_order_moved(oracle, chain, counter, NULL);
    }
}

static bool counter_at(const struct sim_oracle *oracle,
                       const struct sim_chain *chain, int node,
                       uint64_t *counter, uint64_t *owner)
{
    size_t len;
    const char *text = sim_redis_get(oracle->world->nodes[node].redis,
                                     chain->key, strlen(chain->key), &len);
    return text != NULL && read_fence(text, len, counter, owner);
}

void sim_oracle_node(struct sim_oracle *oracle, int node,
                     const struct sim_run *run)
{
    size_t prefix = sizeof(PREFIX) - 1;
    if (run->argc <= FENCE_KEY || run->argv[LOCK_KEY].len <= prefix ||
        memcmp(run->argv[LOCK_KEY].data, PREFIX, prefix) != 0) {
        return;
    }
    struct sim_chain *chain =
        sim_oracle_chain(oracle, run->argv[LOCK_KEY].data + prefix,
                         run->argv[LOCK_KEY].len - prefix);
    if (chain == NULL) {
        return;
    }
    const struct sim_arg *key = &run->argv[FENCE_KEY];
    uint64_t counter;
    uint64_t owner;
    HF_ASSERT(key->len < sizeof(chain->key));
    memcpy(chain->key, key->data, key->len);
    if (counter_at(oracle, chain, node, &counter, &owner)) {
        uint64_t before = chain->nodes[node].counter;
        if (check_counter(oracle, chain, node, counter, owner)) {
            check_lost(oracle, chain, node, run);
        }
        if (counter > before) {
            sim_order_moved(oracle, chain, counter, run);
        }
    }
    sim_order_asked(oracle, chain, node, run);
    sim_owner_ran(oracle, chain, node, run);
    sim_spread_ran(oracle, chain, node);
    if (run->argc > OWNER) {
        sim_prompt_ran(oracle, chain, node, &run->argv[OWNER]);
    }
}

void sim_oracle_asked(struct sim_oracle *oracle, int node,
                      const struct sim_run *run)
{
    size_t prefix = sizeof(PREFIX) - 1;
    const struct sim_arg *key = &run->argv[LOCK_KEY];
    struct sim_chain *chain =
        key->len <= prefix
            ? NULL
            : sim_oracle_chain(oracle, key->data + prefix, key->len - prefix);
    if (chain != NULL && run->argv[OWNER].len > 0) {
        sim_owner_ran(oracle, chain, node, run);
        sim_prompt_ran(oracle, chain, node, &run->argv[OWNER]);
    }
    if (chain != NULL && strcmp(run->script, "break") == 0) {
        sim_prompt_kept(oracle, &run->argv[OWNER]);
    }
}

static void forget(const struct sim_oracle *oracle, struct sim_chain *chain,
                   int node)
{
    struct sim_seen *seen = &chain->nodes[node];
    if (seen->counter > seen->lost) {
        seen->lost = seen->counter;
        seen->lost_owner = seen->owner;
    }
    seen->is_known =
        counter_at(oracle, chain, node, &seen->counter, &seen->owner);
    if (!seen->is_known) {
        seen->counter = 0;
    }
}

/* Later counters are judged as at a node that lost its data. */
void sim_oracle_counter_gone(struct sim_oracle *oracle, const char *name)
{
    struct sim_chain *chain = sim_oracle_chain(oracle, name, strlen(name));
    struct sim_seen *seen = &chain->nodes[0];
    if (seen->counter > seen->lost) {
        seen->lost = seen->counter;
        seen->lost_owner = seen->owner;
    }
    seen->is_known = false;
    seen->counter = 0;
}

void sim_oracle_node_forgot(struct sim_oracle *oracle, int node)
{
    oracle->forgot_ns = oracle->world->now_ns;
    sim_once_forgot(oracle, node);
    sim_calls_forgot(oracle, node);
    sim_owner_forgot(oracle, node);
    for (unsigned name = 0; name < SIM_NAMES_MAX; name++) {
        for (unsigned slot = 0; slot <= SIM_SLOTS_MAX; slot++) {
            struct sim_chain *chain = oracle->chains[name][slot];
            if (chain != NULL) {
                forget(oracle, chain, node);
            }
        }
    }
}
