/* SPDX-License-Identifier: Apache-2.0 */
/* A world from its beginning to its end: it makes the processes, the nodes or
 * the machine, and the faults of a story; fires events in order of time until
 * all turns are over, and lets the oracle judge the end. */
#ifndef HF_SIM_RUN_STORY_H
#define HF_SIM_RUN_STORY_H

#include "story/story.h"
#include "world/observer.h"
#include "world/trace.h"

/* Run a story from its beginning to its end, or to the first broken promise.
 * `trace` gets each note (trace.h); NULL: none. `out` is a copy of the verdict:
 * nothing of it is to be freed. One run at a time in a process. */
void sim_run(const struct sim_story *story, sim_trace_fn *trace,
             void *trace_user, struct sim_verdict *out);

#endif
