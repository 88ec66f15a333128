/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH GUARANTEES HOLD UNDER WHICH FAULTS: docs/guarantees.md as a table. A
 * breach of what is not promised is only counted, so a row that promises too
 * little shows in the counts of a batch (`hfsim` prints them), and one that
 * promises too much as a breach. Cost: one look into the table a breach. */
#include "oracle/oracle.h"
#include "oracle/order.h"

#include "base/assert.h"

/* N: a breach is only counted. Y: promised. L ("later"): promised once every
 * node's clock floor is above all fences granted before the last loss of data,
 * and all leases and requests from before are over. */
enum promise { N, Y, L };

/* clang-format off */
static const uint8_t promises[SIM_REGIMES][SIM_PERIOD] = {
    /*                       |  |  |  |  |  |  |  |  |  |  |  ANSWER
     *                       |  |  |  |  |  |  |  |  |  |  ONCE
     *                       |  |  |  |  |  |  |  |  |  RESIDUE
     *                       |  |  |  |  |  |  |  |  LIVE
     *                       |  |  |  |  |  |  |  FIFO
     *                       |  |  |  |  |  |  PERMITS
     *                       |  |  |  |  |  GUARD
     *                       |  |  |  |  C4
     *                       |  |  |  E1
     *                       |  |  C3
     *                       |  C2
     *                       C1 */
    [SIM_CALM]            = {Y, Y, Y, Y, Y, Y, Y, Y, Y, Y, Y, Y},
    [SIM_NETWORK]         = {Y, Y, Y, Y, Y, Y, Y, N, Y, Y, Y, Y},
    [SIM_RATES]           = {Y, Y, Y, Y, Y, Y, Y, N, Y, Y, Y, Y},
    [SIM_RESTART_DURABLE] = {Y, Y, Y, Y, Y, Y, Y, N, Y, Y, Y, Y},
    [SIM_AMNESIA]         = {Y, Y, Y, Y, Y, Y, Y, N, Y, Y, Y, Y},
    [SIM_FLOOR_ALONE]     = {Y, Y, Y, N, N, Y, N, N, Y, Y, Y, Y},
    [SIM_WILD_CLOCKS]     = {Y, Y, Y, Y, N, Y, N, N, Y, N, Y, Y},
    [SIM_AMNESIA_WILD]    = {N, N, N, N, N, N, N, N, Y, N, Y, Y},
    [SIM_FAILOVER]        = {N, N, N, N, N, N, N, N, Y, Y, Y, Y},
    [SIM_EVICT]           = {L, L, L, N, N, N, N, N, Y, Y, Y, Y},
    [SIM_FLUSH]           = {Y, Y, L, Y, Y, Y, Y, N, Y, Y, Y, Y},
    [SIM_BOOT_CLOCKS]     = {N, N, N, N, Y, N, Y, N, Y, N, Y, Y},
    [SIM_LOCAL]           = {Y, Y, Y, Y, Y, Y, Y, Y, Y, Y, Y, Y},
};
/* clang-format on */

#define IN(regime) (1U << (regime))
#define EVERYWHERE ((1U << SIM_REGIMES) - 1) /* a bit for each regime */

/* Where the fences of marked commands are in order, and locks are exclusive. */
#define WHERE_MEMORY_IS_KEPT                                                   \
    (IN(SIM_CALM) | IN(SIM_NETWORK) | IN(SIM_RATES) | IN(SIM_RESTART_DURABLE))
#define WHERE_C4_AND_ORDER                                                     \
    (WHERE_MEMORY_IS_KEPT | IN(SIM_AMNESIA) | IN(SIM_FLUSH))

/* The rules from PERIOD on: those for one kind of turn, and those about time.
 */
