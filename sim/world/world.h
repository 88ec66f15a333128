/* SPDX-License-Identifier: Apache-2.0 */
/* The world in which the shipped library runs under test.
 *
 *      story ──▶ world ──▶ notes (trace.h), verdict (observer.h)
 *
 *   process.c   users: each is a coroutine that calls the public API
 *   ─────────   the whole shipped library: client, store/redis, core …
 *   io_shim.c   … except its lowest layer, src/io: clock, loop, sockets
 *   net.c       byte streams that delay, stall, break
 *   node.c      servers that pause, restart, lose data
 *   redis/      the servers' code: shipped scripts over a simulated keyspace
 *
 * One thread, one heap of events, no clock but `now_ns`, no randomness but the
 * story's. A time is the world's, in nanoseconds, unless a comment says
 * otherwise; every process and every node has a clock of its own. Processes,
 * nodes, lanes and names are indexes from 0; a trace shows them from 1.
 *
 * run_story.c owns the world, which owns all that its members point to except
 * `story` and `trace_user`. Functions of processes, hosts and events are here;
 * those of links are in net.h, of lanes in workload.h; faults of nodes in
 * node.h.
 */
#ifndef HF_SIM_WORLD_H
#define HF_SIM_WORLD_H

#include "story/random.h"
#include "story/story.h"
#include "world/observer.h"
#include "world/trace.h"

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_redis;
struct sim_session;
struct sim_image;
struct hf_client;
struct hf_loop;
struct sim_link;
struct sim_fiber;
struct sim_chunk;
struct sim_lua;
struct sim_server_trace;
struct sim_kept;
struct sim_machine;

#define SIM_NEVER INT64_MAX

/* Seconds since 1970 at time 0 of the world: 2023-11-14. Counters that follow a
 * clock then have as many digits as real ones. */
#define SIM_WALL_S INT64_C(1700000000)

/* ---- Events ------------------------------------------------------------ */

/* An event is due: the world's time is its time. It may add and cancel events.
 */
typedef void sim_event_fn(struct sim_world *world, void *object, uint64_t arg);

struct sim_event {
    int64_t at_ns;
    uint64_t order; /* of two at one time, the one added earlier fires first */
    sim_event_fn *fire;
    void *object;
    uint64_t arg;
};

/* ---- Processes --------------------------------------------------------- */

/* An attempt of a client of another library (workload_foreign.c). */
struct sim_foreign {
    unsigned attempt; /* of its lane; replies to others are ignored */
    unsigned n_tries; /* of its turn */
    unsigned n_answered, n_granted; /* numbers of nodes */
    bool is_asking, is_holding;
    int64_t asked_ns;
    int64_t until_ns; /* the end of its lease */
};

/* A sequence of turns, one at a time. */
struct sim_lane {
    struct sim_process *process;
    uint8_t index;
    bool is_last; /* this turn is the last one, after the last fault */
    const struct sim_turn *turn; /* NULL: none left */
    size_t next;                 /* index of the next turn to check */
    enum {
        SIM_LANE_THINKING,
        SIM_LANE_ASKING,
        SIM_LANE_MARKING, /* --once: has the lock, the mark is next */
        SIM_LANE_WORKING,
        SIM_LANE_RETURNING,
        SIM_LANE_CALLING, /* in a call that blocks and holds nothing */
        SIM_LANE_FOREIGN  /* as another library */
    } phase;
    int64_t begun_ns;  /* of its turn */
    int64_t due_ns;    /* when the lane's next step is due */
    int64_t end_ns;    /* of the work */
    unsigned n_writes; /* still to be done */
    unsigned n_extends;
    unsigned n_steps; /* into which the work is divided */
    uint64_t number;  /* the turn's number at the oracle */
    struct hf_op *op;
    struct hf_lock *lock;
    bool was_queued;
    bool was_given; /* it adopted its lock, and does not hand it on again */
    bool is_at_risk;
    bool is_marked; /* its period has begun */
    struct sim_foreign foreign;
    int64_t noted_ns; /* the deadline of the last note, by its process' clock */
    /* a read-modify-write under way: read in one step, written in the next */
    bool has_read[2];
    uint64_t value[2];
    unsigned n_sent[2]; /* requests to each register in flight */
};

/* "OWNER@FENCE", handed from one process to another. */
struct sim_parcel {
    bool is_full;
    char text[512];
    const struct sim_turn *turn; /* of the lane that handed it over … */
    uint64_t number;             /* … and that turn's number at the oracle */
};

