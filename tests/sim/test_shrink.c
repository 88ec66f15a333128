/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinking: the result breaks the same rule, in the same regime, and soon. And
 * which stories lie within their regime. */
#include "hfsim/shrink.h"

#include "story/story_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 3000 /* drawn stories: all must lie within their regime */

static struct sim_story story_of(const char *text)
{
    struct sim_story story;
    char why[200] = "";
    if (!sim_story_read(&story, text, why, sizeof(why))) {
        fail_msg("%s", why);
    }
    return story;
}

/* ---- Shrinking ----------------------------------------------------------- */

static struct sim_story shrunk(const char *text, enum sim_rule rule)
{
    struct sim_story story = story_of(text);
    assert_int_equal(sim_story_strays(&story), 0);
    assert_true(sim_shrink(&story, rule) > 0);
    return story;
}

/* A node's clock jumps by more than a lease, and p1 does not notice that p2 was
 * granted its lock. C4 breaks while p1 stands still, so a calm before the end
 * of that pause would break it as well: but in the calm no process pauses. */
static void test_the_calm_stays_behind_the_faults(void **state)
{
    (void)state;
    struct sim_story story = shrunk("nodes 1\n"
                                    "processes 2\n"
                                    "regime network\n"
                                    "turn p1 name a ttl 2s hold 5s\n"
                                    "turn p2 name a ttl 2s think 50ms hold 2s\n"
                                    "at 100ms node-clock n1 by 3s\n"
                                    "at 120ms pause p1 for 1.5s\n"
                                    "at 300ms slow p1 n1 by 1ms for 1s\n"
                                    "calm 6s\n",
                                    SIM_C4);
    assert_true(story.n_faults > 0);
    for (size_t i = 0; i < story.n_faults; i++) {
        const struct sim_fault *fault = &story.faults[i];
        assert_true(fault->at_ns + fault->span_ns <= story.calm_ns);
    }
    sim_story_fini(&story);
}

/* The same after twenty seconds in which nothing happens. Neither turns nor
 * faults can move alone: the jump must come while p1 holds and p2 waits. */
static void test_idle_time_is_taken_out(void **state)
{
    (void)state;
    struct sim_story story =
        shrunk("nodes 1\n"
               "processes 2\n"
               "regime network\n"
               "turn p1 name a ttl 2s think 20s hold 5s\n"
               "turn p2 name a ttl 2s think 20.05s hold 2s\n"
               "at 20.1s node-clock n1 by 3s\n"
               "at 20.12s pause p1 for 1.5s\n"
               "calm 60s\n",
               SIM_C4);
    assert_int_equal(story.n_turns, 2);
    assert_true(story.turns[0].think_ns < SIM_S);
    assert_true(story.turns[1].think_ns < SIM_S);
    assert_true(story.calm_ns < 3 * SIM_S);
    sim_story_fini(&story);
}

/* p1 holds all the time: what comes late is p2, and with it the faults. */
static void test_a_long_hold_is_no_reason_to_wait(void **state)
{
    (void)state;
    struct sim_story story = shrunk("nodes 1\n"
                                    "processes 2\n"
                                    "regime network\n"
                                    "turn p1 name a ttl 2s hold 50s\n"
                                    "turn p2 name a ttl 2s think 30s hold 2s\n"
                                    "at 30.1s node-clock n1 by 3s\n"
                                    "at 30.12s pause p1 for 1.5s\n"
                                    "calm 60s\n",
                                    SIM_C4);
    assert_true(story.calm_ns < 3 * SIM_S);
    sim_story_fini(&story);
}

/* ---- Stories within a regime --------------------------------------------- */

static void test_what_is_drawn_lies_within(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_story story;
        sim_story_draw(&story, seed, -1);
        if (sim_story_strays(&story) != 0) {
            fail_msg("seed %llu strays", (unsigned long long)seed);
        }
        sim_story_fini(&story);
    }
}

#define NODES "nodes 3\nprocesses 1\n"
#define TURN "turn p1 name a ttl 2s\ncalm 60s\n"

