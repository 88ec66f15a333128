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
          "[0] queue       | 0Q\n"
          "[1] 0 Q ok 7   | held 7 till 29698\n"
          "[2] release    | 0R7\n"
          "[3] 0 R ok 7   | released done\n");
}

static void granted_in_one_hop(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue           | 0Q\n"
          "[1] 0 Q queued 7    | queued\n"
          "[50] 0 grants 8     | held 8 till 5938\n"
          "[52] release        | 0R8\n"
          "[53] 0 R ok 8       | released done\n");
}

static void late_answer_is_waited_for(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[50] timer             | late 0\n"
          "[900] 0 Q queued 7     | queued\n"
          "[901] 0 grants 8       | held 8 till 5938\n");
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[50] timer             | late 0\n"
          "[900] 0 Q unknown      | unreached 0R0\n");
}

static void beats_every_third_of_q(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue            | 0Q\n"
          "[1] 0 Q queued 7 3   | queued\n"
          "[2001] timer         | 0Q500\n"
          "[2002] 0 Q queued 7 2 | \n"
          "[4002] timer         | 0Q500\n"
          "[4003] 0 Q queued 7 1 | \n"
          "[4100] 0 grants 8    | held 8 till 9940\n");
}

static void cancelled_at_once(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue           | 0Q\n"
          "[1] 0 Q queued 7    | queued\n"
          "[9] release         | 0R7\n"
          "[10] 0 grants 8     | \n"
          "[11] 0 R ok 8       | done\n");
}

static void dead_holder_is_followed(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7 0 300 | queued\n"
          "[303] timer            | 0Q500\n"
          "[304] 0 Q ok 8         | held 8 till 6241\n");
}

static void second_looks_after_the_head(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7 1 300 | queued\n"
          "[328] timer            | 0Q500\n");
}

static void head_polls_behind_a_foreign_key(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue             | 0Q\n"
          "[1] 0 Q foreign 7     | queued\n"
          "[11] timer            | 0Q500\n"
          "[12] 0 Q foreign 7    | \n"
          "[32] timer            | 0Q500\n"
          "[33] 0 Q foreign 7    | \n"
          "[73] timer            | 0Q500\n"
          "[74] 0 Q foreign 7 1  | \n"
          "[2074] timer          | 0Q500\n");
}

/* The second waits twice as long as the first between polls, the third three
 * times. Each change of its place begins anew with short intervals. */
static void polls_by_its_place_without_pushes(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0        | \n"
          "[0] queue             | 0Q\n"
          "[1] 0 Q queued 7 2    | queued\n"
          "[31] timer            | 0Q500\n"
          "[32] 0 Q queued 7 2   | \n"
          "[92] timer            | 0Q500\n"
          "[93] 0 Q queued 7 1   | \n"
          "[113] timer           | 0Q500\n"
          "[114] 0 Q queued 7 1  | \n"
          "[154] timer           | 0Q500\n"
          "[155] 0 Q queued 7    | \n"
          "[165] timer           | 0Q500\n"
          "[166] 0 Q queued 7    | \n"
          "[186] timer           | 0Q500\n"
          "[187] 0 Q ok 8        | held 8 till 6124\n");
}

/* Later waiters keep to their heartbeats, however many are before them. */
static void polls_no_less_than_its_heartbeat(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0          | \n"
          "[0] queue               | 0Q\n"
          "[1] 0 Q queued 7 100000 | queued\n"
          "[2001] timer            | 0Q500\n"
          "[2002] 0 Q queued 7 254 | \n"
          "[4002] timer            | 0Q500\n");
}

static void looks_again_once_it_can_hear(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] unlisten 0        | \n"
          "[0] queue             | 0Q\n"
          "[1] 0 Q queued 7 9    | queued\n"
          "[3] listen 0          | 0Q500\n"
          "[4] 0 Q queued 7 9    | \n"
          "[2004] timer          | 0Q500\n");
    trace(1, TTL_MS,
          "[0] unlisten 0        | \n"
          "[0] queue             | 0Q\n"
          "[1] listen 0          | \n"
          "[2] 0 Q queued 7 9    | queued 0Q500\n"
          "[3] 0 Q ok 8          | held 8 till 5940\n");
}

