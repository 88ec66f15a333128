/* SPDX-License-Identifier: Apache-2.0 */
/* library: holdfast_core */
/* The figures that core promises: shares of a lease, weights, steps. */
#include "core/validity.h"
#include "nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS INT64_C(1000000) /* in ns */

static struct hf_instant at_ms(int64_t ms)
{
    return (struct hf_instant){ms * MS};
}

/* ---- Shares of a lease ------------------------------------------------- */

static void shares_of_a_lease(void **state)
{
    (void)state;
    struct hf_span ttl = hf_span_ms(3000);
    assert_int_equal(hf_drift(ttl).ns, 32 * MS);
    assert_int_equal(hf_validity(ttl).ns, 2968 * MS);
    assert_int_equal(hf_validity_min(ttl).ns, 1000 * MS);
    assert_int_equal(hf_renewal_period(ttl).ns, 1000 * MS);
    assert_int_equal(hf_risk_after(ttl).ns, 1500 * MS);
    assert_int_equal(hf_renewal_retry(ttl).ns, 100 * MS);
    assert_int_equal(hf_renewal_retry(hf_span_ms(20)).ns, 1 * MS);
    assert_int_equal(hf_renewal_slack(ttl).ns, 30 * MS);
    assert_int_equal(hf_renewal_slack(hf_span_ms(20)).ns, MS / 5);
    assert_int_equal(hf_queue_lease(ttl, false).ns, ttl.ns);
    assert_int_equal(hf_queue_lease(hf_span_ms(6001), false).ns, 6000 * MS);
    assert_int_equal(hf_queue_lease(ttl, true).ns, ttl.ns);
    assert_int_equal(hf_queue_lease(hf_span_ms(30001), true).ns, 30000 * MS);
    assert_int_equal(hf_claim_period(hf_span_ms(800)).ns, 100 * MS);
}

/* ---- Nodes ------------------------------------------------------------- */

static struct hf_nodes three_nodes(void)
{
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 3, hf_span_ms(50), hf_span_ms(1000));
    return nodes;
}

/* A new measurement has a weight of one eighth. */
static void round_trips_are_smoothed(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    nodes_reply(&nodes, 1, hf_span_us(800));
    assert_int_equal(nodes.rtt[1].ns, 800000);
    nodes_reply(&nodes, 1, hf_span_us(1600));
    assert_int_equal(nodes.rtt[1].ns, 900000);
    nodes_reply(&nodes, 1, hf_span_us(100));
    assert_int_equal(nodes.rtt[1].ns, 800000);
    nodes_reply(&nodes, 1, (struct hf_span){1});
    assert_int_equal(nodes.rtt[1].ns, 700000 + 1);
    nodes_reply(&nodes, 1, (struct hf_span){0}); /* not measured */
    assert_int_equal(nodes.rtt[1].ns, 700000 + 1);
    assert_int_equal(nodes.rtt[0].ns, 0);
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(1000)).ns, 50 * MS);
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(500)).ns, 25 * MS);
    nodes_reply(&nodes, 2, hf_span_ms(30));
    assert_int_equal(hf_nodes_timeout(&nodes, 2, hf_span_ms(1000)).ns, 90 * MS);
    assert_int_equal(hf_nodes_patience(&nodes, hf_span_ms(1000)).ns, 90 * MS);
    nodes.rtt[0] = hf_span_ms(40);
    assert_int_equal(hf_nodes_patience(&nodes, hf_span_ms(1000)).ns, 120 * MS);
}

