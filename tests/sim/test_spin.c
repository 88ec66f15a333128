/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that no longer advances is reported, with the process or node that
 * blocks it. */
#include "oracle_scene.h"

#include "world/spin.h"

/* More than any story needs at one instant, fewer than a livelock makes. */
#define SOME 5000
#define MANY 1000000

/* @return how many are fired before it is one too many; MANY: it never is. */
static unsigned fire(const void *object, bool goes_on)
{
    for (unsigned i = 0; i < MANY; i++) {
        struct sim_event event = {.at_ns = goes_on ? i * MS : 5 * MS,
                                  .object = (void *)(uintptr_t)object};
        if (sim_spin_event(&on.world, &event)) {
            return i;
        }
    }
    return MANY;
}

static void test_events_at_one_instant(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 3);
    sim_spin_begin(&on.world);
    at(5);
    assert_in_range(fire(&on.world.processes[P2], false), SOME, MANY - 1);
    sim_spin_end();
    caught(SIM_LIVE, "time stands still at 5.000000 ms");
}

static void test_what_spins_is_named(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 3);
    sim_spin_begin(&on.world);
    assert_in_range(fire(&on.world.processes[P2], false), SOME, MANY - 1);
    sim_spin_end();
    caught(SIM_LIVE, "p2 has 1000");
}

static void test_events_one_after_another(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 3);
    sim_spin_begin(&on.world);
    assert_int_equal(fire(&on.world.processes[P2], true), MANY);
    sim_spin_end();
    silent();
}

static void test_a_process_that_never_sleeps(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 3);
    sim_spin_begin(&on.world);
    unsigned reads = 0;
    while (reads < MANY && !sim_spin_clock(&on.world.processes[P3])) {
        reads++;
    }
    assert_in_range(reads, SOME, MANY - 1);
    sim_spin_end();
    caught(SIM_LIVE, "p3 has read its clock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_at_one_instant),
        cmocka_unit_test(test_what_spins_is_named),
        cmocka_unit_test(test_events_one_after_another),
        cmocka_unit_test(test_a_process_that_never_sleeps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
