/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* Owner texts, retries, nodes, and the ruling on servers that lost their
 * data. */
/* link: -Wl,--wrap=hf_assert_failed */
#include "core/owner.h"
#include "core/quarantine.h"
#include "core/retry.h"
#include "core/validity.h"
#include "failed_assertion.h"
#include "nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- Owners ------------------------------------------------------------ */

static void owner_survives_the_wire(void **state)
{
    (void)state;
    uint8_t id[HF_OWNER_ID_LEN];
    char text[HF_OWNER_MAX];
    struct hf_holder holder;
    memset(id, 0xab, sizeof(id));
    size_t len = hf_owner_emit(text, id, "db 3", 4711, 1700000000, "a:b@c\n");
    assert_null(memchr(text, '@', len));
    assert_null(memchr(text, ' ', len));
    hf_owner_describe(text, len, &holder);
    assert_int_equal(holder.kind, HF_HOLDER_HOLDFAST);
    assert_string_equal(holder.host, "db 3");
    assert_int_equal(holder.pid, 4711);
    assert_int_equal(holder.since_s, 1700000000);
    /* control characters stay escaped: a terminal would execute them */
    assert_string_equal(holder.label, "a:b@c%0a");
}

static void owner_that_ended(void **state)
{
    (void)state;
    const char text[] = "ended:00112233445566778899aabbccddeeff:h:1:2";
    struct hf_holder holder;
    hf_owner_describe(text, sizeof(text) - 1, &holder);
    assert_int_equal(holder.kind, HF_HOLDER_ENDED);
    assert_int_equal(holder.pid, 1);
}

static void foreign_owners_are_shown_printable(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x",
        "00112233445566778899aabbccddeeff",
        "ended:",
        "00112233445566778899aabbccddeeff:h:x:2",
        "00112233445566778899aabbccddeefg:h:1:2",
    };
    struct hf_holder holder;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        hf_owner_describe(texts[i], strlen(texts[i]), &holder);
        assert_int_equal(holder.kind, HF_HOLDER_FOREIGN);
        assert_int_equal(holder.pid, 0);
    }
    hf_owner_describe("a\0\x1b", 3, &holder);
    assert_string_equal(holder.owner, "a%00%1b");
}

static void the_longest_owner_fits(void **state)
{
    (void)state;
    uint8_t id[HF_OWNER_ID_LEN] = {0};
    char host[300];
    char label[600];
    char text[HF_OWNER_MAX];
    struct hf_holder holder;
    memset(host, '/', sizeof(host) - 1);
    memset(label, '\xff', sizeof(label) - 1);
    host[sizeof(host) - 1] = label[sizeof(label) - 1] = '\0';
    size_t len =
        hf_owner_emit(text, id, host, INT64_MAX / 10, INT64_MAX / 10, label);
    assert_true(len <= HF_OWNER_MAX);
    hf_owner_describe(text, len, &holder);
    assert_int_equal(holder.kind, HF_HOLDER_HOLDFAST);
}

static void owner_at_fence(void **state)
{
    (void)state;
    size_t len = 0;
    uint64_t fence = 0;
    const char *good = "00112233445566778899aabbccddeeff:h:1:2@77";
    assert_true(hf_owner_parse(good, &len, &fence));
    assert_int_equal(len, strlen(good) - 3);
    assert_int_equal(fence, 77);
    static const char *const bad[] = {
        "",
        "@",
        "@7",
        "00112233445566778899aabbccddeeff:h:1:2",
        "00112233445566778899aabbccddeeff:h:1:2@",
        "00112233445566778899aabbccddeeff:h:1:2@0",
        "00112233445566778899aabbccddeeff:h:1:2@7x",
        "00112233445566778899aabbccddeeff:h:1:2@99999999999999999",
        "0011@7",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(hf_owner_parse(bad[i], &len, &fence));
    }
}

/* ---- Retry ------------------------------------------------------------- */

static struct hf_instant at_ms(int64_t ms)
{
    return (struct hf_instant){ms * 1000000};
}

struct attempt {
    struct hf_nodes nodes;
    _Alignas(struct hf_lease) char room[sizeof(struct hf_lease) +
                                        HF_NODES_MAX * sizeof(struct hf_vote)];
};

static struct hf_lease *lease_of(struct attempt *attempt)
{
    return (struct hf_lease *)(void *)attempt->room;
}

