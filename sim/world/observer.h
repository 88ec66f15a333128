/* SPDX-License-Identifier: Apache-2.0 */
/* What the world reports, call by call, and what comes back: one verdict for
 * the run. oracle/ implements all of it, and looks into the world; the world
 * knows no more of the oracle than this. What is reported of a process comes
 * from its fiber, and what a node did while it executes. */
#ifndef HF_SIM_WORLD_OBSERVER_H
#define HF_SIM_WORLD_OBSERVER_H

#include "story/story.h"

#include <holdfast/holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* The guarantees: oracle/oracle.h says what each is. */
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

struct sim_oracle;
struct sim_world;
struct sim_arg;
struct sim_run;
struct sim_link;
struct sim_lane;
struct hf_lock;
struct hf_holder;

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

struct sim_oracle *sim_oracle_new(struct sim_world *world);
void sim_oracle_free(struct sim_oracle *oracle);
const struct sim_verdict *sim_oracle_verdict(const struct sim_oracle *oracle);

/* ---- What users see ----------------------------------------------------- */

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

/* PROMPT (oracle/prompt.c): a break, or a release that failed, keeps the name
 * taken under this owner. A process has died. */
void sim_prompt_kept(struct sim_oracle *oracle, const struct sim_arg *owner);
void sim_prompt_anew(struct sim_oracle *oracle);

/* A digest of an owner's 32 hex digits; 0: it has none (oracle/ground_truth.c).
 */
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

/* ---- What calls return (oracle/answer.c) -------------------------------- */

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

/* ---- The registers (oracle/register.c): two for each name --------------- */

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

/* ---- RESERVE, BREAK (oracle/calls.c) ------------------------------------ */

/* hf_lock_release_reserved() of the lock of turn `turn` has returned: its names
 * are not granted until then. Begin it while the turn still holds. */
void sim_reserve_begins(struct sim_oracle *oracle, uint64_t turn,
                        int64_t reserve_ms);
void sim_reserved(struct sim_oracle *oracle, uint64_t turn,
                  enum hf_status status);

/* hf_client_break() is called; it has returned. */
void sim_break_begins(struct sim_oracle *oracle, int process, int name);
void sim_break_ended(struct sim_oracle *oracle, int process, bool now,
                     enum hf_status status, int64_t held_until_ms);

/* Was the name broken at once at a node since then? What was under way may be
 * void. */
bool sim_break_voids(const struct sim_oracle *oracle, int name,
                     int64_t since_ns);

/* ---- READ (oracle/reads.c) ---------------------------------------------- */

/* What a call that only reads was told of a name: a holder, or one who waits,
 * with its owner as the library shows it. */
void sim_read_told(struct sim_oracle *oracle, int process, int name,
                   const struct hf_holder *holder, bool waits);

/* ---- FOREIGN (oracle/foreign.c) ----------------------------------------- */

#define SIM_FOREIGN_TEXT 48

/* A plain lock of another library is at a node until then, by the node's own
 * clock in ms; it was deleted by its owner. */
void sim_foreign_set(struct sim_oracle *oracle, int node, int name,
                     const char *text, int64_t until_ms);
void sim_foreign_deleted(struct sim_oracle *oracle, int node, int name);

/* It believes to hold the name until then; it gives it back, or is gone. */
void sim_foreign_held(struct sim_oracle *oracle, int process, int lane,
                      int name, int64_t until_ns);
void sim_foreign_ended(struct sim_oracle *oracle, int process, int lane);

/* ---- PERIOD (oracle/once.c) --------------------------------------------- */

/* hf_client_marked() is called; it has returned what is left. */
void sim_once_look_begins(struct sim_oracle *oracle, int process);
void sim_once_looked(struct sim_oracle *oracle, int process, int name,
                     int64_t left_ms);

/* hf_lock_mark() is called by turn `turn`; it has returned. */
void sim_once_mark_begins(struct sim_oracle *oracle, uint64_t turn,
                          int64_t period_ms);
void sim_once_marked(struct sim_oracle *oracle, uint64_t turn,
                     enum hf_status status);

/* The same for hf_lock_unmark(), and of a name that is being broken. */
void sim_once_unmark_begins(struct sim_oracle *oracle, uint64_t turn);
void sim_once_unmarked(struct sim_oracle *oracle, uint64_t turn,
                       enum hf_status status);
void sim_once_break_begins(struct sim_oracle *oracle, int process, int name);

#endif
