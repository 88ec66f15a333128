/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the oracle, for the files of this folder. The world reports to
 * them (world/observer.h): oracle.c changes this state, and calls the rules,
 * each with a header named as its file: chain.h, beliefs.h, spread.h … A chain
 * is a sequence of fences: a name has one, and so has each permit of a
 * semaphore. The cost of a call does not grow with the length of a run: history
 * is kept in series that are sorted by their key.
 *
 * A time is the world's, unless its comment names another clock. The oracle
 * owns all that it points to, except the world, turns, and the locks of parts,
 * which belong to the client and live until sim_oracle_ended(). */
#ifndef HF_SIM_ORACLE_STATE_H
#define HF_SIM_ORACLE_STATE_H

#include "world/world.h"

#include "client/lock.h"

/* Turns that may be under way at once. */
#define SIM_LIVE_MAX ((SIM_PROCESSES_MAX + 1) * SIM_LANES_MAX)

/* Locks that one turn holds: one of each name, or a name and a permit of it. */
#define SIM_PARTS_MAX (SIM_NAMES_MAX > 2 ? SIM_NAMES_MAX : 2)

/* How long a place in a queue, and a grant that is not confirmed, lasts:
 * min(ttl, 6 s). Written down here, and not taken from core: a core with
 * another figure must not move the bounds by which it is judged. */
#define SIM_CLAIM_NS_MAX INT64_C(6000000000)

/* How long a place lasts with this ttl, in nanoseconds. */
static inline int64_t sim_claim_ns(int64_t ttl_ms)
{
    int64_t ttl_ns = ttl_ms * SIM_MS;
    return ttl_ns < SIM_CLAIM_NS_MAX ? ttl_ns : SIM_CLAIM_NS_MAX;
}

/* Each acquisition is compared with this many earlier ones for its order: more
 * than the lanes that can wait for a name at once (24). */
#define SIM_RECENT 32

/* Pairs by ascending key. */
struct sim_series {
    struct sim_pair {
        uint64_t key, value;
    } * pairs;
    size_t n, cap;
};

/* Insert a pair in the order of its key. */
void sim_series_add(struct sim_series *series, uint64_t key, uint64_t value);

/* The value of the last pair whose key is at most `key`; 0: none. */
uint64_t sim_series_at(const struct sim_series *series, uint64_t key);

/* The first pair whose key is at least `key`; NULL: none. */
const struct sim_pair *sim_series_from(const struct sim_series *series,
                                       uint64_t key);

/* An owner that waits, or has waited, in the queue of a name. */
struct sim_place {
    uint64_t owner;
    uint64_t order;
    int64_t at_ns;
    uint8_t nodes;   /* bit mask: it has a place there */
    int64_t sure_ns; /* since then it is queued at all nodes and receives their
                        pushes; 0: not yet */
};

/* A completed acquisition of a waiter. */
struct sim_served {
    uint64_t order;
    uint64_t fence;
    int64_t at_ns;
    int64_t sure_ns;
    int process;
};

struct sim_chain {
    char text[8];  /* "a", "a#2" */
    char lock[16]; /* the key of its lock at a node: "lock:a" */
    size_t lock_len;
    bool is_slot;
    /* C1: key: fence; value: process << 1 | is_shared */
    struct sim_series fences;
    /* C2, E1: key: number of completions; value: the greatest fence completed
     * by then, of all acquisitions, and of the exclusive ones */
    struct sim_series tops, writer_tops;
    /* C3: the last counter seen at each node, and the greatest one that was
     * ever lost there */
    struct sim_seen {
        bool is_known;
        uint64_t counter;
        uint64_t owner; /* digest of the owner at that counter; 0: none */
        uint64_t lost, lost_owner;
    } nodes[SIM_NODES_MAX];
    char key[32]; /* the key of the fence at a node; "": not seen yet */
    /* FIFO: key: counter; value: the time at which a node first had it. Then
     * the latest waiters, and the latest acquisitions */
    struct sim_series moves;
    struct sim_place places[SIM_RECENT];
    unsigned n_places;
    struct sim_served served[SIM_RECENT];
    unsigned n_served;
};

/* SPREAD: the renewals of one lock, at each node. */
struct sim_spread {
    int64_t confirmed_ns; /* by the last renewal; on its process' clock */
    int64_t renewed_ns;
    int64_t others_ns[SIM_NODES_MAX]; /* last time with another owner there */
    int64_t first_ns[SIM_NODES_MAX];  /* the first counted round began later */
    uint8_t n_rounds[SIM_NODES_MAX];  /* renewals that could have reached it */
};

/* RISK: the states that a lock must report, and the times when they are due. */
struct sim_risk {
    int64_t deadline_ns; /* by the clock of its process */
    int64_t span_ns;     /* the time left when the deadline was set */
    bool is_renewed;
    int64_t risk_ns, end_ns; /* by the world's clock, as of the last look */
    uint8_t state;           /* as of the last look */
};

