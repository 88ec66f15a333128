/* SPDX-License-Identifier: Apache-2.0 */
/* ANSWER. The statuses that a call may return, judged by the memory of the
 * nodes, by the scripts that they executed and by the story's faults:
 *
 *   OK           acquisition: when the library decided, a majority of the nodes
 *                holds each lock at its fence, for at least a third of
 *                min(ttl, 6 s) more. Adoption, renewal, release: a majority of
 *                the nodes has executed it since the call began, for the lease
 *                that the caller asked for.
 *   BUSY         the wait is over, and another owner had one of the names, so
 *                that no majority was possible among the nodes in reach. Never
 *                returned by a wait without end.
 *   UNAVAILABLE, QUARANTINED, and UNKNOWN of a release: no majority of the
 *                nodes was well (reach.h) during the whole call.
 *   LOST         the deadline has passed, or a majority of the nodes does not
 *                have the owner any more.
 *
 * A try returns within a second, and any other acquisition within a second
 * after its wait is over, that of several names in twice the wait. No other
 * status is possible, except INVALID if the story uses one name as two
 * semaphores.
 *
 * Not checked: the nodes' memory, if clocks jump or data is lost (C4 is not
 * promised there either); the nodes in reach, if clocks are wild or servers
 * fail over, or if the lease is shorter than six round trips. A process that is
 * paused between its clock reading and its return has lost that time. In the
 * embedded store a paused process may be inside the gate: then the store is
 * well for no process. */
#include "oracle/answer.h"
#include "oracle/chain.h"
#include "oracle/reach.h"

#include "client/client.h"
#include "client/lock_group.h"
#include "core/lease.h"

#include <holdfast/holdfast.h>
#include <stdarg.h>
#include <stdio.h>

/* The last attempt of a wait may be made one pause of the back-off before its
 * end (core/retry.c), and milliseconds are rounded. */
#define EARLY_NS (20 * SIM_MS)

/* The time to read a reply. */
#define READ_NS (20 * SIM_MS)

/* The longest time of a try, and of a wait beyond its end: a second, and a
 * reply. */
#define TRY_NS (1000 * SIM_MS + READ_NS)

/* ---- Words ------------------------------------------------------------- */

static const char *what_of(const struct sim_asking *call)
{
    static const char *const words[] = {
        [SIM_CALL_ACQUIRE] = "acquiring",
        [SIM_CALL_ADOPT] = "adopting",
        [SIM_CALL_EXTEND] = "extending",
        [SIM_CALL_RELEASE] = "releasing",
    };
    return words[call->kind];
}

static const char *name_of(const struct sim_asking *call)
{
    return call->n_wants > 0 ? call->wants[0].chain->text
                             : call->targets[0].chain->text;
}

