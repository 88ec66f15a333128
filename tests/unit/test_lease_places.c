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
    "[0] queue                | 0A 1A 2A\n"                                    \
    "[1] 0 A no 5 9 20000 300 | \n"                                            \
    "[1] 1 A no 5 9 20000 300 | queued 0Q300 1Q300\n"                          \
    "[1] 2 A no 5 9 20000 300 | 2Q300\n"                                       \
    "[2] 0 Q queued 5         | \n"                                            \
    "[2] 1 Q queued 5         | \n"                                            \
    "[2] 2 Q queued 5         | \n"

/* ---- The ticket -------------------------------------------------------- */

static void median_of_clocks_in_any_order(void **state)
{
    (void)state;
    trace(5, TTL_MS,
          "[0] queue                | 0A 1A 2A 3A 4A\n"
          "[1] 0 A no 7 8 20000 900 | \n"
          "[1] 1 A no 7 9 20000 100 | \n"
          "[1] 2 A no 7 9 20000 500 | queued 0Q500 1Q500 2Q500\n");
}

/* Node 0 granted. It refuses the CONFIRM that was to raise it, and reports no
 * time. */
static void time_comes_from_nodes_that_reported_it(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                              | 0A 1A 2A\n"
          "[1] 0 A ok 7                           | \n"
          "[2] 1 A ok 9                           | 0C9\n"
          "[3] 0 C no 12 9 20000 77               | \n"
          "[4] 2 A no 3 9 20000 1700000000000000  "
          "| queued 0Q1700000000000000 1Q1700000000000000 "
          "2Q1700000000000000\n");
}

/* A server that lost its data gets a new request while an earlier CONFIRM is in
 * flight. The refusal of the CONFIRM is no reply to that request, and has no
 * time. */
static void time_comes_from_the_last_answer(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 7             | \n"
          "[2] 1 A ok 9             | 0C9\n"
          "[3] reset 0              | 0A9\n"
          "[4] 0 C no 1             | \n"
          "[5] 2 A no 9 9 20000 500 | \n"
          "[53] timer               | late 0 queued 1Q500 2Q500\n");
}

/* The last reply that was needed came too late. */
static void waits_when_the_last_is_late(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 300 | \n"
          "[1] 1 A ok 5             | \n"
          "[50] timer               | late 2 queued 0Q300 1Q300\n");
}

/* ---- Asking ------------------------------------------------------------ */

/* A connection that opens is waited for until the connection timeout; a node
 * that has not replied, until its timeout. */
static void late_answers_outlast_connections(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] node 2 connecting    | \n"
          "[0] queue                | 0A 1A\n"
          "[50] timer               | late 0 late 1\n"
          "[1000] timer             | \n"
          "[1100] 0 A no 5 9 20000 300 | \n"
          "[1101] 1 A no 5 9 20000 300 | queued 0Q300 1Q300\n");
}

/* ---- Polling ----------------------------------------------------------- */

static void no_polling_for_a_lease_without_expiry(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7 0 -1  | queued\n"
          "[2001] timer           | 0Q500\n");
}

/* `begins`: lines before the request. */
static void polls(const char *begins, const char *behind, int most_ms)
{
    static char text[65536];
    size_t len = 0;
    len += (size_t)snprintf(text + len, sizeof(text) - len,
                            "%s[0] queue      | 0Q\n"
                            "[1] 0 Q %s 7      | queued\n",
                            begins, behind);
    int at = 1;
    for (int i = 0; i < 300; i++) {
        int pause = i < 6 && 10 << i < most_ms ? 10 << i : most_ms;
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "[%d] timer | 0Q500\n[%d] 0 Q %s 7 | \n",
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
    polls("[0] unlisten 0 | \n", "queued", 500);
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
          "[0] queue               | 0Q\n"
          "[1] 0 Q queued 7 1      | queued\n"
          "[2] unlisten 0          | \n"
          "[3] listen 0            | \n");
}

