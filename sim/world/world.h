/* SPDX-License-Identifier: Apache-2.0 */
/* The world in which the shipped library runs under test.
 *
 *      story ──▶ world ──▶ notes (trace.h), verdict (observer.h)
 *
 *   process.c   users: each is a coroutine that calls the public API
 *   ─────────   the whole shipped library: client, store/redis, core …
 *   io_shim.c   … whose lowest floor, src/io, is replaced: clock, loop, sockets
 *   net.c       byte streams that delay, stall, break
 *   node.c      servers that pause, restart, forget
 *   redis/      what they run: the shipped scripts, over a simulated keyspace
 *
 * One thread, one heap of events, no clock but `now_ns`, no randomness but the
 * story's. Times without further words are the world's, in nanoseconds; every
 * process and every node reads clocks of its own. */
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
struct sim_told;
struct sim_kept;
struct sim_machine;

#define SIM_NEVER INT64_MAX

/* ---- Events ------------------------------------------------------------ */

typedef void sim_event_fn(struct sim_world *world, void *object, uint64_t arg);

struct sim_event {
    int64_t at_ns;
    uint64_t order; /* of two at one time the one put in earlier is first */
    sim_event_fn *fire;
    void *object;
    uint64_t arg;
};

/* ---- Processes --------------------------------------------------------- */

/* An attempt as another library makes it (workload_foreign.c). */
struct sim_foreign {
    unsigned attempt;           /* of its lane; answers to others are late */
    unsigned tries;             /* of its turn */
    unsigned answered, granted; /* by how many nodes */
    bool is_asking, is_holding;
    int64_t asked_ns;
    int64_t until_ns; /* it may believe until then */
};

/* One turn under way. */
struct sim_lane {
    struct sim_process *process;
    uint8_t index;
    bool is_last; /* this turn is the last one: nothing breaks any more */
    const struct sim_turn *turn; /* NULL: none left */
    size_t next;                 /* index of the next one to look at */
    enum {
        SIM_LANE_THINKING,
        SIM_LANE_ASKING,
        SIM_LANE_MARKING, /* has its lock, and does not work yet: --once */
        SIM_LANE_WORKING,
        SIM_LANE_RETURNING,
        SIM_LANE_CALLING, /* in a call that blocks and holds nothing */
        SIM_LANE_FOREIGN  /* as another library */
    } phase;
    int64_t due_ns;  /* by the world's clock: think, work, cancel is over */
    int64_t end_ns;  /* of the work */
    unsigned writes; /* still to be done */
    unsigned extends;
    unsigned steps;  /* between which the work is divided */
    uint64_t number; /* oracle's */
    struct hf_op *op;
    struct hf_lock *lock;
    bool was_queued;
    bool was_given; /* handed to it: it does not hand it on again */
    bool is_at_risk;
    bool is_marked; /* its period has begun */
    struct sim_foreign foreign;
    int64_t told_ns; /* the deadline of the last note, by its process' clock */
    /* a read-modify-write under way: read at first, written at the next step */
    bool has_read[2];
    uint64_t value[2];
    unsigned n_sent[2]; /* messages to each register that are under way */
};

/* "OWNER@FENCE", handed from one process to another. */
struct sim_parcel {
    bool is_full;
    char text[512];
    const struct sim_turn *turn;
    uint64_t number;
};

struct sim_process {
    struct sim_world *world;
    int index;
    struct sim_fiber *fiber;
    struct hf_client *client;
    struct sim_random random; /* its entropy and what it draws */
    struct sim_random path;   /* delays to the registers */
    bool is_alive;
    bool is_ready;      /* a link has something to tell */
    bool pauses_midway; /* SIM_FAULT_PAUSE_MIDWAY is due */
    int64_t midway_ns;
    int64_t resumes_ns;  /* stands still until then */
    int64_t stood_ns;    /* the end of its last standstill */
    int64_t wakes_ns;    /* when it asked to go on */
    uint64_t wake_order; /* of the event that will do it; others are stale */
    unsigned reads;      /* of its clock since it last slept (spin.h) */
    unsigned starts;     /* how often it was started */
    uint64_t n_links;    /* ever made */
    struct sim_lane lanes[SIM_LANES_MAX];
    unsigned n_lanes;
    const struct sim_lane *stepping; /* it calls the library; NULL: none */
    int64_t stepped_ns;              /* since then */
    int64_t blocked_ns;              /* a lane's call took time until then */
    struct sim_parcel parcel;
    uint8_t standings[SIM_NODES_MAX]; /* as last told */
    bool wants_input; /* sleeps, and a link that has news wakes it */
    bool is_opening;  /* inside hf_client_open() */
    bool is_crashing; /* its lanes end with it */
};

