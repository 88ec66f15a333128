/* SPDX-License-Identifier: Apache-2.0 */
/* DRAWING A STORY: its processes, nodes and turns.
 *
 * Swarm testing: each seed leaves out most of the possible kinds of turns and
 * faults, so that those left occur often enough to interact. All times are
 * relative to the lease: how long turns hold their locks, how long faults last
 * (draw_faults.c), and how long the faulty part of the story is. */
#include "story/story_parts.h"

#include "core/limits.h"

/* From here on a sweep tries more than one permit (client/multi_name.c). */
#define PERMITS_WIDE 8

/* The number of heartbeats in a story, of all waiters together, as far as that
 * allows three leases. It bounds what a run costs: 6 lanes and 3 nodes have
 * faults for 89 s at most with leases of 6 s or more, and for a twelfth of that
 * with leases of 0.5 s. */
#define BEATS 800

/* The length of a story without quarantine. A node may be down for a quarter of
 * it, 6 s, which is more than a step of the clock floor (4.2 s). */
#define FLOOR_ALONE_MS 24000

/* Streams of a seed; the world uses other ones. */
enum {
    STREAM_WORLD = 0x51010,
    STREAM_TURNS = 0x51020,
    STREAM_OUTLIERS = 0x51030,
    STREAM_CALLS = 0x51040, /* the next ones belong to the lanes */
    STREAM_HOSTS = 0x51080,
    STREAM_PERMITS = 0x51090
};

/* The offset of an outlier's clock: from an hour, with which nodes just agree
 * (sim_is_outlier()), to ten years. */
#define OUTLIER_MIN_NS (INT64_C(3600) * SIM_S)
#define OUTLIER_MAX_NS (INT64_C(10) * 365 * 86400 * SIM_S)

/* The parameters of the turns of one seed. All chances in percent. */
struct swarm {
    unsigned n_lanes; /* of each process */
    unsigned n_turns; /* of each lane */
    unsigned n_names;
    int64_t ttl_ms;
    bool mixes_ttl;
    int64_t think_ns, hold_ns; /* means */
    uint8_t n_permits[SIM_NAMES_MAX];
    int tries_percent, waits_percent, unfair_percent, shared_percent,
        many_percent, long_holds_percent, writes_percent;
    int blocking_percent, hands_on_percent, forsakes_percent, extends_percent,
        cancels_percent;
    int once_percent, withdraws_percent, reserves_percent, breaks_percent,
        breaks_now_percent, looks_percent, foreign_percent;
    int64_t period_ms;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* @return the index of the share that a draw falls into. */
static int weighted(struct sim_random *random, const int *shares, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += shares[i];
    }
    int64_t at = sim_draw_below(random, sum);
    int i = 0;
    while (at >= shares[i]) {
        at -= shares[i++];
    }
    return i;
}

/* ---- The world ----------------------------------------------------------- */

static const int regime_shares[SIM_REGIMES] = {
    [SIM_CALM] = 4,        [SIM_NETWORK] = 25,
    [SIM_RATES] = 19,      [SIM_RESTART_DURABLE] = 11,
    [SIM_AMNESIA] = 14,    [SIM_FLOOR_ALONE] = 5,
    [SIM_WILD_CLOCKS] = 7, [SIM_AMNESIA_WILD] = 3,
    [SIM_FAILOVER] = 4,    [SIM_EVICT] = 4,
    [SIM_FLUSH] = 6,       [SIM_BOOT_CLOCKS] = 6,
};

static bool loses_memory(enum sim_regime regime)
{
    return regime == SIM_AMNESIA || regime == SIM_FLOOR_ALONE ||
           regime == SIM_AMNESIA_WILD || regime == SIM_FAILOVER ||
           regime == SIM_EVICT || regime == SIM_FLUSH ||
           regime == SIM_BOOT_CLOCKS;
}

/* In regimes that lose data, half of the leases are longer than the shortest
 * quarantine: only these need a longer one. Much shorter leases would need too
 * many renewals and heartbeats in that time. */
static int64_t draw_ttl_ms(struct sim_random *random, enum sim_regime regime)
{
    if (loses_memory(regime) && sim_chance(random, 50)) {
        return sim_draw_between(random, HF_QUARANTINE_MS_MIN, 30000);
    }
    return sim_draw_log(random, loses_memory(regime) ? 500 : 50, 30000);
}