struct sim_process {
    struct sim_world *world;
    int index;
    struct sim_fiber *fiber;
    struct hf_client *client;
    struct sim_random random; /* its entropy and its own draws */
    struct sim_random path;   /* delays to the registers */
    bool is_alive;
    bool is_ready;      /* a link is readable, open or ended */
    bool pauses_midway; /* SIM_FAULT_PAUSE_MIDWAY is due */
    int64_t midway_ns;
    int64_t resumes_ns;  /* paused until then */
    int64_t stood_ns;    /* the end of its last pause */
    int64_t wakes_ns;    /* it sleeps until then */
    uint64_t wake_order; /* of the event that wakes it; others are stale */
    unsigned n_reads;    /* of its clock since it last slept (spin.h) */
    unsigned n_starts;   /* how often it was started */
    uint64_t n_links;    /* ever made */
    struct sim_lane lanes[SIM_LANES_MAX];
    unsigned n_lanes;
    const struct sim_lane *stepping; /* the lane in a step; NULL: none */
    int64_t stepped_ns;              /* when that step began */
    int64_t blocked_ns;              /* the end of the last blocking step */
    struct sim_parcel parcel;
    uint8_t node_statuses[SIM_NODES_MAX]; /* as last reported */
    bool wants_input; /* sleeps, and wakes when a link is ready */
    bool is_opening;  /* inside hf_client_open() */
    bool is_crashing; /* its lanes end with it */
};

/* A machine on which processes run (host.c). */
#define SIM_HOST_TIMES 7 /* prime: times are often multiples of others */

struct sim_host {
    int64_t clock_ns; /* its clock at since_ns */
    int64_t since_ns;
    int64_t still_until_ns; /* its clock does not advance until then */
    unsigned n_boots;       /* its boot id */
    int64_t back_ns;        /* the end of its last reboot */
    struct {                /* when its clock shows a time, until it jumps */
        int64_t clock_ns, at_ns;
    } times[SIM_HOST_TIMES];
};

/* @return the index of the process' host. */
int sim_process_host(const struct sim_process *process);

/* @return the number of reboots of the process' host. */
unsigned sim_process_boot(const struct sim_process *process);
bool sim_process_host_is_up(const struct sim_process *process);

/* Reboot the process' host: all processes on it end, its clock begins at 0. */
void sim_process_reboot(struct sim_process *process, int64_t back_ns);

/* The reading of the process' clock at a time of the world; and the time of the
 * world at which it reads `clock`: now, if that is past. */
struct hf_instant sim_process_clock(const struct sim_process *process,
                                    int64_t at_ns);
int64_t sim_process_when(const struct sim_process *process,
                         struct hf_instant clock);

/* Start the process, with fresh random numbers and without a client. */
void sim_process_start(struct sim_process *process);

/* Start a process that has ended, now or at `at_ns`, unless it runs by then or
 * its host is down. */
void sim_process_revive(struct sim_process *process);
void sim_process_revive_later(struct sim_process *process, int64_t at_ns);

/* kill -9: its memory is lost, and the kernel closes its connections. Nothing
 * if it has ended. */
void sim_process_crash(struct sim_process *process);

/* SIGSTOP until then. A longer pause of before stays. */
void sim_process_pause(struct sim_process *process, int64_t until_ns);

/* Its host's clock jumps forwards; or, for a negative `by_ns`, stands still
 * for as long, since it may not go back. */
void sim_process_jump(struct sim_process *process, int64_t by_ns);

/* From inside the process' fiber: open its client, unless it is open. */
void sim_process_open(struct sim_process *process);

/* A link is ready: wake the process if it sleeps until input. */
void sim_process_wake(struct sim_process *process);

/* Wake the process, whether or not it sleeps until input. */
void sim_process_rouse(struct sim_process *process);

/* The time until which the process sleeps has come: run it. */
void sim_process_go_on(struct sim_process *process);

/* From inside its fiber: sleep until input, if `for_input`, or a time. */
void sim_process_sleep(struct sim_process *process, int64_t until_ns,
                       bool for_input);

/* The process whose fiber runs now; the only global of the io shim. */
struct sim_process *sim_process_running(void);

/* ---- Nodes ------------------------------------------------------------- */

/* A past state of a node's memory, to restart with. */
struct sim_memory {
    int64_t at_ns;
    struct sim_image *image;
};

/* Of one node, to bound the memory of a run. Later ones are not kept: a restart
 * takes the latest one that is old enough. */
#define SIM_MEMORIES_MAX 16

