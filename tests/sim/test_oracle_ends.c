/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the oracle, on queues and the ends of locks. For each rule there is
 * a history that keeps it, which the oracle must accept, and forged ones that
 * break it, which it must report. */
#include "oracle_scene.h"

#include "core/quarantine.h"

/* ---- FIFO -------------------------------------------------------------- */

/* P1 enters the queue of the only node, then P2. */
struct line {
    enum who first;  /* the process that is granted the lock first */
    bool is_unfair;  /* P1 is */
    bool is_deaf;    /* P1 cannot get pushes … */
    bool hears_late; /* … until P2 has the lock */
    int64_t gap_ns;  /* time between them; 0: 10 ms */
};

/* The node replies to `who` that it is queued. */
static void queues(enum who who, struct hf_lock *lock, bool is_deaf)
{
    char owner[HF_OWNER_MAX + 1];
    owner[hf_lock_emit_owner(lock, owner)] = '\0';
    on.clients[who].nodes.listening = !is_deaf;
    looks(who);
    ran(0, "acquire", owner, lock->is_unfair, "*10\r\n:2\r\n");
}

static void is_served(enum who who, struct hf_lock *lock, uint64_t fence)
{
    char text[40];
    snprintf(text, sizeof(text), "%016u p%d", (unsigned)fence, who + 1);
    counter(0, text);
    hf_lock_lease(lock)->fence = fence;
    told(who, lock);
    ends(who);
}

static void serve(struct line line)
{
    scene(SIM_CALM, 1);
    struct hf_lock *locks[] = {forge(P1, "a", 0, 1000),
                               forge(P2, "a", 0, 1000)};
    enum who second = line.first == P1 ? P2 : P1;
    locks[P1]->is_unfair = line.is_unfair;
    begins(P1);
    begins(P2);
    at(10);
    queues(P1, locks[P1], line.is_deaf);
    on.world.now_ns += line.gap_ns > 0 ? line.gap_ns : 10 * MS;
    queues(P2, locks[P2], false);
    at(30);
    is_served(line.first, locks[line.first], 7);
    at(35);
    queues(second, locks[second], line.is_deaf && !line.hears_late);
    at(40);
    is_served(second, locks[second], 8);
}

static void test_fifo_first_come_first_served(void **state)
{
    (void)state;
    serve((struct line){.first = P1});
    silent();
    serve((struct line){.first = P2});
    caught(SIM_FIFO, "p1 was queued for \"a\" at 10.000 ms, p2 at 20.000 ms");
}

/* Histories out of order that break no rule. */
static void test_fifo_has_its_limits(void **state)
{
    (void)state;
    serve((struct line){.first = P2, .gap_ns = 2000});
    caught(SIM_FIFO, "p1 was queued");
    serve((struct line){.first = P2, .gap_ns = 1999});
    silent();
    serve((struct line){.first = P2, .is_unfair = true});
    silent();
    serve((struct line){.first = P2, .is_deaf = true});
    silent();
    serve((struct line){.first = P2, .is_deaf = true, .hears_late = true});
    silent();
}

static void test_fifo_is_counted_with_several_nodes(void **state)
{
    (void)state;
    for (enum who first = P1; first <= P2; first++) {
        enum who second = first == P1 ? P2 : P1;
        scene(SIM_CALM, 3);
        on.story.node_wall_ns[2] = 1;
        begins(P1);
        begins(P2);
        sim_oracle_queued(on.world.oracle, on.turns[P1]);
        sim_oracle_queued(on.world.oracle, on.turns[P2]);
        gets(first, 7, 100);
        ends(first);
        gets(second, 8, 100);
        if (first == P1) {
            silent();
        } else {
            counted(SIM_FIFO);
        }
    }
}

/* ---- LIVE -------------------------------------------------------------- */

static void test_live_within_the_bound(void **state)
{
    (void)state;
    for (int late_ns = 0; late_ns <= 1; late_ns++) {
        scene(SIM_CALM, 3);
        int64_t bound_ns = sim_oracle_bound_ns(&on.story);
        begins(P1);
        at(100);
        sim_oracle_calm(on.world.oracle);
        on.world.now_ns += bound_ns + late_ns;
        looks(P1);
        assert_int_equal(verdict()->slowest_ns, bound_ns + late_ns);
        if (late_ns == 0) {
            silent();
        } else {
            caught(SIM_LIVE, "p1 waits since 0.000 ms");
        }
    }
}