static void draw_network(struct sim_story *story, struct sim_random *random,
                         int64_t ttl_ms)
{
    int64_t slowest_ns = least(3 * SIM_MS, ttl_ms * SIM_MS / 40);
    story->delay_ns = sim_draw_log(random, 50000, slowest_ns) / 1000 * 1000;
    story->jitter_ns =
        sim_draw_log(random, 10000, 2 * story->delay_ns) / 1000 * 1000;
    int64_t trip_ms = 4 * (story->delay_ns + story->jitter_ns) / SIM_MS + 4;
    story->node_timeout_ms =
        sim_chance(random, 40)
            ? most(trip_ms, least(HF_NODE_TIMEOUT_MS_DEFAULT, ttl_ms / 3))
            : sim_draw_log(random, trip_ms, most(trip_ms, ttl_ms / 4));
    if (story->regime != SIM_CALM && sim_chance(random, 50)) {
        story->late_ppm = (unsigned)sim_draw_log(random, 100, 50000);
        story->late_ns = sim_draw_log(random, ttl_ms / 40, 2 * ttl_ms) * SIM_MS;
    }
    if (sim_chance(random, 40)) {
        story->shatter_ppm = (unsigned)sim_draw_log(random, 500, 300000);
    }
}

/* The rates of two clocks differ by less than 1%, which the allowance for drift
 * covers; half of the seeds have clocks near the ends of that range. */
static int draw_rate(struct sim_random *random, bool is_extreme)
{
    static const int most_ppm = 4500;
    return is_extreme ? (sim_chance(random, 50) ? most_ppm : -most_ppm)
                      : (int)sim_draw_between(random, -most_ppm, most_ppm);
}

static void draw_clocks(struct sim_story *story, struct sim_random *random)
{
    bool is_extreme = sim_chance(random, 50);
    bool has_rates = story->regime >= SIM_RATES;
    bool has_floor =
        loses_memory(story->regime) || story->regime == SIM_RESTART_DURABLE;
    int64_t wall_ns =
        has_floor ? SIM_S : sim_draw_log(random, SIM_MS, 5 * SIM_S);
    bool has_walls = sim_chance(random, 60);
    for (unsigned i = 0; has_rates && i < story->n_processes; i++) {
        story->rate_ppm[i] = draw_rate(random, is_extreme);
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        story->node_rate_ppm[i] = has_rates ? draw_rate(random, is_extreme) : 0;
        story->node_wall_ns[i] =
            has_walls
                ? sim_draw_between(random, -wall_ns, wall_ns) / SIM_MS * SIM_MS
                : 0;
    }
}

/* The clocks of a minority are off by hours, or by years. Only in regimes that
 * keep data: after a loss, the order of fences depends on the clocks. */
static void draw_outliers(struct sim_story *story)
{
    struct sim_random random = sim_random_of(story->seed, STREAM_OUTLIERS);
    bool may = story->regime == SIM_RATES || story->regime == SIM_WILD_CLOCKS;
    int64_t n = (story->n_nodes - 1) / 2;
    if (!may || !sim_chance(&random, 40)) {
        return;
    }
    n = n <= 1 ? 1 : sim_draw_between(&random, 1, n);
    for (unsigned at = (unsigned)sim_draw_below(&random, story->n_nodes); n > 0;
         n--) {
        int64_t off_ns = sim_draw_log(&random, OUTLIER_MIN_NS, OUTLIER_MAX_NS) /
                         SIM_MS * SIM_MS;
        story->node_wall_ns[at] = sim_chance(&random, 60) ? off_ns : -off_ns;
        at = (at + 1) % story->n_nodes;
    }
}

/* Some processes share a host; some are commands, which keep no state from one
 * turn to the next. */
static void draw_hosts(struct sim_story *story)
{
    struct sim_random random = sim_random_of(story->seed, STREAM_HOSTS);
    int shares = sim_chance(&random, 40) ? 60 : 0;
    int brief = sim_chance(&random, loses_memory(story->regime) ? 50 : 20)
                    ? (int)sim_draw_between(&random, 30, 100)
                    : 0;
    for (unsigned i = 0; i < story->n_processes; i++) {
        if (i > 0 && sim_chance(&random, shares)) {
            int64_t other = sim_draw_below(&random, i);
            uint8_t host = story->host_of[other];
            story->host_of[i] = host != 0 ? host : (uint8_t)(other + 1);
        }
        if (sim_chance(&random, brief)) {
            story->brief |= (uint8_t)(1U << i);
        }
    }
}

/* ---- Turns --------------------------------------------------------------- */

