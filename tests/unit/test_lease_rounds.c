/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Traces of rounds that fail in part: renewals, extensions and adoptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lease_trace.h"

/* ---- Replies ----------------------------------------------------------- */

/* Without a refusal and without a majority: not lost, and not renewed. */
static void no_answer_to_a_renewal_denies_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[335] 0 confirm error | \n"
                     "[336] 1 confirm unsent | \n"
                     "[337] 2 confirm unknown | \n"
                     "[368] timer          | renew 7 at 0 1 2\n"
                     "[369] 0 confirm ok 7 | \n"
                     "[370] 1 confirm ok 7 | \n"
                     "[371] 2 confirm error | \n"
                     "[702] timer          | renew 7 at 0 1 2\n");
}

/* A refusal from the first round that arrives in the second does not count in
 * the second. */
static void late_refusal_is_of_its_own_round(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[50] timer           | late 2\n"
          "[334] timer          | renew 7 at 0 1 2\n"
          "[335] 2 acquire no 6 | \n"
          "[336] 0 confirm no 9 | \n"
          "[337] 1 confirm ok 7 | \n"
          "[338] 2 confirm ok 7 | \n"
          "[668] timer          | renew 7 at 0 1 2\n");
}

/* A confirmation below the target: the same request sent at once would get the
 * same reply. */
static void node_that_stays_below_is_asked_with_the_next_round(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] acquire          | acquire at 0 1 2\n"
          "[1] 0 acquire ok 7   | \n"
          "[2] 1 acquire ok 7   | held 7 till 988\n"
          "[3] 2 acquire ok 3   | renew 7 at 2\n"
          "[4] 2 confirm ok 3   | \n"
          "[334] timer          | renew 7 at 0 1 2\n"
          "[335] 2 confirm ok 3 floor 20 | \n"
          "[336] 0 confirm ok 7 | \n"
          "[337] 1 confirm ok 7 | \n"
          "[668] timer          | renew 7 at 0 1 2\n");
}

/* ---- Grants pushed to a holder ----------------------------------------- */

#define WAITING                                                                \
    "[0] queue            | acquire at 0 1 2\n"                                \
    "[1] 0 acquire no 7 rival 9 time 300 | \n"                                 \
    "[1] 1 acquire no 7 rival 9 time 300 | queued, queue 300 at 0 1\n"         \
    "[2] 2 acquire no 7 rival 9 time 300 | queue 300 at 2\n"                   \
    "[3] 0 queue queued 7 | \n"                                                \
    "[3] 1 queue queued 7 | \n"                                                \
    "[3] 2 queue queued 7 | \n"
#define HEARTBEAT WAITING "[2003] timer         | queue 300 at 0 1 2\n"
#define CLAIMED                                                                \
    WAITING                                                                    \
    "[50] 0 grants 8      | \n"                                                \
    "[51] 1 grants 8      | held 8 till 5939, renew 8 at 0 1 2\n"

static void old_grants_are_no_news(void **state)
{
    (void)state;
    trace(3, 30000,
          CLAIMED "[52] 1 grants 8      | \n"
                  "[52] 2 grants 7      | \n"
                  "[53] 2 confirm no 7  | \n"
                  "[54] 2 grants 8      | renew 8 at 2\n");
}

/* A grant above T is not part of the lock that is held. */
static void grant_above_the_fence_is_not_brought_down(void **state)
{
    (void)state;
    trace(3, 30000,
          CLAIMED "[52] 2 confirm no 7  | \n"
                  "[53] 2 grants 9      | \n");
}

static void grant_after_the_loss_changes_nothing(void **state)
{
    (void)state;
    trace(3, 30000,
          CLAIMED "[60] 0 confirm no 9  | \n"
                  "[61] 1 confirm no 9  | lost\n"
                  "[62] 2 confirm no 7  | \n"
                  "[63] 2 grants 8      | \n"
                  "[64] node 2 down     | \n"
                  "[65] node 2 voting   | \n");
}

/* The renewal in flight asks for another ttl, so it does not count. */
static void extending_a_claim_by_more_asks_anew(void **state)
{
    (void)state;
    trace(3, 30000,
          CLAIMED "[60] extend 60000    | \n"
                  "[61] 0 confirm ok 8  | renew 8 at 0\n"
                  "[61] 1 confirm ok 8  | renew 8 at 1\n"
                  "[62] 0 confirm ok 8  | \n"
                  "[63] 1 confirm ok 8  | extended till 59459\n");
}

/* A request for a place whose reply arrives after the lock is held. A "not
 * yours" there changes nothing else. */
static void answers_to_what_was_asked_while_waiting(void **state)
{
    (void)state;
    trace(3, 30000,
          "[0] queue            | acquire at 0 1 2\n"
          "[1] 0 acquire no 7 rival 9 time 300 | \n"
          "[1] 1 acquire no 7 rival 9 time 300 | queued, queue 300 at 0 1\n"
          "[2] 2 acquire no 7 rival 9 time 300 | queue 300 at 2\n"
          "[3] 0 queue ok 7 behind | yield 7 at 0\n"
          "[50] 1 grants 8      | \n"
          "[51] 1 queue queued 7 | \n"
          "[52] 2 grants 8      | held 8 till 5938, renew 8 at 0 1 2\n"
          "[53] 2 queue queued 7 | \n"
          "[54] 0 yield no 9    | \n"
          "[55] 1 confirm ok 8  | \n"
          "[56] 2 confirm ok 8  | \n"
          "[57] extend          | renew 8 at 1 2\n");
}

