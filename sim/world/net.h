/* SPDX-License-Identifier: Apache-2.0 */
/* The network: connections of processes with nodes (struct sim_link, world.h).
 * A process connects, writes and closes; the node replies; the faults of the
 * story cut, block or delay. The world owns the links: one is
 * freed when both sides have closed it and no event of it is in the heap. */
#ifndef HF_SIM_NET_H
#define HF_SIM_NET_H

#include "world/world.h"

/* A process connects: to the server that has the node's address when the first
 * packet arrives. The socket is notified of the end. */
struct sim_link *sim_link_connect(struct sim_process *process, int node,
                                  struct hf_socket *socket);

/* The process sends bytes, which are copied. */
void sim_link_write(struct sim_link *link, const char *data, size_t len);
void sim_link_close(struct sim_link *link); /* by the process */
void sim_link_reply(struct sim_link *link); /* send the server's replies */

/* The network breaks the connection: each side gets the end after its own
 * delay. `by_node`: the server has ended, and its session is gone at once. */
void sim_link_cut(struct sim_link *link, bool by_node);

/* The same for all links between these two; below 0: any process, any node. */
void sim_links_cut(struct sim_world *world, int process, int node,
                   bool by_node);
/* All bytes that the process sends, and those in flight, arrive at `until_ns`
 * or later; at `end_ns` the connection ends for the process. */
void sim_links_delay_after_close(struct sim_world *world, int process, int node,
                                 int64_t end_ns, int64_t until_ns);
void sim_links_heal(struct sim_world *world); /* late bytes arrive soon */

/* At the end of the world. */
void sim_links_free(struct sim_world *world);

#endif
