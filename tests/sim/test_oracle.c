/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the oracle, on fences and holders. For each rule there is a history
 * that keeps it, which the oracle must accept, and forged ones that break it,
 * which it must report. */
#include "oracle_scene.h"

/* ---- C1: unique -------------------------------------------------------- */

static void test_c1_no_fence_twice(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    gets(P1, 7, 100);
    ends(P1);
    gets(P2, 8, 100);
    silent();

    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    gets(P1, 7, 100);
    ends(P1);
    gets(P2, 7, 100);
    caught(SIM_C1, "p1 and p2 both completed \"a\" with fence 7");
}

static void test_c1_readers_may_share_one(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    reads(P1, 7, 100);
    reads(P2, 7, 100);
    silent();

    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    reads(P1, 7, 100);
    ends(P1);
    gets(P2, 7, 100);
    caught(SIM_C1, "fence 7");

    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    gets(P1, 7, 100);
    ends(P1);
    reads(P2, 7, 100);
    caught(SIM_C1, "fence 7");
}

static void test_c1_goes_with_what_is_handed_on(void **state)
{
    (void)state;
    const uint64_t same = 7;
    for (uint64_t fence = same; fence <= same + 1; fence++) {
        scene(SIM_CALM, 3);
        begins(P1);
        gets(P1, same, 100);
        ends(P1);
        begins(P2);
        sim_oracle_adopted(on.world.oracle, on.turns[P2], on.turns[P1],
                           forge(P2, "a", fence, 100));
        if (fence == same) {
            silent();
        } else {
            caught(SIM_C1, "took on \"a\" with fence 8, but was given 7");
        }
    }
}

/* ---- C2: in order ------------------------------------------------------ */

static void test_c2_later_is_greater(void **state)
{
    (void)state;
    scene(SIM_CALM, 3); /* begun before: any order is allowed */
    begins(P1);
    begins(P2);
    gets(P1, 7, 100);
    ends(P1);
    gets(P2, 5, 100);
    silent();

    scene(SIM_CALM, 3);
    begins(P1);
    gets(P1, 7, 100);
    ends(P1);
    begins(P2);
    gets(P2, 5, 100);
    caught(SIM_C2, "p2 completed \"a\" with fence 5, but fence 7");
}

/* ---- C3: everywhere ---------------------------------------------------- */

static void test_c3_counters_do_not_fall(void **state)
{
    (void)state;
    scene(SIM_AMNESIA, 3);
    counter(0, "0000000000000006 x");
    counter(0, "0000000000000009 y");
    counter(1, "0000000000000006 x"); /* another node */
    SAY(0, "DEL", FENCE_KEY);         /* idle for long */
    ran(0, "confirm", "", false, ":1\r\n");
    counter(0, "0000000000000010 z");
    silent();

    scene(SIM_AMNESIA, 3);
    counter(0, "0000000000000009 y");
    sim_oracle_node_forgot(on.world.oracle, 1);
    counter(0, "0000000000000008 y");
    caught(SIM_C3, "the counter of \"a\" at n1 fell from 9 to 8");

    scene(SIM_AMNESIA, 3);
    counter(0, "0000000000000009 y");
    SAY(0, "DEL", FENCE_KEY);
    ran(0, "confirm", "", false, ":1\r\n");
    counter(0, "0000000000000008 y");
    caught(SIM_C3, "fell from 9 to 8");
}

static void forgets(unsigned node)
{
    SAY(node, "DEL", FENCE_KEY);
    sim_oracle_node_forgot(on.world.oracle, (int)node);
}

static void test_c3_nor_where_they_were_forgotten(void **state)
{
    (void)state;
    const enum sim_regime regimes[] = {SIM_AMNESIA, SIM_FLOOR_ALONE};
    for (size_t i = 0; i < sizeof(regimes) / sizeof(regimes[0]); i++) {
        scene(regimes[i], 3);
        counter(0, "0000000000000009 y");
        forgets(0);
        counter(0, "0000000000000003 "); /* a RELEASE left it */
        counter(0, "0000000000000009 y");
        counter(0, "0000000000000010 x");
        silent();

        scene(regimes[i], 3);
        counter(0, "0000000000000009 shared:1");
        forgets(0);
        counter(0, "0000000000000008 shared:2"); /* as before */
        silent();

        scene(regimes[i], 3);
        counter(0, "0000000000000009 y");
        forgets(0);
        counter(0, "0000000000000009 x");
        caught(SIM_C3, "n1, which lost the value 9 of \"a\", gave 9 after");

        scene(regimes[i], 3);
        counter(0, "0000000000000009 y");
        forgets(0);
        forgets(0);
        counter(0, "0000000000000008 y");
        caught(SIM_C3, "gave 8 after it");

        scene(regimes[i], 3);
        counter(0, "0000000000000005 x");
        counter(0, "0000000000000009 y");
        SAY(0, "SET", FENCE_KEY, "0000000000000005 x"); /* older data */
        sim_oracle_node_forgot(on.world.oracle, 0);
        counter(0, "0000000000000005 x");
        counter(0, "0000000000000008 x");
        caught(SIM_C3, "gave 8 after it");
    }
}

