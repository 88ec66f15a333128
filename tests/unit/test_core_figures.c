/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that core promises: shares of a lease, weights, steps; and each
 * field of the marker that a server is given. */
#include "core/nodes.h"
#include "core/quarantine.h"
#include "core/validity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

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
    assert_int_equal(hf_renewal_slack(ttl).ns, 20 * MS);
    assert_int_equal(hf_renewal_slack(hf_span_ms(1000)).ns, 10 * MS);
    assert_int_equal(hf_queue_lease(ttl).ns, ttl.ns);
    assert_int_equal(hf_queue_lease(hf_span_ms(6001)).ns, 6000 * MS);
    assert_int_equal(hf_claim_period(hf_span_ms(800)).ns, 100 * MS);
}

/* ---- Nodes ------------------------------------------------------------- */

static struct hf_nodes three_nodes(void)
{
    struct hf_nodes nodes;
    hf_nodes_init(&nodes, 3, hf_span_ms(50), hf_span_ms(1000));
    return nodes;
}

/* One eighth of what is new. */
static void round_trips_are_smoothed(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    hf_nodes_answered(&nodes, 1, hf_span_us(800));
    assert_int_equal(nodes.rtt[1].ns, 800000);
    hf_nodes_answered(&nodes, 1, hf_span_us(1600));
    assert_int_equal(nodes.rtt[1].ns, 900000);
    hf_nodes_answered(&nodes, 1, hf_span_us(100));
    assert_int_equal(nodes.rtt[1].ns, 800000);
    hf_nodes_answered(&nodes, 1, (struct hf_span){1});
    assert_int_equal(nodes.rtt[1].ns, 700000 + 1);
    hf_nodes_answered(&nodes, 1, (struct hf_span){0}); /* not measured */
    assert_int_equal(nodes.rtt[1].ns, 700000 + 1);
    assert_int_equal(nodes.rtt[0].ns, 0);
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(1000)).ns, 50 * MS);
    assert_int_equal(hf_nodes_timeout(&nodes, 0, hf_span_ms(500)).ns, 25 * MS);
    hf_nodes_answered(&nodes, 2, hf_span_ms(30));
    assert_int_equal(hf_nodes_timeout(&nodes, 2, hf_span_ms(1000)).ns, 90 * MS);
}

/* Misses of one timeout are one; it takes three; more are no more. */
static void misses_are_counted_a_timeout_apart(void **state)
{
    (void)state;
    struct hf_nodes nodes = three_nodes();
    hf_nodes_missed(&nodes, 0, at_ms(100));
    hf_nodes_missed(&nodes, 0, at_ms(149));
    assert_int_equal(nodes.misses[0], 1);
    hf_nodes_missed(&nodes, 0, at_ms(150));
    assert_int_equal(nodes.misses[0], 2);
    hf_nodes_missed(&nodes, 0, at_ms(199)); /* from the last one counted */
    assert_false(hf_nodes_is_slow(&nodes, 0));
    hf_nodes_missed(&nodes, 0, at_ms(200));
    assert_true(hf_nodes_is_slow(&nodes, 0));
    for (int i = 1; i < 300; i++) {
        hf_nodes_missed(&nodes, 0, at_ms(200 + 50 * i));
    }
    assert_true(hf_nodes_is_slow(&nodes, 0));
}

/* ---- The marker -------------------------------------------------------- */

static struct hf_judgement judge(const struct hf_identity *identity,
                                 const struct hf_marker *marker,
                                 const struct hf_acquaintance *known)
{
    struct hf_judgement out;
    hf_quarantine_judge(identity, marker, known, 60000, 3, true, at_ms(1000),
                        &out);
    return out;
}

