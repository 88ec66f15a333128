/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* One waiter, step by step. Leases of 30 s, so a place in the queue (Q) lasts
 * 6 s, a pushed grant is valid for 5,938 ms, and the heartbeat is 2 s. */
#include "lease_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TTL_MS 30000 /* the default; the expected instants follow from it */

/* ---- One node ---------------------------------------------------------- */

static void free_name_takes_one_request(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue ok 7     | held 7 till 29698\n"
          "[2] release          | release 7 at 0\n"
          "[3] 0 release ok 7   | released, done\n");
}

static void granted_in_one_hop(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[50] 0 grants 8      | held 8 till 5938\n"
          "[52] release         | release 8 at 0\n"
          "[53] 0 release ok 8  | released, done\n");
}

static void late_answer_is_waited_for(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[50] timer           | late 0\n"
          "[900] 0 queue queued 7 | queued\n"
          "[901] 0 grants 8     | held 8 till 5938\n");
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[50] timer           | late 0\n"
          "[900] 0 queue unknown | unreached, release 0 at 0\n");
}

static void beats_every_third_of_q(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 3 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2002] 0 queue queued 7 ahead 2 | \n"
          "[4002] timer         | queue 500 at 0\n"
          "[4003] 0 queue queued 7 ahead 1 | \n"
          "[4100] 0 grants 8    | held 8 till 9940\n");
}

static void cancelled_at_once(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[9] release          | release 7 at 0\n"
          "[10] 0 grants 8      | \n"
          "[11] 0 release ok 8  | done\n");
}

static void dead_holder_is_followed(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 0 left 300 | queued\n"
          "[303] timer          | queue 500 at 0\n"
          "[304] 0 queue ok 8   | held 8 till 6241\n");
}

static void second_looks_after_the_head(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 1 left 300 | queued\n"
          "[328] timer          | queue 500 at 0\n");
}

static void head_polls_behind_a_foreign_key(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue foreign 7 | queued\n"
          "[11] timer           | queue 500 at 0\n"
          "[12] 0 queue foreign 7 | \n"
          "[32] timer           | queue 500 at 0\n"
          "[33] 0 queue foreign 7 | \n"
          "[73] timer           | queue 500 at 0\n"
          "[74] 0 queue foreign 7 ahead 1 | \n"
          "[2074] timer         | queue 500 at 0\n");
}

/* The second waits twice as long as the first between polls, the third three
 * times. Each change of its place begins anew with short intervals. */
static void polls_by_its_place_without_pushes(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0       | \n"
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 2 | queued\n"
          "[31] timer           | queue 500 at 0\n"
          "[32] 0 queue queued 7 ahead 2 | \n"
          "[92] timer           | queue 500 at 0\n"
          "[93] 0 queue queued 7 ahead 1 | \n"
          "[113] timer          | queue 500 at 0\n"
          "[114] 0 queue queued 7 ahead 1 | \n"
          "[154] timer          | queue 500 at 0\n"
          "[155] 0 queue queued 7 | \n"
          "[165] timer          | queue 500 at 0\n"
          "[166] 0 queue queued 7 | \n"
          "[186] timer          | queue 500 at 0\n"
          "[187] 0 queue ok 8   | held 8 till 6124\n");
}

/* Later waiters keep to their heartbeats, however many are before them. */
static void polls_no_less_than_its_heartbeat(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0       | \n"
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 100000 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2002] 0 queue queued 7 ahead 254 | \n"
          "[4002] timer         | queue 500 at 0\n");
}

static void looks_again_once_it_can_hear(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0       | \n"
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 ahead 9 | queued\n"
          "[3] listen 0         | queue 500 at 0\n"
          "[4] 0 queue queued 7 ahead 9 | \n"
          "[2004] timer         | queue 500 at 0\n");
    trace(1, TTL_MS,
          "[0] unlisten 0       | \n"
          "[0] queue            | queue at 0\n"
          "[1] listen 0         | \n"
          "[2] 0 queue queued 7 ahead 9 | queued, queue 500 at 0\n"
          "[3] 0 queue ok 8     | held 8 till 5940\n");
}

static void place_survives_the_connection(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[2001] timer         | queue 500 at 0\n"
          "[2002] 0 queue unknown | \n"
          "[2002] node 0 down   | \n"
          "[2500] node 0 voting | queue 500 at 0\n"
          "[2501] 0 queue queued 7 | \n"
          "[2600] 0 grants 8    | held 8 till 8438\n");
}

