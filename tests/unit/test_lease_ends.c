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
          "[1] node 1 voting    | \n"
          "[2] 0 grants 4       | \n"
          "[3] listen 0         | \n"
          "[4] release          | \n"
          "[5] acquire          | acquire at 0 1 2\n");
}

static void giving_up_twice_is_giving_up(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[2] release          | release 7 at 0\n"
          "[3] release          | \n"
          "[4] 0 release ok     | released, done\n");
}

static void handed_on_nothing_is_taken_back(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[2] detach           | done\n");
}

/* ---- Nodes that a detach waits for ------------------------------------- */

static void handed_on_by_all_that_answer(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] node 3 down      | \n"
          "[0] node 4 connecting | \n"
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[1] 1 acquire ok 7   | \n"
          "[2] 2 acquire ok 7   | held 7 till 988\n"
          "[2] sparse           | \n"
          "[3] node 4 voting    | renew 7 at 4\n"
          "[3] sparse           | \n"
          "[4] 4 confirm ok 7   | \n"
          "[4] spread           | \n"
          "[5] node 4 connecting | \n"
          "[5] spread           | \n");
}

static void late_nodes_are_not_waited_for(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 1 acquire ok 7   | \n"
          "[2] 2 acquire ok 7   | held 7 till 988\n"
          "[49] sparse          | \n"
          "[50] timer           | late 0\n"
          "[50] spread          | \n");
}

static void a_lost_lease_waits_for_no_node(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 connecting | \n"
          "[0] acquire          | acquire at 0 1\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[3] sparse           | \n"
          "[988] overdue        | lost\n"
          "[988] spread         | \n");
}

/* Its counter is raised to that of the others, so that the next acquisition
 * needs one round trip. */
static void who_never_had_it_hears_of_the_end(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire no 6   | \n"
          "[2] 0 acquire ok 7   | \n"
          "[3] 1 acquire ok 7   | held 7 till 988\n"
          "[4] release          | release 7 at 0 1 2\n");
}

/* ---- Nodes that a release waits for ------------------------------------ */

static void release_waits_a_timeout_for_connections(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[3] 2 acquire ok 7   | \n"
          "[4] node 1 connecting | \n"
          "[4] node 2 connecting | \n"
          "[10] release         | release 7 at 0\n"
          "[11] 0 release ok    | \n"
          "[60] timer           | unknown\n"
          "[80] node 1 voting   | release 7 at 1\n"
          "[81] node 1 voting   | \n"
          "[90] 1 release ok    | \n"
          "[1010] timer         | done\n");
}

/* The last reply arrives before the timer of the timeout has run. A node that
 * could not execute the release is asked again then. */
static void answer_at_the_end_of_the_waiting(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[3] 2 acquire ok 7   | \n"
          "[4] node 2 connecting | \n"
          "[10] release         | release 7 at 0 1\n"
          "[11] 0 release error | \n"
          "[60] 1 release ok    | unknown\n"
          "[60] timer           | release 7 at 0\n"
          "[61] 0 release ok    | \n"
          "[62] node 2 voting   | release 7 at 2\n"
          "[63] 2 release ok    | done\n");
}

/* One node released, one refused, and one could not execute the request: no
 * outcome has a majority until the last has replied again. */
static void who_could_not_release_tries_again(void **state)
{
    (void)state;
    trace(3, 3000,
          "[0] release-foreign 7 | release 7 at 0 1 2\n"
          "[1] 0 release no 8   | \n"
          "[2] 1 release error  | \n"
          "[3] 2 release ok     | unknown\n"
          "[52] timer           | release 7 at 1\n"
          "[53] 1 release ok    | done\n");
}

/* The reply to the first RELEASE was lost, and it may have freed the lock. */
static void denied_once_it_may_be_freed(void **state)
{
    (void)state;
    trace(1, 3000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 2968\n"
          "[2] release          | release 7 at 0\n"
          "[3] node 0 connecting | \n"
          "[4] 0 release unknown | \n"
          "[5] node 0 voting    | release 7 at 0\n"
          "[6] 0 release no 7   | unknown, done\n");
    trace(1, 3000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 2968\n"
          "[2] release          | release 7 at 0\n"
          "[3] node 0 connecting | \n"
          "[4] 0 release unsent | \n"
          "[5] node 0 voting    | release 7 at 0\n"
          "[6] 0 release no 7   | lost, done\n");
}

static void denied_by_some_and_one_to_come(void **state)
{
    (void)state;
    trace(3, 3000,
          "[0] release-foreign 7 | release 7 at 0 1 2\n"
          "[1] 0 release no 8   | \n"
          "[2] 1 release error  | \n"
          "[3] 2 release no 8   | lost\n"
          "[52] timer           | release 7 at 1\n"
          "[53] 1 release unsent | \n"
          "[54] node 1 down     | \n"
          "[103] timer          | \n"
          "[200] node 1 voting  | release 7 at 1\n"
          "[201] 1 release queued 8 | done\n");
}

/* The node lost its data twice and refused a retry of the ACQUIRE. A CONFIRM is
 * still in flight, and may install the owner there. */
static void refused_node_with_request_in_flight_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[2] 1 acquire ok 7   | confirm 7 at 0\n"
          "[3] reset 0          | acquire 7 at 0\n"
          "[4] 0 confirm ok 6   | confirm 7 at 0\n"
          "[5] reset 0          | \n"
          "[6] 0 acquire no 3   | \n"
          "[7] release          | release 7 at 0 1 2\n"
          "[8] 0 confirm ok 9   | \n");
}

