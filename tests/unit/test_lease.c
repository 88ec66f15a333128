/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Traces of one owner from acquire to release (lease_trace.h has the syntax).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lease_trace.h"

/* ttl 1000: drift 12, validity at least 333, renewal at 333, risk at 500. */

static void late_connection_gets_the_lock_too(void **state)
{
    (void)state;
    trace(3, 10000,
          "[0] node 2 connecting | \n"
          "[0] acquire          | acquire at 0 1\n"
          "[1] 0 acquire ok 7   | \n"
          "[1] 1 acquire ok 7   | held 7 till 9898\n"
          "[2] node 2 voting    | renew 7 at 2\n"
          "[3] 2 confirm ok 7   | \n"
          "[4] node 2 voting    | \n");
}

static void one_node_one_round_trip(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[3] 0 acquire ok 7   | held 7 till 988\n"
          "[40] release         | release 7 at 0\n"
          "[42] 0 release ok    | released, done\n");
}

static void the_hint_is_sent(void **state)
{
    (void)state;
    trace(1, 1000, "[0] acquire 5        | acquire 5 at 0\n");
}

static void held_at_the_majority_and_the_late_are_brought_in(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[2] 4 acquire ok 7   | \n"
          "[3] 0 acquire ok 7   | \n"
          "[4] 2 acquire ok 7   | held 7 till 988\n"
          "[9] 1 acquire ok 5   | renew 7 at 1\n"
          "[10] 1 confirm ok 7  | \n"
          "[50] timer           | late 3\n"
          "[70] 3 acquire ok 7  | \n"
          "[80] release         | release 7 at 0 1 2 3 4\n"
          "[81] 0 release ok    | \n"
          "[82] 1 release ok    | \n"
          "[83] 2 release ok    | released\n"
          "[84] 3 release ok    | \n"
          "[85] 4 release ok    | done\n");
}

/* The deadline counts from the sending of the requests that make the majority,
 * not from the first reply: here all are sent at once. */
static void validity_counts_from_sending(void **state)
{
    (void)state;
    trace(3, 1000,
          "[100] acquire        | acquire at 0 1 2\n"
          "[110] 0 acquire ok 7 | \n"
          "[140] 1 acquire ok 7 | held 7 till 1088\n");
}

static void differing_counters_need_a_second_round(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm ok 9   | held 9 till 988\n"
          "[4] 2 acquire ok 3   | renew 9 at 2\n");
}

/* Two of the majority at 8 are being raised to 9: held at 8, the lock could not
 * be renewed. */
static void a_vote_that_is_being_raised_does_not_count(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 0 acquire ok 9   | \n"
          "[1] 1 acquire ok 9   | \n"
          "[2] 3 acquire ok 8   | confirm 9 at 3\n"
          "[3] 4 acquire ok 8   | confirm 9 at 4\n"
          "[4] 2 acquire ok 8   | confirm 9 at 2\n"
          "[5] 3 confirm ok 9   | held 9 till 988\n");
}

static void a_floor_above_lifts_the_fence(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 9   | confirm 9 at 0\n"
          "[3] 0 confirm ok 7 floor 20 | confirm 20 at 0 1\n"
          "[4] 0 confirm ok 20  | \n"
          "[5] 1 confirm ok 20  | held 20 till 991\n");
}

static void taken_as_soon_as_one_rival_has_a_majority(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire no 8 rival 5 left 400 | \n"
          "[2] 1 acquire no 8 rival 5 left 400 | taken, release 8 at 2\n"
          "[3] 2 acquire ok 2   | \n"
          "[4] 2 release ok     | done\n");
}

/* Two refusals that name no rival, as for an empty key of another library, need
 * not be of one rival. A single node has a majority of its own. */
static void refusals_without_a_name_are_not_one_rival(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire no 8 rival 0 left 400 | \n"
          "[2] 1 acquire no 8 rival 0 left 400 | split, release 8 at 2\n"
          "[3] 2 acquire ok 2   | \n"
          "[4] 2 release ok     | done\n");
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire no 8 rival 0 left 400 | taken, done\n");
}

