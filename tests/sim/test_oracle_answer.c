/* SPDX-License-Identifier: Apache-2.0 */
/* ANSWER: a library that returns a wrong result is caught, and one that returns
 * the truth is not. */
#include "oracle_scene.h"

#include "oracle/ground_truth.h"
#include "oracle/reach.h"

static struct sim_lane lanes[EVERYBODY];

/* ---- The call ---------------------------------------------------------- */

static int64_t turn_begun_ns;

static struct sim_lane *lane_of(enum who who)
{
    lanes[who] = (struct sim_lane){.process = &on.world.processes[who],
                                   .turn = &turns[who],
                                   .begun_ns = turn_begun_ns};
    on.clients[who].now.ns = clock_of(who, on.world.now_ns / MS);
    return &lanes[who];
}

static void calls(enum who who, enum sim_call_kind kind, int64_t ms)
{
    struct sim_user_call call = {.kind = kind, .span_ms = ms};
    if (kind == SIM_CALL_EXTEND || kind == SIM_CALL_RELEASE) {
        call.lock = on.held[who];
    }
    sim_oracle_calls(on.world.oracle, lane_of(who), &call);
}

static void answered(enum who who, enum hf_status status)
{
    sim_oracle_answered(on.world.oracle, lane_of(who), status, on.held[who]);
}

/* ---- The nodes --------------------------------------------------------- */

/* P2's first owner and its second … */
static const char *owner_of(enum who who, unsigned number)
{
    static char text[64];
    snprintf(text, sizeof(text), "%032u:p%d:1:1:", number, (int)who + 1);
    return text;
}

static const char *owner_of_lock(enum who who)
{
    static char text[HF_OWNER_MAX + 1];
    text[hf_lock_emit_owner(on.held[who], text)] = '\0';
    return text;
}

/* The data of a node: "a" belongs to the owner, at this fence, for this
 * time. */
static void remembers(unsigned node, const char *owner, unsigned fence,
                      const char *ms)
{
    char text[HF_OWNER_MAX + 32];
    snprintf(text, sizeof(text), "%016u %s", fence, owner);
    SAY(node, "SET", "lock:a", owner, "PX", ms);
    SAY(node, "SET", FENCE_KEY, text);
}

static void node_executed(int node, const char *script, const char *owner,
                          const char *ttl, const char *reply)
{
    enum { LOCK_KEY = 3, OWNER = 10, TTL, ARGC };
    struct sim_arg argv[ARGC];
    for (size_t i = 0; i < ARGC; i++) {
        argv[i] = (struct sim_arg){"", 0};
    }
    argv[LOCK_KEY] = (struct sim_arg){"lock:a", strlen("lock:a")};
    argv[OWNER] = (struct sim_arg){owner, strlen(owner)};
    argv[TTL] = (struct sim_arg){ttl, strlen(ttl)};
    sim_oracle_executed(on.world.oracle, node,
                        &(struct sim_run){.script = script,
                                          .argc = ARGC,
                                          .argv = argv,
                                          .reply = reply,
                                          .reply_len = strlen(reply)});
}

/* ---- OK ---------------------------------------------------------------- */

/* The library returns to P1 that it holds "a" at fence 7 until `until_ms`; `n`
 * of three nodes have it so, at `fence`. */
static void is_told_ok(int64_t until_ms, unsigned n, unsigned fence)
{
    scene(SIM_NETWORK, 3);
    for (unsigned i = 0; i < 3; i++) {
        on.world.nodes[i].is_up = true;
    }
    calls(P1, SIM_CALL_ACQUIRE, 0);
    forge(P1, "a", 7, until_ms);
    for (unsigned i = 0; i < n; i++) {
        remembers(i, owner_of_lock(P1), fence, "1000");
    }
    answered(P1, HF_OK);
}

static void test_ok_of_a_majority(void **state)
{
    (void)state;
    is_told_ok(900, 2, 7);
    silent();
}

static void test_ok_of_a_minority(void **state)
{
    (void)state;
    is_told_ok(900, 1, 7);
    caught(SIM_ANSWER, "held by no majority");
}

static void test_ok_at_another_fence(void **state)
{
    (void)state;
    is_told_ok(900, 3, 8);
    caught(SIM_ANSWER, "held by no majority");
}

static void test_ok_for_less_than_a_third(void **state)
{
    (void)state;
    is_told_ok(TTL_MS / 3 - 1, 3, 7);
    caught(SIM_ANSWER, "332.000 ms left");
    is_told_ok(TTL_MS / 3 + 1, 3, 7);
    silent();
}

