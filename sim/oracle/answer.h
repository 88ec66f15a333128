/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the library that is under way, and what the nodes did meanwhile. */
#ifndef HF_SIM_ORACLE_ANSWER_H
#define HF_SIM_ORACLE_ANSWER_H

#include "oracle/ground_truth.h"

/* The name and all permits of a semaphore; or several names. */
#define SIM_WANTS_MAX (1 + SIM_SLOTS_MAX)

/* Of the owners of a turn's attempts so many are remembered. */
#define SIM_ATTEMPTS_MAX 16

/* A lock that an acquisition needs, or one of several of which any will do. */
struct sim_want {
    struct sim_chain *chain;
    /* until when another owner kept the name from us at each node; -1: none has
     * since the call began */
    int64_t taken_ns[SIM_NODES_MAX];
    uint64_t mine[SIM_ATTEMPTS_MAX];
    unsigned n_mine;
};

/* A lock that is renewed, adopted or given back. */
struct sim_target {
    struct sim_chain *chain;
    uint64_t owner;
    uint64_t fence;
    bool was_lost;   /* when the call began */
    unsigned done;   /* nodes that executed it (bit i is node i) … */
    unsigned denied; /* … and that said that it is not ours */
    unsigned apart; /* … or ours at another counter: no vote for this fence */
};

struct sim_asking {
    bool is_open;
    enum sim_call_kind kind;
    const struct sim_process *process;
    const struct sim_turn *turn;
    bool has_rivals_within; /* other lanes of its process: see below */
    int64_t begun_ns;
    int64_t begun_clock_ns; /* by the clock of its process */
    int64_t ms;
    unsigned n_wants;
    struct sim_want wants[SIM_WANTS_MAX];
    unsigned n_targets;
    struct sim_target targets[SIM_PARTS_MAX];
};

struct sim_answers {
    struct sim_asking calls[SIM_PROCESSES_MAX][SIM_LANES_MAX];
    int64_t broken_ns[SIM_NAMES_MAX]; /* BREAK was executed last; 0: never */
};

/* answer_judge.c: the call has been answered. */
void sim_answer_judge(struct sim_oracle *oracle, const struct sim_asking *call,
                      enum hf_status status, const struct hf_lock *lock);

#endif
