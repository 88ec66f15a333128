/* SPDX-License-Identifier: Apache-2.0 */
/* RESIDUE OF A RELEASE. The oracle knows an owner from the first ACQUIRE that a
 * node executes. When its lock is released, or its turn is given up, the client
 * sends RELEASE to every node that may have the lock, and repeats it until the
 * node replies. So a node must not have the owner any more
 *
 *     2 ways + node_timeout + 100 ms
 *
 * later, or that long after the last fault between process and node. The
 * process must still run, and the lease for which RELEASE is repeated must not
 * be over. For a failed attempt that is the lease it last requested: the turn
 * to which the oracle assigns it may have ended later than its own. Not
 * checked:
 *
 *   - if a request came on a connection that was closed, since the node may
 *     execute it after the RELEASE;
 *   - if the node restarted with older data;
 *   - for commands, which end with their turn;
 *   - for a lock that was handed on: requests of its first holder may still be
 *     in flight. */
#include "oracle/residue.h"

#include "oracle/disturbed.h"
#include "oracle/ground_truth.h"

#include "local/machine.h"
#include "redis/redis.h"
#include "world/node.h"

#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments. */
#define OWNER 10
#define TTL 11
#define BACK 15 /* of BREAK: the owner to which it returns the name */

/* The interval between two RELEASE requests, and delays of the process. */
#define AGAIN_NS (100 * SIM_MS)

/* ---- Owners ------------------------------------------------------------ */

const char *sim_owner_at(const struct sim_oracle *oracle,
                         const struct sim_chain *chain, unsigned node,
                         size_t *len)
{
    int64_t left_ns;
    if (oracle->world->machine != NULL) {
        return sim_machine_owner(oracle->world->machine, chain->text, len,
                                 &left_ns);
    }
    struct sim_node *at = &oracle->world->nodes[node];
    if (at->world != NULL) {
        sim_node_tick(at);
    }
    return sim_redis_get(at->redis, chain->lock, chain->lock_len, len);
}

/* Places are used again in turn, so n_owners counts beyond them. */
static unsigned n_known(const struct sim_oracle *oracle)
{
    return oracle->n_owners < SIM_OWNERS ? oracle->n_owners : SIM_OWNERS;
}

static struct sim_asker *find(struct sim_oracle *oracle,
                              const struct sim_chain *chain, uint64_t digest)
{
    unsigned n = n_known(oracle);
    for (unsigned i = 0; i < n; i++) {
        struct sim_asker *owner = &oracle->owners[i];
        if (owner->digest == digest && owner->chain == chain) {
            return owner;
        }
    }
    return NULL;
}

/* It stays known, and is not checked any more: an ACQUIRE that arrives after
 * the lease for which RELEASE is repeated makes no new owner. */
static void drop(struct sim_oracle *oracle, struct sim_asker *owner)
{
    oracle->n_ended -= owner->ended_ns >= 0;
    owner->ended_ns = -1;
    owner->done = UINT8_MAX;
}

static struct sim_asker *add(struct sim_oracle *oracle, struct sim_chain *chain,
                             uint64_t digest, int process)
{
    struct sim_asker *owner = &oracle->owners[oracle->n_owners++ % SIM_OWNERS];
    if (owner->digest != 0) {
        drop(oracle, owner);
    }
    *owner = (struct sim_asker){
        .digest = digest,
        .chain = chain,
        .process = process,
        .n_starts = oracle->world->processes[process].n_starts,
        .ended_ns = -1,
    };
    return owner;
}

/* ---- Scripts at nodes -------------------------------------------------- */

/* A break that is given up returns the name to the broken owner. If that owner
 * has sent its RELEASE in the meantime, it stays there until its lease ends
 * (docs/caveats.md). */
static void given_back(struct sim_oracle *oracle, const struct sim_chain *chain,
                       int node, const struct sim_run *run)
{
    if (run->argc <= BACK || strcmp(run->script, "break") != 0) {
        return;
    }
    const struct sim_arg *text = &run->argv[BACK];
    struct sim_asker *owner =
        find(oracle, chain, sim_owner_digest(text->data, text->len));
    if (text->len > 0 && owner != NULL && owner->ended_ns >= 0) {
        owner->done |= (uint8_t)(1U << node);
    }
}

