/* SPDX-License-Identifier: Apache-2.0 */
/* THE FACTS BY WHICH ANSWER IS JUDGED, collected while a call is under way. For
 * an acquisition: until when another owner had each of its names, at each node,
 * read from the node's memory after each script. For a renewal, an adoption and
 * a release: the nodes that executed it, and those that refused it.
 * answer_judge.c compares the result of the call with these facts. */
#include "oracle/answer.h"

#include "oracle/calls.h"
#include "oracle/chain.h"
#include "oracle/residue.h"

#include "redis/redis.h"

#include "base/assert.h"
#include "client/lock_group.h"
#include "core/lease.h"
#include "core/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 7, keys, then the arguments from 1 on. */
#define LOCK_KEY 3
#define ARG(n) (9 + (n))

#define PREFIX "lock:"

struct sim_answers *sim_answers_new(void)
{
    struct sim_answers *answers = calloc(1, sizeof(*answers));
    HF_ASSERT(answers != NULL);
    return answers;
}

static struct sim_asking *asking_of(struct sim_oracle *oracle,
                                    const struct sim_lane *lane)
{
    return &oracle->answers->calls[lane->process->index][lane->index];
}

/* ---- A call begins ----------------------------------------------------- */

static void look_at_want(const struct sim_oracle *oracle,
                         const struct sim_asking *call, struct sim_want *want,
                         int node)
{
    unsigned n =
        want->n_mine < SIM_ATTEMPTS_MAX ? want->n_mine : SIM_ATTEMPTS_MAX;
    int64_t until_ns =
        sim_memory_taken_until(oracle, want->chain, node, call->turn,
                               want->mine, call->has_rivals_within ? 0 : n);
    int64_t *taken_ns = &want->taken_ns[node];
    if (until_ns >= 0) {
        *taken_ns = until_ns;
    } else if (*taken_ns > oracle->world->now_ns) {
        *taken_ns = oracle->world->now_ns; /* it was released just now */
    }
}

static void add_want(struct sim_oracle *oracle, struct sim_asking *call,
                     const char *name)
{
    struct sim_want *want = &call->wants[call->n_wants++];
    want->chain = sim_oracle_chain(oracle, name, strlen(name));
    HF_ASSERT(want->chain != NULL && call->n_wants <= SIM_WANTS_MAX);
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        want->taken_ns[i] = -1;
        look_at_want(oracle, call, want, (int)i);
    }
}

static void add_wants(struct sim_oracle *oracle, struct sim_asking *call)
{
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        char name[8] = {(char)('a' + i), '\0'};
        if ((call->turn->names & 1U << i) == 0) {
            continue;
        }
        add_want(oracle, call, name);
        for (unsigned slot = 0; slot < call->turn->n_permits; slot++) {
            snprintf(name, sizeof(name), "%c#%u", (char)('a' + i), slot);
            add_want(oracle, call, name);
        }
    }
}

static bool is_over(const struct sim_process *process,
                    const struct hf_lock *lock)
{
    int64_t now_ns = sim_process_clock(process, process->world->now_ns).ns;
    return atomic_load(&lock->state) == HF_STATE_LOST ||
           atomic_load(&lock->deadline_ns) <= now_ns;
}

static void add_targets(struct sim_oracle *oracle, struct sim_asking *call,
                        const struct hf_lock *lock)
{
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        struct sim_target *target = &call->targets[call->n_targets++];
        char owner[HF_OWNER_MAX];
        size_t len = hf_lock_emit_owner(lock, owner);
        HF_ASSERT(call->n_targets <= SIM_PARTS_MAX);
        target->chain =
            sim_oracle_chain(oracle, hf_lock_name_bytes(lock), lock->name_len);
        target->owner = sim_owner_digest(owner, len);
        target->fence = hf_lease_fence(hf_lock_lease_const(lock));
        target->was_lost = is_over(call->process, lock);
    }
}

