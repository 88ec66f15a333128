/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Votes of nodes that fail, are slow, lose their connection or cannot agree
 * (lease_trace.h has the syntax of traces). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lease_trace.h"

static void an_error_takes_nothing(void **state)
{
    (void)state;
    /* The node did not execute the request, so there is no grant to release.
     * After a reconnect it gets no second request: it has replied. */
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire error  | \n"
          "[2] node 0 down      | \n"
          "[3] node 0 voting    | \n"
          "[4] 1 acquire ok 7   | \n"
          "[5] 2 acquire no 7   | split, release 7 at 1\n"
          "[6] 1 release ok     | done\n");
}

static void who_has_answered_is_not_asked_again(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire no 7   | \n"
          "[2] 1 acquire ok 7   | \n"
          "[3] node 0 voting    | \n"
          "[4] node 1 voting    | \n"
          "[5] 2 acquire ok 7   | held 7 till 988\n");
}

static void an_error_of_a_raise_may_leave_the_grant(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm error  | \n"
          "[4] 2 acquire no 9   | split, release 9 at 0 1\n");
}

static void a_raise_that_was_not_sent_leaves_the_grant(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm unsent | confirm 9 at 0\n"
          "[4] 0 confirm ok 9   | held 9 till 988\n");
}

/* The request was sent and the connection broke: the node may have granted. A
 * later request that was not sent, or not executed, changes nothing. */
static void an_earlier_grant_outlives_an_unsent_request(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire unknown | \n"
          "[2] node 0 voting    | acquire at 0\n"
          "[3] 0 acquire unsent | \n"
          "[4] 1 acquire no 5   | \n"
          "[5] 2 acquire no 5   | taken, release 5 at 0\n");
}

static void an_earlier_grant_outlives_an_error(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire unknown | \n"
          "[2] node 0 voting    | acquire at 0\n"
          "[3] 0 acquire error  | \n"
          "[4] 1 acquire no 5   | \n"
          "[5] 2 acquire no 5   | taken, release 5 at 0\n");
}

/* Two nodes in turn: the counter of each has increased when the other was
 * raised. `begins` has the first raise, `ends` the last reply. */
static void raised_64_times(int ttl_ms, const char *begins, const char *ends)
{
    char text[8192];
    size_t len = (size_t)snprintf(text, sizeof(text), "%s", begins);
    for (int i = 0; i < 63; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "[2] %d confirm ok %d | confirm %d at %d\n",
                                i % 2, 9 + i, 9 + i, 1 - i % 2);
    }
    snprintf(text + len, sizeof(text) - len, "%s", ends);
    trace(3, ttl_ms, text);
}

/* Whenever one node is raised, the other has a higher counter. This could
 * continue without end, so the attempt gives up. */
static void raising_for_ever_is_given_up(void **state)
{
    (void)state;
    raised_64_times(1000,
                    "[0] acquire          | acquire at 0 1 2\n"
                    "[1] 2 acquire no 1   | \n"
                    "[1] 0 acquire ok 7   | \n"
                    "[1] 1 acquire ok 8   | confirm 8 at 0\n",
                    "[3] 1 confirm ok 72  | split, release 72 at 0 1\n");
}

/* An attempt that may wait enters the queues instead, and keeps its grants. It
 * needs the time of a node for its ticket. */
static void raising_for_ever_ends_in_the_queues(void **state)
{
    (void)state;
    raised_64_times(30000,
                    "[0] queue            | acquire at 0 1 2\n"
                    "[1] 2 acquire no 1 rival 9 time 300 | \n"
                    "[1] 0 acquire ok 7   | \n"
                    "[1] 1 acquire ok 8   | confirm 8 at 0\n",
                    "[3] 1 confirm ok 72  | queued, queue 300 at 0 1 2\n");
}

/* ---- Slow nodes -------------------------------------------------------- */