/* The client counts its lease from the sending of a request, however late that
 * arrives. */
static int64_t sent_at(const struct sim_oracle *oracle, int node)
{
    return oracle->world->machine != NULL ? oracle->world->now_ns
                                          : oracle->world->nodes[node].asked_ns;
}

void sim_owner_ran(struct sim_oracle *oracle, struct sim_chain *chain, int node,
                   const struct sim_run *run)
{
    if (run->argc <= TTL) {
        return;
    }
    given_back(oracle, chain, node, run);
    const struct sim_arg *text = &run->argv[OWNER];
    int process = sim_owner_process(text->data, text->len);
    uint64_t digest = sim_owner_digest(text->data, text->len);
    struct sim_asker *owner = find(oracle, chain, digest);
    uint8_t bit = (uint8_t)(1U << node);
    bool is_acquire = strcmp(run->script, "acquire") == 0;
    /* An ACQUIRE that was sent before a fault may arrive after the RELEASE,
     * which was sent on another connection. */
    bool is_late = process >= 0 && is_acquire &&
                   sim_reach_since(oracle, process, (unsigned)node) >
                       oracle->world->now_ns;
    bool is_unheard = oracle->world->nodes[node].is_unheard || is_late;
    if (owner == NULL && process >= 0 && is_acquire) {
        owner = add(oracle, chain, digest, process);
    }
    if (owner != NULL && is_unheard) {
        owner->done |= bit;
    }
    if (owner != NULL && is_acquire && !is_unheard && !owner->is_heard) {
        owner->is_heard = true;
        owner->n_starts = oracle->world->processes[owner->process].n_starts;
    }
    if (owner != NULL && (is_acquire || strcmp(run->script, "confirm") == 0)) {
        int64_t sent_ns = sent_at(oracle, node);
        owner->asked_ns = owner->asked_ns < sent_ns ? sent_ns : owner->asked_ns;
        owner->ttl_ns = strtoll(run->argv[TTL].data, NULL, 10) * SIM_MS;
    }
}

void sim_owner_forgot(struct sim_oracle *oracle, int node)
{
    for (unsigned i = 0; i < SIM_OWNERS; i++) {
        oracle->owners[i].done |= (uint8_t)(1U << node);
    }
}

/* ---- The end of a turn ------------------------------------------------- */

static const struct sim_part *part_of(const struct sim_live *live,
                                      const struct sim_asker *owner)
{
    for (unsigned i = 0; i < live->n_parts; i++) {
        char text[HF_OWNER_MAX];
        if (live->parts[i].chain != owner->chain) {
            continue;
        }
        size_t len = hf_lock_emit_owner(live->parts[i].lock, text);
        if (sim_owner_digest(text, len) == owner->digest) {
            return &live->parts[i];
        }
    }
    return NULL;
}

/* Nothing in an owner says which turn of the process made it: another turn that
 * wants the name may have. */