static const uint16_t promised_in[SIM_RULES] = {
    [SIM_PERIOD] = WHERE_C4_AND_ORDER | IN(SIM_LOCAL),
    [SIM_RESERVE] = WHERE_C4_AND_ORDER | IN(SIM_LOCAL),
    [SIM_BREAK] = WHERE_MEMORY_IS_KEPT | IN(SIM_LOCAL),
    /* A server that a promotion replaced replies too; it is not observed. */
    [SIM_READ] = EVERYWHERE & ~IN(SIM_FAILOVER),
    [SIM_FOREIGN] = WHERE_MEMORY_IS_KEPT,
    /* It depends on time, not on the nodes' data. */
    [SIM_PROMPT] = EVERYWHERE,
    /* An embedded store has no second node. */
    [SIM_SPREAD] = EVERYWHERE & ~IN(SIM_LOCAL),
    [SIM_RISK] = EVERYWHERE,
};

static enum promise promise_of(enum sim_rule rule, enum sim_regime regime)
{
    if (rule < SIM_PERIOD) {
        return (enum promise)promises[regime][rule];
    }
    HF_ASSERT(rule < SIM_RULES);
    return (promised_in[rule] & IN(regime)) != 0 ? Y : N;
}

static const char *const names[SIM_RULES] = {
    [SIM_C1] = "C1",           [SIM_C2] = "C2",
    [SIM_C3] = "C3",           [SIM_E1] = "E1",
    [SIM_C4] = "C4",           [SIM_GUARD] = "GUARD",
    [SIM_PERMITS] = "PERMITS", [SIM_FIFO] = "FIFO",
    [SIM_LIVE] = "LIVE",       [SIM_RESIDUE] = "RESIDUE",
    [SIM_ONCE] = "ONCE",       [SIM_ANSWER] = "ANSWER",
    [SIM_PERIOD] = "PERIOD",   [SIM_RESERVE] = "RESERVE",
    [SIM_BREAK] = "BREAK",     [SIM_READ] = "READ",
    [SIM_FOREIGN] = "FOREIGN", [SIM_PROMPT] = "PROMPT",
    [SIM_SPREAD] = "SPREAD",   [SIM_RISK] = "RISK",
};

const char *sim_rule_name(enum sim_rule rule)
{
    return names[rule];
}

bool sim_rule_is_promised(enum sim_rule rule, enum sim_regime regime)
{
    return promise_of(rule, regime) != N;
}

static bool is_of_fences(enum sim_rule rule)
{
    return rule == SIM_C1 || rule == SIM_C2 || rule == SIM_C3 ||
           rule == SIM_E1 || rule == SIM_GUARD;
}

/* An embedded store loses its data when its host restarts. */
static bool has_reboot(const struct sim_story *story)
{
    for (unsigned i = 0; i < story->n_faults; i++) {
        if (story->faults[i].kind == SIM_FAULT_REBOOT) {
            return true;
        }
    }
    return false;
}

/* No data was lost, or so long ago that all leases from before are over. */
static bool is_later(const struct sim_oracle *oracle)
{
    return oracle->forgot_ns < 0 ||
           oracle->world->now_ns - oracle->forgot_ns > oracle->later_ns;
}

bool sim_oracle_promises(const struct sim_oracle *oracle, enum sim_rule rule)
{
    const struct sim_story *story = oracle->world->story;
    bool needs_memory = rule < SIM_LIVE || rule == SIM_PERIOD ||
                        rule == SIM_RESERVE || rule == SIM_BREAK ||
                        rule == SIM_FOREIGN;
    if (story->regime == SIM_AMNESIA && !story->has_quarantine &&
        needs_memory) {
        return false;
    }
    if (rule == SIM_FOREIGN && !is_later(oracle)) {
        return false; /* an unsynced write of a durable server is lost, too */
    }
    if (rule == SIM_RESERVE && story->regime == SIM_LOCAL &&
        has_reboot(story)) {
        return false;
    }
    if (rule == SIM_FIFO && !sim_order_is_total(story)) {
        return false; /* the nodes' clocks decide the order then */
    }
    if (rule == SIM_FIFO && story->regime == SIM_LOCAL &&
        (story->n_faults > 0 || story->late_ppm > 0)) {
        return false; /* as in all regimes with faults */
    }
    if (is_of_fences(rule) && oracle->has_expired) {
        return false;
    }
    if (promise_of(rule, story->regime) == L) {
        return is_later(oracle);
    }
    return promise_of(rule, story->regime) == Y;
}
