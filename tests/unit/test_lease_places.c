/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Traces of places in queues: tickets, polling, yielding, and events out of
 * order. Leases of 30 s, so Q is 6 s and the heartbeat 2 s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lease_trace.h"

#define TTL_MS 30000 /* the default; the expected instants follow from it */

#define QUEUED                                                                 \
    "[0] queue            | acquire at 0 1 2\n"                                \
    "[1] 0 acquire no 5 rival 9 time 300 | \n"                                 \
    "[1] 1 acquire no 5 rival 9 time 300 | queued, queue 300 at 0 1\n"         \
    "[1] 2 acquire no 5 rival 9 time 300 | queue 300 at 2\n"                   \
    "[2] 0 queue queued 5 | \n"                                                \
    "[2] 1 queue queued 5 | \n"                                                \
    "[2] 2 queue queued 5 | \n"

/* ---- The ticket -------------------------------------------------------- */

static void median_of_clocks_in_any_order(void **state)
{
    (void)state;
    trace(5, TTL_MS,
          "[0] queue            | acquire at 0 1 2 3 4\n"
          "[1] 0 acquire no 7 rival 8 time 900 | \n"
          "[1] 1 acquire no 7 rival 9 time 100 | \n"
          "[1] 2 acquire no 7 rival 9 time 500 | queued, queue 500 at 0 1 2\n");
}

/* Node 0 granted. It refuses the CONFIRM that was to raise it, and reports no
 * time. */
static void time_comes_from_nodes_that_reported_it(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm no 12 rival 9 time 77 | \n"
          "[4] 2 acquire no 3 rival 9 time 1700000000000000 "
          "| queued, queue 1700000000000000 at 0 1 2\n");
}

/* A server that lost its data gets a new request while an earlier CONFIRM is in
 * flight. The refusal of the CONFIRM is no reply to that request, and has no
 * time. */
static void time_comes_from_the_last_answer(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] reset 0          | acquire 9 at 0\n"
          "[4] 0 confirm no 1   | \n"
          "[5] 2 acquire no 9 rival 9 time 500 | \n"
          "[53] timer           | late 0, queued, queue 500 at 1 2\n");
}

/* The last reply that was needed came too late. */
static void waits_when_the_last_is_late(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 300 | \n"
          "[1] 1 acquire ok 5   | \n"
          "[50] timer           | late 2, queued, queue 300 at 0 1\n");
}

/* ---- Asking ------------------------------------------------------------ */

/* A connection that opens is waited for until the connection timeout; a node
 * that has not replied, until its timeout. */
static void late_answers_outlast_connections(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] node 2 connecting | \n"
          "[0] queue            | acquire at 0 1\n"
          "[50] timer           | late 0, late 1\n"
          "[1000] timer         | \n"
          "[1100] 0 acquire no 5 rival 9 time 300 | \n"
          "[1101] 1 acquire no 5 rival 9 time 300 "
          "| queued, queue 300 at 0 1\n");
}

/* ---- Polling ----------------------------------------------------------- */

static void no_polling_for_a_lease_without_expiry(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 0 left -1 | queued\n"
          "[2001] timer         | queue 500 at 0\n");
}

/* `begins`: lines before the request. */
static void polls(const char *begins, const char *behind, int most_ms)
{
    static char text[65536];
    size_t len = 0;
    len += (size_t)snprintf(text + len, sizeof(text) - len,
                            "%s[0] queue | queue at 0\n"
                            "[1] 0 queue %s 7 | queued\n",
                            begins, behind);
    int at = 1;
    for (int i = 0; i < 300; i++) {
        int pause = i < 6 && 10 << i < most_ms ? 10 << i : most_ms;
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "[%d] timer | queue 500 at 0\n"
                                "[%d] 0 queue %s 7 | \n",
                                at + pause, at + pause, behind);
        at += pause;
    }
    trace(1, TTL_MS, text);
}

/* The holder is a local process, whose death the store does not push: poll
 * after 10 ms, 20, 40 … and then every half second, without end. */
static void polls_for_as_long_as_it_takes(void **state)
{
    (void)state;
    polls("", "mortal", 500);
}

/* So does a waiter to which the node cannot push. */
static void polls_while_deaf(void **state)
{
    (void)state;
    polls("[0] unlisten 0       | \n", "queued", 500);
}

/* A holder of another library pushes no release: poll at least every 40 ms. */
static void polls_more_often_behind_another_library(void **state)
{
    (void)state;
    polls("", "foreign", 40);
}

static void who_could_hear_has_missed_nothing(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 1 | queued\n"
          "[2] unlisten 0       | \n"
          "[3] listen 0         | \n");
}

/* A refusal of a request that had no ticket is answered at once by one that
 * has; a second refusal is not. The new request has a timeout of its own. */
