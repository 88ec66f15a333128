/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle. It observes what users observe, and reports at once which
 * guarantee was broken. Which guarantees are promised depends on the faults
 * (docs/guarantees.md); outside of that, breaches are counted, so that a run
 * just outside shows that the check is not vacuous.
 *
 *   C1      no two completed acquisitions of a name have one fence
 *   C2      one that completed before another began has the smaller fence
 *   C3      fence order is the order at every node: a node's counter never
 *           decreases, and a value of it belongs to one owner
 *   E1      no renewal succeeds after a greater fence completed
 *   C4      two clients never believe at once that they hold, unless they share
 *   GUARD   the guarded register takes no older fence after a newer one, and
 *           loses no update that it acknowledged
 *   PERMITS never more holders of a semaphore than it has permits
 *   FIFO    of two waiters, the earlier ticket is served first (one node, or
 *           several with equal clocks, without faults)
 *   LIVE    after the last fault every waiter is served in time; without any
 *           fault no holder loses its lock, if its lease is longer than six
 *           round trips
 *   RESIDUE … and at the end no lock, queue or holder is left at any node; nor,
 *           once a lock is released and RELEASE could arrive, its owner
 *   ONCE    every call is answered exactly once
 *   ANSWER  every answer to a call is true (answer.c)
 *   PERIOD  no command starts in the period of another (once.c)
 *   RESERVE no client is granted a name that was reserved with its release
 *   BREAK   a holder that was broken believes no longer than the break returned
 *   READ    a call that only reads changes nothing, and names only clients
 *           that asked
 *   FOREIGN plain locks of other libraries exclude and are excluded, and are
 *           not taken away (one majority; nodes keep their data)
 *   PROMPT  while no fault is left, a free name reaches a waiter within round
 *           trips and back-off (sim_oracle_prompt_ns())
 *   SPREAD  a lock held through two renewals is at every node that could have
 *           been asked for it
 *   RISK    LOST is reported when the deadline passes, AT_RISK when half of
 *           the ttl has passed without a successful renewal round
 */
#ifndef HF_SIM_ORACLE_H
#define HF_SIM_ORACLE_H

#include "story/story.h"

#include <holdfast/holdfast.h>

#include <stdbool.h>
#include <stdint.h>

enum sim_rule {
    SIM_C1,
    SIM_C2,
    SIM_C3,
    SIM_E1,
    SIM_C4,
    SIM_GUARD,
    SIM_PERMITS,
    SIM_FIFO,
    SIM_LIVE,
    SIM_RESIDUE,
    SIM_ONCE,
    SIM_ANSWER,
    SIM_PERIOD,
    SIM_RESERVE,
    SIM_BREAK,
    SIM_READ,
    SIM_FOREIGN,
    SIM_PROMPT,
    SIM_SPREAD,
    SIM_RISK,
    SIM_RULES
};

struct sim_arg;
struct sim_link;
struct sim_world;
struct sim_run;
struct hf_lock;

const char *sim_rule_name(enum sim_rule rule);

/* Is it promised in this regime? */
bool sim_rule_is_promised(enum sim_rule rule, enum sim_regime regime);

/* LIVE, as a time: a client that waits when the last fault is over, or begins
 * to wait later, is served or refused within
 *
 *     F + B + 3 ttl + 5 s + W (H + K (Q + 100 ms + 8 R))
 *
 *   F    the quarantine, max(max_ttl, 10 s), if a node may be in one, once for
 *        clients that know it and once for clients that see it late; else 0
 *   B    the sum by which nodes' clocks were set back: leases last longer by
 *        that; and the time for which processes' clocks stand still
 *   ttl  the longest lease: what dead clients have left, and as much to drain
 *   W    how many come first: what each lane has begun, and once more
 *   H    for how long a turn works after the last fault: 50 ms
 *   K    names of the turn that has most of them, or permits of a semaphore
 *   Q    the lease of a place in a queue, min(ttl, 6 s)
 *   R    node_timeout + delay + 8 jitter */
int64_t sim_oracle_bound_ns(const struct sim_story *story);

/* PROMPT, as a time: the longest for which a name may be free while a waiter
 * is connected. Figures are the oracle's own, so that a change of the library
 * does not move them (prompt.c). */
int64_t sim_oracle_prompt_ns(const struct sim_story *story);

struct sim_verdict {
    bool is_broken; /* a promised one; the run ends there */
    enum sim_rule rule;
    char text[240];
    int64_t at_ns;
    uint64_t breaches[SIM_RULES]; /* promised or not */
    uint64_t grants;              /* acquisitions that completed */
    uint64_t begun, given_up, renewals, adoptions, losses;
    uint64_t pushes;          /* … of those who had been queued */
    uint64_t writes, refused; /* at the guarded register */
    uint64_t unguarded_lost;  /* updates that a register without guard lost */
    uint64_t waits;           /* turns that were queued */
    int64_t slowest_ns; /* the longest wait after calm, to hold against LIVE */
};

struct sim_oracle;
struct sim_oracle *sim_oracle_new(struct sim_world *world);
void sim_oracle_free(struct sim_oracle *oracle);
const struct sim_verdict *sim_oracle_verdict(const struct sim_oracle *oracle);

/* ---- What users see (world/process.c calls these) ---------------------- */

/* A turn begins: @return its number, for the calls below. */
uint64_t sim_oracle_begin(struct sim_oracle *oracle,
                          const struct sim_turn *turn);

/* It came to nothing (refused, timed out, cancelled, or its process crashed
 * while it waited). */
void sim_oracle_given_up(struct sim_oracle *oracle, uint64_t turn);