static bool may_be_anothers(const struct sim_oracle *oracle,
                            const struct sim_live *live,
                            const struct sim_asker *owner)
{
    unsigned name = 1U << (owner->chain->text[0] - 'a');
    for (unsigned i = 0; i < SIM_LIVE_MAX; i++) {
        const struct sim_live *other = &oracle->live[i];
        if (other->turn != 0 && other != live &&
            other->process == live->process &&
            (oracle->records[other->turn - 1].turn->names & name) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_of_turn(const struct sim_oracle *oracle,
                       const struct sim_live *live,
                       const struct sim_asker *owner)
{
    const struct sim_turn *turn = oracle->records[live->turn - 1].turn;
    return owner->process == live->process &&
           owner->n_starts ==
               oracle->world->processes[live->process].n_starts &&
           (turn->names >> (owner->chain->text[0] - 'a') & 1) != 0 &&
           !may_be_anothers(oracle, live, owner);
}

void sim_owner_ended(struct sim_oracle *oracle, const struct sim_live *live,
                     bool is_released)
{
    const struct sim_turn *turn = oracle->records[live->turn - 1].turn;
    const struct sim_process *process =
        &oracle->world->processes[live->process];
    bool is_brief = (oracle->world->story->brief >> live->process & 1) != 0;
    unsigned n = is_brief ? 0 : n_known(oracle);
    for (unsigned i = 0; i < n; i++) {
        struct sim_asker *owner = &oracle->owners[i];
        if (owner->digest == 0 || owner->ended_ns >= 0 || !owner->is_heard ||
            owner->done == UINT8_MAX) {
            continue;
        }
        bool is_part = is_released && part_of(live, owner) != NULL;
        if (is_part || is_of_turn(oracle, live, owner)) {
            owner->process = live->process;
            owner->n_starts = process->n_starts;
            owner->ended_ns = oracle->world->now_ns;
            owner->until_ns =
                is_part ? owner->ended_ns + turn->ttl_ms * SIM_MS / 50 * 49
                        : owner->asked_ns + owner->ttl_ns / 50 * 49;
            oracle->n_ended++;
        }
    }
}

void sim_owner_handed_on(struct sim_oracle *oracle, const struct sim_live *live)
{
    unsigned n = n_known(oracle);
    for (unsigned i = 0; i < n; i++) {
        struct sim_asker *owner = &oracle->owners[i];
        if (owner->digest != 0 && owner->ended_ns < 0 &&
            part_of(live, owner) != NULL) {
            owner->done = UINT8_MAX; /* not checked at any node */
        }
    }
}

/* ---- The check --------------------------------------------------------- */

static int64_t patience_ns(const struct sim_world *world)
{
    return 2 * sim_reach_way_ns(world) +
           world->story->node_timeout_ms * SIM_MS + AGAIN_NS;
}

static void look_at(struct sim_oracle *oracle, struct sim_asker *owner,
                    unsigned node)
{
    int64_t now_ns = oracle->world->now_ns;
    int64_t reach_ns = sim_reach_since(oracle, owner->process, node);
    int64_t from_ns = reach_ns > owner->ended_ns ? reach_ns : owner->ended_ns;
    if (from_ns < oracle->calm_ns) {
        from_ns = oracle->calm_ns; /* delayed messages arrive then */
    }
    if (from_ns == INT64_MAX || now_ns > owner->until_ns ||
        now_ns <= from_ns + patience_ns(oracle->world)) {
        return;
    }
    size_t len;
    const char *text = sim_owner_at(oracle, owner->chain, node, &len);
    owner->done |= (uint8_t)(1U << node);
    if (text != NULL && sim_owner_digest(text, len) == owner->digest) {
        sim_oracle_breach(oracle, SIM_RESIDUE,
                          "\"%s\" is still p%d's at n%u, which it could reach "
                          "since %.3f ms, though that turn ended at %.3f ms",
                          owner->chain->text, owner->process + 1, node + 1,
                          (double)reach_ns / 1e6,
                          (double)owner->ended_ns / 1e6);
    }
}

void sim_owner_look(struct sim_oracle *oracle)
{
    unsigned n_nodes = oracle->world->story->n_nodes;
    unsigned n = n_known(oracle);
    unsigned left = oracle->n_ended;
    for (unsigned i = 0; i < n && left > 0; i++) {
        struct sim_asker *owner = &oracle->owners[i];
        if (owner->digest == 0 || owner->ended_ns < 0) {
            continue;
        }
        left--;
        const struct sim_process *process =
            &oracle->world->processes[owner->process];
        for (unsigned j = 0; j < n_nodes; j++) {
            if ((owner->done >> j & 1) == 0) {
                look_at(oracle, owner, j);
            }
        }
        if (oracle->world->now_ns > owner->until_ns || !process->is_alive ||
            process->n_starts != owner->n_starts ||
            owner->done == (1U << n_nodes) - 1) {
            drop(oracle, owner);
        }
    }
}