/* An attempt at one node, which refused because of a rival with a remaining
 * lease of `left_ms`. */
static void refused(struct attempt *attempt, int64_t left_ms)
{
    struct hf_effects effects;
    struct hf_event event = {.kind = HF_EV_ACQUIRE, .now = at_ms(0)};
    hf_nodes_init(&attempt->nodes, 1, hf_span_ms(50), hf_span_ms(1000));
    nodes_set(&attempt->nodes, 0, HF_NODE_STATUS_VOTING);
    hf_lease_init(lease_of(attempt), 1, hf_span_ms(1000), 0);
    hf_lease_step(lease_of(attempt), &attempt->nodes, &event, &effects);
    event.kind = HF_EV_ANSWER;
    event.verb = HF_VERB_ACQUIRE;
    event.verdict = HF_VERDICT_REFUSED;
    event.rival = 1;
    event.left = hf_span_ms_or_max(left_ms);
    hf_lease_step(lease_of(attempt), &attempt->nodes, &event, &effects);
    assert_int_equal(effects.outcome, HF_OUT_TAKEN);
}

static struct hf_retry_next after(struct hf_retry *retry,
                                  struct attempt *attempt,
                                  enum hf_outcome outcome, int64_t now_ms)
{
    struct hf_retry_event event = {.outcome = outcome, .now = at_ms(now_ms)};
    return hf_retry_step(retry, &attempt->nodes, lease_of(attempt), &event);
}

/* Node 0 replied with an error that a retry may not resolve. */
static struct hf_retry_next
after_refusal(struct hf_retry *retry, struct attempt *attempt, int64_t now_ms)
{
    struct hf_retry_event event = {
        .outcome = HF_OUT_UNREACHED, .refusing = 1, .now = at_ms(now_ms)};
    return hf_retry_step(retry, &attempt->nodes, lease_of(attempt), &event);
}

static void retry_of(struct hf_retry *retry, int64_t wait_ms, uint64_t seed)
{
    hf_retry_init(retry, at_ms(0), hf_span_ms_or_max(wait_ms), false,
                  hf_span_ms(10), hf_span_ms(250), seed);
}

static void a_try_is_over_when_taken_but_not_when_split(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 5000);
    retry_of(&retry, 0, 1);
    assert_int_equal(after(&retry, &attempt, HF_OUT_TAKEN, 1).decision,
                     HF_RETRY_BUSY);
    retry_of(&retry, 0, 1);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(900).ns);
    assert_int_equal(after(&retry, &attempt, HF_OUT_SPLIT, 1).decision,
                     HF_RETRY_AGAIN);
    assert_int_equal(after(&retry, &attempt, HF_OUT_SPLIT, 899).decision,
                     HF_RETRY_BUSY);
}

static void back_off_grows_and_is_bounded_by_the_rivals_lease(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 40);
    for (uint64_t seed = 0; seed < 100; seed++) {
        retry_of(&retry, -1, seed);
        for (int i = 0; i < 20; i++) {
            struct hf_retry_next next =
                after(&retry, &attempt, HF_OUT_TAKEN, 1000);
            assert_int_equal(next.decision, HF_RETRY_AGAIN);
            assert_true(next.at.ns >= at_ms(1005).ns);
            assert_true(next.at.ns <= at_ms(1000 + 40 + 10).ns);
        }
    }
    refused(&attempt, 60000);
    int64_t longest = 0;
    retry_of(&retry, -1, 7);
    for (int i = 0; i < 200; i++) {
        int64_t ns =
            after(&retry, &attempt, HF_OUT_TAKEN, 1000).at.ns - at_ms(1000).ns;
        longest = ns > longest ? ns : longest;
    }
    assert_true(longest > hf_span_ms(200).ns);
    assert_true(longest <= hf_span_ms(250).ns);
}

/* Full jitter below 10 ms, 20 ms, 40 ms …, as for a split vote. The longest of
 * many draws is near the bound, and none is above it. */
static void back_off_doubles(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    int64_t longest[7] = {0};
    refused(&attempt, 60000);
    for (uint64_t seed = 0; seed < 1000; seed++) {
        retry_of(&retry, -1, seed);
        for (int i = 0; i < 7; i++) {
            int64_t ns = after(&retry, &attempt, HF_OUT_SPLIT, 0).at.ns;
            longest[i] = ns > longest[i] ? ns : longest[i];
        }
    }
    for (int i = 0; i < 7; i++) {
        int64_t top = hf_span_ms(i < 5 ? 10 << i : 250).ns;
        assert_in_range(longest[i], top * 9 / 10, top);
    }
}