/* The servers end the lease before the client does. */
static void test_ok_that_the_nodes_end_soon(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 1);
    on.world.nodes[0].is_up = true;
    calls(P1, SIM_CALL_ACQUIRE, 0);
    forge(P1, "a", 7, 900);
    remembers(0, owner_of_lock(P1), 7, "200");
    answered(P1, HF_OK);
    caught(SIM_ANSWER, "held by no majority");
}

/* A node that is down cannot be asked; one that lost its data since may have
 * granted it. */
static void test_ok_of_nodes_that_are_gone(void **state)
{
    (void)state;
    scene(SIM_AMNESIA, 3);
    calls(P1, SIM_CALL_ACQUIRE, 0);
    forge(P1, "a", 7, 900);
    answered(P1, HF_OK);
    silent();
    scene(SIM_AMNESIA, 1);
    on.world.nodes[0].is_up = true;
    calls(P1, SIM_CALL_ACQUIRE, 0);
    forge(P1, "a", 7, 900);
    sim_oracle_node_forgot(on.world.oracle, 0);
    answered(P1, HF_OK);
    silent();
}

/* A process that did not run after the decision has used up its time. */
static void test_ok_that_was_decided_before(void **state)
{
    (void)state;
    scene(SIM_NETWORK, 1);
    on.world.nodes[0].is_up = true;
    calls(P1, SIM_CALL_ACQUIRE, 0);
    forge(P1, "a", 7, 900);
    struct sim_lane *lane = lane_of(P1); /* … at 0 ms */
    at(800);
    sim_oracle_answered(on.world.oracle, lane, HF_OK, on.held[P1]);
    silent();
}

static void test_ok_of_sharers(void **state)
{
    (void)state;
    for (int is_member = 1; is_member >= 0; is_member--) {
        scene(SIM_NETWORK, 1);
        on.world.nodes[0].is_up = true;
        calls(P1, SIM_CALL_ACQUIRE, 0);
        share(P1, 7, 900, 0);
        SAY(0, "SET", "lock:a", "shared:0-7", "PX", "1000");
        SAY(0, "HSET", "hf:{lock:a}:votes", "", "shared:0-7");
        if (is_member) {
            SAY(0, "HSET", "hf:{lock:a}:votes", owner_of_lock(P1), "7");
            SAY(0, "ZADD", "hf:{lock:a}:holders", "1000", owner_of_lock(P1));
        }
        answered(P1, HF_OK);
        if (is_member) {
            silent();
        } else {
            caught(SIM_ANSWER, "held by no majority");
        }
    }
}

/* ---- BUSY -------------------------------------------------------------- */

static void well(enum sim_regime regime)
{
    scene(regime, 3);
    for (unsigned i = 0; i < 3; i++) {
        on.world.nodes[i].is_up = true;
    }
}

static void test_busy_with_a_holder(void **state)
{
    (void)state;
    well(SIM_CALM);
    remembers(0, owner_of(P2, 1), 7, "1000");
    remembers(1, owner_of(P2, 1), 7, "1000");
    calls(P1, SIM_CALL_ACQUIRE, 0);
    answered(P1, HF_BUSY);
    silent();
}

/* The reason began and ended during the call. */
static void test_busy_with_a_passing_holder(void **state)
{
    (void)state;
    well(SIM_CALM);
    calls(P1, SIM_CALL_ACQUIRE, 0);
    for (int i = 0; i < 2; i++) {
        remembers((unsigned)i, owner_of(P2, 1), 7, "1000");
        node_executed(i, "acquire", owner_of(P2, 1), "1000", ":7\r\n");
    }
    at(10);
    for (int i = 0; i < 2; i++) {
        SAY((unsigned)i, "DEL", "lock:a");
        node_executed(i, "release", owner_of(P2, 1), "7", ":7\r\n");
    }
    at(20);
    answered(P1, HF_BUSY);
    silent();
}

static void test_busy_without_another_owner(void **state)
{
    (void)state;
    well(SIM_CALM);
    remembers(0, owner_of(P2, 1), 7, "1000");
    calls(P1, SIM_CALL_ACQUIRE, 0);
    answered(P1, HF_BUSY);
    caught(SIM_ANSWER, "no other owner had it");
}

/* A grant to the caller itself is no reason. */
static void test_busy_with_its_own_grant(void **state)
{
    (void)state;
    well(SIM_CALM);
    calls(P1, SIM_CALL_ACQUIRE, 0);
    for (int i = 0; i < 3; i++) {
        remembers((unsigned)i, owner_of(P1, 1), 7, "1000");
        node_executed(i, "acquire", owner_of(P1, 1), "1000", ":7\r\n");
    }
    answered(P1, HF_BUSY);
    caught(SIM_ANSWER, "no other owner had it");
}