struct sim_node {
    struct sim_world *world;
    int index;
    struct sim_redis *redis; /* the server that new connections reach */
    struct sim_redis *old;   /* one that a promotion replaced; NULL: none */
    bool is_up;
    bool is_unheard;    /* executes a request whose client has disconnected */
    int64_t asked_ns;   /* that request was sent */
    int64_t resumes_ns; /* paused until then */
    int64_t wall_ns;    /* its wall clock at since_ns */
    int64_t since_ns;
    int64_t everysec_ns; /* appendfsync is everysec until then */
    int64_t unsynced_ns; /* no-appendfsync-on-rewrite is yes until then */
    unsigned n_starts;   /* number of starts; part of its run id */
    struct sim_memory memories[SIM_MEMORIES_MAX];
    unsigned n_memories;
    struct sim_image *kept; /* down: the data for its restart; NULL: none */
    const char *comes_with; /* … in words */
    bool was_replica;       /* … it restarts as a replica */
    char replid[41];
    struct sim_lua *lua;
    struct sim_server_trace *server_trace; /* NULL: no trace */
};

/* Bytes have arrived: execute all complete requests. */
void sim_node_execute(struct sim_node *node, struct sim_link *link,
                      const struct sim_chunk *chunk);

/* The node's wall clock at a time of the world, in nanoseconds; a right clock
 * shows the time of the world. */
int64_t sim_node_wall(const struct sim_node *node, int64_t at_ns);

/* ---- Links: one connection of a process with a node -------------------- */

/* Bytes in flight in one direction, in the order of arrival. */
struct sim_chunk {
    struct sim_chunk *next;
    int64_t sent_ns;
    int64_t at_ns;
    size_t len;
    bool ends; /* the stream ends here: closed, or reset */
    char data[];
};

struct sim_pipe {
    struct sim_chunk *first, *last;
    int64_t last_at_ns; /* no later chunk arrives before this */
    bool has_end;       /* the end is sent: later bytes are dropped */
    struct sim_random random;
};

struct hf_socket;

struct sim_link {
    struct sim_link *next; /* all links of the world */
    struct sim_world *world;
    struct sim_process *process; /* NULL: closed; bytes may be in flight */
    int peer;                    /* the index of that process */
    unsigned n_events;           /* of this link, in the heap */
    struct sim_node *node;
    struct sim_redis *redis;
    struct sim_session *session; /* NULL: not connected, or disconnected */
    struct hf_socket *socket;    /* NULL: closed by the process */
    struct sim_pipe up, down;
    char *inbox; /* arrived at the process, not read yet */
    size_t inbox_len, inbox_at, inbox_cap;
    bool is_connecting; /* the SYN has not arrived yet */
    bool is_open;
    bool is_refused;
    bool has_news; /* for the loop: readable, opened, or ended */
    bool is_ended;
    int64_t sent_ns;    /* of the chunk being executed */
    int64_t held_ns;    /* until then its bytes do not arrive at the node */
    uint64_t number;    /* of all links that its process ever made */
    uint64_t down_sent; /* bytes that the server has sent … */
    uint64_t down_read; /* … and that the process has read */
};

/* ---- The world --------------------------------------------------------- */

/* The faults on the path between a process and a node. */
struct sim_passage {
    int64_t up_ns, down_ns; /* blocked until */
    int64_t slow_until_ns, slow_ns;
    int64_t late_ns; /* the last late message arrives then */
};

struct sim_world {
    const struct sim_story *story;
    int64_t now_ns;
    struct sim_event *events; /* a binary heap */
    size_t n_events, cap_events;
    uint64_t order;
    struct sim_host hosts[SIM_PROCESSES_MAX];
    struct sim_process processes[SIM_PROCESSES_MAX];
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_passage passages[SIM_PROCESSES_MAX][SIM_NODES_MAX];
    struct sim_link *links;
    struct sim_oracle *oracle;
    sim_trace_fn *trace; /* NULL: none */
    void *trace_user;
    uint64_t n_steps;
    struct sim_lua *lua;
    struct sim_kept *kept;
    struct sim_machine *machine; /* local/machine.h; NULL: there are nodes */
    int64_t quiet_ns; /* all turns are over since then; SIM_NEVER: not yet */
    bool is_calm;
    bool is_ending; /* each lane closes its client and returns */
};

/* Memory, not zeroed, that is freed at the end of the world at the latest.
 * Aborts without memory. */
void *sim_world_keep(struct sim_world *world, size_t size);

/* Free such memory before the end. */
void sim_world_forget(struct sim_world *world, void *memory);

/* Add an event, now or later. `object` must live until it fires. @return its
 * order. */
uint64_t sim_world_at(struct sim_world *world, int64_t at_ns,
                      sim_event_fn *fire, void *object, uint64_t arg);

/* Take the earliest event out; there must be one. */
struct sim_event sim_world_next(struct sim_world *world);

/* Free all events, and the memory that they carry. */
void sim_world_fini(struct sim_world *world);

/* Pass a note to the listener, with the time. Does nothing without one. */
void sim_world_note(struct sim_world *world, struct sim_note note);

#endif