static void each_field_of_a_new_marker(void **state)
{
    (void)state;
    const struct hf_identity identity = {.run_id = "run",
                                         .replid = "repl",
                                         .uptime_ms = 5000,
                                         .time_ms = 7000000,
                                         .knows_fsync = true,
                                         .fsync_always = true};
    const struct hf_marker none = {0};
    const struct hf_acquaintance nobody = {0};
    struct hf_judgement out = judge(&identity, &none, &nobody);
    assert_int_equal(out.trust, HF_TRUST_QUARANTINE);
    assert_int_equal(out.until.ns, at_ms(61000).ns);
    assert_true(out.write);
    assert_true(out.marker.exists);
    assert_string_equal(out.marker.value, "");
    assert_string_equal(out.marker.run_id, "run");
    assert_string_equal(out.marker.replid, "repl");
    assert_int_equal(out.marker.until_ms, 7060000);
    assert_int_equal(out.marker.max_ttl_ms, 60000);
    assert_int_equal(out.marker.nodes, 3);
    assert_true(out.marker.fsync_always);
    struct hf_identity unknown = identity;
    unknown.knows_fsync = false; /* then it is not to be relied on */
    assert_false(judge(&unknown, &none, &nobody).marker.fsync_always);
}

/* The end of a quarantine, as another client wrote it, by the server's clock.
 */
static void the_end_that_the_marker_tells(void **state)
{
    (void)state;
    const struct hf_identity identity = {
        .run_id = "run", .replid = "repl", .time_ms = 7000000};
    const struct hf_acquaintance nobody = {0};
    static const struct {
        int64_t until_ms;
        enum hf_trust trust;
        int64_t ours_ms;
    } cases[] = {{0, HF_TRUST_VOTES, 0},
                 {6999999, HF_TRUST_VOTES, 0},
                 {7000000, HF_TRUST_VOTES, 0},
                 {7000001, HF_TRUST_QUARANTINE, 1001},
                 {7030000, HF_TRUST_QUARANTINE, 31000},
                 {9000000, HF_TRUST_QUARANTINE, 61000}}; /* its clock jumped */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hf_marker marker = {.exists = true,
                                   .value = "v",
                                   .run_id = "run",
                                   .replid = "repl",
                                   .until_ms = cases[i].until_ms,
                                   .max_ttl_ms = 60000,
                                   .nodes = 3};
        struct hf_judgement out = judge(&identity, &marker, &nobody);
        assert_int_equal(out.trust, cases[i].trust);
        if (cases[i].trust == HF_TRUST_QUARANTINE) {
            assert_int_equal(out.until.ns, at_ms(cases[i].ours_ms).ns);
        } else {
            assert_int_equal(out.until.ns, HF_LONG_AGO.ns);
        }
        assert_string_equal(out.marker.value, "v");
        assert_false(out.write);
        assert_false(out.forgot);
    }
}

static void a_quarantine_that_ends_now_is_over(void **state)
{
    (void)state;
    const struct hf_identity identity = {
        .run_id = "run", .replid = "repl", .time_ms = 7000000};
    const struct hf_marker marker = {.exists = true,
                                     .value = "v",
                                     .run_id = "run",
                                     .replid = "repl",
                                     .max_ttl_ms = 60000,
                                     .nodes = 3};
    for (int64_t ms = 1000; ms <= 1001; ms++) {
        struct hf_acquaintance known = {
            .has_met = true, .value = "v", .until = at_ms(ms)};
        assert_int_equal(judge(&identity, &marker, &known).trust,
                         ms == 1000 ? HF_TRUST_VOTES : HF_TRUST_QUARANTINE);
    }
}

/* Nobody's fault, and no vote either. */
static void other_settings_have_no_end(void **state)
{
    (void)state;
    const struct hf_identity identity = {.run_id = "run", .replid = "repl"};
    const struct hf_acquaintance nobody = {0};
    struct hf_marker marker = {.exists = true, .max_ttl_ms = 1, .nodes = 3};
    struct hf_judgement out = judge(&identity, &marker, &nobody);
    assert_int_equal(out.trust, HF_TRUST_MISMATCH);
    assert_int_equal(out.until.ns, HF_LONG_AGO.ns);
    assert_false(out.write);
    assert_false(out.forgot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_lease),
        cmocka_unit_test(round_trips_are_smoothed),
        cmocka_unit_test(misses_are_counted_a_timeout_apart),
        cmocka_unit_test(each_field_of_a_new_marker),
        cmocka_unit_test(the_end_that_the_marker_tells),
        cmocka_unit_test(a_quarantine_that_ends_now_is_over),
        cmocka_unit_test(other_settings_have_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