/* A machine on which processes run (host.c). */
struct sim_host {
    int64_t clock_ns; /* its clock at since_ns; runs at its rate since */
    int64_t since_ns;
    int64_t still_until_ns; /* its clock stands still until then */
    unsigned boots;         /* its boot id */
    int64_t back_ns;        /* of its last reboot: down until then */
};

/* Index of its host. */
int sim_process_host(const struct sim_process *process);

/* How often its host was rebooted. */
unsigned sim_process_boot(const struct sim_process *process);
bool sim_process_host_is_up(const struct sim_process *process);

/* Its host restarts: all processes on it end, the clock begins at 0. */
void sim_process_reboot(struct sim_process *process, int64_t back_ns);

/* What its clock says at a time of the world's; and when it will say that:
 * now, if it has. */
struct hf_instant sim_process_clock(const struct sim_process *process,
                                    int64_t at_ns);
int64_t sim_process_when(const struct sim_process *process,
                         struct hf_instant clock);

void sim_process_start(struct sim_process *process);
void sim_process_crash(struct sim_process *process);
void sim_process_pause(struct sim_process *process, int64_t until_ns);
void sim_process_jump(struct sim_process *process, int64_t by_ns);

/* From inside its fiber: open its client, unless it is open. */
void sim_process_open(struct sim_process *process);

/* Has it something to do at once? (a link became readable) */
void sim_process_wake(struct sim_process *process);

/* Look again what there is to do, input or not. */
void sim_process_rouse(struct sim_process *process);

/* It sleeps until a time: that has come. */
void sim_process_go_on(struct sim_process *process);

/* From inside its fiber: sleep until input, if `for_input`, or a time. */
void sim_process_sleep(struct sim_process *process, int64_t until_ns,
                       bool for_input);

/* The one whose fiber runs now; the floor's only global. */
struct sim_process *sim_process_running(void);

/* ---- Nodes ------------------------------------------------------------- */

/* A past state of a node's memory, to restart with. */
struct sim_memory {
    int64_t at_ns;
    struct sim_image *image;
};

#define SIM_MEMORIES_MAX 16

struct sim_node {
    struct sim_world *world;
    int index;
    struct sim_redis *redis; /* what new connections reach */
    struct sim_redis *old;   /* what a promotion left behind; NULL: none */
    bool is_up;
    bool is_unheard;    /* executes what came by a connection that is closed */
    int64_t resumes_ns; /* stands still until then */
    int64_t wall_ns;    /* its wall clock at since_ns; runs at its rate */
    int64_t since_ns;
    int64_t everysec_ns; /* appendfsync is everysec until then */
    int64_t unsynced_ns; /* no-appendfsync-on-rewrite is yes until then */
    unsigned lives;      /* how often it was started: its run id */
    struct sim_memory memories[SIM_MEMORIES_MAX];
    unsigned n_memories;
    struct sim_image *kept; /* down: what it comes back with; NULL: nothing */
    const char *comes_with; /* … in words */
    bool was_replica;       /* … as a replica */
    char replid[41];
    struct sim_lua *lua;
    struct sim_told *told; /* server_trace.c: not yet noted; NULL: no trace */
};

/* Bytes have arrived: execute what is complete. */
void sim_node_execute(struct sim_node *node, struct sim_link *link,
                      const struct sim_chunk *chunk);

int64_t sim_node_wall(const struct sim_node *node, int64_t at_ns);

/* ---- Links: one connection of a process with a node -------------------- */

