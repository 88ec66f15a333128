/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Grants that come late, early or twice: which of them count, and until when
 * (core/lease_grant.c). lease_trace.h has the syntax of traces. */
#include "lease_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TTL_MS 30000 /* the default: Q is 6 s */

/* A confirmation is a vote for the counter that the node names. */
static void grant_at_another_counter_is_a_vote_there(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm ok 12  | confirm 12 at 1\n"
          "[4] 1 confirm ok 12  | held 12 till 990\n");
}

static void refusal_revokes_the_grant_before_it(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[1] granted 0 7      | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm no 9   | \n"
          "[4] 2 acquire no 9   | taken, release 9 at 0 1\n"
          "[4] granted 0 0      | \n"
          "[4] granted 1 9      | \n"
          "[4] granted 2 0      | \n");
}

static void late_grant_of_a_used_up_lease_does_not_count(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[700] 0 acquire ok 7 | too-slow, release 7 at 0\n"
          "[701] 0 release ok   | done\n");
}

/* A single node makes the ticket itself. The grant came too late to count, so
 * the client enters its queue. */
static void late_grant_enters_the_queue(void **state)
{
    (void)state;
    trace(1, 30000,
          "[0] queue            | queue at 0\n"
          "[29800] 0 queue ok 5 | queued, queue at 0\n");
}

static void late_grant_decides_before_the_second_round(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 2 acquire ok 9   | held 9 till 988\n"
          "[4] 0 confirm ok 9   | \n");
}

/* A late reply is a reply: the node is no longer late. */
static void late_reply_counts(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 4 acquire no 5   | \n"
          "[1] 1 acquire ok 7   | \n"
          "[10] 2 acquire ok 8  | \n"
          "[10] 3 acquire ok 8  | confirm 8 at 1\n"
          "[50] timer           | late 0\n"
          "[51] 0 acquire ok 9  | confirm 9 at 2 3\n"
          "[60] timer           | late 1\n"
          "[61] 2 confirm ok 9  | \n"
          "[62] 3 confirm ok 9  | held 9 till 988\n");
}

/* A node that lost its data refuses the second request. The reply to the
 * earlier raise comes after it: it is no vote, and has no time. */
static void late_reply_from_before_a_reset_is_stale(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] reset 0          | acquire 9 at 0\n"
          "[4] 0 acquire no 10  | \n"
          "[5] 0 confirm ok 9   | \n"
          "[6] 2 acquire no 5   | taken, release 10 at 0 1\n");
}

/* ---- Pushed grants ----------------------------------------------------- */

static void pushed_grant_before_the_reply(void **state)
{
    (void)state;
    /* There are two connections: the push may be read first. */
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 grants 8       | \n"
          "[1] 0 grants 7       | \n"
          "[2] 0 queue queued 7 | held 8 till 5938\n");
    /* It is no reply: with that still to come, nothing is decided. */
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 grants 8       | \n"
          "[50] timer           | late 0\n"
          "[900] 0 queue queued 7 | held 8 till 5938\n");
}

static void pushed_grant_below_a_reply_does_not_count(void **state)
{
    (void)state;
    /* "queued, c = 9" is newer than the grant at 8. */
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2002] 0 queue queued 9 | \n"
          "[2003] 0 grants 8    | \n"
          "[2004] 0 grants 9    | \n"
          "[2005] 0 grants 10   | held 10 till 7939\n");
}

static void late_pushed_grant_does_not_count(void **state)
{
    (void)state;
    /* Heartbeats that are lost: the place at the node, and a claim granted to
     * it, end Q after the last heartbeat that was answered. */
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2051] timer         | late 0\n"
          "[5939] 0 grants 8    | \n"
          "[5940] 0 queue ok 8  | queue 500 at 0\n"
          "[5941] 0 queue ok 8  | held 8 till 11878\n");
}

static void pushed_grant_near_its_end_is_refreshed(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2002] 0 queue unknown | \n"
          "[4002] timer         | queue 500 at 0\n"
          "[4003] 0 queue unsent | \n"
          "[4500] 0 grants 8    | queue 500 at 0\n"
          "[4501] 0 queue ok 8  | held 8 till 10438\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grant_at_another_counter_is_a_vote_there),
        cmocka_unit_test(refusal_revokes_the_grant_before_it),
        cmocka_unit_test(late_grant_of_a_used_up_lease_does_not_count),
        cmocka_unit_test(late_grant_enters_the_queue),
        cmocka_unit_test(late_grant_decides_before_the_second_round),
        cmocka_unit_test(late_reply_counts),
        cmocka_unit_test(late_reply_from_before_a_reset_is_stale),
        cmocka_unit_test(pushed_grant_before_the_reply),
        cmocka_unit_test(pushed_grant_below_a_reply_does_not_count),
        cmocka_unit_test(late_pushed_grant_does_not_count),
        cmocka_unit_test(pushed_grant_near_its_end_is_refreshed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