static int sometimes(struct sim_random *random, int seeds, int turns)
{
    return sim_chance(random, seeds) ? turns : 0;
}

static void draw_modes(struct sim_story *story, struct swarm *swarm,
                       struct sim_random *random)
{
    swarm->tries_percent = sometimes(random, 40, 15);
    swarm->waits_percent = sometimes(random, 50, 30);
    swarm->unfair_percent = story->queues ? sometimes(random, 30, 25) : 60;
    swarm->shared_percent = sometimes(random, 45, 60);
    swarm->many_percent = swarm->n_names > 1 ? sometimes(random, 40, 40) : 0;
    swarm->long_holds_percent = sometimes(random, 60, 10);
    swarm->writes_percent = sometimes(random, 70, 60);
    swarm->blocking_percent = sometimes(random, 35, 50);
    swarm->hands_on_percent = sometimes(random, 20, 20);
    swarm->forsakes_percent = sometimes(random, 10, 3);
    swarm->extends_percent = sometimes(random, swarm->mixes_ttl ? 70 : 30, 40);
    swarm->cancels_percent = sometimes(random, 35, 15);
    for (unsigned i = 0; i < swarm->n_names; i++) {
        swarm->n_permits[i] = sim_chance(random, 18)
                                  ? (uint8_t)sim_draw_between(random, 1, 3)
                                  : 0;
    }
}

/* A quarter of the semaphores are wide. */
static void draw_wide(const struct sim_story *story, struct swarm *swarm)
{
    struct sim_random random = sim_random_of(story->seed, STREAM_PERMITS);
    for (unsigned i = 0; i < swarm->n_names; i++) {
        if (swarm->n_permits[i] > 0 && sim_chance(&random, 25)) {
            swarm->n_permits[i] =
                (uint8_t)sim_draw_between(&random, PERMITS_WIDE, SIM_SLOTS_MAX);
        }
    }
}

/* A break takes a name from all sharers or holders of permits, but the oracles
 * judge breaks of a single holder: others are not drawn. */
static bool is_held_alone(const struct swarm *swarm)
{
    unsigned permits = 0;
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        permits += swarm->n_permits[i];
    }
    return permits == 0 && swarm->shared_percent == 0;
}

/* Some seeds have other calls than acquisitions. Without faults no lock is
 * broken. Other libraries do not use the embedded store. */
static void draw_calls(const struct sim_story *story, struct swarm *swarm)
{
    struct sim_random random = sim_random_of(story->seed, STREAM_CALLS);
    int64_t calm_ms = story->calm_ns / SIM_MS;
    if (story->regime == SIM_LOCAL && story->seed % 2 != 0) {
        return; /* half of the seeds have only locks; some faults need that */
    }
    swarm->once_percent = sometimes(&random, 30, 60);
    swarm->withdraws_percent = sometimes(&random, 50, 30);
    swarm->reserves_percent = sometimes(&random, 20, 25);
    swarm->breaks_percent = sometimes(&random, 15, 5);
    swarm->looks_percent = sometimes(&random, 20, 8);
    swarm->foreign_percent = sometimes(&random, 15, 20);
    swarm->period_ms = sim_draw_log(&random, most(50, swarm->ttl_ms / 2),
                                    most(2 * swarm->ttl_ms, 2 * calm_ms));
    swarm->breaks_now_percent = sometimes(&random, 50, 50);
    if (story->regime == SIM_LOCAL) {
        swarm->foreign_percent = 0;
    }
    if (story->regime == SIM_CALM || !is_held_alone(swarm)) {
        swarm->breaks_percent = 0;
    }
}

static void draw_call(const struct swarm *swarm, struct sim_turn *turn,
                      struct sim_random *random)
{
    bool is_alone = turn->n_permits == 0 && !turn->is_shared && !turn->hands_on;
    bool is_one = (turn->names & (turn->names - 1)) == 0;
    if (is_alone && sim_chance(random, swarm->once_percent)) {
        turn->period_ms = swarm->period_ms;
        turn->withdraws = sim_chance(random, swarm->withdraws_percent);
    }
    if (is_alone && sim_chance(random, swarm->reserves_percent)) {
        turn->reserve_ms =
            sim_draw_log(random, most(2, turn->ttl_ms / 20), turn->ttl_ms);
    }
    if (is_one && sim_chance(random, swarm->breaks_percent)) {
        bool is_now = swarm->breaks_now_percent > 0 &&
                      sim_chance(random, swarm->breaks_now_percent);
        turn->kind = is_now ? SIM_TURN_BREAK_NOW : SIM_TURN_BREAK;
    } else if (is_one && sim_chance(random, swarm->looks_percent)) {
        turn->kind = SIM_TURN_LOOK;
    } else if (is_one && is_alone &&
               sim_chance(random, swarm->foreign_percent)) {
        turn->kind = SIM_TURN_FOREIGN;
    }
}