/* What a direction carries, by arrival. */
struct sim_chunk {
    struct sim_chunk *next;
    int64_t sent_ns;
    int64_t at_ns;
    size_t len;
    bool ends; /* no more will come: closed, or reset */
    char data[];
};

struct sim_pipe {
    struct sim_chunk *first, *last;
    int64_t last_at_ns; /* order is kept */
    bool has_end;       /* the end is sent: nothing comes behind it */
    struct sim_random random;
};

struct hf_socket;

struct sim_link {
    struct sim_link *next; /* all links of the world */
    struct sim_world *world;
    struct sim_process *process; /* NULL: the process is gone, the bytes not */
    int peer;                    /* its index */
    unsigned n_events;           /* that are still to come for it */
    struct sim_node *node;
    struct sim_redis *redis;
    struct sim_session *session; /* NULL: not connected, or not any more */
    struct hf_socket *socket;    /* NULL: closed by the process */
    struct sim_pipe up, down;
    char *inbox; /* arrived at the process, not read yet */
    size_t inbox_len, inbox_at, inbox_cap;
    bool is_connecting; /* the answer to SYN is on its way */
    bool is_open;
    bool is_refused;
    bool has_news; /* in the loop's eyes: readable, opened, or ended */
    bool is_ended;
    int64_t sent_ns;    /* of the chunk being executed */
    int64_t held_ns;    /* until then nothing of it arrives at the node */
    uint64_t number;    /* of all links that its process ever made */
    uint64_t down_sent; /* bytes that the server has sent … */
    uint64_t down_read; /* … and that the process has read */
};

/* net.c */
struct sim_link *sim_link_connect(struct sim_process *process, int node,
                                  struct hf_socket *socket);
void sim_link_write(struct sim_link *link, const char *data, size_t len);
void sim_link_close(struct sim_link *link); /* by the process */
void sim_link_reply(struct sim_link *link); /* the server has written */
void sim_link_cut(struct sim_link *link, bool by_node);
void sim_links_cut(struct sim_world *world, int process, int node,
                   bool by_node);
/* What the process has sent, and still sends, arrives at `until_ns` only; at
 * `end_ns` the connection ends for the process. */
void sim_links_haunt(struct sim_world *world, int process, int node,
                     int64_t end_ns, int64_t until_ns);
void sim_links_heal(struct sim_world *world); /* what is late comes now */
void sim_links_free(struct sim_world *world);

/* ---- The world --------------------------------------------------------- */

/* Until when nothing passes from a process to a node, and back. */
struct sim_passage {
    int64_t up_ns, down_ns; /* blocked until */
    int64_t slow_until_ns, slow_ns;
    int64_t late_ns; /* the last of what was drawn late arrives then */
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
    uint64_t steps;
    struct sim_lua *lua;
    struct sim_kept *kept;
    struct sim_machine *machine; /* local/machine.h; NULL: there are nodes */
    int64_t quiet_ns; /* all turns are over since then; SIM_NEVER: not yet */
    bool is_calm;
    bool is_ending; /* each lane closes its client and returns */
};

/* workload.c: the turns of a process. @return when something is due next. */
int64_t sim_lanes_run(struct sim_process *process);
void sim_lanes_crash(struct sim_process *process);
bool sim_lanes_are_idle(const struct sim_process *process);
bool sim_lanes_are_over(const struct sim_process *process);
void sim_lanes_changed(struct sim_process *process, struct hf_lock *lock,
                       int state);

/* Memory that is freed at the end of the world at the latest. */
void *sim_world_keep(struct sim_world *world, size_t size);
void sim_world_forget(struct sim_world *world, void *memory);

/* Put an event in; @return its order. */
uint64_t sim_world_at(struct sim_world *world, int64_t at_ns,
                      sim_event_fn *fire, void *object, uint64_t arg);

/* Pass a note to the listener, with the time. A no-op without a listener. */
void sim_world_note(struct sim_world *world, struct sim_note note);

/* Run a story from its beginning to its end, or to the first broken promise. */
void sim_run(const struct sim_story *story, sim_trace_fn *trace,
             void *trace_user, struct sim_verdict *out);

#endif
