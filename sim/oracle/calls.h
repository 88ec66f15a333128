/* SPDX-License-Identifier: Apache-2.0 */
/* The oracles of reserved names, breaks, reads and foreign locks (calls.c,
 * reads.c, foreign.c). The functions by which the world reports to them are in
 * world/observer.h. */
#ifndef HF_SIM_ORACLE_CALLS_H
#define HF_SIM_ORACLE_CALLS_H

#include "oracle/state.h"

#include "core/opaque.h"

#include <holdfast/holdfast.h>

struct sim_calls;

/* sim_calls_of() makes it. NULL is ignored. */
void sim_calls_free(struct sim_calls *calls);

/* ---- RESERVE ------------------------------------------------------------- */

/* The turn has acquired its names. */
void sim_calls_held(struct sim_oracle *oracle, const struct sim_live *live);

/* ---- BREAK --------------------------------------------------------------- */

/* The process of the turn has run. */
void sim_break_look(struct sim_oracle *oracle, const struct sim_live *live);

/* A break that does not wait took the part from its holder, whose belief may
 * overlap the next holder's until its lease ends. */
bool sim_break_excuses(const struct sim_oracle *oracle,
                       const struct sim_part *part);

/* ---- FOREIGN ------------------------------------------------------------- */

/* A break that does not wait was executed: it ends the beliefs of plain
 * clients at once. */
void sim_foreign_broken(struct sim_oracle *oracle, int name);

/* The belief of a Holdfast client begins. */
void sim_foreign_check(struct sim_oracle *oracle, const struct sim_live *live,
                       const struct sim_part *part);

/* ---- All of them --------------------------------------------------------- */

/* A node has executed a script that came on `link`. */
void sim_calls_script(struct sim_oracle *oracle, const struct sim_link *link,
                      const struct sim_run *run);

/* A node has lost data. */
void sim_calls_forgot(struct sim_oracle *oracle, int node);

/* Shared by the files above. */
struct sim_owners {
    uint64_t *digests; /* of the owners that have requested a name */
    size_t n, cap;
};

/* A plain lock at one node, and its expiry by the node's clock. */
struct sim_foreign_key {
    char text[SIM_FOREIGN_TEXT]; /* "": none */
    int64_t until_ms;
};

/* What a lane of plain clients believes: that it holds the name until then. */
struct sim_foreign_belief {
    bool is_on;
    int name;
    int64_t until_ns;
};

/* The latest breaks of one name. */
struct sim_broken {
    uint64_t owners[SIM_RECENT]; /* digests, the latest … */
    int by[SIM_RECENT];          /* … by which process … */
    int64_t at_ns[SIM_RECENT];   /* … when, at one node */
    unsigned n;
    struct {
        uint64_t by, from; /* owner of a break that waits; broken owner */
    } kept[SIM_RECENT];
    unsigned n_kept;
};

/* The state of these oracles, in one allocation. */
struct sim_calls {
    struct {
        uint64_t turn; /* being released; 0: none */
        int64_t begun_ns;
        int64_t until_ns;
    } releasing[SIM_PROCESSES_MAX];
    struct {
        int64_t until_ns;
        uint64_t fence;
        int process;
    } reserved[SIM_NAMES_MAX];
    struct {
        int name;
        int64_t begun_ns;
        uint64_t turns[SIM_LIVE_MAX];
    } breaking[SIM_PROCESSES_MAX];
    struct {
        uint64_t turn;
        int name;
        int64_t until_ns; /* its belief must end by then */
    } limits[SIM_LIVE_MAX];
    struct sim_broken broken[SIM_NAMES_MAX];
    int64_t freed_ns[SIM_NAMES_MAX]; /* last break without a wait; 0: none */
    int64_t asked_free_ns[SIM_NAMES_MAX]; /* last break at a node; 0: none */
    struct sim_owners owners[SIM_NAMES_MAX];
    struct sim_foreign_key keys[SIM_NODES_MAX][SIM_NAMES_MAX];
    struct sim_foreign_belief beliefs[SIM_PROCESSES_MAX][SIM_LANES_MAX];
};

/* That of the oracle, which owns it; allocated at its first use. Never NULL. */
struct sim_calls *sim_calls_of(struct sim_oracle *oracle);

/* @return the name's number: 0 for "lock:a" and "lock:a#0"; -1: none. */
int sim_run_name(const struct sim_run *run);

/* READ: check that a script which only reads has written nothing, and note the
 * owners that others ask for. */
void sim_read_script(struct sim_oracle *oracle, const struct sim_run *run,
                     int node);

/* FOREIGN: check that a script left the plain lock of its name at this node.
 */
void sim_foreign_script(struct sim_oracle *oracle, const struct sim_run *run,
                        int node);

/* FOREIGN: the plain locks at this node are gone with its data. */
void sim_foreign_forgot(struct sim_oracle *oracle, int node);

#endif
