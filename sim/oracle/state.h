/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge remembers. A chain is what has fences of its own: a name, or
 * one permit of a semaphore. All is cheap per call, however long a run is:
 * history is kept as sums of it, in the order of fences. */
#ifndef HF_SIM_ORACLE_STATE_H
#define HF_SIM_ORACLE_STATE_H

#include "oracle/oracle.h"
#include "world/world.h"

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

/* An owner that waits, or did. */
struct sim_place {
    uint64_t owner;
    uint64_t order;
    int64_t at_ns;
    uint8_t nodes;   /* bit mask: it has a place there */
    int64_t sure_ns; /* since then it waits everywhere and hears; 0: not yet */
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
        uint64_t owner; /* of that value, digest; 0: none */
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

/* SPREAD: of one lock that is held over several nodes. */
struct sim_spread {
    int64_t confirmed; /* of the last renewal, by the clock of its process */
    int64_t renewed_ns;
    int64_t others_ns[SIM_NODES_MAX]; /* last seen there: another owner */
    int64_t first_ns[SIM_NODES_MAX];  /* the first counted round began later */
    uint8_t rounds[SIM_NODES_MAX];    /* renewals that could have reached it */
};

/* RISK: what its state must be, and from when on. */
struct sim_risk {
    int64_t deadline; /* by the clock of its process */
    int64_t span_ns;  /* what was left when the deadline was set */
    bool is_renewed;
    int64_t risk_ns, end_ns; /* by the world's clock, as of the last look */
    uint8_t state;           /* as of the last look */
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
    struct sim_spread spread;
    struct sim_risk risk;
};

struct sim_live {
    uint64_t turn; /* 0: free */
    bool is_holding;
    int process;
    uint64_t done; /* completions before it began */
    bool was_queued;
    bool was_lost;
    bool is_released;
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
/* RESIDUE: an owner that a node has been asked to serve. */
struct sim_asker {
    uint64_t digest; /* 0: free */
    struct sim_chain *chain;
    int process;
    unsigned starts;  /* of its process */
    bool is_heard;    /* not only late copies of its requests were executed */
    int64_t ended_ns; /* released, or its turn was given up; -1: not yet */
    int64_t asked_ns; /* it last asked a node for the name, or to keep it … */
    int64_t ttl_ns;   /* … for so long */
    int64_t until_ns; /* the lease that it may have left ends */
    uint8_t done;     /* bit mask: nodes that need not be looked at any more */
};

#define SIM_OWNERS 128

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
    int64_t later_ns;  /* how long "later" is (rules.c) */
    int64_t calm_ns;   /* -1: not yet */
    int64_t bound_ns;
    bool has_expired; /* counters may be gone, clocks having jumped so far */
    /* Requests from a process to a node were disturbed until then. */
    int64_t disturbed_ns[SIM_PROCESSES_MAX][SIM_NODES_MAX];
    int64_t apart_ns[SIM_PROCESSES_MAX][SIM_NODES_MAX]; /* last: no vote */
    int64_t paused_ns[SIM_PROCESSES_MAX]; /* a process could not run until */
    int64_t midway_ns[SIM_PROCESSES_MAX]; /* of a pause that is still to come */
    int64_t midway_until_ns[SIM_PROCESSES_MAX];
    int64_t held_up_ns[SIM_PROCESSES_MAX]; /* at the gate of an embedded store,
                                              for no longer than node_timeout */
    int64_t next_fault_ns; /* from then on the story's are not counted yet */
    struct sim_asker owners[SIM_OWNERS];
    unsigned n_owners, n_ended;
    int64_t free_ns[SIM_NAMES_MAX]; /* PROMPT: free, and wanted; -1: not */
    int64_t kept_ns[SIM_NAMES_MAX]; /* PROMPT: last kept from a majority by an
                                       owner that may not release; -1: never */
    int64_t prompt_ns;
    struct sim_series gone; /* PROMPT: owners that may not release */
    struct sim_register registers[SIM_NAMES_MAX][2]; /* without guard, with */
    uint64_t newest[SIM_NAMES_MAX];
    struct sim_once *once;   /* once.c; NULL: no turn is of that kind */
    struct sim_calls *calls; /* calls.c; the same */
};

/* rules.c: is a breach at this moment a broken promise? */
bool sim_oracle_promises(const struct sim_oracle *oracle, enum sim_rule rule);

/* chain.c */
struct sim_chain *sim_oracle_chain(struct sim_oracle *oracle, const char *name,
                                   size_t len);
void sim_chain_free(struct sim_chain *chain);

/* A part of it was acquired: C1, C2. */
void sim_chain_completed(struct sim_oracle *oracle, const struct sim_live *live,
                         const struct sim_part *part);
/* Its process has run: E1. */
void sim_part_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part);

