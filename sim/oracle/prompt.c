/* SPDX-License-Identifier: Apache-2.0 */
/* PROMPT: A FREE NAME IS GRANTED SOON. Names that one turn wants together form
 * a group. While no name of a group is held, and the clients that want one of
 * them are connected to a majority, some client must be granted its names
 * within
 *
 *     1 s + 40 ways (a way: the delay of one message)
 *
 * A hand-over takes one way, a split vote some round trips, and a client that
 * does not queue polls every 0.5 s: this bound contains no lease. (The bound of
 * LIVE, which counts leases, is 110 s in the median.)
 *
 * The time runs in the regime `calm`, and after the last fault. It runs only
 * while, at a majority of the nodes, the name is not taken by an owner that may
 * never release it: an owner from before the faults ended, one that crashed or
 * was handed on, or one whose request came on a connection that its client had
 * closed. Waiters find the end of a reservation, and of such an owner's lease,
 * by their next heartbeat. The time does not run while a client of another
 * library has the name, since it publishes no release.
 *
 * In the embedded store the end of a process frees its locks, and a waiter's
 * heartbeat finds that: the time runs also during faults, unless a process is
 * paused, perhaps inside the gate, or the disk is full. */
#include "oracle/prompt.h"

#include "oracle/calls.h"
#include "oracle/disturbed.h"
#include "oracle/ground_truth.h"
#include "oracle/residue.h"

#include "base/assert.h"
#include "local/machine.h"
#include "redis/redis.h"

#include <string.h>

/* Two polls, since the first may just have missed the release; and 40 ways,
 * which are 20 round trips: several split votes in a row. */
#define PAUSE_NS (1000 * SIM_MS)
#define WAYS 40

/* Between two heartbeats of a waiter, at most: a third of the
 * longest place in a queue, which lasts 6 s. */
#define HEARTBEAT_NS (2000 * SIM_MS)

int64_t sim_oracle_prompt_ns(const struct sim_story *story)
{
    HF_ASSERT(story->delay_ns >= 0 && story->jitter_ns >= 0);
    return PAUSE_NS + WAYS * (story->delay_ns + 2 * story->jitter_ns);
}

/* ---- Owners that are gone ---------------------------------------------- */

static bool is_local(const struct sim_oracle *oracle)
{
    return oracle->world->machine != NULL;
}

static bool has_faults(const struct sim_oracle *oracle)
{
    const struct sim_story *story = oracle->world->story;
    return is_local(oracle) ? story->n_faults > 0 || story->late_ppm > 0
                            : story->regime != SIM_CALM;
}

/* Not before messages from the time of the faults have arrived, and the places
 * of dead waiters are over: each may be granted the name once, in vain. */
static bool is_watching(const struct sim_oracle *oracle)
{
    return !has_faults(oracle) || is_local(oracle) ||
           (oracle->calm_ns >= 0 &&
            oracle->world->now_ns > oracle->calm_ns + oracle->set_back_ns +
                                        2 * SIM_CLAIM_NS_MAX +
                                        4 * sim_reach_way_ns(oracle->world));
}

static bool is_gone(const struct sim_oracle *oracle, uint64_t digest)
{
    const struct sim_pair *pair = sim_series_from(&oracle->gone, digest);
    return pair != NULL && pair->key == digest;
}

static void note_gone(struct sim_oracle *oracle, uint64_t digest)
{
    if (!is_gone(oracle, digest)) {
        sim_series_add(&oracle->gone, digest, 1);
    }
}

void sim_prompt_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node, const struct sim_arg *owner)
{
    size_t len;
    HF_ASSERT(node >= 0 && (unsigned)node < oracle->world->story->n_nodes);
    const char *text = sim_owner_at(oracle, chain, (unsigned)node, &len);
    if (!is_watching(oracle) && text != NULL) {
        note_gone(oracle, sim_owner_digest(text, len));
    }
    if (oracle->world->nodes[node].is_unheard) {
        note_gone(oracle, sim_owner_digest(owner->data, owner->len));
    }
    sim_prompt_look(oracle);
}

