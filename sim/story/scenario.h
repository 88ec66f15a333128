/* SPDX-License-Identifier: Apache-2.0 */
/* Stories built into hfsim: sim/scenarios/NAME.story. The first comment line of
 * a story is its title, the lines right below it are its caption. */
#ifndef HF_SIM_SCENARIO_H
#define HF_SIM_SCENARIO_H

#include <stddef.h>

struct sim_scenario {
    const char *name;
    const char *text; /* for sim_story_read() */
};

/* Sorted by name, ends with name NULL. Generated from the folder. */
extern const struct sim_scenario sim_scenarios[];

/* NULL: none of that name. */
const struct sim_scenario *sim_scenario_find(const char *name);

/* The i-th one; NULL: past the last. */
const struct sim_scenario *sim_scenario_at(size_t i);

/* "TITLE\nCAPTION" or "TITLE" for sim_picture_draw(). Owner: caller. NULL: the
 * text begins with no comment. */
char *sim_story_title(const char *text);

#endif