static const struct {
    const char *text;
    unsigned strays;
} cases[] = {
    {NODES TURN "at 59s pause p1 for 1s\n", 0},
    {NODES TURN "at 59s pause p1 for 1001ms\n", 1},
    {NODES TURN "at 61s cut p1 n1\n", 1},
    /* a clock floor's step, and what walls differ */
    {NODES TURN "regime floor-alone\nat 1s empty n1 for 4.3s\n", 0},
    {NODES TURN "regime floor-alone\nat 1s empty n1 for 4.2s\n", 1},
    {NODES TURN "regime floor-alone\nwall n2 -1s\n"
                "at 1s empty n1 for 4.3s\n",
     1},
    {NODES TURN "regime floor-alone\nat 1s stop n1 for 1s\n", 0},
    /* a durable server loses what it was told not to sync */
    {NODES TURN "regime restart-durable\nat 1s everysec n1 for 59s\n"
                "at 2s age n1 by 1s for 1s\n",
     0},
    {NODES TURN "regime restart-durable\nat 1s everysec n2 for 59s\n"
                "at 2s age n1 by 1s for 1s\n",
     1},
    {NODES TURN "regime restart-durable\nat 2s age n1 by 1s for 1s\n", 1},
    {NODES TURN "regime restart-durable\nat 2s restart n1 for 1s\n", 0},
    /* a minority of the clocks */
    {NODES TURN "regime clocks-right-rates\nwall n1 7200s\n", 0},
    {NODES TURN "regime clocks-right-rates\nwall n1 7200s\n"
                "wall n2 -7200s\n",
     1},
    {"nodes 5\nprocesses 1\n" TURN
     "regime clocks-right-rates\nwall n1 7200s\nwall n2 -7200s\n",
     0},
    {"nodes 5\nprocesses 1\n" TURN
     "regime wild-clocks\nwall n1 7200s\nwall n2 -7200s\n",
     0},
    {"nodes 5\nprocesses 1\n" TURN
     "regime wild-clocks\nwall n1 7200s\nwall n2 -7200s\nwall n3 9000s\n",
     1},
    /* jumps, and a clock that is set right */
    {NODES TURN "regime wild-clocks\nat 1s node-clock n1 by 3600s\n", 0},
    {NODES TURN "regime wild-clocks\nat 1s node-clock n1 by 7200s\n", 1},
    {NODES TURN "regime wild-clocks\nat 1s node-clock n1 by -7200s\n", 1},
    {NODES TURN "regime wild-clocks\nwall n1 7200s\n"
                "at 1s node-clock n1 by -7200s\n",
     0},
    {"nodes 1\nprocesses 1\n" TURN "regime wild-clocks\nwall n1 7200s\n"
     "at 1s node-clock n1 by -7200s\n",
     1},
    /* a clock that is wrong at the start, and set right soon after */
    {NODES TURN "regime boot-clocks\nat 1s empty n1 for 2s\n"
                "at 1.1s node-clock n1 by -5s\n"
                "at 4s node-clock n1 by 5s\n",
     0},
    {NODES TURN "regime boot-clocks\nat 1s empty n1 for 2s\n"
                "at 1.1s node-clock n1 by -5s\n",
     1},
    {NODES TURN "regime boot-clocks\nat 1s empty n1 for 2s\n"
                "at 1.1s node-clock n1 by -5s\n"
                "at 4s node-clock n1 by 6s\n",
     2},
    {NODES TURN "regime boot-clocks\n"
                "at 1.1s node-clock n1 by -5s\n"
                "at 4s node-clock n1 by 5s\n",
     2},
    {NODES TURN "regime boot-clocks\nat 1s empty n1 for 2s\n"
                "at 1.1s node-clock n1 by -5s\n"
                "at 14s node-clock n1 by 5s\n",
     1},
};

static void test_what_strays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_story story = story_of(cases[i].text);
        if (sim_story_strays(&story) != cases[i].strays) {
            fail_msg("%u strays, not %u:\n%s", sim_story_strays(&story),
                     cases[i].strays, cases[i].text);
        }
        sim_story_fini(&story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_calm_stays_behind_the_faults),
        cmocka_unit_test(test_idle_time_is_taken_out),
        cmocka_unit_test(test_a_long_hold_is_no_reason_to_wait),
        cmocka_unit_test(test_what_is_drawn_lies_within),
        cmocka_unit_test(test_what_strays),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
