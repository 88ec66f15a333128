/* SPDX-License-Identifier: Apache-2.0 */
/* A story: the complete input of a simulation. It names the processes and
 * nodes, the turns of each process, and the faults with their times. A story is
 * drawn from a seed, read from a file, or cut down to the few lines that break
 * a guarantee. The same story always gives the same run, to the byte.
 *
 * Details that a story does not contain (the delay of each message, the jitter
 * of a client) are drawn from a counted stream for each link and process:
 * removing one line changes no draw of another.
 *
 *     struct sim_story story;
 *     sim_story_draw(&story, seed, -1);            or sim_story_read()
 *     sim_story_add_fault(&story, &fault);         its regime limits it:
 *                                                  regime.c
 *     sim_run(&story, NULL, NULL, &verdict);       world/run_story.h
 *     sim_story_write(&story, stdout);
 *     sim_story_fini(&story);
 *
 * sim_story_draw(), sim_story_read() and sim_story_copy() set all fields of a
 * story that has no value yet. The caller owns it, and it owns its two lists.
 * After sim_story_read() has returned false no sim_story_fini() is due. Only
 * sim_story_add_fault() may add a fault: the list is sorted. Without memory the
 * program aborts. */
#ifndef HF_SIM_STORY_H
#define HF_SIM_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Nanoseconds of a millisecond, and of a second. */
#define SIM_MS INT64_C(1000000)
#define SIM_S INT64_C(1000000000)

/* The greatest numbers in a story. They are small, since rare meetings of few
 * parts find as much and a shrunk story has few: */
#define SIM_NODES_MAX 5     /* servers: two may fail */
#define SIM_PROCESSES_MAX 8 /* the bits of a mask in uint8_t */
#define SIM_LANES_MAX 3     /* turns of one process at the same time */
#define SIM_NAMES_MAX 4     /* "a" to "d": the bits of a mask */
#define SIM_SLOTS_MAX 16    /* permits of one semaphore */

/* How far the world deviates from Holdfast's assumptions. The regime decides
 * which guarantees are promised (oracle/oracle.h). */
enum sim_regime {
    SIM_CALM,            /* no faults */
    SIM_NETWORK,         /* delay, loss, cuts, partitions; processes pause
                            and crash; nodes pause */
    SIM_RATES,           /* the same, and clocks drift apart within 1% */
    SIM_RESTART_DURABLE, /* the same, and nodes restart with their data */
    SIM_AMNESIA,         /* the same, and nodes restart empty or with older
                            data; wall clocks are right; quarantine */
    SIM_FLOOR_ALONE,     /* the same without quarantine; nodes are down for
                            longer than a step of the clock floor */
    SIM_WILD_CLOCKS,     /* SIM_NETWORK's faults, and every clock jumps */
    SIM_AMNESIA_WILD,    /* lost data and wild clocks: fences may be broken */
    SIM_FAILOVER,        /* a lagging replica takes over while the old
                            primary keeps its connections */
    SIM_EVICT,           /* keys disappear; connections stay */
    SIM_FLUSH,           /* FLUSHALL; connections stay */
    SIM_BOOT_CLOCKS,     /* SIM_AMNESIA's faults, and a node's wall clock is
                            wrong when it starts, and set right soon after */
    SIM_LOCAL,           /* the embedded store: its processes stop and die in
                            any call; the host restarts; the disk is full */
    SIM_REGIMES
};

