/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's rules on time: PROMPT, SPREAD, RISK, and what a RELEASE leaves
 * behind. For each there is a history that keeps the rule and one that breaks
 * it. */
#include "oracle_scene.h"

#include "oracle/prompt.h"

/* All nodes are up, and vote for all processes. */
static void connected(unsigned n_nodes)
{
    scene(SIM_CALM, n_nodes);
    for (unsigned i = 0; i < n_nodes; i++) {
        on.world.nodes[i].is_up = true;
    }
    for (int i = 0; i < EVERYBODY; i++) {
        on.world.processes[i].is_alive = true;
        on.clients[i].nodes.voting = (uint16_t)((1U << n_nodes) - 1);
    }
}

/* ---- PROMPT ------------------------------------------------------------ */

static void test_prompt_bound_is_of_ways(void **state)
{
    (void)state;
    struct sim_story story = {.delay_ns = 2 * MS, .jitter_ns = 1 * MS};
    assert_int_equal(sim_oracle_prompt_ns(&story), 1160 * MS);
}

static void test_prompt_a_free_name_is_taken(void **state)
{
    (void)state;
    for (int late = 0; late <= 1; late++) {
        connected(1);
        begins(P1);
        begins(P2);
        gets(P1, 7, 10000);
        at(5000); /* held: the time is not measured */
        looks(P2);
        ends(P1);
        at(6000 + late);
        looks(P2);
        if (late == 0) {
            silent();
        } else {
            caught(SIM_PROMPT, "\"a\" is wanted and free since 5000.000 ms");
        }
    }
}

static void test_prompt_needs_a_majority(void **state)
{
    (void)state;
    connected(3);
    on.clients[P1].nodes.voting = 1;
    begins(P1);
    at(5000);
    looks(P1);
    silent();
}

/* ---- SPREAD ------------------------------------------------------------ */

static void renews(enum who who, struct hf_lock *lock, int64_t ms)
{
    at(ms);
    hf_lock_lease(lock)->confirmed_or_ticket.confirmed.ns = clock_of(who, ms);
    looks(who);
}

/* P1 has the lock at n1 and n2; at n3 it is free, or `other` has it. */
static void spreads(const char *other, bool votes)
{
    char owner[HF_OWNER_MAX + 1];
    connected(3);
    begins(P1);
    struct hf_lock *lock = forge(P1, "a", 7, 10000);
    owner[hf_lock_emit_owner(lock, owner)] = '\0';
    SAY(0, "SET", "lock:a", owner);
    SAY(1, "SET", "lock:a", owner);
    if (other != NULL) {
        SAY(2, "SET", "lock:a", strcmp(other, "p1") == 0 ? owner : other);
    }
    on.clients[P1].nodes.voting = votes ? 7 : 3;
    told(P1, lock);
    renews(P1, lock, 300);
    renews(P1, lock, 600);
}

static void test_spread_to_every_node(void **state)
{
    (void)state;
    spreads("p1", true);
    renews(P1, on.held[P1], 900);
    silent();
    spreads("stranger", true);
    renews(P1, on.held[P1], 900);
    silent();
    spreads(NULL, false);
    renews(P1, on.held[P1], 900);
    silent();
    spreads(NULL, true);
    caught(SIM_SPREAD, "but n3 does not have it");
}

/* ---- RISK -------------------------------------------------------------- */

/* A ttl of 1 s, confirmed at 0: the deadline is at 988 ms, half at 500 ms. */
static void holds(void)
{
    connected(1);
    begins(P1);
    struct hf_lock *lock = forge(P1, "a", 7, 988);
    hf_lock_lease(lock)->ttl.ns = TTL_MS * MS;
    told(P1, lock);
}

static void test_risk_is_told_at_half(void **state)
{
    (void)state;
    holds();
    at(502);
    on.held[P1]->state = HF_STATE_AT_RISK;
    looks(P1);
    silent();

    holds();
    at(503);
    looks(P1);
    caught(SIM_RISK, "p1 was not told at 500.000 ms that \"a\" is AT_RISK");
}

static void test_risk_lost_is_told_at_the_deadline(void **state)
{
    (void)state;
    holds();
    at(500);
    on.held[P1]->state = HF_STATE_AT_RISK;
    looks(P1);
    at(991);
    looks(P1);
    caught(SIM_RISK, "p1 was not told at 988.000 ms that \"a\" is LOST");
}

/* ---- RESIDUE of a release ---------------------------------------------- */

static void releases(bool is_freed)
{
    char owner[HF_OWNER_MAX + 1];
    connected(1);
    begins(P1);
    struct hf_lock *lock = forge(P1, "a", 7, 988);
    owner[hf_lock_emit_owner(lock, owner)] = '\0';
    SAY(0, "SET", "lock:a", owner);
    ran(0, "acquire", owner, false, ":7\r\n");
    told(P1, lock);
    at(100);
    sim_oracle_released(on.world.oracle, on.turns[P1]);
    ends(P1);
    if (is_freed) {
        SAY(0, "DEL", "lock:a");
    }
    at(250);
    looks(P2);
}

static void test_residue_of_a_release(void **state)
{
    (void)state;
    releases(true);
    at(251);
    looks(P2);
    silent();
    releases(false);
    silent();
    releases(false);
    at(251);
    looks(P2);
    caught(SIM_RESIDUE, "\"a\" is still p1's at n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompt_bound_is_of_ways),
        cmocka_unit_test(test_prompt_a_free_name_is_taken),
        cmocka_unit_test(test_prompt_needs_a_majority),
        cmocka_unit_test(test_spread_to_every_node),
        cmocka_unit_test(test_risk_is_told_at_half),
        cmocka_unit_test(test_risk_lost_is_told_at_the_deadline),
        cmocka_unit_test(test_residue_of_a_release),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