static void breach(struct sim_oracle *oracle, const struct sim_asking *call,
                   enum hf_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void breach(struct sim_oracle *oracle, const struct sim_asking *call,
                   enum hf_status status, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    sim_oracle_breach(
        oracle, SIM_ANSWER, "p%d was told %s, %s \"%s\" since %.3f ms: %s",
        call->process->index + 1, hf_status_name(status), what_of(call),
        name_of(call), (double)call->begun_ns / 1e6, why);
}

/* ---- What can be checked ----------------------------------------------- */

static bool is_many(const struct sim_oracle *oracle, unsigned nodes)
{
    return (unsigned)__builtin_popcount(nodes) >
           oracle->world->story->n_nodes / 2;
}

/* No node has lost data since then, and leases end on time. */
static bool is_memory_true(const struct sim_oracle *oracle, int64_t since_ns)
{
    return sim_oracle_promises(oracle, SIM_C4) && oracle->forgot_ns < since_ns;
}

static bool acquires(const struct sim_asking *call)
{
    return call->kind == SIM_CALL_ACQUIRE || call->kind == SIM_CALL_ADOPT;
}

/* A call that is too short for its requests proves nothing. An acquisition's
 * lease must be longer than six round trips, as for LIVE. The lease of other
 * calls must be longer than 40: a node has a twentieth of it to reply, and may
 * need two round trips, since the client may have to check the connection or to
 * send the script. A node_timeout that is shorter than these ends them, too. A
 * wait must be longer than twelve round trips for each lock: a shorter one need
 * not have reached any node. */
static bool has_time(const struct sim_oracle *oracle,
                     const struct sim_asking *call)
{
    const struct sim_story *story = oracle->world->story;
    int64_t trip_ns = 2 * (story->delay_ns + 2 * story->jitter_ns);
    bool waits = call->kind == SIM_CALL_ACQUIRE && call->span_ms > 0;
    int64_t trips = call->kind == SIM_CALL_ACQUIRE ? 6 : 40;
    return call->turn->ttl_ms * SIM_MS > trips * trip_ns &&
           story->node_timeout_ms * SIM_MS > 2 * trip_ns &&
           (!waits || call->span_ms * SIM_MS > 12 * trip_ns * call->n_wants);
}

/* Nodes that had no reason not to vote, from before the call began. A client
 * without a lock or a call under way does not maintain its connections, and any
 * call but a wait is over before a reconnect is: it fails at once if the client
 * takes every node to be down. So for these a fault at any earlier time counts,
 * unless the turn is old enough for the reconnect. */
static unsigned well_nodes(const struct sim_oracle *oracle,
                           const struct sim_asking *call)
{
    enum sim_regime regime = oracle->world->story->regime;
    bool is_unclear = regime == SIM_WILD_CLOCKS || regime == SIM_AMNESIA_WILD ||
                      regime == SIM_BOOT_CLOCKS || regime == SIM_FAILOVER;
    bool waits = call->kind == SIM_CALL_ACQUIRE && call->span_ms != 0;
    bool is_ready = waits || call->begun_ns - call->turn_ns >= SIM_SETTLE_NS;
    return is_unclear || !has_time(oracle, call)
               ? 0
               : sim_reach_well(call->process, is_ready ? call->begun_ns : 0);
}

static int64_t elapsed_ns(const struct sim_asking *call)
{
    const struct sim_process *process = call->process;
    return sim_process_clock(process, process->world->now_ns).ns -
           call->begun_clock_ns;
}

/* ---- OK ---------------------------------------------------------------- */

/* The world's time stands still while a process computes, so this is 0 unless
 * the process was paused since the library decided. */
static int64_t lag_ns(const struct sim_asking *call)
{
    const struct sim_process *process = call->process;
    return sim_process_clock(process, process->world->now_ns).ns -
           process->client->now.ns;
}

/* Paused until this very moment: the library may have read its clock before the
 * pause, so its deadline is no error. */
static bool has_stood(const struct sim_asking *call)
{
    const struct sim_process *process = call->process;
    return process->stood_ns > 0 && process->stood_ns == process->world->now_ns;
}

/* Counted in the nodes' own data, whatever the library believes. */
static unsigned holders_of(const struct sim_oracle *oracle,
                           const struct hf_lock *lock, int64_t least_ns)
{
    unsigned holders = 0;
    struct sim_owner owner = {.is_shared = lock->is_shared};
    owner.len = hf_lock_emit_owner(lock, owner.text);
    const struct sim_chain *chain =
        sim_oracle_chain((struct sim_oracle *)(uintptr_t)oracle,
                         hf_lock_name_bytes(lock), lock->name_len);
    uint64_t fence = hf_lease_fence(hf_lock_lease_const(lock));
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        int64_t left_ns;
        bool holds =
            sim_memory_holds(oracle, chain, (int)i, &owner, fence, &left_ns) &&
            left_ns >= least_ns;
        holders |= holds ? 1U << i : 0;
    }
    return holders;
}

static unsigned down_nodes(const struct sim_oracle *oracle)
{
    unsigned down = 0;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        down |= oracle->world->nodes[i].is_up ? 0 : 1U << i;
    }
    return down;
}

/* When a node last executed BREAK on the lock's name; 0: never. */
static int64_t broken_ns(const struct sim_oracle *oracle,
                         const struct hf_lock *lock)
{
    int name = *(const char *)hf_lock_name_bytes(lock) - 'a';
    return name >= 0 && name < SIM_NAMES_MAX ? oracle->answers->broken_ns[name]
                                             : 0;
}

