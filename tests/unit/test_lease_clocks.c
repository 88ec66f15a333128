/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Clocks that are far off: which counter is the target, and which nodes are
 * raised to it (core/lease_raise.c). lease_trace.h has the syntax of traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lease_trace.h"

/* Node 2's clock is 2 h ahead. Its counter is no target, since the others
 * refuse to be raised so far; only its own vote is lost. Numbers are counters
 * in microseconds, 10,000 s after 1970; 4,294,967,296 is the bound. */
#define NOW "10000000000"
#define LATER "10000000009"
#define FAR "17200000000"
#define BOUND "bound 14294967296"

static void clock_far_ahead_costs_one_vote(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FAR " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 1 acquire ok " LATER " | \n"
          "[3] 0 confirm ok " NOW " " BOUND " | confirm " LATER " at 0\n"
          "[4] 0 confirm ok " LATER " | held " LATER " till 9898\n"
          "[5] release          | release " LATER " at 0 1 2\n");
}

/* A bound in a reply refuses one request. It proves nothing about an earlier
 * request without a reply: node 0 may still be raised. */
static void lost_raise_is_no_refusal(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FAR " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 0 confirm unknown | \n"
          "[3] node 0 voting    | acquire " FAR " at 0\n"
          "[4] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[5] 0 confirm ok " NOW " " BOUND " | \n"
          "[6] 1 acquire ok " NOW " | confirm " FAR " at 1\n"
          "[7] 1 confirm ok " NOW " " BOUND " | split, release " NOW
          " at 0 1 2\n");
}

/* With a good node down, a majority is impossible: give up at once. */
static void no_majority_beside_a_clock_far_ahead(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] node 1 down      | \n"
          "[0] acquire          | acquire at 0 2\n"
          "[1] 2 acquire ok " FAR " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[3] 0 confirm ok " NOW " " BOUND " | unreached, release " NOW
          " at 0 2\n"
          "[3] granted 0 " NOW " | \n"
          "[3] granted 1 0      | \n"
          "[3] granted 2 " FAR " | \n");
}

/* Node 2's clock leaps 2 h ahead after it has granted. From then on it can be
 * raised only to its clock, and the others cannot. */
static void clock_leaps_after_the_grant(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " NOW " | \n"
          "[1] 0 acquire ok " LATER " | confirm " LATER " at 2\n"
          "[2] 2 confirm ok " NOW " floor " FAR " | confirm " FAR " at 0 2\n"
          "[3] 0 confirm ok " LATER " " BOUND " | \n"
          "[4] 2 confirm unsent | \n"
          "[5] 1 acquire ok " LATER " | held " LATER " till 9898, renew " LATER
          " at 2\n");
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " NOW " | \n"
          "[1] 0 acquire ok " LATER " | confirm " LATER " at 2\n"
          "[2] 2 confirm ok " NOW " floor " FAR " | confirm " FAR " at 0 2\n"
          "[3] 0 confirm ok " LATER " " BOUND " | \n"
          "[4] 2 confirm unsent | \n"
          "[5] 1 acquire no 5   | split, release " LATER " at 0 2\n");
}

/* A clock far behind: the node refuses the raise, and gets no other request. */
static void clock_far_behind_costs_one_vote(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok 7000000 | \n"
          "[1] 0 acquire ok " NOW " | confirm " NOW " at 2\n"
          "[2] 2 confirm ok 7000000 bound 4301967296 | \n"
          "[3] 1 acquire ok " NOW " | held " NOW " till 9898, renew " NOW
          " at 2\n"
          "[4] 2 confirm ok 7000000 bound 4301967296 | \n");
}

/* Two of five can be raised to node 4's counter. Node 0 cannot, and no third
 * node is known, so node 3 is not raised. It is as soon as a third node is
 * known. */