static void server_that_forgot_starts_anew(void **state)
{
    (void)state;
    /* A grant from before a data loss is void, also if it is read later. */
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[100] reset 0        | queue 500 at 0\n"
          "[101] 0 grants 8     | \n"
          "[102] 0 queue queued 9 | \n"
          "[103] 0 grants 10    | held 10 till 6038\n");
}

static void claim_unconfirmed_is_at_risk_and_lost(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[50] 0 grants 8      | held 8 till 5938\n"
          "[786] timer          | renew 8 at 0\n"
          "[836] timer          | late 0\n"
          "[1786] timer         | \n"
          "[2786] timer         | \n"
          "[2994] timer         | at-risk\n"
          "[3786] timer         | \n"
          "[4786] timer         | \n"
          "[5786] timer         | \n"
          "[5938] timer         | lost\n");
}

static void claim_is_confirmed_in_time(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[50] 0 grants 8      | held 8 till 5938\n"
          "[786] timer          | renew 8 at 0\n"
          "[787] 0 confirm ok 8 | \n"
          "[10786] timer        | renew 8 at 0\n");
}

static void extending_confirms_a_claim(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[50] 0 grants 8      | held 8 till 5938\n"
          "[51] extend          | renew 8 at 0\n"
          "[52] extend          | \n"
          "[53] 0 confirm ok 8  | extended till 29749\n"
          "[60] extend          | renew 8 at 0\n");
}

/* ---- Three nodes ------------------------------------------------------- */

static void ticket_is_the_median(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 300 | \n"
          "[1] 1 acquire no 7 rival 9 time 900 | queued, queue 300 at 0 1\n"
          "[2] 2 acquire no 7 rival 9 time 500 | queue 300 at 2\n"
          "[3] 0 queue queued 7 | \n"
          "[3] 1 queue queued 7 | \n"
          "[3] 2 queue queued 7 | \n"
          "[50] 0 grants 8      | \n"
          "[51] 1 grants 8      | held 8 till 5939, renew 8 at 0 1 2\n"
          "[52] 0 confirm ok 8  | \n"
          "[52] 1 confirm ok 8  | \n"
          "[52] 2 confirm no 7  | \n"
          "[53] 2 grants 8      | renew 8 at 2\n"
          "[54] 2 confirm ok 8  | \n");
}

/* Of two times that are hours apart, neither is known to be right. The third
 * decides, if it may still arrive. */
static void clocks_apart_wait_for_the_third(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 1000 | \n"
          "[1] 1 acquire no 7 rival 9 time 9000000000 | \n"
          "[2] 2 acquire no 7 rival 9 time 9000000500 "
          "| queued, queue 9000000000 at 0 1 2\n");
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 9000000900 | \n"
          "[1] 1 acquire no 7 rival 9 time 3 | \n"
          "[1] 2 acquire error  | queued, queue 3 at 0 1 2\n");
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 1000 | \n"
          "[1] 1 acquire no 7 rival 9 time 9000000000 | \n"
          "[50] timer           | late 2, queued, queue 1000 at 0 1\n");
}

static void clocks_of_one_second_agree(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 9000000000 | \n"
          "[1] 1 acquire no 7 rival 9 time 9001000000 "
          "| queued, queue 9000000000 at 0 1\n");
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 9000000000 | \n"
          "[1] 1 acquire no 7 rival 9 time 9001000001 | \n"
          "[50] timer           | late 2, queued, queue 9000000000 at 0 1\n");
}

static void earlier_ticket_gets_it_back(void **state)
{
    (void)state;
    /* One node is ours: it gets a request soon, and reports an earlier ticket.
     * From then on its replies about the grant that was given back are
     * stale. */
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[1] 1 acquire no 5 rival 9 time 300 | \n"
          "[1] 2 acquire no 5 rival 8 time 300 | queued, queue 300 at 0 1 2\n"
          "[2] 0 queue ok 5     | \n"
          "[2] 1 queue queued 5 | \n"
          "[2] 2 queue queued 5 | \n"
          "[12] timer           | queue 300 at 0\n"
          "[13] 0 queue ok 5 behind | yield 5 at 0\n"
          "[14] 0 grants 5      | \n"
          "[14] 0 yield queued 6 | \n"
          "[15] 0 grants 6      | \n"
          "[20] 0 grants 7      | \n"
          "[21] 1 grants 7      | held 7 till 5939, renew 7 at 0 1 2\n");
}

