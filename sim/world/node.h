/* SPDX-License-Identifier: Apache-2.0 */
/* Servers: their faults, and how they execute the bytes that arrive.
 *
 *     sim_node_init(node, lua);         once; the server is up, and empty
 *     sim_node_execute(…)               bytes of a link have arrived: world.h
 *     sim_node_restart(…), …            faults, which take effect at once
 *     sim_node_fini(node);
 *
 * Times are the world's, in nanoseconds. `age_ns` goes back to data that
 * sim_node_remember() saved: the latest that is old enough; none: empty. */
#ifndef HF_SIM_NODE_H
#define HF_SIM_NODE_H

#include "world/world.h"

/* The data with which a server restarts. */
enum sim_return {
    SIM_WITH_ALL,   /* its data as it was */
    SIM_WITH_OLDER, /* its data of `age_ns` ago */
    SIM_WITH_NOTHING,
    SIM_WITH_REPLICA /* the same, but as a replica's, with another identity and
                        a long uptime */
};

/* Create the server at the beginning of the world, with an empty store that
 * was declared complete. `lua` is shared, and outlives the node. */
void sim_node_init(struct sim_node *node, struct sim_lua *lua);

/* Free its servers, and the images of their data. */
void sim_node_fini(struct sim_node *node);

/* Stop the server now; start it at `back_ns` with this data. */
void sim_node_restart(struct sim_node *node, int64_t back_ns,
                      enum sim_return with, int64_t age_ns);

/* A replica that is `age_ns` behind takes the address; the old primary
 * continues to serve its open connections until `until_ns`. */
void sim_node_promote(struct sim_node *node, int64_t age_ns, int64_t until_ns);

/* The server that a promotion replaced takes the address back; the promoted one
 * continues to serve its connections for as long as the other would have. */
void sim_node_return(struct sim_node *node);

/* Set the server's sync configuration from everysec_ns and unsynced_ns, after
 * one of them has changed or has passed. */
void sim_node_set_sync(struct sim_node *node);

/* Save its data as of now, for a later restart or promotion. */
void sim_node_remember(struct sim_node *node);

/* ---- Notes about the requests that the server executes: server_trace.c --- */

struct sim_run;

/* Without notes. Only a node of a world with a trace has one. */
struct sim_server_trace *sim_server_trace_new(void);
void sim_server_trace_free(struct sim_server_trace *trace);

/* The server has executed this request. */
void sim_server_trace_ran(struct sim_node *node, struct sim_link *link,
                          const struct sim_run *run);

/* The server's replies on `link` have been sent. */
void sim_server_trace_sent(struct sim_node *node, struct sim_link *link);

/* ---- Clocks, and other libraries ----------------------------------------- */

/* Step the node's wall clock; backwards if negative. */
void sim_node_jump(struct sim_node *node, int64_t by_ns);

/* Set the server's clock to the present. (It is also set when it executes a
 * request.) */
void sim_node_tick(struct sim_node *node);

/* Execute a command of another library: `len` bytes of RESP. Its reply, also
 * RESP, goes to `reply`, cut to `size` bytes with its NUL. */
void sim_node_ask(struct sim_node *node, const char *command, size_t len,
                  char *reply, size_t size);

#endif