enum sim_fault_kind {
    SIM_FAULT_CUT,          /* connections of process a with node b end (b, a
                               -1: all) */
    SIM_FAULT_SILENCE,      /* for `span` nothing arrives from a at b … */
    SIM_FAULT_DEAFNESS,     /* … or from node b at a (either -1: all) */
    SIM_FAULT_PARTITION,    /* for `span`: no message passes between processes
                               and nodes whose bits in `mask` differ; process i
                               is bit i, node i is bit 16 + i */
    SIM_FAULT_SLOW,         /* for `span`: delays of a with b are `amount` ns
                               longer, one way each */
    SIM_FAULT_GHOST,        /* connections of process a with node b end after
                               `amount`; the requests that a has sent on them
                               until then arrive after `span` */
    SIM_FAULT_PAUSE,        /* process a is paused for `span`; its clock runs
                               on, as CLOCK_BOOTTIME does */
    SIM_FAULT_PAUSE_MIDWAY, /* the same, right after its next clock reading: in
                               the middle of a call */
    SIM_FAULT_CRASH,        /* process a ends; after `span` it starts again */
    SIM_FAULT_STOP,         /* node b is paused for `span` (SIGSTOP) */
    SIM_FAULT_RESTART, /* node b is down for `span`; it restarts with all its
                          data */
    SIM_FAULT_AGE,     /* … with its data of `amount` ns ago */
    SIM_FAULT_EMPTY,   /* … empty */
    SIM_FAULT_PROMOTE, /* a replica that is `amount` ns behind takes node b's
                          address; connections with the old primary stay open
                          for `span` */
    SIM_FAULT_FLUSH,   /* FLUSHALL at node b */
    SIM_FAULT_EVICT,   /* `amount` keys of node b disappear */
    SIM_FAULT_FULL,    /* node b refuses commands that need memory for `span` */
    SIM_FAULT_FORGET_SCRIPTS, /* SCRIPT FLUSH at node b */
    SIM_FAULT_NODE_CLOCK,     /* node b's wall clock jumps by `amount` ns */
    SIM_FAULT_PROCESS_CLOCK,  /* process a's clock jumps by `amount` ns, or
                                 stands still that long if it is negative (a
                                 suspend that CLOCK_BOOTTIME did not count) */
    SIM_FAULT_REBOOT,   /* the host of process a is down for `span`: all its
                           processes end, its clock begins at 0 */
    SIM_FAULT_REPLICA,  /* node b is down; after `span` a replica with a long
                           uptime, `amount` ns behind, has its address */
    SIM_FAULT_RETURN,   /* the old primary that a promotion replaced has node
                           b's address again */
    SIM_FAULT_EVERYSEC, /* node b runs with appendfsync everysec for `span` */
    SIM_FAULT_UNSYNCED, /* … with no-appendfsync-on-rewrite yes */
    SIM_FAULT_STOP_IN_CALL, /* process a stops for `span` in its `amount`-th
                               call from now on (local/machine.h) */
    SIM_FAULT_KILL_IN_CALL, /* … ends there; after `span` it starts again */
    SIM_FAULTS
};

struct sim_fault {
    int64_t at_ns;
    enum sim_fault_kind kind;
    int process; /* a; -1: all */
    int node;    /* b; -1: all */
    int64_t span_ns;
    int64_t amount;
    uint32_t mask;
};

enum sim_turn_kind {
    SIM_TURN_LOCK,      /* acquires, works, releases */
    SIM_TURN_BREAK,     /* hf_client_break(), which waits for the holder */
    SIM_TURN_BREAK_NOW, /* … or does not */
    SIM_TURN_LOOK,      /* inspects the name, its queue, and lists all names */
    SIM_TURN_FOREIGN,   /* another library: SET NX PX at a majority */
    SIM_TURN_KINDS
};

/* One acquisition of a client, and its work; or one call of another kind. */
struct sim_turn {
    uint8_t process;
    uint8_t lane;
    uint8_t kind;       /* enum sim_turn_kind */
    bool withdraws;     /* its command fails, and it withdraws the mark */
    int64_t period_ms;  /* --once: hf_lock_mark() before it works; 0: none */
    int64_t reserve_ms; /* --min-hold: hf_lock_release_reserved(); 0: none */
    bool is_shared;
    bool is_unfair;
    bool is_blocking;  /* hf_lock_acquire() rather than hf_op_start_acquire() */
    bool hands_on;     /* hands the lock to another process, which adopts it */
    bool forsakes;     /* never releases: renews until its process ends */
    uint8_t names;     /* bit mask of names; several: all or nothing */
    uint8_t n_permits; /* 0: no semaphore */
    uint8_t n_writes;  /* read-modify-writes, spread over the hold */
    uint8_t n_extends; /* hf_lock_extend() calls */
    int64_t think_ns;  /* before it begins, after the lane's last turn */
    int64_t wait_ms;   /* as in struct hf_request */
    int64_t cancel_ns; /* cancels its wait after this time; 0: never */
    int64_t hold_ns;   /* the time of its work */
    int64_t ttl_ms;
};