static void two_clocks_of_five_far_ahead(void **state)
{
    (void)state;
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 4 acquire ok " FAR " | \n"
          "[1] 3 acquire ok 17100000000 | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 0 confirm ok " NOW " " BOUND " | \n"
          "[3] 1 acquire ok " NOW " | confirm " FAR " at 1\n"
          "[4] 1 confirm ok " NOW " " BOUND " | \n"
          "[5] 2 acquire ok " NOW " | held " NOW " till 9898\n"
          "[6] release          | release " NOW " at 0 1 2 3 4\n");
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 4 acquire ok " FAR " | \n"
          "[1] 3 acquire ok 17100000000 | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 0 confirm ok " NOW " " BOUND " | \n"
          "[3] 1 acquire ok 16000000000 | confirm " FAR " at 1 3\n"
          "[4] 1 confirm ok " FAR " | \n"
          "[4] 3 confirm ok " FAR " | held " FAR " till 9898, renew " FAR
          " at 0\n");
}

/* A node that has been ours for hours has an old counter, which is no bound: it
 * is raised first, and the others after it has confirmed. */
static void an_old_grant_is_asked_first(void **state)
{
    (void)state;
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 0 acquire ok " NOW " | \n"
          "[1] 1 acquire ok " FAR " | \n"
          "[1] 2 acquire ok 17200000009 | confirm 17200000009 at 0\n"
          "[2] 0 confirm ok 17200000009 | confirm 17200000009 at 1\n"
          "[3] 1 confirm ok 17200000009 | held 17200000009 till 9898\n");
}

/* All have granted, and no two agree: node 1 was to be raised to node 2's
 * counter, which has increased meanwhile. The middle counter cannot come from a
 * wrong clock. Node 0 is raised to it in steps of its bound, which is reported
 * in buckets of the clock floor. */
#define FARTHER "90000000000"
#define APART                                                                  \
    "[0] acquire          | acquire at 0 1 2\n"                                \
    "[1] 2 acquire ok " FARTHER " | \n"                                        \
    "[1] 0 acquire ok " NOW " | confirm " FARTHER " at 0\n"                    \
    "[2] 1 acquire ok " FAR " | confirm " FARTHER " at 1\n"                    \
    "[3] 1 confirm ok " FAR " bound 21494967296 | \n"

static void all_granted_and_apart(void **state)
{
    (void)state;
    trace(3, 10000,
          APART "[4] 0 confirm ok " NOW " " BOUND
                " | confirm 14294188031 at 0\n"
                "[5] 0 confirm ok 14294188031 | confirm " FAR " at 0\n"
                "[6] 0 confirm ok " FAR " | held " FAR " till 9900\n");
    trace(3, 10000, /* its clock is less far behind than its counter */
          APART "[4] 0 confirm ok " NOW " bound 21494967296 "
                "| confirm " FAR " at 0\n"
                "[5] 0 confirm ok " FAR " | held " FAR " till 9900\n");
}

/* Node 0 needs two steps, node 1 one. */
static void some_need_fewer_steps(void **state)
{
    (void)state;
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 4 acquire ok " FARTHER " | \n"
          "[1] 3 acquire ok 60000000000 | \n"
          "[1] 0 acquire ok " NOW " | confirm " FARTHER " at 0 3\n"
          "[1] 1 acquire ok 12000000000 | confirm " FARTHER " at 1\n"
          "[1] 2 acquire ok 15000000000 | confirm " FARTHER " at 2\n"
          "[2] 0 confirm ok " NOW " " BOUND " | \n"
          "[2] 3 confirm ok 60000000000 bound 64294967296 | \n"
          "[2] 1 confirm ok 12000000000 bound 16294967296 "
          "| confirm 14294188031 at 0, confirm 15000000000 at 1\n"
          "[2] 2 confirm ok 15000000000 bound 19294967296 | \n"
          "[3] 1 confirm ok 15000000000 | \n"
          "[3] 0 confirm ok 14294188031 | confirm 15000000000 at 0\n"
          "[4] 0 confirm ok 15000000000 | held 15000000000 till 9899\n");
}

