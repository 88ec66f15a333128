/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines: they let simulated users make blocking calls, and pause in the
 * middle of one.
 *
 *     static void live(void *user)                 on a stack of 512 KiB
 *     {
 *         … sim_fiber_yield(process->fiber); …     as often as wanted
 *     }
 *
 *     process->fiber = sim_fiber_new(live, process);
 *     while (sim_fiber_enter(process->fiber)) {    runs up to the next yield
 *         … let time pass …
 *     }
 *     sim_fiber_free(process->fiber);
 *
 * Nothing runs before the first sim_fiber_enter(). After it has returned false
 * only sim_fiber_free() may be called. A fiber may not enter another one or
 * free itself. All fibers are of one thread. */
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
