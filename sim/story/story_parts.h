/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files of a story: story.c stores it, draw_story.c and
 * draw_faults.c draw it, write.c writes and read.c reads it. */
#ifndef HF_SIM_STORY_PARTS_H
#define HF_SIM_STORY_PARTS_H

#include "story/random.h"
#include "story/story.h"

/* "1.25s", "300us": exact, in the largest unit that gives no leading zero.
 * Reading accepts ns, us, ms, s, m, h, and a sign. */
void sim_time_write(int64_t ns, FILE *out);
bool sim_time_read(const char *text, int64_t *ns);

/* True in `percent` of 100 draws. */
static inline bool sim_chance(struct sim_random *random, int percent)
{
    return sim_draw_below(random, 100) < percent;
}

/* Draw a number so that every order of magnitude is equally likely. */
static inline int64_t sim_draw_log(struct sim_random *random, int64_t least,
                                   int64_t most)
{
    int doublings = 0;
    while (least << (doublings + 1) <= most) {
        doublings++;
    }
    int64_t low = least << sim_draw_below(random, doublings + 1);
    return sim_draw_between(random, low, 2 * low < most ? 2 * low : most);
}

/* ---- The limits of a regime: regime.c ------------------------------------ */

/* @return the shortest span that such a fault may have. */
int64_t sim_span_least_ns(const struct sim_story *story,
                          const struct sim_fault *fault);

/* @return the longest time after which a clock that was wrong when its node
 * started is set right: less than a quarantine. A holder's repair at a sole
 * node counts before the quarantine ends, so no lease may last from before the
 * clock's step to that end. */
int64_t sim_set_right_most_ns(const struct sim_story *story);

/* Steps of one clock add up, so those that the story has already count. */
bool sim_step_has_room(const struct sim_story *story,
                       const struct sim_fault *step);

/* Whether the fault is over before the calm, and the story's regime permits
 * it. */
bool sim_fault_is_within(const struct sim_story *story,
                         const struct sim_fault *fault);

/* @return the number of parts beyond the story's regime; 0 if it was drawn. */
unsigned sim_story_strays(const struct sim_story *story);

/* Draw the faults until story->calm_ns, once the rest of the story is drawn. */
void sim_faults_draw(struct sim_story *story, int64_t ttl_ns);

#endif