/* A command whose release failed (the gate was shut, or the disk full) does not
 * retry it. In a real embedded store the end of its process frees the name;
 * here the process continues with its next turn. */
static bool is_command(const struct sim_oracle *oracle, int process)
{
    HF_ASSERT(process < SIM_PROCESSES_MAX); /* a bit of `brief` */
    return is_local(oracle) && process >= 0 &&
           (oracle->world->story->brief >> process & 1) != 0;
}

static bool is_of_command(const struct sim_oracle *oracle, const char *text,
                          size_t len)
{
    return is_command(oracle, sim_owner_process(text, len));
}

void sim_prompt_kept(struct sim_oracle *oracle, const struct sim_arg *owner)
{
    note_gone(oracle, sim_owner_digest(owner->data, owner->len));
}

/* In the embedded store the end of a process frees its locks, in whatever state
 * it was: sim_prompt_anew() then starts the time again. */
static bool has_ended(const struct sim_oracle *oracle,
                      const struct sim_live *live)
{
    const struct sim_process *process =
        &oracle->world->processes[live->process];
    return is_local(oracle) && process->is_crashing;
}

void sim_prompt_left(struct sim_oracle *oracle, const struct sim_live *live)
{
    if (has_ended(oracle, live) ||
        (live->is_released && !is_command(oracle, live->process))) {
        return;
    }
    HF_ASSERT(live->n_parts > 0);
    for (unsigned i = 0; i < live->n_parts; i++) {
        char text[HF_OWNER_MAX];
        size_t len = hf_lock_emit_owner(live->parts[i].lock, text);
        note_gone(oracle, sim_owner_digest(text, len));
    }
}

void sim_prompt_anew(struct sim_oracle *oracle)
{
    if (is_local(oracle)) {
        memset(oracle->free_ns, -1, sizeof(oracle->free_ns));
        sim_prompt_look(oracle);
    }
}

/* ---- Groups of names, and their waiters -------------------------------- */

static unsigned names_of(const struct sim_oracle *oracle,
                         const struct sim_live *live)
{
    HF_ASSERT(live->turn > 0 && live->turn <= oracle->n_records);
    return oracle->records[live->turn - 1].turn->names;
}

/* All names that are tied to these by turns which want several: the client that
 * waits for one of them may have to wait for the holder of any other. */
static unsigned group_of(const struct sim_oracle *oracle, unsigned names)
{
    HF_ASSERT(names != 0);
    for (unsigned before = 0; before != names;) {
        before = names;
        for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
            const struct sim_live *live = &oracle->live[i];
            if (live->turn != 0 && (names_of(oracle, live) & names) != 0) {
                names |= names_of(oracle, live);
            }
        }
    }
    return names;
}

static bool is_majority(const struct sim_oracle *oracle, unsigned mask)
{
    HF_ASSERT(mask >> oracle->world->story->n_nodes == 0);
    return 2U * (unsigned)__builtin_popcount(mask) >
           oracle->world->story->n_nodes;
}

/* Without outliers, which cannot agree with the others on a counter. */
static unsigned connected(struct sim_oracle *oracle,
                          const struct sim_live *live)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        int64_t since_ns = sim_reach_since(oracle, live->process, i);
        bool votes =
            since_ns < INT64_MAX && !sim_is_outlier(oracle->world->story, i);
        mask |= votes ? 1U << i : 0;
    }
    return mask;
}

/* In the embedded store each sharer is looked at: one that will not release is
 * enough. */
static bool has_gone_sharer(const struct sim_oracle *oracle,
                            const struct sim_chain *chain)
{
    uint64_t owner = 1;
    for (unsigned i = 0; is_local(oracle) && owner != 0; i++) {
        owner = sim_machine_sharer(oracle->world->machine, chain->text, i);
        if (owner != 0 && is_gone(oracle, owner)) {
            return true;
        }
    }
    return false;
}