/* One node is in quarantine or down, and one refuses. Whether a rival holds the
 * lock or the store is unreachable depends on the third node. */
static void told_taken_although_a_node_is_away(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 repairing | \n"
          "[0] acquire          | acquire at 1 2\n"
          "[1] 1 acquire no 8 rival 5 left 400 | \n"
          "[2] 2 acquire no 8 rival 5 left 400 | taken, done\n");
    trace(3, 1000,
          "[0] node 0 down      | \n"
          "[0] acquire          | acquire at 1 2\n"
          "[1] 1 acquire no 8 rival 5 left 400 | \n"
          "[50] timer           | late 2, unreached, release 8 at 2\n"
          "[51] 2 acquire ok 7  | \n"
          "[51] 2 release ok    | done\n");
}

static void one_busy_node_needs_no_release(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire no 8 rival 5 left 400 | taken, done\n");
}

/* Three clients start together and get 2, 2 and 1 of five nodes. No client
 * holds the lock, so not all of them may give up. */
static void a_split_vote_grants_no_lock(void **state)
{
    (void)state;
    trace(5, 1000,
          "[0] acquire          | acquire at 0 1 2 3 4\n"
          "[1] 0 acquire ok 1   | \n"
          "[1] 1 acquire ok 1   | \n"
          "[2] 2 acquire no 1 rival 5 | \n"
          "[2] 3 acquire no 1 rival 5 | \n"
          "[3] 4 acquire no 1 rival 6 | split, release 1 at 0 1\n"
          "[4] 0 release ok     | \n"
          "[4] 1 release ok     | done\n");
}

static void no_answer_is_unknown_and_is_released(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[50] timer "
          "| late 1, late 2, unreached, release 7 at 0 1 2\n"
          "[51] 0 release ok    | \n"
          "[60] 1 acquire ok 7  | \n"
          "[61] 1 release ok    | \n"
          "[100] timer          | late 2\n"
          "[1050] timer         | done\n");
}

/* The reply was lost with the connection: ask again with the same owner. */
static void a_lost_reply_is_made_good_under_the_same_owner(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[5] node 0 connecting | \n"
          "[5] 0 acquire unknown | \n"
          "[9] node 0 voting    | acquire at 0\n"
          "[11] 0 acquire ok 7  | held 7 till 997\n");
}

/* Validity counts from the request that proved it: the second. */
static void an_unknown_request_is_released_when_the_node_is_back(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[5] node 0 down      | unreached\n"
          "[5] 0 acquire unknown | \n"
          "[400] node 0 voting  | release 0 at 0\n"
          "[401] 0 release ok   | done\n");
}

static void what_may_be_left_is_over_after_its_ttl(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[5] node 0 down      | unreached\n"
          "[5] 0 acquire unknown | \n"
          "[1005] timer         | done\n");
}

static void a_dead_node_decides_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] node 0 down      | \n"
          "[1] 0 acquire unsent | \n"
          "[2] 1 acquire ok 7   | \n"
          "[3] 2 acquire ok 7   | held 7 till 988\n");
}

static void renewed_by_a_majority_of_one_round(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm ok 7 | \n"
                     "[336] 2 confirm ok 7 | \n"
                     "[384] timer          | late 1\n"
                     "[668] timer          | renew 7 at 0 2\n");
}

static void a_renewal_at_another_counter_does_not_renew(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm ok 8 | \n"
                     "[336] 2 confirm ok 9 | \n"
                     "[384] overdue        | late 1, renew 7 at 0 2\n"
                     "[500] overdue        | late 0, late 2, at-risk\n"
                     "[988] overdue        | lost\n");
}

static void at_risk_then_lost_by_our_own_clock(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[334] timer          | renew 7 at 0\n"
          "[384] overdue        | late 0\n"
          "[500] overdue        | at-risk\n"
          "[988] overdue        | lost\n"
          "[990] 0 confirm ok 7 | \n"
          "[991] release        | lost, release 7 at 0\n"
          "[992] 0 release ok   | done\n");
}

static void safe_again_when_confirmed_late(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[334] timer          | renew 7 at 0\n"
          "[384] overdue        | late 0\n"
          "[500] overdue        | at-risk\n"
          "[700] 0 confirm ok 7 | safe\n");
}

