/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge remembers. A chain is what has fences of its own: a name, or
 * one permit of a semaphore. All is cheap per call, however long a run is:
 * history is kept as sums of it, in the order of fences. */
#ifndef HF_SIM_ORACLE_STATE_H
#define HF_SIM_ORACLE_STATE_H

#include "oracle.h"
#include "world.h"

#include "client/lock.h"

/* Permits of one semaphore: stories draw few. */
#define SIM_SLOTS_MAX 16

/* Turns that may be under way at once. */
#define SIM_LIVE_MAX ((SIM_PROCESSES_MAX + 1) * SIM_LANES_MAX)

/* The name itself and a permit of it. */
#define SIM_PARTS_MAX (SIM_NAMES_MAX > 2 ? SIM_NAMES_MAX : 2)

/* Of those who came latest, so many are compared for their order. */
#define SIM_RECENT 32

/* Pairs by ascending key. */
struct sim_series {
    struct sim_pair {
        uint64_t key, value;
    } * pairs;
    size_t n, cap;
};

void sim_series_add(struct sim_series *series, uint64_t key, uint64_t value);

/* The value of the last pair whose key is at most `key`; 0: none. */
uint64_t sim_series_at(const struct sim_series *series, uint64_t key);

/* The first pair whose key is at least `key`; NULL: none. */
const struct sim_pair *sim_series_from(const struct sim_series *series,
                                       uint64_t key);

/* An owner that the only node has heard of. */
struct sim_place {
    uint64_t owner;
    uint64_t order;
    int64_t at_ns;
    int64_t sure_ns; /* since then it waits there and hears; 0: not yet */
};

/* One who was served. */
struct sim_served {
    uint64_t order;
    uint64_t fence;
    int64_t at_ns;
    int64_t sure_ns;
    int process;
};

struct sim_chain {
    char text[8]; /* "a", "a#2" */
    bool is_slot;
    /* C1: by fence; value: process, and whether it shared */
    struct sim_series fences;
    /* C2, E1: the greatest fence of those that completed, by number of
     * completion: of all, and of those who had it alone */
    struct sim_series tops, writer_tops;
    /* C3: what each node was last seen to have, and the most that it ever
     * forgot */
    struct sim_seen {
        bool is_known;
        uint64_t counter;
        uint64_t owner; /* of that value, digest; 0: nobody */
        uint64_t lost, lost_owner;
    } nodes[SIM_NODES_MAX];
    char key[32]; /* of the fence at a node; "": not seen yet */
    /* FIFO: when the only node moved the counter to what; who came when; who
     * was served */
    struct sim_series moves;
    struct sim_place places[SIM_RECENT];
    unsigned n_places;
    struct sim_served served[SIM_RECENT];
    unsigned n_served;
};

/* One lock of those that a turn holds. */
struct sim_part {
    struct sim_chain *chain;
    struct hf_lock *lock;
    uint64_t fence;
    int64_t deadline;  /* as last seen, by the clock of its process */
    int64_t until_ns;  /* the same, by the world's, as it looked then */
    int64_t confirmed; /* E1: as last seen */
    int64_t round_at;
    uint64_t round_done; /* completions before the round began */
};

struct sim_live {
    uint64_t turn; /* 0: free */
    bool is_holding;
    int process;
    uint64_t done; /* completions before it began */
    bool was_queued;
    bool was_lost;
    uint64_t queue; /* its number among the queued; 0: none */
    int64_t begun_ns;
    unsigned n_parts;
    struct sim_part parts[SIM_PARTS_MAX];
};

/* A turn for as long as the run lasts. */
struct sim_record {
    const struct sim_turn *turn;
    struct sim_live *live; /* NULL: over */
    uint64_t fence;        /* 0: never had it */
};

struct sim_register {
    uint64_t value, writes;
};

struct sim_answers;

struct sim_oracle {
    struct sim_world *world;
    struct sim_answers *answers; /* calls under way */
    struct sim_verdict verdict;
    struct sim_record *records;
    size_t n_records, cap_records;
    struct sim_live live[SIM_LIVE_MAX];
    struct sim_chain *chains[SIM_NAMES_MAX][1 + SIM_SLOTS_MAX];
    uint64_t done; /* completions */
    uint64_t arrivals;
    int64_t listens_ns[SIM_PROCESSES_MAX]; /* to the only node; 0: does not */
    int64_t forgot_ns; /* when a node last lost memory; -1: never */
    int64_t later_ns;  /* how long "later" is (oracle_rules.c) */
    int64_t calm_ns;   /* -1: not yet */
    int64_t bound_ns;
    bool has_expired; /* counters may be gone, clocks having jumped so far */
    struct sim_register registers[SIM_NAMES_MAX][2]; /* without guard, with */
    uint64_t newest[SIM_NAMES_MAX];
    struct sim_once *once;   /* oracle_once.c; NULL: no turn is of that kind */
    struct sim_calls *calls; /* oracle_calls.c; the same */
};

/* oracle_rules.c: is a breach at this moment a broken promise? */
bool sim_oracle_promises(const struct sim_oracle *oracle, enum sim_rule rule);

/* oracle_chain.c */
struct sim_chain *sim_oracle_chain(struct sim_oracle *oracle, const char *name,
                                   size_t len);
void sim_chain_free(struct sim_chain *chain);

/* A part of it was acquired: C1, C2. */
void sim_chain_completed(struct sim_oracle *oracle, const struct sim_live *live,
                         const struct sim_part *part);
/* Its process has run: E1. */
void sim_part_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part);

/* oracle_beliefs.c: C4, PERMITS. It is believed from now on … */
void sim_beliefs_begin(struct sim_oracle *oracle, struct sim_live *live);
/* … or perhaps for longer. */
void sim_beliefs_look(struct sim_oracle *oracle, struct sim_live *live);

/* oracle_answer.c: ANSWER. The state of a lock that is held became LOST. */
struct sim_answers *sim_answers_new(void);
void sim_answer_lost(struct sim_oracle *oracle, const struct sim_live *live);

/* oracle_order.c: FIFO. */
void sim_order_asked(struct sim_oracle *oracle, struct sim_chain *chain,
                     const struct sim_run *run);
void sim_order_served(struct sim_oracle *oracle, const struct sim_live *live,
                      const struct sim_part *part);

#endif
