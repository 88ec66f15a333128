/* SPDX-License-Identifier: Apache-2.0 */
/* Stories: random ones are within bounds, a printed story is parsed as the
 * same, and errors name their line. */
#include "story/story.h"

#include "core/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Drawn stories: so many that 1% of them is a fair least share of a regime. */
#define SEEDS 2000

static char *text_of(const struct sim_story *story)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    sim_story_write(story, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* ---- Text ---------------------------------------------------------------- */

static bool is_same_turn(const struct sim_turn *a, const struct sim_turn *b)
{
    return a->process == b->process && a->lane == b->lane &&
           a->is_shared == b->is_shared && a->is_unfair == b->is_unfair &&
           a->is_blocking == b->is_blocking && a->hands_on == b->hands_on &&
           a->forsakes == b->forsakes && a->names == b->names &&
           a->n_permits == b->n_permits && a->n_writes == b->n_writes &&
           a->n_extends == b->n_extends && a->think_ns == b->think_ns &&
           a->wait_ms == b->wait_ms && a->cancel_ns == b->cancel_ns &&
           a->hold_ns == b->hold_ns && a->ttl_ms == b->ttl_ms &&
           a->kind == b->kind && a->withdraws == b->withdraws &&
           a->period_ms == b->period_ms && a->reserve_ms == b->reserve_ms;
}

static bool is_same_fault(const struct sim_fault *a, const struct sim_fault *b)
{
    return a->at_ns == b->at_ns && a->kind == b->kind &&
           a->process == b->process && a->node == b->node &&
           a->span_ns == b->span_ns && a->amount == b->amount &&
           a->mask == b->mask;
}

static void test_text_reads_as_it_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_story drawn, read;
        char why[200] = "";
        sim_story_draw(&drawn, seed, -1);
        char *before = text_of(&drawn);
        if (!sim_story_read(&read, before, why, sizeof(why))) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, why);
        }
        char *after = text_of(&read);
        assert_string_equal(before, after);
        assert_int_equal(drawn.n_turns, read.n_turns);
        assert_int_equal(drawn.n_faults, read.n_faults);
        for (size_t i = 0; i < drawn.n_turns; i++) {
            assert_true(is_same_turn(&drawn.turns[i], &read.turns[i]));
        }
        for (size_t i = 0; i < drawn.n_faults; i++) {
            assert_true(is_same_fault(&drawn.faults[i], &read.faults[i]));
        }
        free(before);
        free(after);
        sim_story_fini(&drawn);
        sim_story_fini(&read);
    }
}

static void test_what_a_person_writes(void **state)
{
    (void)state;
    static const char text[] =
        "# a pause past the lease\n"
        "nodes 3\n"
        "processes 2   # p1 and p2\n"
        "\n"
        "wall n2 -1.5s\n"
        "turn p1 name a ttl 2s hold 50ms writes 2\n"
        "turn p2.3 name b,d think 0.25ms wait none shared\n"
        "turn p2 permits 2 wait 3s cancel 7us extends 1 unfair blocking\n"
        "turn p1 once 1m withdraws reserve 2s\n"
        "turn p1 name c break-now\n"
        "at 1.25s partition p1,n2,n3 for 3s\n"
        "at 20ms slow p2 by 5ms for 1s\n";
    struct sim_story story;
    char why[200] = "";
    assert_true(sim_story_read(&story, text, why, sizeof(why)));
    assert_int_equal(story.n_nodes, 3);
    assert_int_equal(story.n_turns, 5);
    assert_int_equal(story.max_ttl_ms, 2000);
    assert_int_equal(story.node_wall_ns[1], INT64_C(-1500000000));
    assert_int_equal(story.turns[1].process, 1);
    assert_int_equal(story.turns[1].lane, 2);
    assert_int_equal(story.turns[1].names, 0xa);
    assert_int_equal(story.turns[1].think_ns, 250000);
    assert_int_equal(story.turns[1].wait_ms, 0);
    assert_int_equal(story.turns[2].wait_ms, 3000);
    assert_int_equal(story.turns[0].wait_ms, -1);
    assert_int_equal(story.turns[3].period_ms, 60000);
    assert_int_equal(story.turns[3].reserve_ms, 2000);
    assert_true(story.turns[3].withdraws);
    assert_int_equal(story.turns[4].kind, SIM_TURN_BREAK_NOW);
    /* by time, not as written */
    assert_int_equal(story.faults[0].kind, SIM_FAULT_SLOW);
    assert_int_equal(story.faults[0].process, 1);
    assert_int_equal(story.faults[0].node, -1);
    assert_int_equal(story.faults[1].mask, 1U | 6U << 16);
    sim_story_fini(&story);
}

