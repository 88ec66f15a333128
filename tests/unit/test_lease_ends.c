/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Traces of the end of a lease: released, detached, or expired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lease_trace.h"

static void nothing_happens_before_it_begins(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 1 connecting | \n"
          "[1] node 1 voting     | \n"
          "[2] 0 grants 4        | \n"
          "[3] listen 0          | \n"
          "[4] release           | \n"
          "[5] acquire           | 0A 1A 2A\n");
}

static void giving_up_twice_is_giving_up(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | 0A\n"
          "[1] 0 A ok 7         | held 7 till 988\n"
          "[2] release          | 0R7\n"
          "[3] release          | \n"
          "[4] 0 R ok           | released done\n");
}

static void handed_on_nothing_is_taken_back(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | 0A\n"
          "[1] 0 A ok 7         | held 7 till 988\n"
          "[2] detach           | done\n");
}

/* ---- Nodes that a detach waits for ------------------------------------- */

static void handed_on_by_all_that_answer(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] node 3 down       | \n"
          "[0] node 4 connecting | \n"
          "[0] acquire           | 0A 1A 2A\n"
          "[1] 0 A ok 7          | \n"
          "[1] 1 A ok 7          | \n"
          "[2] 2 A ok 7          | held 7 till 988\n"
          "[2] sparse            | \n"
          "[3] node 4 voting     | 4C7h\n"
          "[3] sparse            | \n"
          "[4] 4 C ok 7          | \n"
          "[4] spread            | \n"
          "[5] node 4 connecting | \n"
          "[5] spread            | \n");
}

static void late_nodes_are_not_waited_for(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire           | 0A 1A 2A\n"
          "[1] 1 A ok 7          | \n"
          "[2] 2 A ok 7          | held 7 till 988\n"
          "[49] sparse           | \n"
          "[50] timer            | late 0\n"
          "[50] spread           | \n");
}

static void a_lost_lease_waits_for_no_node(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 connecting | \n"
          "[0] acquire           | 0A 1A\n"
          "[1] 0 A ok 7          | \n"
          "[2] 1 A ok 7          | held 7 till 988\n"
          "[3] sparse            | \n"
          "[988] overdue         | lost\n"
          "[988] spread          | \n");
}

/* Its counter is raised to that of the others, so that the next acquisition
 * needs one round trip. */
static void who_never_had_it_hears_of_the_end(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | 0A 1A 2A\n"
          "[1] 2 A no 6         | \n"
          "[2] 0 A ok 7         | \n"
          "[3] 1 A ok 7         | held 7 till 988\n"
          "[4] release          | 0R7 1R7 2R7\n");
}

/* ---- Nodes that a release waits for ------------------------------------ */

static void release_waits_a_timeout_for_connections(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire           | 0A 1A 2A\n"
          "[1] 0 A ok 7          | \n"
          "[2] 1 A ok 7          | held 7 till 988\n"
          "[3] 2 A ok 7          | \n"
          "[4] node 1 connecting | \n"
          "[4] node 2 connecting | \n"
          "[10] release          | 0R7\n"
          "[11] 0 R ok           | \n"
          "[60] timer            | unknown\n"
          "[80] node 1 voting    | 1R7\n"
          "[81] node 1 voting    | \n"
          "[90] 1 R ok           | \n"
          "[1010] timer          | done\n");
}

/* The last reply arrives before the timer of the timeout has run. A node that
 * could not execute the release is asked again then. */
static void answer_at_the_end_of_the_waiting(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire           | 0A 1A 2A\n"
          "[1] 0 A ok 7          | \n"
          "[2] 1 A ok 7          | held 7 till 988\n"
          "[3] 2 A ok 7          | \n"
          "[4] node 2 connecting | \n"
          "[10] release          | 0R7 1R7\n"
          "[11] 0 R error        | \n"
          "[60] 1 R ok           | unknown\n"
          "[60] timer            | 0R7\n"
          "[61] 0 R ok           | \n"
          "[62] node 2 voting    | 2R7\n"
          "[63] 2 R ok           | done\n");
}

/* One node released, one refused, and one could not execute the request: no
 * outcome has a majority until the last has replied again. */
static void who_could_not_release_tries_again(void **state)
{
    (void)state;
    trace(3, 3000,
          "[0] release-foreign 7 | 0R7 1R7 2R7\n"
          "[1] 0 R no 8         | \n"
          "[2] 1 R error        | \n"
          "[3] 2 R ok           | unknown\n"
          "[52] timer           | 1R7\n"
          "[53] 1 R ok          | done\n");
}