static void too_far_apart_for_steps(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FARTHER " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FARTHER " at 0\n"
          "[2] 1 acquire ok 30000000000 | confirm " FARTHER " at 1\n"
          "[3] 1 confirm ok 30000000000 bound 34294967296 | \n"
          "[4] 0 confirm ok " NOW " " BOUND
          " | unreached, release 30000000000 at 0 1 2\n");
}

/* A raise beyond that may still be executed. */
static void no_steps_after_a_lost_raise(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FARTHER " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FARTHER " at 0\n"
          "[2] 0 confirm unknown | \n"
          "[3] node 0 voting    | acquire " FARTHER " at 0\n"
          "[4] 0 acquire ok " NOW " | confirm " FARTHER " at 0\n"
          "[5] 0 confirm ok " NOW " " BOUND " | \n"
          "[6] 1 acquire ok " FAR " | confirm " FARTHER " at 1\n"
          "[7] 1 confirm ok " FAR " bound 21494967296 "
          "| unreached, release " FAR " at 0 1 2\n");
}

/* A raise by the greatest step that each node accepts needs no known bound:
 * node 1, which needs less, is raised at once. Nor is it too far for a hint. */
static void raise_by_the_greatest_step_is_sure(void **state)
{
    (void)state;
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 2 acquire ok 14294967296 | \n"
          "[1] 1 acquire ok 14294967290 | \n"
          "[1] 0 acquire ok " NOW " | confirm 14294967296 at 0 1\n"
          "[2] release          | release 14294967296 at 0 1 2 3 4\n");
}

/* The clock of node 2 jumps: the node can be raised to no value nearby, but its
 * vote for its own counter stays. */
static void clock_that_jumps_keeps_the_vote(void **state)
{
    (void)state;
    trace(5, 10000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 2 acquire ok " NOW " | \n"
          "[1] 0 acquire ok " NOW " | \n"
          "[1] 1 acquire ok " LATER " | confirm " LATER " at 0 2\n"
          "[2] 2 confirm ok " NOW " floor " FAR " | confirm " FAR " at 1 2\n"
          "[3] 0 confirm error  | \n"
          "[3] 1 confirm error  | \n"
          "[4] 3 acquire ok 9999999990 | \n"
          "[5] 4 acquire ok 9999999990 | confirm " NOW " at 3 4\n");
}

/* A bound is stored in buckets of 4.2 s: a value in the same bucket may exceed
 * it. */
static void bucket_of_the_bound_is_out_of_reach(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FAR " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 0 confirm ok " NOW " " BOUND " | \n"
          "[3] node 2 down      | \n"
          "[4] 1 acquire ok 14294188040 | split, release " FAR " at 0 1\n");
}

/* The largest value that a majority can reach may be no node's counter: node 0
 * accepts its clock floor and above, and node 1 accepts that value, too. */
#define FLOOR "10003415040"
static void floor_of_one_node_is_the_target(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok " NOW " | \n"
          "[1] 2 acquire ok " LATER " | confirm " LATER " at 0\n"
          "[2] 0 confirm ok " NOW " floor " FLOOR " | confirm " FLOOR
          " at 0 2\n"
          "[3] 2 confirm ok " LATER " floor " FAR " | confirm " FAR " at 2\n"
          "[4] 0 confirm unsent | confirm " FAR " at 0\n"
          "[5] 0 confirm ok " NOW " " BOUND " | \n"
          "[6] 1 acquire ok " LATER " | confirm " FLOOR " at 0 1\n"
          "[7] 0 confirm ok " FLOOR " | \n"
          "[8] 1 confirm ok " FLOOR " | held " FLOOR " till 9904\n");
}

/* A reply with a floor alone does not reset a known bound. */
static void bound_outlasts_a_floor(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FAR " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FAR " at 0\n"
          "[2] 0 confirm ok " NOW " " BOUND " | \n"
          "[3] 1 acquire ok " LATER " | confirm " LATER " at 0\n"
          "[4] node 1 down      | \n"
          "[5] 0 confirm ok " NOW " floor " FLOOR " | split, release " FLOOR
          " at 0 2\n");
}

/* The most that RAISE_STEPS_MAX steps can do. The node in the middle may be the
 * first one. */