static void test_errors_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"nodes 3\nprocesses 2\nrubbish\n", "line 3: no line begins with"},
        {"nodes 2\n", "line 1: nodes: 1, 3 or 5"},
        {"nodes 3\n", "\"processes\" is not told"},
        {"nodes 3 4\n", "line 1: \"4\" is too much"},
        {"nodes 1\nprocesses 1\nturn p2\n", "line 3: \"p2\" does not exist"},
        {"nodes 1\nprocesses 1\nturn p1.4\n", "line 3: lane \"4\""},
        {"nodes 1\nprocesses 1\nturn p1 hold 3\n", "line 3: hold: \"3\" is no"},
        {"nodes 1\nprocesses 1\nturn p1 hold\n", "line 3: hold is missing"},
        {"nodes 1\nprocesses 1\nturn p1 name a,,b\n", "line 3: name"},
        {"nodes 1\nprocesses 1\nturn p1 name e\n", "line 3: name"},
        {"nodes 1\nprocesses 1\nturn p1 ttl 1ms\n", "line 3: the shortest ttl"},
        {"nodes 1\nprocesses 1\nturn p1 ttl 1us\n", "line 3: ttl"},
        {"nodes 1\nprocesses 1\nturn p1 name a,b permits 2\n", "line 3: permi"},
        {"nodes 1\nprocesses 1\nturn p1 permits 17\n",
         "line 3: permits: 17 is not"},
        {"nodes 1\nprocesses 1\nturn p1 name a,b hands-on\n", "line 3: only"},
        {"nodes 1\nprocesses 1\nturn p1 once 1s shared\n", "line 3: once"},
        {"nodes 1\nprocesses 1\nturn p1 reserve 1us\n", "line 3: reserve"},
        {"nodes 1\nprocesses 1\nturn p1 name a,b look\n", "line 3: look is"},
        {"nodes 1\nprocesses 1\nat 1s burn n1\n", "line 3: \"burn\" cannot"},
        {"nodes 1\nprocesses 1\nat 1s pause n1 for 1s\n", "line 3: pause is n"},
        {"nodes 1\nprocesses 1\nat 1s pause p1\n", "line 3: pause: \"for\""},
        {"nodes 1\nprocesses 1\nat 1s age n1 for 1s\n", "line 3: age: \"by\""},
        {"nodes 1\nprocesses 1\nat -1s flush n1\n", "line 3: at: \"-1s\" is t"},
        {"nodes 1\nprocesses 1\nat 0.5ns flush n1\n", "line 3: at: \"0.5ns\""},
        {"seed x\n", "line 1: seed: \"x\" is not a number"},
        {"regime sunny\n", "line 1: \"sunny\" is no regime"},
        {"queues maybe\n", "line 1: \"maybe\" is neither on nor off"},
        {"late 5\n", "line 1: late: \"5\" is not a number of ppm"},
        {"late 5ppm\n", "line 1: late: by how much is missing"},
        {"nodes 1\nprocesses 1\nmax_ttl 1s\nturn p1 ttl 2s\n", "a ttl is long"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_story story;
        char why[200] = "";
        if (sim_story_read(&story, cases[i].text, why, sizeof(why)) ||
            strncmp(why, cases[i].why, strlen(cases[i].why)) != 0) {
            fail_msg("\"%s\" says \"%s\", not \"%s\"", cases[i].text, why,
                     cases[i].why);
        }
    }
}

/* ---- Random draws -------------------------------------------------------- */

static void check_turns(const struct sim_story *story)
{
    for (size_t i = 0; i < story->n_turns; i++) {
        const struct sim_turn *turn = &story->turns[i];
        assert_true(turn->process < story->n_processes);
        assert_true(turn->lane < SIM_LANES_MAX);
        assert_true(turn->names > 0 && turn->names < 1 << SIM_NAMES_MAX);
        assert_true(turn->ttl_ms >= 10 && turn->ttl_ms <= story->max_ttl_ms);
        bool is_many = (turn->names & (turn->names - 1)) != 0;
        assert_true(turn->n_permits == 0 || (!is_many && !turn->is_shared));
        assert_true(!turn->hands_on || (!is_many && turn->n_permits == 0));
        assert_true(story->queues || turn->is_unfair || turn->wait_ms == 0);
    }
}