/* Two of three nodes are slow: their replies are waited for until the timeout,
 * unless no reply is pending. */
static void slow_nodes_are_needed(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] slow 0           | \n"
          "[0] slow 1           | \n"
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok 7   | \n"
          "[2] 0 acquire unsent | \n"
          "[50] timer           | late 1, unreached, release 7 at 1 2\n");
    trace(3, 1000,
          "[0] slow 0           | \n"
          "[0] slow 1           | \n"
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 2 acquire ok 7   | \n"
          "[2] 1 acquire unsent | \n"
          "[50] timer           | late 0, unreached, release 7 at 0 2\n");
}

/* A reply from a node that is down does not count: the caller must not get a
 * holder that no reachable node knows. */
static void a_node_that_is_down_has_no_vote(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] node 0 down      | \n"
          "[3] 1 acquire ok 7   | \n"
          "[4] 2 acquire no 7   | split, release 7 at 1\n"
          "[5] 1 release ok     | \n"
          "[6] node 0 voting    | release 7 at 0\n"
          "[7] 0 release ok     | done\n");
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] node 0 down      | \n"
          "[3] 1 acquire ok 8   | \n"
          "[4] 2 acquire ok 8   | held 8 till 988\n");
}

static void no_node_is_up(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 down      | \n"
          "[0] node 1 down      | \n"
          "[0] node 2 down      | \n"
          "[1] acquire          | unreached, done\n");
}

static void the_only_one_to_come_is_waited_for(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 connecting | \n"
          "[0] node 1 down      | \n"
          "[1] acquire          | acquire at 2\n"
          "[2] 2 acquire ok 7   | \n"
          "[1001] timer         | unreached, release 7 at 2\n");
}

static void an_answered_majority_waits_for_no_other_node(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 connecting | \n"
          "[1] acquire          | acquire at 0 1\n"
          "[2] 0 acquire no 7   | \n"
          "[3] 1 acquire ok 7   | split, release 7 at 1\n");
}

/* With its clock set back a node may grant a lower counter than it granted, or
 * refused, before. A vote counts at the last counter that it reported. */
static void what_a_node_forgot_is_forgotten(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 9   | \n"
          "[2] reset 0          | acquire at 0\n"
          "[4] 0 acquire ok 5   | \n"
          "[5] 1 acquire ok 9   | confirm 9 at 0\n"
          "[6] 0 confirm ok 9   | held 9 till 988\n");
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire no 9   | \n"
          "[2] reset 0          | acquire at 0\n"
          "[4] 0 acquire ok 5   | \n"
          "[5] 1 acquire ok 5   | held 5 till 988\n");
}

static void a_raise_that_is_late_is_not_waited_for(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 9   | \n"
          "[2] 1 acquire ok 7   | confirm 9 at 1\n"
          "[3] 2 acquire no 9   | \n"
          "[52] timer           | late 1, split, release 9 at 0 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_takes_nothing),
        cmocka_unit_test(who_has_answered_is_not_asked_again),
        cmocka_unit_test(an_error_of_a_raise_may_leave_the_grant),
        cmocka_unit_test(a_raise_that_was_not_sent_leaves_the_grant),
        cmocka_unit_test(an_earlier_grant_outlives_an_unsent_request),
        cmocka_unit_test(an_earlier_grant_outlives_an_error),
        cmocka_unit_test(raising_for_ever_is_given_up),
        cmocka_unit_test(raising_for_ever_ends_in_the_queues),
        cmocka_unit_test(slow_nodes_are_needed),
        cmocka_unit_test(a_node_that_is_down_has_no_vote),
        cmocka_unit_test(no_node_is_up),
        cmocka_unit_test(the_only_one_to_come_is_waited_for),
        cmocka_unit_test(an_answered_majority_waits_for_no_other_node),
        cmocka_unit_test(what_a_node_forgot_is_forgotten),
        cmocka_unit_test(a_raise_that_is_late_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