static void add_adopted(struct sim_oracle *oracle, struct sim_asking *call,
                        const char *text)
{
    struct sim_target *target = &call->targets[call->n_targets++];
    char name[2] = {(char)('a' + __builtin_ctz(call->turn->names)), '\0'};
    size_t len;
    target->chain = sim_oracle_chain(oracle, name, 1);
    HF_ASSERT(hf_owner_parse(text, &len, &target->fence));
    target->owner = sim_owner_digest(text, len);
}

/* Owners of other lanes of the process look like those of this lane, so every
 * owner then counts as another's. */
static bool has_other_lanes(const struct sim_lane *lane)
{
    const struct sim_story *story = lane->process->world->story;
    for (size_t i = 0; i < story->n_turns; i++) {
        if (story->turns[i].process == lane->process->index &&
            story->turns[i].lane != lane->index) {
            return true;
        }
    }
    return false;
}

void sim_oracle_calls(struct sim_oracle *oracle, const struct sim_lane *lane,
                      const struct sim_user_call *what)
{
    struct sim_asking *call = asking_of(oracle, lane);
    const struct sim_world *world = oracle->world;
    *call = (struct sim_asking){
        .is_open = true,
        .kind = what->kind,
        .process = lane->process,
        .turn = lane->turn,
        .has_rivals_within = has_other_lanes(lane),
        .turn_ns = lane->begun_ns,
        .begun_ns = world->now_ns,
        .begun_clock_ns = sim_process_clock(lane->process, world->now_ns).ns,
        .span_ms = what->span_ms,
    };
    if (what->kind == SIM_CALL_ACQUIRE) {
        add_wants(oracle, call);
    } else if (what->kind == SIM_CALL_ADOPT) {
        add_adopted(oracle, call, what->text);
    } else {
        add_targets(oracle, call, what->lock);
    }
}

void sim_oracle_uncalled(struct sim_oracle *oracle, const struct sim_lane *lane)
{
    asking_of(oracle, lane)->is_open = false;
}

void sim_oracle_answered(struct sim_oracle *oracle, const struct sim_lane *lane,
                         enum hf_status status, const struct hf_lock *lock)
{
    struct sim_asking *call = asking_of(oracle, lane);
    if (call->is_open) { /* else ONCE is broken */
        call->is_open = false;
        sim_answer_judge(oracle, call, status, lock);
    }
}

/* ---- Scripts executed during a call ------------------------------------ */

/* A script's reply: ":c", "*8 :1 :c …", "*10 :2 …", "*… :0 …", ":-1". */
struct reply {
    bool is_yours, is_refusal;
    uint64_t counter;
};

static struct reply read_reply(const struct sim_run *run)
{
    const char *at = run->reply;
    struct reply reply = {0};
    if (at[0] == ':') {
        reply.is_yours = at[1] != '-';
        reply.counter = strtoull(at + 1, NULL, 10);
        return reply;
    }
    const char *first = at[0] == '*' ? memchr(at, ':', run->reply_len) : NULL;
    const char *second =
        first == NULL
            ? NULL
            : memchr(first + 1, ':', run->reply_len - (size_t)(first + 1 - at));
    if (second != NULL) {
        reply.is_yours = first[1] == '1';
        reply.is_refusal = !reply.is_yours;
        reply.counter = strtoull(second + 1, NULL, 10);
    }
    return reply;
}

/* The node refused the request though the name is not taken by another client's
 * lease. That is right if a waiter is in the queue, or was granted the name in
 * the same step (an embedded store grants it to all waiters that may share it).
 * It is also right if an earlier attempt of this turn still has the name: its
 * RELEASE may be executed after the next attempt's ACQUIRE, if the server does
 * not know the script yet. */
static void note_refusal(const struct sim_oracle *oracle,
                         const struct sim_asking *call, struct sim_want *want,
                         int node, const struct sim_run *run)
{
    const struct sim_arg *owner = &run->argv[ARG(1)];
    int64_t now_ns = oracle->world->now_ns;
    size_t len;
    bool is_taken =
        sim_memory_taken_until(oracle, want->chain, node, call->turn, NULL,
                               0) >= 0 ||
        sim_memory_has_queue(oracle, want->chain, node, owner->data,
                             owner->len) ||
        (oracle->world->machine != NULL && run->has_written &&
         sim_owner_at(oracle, want->chain, (unsigned)node, &len) != NULL);
    if (want->taken_ns[node] < now_ns && is_taken) {
        want->taken_ns[node] = now_ns;
    }
}

