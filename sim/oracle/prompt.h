/* SPDX-License-Identifier: Apache-2.0 */
/* PROMPT: a free name reaches a waiter in time. The reports of the world are in
 * world/observer.h: sim_prompt_kept(), sim_prompt_anew(). */
#ifndef HF_SIM_ORACLE_PROMPT_H
#define HF_SIM_ORACLE_PROMPT_H

#include "oracle/state.h"

/* PROMPT, as a time: the longest for which a name may be free while a waiter
 * is connected. The figures are the oracle's own, so that a change of the
 * library does not change them. */
int64_t sim_oracle_prompt_ns(const struct sim_story *story);

/* A turn began, was granted or released something, or a process has run. */
void sim_prompt_look(struct sim_oracle *oracle);

/* A node has executed a script of `owner`: note owners that may not release.
 */
void sim_prompt_ran(struct sim_oracle *oracle, const struct sim_chain *chain,
                    int node, const struct sim_arg *owner);

/* The turn does not hold its locks any longer. */
void sim_prompt_left(struct sim_oracle *oracle, const struct sim_live *live);

#endif