/* An owner that is gone, or whose release may have failed, keeps the name until
 * its lease ends: the time does not run. */
static unsigned kept_nodes(struct sim_oracle *oracle,
                           const struct sim_chain *chain)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        size_t len;
        const char *text = sim_owner_at(oracle, chain, i, &len);
        bool is_kept =
            text != NULL && (is_gone(oracle, sim_owner_digest(text, len)) ||
                             has_gone_sharer(oracle, chain) ||
                             is_of_command(oracle, text, len));
        mask |= is_kept ? 1U << i : 0;
    }
    return mask;
}

/* A client of another library publishes no release, so waiters do not hear of
 * it. */
static unsigned own_nodes(const struct sim_oracle *oracle,
                          const struct sim_chain *chain)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        size_t len;
        const char *text = sim_owner_at(oracle, chain, i, &len);
        bool is_ours = text == NULL || sim_owner_process(text, len) >= 0 ||
                       strncmp(text, "shared:", 7) == 0;
        mask |= is_ours ? 1U << i : 0;
    }
    return mask;
}

static bool check_chain_open(struct sim_oracle *oracle, unsigned name,
                             const struct sim_chain *chain, unsigned nodes)
{
    unsigned kept = kept_nodes(oracle, chain);
    HF_ASSERT(name < SIM_NAMES_MAX);
    nodes &= own_nodes(oracle, chain);
    bool is_open = is_majority(oracle, nodes & ~kept);
    if (!is_open && is_majority(oracle, nodes)) {
        oracle->kept_ns[name] = oracle->world->now_ns;
    }
    return is_open;
}

static bool check_open(struct sim_oracle *oracle, unsigned names,
                       unsigned nodes)
{
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        for (unsigned j = 0; j <= SIM_SLOTS_MAX && (names >> i & 1) != 0; j++) {
            const struct sim_chain *chain = oracle->chains[i][j];
            if (chain != NULL && !check_chain_open(oracle, i, chain, nodes)) {
                return false;
            }
        }
    }
    return true;
}

/* Handed on, and not adopted yet. */
static bool is_in_hand(const struct sim_oracle *oracle, unsigned names)
{
    for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
        const struct sim_parcel *parcel = &oracle->world->processes[i].parcel;
        if (parcel->is_full && (parcel->turn->names & names) != 0) {
            return true;
        }
    }
    return false;
}

/* A client wants one of the names, none is held, and a grant is possible. */
static bool check_due(struct sim_oracle *oracle, unsigned names)
{
    bool is_wanted = false;
    unsigned nodes = (1U << oracle->world->story->n_nodes) - 1;
    if (is_local(oracle) && sim_machine_hinders(oracle->world->machine)) {
        return false;
    }
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        if (live->turn == 0 || (names_of(oracle, live) & names) == 0) {
            continue;
        }
        int64_t ttl_ms = oracle->records[live->turn - 1].turn->ttl_ms;
        if (live->is_holding ||
            !sim_reach_is_fast(oracle->world->story, ttl_ms)) {
            return false;
        }
        nodes &= connected(oracle, live);
        is_wanted = true;
    }
    return is_wanted && is_majority(oracle, nodes) &&
           !is_in_hand(oracle, names) && check_open(oracle, names, nodes);
}

/* ---- The clock --------------------------------------------------------- */

static void set_free(struct sim_oracle *oracle, unsigned names, int64_t ns)
{
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        if ((names >> i & 1) != 0) {
            oracle->free_ns[i] = ns;
        }
    }
}

