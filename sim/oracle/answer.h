/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the library that is under way, and what the nodes have executed
 * since it began. The world's reports are sim_oracle_calls(),
 * sim_oracle_executed() and sim_oracle_answered() (world/observer.h). */
#ifndef HF_SIM_ORACLE_ANSWER_H
#define HF_SIM_ORACLE_ANSWER_H

#include "oracle/ground_truth.h"

/* Locks that one call asks for: a semaphore's name and all of its permits, or
 * several names, which are fewer. */
#define SIM_WANTS_MAX (1 + SIM_SLOTS_MAX)

/* The owners of a turn's latest attempts that are kept: an older one has been
 * released for many attempts, so that no node has it any more. */
#define SIM_ATTEMPTS_MAX 16

/* A lock that an acquisition needs, or one of several permits. */
struct sim_want {
    struct sim_chain *chain;
    /* the end of the lease by which another owner excluded this call at each
     * node; -1: none since the call began */
    int64_t taken_ns[SIM_NODES_MAX];
    uint64_t mine[SIM_ATTEMPTS_MAX];
    unsigned n_mine;
};

/* A lock that is renewed, adopted or released. */
struct sim_target {
    struct sim_chain *chain;
    uint64_t owner;
    uint64_t fence;
    bool was_lost;   /* when the call began */
    unsigned done;   /* nodes that executed it (bit i is node i) … */
    unsigned denied; /* … that replied that the owner does not have the name */
    unsigned apart;  /* … that it has it at another counter: no vote */
};

struct sim_asking {
    bool is_open;
    enum sim_call_kind kind;
    const struct sim_process *process;
    const struct sim_turn *turn;
    bool has_rivals_within; /* other lanes of its process (answer.c) */
    int64_t turn_ns;        /* its turn began */
    int64_t begun_ns;
    int64_t begun_clock_ns; /* by the clock of its process */
    int64_t span_ms;
    unsigned n_wants;
    struct sim_want wants[SIM_WANTS_MAX];
    unsigned n_targets;
    struct sim_target targets[SIM_PARTS_MAX];
};

struct sim_answers {
    struct sim_asking calls[SIM_PROCESSES_MAX][SIM_LANES_MAX];
    int64_t broken_ns[SIM_NAMES_MAX]; /* last BREAK at a node; 0: never */
};

/* Without calls. Owner: the oracle, which frees it with free(). */
struct sim_answers *sim_answers_new(void);

/* ---- answer_judge.c ------------------------------------------------------ */

/* The state of a held lock became LOST: that may be so before the deadline that
 * its user has seen only if no majority of the nodes has its owner. */
void sim_answer_lost(struct sim_oracle *oracle, const struct sim_live *live);

/* The call has returned `status`. */
void sim_answer_judge(struct sim_oracle *oracle, const struct sim_asking *call,
                      enum hf_status status, const struct hf_lock *lock);

#endif
