/* SPDX-License-Identifier: Apache-2.0 */
/* When the timer is due, to the nanosecond: what many owners do at once is
 * spread, renewals to earlier, heartbeats to later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story.h"

#define MS INT64_C(1000000)

/* What all of the jitter changes. */
static int64_t shift(unsigned n_nodes, int ttl_ms, const char *text)
{
    return story_wake(n_nodes, ttl_ms, UINT8_MAX, text) -
           story_wake(n_nodes, ttl_ms, 0, text);
}

/* A part of `whole`, as near as the division by 255 comes. */
static void is_about(int64_t is, int64_t whole, int64_t part)
{
    int64_t should = whole / part;
    int64_t off = is < should ? should - is : is - should;
    assert_in_range(off, 0, 1000);
}

static void renewals_come_an_eighth_earlier(void **state)
{
    (void)state;
    static const char held[] = "[0] acquire     | 0A\n"
                               "[1] 0 A ok 7    | held 7 till 2968\n";
    assert_int_equal(story_wake(1, 3000, 0, held), 1000 * MS);
    is_about(-shift(1, 3000, held), 1000 * MS, 8);
}

static void heartbeats_come_a_sixteenth_later(void **state)
{
    (void)state;
    static const char queued[] = "[0] queue             | 0Q\n"
                                 "[1] 0 Q queued 7 3    | queued\n";
    assert_int_equal(story_wake(1, 3000, 0, queued), 1001 * MS);
    is_about(shift(1, 3000, queued), 1000 * MS, 16);
}

/* Somebody who does not tell when he is done has it: asked again after 10 ms,
 * then 20 ms …, up to a quarter earlier. */
static void polls_come_a_quarter_earlier(void **state)
{
    (void)state;
    static const char foreign[] = "[0] queue             | 0Q\n"
                                  "[1] 0 Q foreign 7     | queued\n";
    assert_int_equal(story_wake(1, 3000, 0, foreign), 11 * MS);
    is_about(-shift(1, 3000, foreign), 10 * MS, 4);
}

/* Who has not answered yet when others have refused has his whole time. */
static void to_wait_makes_nobody_late(void **state)
{
    (void)state;
    assert_int_equal(story_wake(3, 30000, 0,
                                "[0] queue                | 0A 1A 2A\n"
                                "[1] 0 A no 7 9 20000 300 | \n"
                                "[1] 1 A no 7 9 20000 300 "
                                "| queued 0Q300 1Q300\n"),
                     50 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewals_come_an_eighth_earlier),
        cmocka_unit_test(heartbeats_come_a_sixteenth_later),
        cmocka_unit_test(polls_come_a_quarter_earlier),
        cmocka_unit_test(to_wait_makes_nobody_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