static void place_survives_the_connection(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7       | queued\n"
          "[2001] timer           | 0Q500\n"
          "[2002] 0 Q unknown     | \n"
          "[2002] node 0 down     | \n"
          "[2500] node 0 voting   | 0Q500\n"
          "[2501] 0 Q queued 7    | \n"
          "[2600] 0 grants 8      | held 8 till 8438\n");
}

static void server_that_forgot_starts_anew(void **state)
{
    (void)state;
    /* A grant from before a data loss is void, also if it is read later. */
    trace(1, TTL_MS,
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7       | queued\n"
          "[100] reset 0          | 0Q500\n"
          "[101] 0 grants 8       | \n"
          "[102] 0 Q queued 9     | \n"
          "[103] 0 grants 10      | held 10 till 6038\n");
}

static void claim_unconfirmed_is_at_risk_and_lost(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue           | 0Q\n"
          "[1] 0 Q queued 7    | queued\n"
          "[50] 0 grants 8     | held 8 till 5938\n"
          "[786] timer         | 0C8h\n"
          "[836] timer         | late 0\n"
          "[1786] timer        | \n"
          "[2786] timer        | \n"
          "[2994] timer        | at-risk\n"
          "[3786] timer        | \n"
          "[4786] timer        | \n"
          "[5786] timer        | \n"
          "[5938] timer        | lost\n");
}

static void claim_is_confirmed_in_time(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue           | 0Q\n"
          "[1] 0 Q queued 7    | queued\n"
          "[50] 0 grants 8     | held 8 till 5938\n"
          "[786] timer         | 0C8h\n"
          "[787] 0 C ok 8      | \n"
          "[10786] timer       | 0C8h\n");
}

static void extending_confirms_a_claim(void **state)
{
    (void)state;
    trace(1, TTL_MS,
          "[0] queue           | 0Q\n"
          "[1] 0 Q queued 7    | queued\n"
          "[50] 0 grants 8     | held 8 till 5938\n"
          "[51] extend         | 0C8h\n"
          "[52] extend         | \n"
          "[53] 0 C ok 8       | extended till 29749\n"
          "[60] extend         | 0C8h\n");
}

/* ---- Three nodes ------------------------------------------------------- */

static void ticket_is_the_median(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 300 | \n"
          "[1] 1 A no 7 9 20000 900 | queued 0Q300 1Q300\n"
          "[2] 2 A no 7 9 20000 500 | 2Q300\n"
          "[3] 0 Q queued 7         | \n"
          "[3] 1 Q queued 7         | \n"
          "[3] 2 Q queued 7         | \n"
          "[50] 0 grants 8          | \n"
          "[51] 1 grants 8          | held 8 till 5939 0C8h 1C8h 2C8h\n"
          "[52] 0 C ok 8            | \n"
          "[52] 1 C ok 8            | \n"
          "[52] 2 C no 7            | \n"
          "[53] 2 grants 8          | 2C8h\n"
          "[54] 2 C ok 8            | \n");
}

/* Of two times that are hours apart, neither is known to be right. The third
 * decides, if it may still arrive. */
static void clocks_apart_wait_for_the_third(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                       | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 1000       | \n"
          "[1] 1 A no 7 9 20000 9000000000 | \n"
          "[2] 2 A no 7 9 20000 9000000500 | queued 0Q9000000000 "
          "1Q9000000000 2Q9000000000\n");
    trace(3, TTL_MS,
          "[0] queue                       | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 9000000900 | \n"
          "[1] 1 A no 7 9 20000 3          | \n"
          "[1] 2 A error                   | queued 0Q3 1Q3 2Q3\n");
    trace(3, TTL_MS,
          "[0] queue                       | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 1000       | \n"
          "[1] 1 A no 7 9 20000 9000000000 | \n"
          "[50] timer                      | late 2 queued 0Q1000 1Q1000\n");
}

