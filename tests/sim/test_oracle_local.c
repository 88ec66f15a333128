/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's rules on an embedded store: the contents of the table, and the
 * allowed delays of a process. For each there is a history that keeps the rule
 * and one that breaks it. */
#include "local/machine.h"
#include "local/machine_parts.h"
#include "oracle_scene.h"

#include "oracle/calls.h"

#include <stdio.h>

/* On P1's clock, when the scene begins. */
static int64_t boot_ns(int64_t ms)
{
    return clock_of(P1, ms);
}

static void machine(void)
{
    scene(SIM_LOCAL, 1);
    on.story.is_local = true;
    on.world.nodes[0].is_up = true;
    for (int i = 0; i < EVERYBODY; i++) {
        on.world.processes[i].is_alive = true;
        on.clients[i].nodes.voting = 1;
    }
    on.world.machine = calloc(1, sizeof(struct sim_machine));
    assert_non_null(on.world.machine);
    on.world.machine->world = &on.world;
}

/* The table has "a"; owner NULL: free. */
static struct sim_row *row(const char *owner, uint64_t counter,
                           int64_t until_ms)
{
    struct sim_row *row = &on.world.machine->rows[0];
    *row = (struct sim_row){.name = "a",
                            .is_there = true,
                            .counter = counter,
                            .is_owned = owner != NULL,
                            .until_ns = boot_ns(until_ms)};
    if (owner != NULL) {
        row->owner_len = strlen(owner);
        memcpy(row->owner, owner, row->owner_len);
    }
    on.world.machine->n_rows = 1;
    return row;
}

static void done(void)
{
    free(on.world.machine);
}

static const char *owner_of(enum who who)
{
    static char text[64];
    snprintf(text, sizeof(text), "%032u:p%d:1:1:", 1U + (unsigned)who,
             (int)who + 1);
    return text;
}

/* ---- The table ----------------------------------------------------------- */

static void test_an_owner_ends_with_its_lease(void **state)
{
    (void)state;
    size_t len;
    int64_t left_ns;
    machine();
    row(owner_of(P2), 7, 100);
    at(40);
    assert_non_null(sim_machine_owner(on.world.machine, "a", &len, &left_ns));
    assert_int_equal(left_ns, 60 * MS);
    assert_int_equal(sim_machine_counter(on.world.machine, "a"), 7);
    at(100);
    assert_null(sim_machine_owner(on.world.machine, "a", &len, &left_ns));
    assert_null(sim_machine_owner(on.world.machine, "b", &len, &left_ns));
    done();
    silent();
}

static void test_a_sharer_has_its_own_lease(void **state)
{
    (void)state;
    machine();
    struct sim_row *group = row("shared:0-7", 8, 100);
    group->is_shared = true;
    group->entries[0] = (struct sim_row_entry){
        .owner = 5, .counter = 8, .until_ns = boot_ns(50)};
    group->entries[1] = (struct sim_row_entry){
        .owner = 6, .until_ns = boot_ns(50), .waits = true};
    group->n_entries = 2;
    assert_int_equal(sim_machine_shares(on.world.machine, "a", 5, 8), 50 * MS);
    assert_int_equal(sim_machine_shares(on.world.machine, "a", 5, 7), -1);
    assert_int_equal(sim_machine_shares(on.world.machine, "a", 6, 0), -1);
    assert_true(sim_machine_has_queue(on.world.machine, "a", 5));
    assert_false(sim_machine_has_queue(on.world.machine, "a", 6));
    at(50);
    assert_int_equal(sim_machine_shares(on.world.machine, "a", 5, 8), -1);
    done();
    silent();
}

/* ---- ANSWER -------------------------------------------------------------- */

static void is_busy(const char *owner)
{
    machine();
    struct sim_lane *lane = &on.world.processes[P1].lanes[0];
    *lane = (struct sim_lane){.process = &on.world.processes[P1],
                              .turn = &turns[P1]};
    row(owner, 7, 100000);
    at(5000);
    sim_oracle_calls(on.world.oracle, lane,
                     &(struct sim_user_call){.kind = SIM_CALL_ACQUIRE});
    sim_oracle_answered(on.world.oracle, lane, HF_BUSY, NULL);
    done();
}

static void test_busy(void **state)
{
    (void)state;
    is_busy(owner_of(P2));
    silent();
    is_busy(NULL);
    caught(SIM_ANSWER, "a majority was well, and no other owner had it there");
}

/* ---- PROMPT -------------------------------------------------------------- */

/* P2 dies while it has the name, and P1 waits. */
static void dies(void)
{
    static struct sim_fault crash = {.kind = SIM_FAULT_CRASH, .process = P2};
    machine();
    on.story.faults = &crash;
    on.story.n_faults = 1;
    row(owner_of(P2), 7, 100000);
    begins(P1);
    begins(P2);
    gets(P2, 7, 100000);
    at(5000);
    on.world.processes[P2].is_crashing = true;
    ends(P2);
    on.world.processes[P2].is_crashing = false;
    sim_prompt_anew(on.world.oracle);
}

static void test_the_name_of_a_dead_process_is_taken(void **state)
{
    (void)state;
    dies();
    at(8000);
    looks(P1);
    done();
    silent();

    dies();
    at(8001);
    looks(P1);
    done();
    caught(SIM_PROMPT, "\"a\" is wanted and free since 5000.000 ms");
}

static void test_nothing_is_prompt_while_the_gate_may_be_shut(void **state)
{
    (void)state;
    dies();
    on.world.processes[P3].stood_ns = 9000 * MS;
    at(8001);
    looks(P1);
    on.world.machine->is_full = true;
    at(9001);
    looks(P1);
    done();
    silent();
}

/* ---- RISK ---------------------------------------------------------------- */

/* Half of its second has passed at 500 ms: it waits at the gate from 490 ms,
 * and enters at `ms`. */
static void stands_at_the_gate_until(int64_t ms)
{
    machine();
    begins(P1);
    struct hf_lock *lock = forge(P1, "a", 7, 988);
    row(owner_of(P1), 7, 988);
    hf_lock_lease(lock)->ttl.ns = TTL_MS * MS;
    told(P1, lock);
    at(ms);
    sim_oracle_held_up(on.world.oracle, P1, 490 * MS);
    looks(P1);
    done();
}

static void test_risk_behind_the_gate(void **state)
{
    (void)state;
    stands_at_the_gate_until(540);
    silent();
    stands_at_the_gate_until(543);
    caught(SIM_RISK, "p1 was not told at 500.000 ms that \"a\" is AT_RISK");
}

/* ---- READ ---------------------------------------------------------------- */

static void reads_and_writes(bool only_reads)
{
    machine();
    struct sim_task *task = &on.world.machine->tasks[0];
    task->machine = on.world.machine;
    task->process = &on.world.processes[P1];
    task->only_reads = only_reads;
    sim_verb_done(task, true);
    done();
}

static void test_what_only_reads(void **state)
{
    (void)state;
    reads_and_writes(false);
    silent();
    reads_and_writes(true);
    caught(SIM_READ, "p1 has changed the folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_owner_ends_with_its_lease),
        cmocka_unit_test(test_a_sharer_has_its_own_lease),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_the_name_of_a_dead_process_is_taken),
        cmocka_unit_test(test_nothing_is_prompt_while_the_gate_may_be_shut),
        cmocka_unit_test(test_risk_behind_the_gate),
        cmocka_unit_test(test_what_only_reads),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