/* It is waiting in a queue: `ticket` order is checked among those with one. */
void sim_oracle_queued(struct sim_oracle *oracle, uint64_t turn);

/* It has the lock: `lock` may be looked into until sim_oracle_ended(). */
void sim_oracle_held(struct sim_oracle *oracle, uint64_t turn,
                     struct hf_lock *lock);

/* It calls release, before sim_oracle_ended(): from here on the lock's owner
 * must disappear from the nodes. */
void sim_oracle_released(struct sim_oracle *oracle, uint64_t turn);

/* It begins to give it back, handed it on, was told LOST and stopped, or
 * crashed: it does not believe any more. */
void sim_oracle_ended(struct sim_oracle *oracle, uint64_t turn);

/* Taken on from `from`: the same acquisition goes on under another turn. */
void sim_oracle_adopted(struct sim_oracle *oracle, uint64_t turn, uint64_t from,
                        struct hf_lock *lock);

/* From inside its process: is the time that it is told not more than it has? */
void sim_oracle_look_at_time(struct sim_oracle *oracle, uint64_t turn);

/* Process `process` has run: renewals, deadlines and states may be others. */
void sim_oracle_look(struct sim_oracle *oracle, int process);

/* Node `node` has executed a script (redis/redis.h): its memory is the new one
 * already. */
void sim_oracle_node(struct sim_oracle *oracle, int node,
                     const struct sim_run *run);

/* The same for what takes no counter, before that call. Then its answer is on
 * its way; then the process has read from the link. */
void sim_oracle_script(struct sim_oracle *oracle, const struct sim_link *link,
                       const struct sim_run *run);
/* What the client asked for, and of which node (sim_oracle_node(): what a
 * server executed). */
void sim_oracle_asked(struct sim_oracle *oracle, int node,
                      const struct sim_run *run);
void sim_oracle_wrote(struct sim_oracle *oracle, const struct sim_link *link);
void sim_oracle_read(struct sim_oracle *oracle, const struct sim_link *link);
/* The embedded store has committed (local/transactions.c): this is a counter
 * now, and whose it is; this name is not there; this owner waits, or (not
 * `is_queued`) holds. */
void sim_oracle_counter(struct sim_oracle *oracle, const char *name, size_t len,
                        uint64_t counter, const char *owner, size_t owner_len);
void sim_oracle_counter_gone(struct sim_oracle *oracle, const char *name);
void sim_oracle_place(struct sim_oracle *oracle, const char *name, size_t len,
                      const char *owner, size_t owner_len, bool is_queued);

/* It has waited at the gate of the embedded store since then. */
void sim_oracle_held_up(struct sim_oracle *oracle, int process,
                        int64_t since_ns);

/* PROMPT (prompt.c): a break, or a release that failed, keeps the name taken
 * under this owner. A process has died. */
void sim_prompt_kept(struct sim_oracle *oracle, const struct sim_arg *owner);
void sim_prompt_anew(struct sim_oracle *oracle);

/* A digest of an owner's 32 hex digits; 0: it has none (ground_truth.c). */
uint64_t sim_owner_digest(const char *owner, size_t len);

/* It lost memory: restarted older or empty, flushed, evicted, promoted. */
void sim_oracle_node_forgot(struct sim_oracle *oracle, int node);

/* Nothing breaks from now on. At the end of the run: is all well? */
void sim_oracle_calm(struct sim_oracle *oracle);
void sim_oracle_finish(struct sim_oracle *oracle);

/* A breach that another part of the simulator found. */
void sim_oracle_breach(struct sim_oracle *oracle, enum sim_rule rule,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- What calls return (world/workload.c tells; answer.c judges) ------- */

enum sim_call_kind {
    SIM_CALL_ACQUIRE,
    SIM_CALL_ADOPT,
    SIM_CALL_EXTEND,
    SIM_CALL_RELEASE
};

/* What a lane calls the library for. Its turn is `lane->turn`. */
struct sim_call {
    enum sim_call_kind kind;
    const struct hf_lock *lock; /* EXTEND, RELEASE */
    const char *text;           /* ADOPT: "OWNER@FENCE" */
    int64_t ms;                 /* ACQUIRE: the wait; EXTEND: the new lease */
};

struct sim_lane;

/* A lane calls, and is answered; `lock` is what it got, or NULL. */
void sim_oracle_calls(struct sim_oracle *oracle, const struct sim_lane *lane,
                      const struct sim_call *call);
void sim_oracle_answered(struct sim_oracle *oracle, const struct sim_lane *lane,
                         enum hf_status status, const struct hf_lock *lock);

/* The call will not be answered: it was cancelled, or its process crashed. */
void sim_oracle_uncalled(struct sim_oracle *oracle,
                         const struct sim_lane *lane);

/* A server at this node's address, perhaps not the present one, has executed a
 * script. */
void sim_oracle_executed(struct sim_oracle *oracle, int node,
                         const struct sim_run *run);

/* ---- The registers (register.c): two for each name --------------------- */

/* A read-modify-write in two messages. Both carry the fence; the guarded one
 * refuses what is older than the newest that it has seen, in a read too. Who
 * shares, or has a permit, does not write.
 * @return false: refused. */
bool sim_register_read(struct sim_oracle *oracle, int name, uint64_t fence,
                       bool is_guarded, uint64_t *value);
/* The newest fence that the guarded one has seen. */
uint64_t sim_register_newest(const struct sim_oracle *oracle, int name);
bool sim_register_write(struct sim_oracle *oracle, int name, uint64_t fence,
                        bool is_guarded, uint64_t value);

#endif