static void farthest_in_steps(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FARTHER " | \n"
          "[1] 0 acquire ok " NOW " | confirm " FARTHER " at 0\n"
          "[2] 1 acquire ok 27179869184 | confirm " FARTHER " at 1\n"
          "[3] 1 confirm ok 27179869184 bound 31474836480 | \n"
          "[4] 0 confirm ok " NOW " " BOUND " | confirm 14294188031 at 0\n");
    trace(3, 10000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok " FARTHER " | \n"
          "[1] 1 acquire ok " NOW " | confirm " FARTHER " at 1\n"
          "[2] 0 acquire ok " FAR " | confirm " FARTHER " at 0\n"
          "[3] 0 confirm ok " FAR " bound 21494967296 | \n"
          "[4] 1 confirm ok " NOW " " BOUND " | confirm 14294188031 at 1\n");
}

/* ---- WAITING ------------------------------------------------------------- */

#define TTL_MS 30000 /* the default; the expected instants follow from it */

/* Node 2's clock is 2 h ahead; the others can be raised to 14,294,967,296 at
 * most. The reply to a raise of node 0 was lost, and then node 0 refuses the
 * same raise. Its vote counts neither at its counter, since the first raise may
 * still be executed, nor at the target. Only another owner can get a
 * majority. */
#define PLACES_AT_ALL                                                          \
    "[0] queue            | acquire at 0 1 2\n"                                \
    "[1] 0 acquire no 1 rival 9 time 300 | \n"                                 \
    "[1] 1 acquire no 1 rival 9 time 300 | queued, queue 300 at 0 1\n"         \
    "[1] 2 acquire no 1 rival 9 time 300 | queue 300 at 2\n"                   \
    "[2] 0 queue queued 1 | \n"                                                \
    "[2] 1 queue queued 1 | \n"                                                \
    "[2] 2 queue queued 1 | \n"
#define LOST_RAISE                                                             \
    PLACES_AT_ALL                                                              \
    "[5] 0 grants " NOW " | \n"                                                \
    "[5] 2 grants " FAR " | confirm " FAR " at 0\n"                            \
    "[6] node 0 down      | \n"                                                \
    "[6] 0 confirm unknown | \n"                                               \
    "[7] node 0 voting    | queue 300 at 0, confirm " FAR " at 0\n"            \
    "[8] 0 queue ok " NOW " | \n"

static void lost_raise_in_vain_ends_the_waiting(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          LOST_RAISE "[9] 0 confirm ok " NOW " " BOUND " | split, release " NOW
                     " at 0 1 2\n");
}

static void lost_raise_of_another_node(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          PLACES_AT_ALL "[5] 1 grants " NOW " | \n"
                        "[5] 2 grants " FAR " | confirm " FAR " at 1\n"
                        "[6] node 1 down      | \n"
                        "[6] 1 confirm unknown | \n"
                        "[7] node 1 voting "
                        "| queue 300 at 1, confirm " FAR " at 1\n"
                        "[8] 1 queue ok " NOW " | \n"
                        "[9] 1 confirm ok " NOW " " BOUND
                        " | split, release " NOW " at 0 1 2\n");
}

/* Not if the raise was answered: the node can be raised to less when node 1 is
 * back. */
static void answered_raise_keeps_the_place(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          PLACES_AT_ALL "[5] 0 grants " NOW " | \n"
                        "[5] 2 grants " FAR " | confirm " FAR " at 0\n"
                        "[6] 1 grants 17100000000 | confirm " FAR " at 1\n"
                        "[7] node 1 down      | \n"
                        "[8] 0 confirm ok " NOW " " BOUND " | \n");
}

/* Not if two other nodes remain that can still be raised. */
static void lost_raise_in_vain_costs_one_vote(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          LOST_RAISE "[9] 1 grants " NOW " | confirm " FAR " at 1\n"
                     "[10] 0 confirm ok " NOW " " BOUND " | \n"
                     "[11] 1 confirm ok " FAR " | held " FAR
                     " till 5939, renew " FAR " at 0 1 2\n");
}