/* A refusal of a request that had no ticket is answered at once by one that
 * has; a second refusal is not. The new request has a timeout of its own. */
static void refused_place_is_polled_for(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 300 | \n"
          "[1] 1 A no 5 9 20000 300 | queued 0Q300 1Q300\n"
          "[2] 0 Q queued 5         | \n"
          "[2] 1 Q queued 5         | \n"
          "[3] 2 A no 5 9 20000 300 | 2Q300\n"
          "[53] timer               | late 2\n"
          "[54] 2 Q no 5 9 20000    | \n"
          "[74] timer               | 2Q300\n");
}

/* The node was away when the waiting began. It is up before its event comes,
 * and is asked at once. */
static void node_without_request_is_due_at_once(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                          | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 9000000000000 | \n"
          "[1] node 0 down                    | \n"
          "[2] 1 A no 5 9 20000 9000000000000 | queued 1Q9000000000000\n"
          "[3] up 0                           |\n"
          "[4] 1 Q queued 5                   | \n"
          "[5] overdue                        | 0Q9000000000000\n");
}

/* The node is asked again with the polls, not at the timeout of the raise. */
static void failed_raise_is_followed_by_a_poll(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[5] 0 grants 6           | \n"
                 "[5] 1 grants 7           | 0C7\n"
                 "[6] 0 C error            | \n"
                 "[15] timer               | 1Q300 0C7\n"
                 "[16] 0 C error           | \n"
                 "[56] timer               | 0Q300 0C7\n");
}

/* ---- Events out of order ----------------------------------------------- */

static void second_push_of_one_grant(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED
          "[5] 0 grants 6           | \n"
          "[6] 0 grants 6           | \n"
          "[7] 1 grants 6           | held 6 till 5939 0C6h 1C6h 2C6h\n");
}

/* The reply "ours at 6, and an earlier ticket waits" is from before the node
 * granted the lock to that ticket, and then to us at 8. */
static void newer_grant_is_not_given_back_for_an_older(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[5] 0 grants 6           | \n"
                 "[15] timer               | 0Q300\n"
                 "[16] 0 grants 8          | \n"
                 "[17] 0 Q ok 6 behind     | \n"
                 "[27] timer               | 0Q300\n"
                 "[28] 0 Q ok 8 behind     | 0Y8\n"
                 "[29] node 0 voting       | \n"
                 "[30] 0 Y queued 9        | \n");
}

/* A reply from before the grant leaves the node's limits of raises unknown. */
static void grant_before_the_reply_can_be_raised(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer             | 0Q300 1Q300 2Q300\n"
                 "[2003] 0 grants 8        | \n"
                 "[2004] 0 Q queued 7      | \n"
                 "[2005] 1 grants 9        | 0C9\n");
}

/* After a YIELD no lease is known whose end could be awaited there. */
static void failed_yield_waits_for_the_heartbeat(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 5             | \n"
          "[1] 1 A no 5 9 20000 300 | \n"
          "[1] 2 A no 5 8 20000 300 | queued 0Q300 1Q300 2Q300\n"
          "[2] 0 Q ok 5 behind      | 0Y5\n"
          "[2] 1 Q queued 5         | \n"
          "[2] 2 Q queued 5         | \n"
          "[3] 0 Y error            | \n"
          "[2002] timer             | 1Q300 2Q300\n"
          "[2003] timer             | 0Q300\n");
}

/* Where a place lasts for the ttl, at most 30 s, so does a pushed grant. */
static void place_that_stays_has_rare_heartbeats(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] stay                 | 0Q\n"
          "[1] 0 Q queued 5         | queued\n"
          "[10001] timer            | 0Q500\n"
          "[10002] 0 Q queued 5     | \n"
          "[20002] timer            | 0Q500\n"
          "[20003] 0 Q queued 5     | \n"
          "[25000] 0 grants 6       | held 6 till 49700\n");
    trace(1, 4 * TTL_MS,
          "[0] stay                 | 0Q\n"
          "[1] 0 Q queued 5         | queued\n"
          "[10001] timer            | 0Q500\n"
          "[10002] 0 Q queued 5     | \n"
          "[10003] 0 grants 6       | held 6 till 39699\n"
          "[13715] timer            | 0C6h\n");
}