static void a_store_never_reached_ends_a_wait_without_end(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 40);
    nodes_set(&attempt.nodes, 0, HF_NODE_STATUS_DOWN);
    retry_of(&retry, -1, 1);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(4800).ns);
    assert_int_equal(after(&retry, &attempt, HF_OUT_UNREACHED, 100).decision,
                     HF_RETRY_AGAIN);
    assert_int_equal(after(&retry, &attempt, HF_OUT_UNREACHED, 4799).decision,
                     HF_RETRY_UNREACHED);
    /* reached before, or in quarantine: wait for the end of the outage */
    nodes_set(&attempt.nodes, 0, HF_NODE_STATUS_REPAIRING);
    retry_of(&retry, -1, 1);
    assert_int_equal(after(&retry, &attempt, HF_OUT_UNREACHED, 9999).decision,
                     HF_RETRY_AGAIN);
    assert_int_equal(hf_retry_limit(&retry).ns, HF_NEVER.ns);
}

/* Reached, and from 10 s on every reply is an error: a full disk. */
static void a_store_that_refuses_ends_a_wait_without_end(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    const int64_t refused_ms[] = {10000, 12000, 14799};
    refused(&attempt, 40);
    retry_of(&retry, -1, 1);
    retry.has_reached = true;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            after_refusal(&retry, &attempt, refused_ms[i]).decision,
            i < 2 ? HF_RETRY_AGAIN : HF_RETRY_UNREACHED);
    }
    /* after one reply, the count begins again */
    assert_int_equal(after(&retry, &attempt, HF_OUT_TAKEN, 14800).decision,
                     HF_RETRY_AGAIN);
    assert_int_equal(hf_retry_limit(&retry).ns, HF_NEVER.ns);
}

static struct hf_retry_next queued(struct hf_retry *retry,
                                   struct attempt *attempt)
{
    struct hf_retry_next next = after(retry, attempt, HF_OUT_QUEUED, 0);
    assert_int_equal(next.decision, HF_RETRY_WAIT);
    return next;
}

static void queue_it(void *retry)
{
    struct attempt attempt;
    refused(&attempt, 40);
    (void)after(retry, &attempt, HF_OUT_QUEUED, 0);
}

/* A place in the queues is kept through outages, until the wait is over. */
static void a_queued_attempt_waits_on(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 40);
    retry_of(&retry, -1, 1);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(4800).ns);
    assert_int_equal(queued(&retry, &attempt).at.ns, HF_NEVER.ns);
    assert_int_equal(hf_retry_limit(&retry).ns, HF_NEVER.ns);
    /* nodes that refused no longer do: a majority has replied */
    (void)after_refusal(&retry, &attempt, 10000);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(14800).ns);
    assert_int_equal(queued(&retry, &attempt).at.ns, HF_NEVER.ns);
    assert_int_equal(hf_retry_limit(&retry).ns, HF_NEVER.ns);
    retry_of(&retry, 2000, 1);
    assert_int_equal(queued(&retry, &attempt).at.ns, at_ms(2000).ns);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(2000).ns);
}

static void a_try_has_no_place_in_a_queue(void **state)
{
    (void)state;
    struct hf_retry retry;
    retry_of(&retry, 0, 1);
    assert_string_equal(failed_assertion(queue_it, &retry), "!is_try(retry)");
    retry_of(&retry, -1, 1);
    assert_null(failed_assertion(queue_it, &retry));
}

static void a_bounded_wait_ends_in_time(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 60000);
    retry_of(&retry, 2000, 1);
    assert_int_equal(hf_retry_limit(&retry).ns, at_ms(2000).ns);
    for (int64_t now = 0; now < 1700; now += 250) {
        struct hf_retry_next next = after(&retry, &attempt, HF_OUT_TAKEN, now);
        assert_int_equal(next.decision, HF_RETRY_AGAIN);
        assert_true(next.at.ns < at_ms(2000).ns);
    }
    assert_int_equal(after(&retry, &attempt, HF_OUT_TAKEN, 2000).decision,
                     HF_RETRY_BUSY);
}

/* A lock that becomes free shortly before the end of the wait is acquired: the
 * last attempt is made then, not one back-off earlier. */