static void test_live_from_the_beginning_of_a_turn(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    int64_t bound_ns = sim_oracle_bound_ns(&on.story);
    sim_oracle_calm(on.world.oracle);
    at(10000);
    begins(P1);
    on.world.now_ns += bound_ns;
    gets(P1, 7, INT32_MAX);
    looks(P1); /* a holder does not wait */
    ends(P1);
    silent();
}

static void test_live_to_the_end(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    gives_up(P1);
    begins(P1);
    gets(P1, 7, 100);
    ends(P1);
    sim_oracle_finish(on.world.oracle);
    silent();

    scene(SIM_CALM, 3);
    begins(P2);
    sim_oracle_finish(on.world.oracle);
    caught(SIM_LIVE, "p2 still waits at the end");

    scene(SIM_CALM, 3);
    begins(P2);
    gets(P2, 7, 100);
    sim_oracle_finish(on.world.oracle);
    caught(SIM_LIVE, "p2 holds at the end");
}

static void test_live_and_keeps_it(void **state)
{
    (void)state;
    const enum sim_regime regimes[] = {SIM_NETWORK, SIM_CALM};
    for (size_t i = 0; i < sizeof(regimes) / sizeof(regimes[0]); i++) {
        scene(regimes[i], 3);
        begins(P1);
        struct hf_lock *lock = forge(P1, "a", 7, 100);
        told(P1, lock);
        at(100);
        atomic_store(&lock->state, HF_STATE_LOST);
        looks(P1);
        looks(P1); /* one violation is enough */
        assert_int_equal(verdict()->n_losses, 1);
        if (regimes[i] == SIM_CALM) {
            caught(SIM_LIVE, "p1 lost \"a\", and nothing ever breaks");
        } else {
            silent();
        }
    }
}

/* The reply to a renewal may be late without any fault. */
static void test_live_and_keeps_it_if_answers_are_in_time(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    on.story.delay_ns = TTL_MS * MS / 10;
    begins(P1);
    struct hf_lock *lock = forge(P1, "a", 7, 100);
    told(P1, lock);
    atomic_store(&lock->state, HF_STATE_LOST);
    looks(P1);
    assert_int_equal(verdict()->n_losses, 1);
    silent();
}

/* The formula of oracle.h, for three lanes, one of which wants two names. */
static void test_live_as_a_formula(void **state)
{
    (void)state;
    const int64_t f = 2 * HF_QUARANTINE_MS_MIN;
    const int64_t each = 50 + 2 * (TTL_MS + 100 + 8 * (50 + 2 + 8 * 1));
    const int64_t bound = 3 * TTL_MS + 5000 + 2 * EVERYBODY * each;
    struct sim_fault back[] = {
        {.kind = SIM_FAULT_NODE_CLOCK, .amount = -700 * MS},
        {.kind = SIM_FAULT_PROCESS_CLOCK, .amount = -70 * MS},
        {.kind = SIM_FAULT_PROCESS_CLOCK, .amount = 9000 * MS}};
    struct sim_turn two_names[EVERYBODY];
    memcpy(two_names, turns, sizeof(turns));
    two_names[P2].names = 5;
    scene(SIM_CALM, 3);
    on.story.turns = two_names;
    on.story.delay_ns = 2 * MS;
    on.story.jitter_ns = 1 * MS;
    assert_int_equal(sim_oracle_bound_ns(&on.story), bound * MS);
    on.story.faults = back;
    on.story.n_faults = 3;
    assert_int_equal(sim_oracle_bound_ns(&on.story), (bound + 770) * MS);
    on.story.regime = SIM_AMNESIA;
    assert_int_equal(sim_oracle_bound_ns(&on.story), (bound + 770 + f) * MS);
    on.story.has_quarantine = false;
    assert_int_equal(sim_oracle_bound_ns(&on.story), (bound + 770) * MS);
    silent();
}

/* ---- RESIDUE ----------------------------------------------------------- */