/* Else the first request to a distant node would time out. */
static void the_handshake_is_the_first_round_trip(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    struct hf_nodes_event event = {.kind = HF_NODES_EV_STATUS,
                                   .node = 1,
                                   .status = HF_NODE_STATUS_VOTING,
                                   .took = hf_span_ms(240)};
    hf_nodes_step(&nodes, &event);
    assert_int_equal(nodes.rtt[1].ns, 240 * MS);
    assert_int_equal(nodes.rtt[0].ns, 0);
    assert_int_equal(hf_nodes_timeout(&nodes, 1, hf_span_ms(1000)).ns,
                     720 * MS);
    event.took = hf_span_ms(300); /* another handshake before any reply */
    hf_nodes_step(&nodes, &event);
    assert_int_equal(nodes.rtt[1].ns, 300 * MS);
    nodes_reply(&nodes, 1, hf_span_ms(160)); /* the program had not read */
    assert_int_equal(nodes.rtt[1].ns, 160 * MS);
    nodes_reply(&nodes, 1, hf_span_ms(240)); /* one eighth of the difference */
    assert_int_equal(nodes.rtt[1].ns, 170 * MS);
    event.took = hf_span_ms(1);
    hf_nodes_step(&nodes, &event);
    assert_int_equal(nodes.rtt[1].ns, 170 * MS);
    nodes_set(&nodes, 1, HF_NODE_STATUS_DOWN);
    assert_int_equal(nodes.rtt[1].ns, 170 * MS);
    nodes_set(&nodes, 0, HF_NODE_STATUS_VOTING); /* not measured */
    assert_int_equal(nodes.rtt[0].ns, 0);
}

/* For each status; the nodes are independent. */
static void nodes_begin_and_cease_to_listen(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    assert_int_equal(nodes.listening, 0);
    nodes_listen(&nodes, 2, true);
    nodes_listen(&nodes, 2, true);
    assert_int_equal(nodes.listening, 1 << 2);
    nodes_listen(&nodes, 0, true);
    nodes_set(&nodes, 0, HF_NODE_STATUS_DOWN);
    assert_int_equal(nodes.listening, 1 << 2 | 1 << 0);
    nodes_listen(&nodes, 2, false);
    nodes_listen(&nodes, 1, false);
    assert_int_equal(nodes.listening, 1 << 0);
    assert_int_equal(hf_nodes_status(&nodes, 0), HF_NODE_STATUS_DOWN);
}

/* Misses within one timeout count once. After three a node is slow; further
 * misses change nothing. */
static void misses_are_counted_a_timeout_apart(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    nodes_miss(&nodes, 0, at_ms(100));
    nodes_miss(&nodes, 0, at_ms(149));
    assert_int_equal(nodes.misses[0], 1);
    nodes_miss(&nodes, 0, at_ms(150));
    assert_int_equal(nodes.misses[0], 2);
    nodes_miss(&nodes, 0, at_ms(199)); /* less than one timeout after the
                                               last one that counted */
    assert_false(hf_nodes_is_slow(&nodes, 0));
    nodes_miss(&nodes, 0, at_ms(200));
    assert_true(hf_nodes_is_slow(&nodes, 0));
    for (int i = 1; i < 300; i++) {
        nodes_miss(&nodes, 0, at_ms(200 + 50 * i));
    }
    assert_true(hf_nodes_is_slow(&nodes, 0));
}

/* Each event changes its own figure, and no other. */
static void an_event_is_one_change(void **state)
{
    (void)state;
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 3, hf_span_ms(50), hf_span_ms(1000));
    for (int i = 0; i < HF_NODE_MISSES_MAX; i++) {
        nodes_miss(&nodes, 1, at_ms(100 * (i + 1)));
    }
    assert_true(hf_nodes_is_slow(&nodes, 1));
    nodes_listen(&nodes, 1, true);
    nodes_set(&nodes, 1, HF_NODE_STATUS_VOTING);
    assert_true(hf_nodes_is_slow(&nodes, 1));
    assert_int_equal(nodes.listening, 2);
    nodes_reply(&nodes, 1, hf_span_ms(1));
    assert_int_equal(nodes.listening, 2);
    assert_int_equal(nodes.voting, 2);
    for (int i = 1; i < HF_NODE_MISSES_MAX; i++) {
        nodes_miss(&nodes, 1, at_ms(1000 + 100 * i));
    }
    assert_false(hf_nodes_is_slow(&nodes, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_one_change),
        cmocka_unit_test(shares_of_a_lease),
        cmocka_unit_test(round_trips_are_smoothed),
        cmocka_unit_test(the_handshake_is_the_first_round_trip),
        cmocka_unit_test(nodes_begin_and_cease_to_listen),
        cmocka_unit_test(misses_are_counted_a_timeout_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