/* Nor if no majority has granted: the other nodes may agree. */
static void lost_raise_in_vain_keeps_the_place(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          LOST_RAISE "[305] overdue        | late 0, queue 300 at 2\n"
                     "[306] 2 queue ok " FAR " behind | yield " FAR " at 2\n"
                     "[307] 2 yield queued " FAR " | \n"
                     "[308] 0 confirm ok " NOW " " BOUND " | \n");
}

/* All have granted, and no two agree: node 0 is raised to the middle counter in
 * steps. The reply to one step is lost, so the step is sent again. */
static void lost_step_is_asked_again(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          PLACES_AT_ALL
          "[5] 0 grants " NOW " | \n"
          "[5] 2 grants 90000000000 | confirm 90000000000 at 0\n"
          "[5] 1 grants " FAR " | confirm 90000000000 at 1\n"
          "[6] 0 confirm ok " NOW " " BOUND " | \n"
          "[6] 1 confirm ok " FAR " bound 21494967296 "
          "| confirm 14294188031 at 0\n"
          "[7] node 0 down      | \n"
          "[7] 0 confirm unknown | \n"
          "[8] node 0 voting    | queue 300 at 0, confirm 14294188031 at 0\n"
          "[9] 0 queue ok " NOW " | \n"
          "[10] 0 confirm ok 14294188031 | confirm " FAR " at 0\n");
}

/* The raise of node 0 to the middle is lost, and then its clock is set back. No
 * raise above the middle is in doubt, so the node goes there in steps. */
static void steps_after_a_lost_raise_to_the_middle(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          PLACES_AT_ALL
          "[5] 2 grants " FARTHER " | \n"
          "[5] 1 grants " FAR " | confirm " FARTHER " at 1\n"
          "[6] 1 confirm ok " FAR " bound 21494967296 | \n"
          "[7] 0 grants " NOW " | confirm " FARTHER " at 0\n"
          "[8] 0 confirm ok " NOW " " BOUND " | confirm 14294188031 at 0\n"
          "[9] 0 confirm ok 14294188031 | confirm " FAR " at 0\n"
          "[10] node 0 down     | \n"
          "[10] 0 confirm unknown | \n"
          "[11] node 0 voting   | queue 300 at 0, confirm " FAR " at 0\n"
          "[12] 0 confirm ok 14294188031 bound 14300000000 "
          "| confirm 14298382335 at 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_far_ahead_costs_one_vote),
        cmocka_unit_test(lost_raise_is_no_refusal),
        cmocka_unit_test(no_majority_beside_a_clock_far_ahead),
        cmocka_unit_test(clock_leaps_after_the_grant),
        cmocka_unit_test(clock_far_behind_costs_one_vote),
        cmocka_unit_test(two_clocks_of_five_far_ahead),
        cmocka_unit_test(raise_by_the_greatest_step_is_sure),
        cmocka_unit_test(clock_that_jumps_keeps_the_vote),
        cmocka_unit_test(bucket_of_the_bound_is_out_of_reach),
        cmocka_unit_test(floor_of_one_node_is_the_target),
        cmocka_unit_test(bound_outlasts_a_floor),
        cmocka_unit_test(an_old_grant_is_asked_first),
        cmocka_unit_test(all_granted_and_apart),
        cmocka_unit_test(some_need_fewer_steps),
        cmocka_unit_test(too_far_apart_for_steps),
        cmocka_unit_test(farthest_in_steps),
        cmocka_unit_test(no_steps_after_a_lost_raise),
        cmocka_unit_test(lost_raise_in_vain_ends_the_waiting),
        cmocka_unit_test(lost_raise_of_another_node),
        cmocka_unit_test(answered_raise_keeps_the_place),
        cmocka_unit_test(lost_raise_in_vain_costs_one_vote),
        cmocka_unit_test(lost_raise_in_vain_keeps_the_place),
        cmocka_unit_test(lost_step_is_asked_again),
        cmocka_unit_test(steps_after_a_lost_raise_to_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
