/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that never reached the states that it is for has not passed. */
#include "hfsim/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Ten seeds of each of two regimes, with acquisitions in both, and every rare
 * state. */
static void tally_of(struct sim_tally *tally)
{
    memset(tally, 0, sizeof(*tally));
    tally->n_seeds = 20;
    tally->n_tried[SIM_CALM] = tally->n_tried[SIM_NETWORK] = 10;
    tally->n_grants[SIM_CALM] = tally->n_grants[SIM_NETWORK] = 100;
    for (int i = 0; i < SIM_RARES; i++) {
        tally->n_rare[i] = 1;
    }
}

static void test_all_was_tried(void **state)
{
    (void)state;
    struct sim_tally tally;
    tally_of(&tally);
    assert_false(sim_report_missing(&tally, true));
}

static void test_no_acquisition_in_a_regime(void **state)
{
    (void)state;
    struct sim_tally tally;
    tally_of(&tally);
    tally.n_grants[SIM_CALM] = 0;
    assert_true(sim_report_missing(&tally, false));
    tally.n_tried[SIM_CALM] = 0;
    assert_false(sim_report_missing(&tally, false));
}

static void test_no_seed(void **state)
{
    (void)state;
    struct sim_tally tally;
    memset(&tally, 0, sizeof(tally));
    assert_true(sim_report_missing(&tally, false));
}

static void test_a_rare_state(void **state)
{
    (void)state;
    struct sim_tally tally;
    tally_of(&tally);
    tally.n_rare[SIM_RARES - 1] = 0;
    assert_true(sim_report_missing(&tally, true));
    assert_false(sim_report_missing(&tally, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_was_tried),
        cmocka_unit_test(test_no_acquisition_in_a_regime),
        cmocka_unit_test(test_no_seed),
        cmocka_unit_test(test_a_rare_state),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