/* One of the locks that a turn holds. */
struct sim_part {
    struct sim_chain *chain;
    struct hf_lock *lock;
    uint64_t fence;
    int64_t deadline_ns;  /* as last seen, by the clock of its process */
    int64_t until_ns;     /* the same by the world's clock, computed then */
    int64_t confirmed_ns; /* E1: as last seen */
    int64_t round_at_ns;
    uint64_t n_round_done; /* completions before the round began */
    struct sim_spread spread;
    struct sim_risk risk;
};

struct sim_live {
    uint64_t turn; /* 0: free */
    bool is_holding;
    int process;
    uint64_t n_done; /* completions before it began */
    bool was_queued;
    bool was_lost;
    bool is_released;
    uint64_t queue; /* its number in order of being queued; 0: none */
    int64_t begun_ns;
    unsigned n_parts;
    struct sim_part parts[SIM_PARTS_MAX];
};

/* One for each turn that has begun, kept until the run ends. */
struct sim_record {
    const struct sim_turn *turn;
    struct sim_live *live; /* NULL: over */
    uint64_t fence;        /* 0: nothing was acquired */
};

/* A register of the guarded store: its value, and how many writes it has
 * acknowledged. */
struct sim_register {
    uint64_t value, n_writes;
};

struct sim_answers;

/* RESIDUE: an owner whose ACQUIRE a node has executed. */
struct sim_asker {
    uint64_t digest; /* 0: free */
    struct sim_chain *chain;
    int process;
    unsigned n_starts; /* of its process */
    bool is_heard;     /* a request of it was executed that was not late */
    int64_t ended_ns;  /* released, or its turn was given up; -1: not yet */
    int64_t asked_ns;  /* its last ACQUIRE or CONFIRM was sent … */
    int64_t ttl_ns;    /* … with this ttl */
    int64_t until_ns;  /* any lease that it has left ends then */
    uint8_t done;      /* bit mask: nodes that need no check any more */
};

/* The latest owners. Older ones are not checked any more: an ACQUIRE of theirs
 * that is still under way is rare, and the cost of a check stays bounded. */
#define SIM_OWNERS 128

struct sim_oracle {
    struct sim_world *world;
    struct sim_answers *answers; /* calls under way */
    struct sim_verdict verdict;
    struct sim_record *records;
    size_t n_records, cap_records;
    struct sim_live live[SIM_LIVE_MAX];
    struct sim_chain *chains[SIM_NAMES_MAX][1 + SIM_SLOTS_MAX];
    uint64_t n_done; /* completions */
    uint64_t n_arrivals;
    int64_t listens_ns[SIM_PROCESSES_MAX]; /* it receives pushes of all nodes
                                              since then; 0: it does not */
    int64_t forgot_ns; /* when a node last lost data; -1: never */
    int64_t later_ns;  /* how long "later" is (rules.c) */
    int64_t calm_ns;   /* when faults ended; -1: not yet */
    int64_t bound_ns;
    int64_t set_back_ns; /* leases and places last longer by that, at most */
    bool has_expired;    /* clock jumps may have expired counters */
    /* A fault may affect requests of the process to the node until then. */
    int64_t disturbed_ns[SIM_PROCESSES_MAX][SIM_NODES_MAX];
    int64_t apart_ns[SIM_PROCESSES_MAX][SIM_NODES_MAX]; /* last time the node
                                                           did not vote */
    int64_t paused_ns[SIM_PROCESSES_MAX]; /* a fault stops the process until */
    int64_t midway_ns[SIM_PROCESSES_MAX]; /* length of a pause still to come */
    int64_t midway_until_ns[SIM_PROCESSES_MAX];
    int64_t held_up_ns[SIM_PROCESSES_MAX]; /* last wait at the gate of an
                                              embedded store that was no longer
                                              than node_timeout */
    int64_t next_fault_ns; /* faults of the story from then on are not noted */
    struct sim_asker owners[SIM_OWNERS];
    unsigned n_owners, n_ended;
    int64_t free_ns[SIM_NAMES_MAX]; /* PROMPT: free and wanted since; -1: not */
    int64_t kept_ns[SIM_NAMES_MAX]; /* PROMPT: last time that an owner which may
                                       not release prevented a majority; -1:
                                       never */
    int64_t prompt_ns;
    struct sim_series gone; /* PROMPT: owners that may not release */
    struct sim_register registers[SIM_NAMES_MAX][2]; /* without guard, with */
    uint64_t newest[SIM_NAMES_MAX];
    struct sim_once *once;   /* once.c; NULL: not needed so far */
    struct sim_calls *calls; /* calls.c; NULL: not needed so far */
};

/* A breach of a rule that is not promised at this moment is only counted
 * (rules.c). */
bool sim_oracle_promises(const struct sim_oracle *oracle, enum sim_rule rule);

/* @return the deadline of the part's lock, by the world's clock;
 * HF_LONG_AGO.ns: it has none (beliefs.c). */
int64_t sim_part_until(const struct sim_oracle *oracle,
                       const struct sim_live *live,
                       const struct sim_part *part);

#endif