static void clocks_of_one_second_agree(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                       | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 9000000000 | \n"
          "[1] 1 A no 7 9 20000 9001000000 | queued 0Q9000000000 "
          "1Q9000000000\n");
    trace(3, TTL_MS,
          "[0] queue                       | 0A 1A 2A\n"
          "[1] 0 A no 7 9 20000 9000000000 | \n"
          "[1] 1 A no 7 9 20000 9001000001 | \n"
          "[50] timer                      | late 2 queued 0Q9000000000 "
          "1Q9000000000\n");
}

static void earlier_ticket_gets_it_back(void **state)
{
    (void)state;
    /* One node is ours: it gets a request soon, and reports an earlier ticket.
     * From then on its replies about the grant that was given back are
     * stale. */
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 5             | \n"
          "[1] 1 A no 5 9 20000 300 | \n"
          "[1] 2 A no 5 8 20000 300 | queued 0Q300 1Q300 2Q300\n"
          "[2] 0 Q ok 5             | \n"
          "[2] 1 Q queued 5         | \n"
          "[2] 2 Q queued 5         | \n"
          "[12] timer               | 0Q300\n"
          "[13] 0 Q ok 5 behind     | 0Y5\n"
          "[14] 0 grants 5          | \n"
          "[14] 0 Y queued 6        | \n"
          "[15] 0 grants 6          | \n"
          "[20] 0 grants 7          | \n"
          "[21] 1 grants 7          | held 7 till 5939 0C7h 1C7h 2C7h\n");
}

static void lost_yield_is_sent_again(void **state)
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
          "[3] 0 Y unknown          | \n"
          "[3] node 0 down          | \n"
          "[4] node 0 voting        | 0Q300\n"
          "[5] 0 Q ok 5             | 0Y5\n"
          "[6] 0 Y queued 6         | \n");
}

/* The node may have been raised before the connection broke, or will be. If its
 * old reply counted, the lock could be held and not be renewed. */
static void lost_raise_is_asked_again(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 5             | \n"
          "[1] 1 A ok 6             | 0C6\n"
          "[2] 0 C unknown          | \n"
          "[3] 2 A ok 5             | 2C6\n"
          "[4] node 0 voting        | 0A6\n"
          "[4] 2 C unknown          | \n"
          "[5] node 2 voting        | 2A6\n"
          "[5] reset 1              | 1A6\n"
          "[6] 0 A ok 5             | \n"
          "[7] 2 A ok 5             | 0C6 2C6\n"
          "[8] 0 C ok 6             | \n"
          "[8] 2 C ok 6             | held 6 till 29705\n");
}

/* All grants are too old to count, and no node reported its time. If each node
 * made its own ticket, the nodes would order the waiters differently. */
static void no_wait_without_a_ticket(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A ok 5             | \n"
          "[1] 2 A unsent           | \n"
          "[1] node 2 down          | \n"
          "[50] timer               | late 1\n"
          "[29800] 1 A ok 6         | split 0R6 1R6\n"
          "[29801] 0 R ok 6         | \n"
          "[29801] 1 R ok 6         | done\n");
}

/* A node that runs out of memory cannot be raised. It is tried again with each
 * heartbeat: not in a busy loop, and not often enough to give up. */