/* The CONFIRM that follows a grant failed: the round asks that node again. */
static void granted_node_is_confirmed_with_the_retry(void **state)
{
    (void)state;
    trace(3, 30000,
          CLAIMED "[52] 2 confirm no 7  | \n"
                  "[53] 2 grants 8      | renew 8 at 2\n"
                  "[54] 2 confirm unsent | \n"
                  "[101] timer          | late 0, late 1\n"
                  "[1051] timer         | renew 8 at 2\n");
}

/* A reply to a heartbeat, behind the confirmation of the same node: it does not
 * undo it. */
static void heartbeat_behind_a_confirmation(void **state)
{
    (void)state;
    trace(3, 30000,
          HEARTBEAT "[2005] 0 grants 8    | \n"
                    "[2006] 1 grants 8 "
                    "| held 8 till 5939, renew 8 at 0 1 2\n"
                    "[2007] 0 confirm ok 8 | \n"
                    "[2008] 0 queue ok 8  | \n"
                    "[2009] 1 queue ok 8  | \n"
                    "[2010] 1 confirm ok 8 | \n"
                    "[2056] timer         | late 2\n"
                    "[12006] timer        | renew 8 at 0 1\n");
}

/* Requests from before the claim, sent in the same instant: that they are
 * refused denies nothing of the round. */
static void refused_heartbeats_are_of_no_round(void **state)
{
    (void)state;
    trace(3, 30000,
          HEARTBEAT "[2003] 0 grants 8    | \n"
                    "[2003] 1 grants 8 "
                    "| held 8 till 5939, renew 8 at 0 1 2\n"
                    "[2004] 0 queue no 7  | \n"
                    "[2005] 1 queue no 7  | \n"
                    "[2053] timer         | late 0, late 1, late 2\n");
}

/* ---- Nodes that reconnect ---------------------------------------------- */

/* In an open round the node gets a request at once; after it has confirmed,
 * none. */
static void node_that_is_back_joins_the_open_round(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[300] node 0 down    | \n"
                     "[300] node 1 down    | \n"
                     "[334] timer          | renew 7 at 2\n"
                     "[335] 2 confirm ok 7 | \n"
                     "[336] node 2 voting  | \n"
                     "[340] node 0 voting  | renew 7 at 0\n"
                     "[341] 0 confirm ok 7 | \n"
                     "[342] node 1 voting  | \n"
                     "[668] timer          | renew 7 at 0 1 2\n");
}

/* ---- Extending --------------------------------------------------------- */

static void what_is_lost_is_not_extended(void **state)
{
    (void)state;
    /* The deadline has passed, and no timer has reported it yet. */
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[988] extend         | lost\n"
          "[990] extend         | \n"
          "[991] release        | lost, release 7 at 0\n");
}

/* During a renewal: its replies count from its sending; the extended lease
 * counts from the extend. */
static void extending_is_a_round_of_its_own(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                     "[340] extend         | \n"
                     "[341] 0 confirm ok 7 | renew 7 at 0\n"
                     "[341] 1 confirm ok 7 | renew 7 at 1\n"
                     "[342] 0 confirm ok 7 | \n"
                     "[343] 1 confirm ok 7 | extended till 1329\n");
}

/* An extension, too, waits for the refusal that shows the loss. */
static void refused_extension_waits_for_a_majority(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[300] node 2 down    | \n"
                     "[310] extend         | renew 7 at 0 1\n"
                     "[311] 0 confirm no 9 | \n"
                     "[312] 1 confirm no 9 | lost\n");
}

/* ---- Adopting ---------------------------------------------------------- */

static void one_node_is_enough_if_there_is_one(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] adopt 7          | confirm 7 at 0\n"
          "[1] 0 confirm ok 7   | held 7 till 988\n");
}

/* A holder may rely on a sole node in quarantine. A client that adopts may not:
 * the lease may have ended, and another one begun. */
static void quarantined_node_allows_no_adoption(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] node 0 repairing | \n"
          "[0] adopt 7          | confirm 7 at 0\n"
          "[1] 0 confirm ok 7   | unreached, done\n");
}

static void adoption_out_of_reach_takes_nothing(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] adopt 7          | confirm 7 at 0 1 2\n"
          "[1] 0 confirm ok 7   | \n"
          "[2] 1 confirm error  | \n"
          "[50] timer           | late 2, unreached\n"
          "[60] 2 confirm ok 7  | done\n");
}

/* With a node down the other two must both confirm. The first that refuses ends
 * that hope, but the second can still show that the lock is lost. */