static void refused_place_is_polled_for(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 300 | \n"
          "[1] 1 acquire no 5 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[2] 0 queue queued 5 | \n"
          "[2] 1 queue queued 5 | \n"
          "[3] 2 acquire no 5 rival 9 time 300 | queue 300 at 2\n"
          "[53] timer           | late 2\n"
          "[54] 2 queue no 5 rival 9 | \n"
          "[74] timer           | queue 300 at 2\n");
}

/* The node was away when the waiting began. It is up before its event comes,
 * and is asked at once. */
static void node_without_request_is_due_at_once(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 9000000000000 | \n"
          "[1] node 0 down      | \n"
          "[2] 1 acquire no 5 rival 9 time 9000000000000 "
          "| queued, queue 9000000000000 at 1\n"
          "[3] up 0             | \n"
          "[4] 1 queue queued 5 | \n"
          "[5] overdue          | queue 9000000000000 at 0\n");
}

/* The node is asked again with the polls, not at the timeout of the raise. */
static void failed_raise_is_followed_by_a_poll(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[5] 0 grants 6       | \n"
                 "[5] 1 grants 7       | confirm 7 at 0\n"
                 "[6] 0 confirm error  | \n"
                 "[15] timer           | queue 300 at 1, confirm 7 at 0\n"
                 "[16] 0 confirm error | \n"
                 "[56] timer           | queue 300 at 0, confirm 7 at 0\n");
}

/* ---- Events out of order ----------------------------------------------- */

static void second_push_of_one_grant(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[5] 0 grants 6       | \n"
                 "[6] 0 grants 6       | \n"
                 "[7] 1 grants 6       | held 6 till 5939, renew 6 at 0 1 2\n");
}

/* The reply "ours at 6, and an earlier ticket waits" is from before the node
 * granted the lock to that ticket, and then to us at 8. */
static void newer_grant_is_not_given_back_for_an_older(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[5] 0 grants 6       | \n"
                 "[15] timer           | queue 300 at 0\n"
                 "[16] 0 grants 8      | \n"
                 "[17] 0 queue ok 6 behind | \n"
                 "[27] timer           | queue 300 at 0\n"
                 "[28] 0 queue ok 8 behind | yield 8 at 0\n"
                 "[29] node 0 voting   | \n"
                 "[30] 0 yield queued 9 | \n");
}

/* A reply from before the grant leaves the node's limits of raises unknown. */
static void grant_before_the_reply_can_be_raised(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer         | queue 300 at 0 1 2\n"
                 "[2003] 0 grants 8    | \n"
                 "[2004] 0 queue queued 7 | \n"
                 "[2005] 1 grants 9    | confirm 9 at 0\n");
}

/* After a YIELD no lease is known whose end could be awaited there. */
static void failed_yield_waits_for_the_heartbeat(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[1] 1 acquire no 5 rival 9 time 300 | \n"
          "[1] 2 acquire no 5 rival 8 time 300 | queued, queue 300 at 0 1 2\n"
          "[2] 0 queue ok 5 behind | yield 5 at 0\n"
          "[2] 1 queue queued 5 | \n"
          "[2] 2 queue queued 5 | \n"
          "[3] 0 yield error    | \n"
          "[2002] timer         | queue 300 at 1 2\n"
          "[2003] timer         | queue 300 at 0\n");
}

/* Where a place lasts for the ttl, at most 30 s, so does a pushed grant. */
static void place_that_stays_has_rare_heartbeats(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] stay             | queue at 0\n"
          "[1] 0 queue queued 5 | queued\n"
          "[10001] timer        | queue 500 at 0\n"
          "[10002] 0 queue queued 5 | \n"
          "[20002] timer        | queue 500 at 0\n"
          "[20003] 0 queue queued 5 | \n"
          "[25000] 0 grants 6   | held 6 till 49700\n");
    trace(1, 4 * TTL_MS,
          "[0] stay             | queue at 0\n"
          "[1] 0 queue queued 5 | queued\n"
          "[10001] timer        | queue 500 at 0\n"
          "[10002] 0 queue queued 5 | \n"
          "[10003] 0 grants 6   | held 6 till 39699\n"
          "[13715] timer        | renew 6 at 0\n");
}