/* Its turn is not pushed: the first one asks, at last every 2 s. */
static void unwatched_place_is_asked_for(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] stay                 | 0Q\n"
          "[0] 0 Q unwatched 5      | queued\n"
          "[10] timer               | 0Q500\n"
          "[10] 0 Q unwatched 5     | \n"
          "[30] timer               | 0Q500\n"
          "[30] 0 Q unwatched 5     | \n"
          "[70] timer               | 0Q500\n"
          "[70] 0 Q unwatched 5     | \n"
          "[150] timer              | 0Q500\n"
          "[150] 0 Q unwatched 5    | \n"
          "[310] timer              | 0Q500\n"
          "[310] 0 Q unwatched 5    | \n"
          "[630] timer              | 0Q500\n"
          "[630] 0 Q unwatched 5    | \n"
          "[1270] timer             | 0Q500\n"
          "[1270] 0 Q unwatched 5   | \n"
          "[2550] timer             | 0Q500\n"
          "[2550] 0 Q unwatched 5   | \n"
          "[4550] timer             | 0Q500\n"
          "[4550] 0 Q unwatched 5 1 | \n"
          "[14550] timer            | 0Q500\n");
}

/* "Yours" at a counter below a later refusal. */
static void stale_grant_is_given_back(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer             | 0Q300 1Q300 2Q300\n"
                 "[2003] 0 Q ok 5 behind   | 0Y5\n"
                 "[2004] 0 Y queued 6      | \n");
}

/* The floor and the bound in such a reply are ignored, too. */
static void bounds_of_a_stale_grant_are_ignored(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer                  | 0Q300 1Q300 2Q300\n"
                 "[2003] 0 Q ok 5 8388608       | 0Y5\n"
                 "[2003] 1 Q ok 5 bound 8388608 | 1Y5\n");
}

static void nothing_is_given_back_to_a_node_that_is_away(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED "[2002] timer             | 0Q300 1Q300 2Q300\n"
                 "[2003] node 0 down       | \n"
                 "[2003] 0 Q ok 6 behind   | \n"
                 "[2004] node 1 down       | \n"
                 "[2004] 1 Q ok 5          | \n");
}

/* ---- Claims ------------------------------------------------------------ */

/* The reply to a raise has a clock floor above the target: the floor becomes
 * the fence. */
static void floor_above_lifts_the_claim(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED
          "[5] 0 grants 6           | \n"
          "[6] 1 grants 8           | 0C8\n"
          "[7] 0 C ok 6 20          | 0C20 1C20\n"
          "[8] 0 C ok 20            | \n"
          "[9] 1 C ok 20            | held 20 till 5945 0C20h 1C20h 2C20h\n");
}

/* The claims at the two nodes that granted are about to expire: both get a new
 * request. */
static void claims_about_to_end_are_refreshed(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          QUEUED
          "[2002] timer             | 0Q300 1Q300 2Q300\n"
          "[2003] 0 Q unknown       | \n"
          "[2003] 1 Q unknown       | \n"
          "[2003] 2 Q unknown       | \n"
          "[4003] timer             | 0Q300 1Q300 2Q300\n"
          "[4004] 0 Q unsent        | \n"
          "[4004] 1 Q unsent        | \n"
          "[4004] 2 Q unsent        | \n"
          "[4500] 0 grants 6        | \n"
          "[4501] 2 grants 6        | 0Q300 2Q300\n"
          "[4502] 0 Q ok 6          | \n"
          "[4502] listen 0          | \n"
          "[4503] 2 Q ok 6          | held 6 till 10439 0C6h 1C6h 2C6h\n");
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
