/* SPDX-License-Identifier: Apache-2.0 */
/* The base of the oracle's tests: a world without running clients. Time is set,
 * locks are forged, and the simulated servers execute the commands of a test.
 *
 *     scene(SIM_CALM, 3);          three nodes
 *     begins(P1);
 *     gets(P1, 7, 100);            "a", with fence 7, until 100 ms
 *     at(50);
 *     ends(P1);
 *     silent();                    or caught(SIM_C1, "fence 7")
 *
 * Times are milliseconds. */
#ifndef HF_TESTS_ORACLE_SCENE_H
#define HF_TESTS_ORACLE_SCENE_H

#include "oracle/oracle.h"

#include "redis/redis.h"
#include "world/world.h"

#include "client/lock.h"
#include "client/lock_group.h"
#include "core/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS SIM_MS
#define TTL_MS 1000 /* of each turn, and max_ttl */
#define LOCKS 16    /* forged locks of a scene: asserted */

/* ---- The scene --------------------------------------------------------- */

enum who { P1, P2, P3, EVERYBODY };

static const struct sim_turn turns[EVERYBODY] = {
    {.process = P1, .names = 1, .ttl_ms = TTL_MS},
    {.process = P2, .names = 1, .ttl_ms = TTL_MS},
    {.process = P3, .names = 1, .ttl_ms = TTL_MS},
};

static const struct hf_store_ops no_ops;

static struct scene {
    struct sim_story story;
    struct sim_world world;
    struct hf_store store;
    struct hf_client clients[EVERYBODY];
    uint64_t turns[EVERYBODY]; /* the present owner of each */
    struct hf_lock *held[EVERYBODY];
    struct hf_lock *locks[LOCKS];
    unsigned n_locks;
    struct sim_session *sessions[SIM_NODES_MAX];
    char told[240]; /* the violation that was reported */
    unsigned n_told;
} on;

static inline void note(void *user, const struct sim_note *note)
{
    (void)user;
    assert_int_equal(note->kind, SIM_NOTE_VIOLATION);
    strcpy(on.told, note->text);
    on.n_told++;
}

static inline void at(int64_t ms)
{
    on.world.now_ns = ms * MS;
    for (unsigned i = 0; i < on.story.n_nodes; i++) {
        sim_redis_set_clock(on.world.nodes[i].redis, ms * 1000);
    }
}

static inline void scene(enum sim_regime regime, unsigned n_nodes)
{
    on = (struct scene){
        .story = {.regime = regime,
                  .n_nodes = n_nodes,
                  .n_processes = EVERYBODY,
                  .max_ttl_ms = TTL_MS,
                  .has_quarantine = true,
                  .queues = true,
                  .node_timeout_ms = 50,
                  .turns = (struct sim_turn *)(uintptr_t)turns,
                  .n_turns = EVERYBODY},
        .store = {.ops = &no_ops, .n_nodes = n_nodes},
    };
    on.world = (struct sim_world){.story = &on.story, .trace = note};
    on.world.lua = sim_lua_new();
    for (int i = 0; i < EVERYBODY; i++) {
        on.clients[i].store = &on.store;
        on.clients[i].nodes.count = (uint8_t)n_nodes;
        on.clients[i].host[0] = 'p';
        on.clients[i].host[1] = (char)('1' + i);
        on.world.processes[i] = (struct sim_process){
            .world = &on.world, .index = i, .client = &on.clients[i]};
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        on.world.nodes[i].redis = sim_redis_new(on.world.lua, NULL);
        on.sessions[i] = sim_redis_connect(on.world.nodes[i].redis, NULL);
    }
    on.world.oracle = sim_oracle_new(&on.world);
    at(0);
}

static inline void over(void)
{
    sim_oracle_free(on.world.oracle);
    free(on.world.events);
    for (unsigned i = 0; i < on.story.n_nodes; i++) {
        sim_redis_free(on.world.nodes[i].redis);
    }
    sim_lua_free(on.world.lua);
    for (unsigned i = 0; i < on.n_locks; i++) {
        free(on.locks[i]);
    }
}

/* ---- The verdict ------------------------------------------------------- */

static inline const struct sim_verdict *verdict(void)
{
    return sim_oracle_verdict(on.world.oracle);
}

/* `rule` was broken this often, and no other; SIM_RULES: none was. */
static inline void expect_breaches(enum sim_rule rule, uint64_t n)
{
    for (int i = 0; i < SIM_RULES; i++) {
        uint64_t wanted = i == (int)rule ? n : 0;
        if (verdict()->n_breaches[i] != wanted) {
            fail_msg("%s: %u breaches, not %u: %s",
                     sim_rule_name((enum sim_rule)i),
                     (unsigned)verdict()->n_breaches[i], (unsigned)wanted,
                     verdict()->text);
        }
    }
}

static inline void silent(void)
{
    expect_breaches(SIM_RULES, 0);
    assert_false(verdict()->is_broken);
    assert_int_equal(on.n_told, 0);
    over();
}

