/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's rules on --once, reserved names, breaks, queries and plain
 * locks: each violation is caught, and a similar history without one is not. */
#include "oracle_scene.h"

#include "oracle/calls.h"
#include "oracle/once.h"

/* Of --once: longer than the leases, which are of a second. */
#define PERIOD_MS 5000

/* ---- Marks at nodes ------------------------------------------------------ */

/* The mark script of `who` at a node. With a fence it writes, and the node then
 * has `kept`. Its reply is read `trip_ms` later. */
static void marks_at(unsigned node, enum who who, uint64_t fence,
                     const char *kept, int64_t trip_ms)
{
    enum { LOCK_KEY = 3, FENCE = 12, ARGC = 15 };
    struct sim_arg argv[ARGC];
    char text[32];
    struct sim_link link = {.node = &on.world.nodes[node],
                            .world = &on.world,
                            .peer = (int)who,
                            .number = node + 1,
                            .sent_ns = on.world.now_ns};
    for (size_t i = 0; i < ARGC; i++) {
        argv[i] = (struct sim_arg){"", 0};
    }
    on.world.nodes[node].index = (int)node;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)fence);
    argv[LOCK_KEY] = (struct sim_arg){"lock:a", strlen("lock:a")};
    argv[FENCE] = (struct sim_arg){text, strlen(text)};
    sim_once_script(on.world.oracle, &link,
                    &(struct sim_run){.script = "mark",
                                      .argc = ARGC,
                                      .argv = argv,
                                      .reply = kept,
                                      .reply_len = strlen(kept)});
    link.down_sent = 40;
    sim_once_wrote(on.world.oracle, &link);
    on.world.now_ns += trip_ms * MS;
    link.down_read = 40;
    sim_once_read(on.world.oracle, &link);
}

#define NOTHING "*4\r\n:1\r\n:0\r\n:-2\r\n$0\r\n\r\n"
#define MARK_7 "*4\r\n:1\r\n:7\r\n:4000\r\n$5\r\nowner\r\n"
#define MARK_8 "*4\r\n:1\r\n:8\r\n:4000\r\n$5\r\nowner\r\n"
#define TOMB_7 "*4\r\n:1\r\n:7\r\n:4000\r\n$0\r\n\r\n"

static void begins_to_mark(enum who who, uint64_t fence)
{
    begins(who);
    gets(who, fence, 100000);
    sim_once_mark_begins(on.world.oracle, on.turns[who], PERIOD_MS);
}

static void has_marked(enum who who, enum hf_status status)
{
    sim_once_marked(on.world.oracle, on.turns[who], status);
}

/* p1's command runs, with marks at the first `n` nodes. */
static void p1_runs(unsigned n)
{
    scene(SIM_NETWORK, 3);
    begins_to_mark(P1, 7);
    for (unsigned i = 0; i < n; i++) {
        marks_at(i, P1, 7, MARK_7, 1);
    }
    has_marked(P1, HF_OK);
}

/* p2 reads, and finds the mark at node 2 only, after this time. */
static void p2_runs_though_n2_has_it(int64_t trip_ms)
{
    begins_to_mark(P2, 8);
    marks_at(0, P2, 0, NOTHING, 1);
    marks_at(1, P2, 0, MARK_7, trip_ms);
    marks_at(2, P2, 0, NOTHING, 1);
    marks_at(0, P2, 8, MARK_8, 1);
    marks_at(2, P2, 8, MARK_8, 1);
    has_marked(P2, HF_OK);
}

static void test_a_mark_at_too_few_nodes(void **state)
{
    (void)state;
    p1_runs(2);
    silent();
    p1_runs(1);
    caught(SIM_PERIOD, "its mark 7 was at 1 of 3 nodes");
}

