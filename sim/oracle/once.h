/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of --once (once.c). The functions by which the world reports to it
 * are in world/observer.h. */
#ifndef HF_SIM_ORACLE_ONCE_H
#define HF_SIM_ORACLE_ONCE_H

#include "oracle/state.h"

#include <holdfast/holdfast.h>

/* ---- Marks, and the calls that look for them ----------------------------- */

struct sim_mark_run {
    uint64_t fence;
    int name;
    int process;
    int64_t period_ns;
    int64_t end_ns;
    int64_t taken_ns;  /* when a node last stored its mark */
    uint8_t ever;      /* bit masks: nodes that ever had its mark … */
    uint8_t has;       /* … that have it now … */
    uint8_t lost;      /* … and that lost it with their data */
    unsigned n_copies; /* written by other processes */
    bool is_started;
    bool may_be_withdrawn;
    bool is_withdrawn;    /* at a majority … */
    int64_t withdrawn_ns; /* … since then */
    bool is_over;         /* its mark is lost, and that is allowed */
};

/* The last look at a node in the present call of a process. */
struct sim_mark_look {
    bool is_executed;
    bool is_live;          /* the node has a mark … */
    uint64_t fence;        /* … of this run */
    uint64_t link, offset; /* of the reply's last byte; 0: not sent */
    int64_t sent_ns;
    int64_t read_ns; /* by its process; 0: not yet */
};

struct sim_mark_call {
    bool is_on;
    int64_t begun_ns;
    int64_t first_ns[SIM_NAMES_MAX]; /* the first look was sent */
    struct sim_mark_look looks[SIM_NAMES_MAX][SIM_NODES_MAX];
};

/* A command that has started, while replies to its looks may come in time. */
struct sim_mark_check {
    size_t run;
    int64_t at_ns; /* when it started; 0: nothing to check */
    struct sim_mark_call call;
};

struct sim_once {
    struct sim_mark_call calls[SIM_PROCESSES_MAX];
    struct sim_mark_check checks[SIM_PROCESSES_MAX];
    uint8_t breaks[SIM_PROCESSES_MAX]; /* names for which it called a break */
    struct sim_mark_run *runs;
    size_t n, cap;
};

/* @return the state of --once, allocated at its first use. Never NULL. Owner:
 * the oracle. */
struct sim_once *sim_once_of(struct sim_oracle *oracle);

/* NULL is ignored. */
void sim_once_free(struct sim_once *once);

/* A node has executed a script; it has sent its replies; the process has read
 * from `link`; a node has lost data. */
void sim_once_script(struct sim_oracle *oracle, const struct sim_link *link,
                     const struct sim_run *run);
void sim_once_wrote(struct sim_oracle *oracle, const struct sim_link *link);
void sim_once_read(struct sim_oracle *oracle, const struct sim_link *link);
void sim_once_forgot(struct sim_oracle *oracle, int node);

#endif