/* The message contains `words`. */
static inline void caught(enum sim_rule rule, const char *words)
{
    const char *name = sim_rule_name(rule);
    expect_breaches(rule, 1);
    assert_true(verdict()->is_broken);
    assert_int_equal(verdict()->rule, rule);
    assert_int_equal(verdict()->at_ns, on.world.now_ns);
    assert_memory_equal(verdict()->text, name, strlen(name));
    assert_string_equal(on.told, verdict()->text);
    assert_int_equal(on.n_told, 1);
    if (strstr(on.told, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", on.told, words);
    }
    over();
}

/* Seen, but not guaranteed in this regime: the run continues. */
static inline void counted(enum sim_rule rule)
{
    expect_breaches(rule, 1);
    assert_false(verdict()->is_broken);
    assert_int_equal(on.n_told, 0);
    over();
}

/* ---- Users ------------------------------------------------------------- */

static inline void begins(enum who who)
{
    on.turns[who] = sim_oracle_begin(on.world.oracle, &turns[who]);
}

static inline int64_t clock_of(enum who who, int64_t ms)
{
    return sim_process_clock(&on.world.processes[who], ms * MS).ns;
}

/* A forged lock, without a grant. It belongs to the scene. */
static inline struct hf_lock *forge(enum who who, const char *name,
                                    uint64_t fence, int64_t until_ms)
{
    size_t len = strlen(name);
    struct hf_lock *lock =
        calloc(1, sizeof(*lock) + hf_lease_size(on.story.n_nodes) +
                      sizeof(struct hf_lock_group) + len + 1);
    assert_non_null(lock);
    assert_true(on.n_locks < LOCKS);
    on.locks[on.n_locks++] = lock;
    lock->client = &on.clients[who];
    lock->name_len = (uint16_t)len;
    lock->is_linked = true;
    lock->id[0] = (uint8_t)on.n_locks;
    lock->deadline_ns = clock_of(who, until_ms);
    lock->state = HF_STATE_HELD;
    memcpy((char *)(uintptr_t)hf_lock_name_bytes(lock), name, len);
    hf_lock_lease(lock)->phase = HF_PHASE_HOLDING;
    hf_lock_lease(lock)->fence = fence;
    return on.held[who] = lock;
}

static inline void told(enum who who, struct hf_lock *lock)
{
    sim_oracle_held(on.world.oracle, on.turns[who], lock);
}

static inline void gets(enum who who, uint64_t fence, int64_t until_ms)
{
    told(who, forge(who, "a", fence, until_ms));
}

/* `permits`: 0 for a reader. */
static inline struct hf_lock *share(enum who who, uint64_t fence,
                                    int64_t until_ms, uint16_t permits)
{
    struct hf_lock *lock = forge(who, "a", fence, until_ms);
    lock->is_shared = true;
    lock->permits = permits;
    return lock;
}

static inline void reads(enum who who, uint64_t fence, int64_t until_ms)
{
    told(who, share(who, fence, until_ms, 0));
}

/* One of `permits` of the semaphore. */
static inline void gets_permit(enum who who, const char *slot, uint64_t fence,
                               uint16_t permits)
{
    struct hf_lock *name = share(who, fence, 1000, permits);
    struct hf_lock *lock = forge(who, slot, fence, 1000);
    hf_lock_group_join(lock, name);
    told(who, lock);
}

static inline void looks(enum who who)
{
    sim_oracle_look(on.world.oracle, (int)who);
}

static inline void ends(enum who who)
{
    sim_oracle_ended(on.world.oracle, on.turns[who]);
}

static inline void gives_up(enum who who)
{
    sim_oracle_given_up(on.world.oracle, on.turns[who]);
}

/* ---- Nodes ------------------------------------------------------------- */

#define FENCE_KEY "hf:{lock:a}:fence"

/* Execute a command on a node. */
static inline void say(unsigned node, unsigned n, const char *const *words)
{
    char text[500];
    size_t len = (size_t)sprintf(text, "*%u\r\n", n);
    for (unsigned i = 0; i < n; i++) {
        len += (size_t)sprintf(text + len, "$%zu\r\n%s\r\n", strlen(words[i]),
                               words[i]);
    }
    sim_redis_feed(on.sessions[node], text, len);
    const char *reply;
    assert_true(sim_session_take(on.sessions[node], &reply) > 0);
    assert_true(reply[0] == '+' || reply[0] == ':');
}

#define SAY(node, ...)                                                         \
    say(node,                                                                  \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),     \
        (const char *const[]){__VA_ARGS__})

/* A script was executed: EVALSHA, its hash, 7, keys, arguments. */
enum { LOCK_ARG = 3, COUNTER_ARG, OWNER_ARG = 10, T_ARG = 12, HOLDER_ARG = 15 };
enum { UNFAIR_ARG = 16, N_ARGS };

static inline void executed(int node, const char *script,
                            const char *(*words)[N_ARGS], const char *reply)
{
    struct sim_arg argv[N_ARGS];
    (*words)[LOCK_ARG] = "lock:a";
    (*words)[COUNTER_ARG] = FENCE_KEY;
    for (size_t i = 0; i < N_ARGS; i++) {
        const char *word = (*words)[i] == NULL ? "" : (*words)[i];
        argv[i] = (struct sim_arg){word, strlen(word)};
    }
    sim_oracle_node(on.world.oracle, node,
                    &(struct sim_run){.script = script,
                                      .argc = N_ARGS,
                                      .argv = argv,
                                      .reply = reply,
                                      .reply_len = strlen(reply)});
}

static inline void ran(int node, const char *script, const char *owner,
                       bool is_unfair, const char *reply)
{
    const char *words[N_ARGS] = {
        [OWNER_ARG] = owner, [UNFAIR_ARG] = is_unfair ? "1" : "0"};
    executed(node, script, &words, reply);
}

/* The reply "C owner": the counter of "a" is C there, and the owner has that
 * value. */
static inline void counter(int node, const char *text)
{
    SAY((unsigned)node, "SET", FENCE_KEY, text);
    ran(node, "confirm", "", false, ":1\r\n");
}

/* The same; "holder": renewed there at `fence`. */
static inline void renewed(int node, const char *text, const char *fence,
                           const char *holder)
{
    const char *words[N_ARGS] = {[T_ARG] = fence, [HOLDER_ARG] = holder};
    SAY((unsigned)node, "SET", FENCE_KEY, text);
    executed(node, "confirm", &words, ":1\r\n");
}

#endif
