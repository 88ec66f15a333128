/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines: they let simulated users make blocking calls, and pause in the
 * middle of one. */
#ifndef HF_SIM_FIBER_H
#define HF_SIM_FIBER_H

#include <stdbool.h>

struct sim_fiber;

/* Aborts if there is no memory. */
struct sim_fiber *sim_fiber_new(void (*body)(void *user), void *user);

/* It may be freed at any yield; the objects on its stack are lost. */
void sim_fiber_free(struct sim_fiber *fiber);

/* Run it until it yields. @return false: its body has returned. */
bool sim_fiber_enter(struct sim_fiber *fiber);

/* From inside: back to the caller of the fiber. */
void sim_fiber_yield(struct sim_fiber *fiber);

#endif
