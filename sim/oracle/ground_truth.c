/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/ground_truth.h"

#include "local/machine.h"
#include "redis/redis.h"
#include "world/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hex digits of an owner's random part. */
#define ID_LEN 32

static bool is_id(const char *text, size_t len)
{
    unsigned char wrong = 0;
    if (len < ID_LEN) {
        return false;
    }
    /* Without an early end: the compiler makes few instructions of that. */
    for (size_t i = 0; i < ID_LEN; i++) {
        unsigned char digit = (unsigned char)(text[i] - '0');
        unsigned char letter = (unsigned char)(text[i] - 'a');
        wrong |= (unsigned char)((digit > 9) & (letter > 5));
    }
    return wrong == 0;
}

uint64_t sim_owner_digest(const char *text, size_t len)
{
    uint64_t sum = 0;
    uint64_t word;
    if (!is_id(text, len)) {
        return 0;
    }
    for (size_t at = 0; at < ID_LEN; at += sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        sum = sim_mix(sum ^ word);
    }
    return sum | 1;
}

/* The owner "<32 hex digits>:p2:…" belongs to p2. */
int sim_owner_process(const char *text, size_t len)
{
    bool is_ours =
        len > ID_LEN + 2 && text[ID_LEN] == ':' && text[ID_LEN + 1] == 'p';
    int idx = is_ours ? text[ID_LEN + 2] - '1' : -1;
    return idx < SIM_PROCESSES_MAX ? idx : -1;
}

/* ---- Keys of a name ---------------------------------------------------- */

struct view {
    const struct sim_redis *redis;
    int64_t wall_ms;
    const struct sim_chain *chain;
};

struct key {
    char text[48];
    size_t len;
};

/* In unit tests the servers may have no simulated node around them. */
static struct view view_of(const struct sim_oracle *oracle,
                           const struct sim_chain *chain, int node)
{
    struct sim_node *at = &oracle->world->nodes[node];
    struct view view = {.redis = at->redis, .chain = chain};
    if (at->world != NULL) {
        sim_node_tick(at);
    }
    view.wall_ms = sim_redis_clock(at->redis) / 1000;
    return view;
}

static struct key side(const struct view *view, const char *what)
{
    struct key key;
    key.len = (size_t)snprintf(key.text, sizeof(key.text), "hf:{lock:%s}:%s",
                               view->chain->text, what);
    return key;
}

/* The remaining time of the lock key; -1: the name is free. */
static int64_t lock_left_ms(const struct view *view)
{
    int64_t end_ms =
        sim_redis_end_ms(view->redis, view->chain->lock, view->chain->lock_len);
    if (end_ms < 0 || end_ms < view->wall_ms) {
        return -1;
    }
    return end_ms == INT64_MAX ? INT64_MAX / SIM_MS / 2
                               : end_ms - view->wall_ms;
}

static bool is_group(const char *text, size_t len)
{
    return len > 7 && memcmp(text, "shared:", 7) == 0;
}

/* ---- Holders ----------------------------------------------------------- */

static bool holds_alone(const struct view *view, const struct sim_owner *owner,
                        uint64_t fence, int64_t *left_ms)
{
    size_t len;
    const char *text = sim_redis_get(view->redis, view->chain->lock,
                                     view->chain->lock_len, &len);
    struct key key = side(view, "fence");
    size_t fence_len = 0;
    const char *counter =
        sim_redis_get(view->redis, key.text, key.len, &fence_len);
    *left_ms = lock_left_ms(view);
    return text != NULL && len == owner->len &&
           memcmp(text, owner->text, len) == 0 && *left_ms >= 0 &&
           counter != NULL && fence_len >= 16 &&
           strtoull(counter, NULL, 10) == fence;
}