static bool was_broken(const struct sim_oracle *oracle,
                       const struct sim_asking *call,
                       const struct hf_lock *lock)
{
    int64_t at_ns = broken_ns(oracle, lock);
    return at_ns > 0 && at_ns >= call->begun_ns;
}

static void judge_part(struct sim_oracle *oracle, const struct sim_asking *call,
                       const struct hf_lock *lock, int64_t least_ns)
{
    int64_t left_ns =
        atomic_load(&lock->deadline_ns) - call->process->client->now.ns;
    if (has_stood(call)) {
        return;
    }
    if (atomic_load(&lock->state) == HF_STATE_LOST || left_ns < least_ns) {
        breach(oracle, call, HF_OK,
               "%.*s has %.3f ms left, not a third of %lld ms or 6 s",
               (int)lock->name_len, hf_lock_name_bytes(lock),
               (double)left_ns / 1e6, (long long)call->turn->ttl_ms);
        return;
    }
    unsigned holders = holders_of(oracle, lock, least_ns) | down_nodes(oracle);
    if (is_memory_true(oracle, call->begun_ns) && lag_ns(call) == 0 &&
        !was_broken(oracle, call, lock) && !is_many(oracle, holders)) {
        breach(oracle, call, HF_OK,
               "%.*s is held by no majority for the next %.3f ms (nodes %x)",
               (int)lock->name_len, hf_lock_name_bytes(lock),
               (double)least_ns / 1e6, holders);
    }
}

static void judge_acquired(struct sim_oracle *oracle,
                           const struct sim_asking *call,
                           const struct hf_lock *lock)
{
    bool is_one = hf_lock_group_next(lock) == NULL;
    const struct sim_story *story = oracle->world->story;
    int64_t trip_ns = 2 * (story->delay_ns + 2 * story->jitter_ns);
    bool is_easy =
        story->regime == SIM_CALM && call->turn->ttl_ms * SIM_MS > 24 * trip_ns;
    int64_t least_ns =
        is_one || is_easy ? sim_claim_ns(call->turn->ttl_ms) / 3 : 1;
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        judge_part(oracle, call, lock, least_ns);
    }
}

/* For each lock, a majority must have executed the call. */
static void judge_executed(struct sim_oracle *oracle,
                           const struct sim_asking *call)
{
    for (unsigned i = 0; i < call->n_targets; i++) {
        const struct sim_target *target = &call->targets[i];
        if (!is_many(oracle, target->done)) {
            breach(oracle, call, HF_OK,
                   "%d of %u nodes have executed it for \"%s\"",
                   __builtin_popcount(target->done),
                   oracle->world->story->n_nodes, target->chain->text);
            return;
        }
    }
}

/* ---- BUSY -------------------------------------------------------------- */

/* BUSY is a breach if a majority of the nodes that were well had no other owner
 * at any time of the call. */
static bool was_free(const struct sim_oracle *oracle,
                     const struct sim_asking *call, const struct sim_want *want,
                     unsigned well)
{
    unsigned unused = well;
    for (unsigned i = 0; i < oracle->world->story->n_nodes; i++) {
        if (want->taken_ns[i] >= call->begun_ns) {
            unused &= ~(1U << i);
        }
    }
    return is_many(oracle, unused);
}

/* Of a semaphore any one permit is enough, with the name itself, which is the
 * first of its wants. */
static bool could_be_had(const struct sim_oracle *oracle,
                         const struct sim_asking *call, unsigned well)
{
    unsigned first_permit = call->turn->n_permits > 0 ? 1 : call->n_wants;
    for (unsigned i = 0; i < first_permit; i++) {
        if (!was_free(oracle, call, &call->wants[i], well)) {
            return false;
        }
    }
    for (unsigned i = first_permit; i < call->n_wants; i++) {
        if (was_free(oracle, call, &call->wants[i], well)) {
            return true;
        }
    }
    return first_permit == call->n_wants;
}