static void the_last_attempt_is_made_just_before_the_end(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 60000);
    retry_of(&retry, 2000, 1);
    for (int i = 0; i < 8; i++) {
        (void)after(&retry, &attempt, HF_OUT_TAKEN, 0);
    }
    struct hf_retry_next next = after(&retry, &attempt, HF_OUT_TAKEN, 1950);
    assert_int_equal(next.decision, HF_RETRY_AGAIN);
    assert_int_equal(next.at.ns, at_ms(1990).ns);
}

static void no_lease_this_short_can_be_had(void **state)
{
    (void)state;
    struct attempt attempt;
    struct hf_retry retry;
    refused(&attempt, 1);
    retry_of(&retry, -1, 1);
    /* three in a row */
    static const struct {
        enum hf_outcome outcome;
        enum hf_retry_decision decision;
    } attempts[] = {
        {HF_OUT_TOO_SLOW, HF_RETRY_AGAIN},    {HF_OUT_TOO_SLOW, HF_RETRY_AGAIN},
        {HF_OUT_TOO_SLOW, HF_RETRY_TOO_SLOW}, {HF_OUT_SPLIT, HF_RETRY_AGAIN},
        {HF_OUT_TOO_SLOW, HF_RETRY_AGAIN},    {HF_OUT_TOO_SLOW, HF_RETRY_AGAIN},
    };
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        assert_int_equal(
            after(&retry, &attempt, attempts[i].outcome, 1 + (int64_t)i)
                .decision,
            attempts[i].decision);
    }
}

/* ---- Nodes and validity ------------------------------------------------ */

static void misses_make_slow_and_an_answer_makes_quick(void **state)
{
    (void)state;
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 3, hf_span_ms(50), hf_span_ms(1000));
    for (int i = 0; i < 9; i++) {
        nodes_miss(&nodes, 1, at_ms(0));
    }
    assert_false(hf_nodes_is_slow(&nodes, 1));
    nodes_miss(&nodes, 1, at_ms(50));
    nodes_miss(&nodes, 1, at_ms(100));
    assert_true(hf_nodes_is_slow(&nodes, 1));
    assert_false(hf_nodes_is_slow(&nodes, 0));
    nodes_reply(&nodes, 1, hf_span_ms(1));
    assert_false(hf_nodes_is_slow(&nodes, 1));
}

static void timeouts_follow_lease_and_round_trip(void **state)
{
    (void)state;
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 1, hf_span_ms(50), hf_span_ms(1000));
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(30000)).ns,
                     hf_span_ms(50).ns);
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(200)).ns,
                     hf_span_ms(10).ns);
    nodes_reply(&nodes, 0, hf_span_ms(40));
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(200)).ns,
                     hf_span_ms(120).ns);
}

static void drift_is_one_percent_and_two_ms(void **state)
{
    (void)state;
    assert_int_equal(hf_drift(hf_span_ms(30000)).ns, hf_span_ms(302).ns);
}

static void time_saturates(void **state)
{
    (void)state;
    assert_int_equal(hf_instant_add(HF_NEVER, hf_span_ms(-5)).ns, INT64_MAX);
    assert_int_equal(hf_instant_add(at_ms(5), hf_span_ms(INT64_MAX)).ns,
                     INT64_MAX);
    assert_int_equal(hf_instant_until(HF_LONG_AGO, HF_NEVER).ns, INT64_MAX);
    struct hf_span most = hf_span_ms(INT64_MAX);
    struct hf_span least = hf_span_ms(INT64_MIN);
    assert_int_equal(hf_span_add(most, hf_span_ms(1)).ns, INT64_MAX);
    assert_int_equal(hf_span_add(least, hf_span_ms(-1)).ns, INT64_MIN);
    assert_int_equal(hf_span_add(hf_span_ms(2), hf_span_ms(-3)).ns, -1000000);
    assert_int_equal(hf_span_ms_ceil((struct hf_span){1}), 1);
    assert_int_equal(hf_span_ms_floor((struct hf_span){1999999}), 1);
}

/* ---- Servers that lost their data -------------------------------------- */