/* beliefs.c: until when its lock shows that it is held, by the world's
 * clock; INT64_MIN: not at all. */
int64_t sim_part_until(const struct sim_oracle *oracle,
                       const struct sim_live *live,
                       const struct sim_part *part);

/* C4, PERMITS. It is believed from now on … */
void sim_beliefs_begin(struct sim_oracle *oracle, struct sim_live *live);
/* … or perhaps for longer. */
void sim_beliefs_look(struct sim_oracle *oracle, struct sim_live *live);

/* answer.c: ANSWER. The state of a lock that is held became LOST. */
struct sim_answers *sim_answers_new(void);
void sim_answer_lost(struct sim_oracle *oracle, const struct sim_live *live);

/* disturbed.c: faults that touch a process and a node. Both are up, they
 * are connected, the node votes, and no fault has touched them since.
 * INT64_MAX: not now. */
int64_t sim_reach_since(struct sim_oracle *oracle, int process, unsigned node);
/* The process could run at any time since then. */
int64_t sim_reach_runs_since(struct sim_oracle *oracle, int process);
/* Process `process` has run: how does it see the nodes? */
void sim_reach_look(struct sim_oracle *oracle, int process);
/* The longest that a message takes when nothing disturbs it. */
int64_t sim_reach_way_ns(const struct sim_world *world);
/* The longest lease is long enough for requests to be answered in it. */
bool sim_reach_is_fast(const struct sim_story *story, int64_t ttl_ms);

/* ground_truth.c: "<32 hex digits>:p2:…" is p2's. @return -1: of no process
 * that we know. */
int sim_owner_process(const char *owner, size_t len);

/* residue.c: RESIDUE of releases. */
void sim_owner_ran(struct sim_oracle *oracle, struct sim_chain *chain, int node,
                   const struct sim_run *run);
void sim_owner_ended(struct sim_oracle *oracle, const struct sim_live *live,
                     bool is_released);
/* It is not given back: handed on, or its process crashed. */
void sim_owner_handed_on(struct sim_oracle *oracle,
                         const struct sim_live *live);
void sim_owner_forgot(struct sim_oracle *oracle, int node);
void sim_owner_look(struct sim_oracle *oracle);
/* The lock's text at a node; NULL: it is free there. */
const char *sim_owner_at(const struct sim_oracle *oracle,
                         const struct sim_chain *chain, unsigned node,
                         size_t *len);

/* spread.c: SPREAD. */
void sim_spread_begin(struct sim_oracle *oracle, struct sim_part *part);
void sim_spread_look(struct sim_oracle *oracle, const struct sim_live *live,
                     struct sim_part *part);
void sim_spread_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node);

/* prompt.c: PROMPT. A turn began, was granted or released something, or a
 * process has run. */
void sim_prompt_look(struct sim_oracle *oracle);
void sim_prompt_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node, const struct sim_arg *owner);
/* It holds no longer. */
void sim_prompt_left(struct sim_oracle *oracle, const struct sim_live *live);

/* risk.c: RISK. */
void sim_risk_begin(struct sim_oracle *oracle, const struct sim_live *live,
                    struct sim_part *part);
void sim_risk_look(struct sim_oracle *oracle, const struct sim_live *live,
                   struct sim_part *part);

/* order.c: FIFO. Nodes, if several, have clocks that are equal. */
bool sim_order_is_total(const struct sim_story *story);
void sim_order_asked(struct sim_oracle *oracle, struct sim_chain *chain,
                     int node, const struct sim_run *run);
/* The counter is at this value for the first time. */
void sim_order_moved(struct sim_oracle *oracle, struct sim_chain *chain,
                     uint64_t counter, const struct sim_run *run);
void sim_order_served(struct sim_oracle *oracle, const struct sim_live *live,
                      const struct sim_part *part);

#endif