static void refused_adoption_waits_for_a_majority(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 2 down      | \n"
          "[0] adopt 7          | confirm 7 at 0 1\n"
          "[1] 0 confirm no 9   | \n"
          "[2] 1 confirm no 9   | lost, done\n");
    trace(3, 1000,
          "[0] node 2 down      | \n"
          "[0] adopt 7          | confirm 7 at 0 1\n"
          "[1] 0 confirm no 9   | \n"
          "[2] 1 confirm ok 7   | unreached, done\n");
}

/* Connecting: waited for, up to a timeout. */
static void adoption_waits_for_connections(void **state)
{
    (void)state;
    trace(3, 5000,
          "[0] node 1 connecting | \n"
          "[0] node 2 connecting | \n"
          "[0] adopt 7          | confirm 7 at 0\n"
          "[1] 0 confirm ok 7   | \n"
          "[1000] timer         | unreached, done\n");
}

/* The only server lost its data, and the holder's CONFIRM installed the lock
 * again. */
static void a_sole_node_is_renewed_in_its_quarantine(void **state)
{
    (void)state;
    trace(1, 1000,
          "[0] acquire          | acquire at 0\n"
          "[1] 0 acquire ok 7   | held 7 till 988\n"
          "[100] node 0 repairing | \n"
          "[100] reset 0        | \n"
          "[334] timer          | renew 7 at 0\n"
          "[335] 0 confirm ok 7 | \n"
          "[668] timer          | renew 7 at 0\n");
}

static void no_node_is_up_to_adopt_from(void **state)
{
    (void)state;
    trace(3, 1000,
          "[0] node 0 down      | \n"
          "[0] node 1 down      | \n"
          "[0] node 2 down      | \n"
          "[1] adopt 7          | unreached, done\n");
}

/* ---- Doubts ------------------------------------------------------------ */

/* A node that may have lost our lock is asked before the renewal is due. */
static void doubt_begins_a_renewal(void **state)
{
    (void)state;
    trace(3, 1000,
          TRACE_HELD "[100] doubt 1        | renew 7 at 0 1 2\n"
                     "[101] doubt 1        | \n"
                     "[102] 1 confirm no 9 | \n"
                     "[103] 0 confirm ok 7 | \n"
                     "[104] 2 confirm ok 7 | \n"
                     "[105] doubt 1        | renew 7 at 0 1 2\n"
                     "[106] 1 confirm no 9 | \n"
                     "[107] 2 confirm no 9 | lost\n"
                     "[108] doubt 1        | \n"
                     "[109] 0 confirm ok 7 | \n");
}

/* Nothing is held yet, or any more. */
static void doubt_of_what_is_not_held_asks_nothing(void **state)
{
    (void)state;
    trace(3, 30000, WAITING "[50] doubt 1         | \n");
    trace(3, 1000,
          TRACE_HELD "[100] release        | release 7 at 0 1 2\n"
                     "[101] doubt 1        | \n");
}

/* Any event after the deadline ends the lease. */
static void any_event_finds_that_it_is_over(void **state)
{
    (void)state;
    trace(3, 1000, TRACE_HELD "[1100] listen 0      | lost\n");
    trace(3, 1000, TRACE_HELD "[1100] doubt 0       | lost\n");
    trace(3, 1000, TRACE_HELD "[1100] node 0 voting | lost\n");
    trace(3, 30000, CLAIMED "[6000] 2 grants 7    | lost\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_answer_to_a_renewal_denies_nothing),
        cmocka_unit_test(late_refusal_is_of_its_own_round),
        cmocka_unit_test(node_that_stays_below_is_asked_with_the_next_round),
        cmocka_unit_test(old_grants_are_no_news),
        cmocka_unit_test(grant_above_the_fence_is_not_brought_down),
        cmocka_unit_test(grant_after_the_loss_changes_nothing),
        cmocka_unit_test(extending_a_claim_by_more_asks_anew),
        cmocka_unit_test(answers_to_what_was_asked_while_waiting),
        cmocka_unit_test(granted_node_is_confirmed_with_the_retry),
        cmocka_unit_test(heartbeat_behind_a_confirmation),
        cmocka_unit_test(refused_heartbeats_are_of_no_round),
        cmocka_unit_test(node_that_is_back_joins_the_open_round),
        cmocka_unit_test(what_is_lost_is_not_extended),
        cmocka_unit_test(extending_is_a_round_of_its_own),
        cmocka_unit_test(refused_extension_waits_for_a_majority),
        cmocka_unit_test(one_node_is_enough_if_there_is_one),
        cmocka_unit_test(quarantined_node_allows_no_adoption),
        cmocka_unit_test(adoption_out_of_reach_takes_nothing),
        cmocka_unit_test(refused_adoption_waits_for_a_majority),
        cmocka_unit_test(adoption_waits_for_connections),
        cmocka_unit_test(a_sole_node_is_renewed_in_its_quarantine),
        cmocka_unit_test(no_node_is_up_to_adopt_from),
        cmocka_unit_test(doubt_begins_a_renewal),
        cmocka_unit_test(doubt_of_what_is_not_held_asks_nothing),
        cmocka_unit_test(any_event_finds_that_it_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
