/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* The ttl of a lease changes while a request is in flight. */
#include "lease_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Both in one step of the client, with one clock reading. The renewal asked for
 * the old ttl, and its reply proves no more than that. */
static void a_renewal_of_the_same_instant_does_not_extend(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[334] timer          | renew 7 at 0\n"
          "[334] extend 4000    | \n"
          "[335] 0 confirm ok 7 | renew 7 at 0\n"
          "[336] 0 confirm ok 7 | extended till 4293\n");
}

/* Nor does a late reply to the ACQUIRE. */
static void a_grant_of_the_same_instant_does_not_extend(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[0] 0 acquire ok 7   | \n"
          "[0] 1 acquire ok 7   | held 7 till 988\n"
          "[0] extend 4000      | renew 7 at 0 1 2\n"
          "[1] 2 acquire ok 7   | \n"
          "[1] 0 confirm ok 7   | \n"
          "[1] 1 confirm ok 7   | extended till 3958\n");
}

/* A heartbeat asks for Q. If a grant is pushed in the step that sent it, the
 * reply is no proof of the full lease. */
static void a_heartbeat_of_the_same_instant_proves_a_claim_only(void **state)
{
    (void)state;
    trace(3, 30000,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 500 | \n"
          "[1] 1 acquire no 7 rival 9 time 500 | queued, queue 500 at 0 1\n"
          "[2] 2 acquire no 7 rival 9 time 500 | queue 500 at 2\n"
          "[3] 0 queue queued 7 ahead 3 | \n"
          "[3] 1 queue queued 7 ahead 3 | \n"
          "[3] 2 queue queued 7 ahead 3 | \n"
          "[2003] timer         | queue 500 at 0 1 2\n"
          "[2003] 0 grants 8    | \n"
          "[2003] 1 grants 8    | held 8 till 5939, renew 8 at 0 1 2\n"
          "[2004] 0 queue ok 8  | \n"
          "[2004] 1 queue ok 8  | \n"
          "[5939] overdue       | late 0, late 1, late 2, lost\n");
}

/* The node granted the full lease, then dropped it, then granted the name to
 * the waiter for Q: the first grant proves nothing any more. */
static void a_grant_of_before_a_refusal_proves_nothing(void **state)
{
    (void)state;
    trace(3, 30000,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[1] 1 acquire ok 7   | confirm 7 at 0\n"
          "[2] 0 confirm no 7 rival 9 time 500 | \n"
          "[2] 2 acquire no 7 rival 9 time 500 | queued, queue 500 at 0 1 2\n"
          "[3] 0 queue ok 8     | confirm 8 at 1\n"
          "[3] 1 queue ok 7     | \n"
          "[4] 1 confirm ok 8   | held 8 till 5940, renew 8 at 0 1 2\n");
}

/* Node 1 lost the name without a restart. It installs the owner again for the
 * short lease that is requested by then, and the vote counts for that time
 * only. */
static void a_refusal_before_a_shorter_lease_proves_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[1] 1 acquire ok 7   | held 7 till 988\n"
          "[334] overdue        | late 2, renew 7 at 0 1 2\n"
          "[335] 0 confirm ok 7 | \n"
          "[335] 1 confirm no 3 rival 9 left 20 time 0 | \n"
          "[340] extend 100     | renew 7 at 0 1\n"
          "[341] 1 confirm ok 7 | \n"
          "[341] 0 confirm ok 7 | extended till 988\n");
}

/* Nor does a late push for a place that was requested during the first lease.
 * Its validity is known only when it is confirmed. */
static void a_push_between_two_lengths_proves_nothing(void **state)
{
    (void)state;
    trace(3, 100,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 500 | \n"
          "[1] 1 acquire no 7 rival 9 time 500 | queued, queue 500 at 0 1\n"
          "[2] 2 acquire no 7 rival 9 time 500 | queue 500 at 2\n"
          "[3] 0 queue queued 7 ahead 3 | \n"
          "[3] 1 queue queued 7 ahead 3 | \n"
          "[3] 2 queue queued 7 ahead 3 | \n"
          "[4] 0 grants 8       | \n"
          "[4] 1 grants 8       | held 8 till 98, renew 8 at 0 1 2\n"
          "[5] 0 confirm ok 8   | \n"
          "[5] 1 confirm ok 8   | \n"
          "[5] 2 confirm no 7 rival 9 time 0 | \n"
          "[6] extend 6000      | renew 8 at 0 1 2\n"
          "[7] 0 confirm ok 8   | \n"
          "[7] 2 confirm no 7 rival 9 time 0 | \n"
          "[8] 2 grants 8       | renew 8 at 2\n"
          "[9] extend 20        | renew 8 at 0\n"
          "[10] 2 confirm ok 8  | renew 8 at 2\n"
          "[10] 0 confirm ok 8  | \n"
          "[11] 2 confirm ok 8  | extended till 101\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renewal_of_the_same_instant_does_not_extend),
        cmocka_unit_test(a_grant_of_the_same_instant_does_not_extend),
        cmocka_unit_test(a_heartbeat_of_the_same_instant_proves_a_claim_only),
        cmocka_unit_test(a_grant_of_before_a_refusal_proves_nothing),
        cmocka_unit_test(a_refusal_before_a_shorter_lease_proves_nothing),
        cmocka_unit_test(a_push_between_two_lengths_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