/* Heartbeats repeat the owner of their attempt; each attempt has a new one. */
static void note_attempt(struct sim_want *want, uint64_t owner)
{
    unsigned last = (want->n_mine + SIM_ATTEMPTS_MAX - 1) % SIM_ATTEMPTS_MAX;
    if (want->n_mine == 0 || want->mine[last] != owner) {
        want->mine[want->n_mine++ % SIM_ATTEMPTS_MAX] = owner;
    }
}

static void note_want(struct sim_oracle *oracle, struct sim_asking *call,
                      struct sim_want *want, int node,
                      const struct sim_run *run)
{
    const struct sim_arg *owner = &run->argv[ARG(1)];
    bool is_ours =
        strcmp(run->script, "acquire") == 0 &&
        sim_owner_process(owner->data, owner->len) == call->process->index;
    if (is_ours) {
        note_attempt(want, sim_owner_digest(owner->data, owner->len));
    }
    look_at_want(oracle, call, want, node);
    if (is_ours && read_reply(run).is_refusal) {
        note_refusal(oracle, call, want, node, run);
    }
}

/* An extension counts only if it carries the lease that the caller asked for.
 */
static void note_target(const struct sim_asking *call,
                        struct sim_target *target, int node,
                        const struct sim_run *run)
{
    bool releases = call->kind == SIM_CALL_RELEASE;
    const struct sim_arg *owner = &run->argv[ARG(1)];
    struct reply reply = read_reply(run);
    if (strcmp(run->script, releases ? "release" : "confirm") != 0 ||
        sim_owner_digest(owner->data, owner->len) != target->owner) {
        return;
    }
    bool is_it = call->kind != SIM_CALL_EXTEND || call->span_ms == 0 ||
                 strtoll(run->argv[ARG(2)].data, NULL, 10) == call->span_ms;
    if (reply.is_refusal) {
        target->denied |= 1U << node;
    } else if (reply.is_yours && !releases && reply.counter != target->fence) {
        target->apart |= 1U << node;
    } else if (reply.is_yours && is_it) {
        target->done |= 1U << node;
    }
}

static void note_call(struct sim_oracle *oracle, struct sim_asking *call,
                      const struct sim_chain *chain, int node,
                      const struct sim_run *run)
{
    for (unsigned i = 0; i < call->n_wants && call->is_open; i++) {
        if (call->wants[i].chain == chain) {
            note_want(oracle, call, &call->wants[i], node, run);
        }
    }
    for (unsigned i = 0; i < call->n_targets && call->is_open; i++) {
        if (call->targets[i].chain == chain) {
            note_target(call, &call->targets[i], node, run);
        }
    }
}

void sim_oracle_executed(struct sim_oracle *oracle, int node,
                         const struct sim_run *run)
{
    size_t prefix = sizeof(PREFIX) - 1;
    const struct sim_arg *key = &run->argv[LOCK_KEY];
    if (run->argc <= ARG(1) || key->len <= prefix ||
        memcmp(key->data, PREFIX, prefix) != 0) {
        return;
    }
    int name = sim_run_name(run);
    if (name >= 0 && strcmp(run->script, "break") == 0) {
        oracle->answers->broken_ns[name] = oracle->world->now_ns;
    }
    const struct sim_chain *chain =
        sim_oracle_chain(oracle, key->data + prefix, key->len - prefix);
    unsigned n = chain == NULL ? 0 : oracle->world->story->n_processes;
    for (unsigned p = 0; p < n; p++) {
        for (unsigned lane = 0; lane < SIM_LANES_MAX; lane++) {
            note_call(oracle, &oracle->answers->calls[p][lane], chain, node,
                      run);
        }
    }
}