static void failed_raise_is_made_with_the_next_beat(void **state)
{
    (void)state;
    char text[8192];
    size_t at = (size_t)snprintf(text, sizeof(text),
                                 "[0] queue                | 0A 1A 2A\n"
                                 "[0] node 2 down          | \n"
                                 "[0] 2 A unsent           | \n"
                                 "[1] 0 A no 1 9 20000 300 | \n"
                                 "[1] 1 A no 1 9 20000 300 | "
                                 "queued 0Q300 1Q300\n"
                                 "[2] 0 Q queued 1         | \n"
                                 "[2] 1 Q queued 1         | \n"
                                 "[5] 0 grants 5           | \n"
                                 "[5] 1 grants 7           | 0C7\n"
                                 "[6] 0 C error            | \n");
    for (int ms = 1000; ms <= 80000; ms += 1000) {
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at,
                             "[%d] overdue | 0Q300 1Q300 0C7\n"
                             "[%d] 0 Q ok 5 | \n"
                             "[%d] 1 Q ok 7 | \n"
                             "[%d] 0 C %s\n",
                             ms, ms + 1, ms + 1, ms + 1,
                             ms == 80000 ? "ok 7 | held 7 till 85938 0C7h 1C7h"
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
          "[0] queue              | 0Q\n"
          "[1] 0 Q queued 7       | queued\n"
          "[5000] 0 grants 8      | 0Q500\n"
          "[5000] 0 Q error       | \n"
          "[5010] timer           | 0Q500\n"
          "[5010] 0 Q unsent      | \n"
          "[5030] timer           | 0Q500\n"
          "[5030] 0 Q ok 8        | held 8 till 10968\n");
}

/* Also if the node has replied "not yours" and granted again: the raise may
 * still be in flight. */
static void what_was_raised_is_not_undercut(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 1 9 20000 300 | \n"
          "[1] 1 A no 1 9 20000 300 | queued 0Q300 1Q300\n"
          "[1] 2 A no 1 9 20000 300 | 2Q300\n"
          "[2] 0 Q queued 1         | \n"
          "[2] 1 Q queued 3         | \n"
          "[2] 2 Q queued 1         | \n"
          "[5] 0 grants 2           | \n"
          "[5] 1 grants 4           | 0C4\n"
          "[6] node 0 down          | \n"
          "[6] 0 C unknown          | \n"
          "[7] node 0 voting        | 0Q300 0C4\n"
          "[8] 0 Q queued 2         | \n"
          "[8] 0 C no 2             | \n"
          "[15] timer               | 1Q300\n"
          "[16] 1 Q ok 4 behind     | 1Y4\n"
          "[17] 1 Y queued 5        | \n"
          "[18] 0 grants 3          | \n"
          "[19] 2 grants 3          | 0C4 2C4\n"
          "[20] 0 C ok 4            | \n"
          "[20] 2 C ok 4            | held 4 till 5957 0C4h 1C4h 2C4h\n");
}

static void counters_are_brought_together(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 300 | \n"
          "[1] 1 A no 6 9 20000 300 | queued 0Q300 1Q300\n"
          "[1] 2 A unsent           | \n"
          "[2] 0 Q queued 5         | \n"
          "[2] 1 Q queued 6         | \n"
          "[9] 0 grants 6           | \n"
          "[9] 1 grants 7           | 0C7\n"
          "[10] 0 C ok 7            | held 7 till 5939 0C7h 1C7h 2C7h\n");
}

static void completed_first_is_not_given_back(void **state)
{
    (void)state;
    /* The same reply grants the lock and reports an earlier ticket. */
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 300 | \n"
          "[1] 1 A no 5 9 20000 300 | queued 0Q300 1Q300\n"
          "[1] 2 A no 5 9 20000 300 | 2Q300\n"
          "[2] 0 Q ok 6             | \n"
          "[2] 1 Q ok 6 behind      | held 6 till 5939 0C6h 1C6h 2C6h\n");
}

static void cancel_leaves_every_queue(void **state)
{
    (void)state;
    trace(3, TTL_MS,
          "[0] queue                | 0A 1A 2A\n"
          "[1] 0 A no 5 9 20000 300 | \n"
          "[1] 1 A no 5 9 20000 300 | queued 0Q300 1Q300\n"
          "[1] 2 A no 5 9 20000 300 | 2Q300\n"
          "[2] release              | 0R5 1R5 2R5\n"
          "[3] 0 Q queued 5         | \n"
          "[3] 1 Q ok 6             | \n"
          "[3] 2 Q queued 5         | \n"
          "[4] 0 R no 5             | \n"
          "[4] 1 R ok 6             | \n"
          "[4] 2 R no 5             | done\n");
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