static void test_busy_behind_a_queue(void **state)
{
    (void)state;
    well(SIM_CALM);
    calls(P1, SIM_CALL_ACQUIRE, 0);
    for (int i = 0; i < 2; i++) {
        SAY((unsigned)i, "ZADD", "hf:{lock:a}:queue", "5", owner_of(P2, 1));
        node_executed(i, "acquire", owner_of(P1, 1), "1000",
                      "*3\r\n:0\r\n:7\r\n:-2\r\n");
    }
    answered(P1, HF_BUSY);
    silent();
}

static void test_busy_before_the_wait_is_over(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        well(SIM_CALM);
        remembers(0, owner_of(P2, 1), 7, "1000");
        remembers(1, owner_of(P2, 1), 7, "1000");
        calls(P1, SIM_CALL_ACQUIRE, 500);
        at(ends ? 500 : 150);
        answered(P1, HF_BUSY);
        if (ends) {
            silent();
        } else {
            caught(SIM_ANSWER, "150.000 ms of its 500 ms");
        }
    }
}

static void test_busy_though_the_wait_has_no_end(void **state)
{
    (void)state;
    well(SIM_CALM);
    remembers(0, owner_of(P2, 1), 7, "100000");
    remembers(1, owner_of(P2, 1), 7, "100000");
    calls(P1, SIM_CALL_ACQUIRE, -1);
    at(60000);
    answered(P1, HF_BUSY);
    caught(SIM_ANSWER, "no end");
}

/* ---- UNAVAILABLE ------------------------------------------------------- */

/* A world in which all nodes had this fault for a second, from the first one
 * on. */
static void well_after(enum sim_fault_kind kind, enum sim_regime regime)
{
    static struct sim_fault fault;
    fault = (struct sim_fault){.kind = kind,
                               .process = -1,
                               .node = -1,
                               .at_ns = 1000 * MS,
                               .span_ns = 1000 * MS};
    well(regime);
    on.story.faults = &fault;
    on.story.n_faults = 1;
    on.story.calm_ns = 60000 * MS;
}

/* With a fault that ended this long before the call. @return the result. */
static void is_unreached(enum sim_fault_kind kind, int64_t ago_ms,
                         enum hf_status status)
{
    well_after(kind, SIM_AMNESIA);
    at(2000 + ago_ms);
    calls(P1, SIM_CALL_ACQUIRE, 500);
    at(2500 + ago_ms);
    answered(P1, status);
}

static void test_unavailable(void **state)
{
    (void)state;
    well(SIM_CALM);
    calls(P1, SIM_CALL_ACQUIRE, 0);
    answered(P1, HF_UNAVAILABLE);
    caught(SIM_ANSWER, "3 of 3 nodes were well");
    is_unreached(SIM_FAULT_SILENCE, 0, HF_UNAVAILABLE);
    silent();
    is_unreached(SIM_FAULT_SILENCE, SIM_SETTLE_NS / MS, HF_UNAVAILABLE);
    caught(SIM_ANSWER, "were well");
}

static void test_quarantined(void **state)
{
    (void)state;
    is_unreached(SIM_FAULT_EMPTY, 10000, HF_QUARANTINED);
    silent();
    is_unreached(SIM_FAULT_EMPTY, 30000, HF_QUARANTINED);
    caught(SIM_ANSWER, "were well");
}

/* With a lease that is shorter than a round trip, no result is wrong. */
static void test_unavailable_for_a_short_lease(void **state)
{
    (void)state;
    well(SIM_CALM);
    on.story.delay_ns = TTL_MS / 12 * MS + MS;
    calls(P1, SIM_CALL_ACQUIRE, 0);
    answered(P1, HF_UNAVAILABLE);
    silent();
}

/* ---- Renewals and releases --------------------------------------------- */

/* Two of three nodes execute `script`, and the second gives this reply. */
static void is_answered(enum sim_call_kind kind, const char *script,
                        const char *ttl, const char *second,
                        enum hf_status status)
{
    well(SIM_NETWORK);
    forge(P1, "a", 7, 900);
    calls(P1, kind, kind == SIM_CALL_EXTEND ? 2000 : 0);
    node_executed(0, script, owner_of_lock(P1), ttl, ":7\r\n");
    node_executed(1, script, owner_of_lock(P1), ttl, second);
    answered(P1, status);
}

static void test_extended(void **state)
{
    (void)state;
    is_answered(SIM_CALL_EXTEND, "confirm", "2000", ":7\r\n", HF_OK);
    silent();
    is_answered(SIM_CALL_EXTEND, "confirm", "2000", ":8\r\n", HF_OK);
    caught(SIM_ANSWER, "1 of 3 nodes");
    is_answered(SIM_CALL_EXTEND, "confirm", "1000", ":7\r\n", HF_OK);
    caught(SIM_ANSWER, "0 of 3 nodes");
    is_answered(SIM_CALL_EXTEND, "confirm", "2000", "*2\r\n:0\r\n:9\r\n",
                HF_LOST);
    caught(SIM_ANSWER, "no majority says so");
}