static void lost_when_a_majority_says_so(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm no 8 | \n"
                     "[335] 1 confirm ok 7 | \n"
                     "[336] 2 confirm no 8 | lost\n");
}

static void a_quarantined_node_repairs_but_does_not_vote(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[9] node 0 repairing | \n"
                     "[9] reset 0          | \n"
                     "[9] node 1 down      | \n"
                     "[334] timer          | renew 7 at 0 2\n"
                     "[335] 0 confirm ok 7 | \n"
                     "[335] 2 confirm ok 7 | \n"
                     "[500] overdue        | at-risk\n"
                     "[988] overdue        | lost\n");
}

static void extended_with_a_new_ttl(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[100] extend 4000    | renew 7 at 0\n"
          "[101] 0 confirm ok 7 | extended till 4058\n"
          "[1434] timer         | renew 7 at 0\n");
}

/* A node never shortens an expiry, so the deadline need not move back. */
static void a_shorter_ttl_does_not_move_the_deadline_back(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[100] extend 100     | renew 7 at 0\n"
          "[101] 0 confirm ok 7 | extended till 988\n");
}

/* The same if other nodes confirm than those that granted. */
static void other_confirmers_do_not_move_it_back_either(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[3] 2 acquire no 6   | \n"
          "[100] extend 100     | renew 7 at 0 1 2\n"
          "[101] 1 confirm ok 7 | \n"
          "[102] 2 confirm ok 7 | extended till 988\n");
}

static void a_slow_node_is_not_waited_for(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] slow 2           | \n"
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire no 6   | split, release 7 at 0 2\n");
    trace(3, 1000,
          "[0] slow 2           | \n"
          "[0] node 0 down      | \n"
          "[0] acquire          | acquire at 1 2\n"
          "[1] 1 acquire ok 7   | \n"
          "[40] 2 acquire ok 7  | held 7 till 988\n");
}

static void what_a_quarantined_node_denies_does_not_count(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[9] node 0 repairing | \n"
                     "[9] node 1 repairing | \n"
                     "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm no 1 | \n"
                     "[335] 1 confirm no 1 | \n"
                     "[336] 2 confirm ok 7 | \n");
}

static void votes_of_before_a_restart_are_void(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] node 0 repairing | \n"
          "[2] reset 0          | \n"
          "[3] node 0 voting    | acquire at 0\n"
          "[4] 1 acquire ok 7   | \n"
          "[5] 0 acquire ok 7   | held 7 till 988\n");
}

/* The reply in flight is to a request with the old ttl: it does not prove the
 * new one. */
static void an_answer_of_before_the_extension_does_not_extend(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[334] timer          | renew 7 at 0\n"
          "[340] extend 4000    | \n"
          "[341] 0 confirm ok 7 | renew 7 at 0\n"
          "[342] 0 confirm ok 7 | extended till 4299\n");
}

/* A renewal is late already; the extend waits a full timeout of its own. */
static void extending_waits_for_what_was_late(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[334] timer          | renew 7 at 0\n"
          "[384] overdue        | late 0\n"
          "[400] extend         | \n"
          "[450] overdue        | late 0, unextended\n");
}

/* Several nodes connect before the release gets the first event. */
static void a_release_goes_to_all_that_are_up(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 connecting | \n"
          "[0] node 1 connecting | \n"
          "[0] node 2 connecting | \n"
          "[0] release-foreign 7 | \n"
          "[1] up 1             | \n"
          "[1] up 2             | \n"
          "[1] node 0 voting    | release 7 at 0 1 2\n"
          "[2] 0 release ok     | \n"
          "[2] 1 release ok     | released\n");
}

static void cancelled_while_unknown_is_released_on_return(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[5] node 0 connecting | \n"
          "[5] 0 acquire unknown | \n"
          "[20] release         | \n"
          "[90] node 0 voting   | release 0 at 0\n"
          "[91] 0 release no 7  | done\n");
}

static void not_extended_when_unreachable(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[9] node 0 down      | \n"
          "[100] extend         | unextended\n"
          "[500] overdue        | at-risk\n");
}

