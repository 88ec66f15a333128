/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the small world (world.h): in each of them the guarantees hold. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#ifdef HF_SANITIZED /* the runs are the same, but ten times as long */
#define SEEDS 40    /* fewer, so that the tests take as long */
#else
#define SEEDS 300 /* runs of each plan: some seconds */
#endif
#define EVENTS 3000 /* of a run: clients get some dozen locks in it */

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
        sum.waits += report.waits;
        sum.pushes += report.pushes;
        sum.yields += report.yields;
        sum.together += report.together;
    }
    print_message(
        "# %u nodes: %llu grants, %llu renewals, %llu second "
        "rounds, %llu overlaps, %llu pushes, %llu yields\n",
        plan.n_nodes, (unsigned long long)sum.grants,
        (unsigned long long)sum.renewals, (unsigned long long)sum.second_rounds,
        (unsigned long long)sum.overlaps, (unsigned long long)sum.pushes,
        (unsigned long long)sum.yields);
    return sum;
}

/* A run without such events proves nothing. */
static void assert_eventful(struct world_report sum, unsigned n_nodes)
{
    assert_true(sum.grants > SEEDS * 10);
    assert_true(sum.renewals > SEEDS);
    if (n_nodes > 1) {
        assert_true(sum.second_rounds > SEEDS);
    }
}

static void with_right_clocks_no_holders_overlap(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        assert_eventful(run_seeds((struct world_plan){.n_nodes = n,
                                                      .n_clients = 3,
                                                      .ttl_ms = 1000,
                                                      .breaks = true,
                                                      .pauses = true}),
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
                                          .ttl_ms = 1000,
                                          .wrong_clocks = true,
                                          .breaks = true,
                                          .pauses = true});
        assert_eventful(sum, n);
        assert_true(sum.overlaps > 0); /* else the clocks were right, and the
                                          run shows nothing */
    }
}

/* Claims that are shorter than a lease, and as long. */
static void in_queues_no_holders_overlap_and_all_are_served(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        for (unsigned ttl_ms = 1000; ttl_ms <= 20000; ttl_ms += 19000) {
            struct world_report sum =
                run_seeds((struct world_plan){.n_nodes = n,
                                              .n_clients = 5,
                                              .ttl_ms = ttl_ms,
                                              .queues = true,
                                              .breaks = true,
                                              .pauses = true});
            assert_true(sum.waits > SEEDS * 10);
            assert_true(sum.pushes > SEEDS * 10);
            assert_true(n == 1 || sum.yields > SEEDS / 10);
        }
    }
}

static void sharers_share_and_writers_do_not(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        struct world_report sum =
            run_seeds((struct world_plan){.n_nodes = n,
                                          .n_clients = 5,
                                          .ttl_ms = 20000,
                                          .queues = true,
                                          .shares = true,
                                          .breaks = true,
                                          .pauses = true});
        assert_true(sum.together > SEEDS * 10);
        assert_true(sum.pushes > SEEDS);
    }
}

static void in_queues_fences_are_ordered_with_wrong_clocks(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        struct world_report sum =
            run_seeds((struct world_plan){.n_nodes = n,
                                          .n_clients = 5,
                                          .ttl_ms = 20000,
                                          .queues = true,
                                          .shares = true,
                                          .wrong_clocks = true,
                                          .breaks = true,
                                          .pauses = true});
        assert_true(sum.overlaps > 0);
        assert_true(sum.pushes > SEEDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_right_clocks_no_holders_overlap),
        cmocka_unit_test(with_wrong_clocks_fences_are_still_ordered),
        cmocka_unit_test(in_queues_no_holders_overlap_and_all_are_served),
        cmocka_unit_test(sharers_share_and_writers_do_not),
        cmocka_unit_test(in_queues_fences_are_ordered_with_wrong_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