static void spans_saturate(void **state)
{
    (void)state;
    struct hf_span most = {INT64_MAX};
    struct hf_span least = {INT64_MIN};
    struct hf_span one = {1};
    assert_int_equal(hf_span_scale(hf_span_ms(3), -2).ns, -6000000);
    assert_int_equal(hf_span_scale(most, 2).ns, INT64_MAX);
    assert_int_equal(hf_span_scale(most, -2).ns, INT64_MIN);
    assert_int_equal(hf_span_scale(least, 2).ns, INT64_MIN);
    assert_int_equal(hf_span_scale(least, -1).ns, INT64_MAX);
    assert_int_equal(hf_span_us(INT64_MAX).ns, INT64_MAX);
    assert_int_equal(hf_span_us(INT64_MIN).ns, INT64_MIN);
    assert_int_equal(hf_span_us(-7).ns, -7000);
    assert_int_equal(hf_span_sub(least, one).ns, INT64_MIN);
    assert_int_equal(hf_span_sub(most, (struct hf_span){-1}).ns, INT64_MAX);
    assert_int_equal(hf_span_sub((struct hf_span){0}, least).ns, INT64_MAX);
    assert_int_equal(hf_span_sub(hf_span_ms(1), hf_span_ms(3)).ns, -2000000);
    assert_int_equal(hf_span_div((struct hf_span){-7}, 2).ns, -3);
    assert_int_equal(hf_span_us_floor((struct hf_span){1999}), 1);
    assert_int_equal(hf_span_us_floor((struct hf_span){-1999}), 0);
    assert_int_equal(hf_instant_sub(at_ms(5), hf_span_ms(7)).ns, -2000000);
    assert_int_equal(hf_instant_sub(at_ms(5), least).ns, INT64_MAX);
    assert_true(hf_instant_is_never(hf_instant_sub(HF_NEVER, hf_span_ms(7))));
    assert_false(hf_instant_is_never(HF_LONG_AGO));
}

/* Each end is drawn, and nothing beyond. */
static void draws_and_means(void **state)
{
    (void)state;
    struct hf_span most = {INT64_MAX};
    assert_int_equal(hf_span_draw((struct hf_span){4}, 4).ns, 4);
    assert_int_equal(hf_span_draw((struct hf_span){4}, 5).ns, 0);
    assert_int_equal(hf_span_draw((struct hf_span){0}, UINT64_MAX).ns, 0);
    assert_int_equal(hf_span_draw(most, INT64_MAX).ns, INT64_MAX);
    assert_int_equal(hf_span_draw(most, UINT64_C(1) << 63).ns, 0);
    assert_int_equal(hf_span_smooth((struct hf_span){0}, hf_span_us(80)).ns,
                     80000);
    assert_int_equal(hf_span_smooth(hf_span_us(80), hf_span_us(160)).ns, 90000);
    assert_int_equal(hf_span_smooth(hf_span_us(80), hf_span_us(0)).ns, 70000);
}

static void a_quarantine_lasts_ten_seconds_at_least(void **state)
{
    (void)state;
    assert_int_equal(hf_quarantine_span(1000).ns, hf_span_ms(10000).ns);
    assert_int_equal(hf_quarantine_span(60000).ns, hf_span_ms(60000).ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_survives_the_wire),
        cmocka_unit_test(owner_that_ended),
        cmocka_unit_test(foreign_owners_are_shown_printable),
        cmocka_unit_test(the_longest_owner_fits),
        cmocka_unit_test(owner_at_fence),
        cmocka_unit_test(a_try_is_over_when_taken_but_not_when_split),
        cmocka_unit_test(back_off_grows_and_is_bounded_by_the_rivals_lease),
        cmocka_unit_test(back_off_doubles),
        cmocka_unit_test(a_store_never_reached_ends_a_wait_without_end),
        cmocka_unit_test(a_store_that_refuses_ends_a_wait_without_end),
        cmocka_unit_test(a_queued_attempt_waits_on),
        cmocka_unit_test(a_try_has_no_place_in_a_queue),
        cmocka_unit_test(a_bounded_wait_ends_in_time),
        cmocka_unit_test(the_last_attempt_is_made_just_before_the_end),
        cmocka_unit_test(no_lease_this_short_can_be_had),
        cmocka_unit_test(misses_make_slow_and_an_answer_makes_quick),
        cmocka_unit_test(timeouts_follow_lease_and_round_trip),
        cmocka_unit_test(drift_is_one_percent_and_two_ms),
        cmocka_unit_test(time_saturates),
        cmocka_unit_test(spans_saturate),
        cmocka_unit_test(draws_and_means),
        cmocka_unit_test(a_quarantine_lasts_ten_seconds_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