static void any_refused_node_with_request_in_flight(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 1 acquire ok 5   | \n"
          "[2] 0 acquire ok 7   | confirm 7 at 1\n"
          "[3] reset 1          | acquire 7 at 1\n"
          "[4] 1 confirm ok 6   | confirm 7 at 1\n"
          "[5] reset 1          | \n"
          "[6] 1 acquire no 3   | \n"
          "[7] release          | release 7 at 0 1 2\n");
}

/* A waiter ignores the reply, which is older than the refusal. Still the node
 * replied "yours", so it gets a RELEASE. */
static void node_that_said_yours_to_a_waiter_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 2 acquire ok 5   | \n"
          "[2] 1 acquire ok 7   | confirm 7 at 2\n"
          "[3] reset 2          | acquire 7 at 2\n"
          "[4] 2 confirm ok 6   | confirm 7 at 2\n"
          "[5] node 2 connecting | \n"
          "[6] reset 2          | \n"
          "[7] 2 acquire no 20  | \n"
          "[8] 0 acquire no 20 rival 1 left 900 time 500 "
          "| queued, queue 500 at 0 1\n"
          "[9] 2 confirm ok 19  | \n"
          "[10] release         | release 20 at 0 1\n"
          "[11] node 2 voting   | release 20 at 2\n");
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
          "[500] timer          | unknown, done\n");
}

/* "Not yours" in reply to a renewal proves nothing about the RELEASE. */
static void a_renewal_that_was_denied_denies_no_release(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm ok 7 | \n"
                     "[336] 1 confirm no 9 | \n"
                     "[337] 2 confirm ok 7 | \n"
                     "[400] release        | release 9 at 0 1 2\n"
                     "[401] 0 release no 9 | \n"
                     "[402] 2 release ok   | \n"
                     "[403] 1 release ok   | released, done\n");
}

static void answers_to_a_renewal_release_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[340] release        | release 7 at 0 1 2\n"
                     "[341] 0 confirm ok 7 | \n"
                     "[342] 0 release ok   | \n"
                     "[343] 1 confirm no 9 | \n"
                     "[344] 1 release no 9 | \n"
                     "[345] 2 confirm ok 7 | \n"
                     "[346] 2 release ok   | released, done\n");
}

/* The previous holder may hold the lock at any node, including nodes that we
 * have not contacted. */
static void what_was_adopted_is_released_everywhere(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 connecting | \n"
          "[1] adopt 7          | confirm 7 at 0 1\n"
          "[2] 0 confirm ok 7   | \n"
          "[3] 1 confirm ok 7   | held 7 till 989\n"
          "[10] release         | release 7 at 0 1\n"
          "[11] 0 release ok    | \n"
          "[12] 1 release ok    | released\n"
          "[20] node 2 voting   | release 7 at 2\n"
          "[21] 2 release ok    | done\n");
}

static void first_node_of_an_adoption_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 connecting | \n"
          "[1] adopt 7          | confirm 7 at 1 2\n"
          "[2] 1 confirm ok 7   | \n"
          "[3] 2 confirm ok 7   | held 7 till 989\n"
          "[10] release         | release 7 at 1 2\n"
          "[11] 1 release ok    | \n"
          "[12] 2 release ok    | released\n"
          "[20] node 0 voting   | release 7 at 0\n"
          "[21] 0 release ok    | done\n");
}

/* As after a break: nodes that did not reply to it are spared. */
static void spared_node_is_not_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] release-foreign 7 1 | release 7 at 0 2\n"
          "[1] 0 release ok     | \n"
          "[2] 2 release ok     | released, done\n");
}

/* The outcome waits for nodes that are connecting, and not once they are down.
 */
static void release_waits_for_no_node_that_is_down(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[4] node 1 connecting | \n"
                     "[4] node 2 connecting | \n"
                     "[10] release         | release 7 at 0\n"
                     "[11] 0 release ok    | \n"
                     "[20] node 1 down     | \n"
                     "[21] node 2 down     | unknown\n");
}

/* A node that lost its data knows no owner: its "not yours" proves nothing
 * until its quarantine is over. */
static void quarantined_nodes_deny_no_release(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[10] node 0 repairing | \n"
          "[10] reset 0         | \n"
          "[20] release         | release 7 at 0\n"
          "[21] 0 release no 0  | unknown, done\n");
    trace(3, 1000,
          TRACE_HELD "[10] node 1 repairing | \n"
                     "[10] reset 1         | \n"
                     "[20] release         | release 7 at 0 1 2\n"
                     "[21] 0 release no 9  | \n"
                     "[22] 1 release no 0  | \n"
                     "[23] 2 release ok    | unknown, done\n");
}

/* Its RELEASE met another marker, so the node is identified again. */
static void emptied_node_denies_no_release(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[20] release         | release 7 at 0\n"
          "[21] node 0 connecting | \n"
          "[21] 0 release error | \n"
          "[22] reset 0         | \n"
          "[22] node 0 repairing | release 7 at 0\n"
          "[23] 0 release no 0  | unknown, done\n");
}

static void voting_majority_denies_a_release(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[10] node 1 repairing | \n"
                     "[10] reset 1         | \n"
                     "[20] release         | release 7 at 0 1 2\n"
                     "[21] 1 release no 0  | \n"
                     "[22] 0 release no 9  | \n"
                     "[23] 2 release no 9  | lost, done\n");
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
