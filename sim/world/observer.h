/* SPDX-License-Identifier: Apache-2.0 */
/* The interface from the world to the oracle: the world reports calls, results
 * and scripts; the oracle returns one verdict for the run. oracle/ implements
 * all of it, and reads the world's state; the world includes no other header of
 * the oracle. Reports about a process are made from its fiber, those about a
 * node while it executes a script.
 *
 *     oracle = sim_oracle_new(world);          first of all, in an empty world
 *     turn = sim_oracle_begin(oracle, …);      a turn; then
 *     sim_oracle_given_up(oracle, turn);         it acquired nothing, or
 *     sim_oracle_held(oracle, turn, lock);       it holds the lock, until
 *     sim_oracle_ended(oracle, turn);
 *     sim_oracle_look(oracle, process);        after each run of a process
 *     sim_oracle_calm(oracle);                 the last fault is over
 *     sim_oracle_finish(oracle);               after the last event, if the
 *                                              verdict is not broken
 *     *sim_oracle_verdict(oracle)              at any time
 *     sim_oracle_free(oracle);
 *
 * Processes, nodes, lanes and names are indexes from 0, turns are numbers from
 * 1. Times are the world's, in nanoseconds, unless a comment says otherwise.
 * All arguments are borrowed for the call, except a lock that is held. */
#ifndef HF_SIM_WORLD_OBSERVER_H
#define HF_SIM_WORLD_OBSERVER_H

#include "story/story.h"

#include <holdfast/holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* The guarantees, defined in oracle/oracle.h. */
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

/* Zeroed until something happens. The counts are of the whole run. */
struct sim_verdict {
    bool is_broken; /* a promised guarantee is broken; the run ends there.
                       The next three members are only valid then */
    enum sim_rule rule;
    char text[240]; /* what was broken, in one line, with its NUL */
    int64_t at_ns;  /* when */
    uint64_t n_breaches[SIM_RULES]; /* promised or not */
    uint64_t n_grants;              /* acquisitions that completed */
    uint64_t n_begun, n_given_up, n_renewals, n_adoptions, n_losses;
    uint64_t n_pushes;            /* … by turns that had been queued */
    uint64_t n_writes, n_refused; /* at the guarded register */
    uint64_t n_unguarded_lost; /* updates that a register without guard lost */
    uint64_t n_waits;          /* turns that were queued */
    int64_t slowest_ns; /* the longest wait after calm, to compare with LIVE */
};

/* The oracle of a world. The verdict lives as long as the oracle; NULL may be
 * freed. */
struct sim_oracle *sim_oracle_new(struct sim_world *world);
void sim_oracle_free(struct sim_oracle *oracle);
const struct sim_verdict *sim_oracle_verdict(const struct sim_oracle *oracle);

/* ---- Turns and nodes ---------------------------------------------------- */

/* A turn begins: @return its number, for the calls below. */
uint64_t sim_oracle_begin(struct sim_oracle *oracle,
                          const struct sim_turn *turn);

/* The turn acquired nothing: it was refused, timed out, was cancelled, or its
 * process crashed while it waited. */
void sim_oracle_given_up(struct sim_oracle *oracle, uint64_t turn);

/* The turn is waiting in a queue: FIFO is checked among such turns. */
void sim_oracle_queued(struct sim_oracle *oracle, uint64_t turn);

/* The turn has acquired `lock`, which the oracle may read until
 * sim_oracle_ended(). */
void sim_oracle_held(struct sim_oracle *oracle, uint64_t turn,
                     struct hf_lock *lock);

/* The turn calls release, before sim_oracle_ended(): from now on the lock's
 * owner must disappear from the nodes. */
void sim_oracle_released(struct sim_oracle *oracle, uint64_t turn);

/* The turn begins its release, has handed the lock on, has stopped since the
 * lock is LOST, or its process crashed: its belief ends. */
void sim_oracle_ended(struct sim_oracle *oracle, uint64_t turn);

/* Turn `turn` has adopted the lock of turn `from`: the same acquisition
 * continues under another turn. */