static void adopted_only_when_a_majority_confirms(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] adopt 7          | confirm 7 at 0 1 2\n"
          "[1] 0 confirm ok 7   | \n"
          "[2] 1 confirm no 7   | \n"
          "[3] 2 confirm ok 7   | held 7 till 988\n");
    trace(3, 1000,
          "[0] adopt 7          | confirm 7 at 0 1 2\n"
          "[1] 0 confirm no 8   | \n"
          "[2] 1 confirm no 8   | lost\n"
          "[3] 2 confirm ok 7   | done\n");
}

static void release_tells_lost_from_unknown(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] release-foreign 7 | release 7 at 0 1 2\n"
          "[1] 0 release no 8   | \n"
          "[2] 1 release ok     | \n"
          "[3] 2 release no 8   | lost, done\n");
    trace(1, 1000,
          "[0] release-foreign 7 | release 7 at 0\n"
          "[50] timer           | late 0, unknown\n"
          "[60] 0 release ok    | done\n");
}

static void cancelled_while_asking_leaves_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] release          | release 7 at 0 1 2\n"
          "[3] 0 release ok     | \n"
          "[4] 1 acquire ok 7   | \n"
          "[4] 1 release ok     | \n"
          "[5] 2 acquire ok 7   | \n"
          "[5] 2 release ok     | done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_connection_gets_the_lock_too),
        cmocka_unit_test(one_node_one_round_trip),
        cmocka_unit_test(the_hint_is_sent),
        cmocka_unit_test(held_at_the_majority_and_the_late_are_brought_in),
        cmocka_unit_test(validity_counts_from_sending),
        cmocka_unit_test(differing_counters_need_a_second_round),
        cmocka_unit_test(a_vote_that_is_being_raised_does_not_count),
        cmocka_unit_test(extending_waits_for_what_was_late),
        cmocka_unit_test(a_release_goes_to_all_that_are_up),
        cmocka_unit_test(a_floor_above_lifts_the_fence),
        cmocka_unit_test(taken_as_soon_as_one_rival_has_a_majority),
        cmocka_unit_test(refusals_without_a_name_are_not_one_rival),
        cmocka_unit_test(told_taken_although_a_node_is_away),
        cmocka_unit_test(one_busy_node_needs_no_release),
        cmocka_unit_test(a_split_vote_grants_no_lock),
        cmocka_unit_test(no_answer_is_unknown_and_is_released),
        cmocka_unit_test(a_lost_reply_is_made_good_under_the_same_owner),
        cmocka_unit_test(an_unknown_request_is_released_when_the_node_is_back),
        cmocka_unit_test(what_may_be_left_is_over_after_its_ttl),
        cmocka_unit_test(a_dead_node_decides_nothing),
        cmocka_unit_test(renewed_by_a_majority_of_one_round),
        cmocka_unit_test(a_renewal_at_another_counter_does_not_renew),
        cmocka_unit_test(at_risk_then_lost_by_our_own_clock),
        cmocka_unit_test(safe_again_when_confirmed_late),
        cmocka_unit_test(lost_when_a_majority_says_so),
        cmocka_unit_test(a_quarantined_node_repairs_but_does_not_vote),
        cmocka_unit_test(extended_with_a_new_ttl),
        cmocka_unit_test(a_shorter_ttl_does_not_move_the_deadline_back),
        cmocka_unit_test(other_confirmers_do_not_move_it_back_either),
        cmocka_unit_test(a_slow_node_is_not_waited_for),
        cmocka_unit_test(what_a_quarantined_node_denies_does_not_count),
        cmocka_unit_test(votes_of_before_a_restart_are_void),
        cmocka_unit_test(an_answer_of_before_the_extension_does_not_extend),
        cmocka_unit_test(cancelled_while_unknown_is_released_on_return),
        cmocka_unit_test(not_extended_when_unreachable),
        cmocka_unit_test(adopted_only_when_a_majority_confirms),
        cmocka_unit_test(release_tells_lost_from_unknown),
        cmocka_unit_test(cancelled_while_asking_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