static void lost_yield_is_sent_again(void **state)
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
          "[3] 0 yield unknown  | \n"
          "[3] node 0 down      | \n"
          "[4] node 0 voting    | queue 300 at 0\n"
          "[5] 0 queue ok 5     | yield 5 at 0\n"
          "[6] 0 yield queued 6 | \n");
}

/* The node may have been raised before the connection broke, or will be. If its
 * old reply counted, the lock could be held and not be renewed. */
static void lost_raise_is_asked_again(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[1] 1 acquire ok 6   | confirm 6 at 0\n"
          "[2] 0 confirm unknown | \n"
          "[3] 2 acquire ok 5   | confirm 6 at 2\n"
          "[4] node 0 voting    | acquire 6 at 0\n"
          "[4] 2 confirm unknown | \n"
          "[5] node 2 voting    | acquire 6 at 2\n"
          "[5] reset 1          | acquire 6 at 1\n"
          "[6] 0 acquire ok 5   | \n"
          "[7] 2 acquire ok 5   | confirm 6 at 0 2\n"
          "[8] 0 confirm ok 6   | \n"
          "[8] 2 confirm ok 6   | held 6 till 29705\n");
}

/* All grants are too old to count, and no node reported its time. If each node
 * made its own ticket, the nodes would order the waiters differently. */
static void no_wait_without_a_ticket(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire ok 5   | \n"
          "[1] 2 acquire unsent | \n"
          "[1] node 2 down      | \n"
          "[50] timer           | late 1\n"
          "[29800] 1 acquire ok 6 | split, release 6 at 0 1\n"
          "[29801] 0 release ok 6 | \n"
          "[29801] 1 release ok 6 | done\n");
}

/* A node that runs out of memory cannot be raised. It is tried again with each
 * heartbeat: not in a busy loop, and not often enough to give up. */
static void failed_raise_is_made_with_the_next_beat(void **state)
{
    (void)state;
    char text[16384];
    size_t at = (size_t)snprintf(text, sizeof(text),
                                 "[0] queue            | acquire at 0 1 2\n"
                                 "[0] node 2 down      | \n"
                                 "[0] 2 acquire unsent | \n"
                                 "[1] 0 acquire no 1 rival 9 time 300 | \n"
                                 "[1] 1 acquire no 1 rival 9 time 300 "
                                 "| queued, queue 300 at 0 1\n"
                                 "[2] 0 queue queued 1 | \n"
                                 "[2] 1 queue queued 1 | \n"
                                 "[5] 0 grants 5       | \n"
                                 "[5] 1 grants 7       | confirm 7 at 0\n"
                                 "[6] 0 confirm error  | \n");
    for (int ms = 1000; ms <= 80000; ms += 1000) {
        at += (size_t)snprintf(
            text + at, sizeof(text) - at,
            "[%d] overdue | queue 300 at 0 1, confirm 7 at 0\n"
            "[%d] 0 queue ok 5 | \n"
            "[%d] 1 queue ok 7 | \n"
            "[%d] 0 confirm %s\n",
            ms, ms + 1, ms + 1, ms + 1,
            ms == 80000      ? "ok 7 | held 7 till 85938, renew 7 at 0 1"
            : ms % 2000 == 0 ? "unsent |"
                             : "error |");
    }
    trace(3, TTL_MS, text);
}

/* A claim that is about to expire, at a node that cannot prolong it: retry
 * after a pause, not in a busy loop. The embedded store replies before the
 * clock advances. */
static void failed_refresh_is_not_made_again_at_once(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | queue at 0\n"
          "[1] 0 queue queued 7 | queued\n"
          "[5000] 0 grants 8    | queue 500 at 0\n"
          "[5000] 0 queue error | \n"
          "[5010] timer         | queue 500 at 0\n"
          "[5010] 0 queue unsent | \n"
          "[5030] timer         | queue 500 at 0\n"
          "[5030] 0 queue ok 8  | held 8 till 10968\n");
}

/* Also if the node has replied "not yours" and granted again: the raise may
 * still be in flight. */