static void test_released(void **state)
{
    (void)state;
    is_answered(SIM_CALL_RELEASE, "release", "7", ":7\r\n", HF_OK);
    silent();
    is_answered(SIM_CALL_RELEASE, "release", "7", "*2\r\n:0\r\n:9\r\n", HF_OK);
    caught(SIM_ANSWER, "1 of 3 nodes");
    is_answered(SIM_CALL_RELEASE, "release", "7", "*2\r\n:0\r\n:9\r\n",
                HF_LOST);
    caught(SIM_ANSWER, "no majority says so");
    is_answered(SIM_CALL_RELEASE, "release", "7", ":7\r\n", HF_UNKNOWN);
    caught(SIM_ANSWER, "were well");
    is_answered(SIM_CALL_RELEASE, "release", "7", ":7\r\n", HF_BUSY);
    caught(SIM_ANSWER, "no answer to that");
}

/* UNKNOWN, long after a fault, of a lock whose turn has this age. */
static void is_unreleased(int64_t turn_ms)
{
    well_after(SIM_FAULT_SILENCE, SIM_NETWORK);
    at(20000);
    forge(P1, "a", 7, 900);
    turn_begun_ns = on.world.now_ns - turn_ms * MS;
    calls(P1, SIM_CALL_RELEASE, 0);
    answered(P1, HF_UNKNOWN);
}

/* An idle client may not have noticed the end of a fault; a turn that is older
 * than a reconnect takes has. */
static void test_released_after_a_fault(void **state)
{
    (void)state;
    is_unreleased(SIM_SETTLE_NS / MS - 1);
    silent();
    is_unreleased(SIM_SETTLE_NS / MS);
    caught(SIM_ANSWER, "3 of 3 nodes were well");
}

static void test_released_when_it_was_over(void **state)
{
    (void)state;
    well(SIM_NETWORK);
    forge(P1, "a", 7, 900);
    at(900);
    calls(P1, SIM_CALL_RELEASE, 0);
    answered(P1, HF_LOST);
    silent();
}

/* ---- Late, and lost ---------------------------------------------------- */

static void test_late(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        well(SIM_NETWORK);
        remembers(0, owner_of(P2, 1), 7, "60000");
        remembers(1, owner_of(P2, 1), 7, "60000");
        calls(P1, SIM_CALL_ACQUIRE, 500);
        at(late ? 30500 : 1500);
        answered(P1, HF_BUSY);
        if (late) {
            caught(SIM_ANSWER, "30000.000 ms later");
        } else {
            silent();
        }
    }
}

static void test_lost_before_the_deadline(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 2; n++) {
        well(SIM_NETWORK);
        begins(P1);
        gets(P1, 7, 900);
        for (unsigned i = 0; i < n; i++) {
            remembers(i, owner_of_lock(P1), 7, "1000");
        }
        on.held[P1]->state = HF_STATE_LOST;
        looks(P1);
        if (n == 1) {
            silent();
        } else {
            caught(SIM_ANSWER, "a majority has it still");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok_of_a_majority),
        cmocka_unit_test(test_ok_of_a_minority),
        cmocka_unit_test(test_ok_at_another_fence),
        cmocka_unit_test(test_ok_for_less_than_a_third),
        cmocka_unit_test(test_ok_that_the_nodes_end_soon),
        cmocka_unit_test(test_ok_of_nodes_that_are_gone),
        cmocka_unit_test(test_ok_that_was_decided_before),
        cmocka_unit_test(test_ok_of_sharers),
        cmocka_unit_test(test_busy_with_a_holder),
        cmocka_unit_test(test_busy_with_a_passing_holder),
        cmocka_unit_test(test_busy_without_another_owner),
        cmocka_unit_test(test_busy_with_its_own_grant),
        cmocka_unit_test(test_busy_behind_a_queue),
        cmocka_unit_test(test_busy_before_the_wait_is_over),
        cmocka_unit_test(test_busy_though_the_wait_has_no_end),
        cmocka_unit_test(test_unavailable),
        cmocka_unit_test(test_quarantined),
        cmocka_unit_test(test_unavailable_for_a_short_lease),
        cmocka_unit_test(test_extended),
        cmocka_unit_test(test_released),
        cmocka_unit_test(test_released_after_a_fault),
        cmocka_unit_test(test_released_when_it_was_over),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_lost_before_the_deadline),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
