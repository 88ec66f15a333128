/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a lock in the memory of the nodes: the ground truth to which
 * results of the library are compared (answer.c). `node` is an index from 0; of
 * an embedded store it is 0, and its table is read. */
#ifndef HF_SIM_ORACLE_GROUND_TRUTH_H
#define HF_SIM_ORACLE_GROUND_TRUTH_H

#include "oracle/state.h"

#include "core/limits.h"

/* An owner, as it is stored at nodes. */
struct sim_owner {
    char text[HF_OWNER_MAX];
    size_t len;
    bool is_shared;
};

/* The owner "<32 hex digits>:p2:…" belongs to p2. @return the index of its
 * process; -1: it belongs to no process of this world. */
int sim_owner_process(const char *text, size_t len);

/* @return whether the owner holds the name at the node with `fence`; then
 * `left_ns` is the rest of its lease, by the node's clock. */
bool sim_memory_holds(const struct sim_oracle *oracle,
                      const struct sim_chain *chain, int node,
                      const struct sim_owner *owner, uint64_t fence,
                      int64_t *left_ns);

/* The lease by which another owner, whose digest is not among the `n` of
 * `mine`, excludes `turn` from the name at the node. @return its end, by the
 * world's clock; -1: none. */
int64_t sim_memory_taken_until(const struct sim_oracle *oracle,
                               const struct sim_chain *chain, int node,
                               const struct sim_turn *turn,
                               const uint64_t *mine, unsigned n);

/* A waiter other than `owner` keeps the name from new requests, also while it
 * is free. */
bool sim_memory_has_queue(const struct sim_oracle *oracle,
                          const struct sim_chain *chain, int node,
                          const char *owner, size_t len);

#endif