/* A holder's fence may be below the counters that an emptied node has offered,
 * if no acquisition completed with them. */
static void test_c3_is_of_what_completed(void **state)
{
    (void)state;
    enum { BETWEEN = 8, ABOVE = 10 };
    scene(SIM_AMNESIA, 3);
    begins(P1);
    gets(P1, 7, 100);
    counter(0, "0000000000000009 y");
    forgets(0);
    renewed(0, "0000000000000007 x", "7", "1");
    silent();

    static const struct {
        const char *fence, *holder;
    } others[] = {{"7", "0"}, {"9", "1"}, {"7", "10"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        scene(SIM_AMNESIA, 3); /* not the value that a holder writes back */
        counter(0, "0000000000000009 y");
        forgets(0);
        renewed(0, "0000000000000007 x", others[i].fence, others[i].holder);
        caught(SIM_C3, "which lost the value 9 of \"a\", gave 7 after it");
    }
    for (uint64_t fence = BETWEEN; fence <= ABOVE; fence++) {
        scene(SIM_AMNESIA, 3);
        begins(P1);
        begins(P2);
        gets(P1, 7, 100);
        ends(P1);
        gets(P2, fence, 100);
        counter(0, "0000000000000009 y");
        forgets(0);
        renewed(0, "0000000000000007 x", "7", "1");
        if (fence == ABOVE) {
            silent();
        } else {
            caught(SIM_C3, "gave 7 after it");
        }
    }
}

static void test_c3_a_value_has_one_owner(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    counter(1, "0000000000000006 x");
    counter(1, "0000000000000006 x");
    counter(1, "0000000000000006 "); /* released: no owner from now on */
    counter(1, "0000000000000007 y");
    silent();

    scene(SIM_CALM, 3);
    counter(1, "0000000000000006 x");
    counter(1, "0000000000000006 y");
    caught(SIM_C3, "value 6 of \"a\" at n2");

    scene(SIM_CALM, 3);
    counter(1, "0000000000000006 x");
    counter(1, "0000000000000006 ");
    counter(1, "0000000000000006 y");
    caught(SIM_C3, "value 6 of \"a\" at n2");
}

/* ---- E1: no revival ---------------------------------------------------- */

static void renewal_begins(enum who who)
{
    hf_lock_lease(on.held[who])->round_at.ns =
        clock_of(who, on.world.now_ns / MS);
    looks(who);
}

static void renewal_succeeds(enum who who)
{
    struct hf_lease *lease = hf_lock_lease(on.held[who]);
    lease->confirmed_or_ticket.confirmed = lease->round_at;
    looks(who);
}

static void test_e1_no_renewal_after_a_greater_fence(void **state)
{
    (void)state;
    for (int is_late = 0; is_late <= 1; is_late++) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        gets(P1, 7, 100);
        at(200);
        if (!is_late) {
            renewal_begins(P1);
        }
        gets(P2, 8, 300);
        ends(P2);
        at(400);
        if (is_late) {
            renewal_begins(P1);
        }
        renewal_succeeds(P1);
        assert_int_equal(verdict()->n_renewals, 1);
        if (is_late) {
            caught(SIM_E1, "p1 renewed \"a\" with fence 7 though fence 8");
        } else {
            silent();
        }
    }
}

static void test_e1_readers_may_renew_beside_readers(void **state)
{
    (void)state;
    for (int writers = 0; writers <= 2; writers++) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        (writers == 1 ? gets : reads)(P1, 7, 100);
        at(200);
        (writers == 2 ? gets : reads)(P2, 8, 300);
        ends(P2);
        renewal_begins(P1);
        renewal_succeeds(P1);
        if (writers == 0) {
            silent();
        } else {
            caught(SIM_E1, "fence 8");
        }
    }
}

/* ---- C4: exclusion ----------------------------------------------------- */

static void test_c4_one_believes_at_a_time(void **state)
{
    (void)state;
    for (int early = 0; early <= 1; early++) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        gets(P1, 7, 100);
        at(100 - early);
        gets(P2, 8, 200);
        if (early) {
            caught(SIM_C4, "p1 and p2 both believe that they hold \"a\": fence "
                           "7 until 100.000 ms");
        } else {
            silent();
        }
    }
}

static void test_c4_until_it_is_given_back(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    gets(P1, 7, 100);
    at(50);
    ends(P1);
    begins(P2);
    gets(P2, 8, 200);
    silent();
}

static void test_c4_sharers_only_share_on_equal_terms(void **state)
{
    (void)state;
    for (uint16_t permits = 0; permits <= 2; permits += 2) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        reads(P1, 7, 100);
        told(P2, share(P2, 8, 100, permits));
        if (permits == 0) {
            silent();
        } else {
            caught(SIM_C4, "p1 and p2");
        }
    }
    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    reads(P1, 7, 100);
    gets(P2, 8, 100);
    caught(SIM_C4, "p1 and p2");
}