static void what_was_raised_is_not_undercut(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 1 rival 9 time 300 | \n"
          "[1] 1 acquire no 1 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[1] 2 acquire no 1 rival 9 time 300 | queue 300 at 2\n"
          "[2] 0 queue queued 1 | \n"
          "[2] 1 queue queued 3 | \n"
          "[2] 2 queue queued 1 | \n"
          "[5] 0 grants 2       | \n"
          "[5] 1 grants 4       | confirm 4 at 0\n"
          "[6] node 0 down      | \n"
          "[6] 0 confirm unknown | \n"
          "[7] node 0 voting    | queue 300 at 0, confirm 4 at 0\n"
          "[8] 0 queue queued 2 | \n"
          "[8] 0 confirm no 2   | \n"
          "[15] timer           | queue 300 at 1\n"
          "[16] 1 queue ok 4 behind | yield 4 at 1\n"
          "[17] 1 yield queued 5 | \n"
          "[18] 0 grants 3      | \n"
          "[19] 2 grants 3      | confirm 4 at 0 2\n"
          "[20] 0 confirm ok 4  | \n"
          "[20] 2 confirm ok 4  | held 4 till 5957, renew 4 at 0 1 2\n");
}

static void counters_are_brought_together(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 300 | \n"
          "[1] 1 acquire no 6 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[1] 2 acquire unsent | \n"
          "[2] 0 queue queued 5 | \n"
          "[2] 1 queue queued 6 | \n"
          "[9] 0 grants 6       | \n"
          "[9] 1 grants 7       | confirm 7 at 0\n"
          "[10] 0 confirm ok 7  | held 7 till 5939, renew 7 at 0 1 2\n");
}

static void completed_first_is_not_given_back(void **state)
{
    (void)state;
    /* The same reply grants the lock and reports an earlier ticket. */
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 300 | \n"
          "[1] 1 acquire no 5 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[1] 2 acquire no 5 rival 9 time 300 | queue 300 at 2\n"
          "[2] 0 queue ok 6     | \n"
          "[2] 1 queue ok 6 behind | held 6 till 5939, renew 6 at 0 1 2\n");
}

static void cancel_leaves_every_queue(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 5 rival 9 time 300 | \n"
          "[1] 1 acquire no 5 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[1] 2 acquire no 5 rival 9 time 300 | queue 300 at 2\n"
          "[2] release          | release 5 at 0 1 2\n"
          "[3] 0 queue queued 5 | \n"
          "[3] 1 queue ok 6     | \n"
          "[3] 2 queue queued 5 | \n"
          "[4] 0 release no 5   | \n"
          "[4] 1 release ok 6   | \n"
          "[4] 2 release no 5   | done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_name_takes_one_request),
        cmocka_unit_test(granted_in_one_hop),
        cmocka_unit_test(late_answer_is_waited_for),
        cmocka_unit_test(beats_every_third_of_q),
        cmocka_unit_test(cancelled_at_once),
        cmocka_unit_test(dead_holder_is_followed),
        cmocka_unit_test(second_looks_after_the_head),
        cmocka_unit_test(head_polls_behind_a_foreign_key),
        cmocka_unit_test(polls_by_its_place_without_pushes),
        cmocka_unit_test(polls_no_less_than_its_heartbeat),
        cmocka_unit_test(looks_again_once_it_can_hear),
        cmocka_unit_test(place_survives_the_connection),
        cmocka_unit_test(server_that_forgot_starts_anew),
        cmocka_unit_test(claim_unconfirmed_is_at_risk_and_lost),
        cmocka_unit_test(claim_is_confirmed_in_time),
        cmocka_unit_test(extending_confirms_a_claim),
        cmocka_unit_test(ticket_is_the_median),
        cmocka_unit_test(clocks_apart_wait_for_the_third),
        cmocka_unit_test(clocks_of_one_second_agree),
        cmocka_unit_test(earlier_ticket_gets_it_back),
        cmocka_unit_test(lost_yield_is_sent_again),
        cmocka_unit_test(lost_raise_is_asked_again),
        cmocka_unit_test(no_wait_without_a_ticket),
        cmocka_unit_test(failed_raise_is_made_with_the_next_beat),
        cmocka_unit_test(what_was_raised_is_not_undercut),
        cmocka_unit_test(failed_refresh_is_not_made_again_at_once),
        cmocka_unit_test(counters_are_brought_together),
        cmocka_unit_test(completed_first_is_not_given_back),
        cmocka_unit_test(cancel_leaves_every_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
