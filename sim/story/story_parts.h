/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a story share: story.c keeps it, draw.c and
 * draw_faults.c draw it, write.c writes and read.c reads it. */
#ifndef HF_SIM_STORY_PARTS_H
#define HF_SIM_STORY_PARTS_H

#include "story/random.h"
#include "story/story.h"

/* How a kind of fault is told, and what of it counts. */
struct sim_fault_form {
    const char *name;
    const char *amount; /* the word before it; NULL: it has none */
    bool has_process;
    bool has_node;
    bool has_span;
    bool has_mask;
    bool is_count; /* the amount is a number, not a time */
};

const struct sim_fault_form *sim_fault_form(enum sim_fault_kind kind);

void sim_story_add_turn(struct sim_story *story, const struct sim_turn *turn);

/* Keeps the order of time; of those at one time, the order of adding. */
void sim_story_add_fault(struct sim_story *story,
                         const struct sim_fault *fault);

/* "1.25s", "300us": exact, with the largest unit that leaves no zero in front.
 * Reading takes ns, us, ms, s, m, h, and a sign. */
void sim_time_write(int64_t ns, FILE *out);
bool sim_time_read(const char *text, int64_t *ns);

#define SIM_MS INT64_C(1000000)
#define SIM_S INT64_C(1000000000)

static inline bool sim_chance(struct sim_random *random, int percent)
{
    return sim_draw_below(random, 100) < percent;
}

/* Every order of magnitude is as likely as another. */
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

/* ---- What lies within a story's regime: regime.c ------------------------- */

/* A fault of this kind lasts so long at least. */
int64_t sim_span_least_ns(const struct sim_story *story,
                          const struct sim_fault *fault);

/* A clock that was wrong when its node started is set right after so long at
 * most: less than a quarantine. What a holder repairs at a sole node counts
 * before the end of the quarantine, so that no lease may reach from before the
 * step to that end. */
int64_t sim_set_right_most_ns(const struct sim_story *story);

bool sim_fault_is_within(const struct sim_story *story,
                         const struct sim_fault *fault);

/* How many of its parts go beyond what its regime says; of what is drawn, none.
 */
unsigned sim_story_strays(const struct sim_story *story);

/* What goes wrong until story->calm_ns, in a story that is drawn otherwise. */
void sim_faults_draw(struct sim_story *story, int64_t ttl_ns);

#endif