/* The length of the faulty part: some leases, and in regimes that lose data
 * some quarantines. It is bounded by the cost of the heartbeats, which each
 * waiter sends to every node every third of a place's lease. */
static int64_t draw_period(const struct sim_story *story,
                           const struct swarm *swarm, struct sim_random *random)
{
    int64_t ttl_ms = swarm->ttl_ms;
    int64_t lanes = story->n_processes * swarm->n_lanes;
    int64_t beat_ms = least(ttl_ms, 6000) / 3;
    int64_t most_ms =
        most(3 * ttl_ms, BEATS * beat_ms / (lanes * story->n_nodes));
    int64_t ms = least(most_ms, sim_draw_log(random, 3 * ttl_ms, 24 * ttl_ms));
    if (loses_memory(story->regime)) {
        int64_t once_ms = most(ttl_ms, story->regime == SIM_FLOOR_ALONE
                                           ? FLOOR_ALONE_MS
                                           : HF_QUARANTINE_MS_MIN);
        ms = most(ms, once_ms * sim_draw_between(random, 15, 30) / 10);
    }
    return most(ms, 400) * SIM_MS;
}

/* Choose the number of turns, less with more nodes, since each turn then costs
 * more. Hold and think times are such that the lanes want `load` percent of the
 * names' time. */
static void draw_pace(struct sim_story *story, struct swarm *swarm,
                      struct sim_random *random)
{
    int64_t turns =
        sim_draw_between(random, 60, 220) * 2 / (story->n_nodes + 1);
    unsigned lanes = story->n_processes * swarm->n_lanes;
    swarm->n_turns = (unsigned)least(40, most(5, turns / lanes));
    story->calm_ns = draw_period(story, swarm, random);
    int64_t cycle_ns = story->calm_ns / swarm->n_turns;
    int64_t load_percent = sim_draw_log(random, 20, 200);
    int64_t share_percent = least(90, load_percent * swarm->n_names / lanes);
    swarm->hold_ns = cycle_ns * share_percent / 100;
    swarm->think_ns = cycle_ns - swarm->hold_ns;
}

static int64_t draw_hold(const struct swarm *swarm, struct sim_random *random)
{
    if (sim_chance(random, swarm->long_holds_percent)) {
        return sim_draw_below(random, swarm->ttl_ms * SIM_MS * 8 / 5) / 1000 *
               1000;
    }
    return sim_draw_below(random, 2 * swarm->hold_ns + 1) / 1000 * 1000;
}

static void draw_what(const struct swarm *swarm, struct sim_turn *turn,
                      struct sim_random *random)
{
    int64_t name = least(sim_draw_below(random, swarm->n_names),
                         sim_draw_below(random, swarm->n_names));
    turn->names = (uint8_t)(1U << name);
    turn->n_permits = sim_chance(random, 95) ? swarm->n_permits[name] : 0;
    if (turn->n_permits == 0) {
        turn->is_shared = sim_chance(random, swarm->shared_percent);
        turn->hands_on = sim_chance(random, swarm->hands_on_percent);
    }
    if (turn->n_permits == 0 && sim_chance(random, swarm->many_percent)) {
        turn->names = (uint8_t)sim_draw_between(
            random, 1, (INT64_C(1) << swarm->n_names) - 1);
        turn->hands_on = false;
        for (unsigned i = 0; i < swarm->n_names; i++) {
            if (swarm->n_permits[i] > 0) {
                turn->names &= (uint8_t) ~(1U << i);
            }
        }
        if (turn->names == 0) {
            turn->names = (uint8_t)(1U << name);
        }
    }
}