static void judge_busy(struct sim_oracle *oracle, const struct sim_asking *call)
{
    if (call->span_ms < 0) {
        breach(oracle, call, HF_BUSY, "its wait has no end");
    } else if (elapsed_ns(call) < call->span_ms * SIM_MS - EARLY_NS) {
        breach(oracle, call, HF_BUSY, "%.3f ms of its %lld ms are over",
               (double)elapsed_ns(call) / 1e6, (long long)call->span_ms);
    } else if (could_be_had(oracle, call, well_nodes(oracle, call))) {
        breach(oracle, call, HF_BUSY,
               "a majority was well, and no other owner had it there");
    }
}

/* ---- Other statuses ---------------------------------------------------- */

static void judge_unreached(struct sim_oracle *oracle,
                            const struct sim_asking *call,
                            enum hf_status status)
{
    unsigned well = well_nodes(oracle, call);
    for (unsigned i = 0; i < call->n_targets; i++) {
        well &= ~(call->targets[i].denied | call->targets[i].apart);
    }
    if (is_many(oracle, well)) {
        breach(oracle, call, status,
               "%d of %u nodes were well all the time (%x)",
               __builtin_popcount(well), oracle->world->story->n_nodes, well);
    }
}

/* @return the nodes that do not have its owner, and did not free it for it: a
 * repetition of a RELEASE whose reply was lost is denied, too. */
static unsigned losers(const struct sim_asking *call,
                       const struct sim_target *target)
{
    return call->kind == SIM_CALL_RELEASE ? target->denied & ~target->done
                                          : target->denied;
}

static void judge_lost(struct sim_oracle *oracle, const struct sim_asking *call,
                       const struct hf_lock *lock)
{
    for (unsigned i = 0; i < call->n_targets; i++) {
        const struct sim_target *target = &call->targets[i];
        if (target->was_lost || is_many(oracle, losers(call, target))) {
            return;
        }
    }
    for (; lock != NULL; lock = hf_lock_group_next(lock)) {
        if (atomic_load(&lock->deadline_ns) <=
            sim_process_clock(call->process, oracle->world->now_ns).ns) {
            return;
        }
    }
    breach(oracle, call, HF_LOST,
           "no majority says so, and it was not over before");
}

/* Only then HF_INVALID is possible: a name in use with another number of
 * permits is refused. */
static bool may_misfit(const struct sim_oracle *oracle,
                       const struct sim_asking *call)
{
    const struct sim_story *story = oracle->world->story;
    for (size_t i = 0; i < story->n_turns; i++) {
        const struct sim_turn *other = &story->turns[i];
        if ((other->names & call->turn->names) != 0 &&
            other->n_permits != call->turn->n_permits) {
            return true;
        }
    }
    return false;
}

/* Beyond its end a wait may go on for the answers about its other names, for no
 * longer than the wait itself (docs/library.md, What blocks). */
static int64_t longest_ns(const struct sim_asking *call)
{
    int64_t wait_ns = call->span_ms * SIM_MS;
    bool is_of_names = call->n_wants > 1 && call->turn->n_permits == 0;
    if (is_of_names && wait_ns > 0 && wait_ns + READ_NS < TRY_NS) {
        return 2 * wait_ns + READ_NS;
    }
    return wait_ns + TRY_NS;
}

/* The time that it took counts by its own clock, unless that has jumped. */
static void judge_late(struct sim_oracle *oracle, const struct sim_asking *call,
                       enum hf_status status)
{
    int64_t most_ns = longest_ns(call);
    int64_t true_ns = oracle->world->now_ns - call->begun_ns;
    int64_t took_ns = elapsed_ns(call) < true_ns ? elapsed_ns(call) : true_ns;
    if (call->kind == SIM_CALL_ACQUIRE && call->span_ms >= 0 &&
        took_ns > most_ns && !call->has_rivals_within &&
        sim_reach_is_running(call->process, call->begun_ns)) {
        breach(oracle, call, status,
               "after %.3f ms, %.3f ms later than it asked for",
               (double)took_ns / 1e6,
               (double)(took_ns - call->span_ms * SIM_MS) / 1e6);
    }
}