/* Its turn is not pushed: the first one asks, at last every 2 s. */
static void unwatched_place_is_asked_for(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] stay             | queue at 0\n"
          "[0] 0 queue unwatched 5 | queued\n"
          "[10] timer           | queue 500 at 0\n"
          "[10] 0 queue unwatched 5 | \n"
          "[30] timer           | queue 500 at 0\n"
          "[30] 0 queue unwatched 5 | \n"
          "[70] timer           | queue 500 at 0\n"
          "[70] 0 queue unwatched 5 | \n"
          "[150] timer          | queue 500 at 0\n"
          "[150] 0 queue unwatched 5 | \n"
          "[310] timer          | queue 500 at 0\n"
          "[310] 0 queue unwatched 5 | \n"
          "[630] timer          | queue 500 at 0\n"
          "[630] 0 queue unwatched 5 | \n"
          "[1270] timer         | queue 500 at 0\n"
          "[1270] 0 queue unwatched 5 | \n"
          "[2550] timer         | queue 500 at 0\n"
          "[2550] 0 queue unwatched 5 | \n"
          "[4550] timer         | queue 500 at 0\n"
          "[4550] 0 queue unwatched 5 ahead 1 | \n"
          "[14550] timer        | queue 500 at 0\n");
}

/* "Yours" at a counter below a later refusal. */
static void stale_grant_is_given_back(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer         | queue 300 at 0 1 2\n"
                 "[2003] 0 queue ok 5 behind | yield 5 at 0\n"
                 "[2004] 0 yield queued 6 | \n");
}

/* The floor and the bound in such a reply are ignored, too. */
static void bounds_of_a_stale_grant_are_ignored(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer         | queue 300 at 0 1 2\n"
                 "[2003] 0 queue ok 5 floor 8388608 | yield 5 at 0\n"
                 "[2003] 1 queue ok 5 bound 8388608 | yield 5 at 1\n");
}

static void nothing_is_given_back_to_a_node_that_is_away(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer         | queue 300 at 0 1 2\n"
                 "[2003] node 0 down   | \n"
                 "[2003] 0 queue ok 6 behind | \n"
                 "[2004] node 1 down   | \n"
                 "[2004] 1 queue ok 5  | \n");
}

/* ---- Claims ------------------------------------------------------------ */

/* The reply to a raise has a clock floor above the target: the floor becomes
 * the fence. */
static void floor_above_lifts_the_claim(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED
          "[5] 0 grants 6       | \n"
          "[6] 1 grants 8       | confirm 8 at 0\n"
          "[7] 0 confirm ok 6 floor 20 | confirm 20 at 0 1\n"
          "[8] 0 confirm ok 20  | \n"
          "[9] 1 confirm ok 20  | held 20 till 5945, renew 20 at 0 1 2\n");
}

/* The claims at the two nodes that granted are about to expire: both get a new
 * request. */
static void claims_about_to_end_are_refreshed(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED
          "[2002] timer         | queue 300 at 0 1 2\n"
          "[2003] 0 queue unknown | \n"
          "[2003] 1 queue unknown | \n"
          "[2003] 2 queue unknown | \n"
          "[4003] timer         | queue 300 at 0 1 2\n"
          "[4004] 0 queue unsent | \n"
          "[4004] 1 queue unsent | \n"
          "[4004] 2 queue unsent | \n"
          "[4500] 0 grants 6    | \n"
          "[4501] 2 grants 6    | queue 300 at 0 2\n"
          "[4502] 0 queue ok 6  | \n"
          "[4502] listen 0      | \n"
          "[4503] 2 queue ok 6  | held 6 till 10439, renew 6 at 0 1 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_clocks_in_any_order),
        cmocka_unit_test(time_comes_from_nodes_that_reported_it),
        cmocka_unit_test(time_comes_from_the_last_answer),
        cmocka_unit_test(waits_when_the_last_is_late),
        cmocka_unit_test(late_answers_outlast_connections),
        cmocka_unit_test(no_polling_for_a_lease_without_expiry),
        cmocka_unit_test(polls_for_as_long_as_it_takes),
        cmocka_unit_test(polls_while_deaf),
        cmocka_unit_test(polls_more_often_behind_another_library),
        cmocka_unit_test(who_could_hear_has_missed_nothing),
        cmocka_unit_test(refused_place_is_polled_for),
        cmocka_unit_test(node_without_request_is_due_at_once),
        cmocka_unit_test(failed_raise_is_followed_by_a_poll),
        cmocka_unit_test(second_push_of_one_grant),
        cmocka_unit_test(newer_grant_is_not_given_back_for_an_older),
        cmocka_unit_test(grant_before_the_reply_can_be_raised),
        cmocka_unit_test(failed_yield_waits_for_the_heartbeat),
        cmocka_unit_test(place_that_stays_has_rare_heartbeats),
        cmocka_unit_test(unwatched_place_is_asked_for),
        cmocka_unit_test(stale_grant_is_given_back),
        cmocka_unit_test(bounds_of_a_stale_grant_are_ignored),
        cmocka_unit_test(nothing_is_given_back_to_a_node_that_is_away),
        cmocka_unit_test(floor_above_lifts_the_claim),
        cmocka_unit_test(claims_about_to_end_are_refreshed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