/* The reply to the first RELEASE was lost, and it may have freed the lock. */
static void denied_once_it_may_be_freed(void **state)
{
    (void)state;
    trace(1, 3000,
          "[0] acquire          | 0A\n"
          "[1] 0 A ok 7         | held 7 till 2968\n"
          "[2] release          | 0R7\n"
          "[3] node 0 connecting | \n"
          "[4] 0 R unknown      | \n"
          "[5] node 0 voting    | 0R7\n"
          "[6] 0 R no 7         | unknown done\n");
    trace(1, 3000,
          "[0] acquire          | 0A\n"
          "[1] 0 A ok 7         | held 7 till 2968\n"
          "[2] release          | 0R7\n"
          "[3] node 0 connecting | \n"
          "[4] 0 R unsent       | \n"
          "[5] node 0 voting    | 0R7\n"
          "[6] 0 R no 7         | lost done\n");
}

static void denied_by_some_and_one_to_come(void **state)
{
    (void)state;
    trace(3, 3000,
          "[0] release-foreign 7 | 0R7 1R7 2R7\n"
          "[1] 0 R no 8         | \n"
          "[2] 1 R error        | \n"
          "[3] 2 R no 8         | lost\n"
          "[52] timer           | 1R7\n"
          "[53] 1 R unsent      | \n"
          "[54] node 1 down     | \n"
          "[103] timer          | \n"
          "[200] node 1 voting  | 1R7\n"
          "[201] 1 R queued 8   | done\n");
}

/* The node lost its data twice and refused a retry of the ACQUIRE. A CONFIRM is
 * still in flight, and may install the owner there. */
static void refused_node_with_request_in_flight_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire     | 0A 1A 2A\n"
          "[1] 0 A ok 5    | \n"
          "[2] 1 A ok 7    | 0C7\n"
          "[3] reset 0     | 0A7\n"
          "[4] 0 C ok 6    | 0C7\n"
          "[5] reset 0     | \n"
          "[6] 0 A no 3    | \n"
          "[7] release     | 0R7 1R7 2R7\n"
          "[8] 0 C ok 9    | \n");
}

static void any_refused_node_with_request_in_flight(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire     | 0A 1A 2A\n"
          "[1] 1 A ok 5    | \n"
          "[2] 0 A ok 7    | 1C7\n"
          "[3] reset 1     | 1A7\n"
          "[4] 1 C ok 6    | 1C7\n"
          "[5] reset 1     | \n"
          "[6] 1 A no 3    | \n"
          "[7] release     | 0R7 1R7 2R7\n");
}

/* A waiter ignores the reply, which is older than the refusal. Still the node
 * replied "yours", so it gets a RELEASE. */
static void node_that_said_yours_to_a_waiter_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] queue             | 0A 1A 2A\n"
          "[1] 2 A ok 5          | \n"
          "[2] 1 A ok 7          | 2C7\n"
          "[3] reset 2           | 2A7\n"
          "[4] 2 C ok 6          | 2C7\n"
          "[5] node 2 connecting | \n"
          "[6] reset 2           | \n"
          "[7] 2 A no 20         | \n"
          "[8] 0 A no 20 1 900 500 | queued 0Q500 1Q500\n"
          "[9] 2 C ok 19         | \n"
          "[10] release          | 0R20 1R20\n"
          "[11] node 2 voting    | 2R20\n");
}

/* The lease is shorter than the connection timeout. */
static void lease_over_before_it_could_be_released(void **state)
{
    (void)state;
    trace(3, 500,
          "[0] node 0 connecting | \n"
          "[0] node 1 connecting | \n"
          "[0] node 2 connecting | \n"
          "[0] release-foreign 7 | \n"
          "[500] timer           | unknown done\n");
}

/* "Not yours" in reply to a renewal proves nothing about the RELEASE. */
static void a_renewal_that_was_denied_denies_no_release(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | 0C7h 1C7h 2C7h\n"
                     "[335] 0 C ok 7       | \n"
                     "[336] 1 C no 9       | \n"
                     "[337] 2 C ok 7       | \n"
                     "[400] release        | 0R9 1R9 2R9\n"
                     "[401] 0 R no 9       | \n"
                     "[402] 2 R ok         | \n"
                     "[403] 1 R ok         | released done\n");
}

static void answers_to_a_renewal_release_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | 0C7h 1C7h 2C7h\n"
                     "[340] release        | 0R7 1R7 2R7\n"
                     "[341] 0 C ok 7       | \n"
                     "[342] 0 R ok         | \n"
                     "[343] 1 C no 9       | \n"
                     "[344] 1 R no 9       | \n"
                     "[345] 2 C ok 7       | \n"
                     "[346] 2 R ok         | released done\n");
}

/* The previous holder may hold the lock at any node, including nodes that we
 * have not contacted. */
