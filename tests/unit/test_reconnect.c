/* SPDX-License-Identifier: Apache-2.0 */
/* When a connection of a store is made again. Time and seed are given. */
#include "store/reconnect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEEDS 500 /* clients of a fleet: a half of them is 200 to 300 */

static struct hf_instant at_ms(int64_t ms)
{
    return hf_instant_add((struct hf_instant){0}, hf_span_ms(ms));
}

/* How long until the retry that a failure at `now_ms` plans, in nanoseconds. */
static int64_t delay_after(struct hf_reconnect *reconnect, uint64_t *seed,
                           int64_t now_ms)
{
    assert_false(hf_reconnect_plan(reconnect, seed, at_ms(now_ms)));
    hf_reconnect_closed(reconnect);
    return hf_instant_until(at_ms(now_ms), reconnect->retry_at).ns;
}

static void assert_quick(struct hf_reconnect *reconnect, uint64_t *seed,
                         int64_t now_ms)
{
    uint64_t before = *seed;
    assert_true(hf_reconnect_plan(reconnect, seed, at_ms(now_ms)));
    hf_reconnect_closed(reconnect);
    assert_int_equal(reconnect->retry_at.ns, at_ms(now_ms).ns);
    assert_true(*seed == before); /* nothing is drawn */
}

static void assert_back_off(int64_t ns, int64_t full_ms)
{
    assert_true(ns >= hf_span_ms(full_ms / 2).ns);
    assert_true(ns < hf_span_ms(full_ms).ns);
}

/* ---- The back-off ------------------------------------------------------ */

static void plans_nothing_at_first(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    hf_reconnect_init(&reconnect);
    assert_true(hf_instant_is_never(reconnect.retry_at));
}

static void doubles_up_to_two_seconds(void **state)
{
    (void)state;
    static const int64_t full_ms[] = {50,   100,  200,  400, 800,
                                      1600, 2000, 2000, 2000};
    for (uint64_t first = 0; first < SEEDS; first++) {
        struct hf_reconnect reconnect;
        uint64_t seed = first;
        hf_reconnect_init(&reconnect);
        for (size_t i = 0; i < sizeof(full_ms) / sizeof(full_ms[0]); i++) {
            int64_t now_ms = 10000 * (int64_t)(i + 1);
            assert_back_off(delay_after(&reconnect, &seed, now_ms), full_ms[i]);
        }
    }
}

/* After any number of failures: no overflow, no wait of more than 2 s. */
static void stays_at_two_seconds(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    uint64_t seed = 1;
    hf_reconnect_init(&reconnect);
    reconnect.failures = UINT32_MAX - 2;
    assert_back_off(delay_after(&reconnect, &seed, 1000), 2000);
    assert_back_off(delay_after(&reconnect, &seed, 9000), 2000);
}

/* The upper half is drawn: both quarters of it occur, and clients with other
 * seeds come at other times. */
static void spreads_a_fleet(void **state)
{
    (void)state;
    unsigned early = 0;
    for (uint64_t first = 0; first < SEEDS; first++) {
        struct hf_reconnect reconnect;
        uint64_t seed = first * UINT64_C(0x9e3779b97f4a7c15);
        hf_reconnect_init(&reconnect);
        reconnect.failures = 10;
        early += delay_after(&reconnect, &seed, 0) < hf_span_ms(1500).ns;
    }
    assert_in_range(early, SEEDS * 2 / 5, SEEDS * 3 / 5);
}

/* ---- Without back-off -------------------------------------------------- */

static void returns_at_once_if_it_served(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    uint64_t seed = 1;
    hf_reconnect_init(&reconnect);
    hf_reconnect_served(&reconnect, at_ms(0));
    assert_quick(&reconnect, &seed, 5000);
    /* The next one came to nothing. */
    assert_back_off(delay_after(&reconnect, &seed, 9000), 50);
}

/* A proxy that cuts each connection as soon as it has served. */
static void returns_at_once_only_once_a_second(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    uint64_t seed = 1;
    hf_reconnect_init(&reconnect);
    hf_reconnect_served(&reconnect, at_ms(0));
    assert_quick(&reconnect, &seed, 10);
    hf_reconnect_served(&reconnect, at_ms(20));
    assert_back_off(delay_after(&reconnect, &seed, 30), 50);
    hf_reconnect_served(&reconnect, at_ms(100));
    assert_back_off(delay_after(&reconnect, &seed, 1009), 100);
    hf_reconnect_served(&reconnect, at_ms(1009));
    assert_quick(&reconnect, &seed, 1010);
}

/* ---- Failures ---------------------------------------------------------- */

static void begins_anew_after_a_second_of_service(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    uint64_t seed = 1;
    hf_reconnect_init(&reconnect);
    for (int64_t i = 1; i <= 5; i++) {
        delay_after(&reconnect, &seed, 10000 * i);
    }
    assert_int_equal(reconnect.failures, 5);
    hf_reconnect_served(&reconnect, at_ms(100000));
    assert_quick(&reconnect, &seed, 100999); /* 999 ms */
    assert_int_equal(reconnect.failures, 5);
    assert_back_off(delay_after(&reconnect, &seed, 101000), 1600);
    hf_reconnect_served(&reconnect, at_ms(200000));
    assert_quick(&reconnect, &seed, 201000);
    assert_int_equal(reconnect.failures, 0);
    assert_back_off(delay_after(&reconnect, &seed, 201100), 50);
}

/* A connection that is closed without a failure, for being idle, leaves nothing
 * to the next. */
static void a_closed_connection_no_longer_serves(void **state)
{
    (void)state;
    struct hf_reconnect reconnect;
    uint64_t seed = 1;
    hf_reconnect_init(&reconnect);
    hf_reconnect_served(&reconnect, at_ms(0));
    hf_reconnect_closed(&reconnect);
    assert_back_off(delay_after(&reconnect, &seed, 5000), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_nothing_at_first),
        cmocka_unit_test(doubles_up_to_two_seconds),
        cmocka_unit_test(stays_at_two_seconds),
        cmocka_unit_test(spreads_a_fleet),
        cmocka_unit_test(returns_at_once_if_it_served),
        cmocka_unit_test(returns_at_once_only_once_a_second),
        cmocka_unit_test(begins_anew_after_a_second_of_service),
        cmocka_unit_test(a_closed_connection_no_longer_serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
