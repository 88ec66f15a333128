/* SPDX-License-Identifier: Apache-2.0 */
/* Servers: their faults, and what they do when bytes arrive. */
#ifndef HF_SIM_NODE_H
#define HF_SIM_NODE_H

#include "world/world.h"

/* With what it comes back. */
enum sim_return {
    SIM_WITH_ALL,   /* its memory as it was */
    SIM_WITH_OLDER, /* as it was at `age_ns` */
    SIM_WITH_NOTHING,
    SIM_WITH_REPLICA /* another server's, as it was at `age_ns`; that one has
                        been up for long */
};

void sim_node_start(struct sim_node *node, struct sim_lua *lua);
void sim_node_free(struct sim_node *node);

/* Down now, and back at `back_ns` with this. */
void sim_node_restart(struct sim_node *node, int64_t back_ns,
                      enum sim_return with, int64_t age_ns);

/* A replica that is `age_ns` behind takes the address; the old primary goes on
 * serving its open connections until `until_ns`. */
void sim_node_promote(struct sim_node *node, int64_t age_ns, int64_t until_ns);

/* The one that a promotion left behind has the address again; the promoted
 * one goes on serving its connections for as long as the other would have. */
void sim_node_return(struct sim_node *node);

/* Read anew how it syncs: everysec_ns or unsynced_ns is other, or over. */
void sim_node_set_sync(struct sim_node *node);

/* Its memory as of now, for a restart or a promotion later on. */
void sim_node_remember(struct sim_node *node);

/* What it executed, in words, for notes: server_trace.c. */
struct sim_run;
struct sim_told *sim_told_new(void);
void sim_told_free(struct sim_told *told);

/* It executed this. */
void sim_told_ran(struct sim_node *node, struct sim_link *link,
                  const struct sim_run *run);

/* What it wrote on `link` is on its way. */
void sim_told_sent(struct sim_node *node, struct sim_link *link);

void sim_node_jump(struct sim_node *node, int64_t by_ns);

/* Its server reads the clock when it executes something, and now. */
void sim_node_tick(struct sim_node *node);

/* What it answers to a command of another library: the beginning of it. */
void sim_node_ask(struct sim_node *node, const char *command, size_t len,
                  char *reply, size_t size);

#endif