static bool holds_shared(const struct view *view, const struct sim_owner *owner,
                         uint64_t fence, int64_t *left_ms)
{
    size_t len;
    const char *text = sim_redis_get(view->redis, view->chain->lock,
                                     view->chain->lock_len, &len);
    struct key votes = side(view, "votes");
    struct key holders = side(view, "holders");
    size_t n;
    const char *group =
        sim_redis_field(view->redis, votes.text, votes.len, "", 0, &n);
    if (text == NULL || lock_left_ms(view) < 0 || group == NULL || n != len ||
        memcmp(group, text, n) != 0) {
        return false;
    }
    const char *vote = sim_redis_field(view->redis, votes.text, votes.len,
                                       owner->text, owner->len, &n);
    *left_ms = (int64_t)sim_redis_score(view->redis, holders.text, holders.len,
                                        owner->text, owner->len) -
               view->wall_ms;
    return vote != NULL && strtoull(vote, NULL, 10) == fence && *left_ms >= 0;
}

/* Both cases in the embedded store. */
static bool holds_locally(const struct sim_machine *machine, const char *name,
                          const struct sim_owner *owner, uint64_t fence,
                          int64_t *left_ns)
{
    size_t len;
    *left_ns = 0;
    if (owner->is_shared) {
        uint64_t digest = sim_owner_digest(owner->text, owner->len);
        *left_ns = sim_machine_shares(machine, name, digest, fence);
        return *left_ns >= 0;
    }
    const char *text = sim_machine_owner(machine, name, &len, left_ns);
    return text != NULL && len == owner->len &&
           memcmp(text, owner->text, len) == 0 &&
           sim_machine_counter(machine, name) == fence;
}

bool sim_memory_holds(const struct sim_oracle *oracle,
                      const struct sim_chain *chain, int node,
                      const struct sim_owner *owner, uint64_t fence,
                      int64_t *left_ns)
{
    const struct sim_machine *machine = oracle->world->machine;
    if (machine != NULL) {
        return holds_locally(machine, chain->text, owner, fence, left_ns);
    }
    struct view view = view_of(oracle, chain, node);
    int64_t left_ms = 0;
    bool holds = owner->is_shared ? holds_shared(&view, owner, fence, &left_ms)
                                  : holds_alone(&view, owner, fence, &left_ms);
    *left_ns = holds ? left_ms * SIM_MS : 0;
    return holds;
}

/* ---- Exclusion --------------------------------------------------------- */

/* A group admits each sharer with the same number of permits. */
static bool is_admitted(const char *group, const struct sim_chain *chain,
                        const struct sim_turn *turn)
{
    bool shares = turn->is_shared || (turn->n_permits > 0 && !chain->is_slot);
    return shares && strtoul(group + 7, NULL, 10) == turn->n_permits;
}

static bool is_one_of(uint64_t owner, const uint64_t *mine, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (mine[i] == owner) {
            return true;
        }
    }
    return false;
}

int64_t sim_memory_taken_until(const struct sim_oracle *oracle,
                               const struct sim_chain *chain, int node,
                               const struct sim_turn *turn,
                               const uint64_t *mine, unsigned n)
{
    const struct sim_machine *machine = oracle->world->machine;
    size_t len;
    int64_t left_ns = -1;
    const char *text;
    if (machine != NULL) {
        text = sim_machine_owner(machine, chain->text, &len, &left_ns);
    } else {
        struct view view = view_of(oracle, chain, node);
        int64_t left_ms = lock_left_ms(&view);
        text = sim_redis_get(view.redis, chain->lock, chain->lock_len, &len);
        left_ns = left_ms < 0 ? -1 : left_ms * SIM_MS;
    }
    bool is_mine =
        text != NULL &&
        (is_group(text, len) ? is_admitted(text, chain, turn)
                             : is_one_of(sim_owner_digest(text, len), mine, n));
    return left_ns < 0 || is_mine ? -1 : oracle->world->now_ns + left_ns;
}

bool sim_memory_has_queue(const struct sim_oracle *oracle,
                          const struct sim_chain *chain, int node,
                          const char *owner, size_t len)
{
    if (oracle->world->machine != NULL) {
        return sim_machine_has_queue(oracle->world->machine, chain->text,
                                     sim_owner_digest(owner, len));
    }
    struct view view = view_of(oracle, chain, node);
    struct key queue = side(&view, "queue");
    size_t members = sim_redis_members(view.redis, queue.text, queue.len);
    bool is_in =
        sim_redis_score(view.redis, queue.text, queue.len, owner, len) >= 0;
    return members > (is_in ? 1 : 0);
}
