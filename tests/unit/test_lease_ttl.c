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
          "[0] acquire          | 0A\n"
          "[1] 0 A ok 7         | held 7 till 988\n"
          "[334] timer          | 0C7h\n"
          "[334] extend 4000    | \n"
          "[335] 0 C ok 7       | 0C7h\n"
          "[336] 0 C ok 7       | extended till 4293\n");
}

/* Nor does a late reply to the ACQUIRE. */
static void a_grant_of_the_same_instant_does_not_extend(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | 0A 1A 2A\n"
          "[0] 0 A ok 7         | \n"
          "[0] 1 A ok 7         | held 7 till 988\n"
          "[0] extend 4000      | 0C7h 1C7h 2C7h\n"
          "[1] 2 A ok 7         | \n"
          "[1] 0 C ok 7         | \n"
          "[1] 1 C ok 7         | extended till 3958\n");
}

/* A heartbeat asks for Q. If a grant is pushed in the step that sent it, the
 * reply is no proof of the full lease. */
static void a_heartbeat_of_the_same_instant_proves_a_claim_only(void **state)
{
    (void)state;
    trace(3, 30000,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 500 | \n"
          "[1] 1 A no 7 9 20000 500 | queued 0Q500 1Q500\n"
          "[2] 2 A no 7 9 20000 500 | 2Q500\n"
          "[3] 0 Q queued 7 3       | \n"
          "[3] 1 Q queued 7 3       | \n"
          "[3] 2 Q queued 7 3       | \n"
          "[2003] timer             | 0Q500 1Q500 2Q500\n"
          "[2003] 0 grants 8        | \n"
          "[2003] 1 grants 8        | held 8 till 5939 0C8h 1C8h 2C8h\n"
          "[2004] 0 Q ok 8          | \n"
          "[2004] 1 Q ok 8          | \n"
          "[5939] overdue           | late 0 late 1 late 2 lost\n");
}

/* The node granted the full lease, then dropped it, then granted the name to
 * the waiter for Q: the first grant proves nothing any more. */
static void a_grant_of_before_a_refusal_proves_nothing(void **state)
{
    (void)state;
    trace(3, 30000,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 5             | \n"
          "[1] 1 A ok 7             | 0C7\n"
          "[2] 0 C no 7 9 20000 500 | \n"
          "[2] 2 A no 7 9 20000 500 | queued 0Q500 1Q500 2Q500\n"
          "[3] 0 Q ok 8             | 1C8\n"
          "[3] 1 Q ok 7             | \n"
          "[4] 1 C ok 8             | held 8 till 5940 0C8h 1C8h 2C8h\n");
}

/* Node 1 lost the name without a restart. It installs the owner again for the
 * short lease that is requested by then, and the vote counts for that time
 * only. */
static void a_refusal_before_a_shorter_lease_proves_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | 0A 1A 2A\n"
          "[1] 0 A ok 7         | \n"
          "[1] 1 A ok 7         | held 7 till 988\n"
          "[334] overdue        | late 2 0C7h 1C7h 2C7h\n"
          "[335] 0 C ok 7       | \n"
          "[335] 1 C no 3 9 20 0 | \n"
          "[340] extend 100     | 0C7h 1C7h\n"
          "[341] 1 C ok 7       | \n"
          "[341] 0 C ok 7       | extended till 988\n");
}

/* Nor does a late push for a place that was requested during the first lease.
 * Its validity is known only when it is confirmed. */
static void a_push_between_two_lengths_proves_nothing(void **state)
{
    (void)state;
    trace(3, 100,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 500 | \n"
          "[1] 1 A no 7 9 20000 500 | queued 0Q500 1Q500\n"
          "[2] 2 A no 7 9 20000 500 | 2Q500\n"
          "[3] 0 Q queued 7 3       | \n"
          "[3] 1 Q queued 7 3       | \n"
          "[3] 2 Q queued 7 3       | \n"
          "[4] 0 grants 8           | \n"
          "[4] 1 grants 8           | held 8 till 98 0C8h 1C8h 2C8h\n"
          "[5] 0 C ok 8             | \n"
          "[5] 1 C ok 8             | \n"
          "[5] 2 C no 7 9 20000 0   | \n"
          "[6] extend 6000          | 0C8h 1C8h 2C8h\n"
          "[7] 0 C ok 8             | \n"
          "[7] 2 C no 7 9 20000 0   | \n"
          "[8] 2 grants 8           | 2C8h\n"
          "[9] extend 20            | 0C8h\n"
          "[10] 2 C ok 8            | 2C8h\n"
          "[10] 0 C ok 8            | \n"
          "[11] 2 C ok 8            | extended till 101\n");
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