void sim_oracle_adopted(struct sim_oracle *oracle, uint64_t turn, uint64_t from,
                        struct hf_lock *lock);

/* From inside the process: is hf_lock_remaining_ms() within the deadline? */
void sim_oracle_look_at_time(struct sim_oracle *oracle, uint64_t turn);

/* Process `process` has run: confirmations, deadlines and states may have
 * changed. */
void sim_oracle_look(struct sim_oracle *oracle, int process);

/* Node `node` has executed a script (redis/redis.h); its memory contains the
 * result: the rules about counters and owners. */
void sim_oracle_node(struct sim_oracle *oracle, int node,
                     const struct sim_run *run);

/* The same for the rules without counters, before sim_oracle_node(). Then:
 * sim_oracle_wrote() when the reply is sent, and sim_oracle_read() when the
 * process has read from the link. */
void sim_oracle_script(struct sim_oracle *oracle, const struct sim_link *link,
                       const struct sim_run *run);
void sim_oracle_wrote(struct sim_oracle *oracle, const struct sim_link *link);
void sim_oracle_read(struct sim_oracle *oracle, const struct sim_link *link);

/* A request of the client to the embedded store (sim_oracle_node() is for
 * scripts that servers executed). */
void sim_oracle_asked(struct sim_oracle *oracle, int node,
                      const struct sim_run *run);

/* The embedded store has committed a transaction (local/transactions.c): the
 * counter of the name and its owner; the name does not exist; the owner is in
 * the queue, or (not `is_queued`) is a holder. */
void sim_oracle_counter(struct sim_oracle *oracle, const char *name, size_t len,
                        uint64_t counter, const char *owner, size_t owner_len);
void sim_oracle_counter_gone(struct sim_oracle *oracle, const char *name);
void sim_oracle_place(struct sim_oracle *oracle, const char *name, size_t len,
                      const char *owner, size_t owner_len, bool is_queued);

/* The process has waited at the gate of the embedded store since then. */
void sim_oracle_held_up(struct sim_oracle *oracle, int process,
                        int64_t since_ns);

/* PROMPT (oracle/prompt.c): the owner keeps the name after a break, or after a
 * release that failed; a process has ended. */
void sim_prompt_kept(struct sim_oracle *oracle, const struct sim_arg *owner);
void sim_prompt_anew(struct sim_oracle *oracle);

/* A digest of an owner's 32 hex digits; 0: it has none (oracle/ground_truth.c).
 */
uint64_t sim_owner_digest(const char *text, size_t len);

/* The node has lost data: restarted with older data or none, flushed, evicted,
 * promoted. */
void sim_oracle_node_forgot(struct sim_oracle *oracle, int node);

/* The last fault is over. Then, at the end of the run: the final checks. */
void sim_oracle_calm(struct sim_oracle *oracle);
void sim_oracle_finish(struct sim_oracle *oracle);

