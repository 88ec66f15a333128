/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes' own memory says of a lock: the ground truth that answers of
 * the library are compared with (answer.c). */
#ifndef HF_SIM_ORACLE_GROUND_TRUTH_H
#define HF_SIM_ORACLE_GROUND_TRUTH_H

#include "oracle/state.h"

#include "core/limits.h"

/* An owner as nodes know it. */
struct sim_owner {
    char text[HF_OWNER_MAX];
    size_t len;
    bool is_shared;
};

/* Has the node this owner as a holder of the name, at `fence`? Then for how
 * much longer, by its own clock. */
bool sim_memory_holds(const struct sim_oracle *oracle,
                      const struct sim_chain *chain, int node,
                      const struct sim_owner *owner, uint64_t fence,
                      int64_t *left_ns);

/* Does another owner keep `turn` from the name at the node, one that is not
 * among the `n` digests of `mine`? @return until when, by the world's clock;
 * -1: no. */
int64_t sim_memory_taken_until(const struct sim_oracle *oracle,
                               const struct sim_chain *chain, int node,
                               const struct sim_turn *turn,
                               const uint64_t *mine, unsigned n);

/* Does a client other than `owner` wait there? */
bool sim_memory_has_queue(const struct sim_oracle *oracle,
                          const struct sim_chain *chain, int node,
                          const char *owner, size_t len);

#endif