static void test_two_commands_in_a_period(void **state)
{
    (void)state;
    p1_runs(2);
    ends(P1);
    sim_oracle_node_forgot(on.world.oracle, 0);
    p2_runs_though_n2_has_it(10);
    caught(SIM_PERIOD, "in the period of p1 with fence 7");

    /* no node lost its data, and n1 has no mark */
    p1_runs(2);
    ends(P1);
    p2_runs_though_n2_has_it(500);
    caught(SIM_PERIOD, "in the period of p1 with fence 7");
}

static void test_a_mark_may_be_lost(void **state)
{
    (void)state;
    p1_runs(2); /* n1 lost its data, n2's reply is too late */
    ends(P1);
    sim_oracle_node_forgot(on.world.oracle, 0);
    p2_runs_though_n2_has_it(500);
    silent();

    p1_runs(2); /* the period is over */
    ends(P1);
    on.world.now_ns += PERIOD_MS * MS;
    p2_runs_though_n2_has_it(10);
    silent();

    p1_runs(2); /* it was released */
    sim_once_unmark_begins(on.world.oracle, on.turns[P1]);
    ends(P1);
    p2_runs_though_n2_has_it(10);
    silent();
}

static void test_a_mark_that_was_withdrawn(void **state)
{
    (void)state;
    p1_runs(2);
    sim_once_unmark_begins(on.world.oracle, on.turns[P1]);
    marks_at(0, P1, 7, TOMB_7, 1);
    marks_at(1, P1, 7, TOMB_7, 1);
    sim_once_unmarked(on.world.oracle, on.turns[P1], HF_OK);
    ends(P1);
    sim_once_look_begins(on.world.oracle, P2);
    sim_once_looked(on.world.oracle, P2, 0, 4000);
    caught(SIM_PERIOD, "all of its marks were withdrawn");
}

/* ---- RESERVE ------------------------------------------------------------- */

static void p1_reserves(int64_t ms, enum hf_status status)
{
    scene(SIM_NETWORK, 3);
    begins(P1);
    gets(P1, 7, 1000);
    sim_reserve_begins(on.world.oracle, on.turns[P1], ms);
    ends(P1);
    sim_reserved(on.world.oracle, on.turns[P1], status);
    begins(P2);
}

static void test_a_reserved_name(void **state)
{
    (void)state;
    p1_reserves(500, HF_OK);
    at(480);
    gets(P2, 8, 1000);
    caught(SIM_RESERVE, "which p1 had reserved until 493");
    p1_reserves(500, HF_OK);
    at(494);
    gets(P2, 8, 1000);
    silent();
    p1_reserves(500, HF_UNKNOWN);
    gets(P2, 8, 1000);
    silent();
    p1_reserves(500, HF_OK);
    sim_break_begins(on.world.oracle, P3, 0);
    gets(P2, 8, 1000);
    silent();
}

/* ---- BREAK --------------------------------------------------------------- */

/* A break of p2 takes the name from p1 at once, at a node. */
static void ran_break_of(const struct hf_lock *lock, unsigned node)
{
    enum { LOCK_KEY = 3, NOW = 11, ARGC = 14 };
    struct sim_arg argv[ARGC] = {{"", 0}};
    struct sim_link link = {.node = &on.world.nodes[node], .peer = P2};
    char owner[HF_OWNER_MAX + 1];
    char reply[HF_OWNER_MAX + 64];
    owner[hf_lock_emit_owner(lock, owner)] = '\0';
    snprintf(reply, sizeof(reply), "*10\r\n:1\r\n:8\r\n:100\r\n$%zu\r\n%s\r\n",
             strlen(owner), owner);
    argv[LOCK_KEY] = (struct sim_arg){"lock:a", strlen("lock:a")};
    argv[NOW] = (struct sim_arg){"1", 1};
    sim_calls_script(on.world.oracle, &link,
                     &(struct sim_run){.script = "break",
                                       .argc = ARGC,
                                       .argv = argv,
                                       .reply = reply,
                                       .reply_len = strlen(reply)});
}