static void draw_turn(const struct sim_story *story, const struct swarm *swarm,
                      struct sim_turn *turn, struct sim_random *random)
{
    int64_t ttl_ms = swarm->ttl_ms;
    draw_what(swarm, turn, random);
    turn->ttl_ms = swarm->mixes_ttl
                       ? sim_draw_between(random, ttl_ms / 4, ttl_ms)
                       : ttl_ms;
    turn->think_ns =
        sim_draw_below(random, 2 * swarm->think_ns + 1) / 1000 * 1000;
    turn->hold_ns = draw_hold(swarm, random);
    turn->wait_ms = -1;
    turn->is_unfair = sim_chance(random, swarm->unfair_percent);
    if (sim_chance(random, swarm->tries_percent) ||
        (!story->queues && !turn->is_unfair)) {
        turn->wait_ms = 0;
    } else if (sim_chance(random, swarm->waits_percent)) {
        turn->wait_ms = sim_draw_log(random, most(5, ttl_ms / 10), 3 * ttl_ms);
    }
    turn->is_blocking = sim_chance(random, swarm->blocking_percent);
    if (sim_chance(random, swarm->cancels_percent)) {
        turn->cancel_ns =
            sim_draw_log(random, 100000, ttl_ms * SIM_MS) / 1000 * 1000;
    }
    turn->n_extends = sim_chance(random, swarm->extends_percent)
                          ? (uint8_t)sim_draw_between(random, 1, 3)
                          : 0;
    turn->n_writes =
        !turn->is_shared && sim_chance(random, swarm->writes_percent)
            ? (uint8_t)sim_draw_between(random, 1, 3)
            : 0;
    turn->forsakes =
        !turn->hands_on && sim_chance(random, swarm->forsakes_percent);
}

static void draw_turns(struct sim_story *story, struct swarm *swarm)
{
    struct sim_random all = sim_random_of(story->seed, STREAM_TURNS);
    draw_modes(story, swarm, &all);
    draw_wide(story, swarm);
    draw_pace(story, swarm, &all);
    draw_calls(story, swarm);
    for (unsigned p = 0; p < story->n_processes; p++) {
        for (unsigned lane = 0; lane < swarm->n_lanes; lane++) {
            unsigned at = p * SIM_LANES_MAX + lane;
            struct sim_random random =
                sim_random_of(story->seed, STREAM_TURNS + 1 + at);
            struct sim_random calls =
                sim_random_of(story->seed, STREAM_CALLS + 1 + at);
            for (unsigned i = 0; i < swarm->n_turns; i++) {
                struct sim_turn turn = {.process = (uint8_t)p,
                                        .lane = (uint8_t)lane};
                draw_turn(story, swarm, &turn, &random);
                draw_call(swarm, &turn, &calls);
                sim_story_add_turn(story, &turn);
            }
        }
    }
}

void sim_story_draw(struct sim_story *story, uint64_t seed, int regime)
{
    static const int node_shares[] = {30, 36, 34};
    struct sim_random random = sim_random_of(seed, STREAM_WORLD);
    struct swarm swarm = {0};
    *story = (struct sim_story){.seed = seed, .has_quarantine = true};
    int drawn = weighted(&random, regime_shares, SIM_REGIMES);
    story->regime = (enum sim_regime)(regime < 0 ? drawn : regime);
    story->n_nodes = 1 + 2 * (unsigned)weighted(&random, node_shares, 3);
    if (story->regime == SIM_LOCAL) {
        story->is_local = true;
        story->n_nodes = 1;
        story->has_quarantine = false;
    }
    story->n_processes = (unsigned)sim_draw_between(&random, 2, 6);
    swarm.n_lanes = sim_chance(&random, 60)
                        ? 1
                        : (unsigned)sim_draw_between(&random, 2, SIM_LANES_MAX);
    swarm.n_names =
        (unsigned)least(sim_draw_between(&random, 1, SIM_NAMES_MAX),
                        sim_draw_between(&random, 1, SIM_NAMES_MAX));
    swarm.ttl_ms = draw_ttl_ms(&random, story->regime);
    swarm.mixes_ttl = sim_chance(&random, 30);
    story->max_ttl_ms = swarm.ttl_ms;
    story->queues = sim_chance(&random, 75);
    bool may_lack_it =
        story->regime == SIM_FAILOVER || story->regime == SIM_AMNESIA_WILD;
    if (story->regime == SIM_FLOOR_ALONE ||
        (may_lack_it && sim_chance(&random, 25))) {
        story->has_quarantine = false;
    }
    draw_network(story, &random, swarm.ttl_ms);
    draw_clocks(story, &random);
    draw_outliers(story);
    draw_hosts(story);
    draw_turns(story, &swarm);
    if (story->regime != SIM_CALM) {
        sim_faults_draw(story, swarm.ttl_ms * SIM_MS);
    }
}
