/* SPDX-License-Identifier: Apache-2.0 */
/* READ: a call that only reads changes no node: its scripts run no command that
 * may write; in an embedded store it commits nothing. Each Holdfast owner in
 * its result has requested that name, and no fence in it is above the counters
 * of all nodes. */
#include "oracle/calls.h"

#include "redis/redis.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments from 1 on. */
#define ARG(n) (9 + (n))

static bool is_of(const struct sim_run *run, const char *script)
{
    return strcmp(run->script, script) == 0;
}

static bool has_asked(const struct sim_owners *owners, uint64_t digest)
{
    for (size_t i = owners->n; i > 0; i--) {
        if (owners->digests[i - 1] == digest) {
            return true;
        }
    }
    return false;
}

static void add_owner(struct sim_owners *owners, uint64_t digest)
{
    if (digest == 0 || has_asked(owners, digest)) {
        return;
    }
    if (owners->n == owners->cap) {
        owners->cap = owners->cap == 0 ? 64 : 2 * owners->cap;
        owners->digests =
            realloc(owners->digests, owners->cap * sizeof(*owners->digests));
        HF_ASSERT(owners->digests != NULL);
    }
    owners->digests[owners->n++] = digest;
}

/* Only a listing shows owners: without one in the story none is kept. */
static bool is_asked(const struct sim_oracle *oracle)
{
    const struct sim_story *story = oracle->world->story;
    for (size_t i = 0; i < story->n_turns; i++) {
        if (story->turns[i].kind == SIM_TURN_LOOK) {
            return true;
        }
    }
    return false;
}

void sim_read_script(struct sim_oracle *oracle, const struct sim_run *run,
                     int node)
{
    int name = sim_run_name(run);
    bool only_reads =
        is_of(run, "inspect") || is_of(run, "list") || is_of(run, "look");
    if (only_reads && run->has_written) {
        sim_oracle_breach(oracle, SIM_READ,
                          "%s, which is to change nothing, has written at n%d",
                          run->script, node + 1);
    }
    bool asks = is_of(run, "acquire") || is_of(run, "confirm") ||
                is_of(run, "break") || is_of(run, "release");
    if (name >= 0 && asks && run->argc > ARG(1) && is_asked(oracle)) {
        const struct sim_arg *owner = &run->argv[ARG(1)];
        add_owner(&sim_calls_of(oracle)->owners[name],
                  sim_owner_digest(owner->data, owner->len));
    }
}

static uint64_t top_counter(const struct sim_oracle *oracle, int name)
{
    uint64_t top = 0;
    for (unsigned slot = 0; slot <= SIM_SLOTS_MAX; slot++) {
        const struct sim_chain *chain = oracle->chains[name][slot];
        for (unsigned i = 0; chain != NULL && i < SIM_NODES_MAX; i++) {
            const struct sim_seen *seen = &chain->nodes[i];
            top = seen->counter > top ? seen->counter : top;
            top = seen->lost > top ? seen->lost : top;
        }
    }
    return top;
}

void sim_read_returned(struct sim_oracle *oracle, int process, int name,
                       const struct hf_holder *holder, bool waits)
{
    static const char ended[] = "ended:";
    const char *owner = holder->owner;
    if (strncmp(owner, ended, sizeof(ended) - 1) == 0) {
        owner += sizeof(ended) - 1;
    }
    uint64_t digest = sim_owner_digest(owner, strlen(owner));
    bool is_ours =
        holder->kind == HF_HOLDER_HOLDFAST || holder->kind == HF_HOLDER_ENDED;
    if (is_ours && !has_asked(&sim_calls_of(oracle)->owners[name], digest)) {
        sim_oracle_breach(oracle, SIM_READ,
                          "p%d is told that \"%c\" is %s by %.80s, which never "
                          "asked for it",
                          process + 1, 'a' + name,
                          waits ? "waited for" : "held", holder->owner);
    }
    if (holder->fence > top_counter(oracle, name)) {
        sim_oracle_breach(oracle, SIM_READ,
                          "p%d is told of fence %" PRIu64 " of \"%c\", above "
                          "that of every node",
                          process + 1, holder->fence, 'a' + name);
    }
}