/* `nodes`: how many free the name at once; 0: the break waits. */
static void p1_is_broken(unsigned nodes, int64_t until_ms)
{
    bool now = nodes > 0;
    scene(SIM_NETWORK, 3);
    begins(P1);
    gets(P1, 7, until_ms);
    sim_break_begins(on.world.oracle, P2, 0);
    for (unsigned i = 0; i < nodes; i++) {
        ran_break_of(on.held[P1], i);
    }
    at(200);
    sim_break_ended(on.world.oracle, P2, now, HF_OK, now ? 100 : 0);
}

static void test_a_broken_holder(void **state)
{
    (void)state;
    p1_is_broken(0, 200);
    silent();
    p1_is_broken(0, 201);
    caught(SIM_BREAK, "p1 believes until 201.000 ms");
    p1_is_broken(2, 303);
    silent();
    p1_is_broken(2, 304);
    caught(SIM_BREAK, "not until 303.000 ms");
    p1_is_broken(1, 304); /* elsewhere another break was first */
    silent();
    p1_is_broken(2, 300); /* … but is renewed */
    on.held[P1]->deadline_ns = clock_of(P1, 400);
    looks(P1);
    caught(SIM_BREAK, "p1 believes until 400.000 ms");
    p1_is_broken(2, 300); /* … and overlaps with the next, as requested */
    begins(P3);
    gets(P3, 8, 1000);
    silent();
}

/* ---- READ ---------------------------------------------------------------- */

static void test_what_is_read(void **state)
{
    (void)state;
    struct hf_holder holder = {.kind = HF_HOLDER_HOLDFAST,
                               .owner = "0123456789abcdef0123456789abcdef:p9"};
    scene(SIM_NETWORK, 1);
    sim_read_returned(on.world.oracle, P1, 0, &holder, false);
    caught(SIM_READ, "which never asked for it");

    scene(SIM_NETWORK, 1);
    sim_read_returned(on.world.oracle, P1, 0,
                      &(struct hf_holder){.kind = HF_HOLDER_NONE, .fence = 9},
                      false);
    caught(SIM_READ, "told of fence 9");

    scene(SIM_NETWORK, 1);
    sim_read_script(on.world.oracle,
                    &(struct sim_run){.script = "inspect", .has_written = true},
                    0);
    caught(SIM_READ, "inspect, which is to change nothing");
}

/* ---- FOREIGN ------------------------------------------------------------- */

static void p3_has_a_plain_lock(void)
{
    scene(SIM_NETWORK, 1);
    on.world.nodes[0].world = &on.world;
    SAY(0, "SET", "lock:a", "plain");
    sim_foreign_set(on.world.oracle, 0, 0, "plain", 500);
    sim_foreign_held(on.world.oracle, P3, 0, 0, 400 * MS);
}

static void ran_release(void)
{
    struct sim_arg argv[5] = {{"", 0}, {"", 0}, {"", 0}, {"lock:a", 6}};
    sim_foreign_script(
        on.world.oracle,
        &(struct sim_run){.script = "release", .argc = 5, .argv = argv}, 0);
}

static void test_a_plain_lock(void **state)
{
    (void)state;
    p3_has_a_plain_lock();
    begins(P1);
    gets(P1, 7, 1000);
    caught(SIM_FOREIGN, "both believe that they hold \"a\"");

    p3_has_a_plain_lock();
    begins(P1);
    at(401);
    gets(P1, 7, 1000);
    silent();

    p3_has_a_plain_lock();
    ran_release();
    silent();

    p3_has_a_plain_lock();
    SAY(0, "DEL", "lock:a");
    ran_release();
    caught(SIM_FOREIGN, "release took \"a\" at n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mark_at_too_few_nodes),
        cmocka_unit_test(test_two_commands_in_a_period),
        cmocka_unit_test(test_a_mark_may_be_lost),
        cmocka_unit_test(test_a_mark_that_was_withdrawn),
        cmocka_unit_test(test_a_reserved_name),
        cmocka_unit_test(test_a_broken_holder),
        cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_a_plain_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
