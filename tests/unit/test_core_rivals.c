/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* A refused attempt: when a majority can be free again, and when to give up. */
#include "core/lease.h"
#include "core/retry.h"
#include "nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct attempt {
    struct hf_nodes nodes;
    struct hf_effects effects;
    _Alignas(struct hf_lease) char room[sizeof(struct hf_lease) +
                                        HF_NODES_MAX * sizeof(struct hf_vote)];
};

#define GRANTS INT64_MIN

static struct hf_lease *lease_of(struct attempt *attempt)
{
    return (struct hf_lease *)(void *)attempt->room;
}

/* Each node in order: refused because of a rival with a remaining lease of
 * `left_ms` (negative: without expiry), or granted. */
static void taken(struct attempt *attempt, unsigned count,
                  const int64_t *left_ms)
{
    struct hf_event event = {.kind = HF_EV_ACQUIRE};
    hf_nodes_init(&attempt->nodes, count, hf_span_ms(50), hf_span_ms(1000));
    for (unsigned i = 0; i < count; i++) {
        nodes_set(&attempt->nodes, i, HF_NODE_STATUS_VOTING);
    }
    hf_lease_init(lease_of(attempt), count, hf_span_ms(1000), 0);
    attempt->effects.outcome = HF_OUT_NONE;
    hf_lease_step(lease_of(attempt), &attempt->nodes, &event,
                  &attempt->effects);
    for (unsigned i = 0; i < count && attempt->effects.outcome == HF_OUT_NONE;
         i++) {
        bool grants = left_ms[i] == GRANTS;
        event = (struct hf_event){
            .kind = HF_EV_ANSWER,
            .node = (uint8_t)i,
            .verb = HF_VERB_ACQUIRE,
            .verdict = grants ? HF_VERDICT_OK : HF_VERDICT_REFUSED,
            .counter = 7,
            .rival = 1,
            .left = hf_span_ms_or_max(grants ? 0 : left_ms[i]),
        };
        hf_lease_step(lease_of(attempt), &attempt->nodes, &event,
                      &attempt->effects);
    }
    assert_int_equal(attempt->effects.outcome, HF_OUT_TAKEN);
}

static int64_t free_in_ms(unsigned count, const int64_t *left_ms)
{
    struct attempt attempt;
    taken(&attempt, count, left_ms);
    struct hf_span left = hf_lease_rival_left(lease_of(&attempt));
    return left.ns == INT64_MAX ? INT64_MAX : left.ns / 1000000;
}

/* The k-th shortest of the rivals' leases, if k nodes are missing. */
static void free_once_enough_nodes_are(void **state)
{
    (void)state;
    assert_int_equal(free_in_ms(1, (int64_t[]){400}), 400);
    assert_int_equal(free_in_ms(3, (int64_t[]){900, 400}), 900);
    assert_int_equal(free_in_ms(3, (int64_t[]){GRANTS, 900, 400}), 400);
    assert_int_equal(free_in_ms(5, (int64_t[]){GRANTS, 300, 900, 500}), 500);
    assert_int_equal(free_in_ms(5, (int64_t[]){300, 100, 200}), 300);
}

static void never_free_without_an_expiry(void **state)
{
    (void)state;
    assert_int_equal(free_in_ms(1, (int64_t[]){-1}), INT64_MAX);
    assert_int_equal(free_in_ms(3, (int64_t[]){400, -1}), INT64_MAX);
    assert_int_equal(free_in_ms(3, (int64_t[]){GRANTS, -1, 400}), 400);
}

/* 49 days and more are finite: UINT32_MAX alone means no expiry. */
static void very_long_is_not_for_ever(void **state)
{
    (void)state;
    assert_int_equal(free_in_ms(1, (int64_t[]){UINT32_MAX - 1}),
                     UINT32_MAX - 1);
    assert_int_equal(free_in_ms(1, (int64_t[]){UINT32_MAX}), UINT32_MAX - 1);
    assert_int_equal(free_in_ms(1, (int64_t[]){INT64_C(1) << 40}),
                     UINT32_MAX - 1);
}

/* ---- Giving up --------------------------------------------------------- */

static enum hf_retry_decision tried(enum hf_outcome outcome, bool is_hopeless)
{
    struct attempt attempt;
    struct hf_retry retry;
    taken(&attempt, 1, (int64_t[]){400});
    hf_retry_init(&retry, (struct hf_instant){0}, hf_span_ms(0), true,
                  hf_span_ms(10), hf_span_ms(250), 1);
    struct hf_retry_event event = {
        .outcome = outcome, .is_hopeless = is_hopeless, .now = {1000000}};
    return hf_retry_step(&retry, &attempt.nodes, lease_of(&attempt), &event)
        .decision;
}

static void a_try_without_hope_is_over(void **state)
{
    (void)state;
    assert_int_equal(tried(HF_OUT_UNREACHED, false), HF_RETRY_AGAIN);
    assert_int_equal(tried(HF_OUT_UNREACHED, true), HF_RETRY_UNREACHED);
}

/* A split vote: every node has replied and no client has the lock, so the try
 * continues. Only a lock that is held ends it. */
static void a_try_that_all_have_answered_is_not_without_hope(void **state)
{
    (void)state;
    assert_int_equal(tried(HF_OUT_SPLIT, true), HF_RETRY_AGAIN);
    assert_int_equal(tried(HF_OUT_TOO_SLOW, true), HF_RETRY_AGAIN);
    assert_int_equal(tried(HF_OUT_TAKEN, true), HF_RETRY_BUSY);
}

/* The embedded store replies at once: that is no measure of a round trip. */
static void no_time_is_no_round_trip(void **state)
{
    (void)state;
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 1, hf_span_ms(50), hf_span_ms(1000));
    nodes_reply(&nodes, 0, hf_span_ms(40));
    nodes_reply(&nodes, 0, hf_span_ms(0));
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(200)).ns,
                     hf_span_ms(120).ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_once_enough_nodes_are),
        cmocka_unit_test(never_free_without_an_expiry),
        cmocka_unit_test(very_long_is_not_for_ever),
        cmocka_unit_test(a_try_without_hope_is_over),
        cmocka_unit_test(a_try_that_all_have_answered_is_not_without_hope),
        cmocka_unit_test(no_time_is_no_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