static void test_c4_a_belief_that_comes_back(void **state)
{
    (void)state;
    for (int is_over = 0; is_over <= 1; is_over++) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        gets(P1, 7, 100);
        at(150);
        gets(P2, 8, 200);
        at(is_over ? 200 : 199);
        on.held[P1]->deadline_ns = clock_of(P1, 300);
        looks(P1);
        if (is_over) {
            silent();
        } else {
            caught(SIM_C4, "fence 8 until 200.000 ms, fence 7 until 300.000");
        }
    }
}

static void test_c4_a_clock_that_stood_still(void **state)
{
    (void)state;
    for (int is_still = 0; is_still <= 1; is_still++) {
        scene(SIM_CALM, 3);
        begins(P1);
        begins(P2);
        gets(P1, 7, 100);
        if (is_still) {
            sim_process_jump(&on.world.processes[P1], -30 * MS);
        }
        at(120);
        gets(P2, 8, 200);
        if (is_still) {
            caught(SIM_C4, "fence 7 until 130.000 ms");
        } else {
            silent();
        }
    }
}

/* ---- PERMITS ----------------------------------------------------------- */

static struct sim_turn asking[EVERYBODY];

static void begins_for_one_of(enum who who, uint8_t permits)
{
    asking[who] = turns[who];
    asking[who].n_permits = permits;
    on.turns[who] = sim_oracle_begin(on.world.oracle, &asking[who]);
}

/* The terms of the request count: each lock has three permits. */
static void test_permits_are_not_exceeded(void **state)
{
    (void)state;
    for (uint8_t permits = 3; permits >= 2; permits--) {
        scene(SIM_CALM, 3);
        begins_for_one_of(P1, permits);
        begins_for_one_of(P2, permits);
        begins_for_one_of(P3, permits);
        gets_permit(P1, "a#0", 7, 3);
        gets_permit(P2, "a#1", 8, 3);
        gets_permit(P3, "a#2", 9, 3);
        if (permits == 3) {
            silent();
        } else {
            caught(SIM_PERMITS, "3 believe that they have one of 2 permits");
        }
    }
}

static void test_permits_have_one_holder_each(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    begins(P2);
    gets_permit(P1, "a#0", 7, 3);
    gets_permit(P2, "a#0", 8, 3);
    caught(SIM_PERMITS, "p1 and p2 both believe that they hold \"a#0\"");
}

/* ---- GUARD ------------------------------------------------------------- */

/* Two guards read before either writes. @return the number of accepted
 * writes. */
static unsigned interleave(uint64_t one, uint64_t other, bool is_guarded)
{
    struct sim_oracle *oracle = on.world.oracle;
    uint64_t seen = 0;
    uint64_t also_seen = 0;
    assert_true(sim_register_read(oracle, 0, one, is_guarded, &seen));
    assert_true(sim_register_read(oracle, 0, other, is_guarded, &also_seen));
    unsigned taken =
        sim_register_write(oracle, 0, other, is_guarded, also_seen + 1);
    return taken + sim_register_write(oracle, 0, one, is_guarded, seen + 1);
}

static void test_guard_takes_nothing_older(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    assert_int_equal(interleave(7, 8, true), 1);
    assert_int_equal(verdict()->n_refused, 1);
    assert_int_equal(verdict()->n_writes, 1);
    assert_int_equal(sim_register_newest(on.world.oracle, 0), 8);
    silent();

    scene(SIM_CALM, 3); /* a guard does not work if two clients have one
                           fence */
    assert_int_equal(interleave(7, 7, true), 2);
    caught(SIM_GUARD, "the guarded \"a\" took 1 over 1 with fence 7");
}

static void test_guard_is_missed_where_there_is_none(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    assert_int_equal(interleave(7, 8, false), 2);
    assert_int_equal(verdict()->n_unguarded_lost, 1);
    silent();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c1_no_fence_twice),
        cmocka_unit_test(test_c1_readers_may_share_one),
        cmocka_unit_test(test_c1_goes_with_what_is_handed_on),
        cmocka_unit_test(test_c2_later_is_greater),
        cmocka_unit_test(test_c3_counters_do_not_fall),
        cmocka_unit_test(test_c3_nor_where_they_were_forgotten),
        cmocka_unit_test(test_c3_is_of_what_completed),
        cmocka_unit_test(test_c3_a_value_has_one_owner),
        cmocka_unit_test(test_e1_no_renewal_after_a_greater_fence),
        cmocka_unit_test(test_e1_readers_may_renew_beside_readers),
        cmocka_unit_test(test_c4_one_believes_at_a_time),
        cmocka_unit_test(test_c4_until_it_is_given_back),
        cmocka_unit_test(test_c4_sharers_only_share_on_equal_terms),
        cmocka_unit_test(test_c4_a_belief_that_comes_back),
        cmocka_unit_test(test_c4_a_clock_that_stood_still),
        cmocka_unit_test(test_permits_are_not_exceeded),
        cmocka_unit_test(test_permits_have_one_holder_each),
        cmocka_unit_test(test_guard_takes_nothing_older),
        cmocka_unit_test(test_guard_is_missed_where_there_is_none),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