static void test_residue_is_fences_and_the_marker(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    SAY(0, "HSET", "hf:node", "v", "1");
    SAY(1, "SET", FENCE_KEY, "0000000000000006 x");
    SAY(2, "SET", "hf:{t}:lock:a{t}:fence", "0000000000000006 x");
    SAY(2, "SET", "lock:a", "x", "PX", "10");
    at(11);
    sim_oracle_finish(on.world.oracle);
    silent();

    scene(SIM_CALM, 3);
    SAY(2, "SET", "lock:a", "x", "PX", "10");
    at(10);
    sim_oracle_finish(on.world.oracle);
    caught(SIM_RESIDUE, "left at n3: \"lock:a\" string 0");

    scene(SIM_CALM, 3);
    SAY(0, "ZADD", "hf:{lock:a}:queue", "1", "x");
    sim_oracle_finish(on.world.oracle);
    caught(SIM_RESIDUE, "left at n1: \"hf:{lock:a}:queue\"");

    scene(SIM_CALM, 3);
    SAY(0, "HSET", "hf:{lock:a}:holders", "x", "1");
    sim_oracle_finish(on.world.oracle);
    caught(SIM_RESIDUE, "left at n1: \"hf:{lock:a}:holders\"");
}

/* ---- ONCE -------------------------------------------------------------- */

static void test_once_every_call_is_answered(void **state)
{
    (void)state;
    scene(SIM_CALM, 3); /* never asked */
    gives_up(P1);
    caught(SIM_ONCE, "never began");

    scene(SIM_CALM, 3); /* two replies */
    begins(P1);
    gives_up(P1);
    gets(P1, 7, 100);
    caught(SIM_ONCE, "turn 1 got it, but was over already");

    scene(SIM_CALM, 3);
    begins(P1);
    gets(P1, 7, 100);
    gives_up(P1);
    caught(SIM_ONCE, "turn 1 was given up, but holds already");

    scene(SIM_CALM, 3);
    begins(P1);
    ends(P1);
    caught(SIM_ONCE, "turn 1 gave it back, but has nothing");
}

static void test_once_releases_are_answered(void **state)
{
    (void)state;
    for (unsigned n_lanes = 0; n_lanes <= 1; n_lanes++) {
        scene(SIM_CALM, 3);
        on.world.processes[P2].n_lanes = n_lanes;
        on.world.processes[P2].lanes[0].turn = &turns[P2];
        on.world.processes[P2].lanes[0].phase = SIM_LANE_RETURNING;
        sim_oracle_finish(on.world.oracle);
        if (n_lanes == 0) {
            silent();
        } else {
            caught(SIM_ONCE, "p2.1 was never told");
        }
    }
}

/* ---- The first one decides --------------------------------------------- */

static void test_the_first_breach_is_the_verdict(void **state)
{
    (void)state;
    scene(SIM_CALM, 3);
    begins(P1);
    gives_up(P1);
    at(5);
    gives_up(P1);
    at(6);
    sim_oracle_breach(on.world.oracle, SIM_C4, "later");
    assert_int_equal(verdict()->rule, SIM_ONCE);
    assert_int_equal(verdict()->at_ns, 5 * MS);
    assert_int_equal(verdict()->n_breaches[SIM_C4], 1);
    assert_int_equal(on.n_told, 1);
    over();
}

static void test_what_is_not_promised_is_counted(void **state)
{
    (void)state;
    scene(SIM_WILD_CLOCKS, 3);
    begins(P1);
    begins(P2);
    gets(P1, 7, 100);
    gets(P2, 8, 100);
    counted(SIM_C4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo_first_come_first_served),
        cmocka_unit_test(test_fifo_has_its_limits),
        cmocka_unit_test(test_fifo_is_counted_with_several_nodes),
        cmocka_unit_test(test_live_within_the_bound),
        cmocka_unit_test(test_live_from_the_beginning_of_a_turn),
        cmocka_unit_test(test_live_to_the_end),
        cmocka_unit_test(test_live_and_keeps_it),
        cmocka_unit_test(test_live_and_keeps_it_if_answers_are_in_time),
        cmocka_unit_test(test_live_as_a_formula),
        cmocka_unit_test(test_residue_is_fences_and_the_marker),
        cmocka_unit_test(test_once_every_call_is_answered),
        cmocka_unit_test(test_once_releases_are_answered),
        cmocka_unit_test(test_the_first_breach_is_the_verdict),
        cmocka_unit_test(test_what_is_not_promised_is_counted),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