/* Any other status is a breach, whatever the faults were. */
static bool is_possible(const struct sim_oracle *oracle,
                        const struct sim_asking *call, enum hf_status status)
{
    switch (status) {
    case HF_OK:
        return true;
    case HF_BUSY:
        return call->kind == SIM_CALL_ACQUIRE;
    case HF_LOST:
        return call->kind != SIM_CALL_ACQUIRE;
    case HF_UNKNOWN:
        return call->kind == SIM_CALL_RELEASE;
    case HF_UNAVAILABLE:
        return call->kind != SIM_CALL_RELEASE;
    case HF_QUARANTINED:
        return acquires(call);
    case HF_INVALID:
        return acquires(call) && may_misfit(oracle, call);
    case HF_DENIED:
    case HF_CONFIG:
    case HF_UNSUPPORTED:
    case HF_CANCELLED:
    case HF_NO_MEMORY:
    case HF_INTERNAL:
    default:
        return false; /* no story can cause these */
    }
}

/* The callback of this call runs after the call that blocks another lane of the
 * process, and may so be late. */
static bool is_deferred(const struct sim_oracle *oracle,
                        const struct sim_asking *call)
{
    const struct sim_process *process = call->process;
    const struct sim_asking *calls = oracle->answers->calls[process->index];
    bool is_own = process->stepping == &process->lanes[call - calls];
    bool is_blocked = process->stepping != NULL &&
                      process->stepped_ns < oracle->world->now_ns;
    return !is_own && (is_blocked || process->blocked_ns > call->begun_ns);
}

void sim_answer_judge(struct sim_oracle *oracle, const struct sim_asking *call,
                      enum hf_status status, const struct hf_lock *lock)
{
    if (is_deferred(oracle, call)) {
        return;
    }
    judge_late(oracle, call, status);
    if (!is_possible(oracle, call, status)) {
        breach(oracle, call, status, "which is no answer to that");
    } else if (status == HF_OK && call->kind == SIM_CALL_ACQUIRE) {
        judge_acquired(oracle, call, lock);
    } else if (status == HF_OK) {
        judge_executed(oracle, call);
    } else if (status == HF_BUSY) {
        judge_busy(oracle, call);
    } else if (status == HF_LOST) {
        judge_lost(oracle, call, lock);
    } else if (status != HF_INVALID) {
        judge_unreached(oracle, call, status);
    }
}

/* ---- A lock that is held became LOST ----------------------------------- */

/* A majority may have refused the last renewal for a break, and have the owner
 * again since the break was given up. */
static bool was_given_back(const struct sim_oracle *oracle,
                           const struct sim_process *process,
                           const struct sim_part *part)
{
    int64_t at_ns = broken_ns(oracle, part->lock);
    return at_ns > 0 &&
           sim_process_clock(process, at_ns).ns >= part->round_at_ns;
}

/* A lock may be LOST before the deadline that its user has seen only if no
 * majority of the nodes has its owner. */
void sim_answer_lost(struct sim_oracle *oracle, const struct sim_live *live)
{
    const struct sim_process *process =
        &oracle->world->processes[live->process];
    int64_t now_ns = sim_process_clock(process, oracle->world->now_ns).ns;
    for (unsigned i = 0; i < live->n_parts; i++) {
        const struct sim_part *part = &live->parts[i];
        bool is_early = atomic_load(&part->lock->state) == HF_STATE_LOST &&
                        part->deadline_ns > now_ns &&
                        part->until_ns > oracle->world->now_ns;
        if (is_early && is_memory_true(oracle, live->begun_ns) &&
            !was_given_back(oracle, process, part) &&
            is_many(oracle,
                    holders_of(oracle, part->lock, 0) & ~down_nodes(oracle))) {
            sim_oracle_breach(oracle, SIM_ANSWER,
                              "p%d was told that \"%s\" is lost %.3f ms before "
                              "its deadline, and a majority has it still",
                              live->process + 1, part->chain->text,
                              (double)(part->deadline_ns - now_ns) / 1e6);
        }
    }
}
