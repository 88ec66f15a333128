/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* When the timer is due, to the nanosecond. Jitter spreads the timers of many
 * owners: renewals to earlier, heartbeats to later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lease_trace.h"

#define MS INT64_C(1000000) /* in ns */

/* One node, ttl 3 s: the instant of the timer without jitter; the full jitter
 * moves it by `moved_ns`, up to the rounding of the division by 255. */
static void is_due(const char *text, int64_t due_ns, int64_t moved_ns)
{
    int64_t least_ns = trace_wake(1, 3000, 0, text);
    int64_t most_ns = trace_wake(1, 3000, UINT8_MAX, text);
    assert_int_equal(least_ns, due_ns);
    assert_in_range(most_ns - least_ns - moved_ns + 1000, 0, 2000);
}

static void renewals_come_an_eighth_earlier(void **state)
{
    (void)state;
    is_due("[0] acquire          | acquire at 0\n"
           "[1] 0 acquire ok 7   | held 7 till 2968\n",
           1000 * MS, -1000 * MS / 8);
}

static void heartbeats_come_a_sixteenth_later(void **state)
{
    (void)state;
    is_due("[0] queue            | queue at 0\n"
           "[1] 0 queue queued 7 ahead 3 | queued\n",
           1001 * MS, 1000 * MS / 16);
}

/* The holder belongs to another library and pushes no release: poll after 10
 * ms, then 20 ms …, up to a quarter earlier. */
static void polls_come_a_quarter_earlier(void **state)
{
    (void)state;
    is_due("[0] queue            | queue at 0\n"
           "[1] 0 queue foreign 7 | queued\n",
           11 * MS, -10 * MS / 4);
}

/* At half of the lease, not of the validity, which is shorter by the drift. */
static void at_risk_after_half_a_lease(void **state)
{
    (void)state;
    assert_int_equal(trace_wake(3, 1000, 0,
                                TRACE_HELD
                                "[334] timer          | renew 7 at 0 1 2\n"
                                "[480] overdue "
                                "| late 0, late 1, late 2\n"),
                     500 * MS);
}

/* The pause doubles each time. It starts again when the node names a holder
 * whose release is pushed. */
static void polls_grow_apart(void **state)
{
    (void)state;
    static const char polls[] = "[0] queue            | queue at 0\n"
                                "[1] 0 queue mortal 7 | queued\n"
                                "[11] timer           | queue 500 at 0\n"
                                "[12] 0 queue mortal 7 | \n"
                                "[32] timer           | queue 500 at 0\n"
                                "[33] 0 queue mortal 7 | \n"
                                "[73] timer           | queue 500 at 0\n";
    char text[1000];
    snprintf(text, sizeof(text), "%s[74] 0 queue mortal 7 | \n", polls);
    assert_int_equal(trace_wake(1, 3000, 0, text), (74 + 80) * MS);
    snprintf(text, sizeof(text),
             "%s[74] 0 queue queued 7 ahead 3 | \n"
             "[1074] timer         | queue 500 at 0\n"
             "[1075] 0 queue mortal 7 | \n",
             polls);
    assert_int_equal(trace_wake(1, 3000, 0, text), (1075 + 10) * MS);
}

/* The first eight waiters poll after the end of the holder's lease: 2 ms after
 * it, and 25 ms later for each waiter ahead. A lease without expiry is not
 * polled. */
static void when_the_first_few_look(void **state)
{
    (void)state;
    static const struct {
        int ahead, left_ms, wake_ms;
    } cases[] = {{0, 100, 103}, {1, 100, 128},  {2, 100, 153},
                 {7, 100, 278}, {8, 100, 1001}, {0, -1, 1001},
                 {7, -1, 1001}, {0, 0, 3},      {0, 5000, 1001}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "[0] queue            | queue at 0\n"
                 "[1] 0 queue queued 7 ahead %d left %d | queued\n",
                 cases[i].ahead, cases[i].left_ms);
        assert_int_equal(trace_wake(1, 3000, 0, text), cases[i].wake_ms * MS);
    }
}

/* A node that has not replied when the others have refused still has its full
 * timeout. */
static void queueing_marks_no_request_late(void **state)
{
    (void)state;
    assert_int_equal(trace_wake(3, 30000, 0,
                                "[0] queue            | acquire at 0 1 2\n"
                                "[1] 0 acquire no 7 rival 9 time 300 | \n"
                                "[1] 1 acquire no 7 rival 9 time 300 "
                                "| queued, queue 300 at 0 1\n"),
                     50 * MS);
}

/* The requests of the renewal are late already: an extend waits a full
 * timeout. */
static void extending_marks_no_request_late(void **state)
{
    (void)state;
    static const char late[] =
        TRACE_HELD "[334] timer          | renew 7 at 0 1 2\n"
                   "[384] overdue        | late 0, late 1, late 2\n"
                   "[410] extend         | \n";
    char text[1000];
    assert_true(trace_wake(3, 1000, 0, late) > 410 * MS);
    snprintf(text, sizeof(text),
             "%s"
             "[459] overdue        | \n"
             "[460] timer          | late 0, late 1, late 2, unextended\n",
             late);
    trace(3, 1000, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewals_come_an_eighth_earlier),
        cmocka_unit_test(heartbeats_come_a_sixteenth_later),
        cmocka_unit_test(polls_come_a_quarter_earlier),
        cmocka_unit_test(at_risk_after_half_a_lease),
        cmocka_unit_test(polls_grow_apart),
        cmocka_unit_test(when_the_first_few_look),
        cmocka_unit_test(queueing_marks_no_request_late),
        cmocka_unit_test(extending_marks_no_request_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