/* A breach that another part of the simulator found. */
void sim_oracle_breach(struct sim_oracle *oracle, enum sim_rule rule,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Results of calls (oracle/answer.c) --------------------------------- */

/* The calls whose answers are judged. */
enum sim_call_kind {
    SIM_CALL_ACQUIRE,
    SIM_CALL_ADOPT,
    SIM_CALL_EXTEND,
    SIM_CALL_RELEASE
};

/* A call of a lane to the library, for the turn `lane->turn`. Borrowed. */
struct sim_user_call {
    enum sim_call_kind kind;
    const struct hf_lock *lock; /* EXTEND, RELEASE */
    const char *text;           /* ADOPT: "OWNER@FENCE" */
    int64_t span_ms;            /* ACQUIRE: the wait; EXTEND: the new lease */
};

/* The lane makes the call; the call has returned `status`. `lock` is the lock
 * that it is about, or NULL. */
void sim_oracle_calls(struct sim_oracle *oracle, const struct sim_lane *lane,
                      const struct sim_user_call *what);
void sim_oracle_answered(struct sim_oracle *oracle, const struct sim_lane *lane,
                         enum hf_status status, const struct hf_lock *lock);

/* The call will not return: it was cancelled, or its process crashed. */
void sim_oracle_uncalled(struct sim_oracle *oracle,
                         const struct sim_lane *lane);

/* A server at this node's address, perhaps not the present one, has executed a
 * script. */
void sim_oracle_executed(struct sim_oracle *oracle, int node,
                         const struct sim_run *run);

/* ---- The registers (oracle/register.c): two for each name --------------- */

/* A read-modify-write in two requests. Both carry the fence. The guarded
 * register refuses a request, also a read, whose fence is below the newest that
 * it has seen. Sharers and holders of permits do not write.
 * @return false: refused. */
bool sim_register_read(struct sim_oracle *oracle, int name, uint64_t fence,
                       bool is_guarded, uint64_t *value);
/* @return the newest fence that the guarded register has seen. */
uint64_t sim_register_newest(const struct sim_oracle *oracle, int name);

/** The second of the two requests. @return false: refused, and nothing is
 * written. */
bool sim_register_write(struct sim_oracle *oracle, int name, uint64_t fence,
                        bool is_guarded, uint64_t value);

/* ---- RESERVE, BREAK (oracle/calls.c) ------------------------------------ */

/* hf_lock_release_reserved() is called for the lock of turn `turn`, while the
 * turn still holds it; it has returned. If it returned HF_OK, the names are not
 * granted before the reservation ends. */
void sim_reserve_begins(struct sim_oracle *oracle, uint64_t turn,
                        int64_t reserve_ms);
void sim_reserved(struct sim_oracle *oracle, uint64_t turn,
                  enum hf_status status);

/* hf_client_break() is called; it has returned. `now`: without a wait. */
void sim_break_begins(struct sim_oracle *oracle, int process, int name);
void sim_break_ended(struct sim_oracle *oracle, int process, bool now,
                     enum hf_status status, int64_t held_until_ms);

/* A break of the name that does not wait was executed since then: requests in
 * flight at that time may have no effect. */
bool sim_break_voids(const struct sim_oracle *oracle, int name,
                     int64_t since_ns);

/* ---- READ (oracle/reads.c) ---------------------------------------------- */

/* A call that only reads has returned this holder or (`waits`) waiter of a
 * name, with its owner as the library shows it. */
void sim_read_returned(struct sim_oracle *oracle, int process, int name,
                       const struct hf_holder *holder, bool waits);

/* ---- FOREIGN (oracle/foreign.c) ----------------------------------------- */

#define SIM_FOREIGN_TEXT 48 /* bytes of "plain-pP.LANE-ATTEMPT", its NUL */

/* A plain lock of another library is at a node until `until_ms`, by the node's
 * clock; its owner has deleted it there. */
void sim_foreign_set(struct sim_oracle *oracle, int node, int name,
                     const char *text, int64_t until_ms);
void sim_foreign_deleted(struct sim_oracle *oracle, int node, int name);

/* A plain client believes that it holds the name until then; its belief has
 * ended. */
void sim_foreign_held(struct sim_oracle *oracle, int process, int lane,
                      int name, int64_t until_ns);
void sim_foreign_ended(struct sim_oracle *oracle, int process, int lane);

/* ---- PERIOD (oracle/once.c) --------------------------------------------- */

/* hf_client_marked() is called; it has returned the rest of the period. */
void sim_once_look_begins(struct sim_oracle *oracle, int process);
void sim_once_looked(struct sim_oracle *oracle, int process, int name,
                     int64_t left_ms);

/* hf_lock_mark() is called by turn `turn`; it has returned. */
void sim_once_mark_begins(struct sim_oracle *oracle, uint64_t turn,
                          int64_t period_ms);
void sim_once_marked(struct sim_oracle *oracle, uint64_t turn,
                     enum hf_status status);

/* The same for hf_lock_unmark(), and for a break of a name. */
void sim_once_unmark_begins(struct sim_oracle *oracle, uint64_t turn);
void sim_once_unmarked(struct sim_oracle *oracle, uint64_t turn,
                       enum hf_status status);
void sim_once_break_begins(struct sim_oracle *oracle, int process, int name);

#endif