static void check_faults(const struct sim_story *story)
{
    int64_t last = 0;
    for (size_t i = 0; i < story->n_faults; i++) {
        const struct sim_fault *fault = &story->faults[i];
        assert_true(fault->at_ns >= last && fault->span_ns >= 0);
        assert_true(fault->at_ns + fault->span_ns <= story->calm_ns);
        assert_true(fault->process < (int)story->n_processes);
        assert_true(fault->node < (int)story->n_nodes);
        last = fault->at_ns;
    }
}

/* Without quarantine nodes are away for a step of the clock floor (4.2 s) and
 * what walls differ, or they would grant what they had granted. */
static void test_a_node_that_loses_data_is_away_for_long(void **state)
{
    (void)state;
    unsigned forgets = 0;
    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        struct sim_story story;
        sim_story_draw(&story, seed, SIM_FLOOR_ALONE);
        assert_false(story.has_quarantine);
        for (size_t i = 0; i < story.n_faults; i++) {
            const struct sim_fault *fault = &story.faults[i];
            if (fault->kind == SIM_FAULT_EMPTY ||
                fault->kind == SIM_FAULT_AGE) {
                assert_true(fault->span_ns >
                            (INT64_C(1) << HF_FLOOR_BITS) * 1000);
                forgets++;
            }
        }
        sim_story_fini(&story);
    }
    assert_true(forgets > SEEDS / 10);
}

/* Clocks that a promise rests on are as right as it says. */
static void check_clocks(const struct sim_story *story)
{
    for (unsigned i = 0; i < story->n_processes; i++) {
        assert_in_range(story->rate_ppm[i] + 4500, 0, 9000);
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        assert_in_range(story->node_rate_ppm[i] + 4500, 0, 9000);
    }
}

static void test_draws_are_in_bounds(void **state)
{
    (void)state;
    unsigned regimes[SIM_REGIMES] = {0};
    unsigned faults[SIM_FAULTS] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_story story;
        sim_story_draw(&story, seed, -1);
        assert_true(story.n_turns >= 10 && story.n_turns <= 720);
        assert_true(story.calm_ns > 0);
        check_turns(&story);
        check_faults(&story);
        check_clocks(&story);
        regimes[story.regime]++;
        for (size_t i = 0; i < story.n_faults; i++) {
            faults[story.faults[i].kind]++;
        }
        sim_story_fini(&story);
    }
    /* The embedded store's is asked for, so that others keep their seeds. */
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_story story;
        sim_story_draw(&story, seed, SIM_LOCAL);
        assert_true(story.is_local && story.n_nodes == 1);
        check_turns(&story);
        check_faults(&story);
        for (size_t i = 0; i < story.n_faults; i++) {
            faults[story.faults[i].kind]++;
        }
        sim_story_fini(&story);
    }
    for (int i = 0; i < SIM_REGIMES; i++) {
        assert_true(i == SIM_LOCAL ? regimes[i] == 0
                                   : regimes[i] > SEEDS / 100);
    }
    for (int i = 0; i < SIM_FAULTS; i++) {
        if (faults[i] < SEEDS / 40) {
            fail_msg("%s was drawn %u times only",
                     sim_fault_name((enum sim_fault_kind)i), faults[i]);
        }
    }
}

static void test_a_regime_can_be_asked_for(void **state)
{
    (void)state;
    for (int regime = 0; regime < SIM_REGIMES; regime++) {
        struct sim_story story;
        sim_story_draw(&story, 7, regime);
        assert_int_equal(story.regime, regime);
        assert_int_equal(story.n_faults == 0, regime == SIM_CALM);
        sim_story_fini(&story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_reads_as_it_was_written),
        cmocka_unit_test(test_what_a_person_writes),
        cmocka_unit_test(test_errors_name_their_line),
        cmocka_unit_test(test_draws_are_in_bounds),
        cmocka_unit_test(test_a_node_that_loses_data_is_away_for_long),
        cmocka_unit_test(test_a_regime_can_be_asked_for),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
