/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of a small world (world.h): the guarantees hold in each of them. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SEEDS 300
#define EVENTS 3000

static struct world_report run_seeds(struct world_plan plan)
{
    struct world_report sum = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world_report report;
        plan.seed = seed;
        plan.events = EVENTS;
        world_run(&plan, &report);
        if (report.violation != NULL) {
            fail_msg("seed %llu, %u nodes: %s", (unsigned long long)seed,
                     plan.n_nodes, report.violation);
        }
        sum.grants += report.grants;
        sum.second_rounds += report.second_rounds;
        sum.renewals += report.renewals;
        sum.overlaps += report.overlaps;
    }
    print_message("# %u nodes: %llu grants, %llu renewals, %llu second "
                  "rounds, %llu overlaps\n",
                  plan.n_nodes, (unsigned long long)sum.grants,
                  (unsigned long long)sum.renewals,
                  (unsigned long long)sum.second_rounds,
                  (unsigned long long)sum.overlaps);
    return sum;
}

/* A run in which nothing happens proves nothing. */
static void assert_eventful(struct world_report sum, unsigned n_nodes)
{
    assert_true(sum.grants > SEEDS * 10);
    assert_true(sum.renewals > SEEDS);
    if (n_nodes > 1) {
        assert_true(sum.second_rounds > SEEDS);
    }
}

static void with_right_clocks_nobody_overlaps(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        assert_eventful(
            run_seeds((struct world_plan){
                .n_nodes = n, .n_clients = 3, .breaks = true, .pauses = true}),
            n);
    }
}

static void with_wrong_clocks_fences_are_still_ordered(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        struct world_report sum =
            run_seeds((struct world_plan){.n_nodes = n,
                                          .n_clients = 4,
                                          .wrong_clocks = true,
                                          .breaks = true,
                                          .pauses = true});
        assert_eventful(sum, n);
        assert_true(sum.overlaps > 0); /* else the clocks were not wrong */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_right_clocks_nobody_overlaps),
        cmocka_unit_test(with_wrong_clocks_fences_are_still_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