struct sim_story {
    uint64_t seed;
    enum sim_regime regime;
    bool is_local; /* the embedded store, on one host; n_nodes is 1 */
    unsigned n_nodes;
    unsigned n_processes;
    int64_t max_ttl_ms;
    int64_t node_timeout_ms;
    int64_t delay_ns;     /* the shortest delay of a message */
    int64_t jitter_ns;    /* the mean of its additional delay */
    unsigned late_ppm;    /* share of messages that are later … */
    int64_t late_ns;      /* … by this time, at most */
    unsigned shatter_ppm; /* writes that arrive in two pieces */
    bool queues;          /* else every turn is unfair or a try */
    bool has_quarantine;
    uint8_t host_of[SIM_PROCESSES_MAX]; /* number of the process whose host it
                                           shares, from 1; 0: has its own */
    uint8_t brief; /* bit mask: processes that open a client for each turn, as
                      a command does */
    int rate_ppm[SIM_PROCESSES_MAX]; /* errors of the clocks' rates */
    int node_rate_ppm[SIM_NODES_MAX];
    int64_t node_wall_ns[SIM_NODES_MAX]; /* offsets of the wall clocks */
    int64_t calm_ns; /* faults end then, and turns soon after */
    struct sim_turn *turns;
    size_t n_turns;
    struct sim_fault *faults; /* by at_ns */
    size_t n_faults;
};

/* Draw a story: the kinds of faults, their strength, and the turns. Most seeds
 * leave most kinds of faults out (a swarm). `regime` < 0: drawn too. */
void sim_story_draw(struct sim_story *story, uint64_t seed, int regime);

/* `to` gets turns and faults of its own; what it had is not freed. */
void sim_story_copy(struct sim_story *to, const struct sim_story *from);

/* Free turns and faults; all zero again. */
void sim_story_fini(struct sim_story *story);

/* Append a copy of the turn. */
void sim_story_add_turn(struct sim_story *story, const struct sim_turn *turn);

/* Add a fault in order of time; faults at one time stay in order of adding. */
void sim_story_add_fault(struct sim_story *story,
                         const struct sim_fault *fault);

/* Stories as text (write.c). If a line is wrong, sim_story_read() returns false
 * and `why` names the line. */
void sim_story_write(const struct sim_story *story, FILE *out);
bool sim_story_read(struct sim_story *story, const char *text, char *why,
                    size_t size);

/* The word of a story's text, and of options. Static. */
const char *sim_regime_name(enum sim_regime regime);
const char *sim_fault_name(enum sim_fault_kind kind);

/* The text of a kind of fault, and the fields that it uses. */
struct sim_fault_form {
    const char *name;
    const char *amount; /* the word before the amount; NULL: it has none */
    bool has_process;
    bool has_node;
    bool has_span;
    bool has_mask;
    bool is_count; /* the amount is a number, not a time */
};

/* Never NULL. Static. */
const struct sim_fault_form *sim_fault_form(enum sim_fault_kind kind);

/* The word for this kind in the text of a turn; "" for SIM_TURN_LOCK. */
const char *sim_turn_name(enum sim_turn_kind kind);

/* Such a clock cannot agree with the others on a counter: it is further than
 * HF_FENCE_AHEAD_MAX from theirs. */
static inline bool sim_is_outlier(const struct sim_story *story, unsigned node)
{
    /* HF_FENCE_AHEAD_MAX (core/limits.h) as a time: 2^32 us */
    const int64_t far_ns = (INT64_C(1) << 32) * 1000;
    return story->node_wall_ns[node] > far_ns ||
           story->node_wall_ns[node] < -far_ns;
}

/* The fault sets right an outlier's clock that was far ahead: outliers are a
 * minority, and no majority needs them. */
static inline bool sim_is_set_back(const struct sim_story *story,
                                   const struct sim_fault *fault)
{
    return fault->kind == SIM_FAULT_NODE_CLOCK && fault->amount < 0 &&
           sim_is_outlier(story, (unsigned)fault->node) &&
           fault->amount == -story->node_wall_ns[fault->node];
}

#endif