static void what_was_adopted_is_released_everywhere(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 connecting | \n"
          "[1] adopt 7           | 0C7 1C7\n"
          "[2] 0 C ok 7          | \n"
          "[3] 1 C ok 7          | held 7 till 989\n"
          "[10] release          | 0R7 1R7\n"
          "[11] 0 R ok           | \n"
          "[12] 1 R ok           | released\n"
          "[20] node 2 voting    | 2R7\n"
          "[21] 2 R ok           | done\n");
}

static void first_node_of_an_adoption_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 connecting | \n"
          "[1] adopt 7           | 1C7 2C7\n"
          "[2] 1 C ok 7          | \n"
          "[3] 2 C ok 7          | held 7 till 989\n"
          "[10] release          | 1R7 2R7\n"
          "[11] 1 R ok           | \n"
          "[12] 2 R ok           | released\n"
          "[20] node 0 voting    | 0R7\n"
          "[21] 0 R ok           | done\n");
}

/* As after a break: nodes that did not reply to it are spared. */
static void spared_node_is_not_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] release-foreign 7 1 | 0R7 2R7\n"
          "[1] 0 R ok            | \n"
          "[2] 2 R ok            | released done\n");
}

/* The outcome waits for nodes that are connecting, and not once they are down.
 */
static void release_waits_for_no_node_that_is_down(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[4] node 1 connecting | \n"
                     "[4] node 2 connecting | \n"
                     "[10] release          | 0R7\n"
                     "[11] 0 R ok           | \n"
                     "[20] node 1 down      | \n"
                     "[21] node 2 down      | unknown\n");
}

/* A node that lost its data knows no owner: its "not yours" proves nothing
 * until its quarantine is over. */
static void quarantined_nodes_deny_no_release(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire            | 0A\n"
          "[1] 0 A ok 7           | held 7 till 988\n"
          "[10] node 0 repairing  | \n"
          "[10] reset 0           | \n"
          "[20] release           | 0R7\n"
          "[21] 0 R no 0          | unknown done\n");
    trace(3, 1000,
          TRACE_HELD "[10] node 1 repairing | \n"
                     "[10] reset 1          | \n"
                     "[20] release          | 0R7 1R7 2R7\n"
                     "[21] 0 R no 9         | \n"
                     "[22] 1 R no 0         | \n"
                     "[23] 2 R ok           | unknown done\n");
}

/* Its RELEASE met another marker, so the node is identified again. */
static void emptied_node_denies_no_release(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire            | 0A\n"
          "[1] 0 A ok 7           | held 7 till 988\n"
          "[20] release           | 0R7\n"
          "[21] node 0 connecting | \n"
          "[21] 0 R error         | \n"
          "[22] reset 0           | \n"
          "[22] node 0 repairing  | 0R7\n"
          "[23] 0 R no 0          | unknown done\n");
}

static void voting_majority_denies_a_release(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[10] node 1 repairing | \n"
                     "[10] reset 1          | \n"
                     "[20] release          | 0R7 1R7 2R7\n"
                     "[21] 1 R no 0         | \n"
                     "[22] 0 R no 9         | \n"
                     "[23] 2 R no 9         | lost done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_before_it_begins),
        cmocka_unit_test(giving_up_twice_is_giving_up),
        cmocka_unit_test(who_never_had_it_hears_of_the_end),
        cmocka_unit_test(handed_on_nothing_is_taken_back),
        cmocka_unit_test(handed_on_by_all_that_answer),
        cmocka_unit_test(late_nodes_are_not_waited_for),
        cmocka_unit_test(a_lost_lease_waits_for_no_node),
        cmocka_unit_test(release_waits_a_timeout_for_connections),
        cmocka_unit_test(answer_at_the_end_of_the_waiting),
        cmocka_unit_test(release_waits_for_no_node_that_is_down),
        cmocka_unit_test(who_could_not_release_tries_again),
        cmocka_unit_test(denied_once_it_may_be_freed),
        cmocka_unit_test(denied_by_some_and_one_to_come),
        cmocka_unit_test(refused_node_with_request_in_flight_is_released),
        cmocka_unit_test(any_refused_node_with_request_in_flight),
        cmocka_unit_test(node_that_said_yours_to_a_waiter_is_released),
        cmocka_unit_test(lease_over_before_it_could_be_released),
        cmocka_unit_test(a_renewal_that_was_denied_denies_no_release),
        cmocka_unit_test(answers_to_a_renewal_release_nothing),
        cmocka_unit_test(what_was_adopted_is_released_everywhere),
        cmocka_unit_test(first_node_of_an_adoption_is_released),
        cmocka_unit_test(spared_node_is_not_released),
        cmocka_unit_test(quarantined_nodes_deny_no_release),
        cmocka_unit_test(emptied_node_denies_no_release),
        cmocka_unit_test(voting_majority_denies_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