/* The latest, since a turn needs all of its names. */
static int64_t free_since(const struct sim_oracle *oracle, unsigned names)
{
    int64_t since_ns = -1;
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        if ((names >> i & 1) != 0 && oracle->free_ns[i] > since_ns) {
            since_ns = oracle->free_ns[i];
        }
    }
    return since_ns;
}

/* No node publishes the end of a reservation: waiters find it by their next
 * heartbeat. */
static bool was_reserved(const struct sim_oracle *oracle, unsigned names)
{
    for (unsigned i = 0; i < SIM_NAMES_MAX && oracle->calls != NULL; i++) {
        const struct sim_chain *chain = oracle->chains[i][0];
        size_t n = chain == NULL ? 0 : chain->fences.n;
        if ((names >> i & 1) != 0 && n > 0 &&
            oracle->calls->reserved[i].until_ns > 0 &&
            oracle->calls->reserved[i].fence ==
                chain->fences.pairs[n - 1].key) {
            return true;
        }
    }
    return false;
}

/* No node publishes the end of the lease of an owner that did not release:
 * waiters find it by their next heartbeat. */
static bool was_kept(const struct sim_oracle *oracle, unsigned names)
{
    int64_t since_ns = free_since(oracle, names);
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        if ((names >> i & 1) != 0 && oracle->kept_ns[i] >= 0 &&
            oracle->kept_ns[i] + HEARTBEAT_NS >= since_ns) {
            return true;
        }
    }
    return false;
}

/* A waiter from before the end of the faults, or of its clock's standstill, may
 * have lost its place at some nodes; its next heartbeat restores it. A waiter
 * that waits for the leases of sharers also needs a heartbeat: it knows the end
 * of the longest lease, which may have been released since. */
static int64_t allowed_ns(struct sim_oracle *oracle, unsigned names)
{
    if (was_reserved(oracle, names) || was_kept(oracle, names)) {
        return oracle->prompt_ns + HEARTBEAT_NS;
    }
    for (unsigned i = 0; i < SIM_LIVE_MAX && has_faults(oracle); i++) {
        const struct sim_live *live = &oracle->live[i];
        if (live->turn != 0 && (names_of(oracle, live) & names) != 0 &&
            (is_local(oracle) || live->begun_ns <= oracle->calm_ns ||
             live->begun_ns <= sim_reach_runs_since(oracle, live->process))) {
            return oracle->prompt_ns + HEARTBEAT_NS;
        }
    }
    return oracle->prompt_ns;
}

static void look_at(struct sim_oracle *oracle, unsigned names)
{
    HF_ASSERT(names != 0 && names >> SIM_NAMES_MAX == 0);
    int64_t most_ns = allowed_ns(oracle, names);
    int64_t now_ns = oracle->world->now_ns;
    int64_t since_ns = free_since(oracle, names);
    if (!check_due(oracle, names)) {
        set_free(oracle, names, -1);
        return;
    }
    if (since_ns < 0) {
        since_ns = now_ns;
    }
    HF_ASSERT(since_ns <= now_ns);
    set_free(oracle, names, since_ns);
    if (now_ns - since_ns > most_ns) {
        int first = __builtin_ctz(names);
        set_free(oracle, names, now_ns);
        sim_oracle_breach(oracle, SIM_PROMPT,
                          "\"%c\" is wanted and free since %.3f ms, and was "
                          "not granted within %.3f ms",
                          'a' + first, (double)since_ns / 1e6,
                          (double)most_ns / 1e6);
    }
}

void sim_prompt_look(struct sim_oracle *oracle)
{
    unsigned done = 0;
    /* Without queues each waiter polls, and votes may be split. */
    if (!is_watching(oracle) || !oracle->world->story->queues) {
        return;
    }
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *live = &oracle->live[i];
        if (live->turn != 0 && (names_of(oracle, live) & ~done) != 0) {
            unsigned names = group_of(oracle, names_of(oracle, live));
            done |= names;
            look_at(oracle, names);
        }
    }
    set_free(oracle, ~done, -1);
}
