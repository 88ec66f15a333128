/* SPDX-License-Identifier: Apache-2.0 */
/* What a store reports of a node: each change once, nothing twice, and each
 * loss of data, also if its status and reason stay the same. */
#include "store/standing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NODE 3 /* of all reports; not the first, which is 0 */

static struct {
    int reports;
    enum hf_node_status status;
    enum hf_status fault;
    bool is_reset;
    char reason[HF_STANDING_REASON_MAX];
} seen;

static struct hf_standing standing;

static void on_status(void *client, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    assert_ptr_equal(client, &seen);
    assert_int_equal(node, NODE);
    seen.reports++;
    seen.status = status;
    seen.fault = fault;
    seen.is_reset = is_reset;
    assert_true(strlen(reason) < sizeof(seen.reason));
    memcpy(seen.reason, reason, strlen(reason) + 1);
}

static void set(enum hf_node_status status, bool is_reset, enum hf_status fault,
                const char *reason)
{
    const struct hf_store_env env = {.client = &seen, .status = on_status};
    hf_standing_set(&standing, &env, NODE, status, is_reset, fault, reason);
}

static void assert_reported(int reports, enum hf_node_status status,
                            bool is_reset, enum hf_status fault,
                            const char *reason)
{
    assert_int_equal(seen.reports, reports);
    assert_int_equal(seen.status, status);
    assert_int_equal(seen.is_reset, is_reset);
    assert_int_equal(seen.fault, fault);
    assert_string_equal(seen.reason, reason);
}

static int begin(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    hf_standing_init(&standing);
    return 0;
}

static void test_each_change_is_reported_once(void **state)
{
    (void)state;
    set(HF_NODE_STATUS_CONNECTING, false, HF_UNAVAILABLE, "connecting");
    assert_int_equal(seen.reports, 0);
    for (int i = 0; i < 2; i++) {
        set(HF_NODE_STATUS_VOTING, false, HF_OK, "");
        assert_reported(1, HF_NODE_STATUS_VOTING, false, HF_OK, "");
    }
    for (int i = 0; i < 2; i++) {
        set(HF_NODE_STATUS_DOWN, false, HF_UNAVAILABLE, "refused");
        assert_reported(2, HF_NODE_STATUS_DOWN, false, HF_UNAVAILABLE,
                        "refused");
    }
    set(HF_NODE_STATUS_DOWN, false, HF_DENIED, "refused");
    assert_reported(3, HF_NODE_STATUS_DOWN, false, HF_DENIED, "refused");
    set(HF_NODE_STATUS_DOWN, false, HF_DENIED, "wrong password");
    assert_reported(4, HF_NODE_STATUS_DOWN, false, HF_DENIED, "wrong password");
    set(HF_NODE_STATUS_CONNECTING, false, HF_DENIED, "wrong password");
    assert_reported(5, HF_NODE_STATUS_CONNECTING, false, HF_DENIED,
                    "wrong password");
}

/* Emptied in its quarantine: the second loss voids the votes that it has given
 * since the first. */
static void test_each_loss_is_reported(void **state)
{
    (void)state;
    for (int i = 1; i <= 3; i++) {
        set(HF_NODE_STATUS_REPAIRING, true, HF_QUARANTINED, "was emptied");
        assert_reported(i, HF_NODE_STATUS_REPAIRING, true, HF_QUARANTINED,
                        "was emptied");
    }
    set(HF_NODE_STATUS_REPAIRING, false, HF_QUARANTINED, "was emptied");
    assert_int_equal(seen.reports, 3);
}

static void test_own_reason_is_kept(void **state)
{
    (void)state;
    set(HF_NODE_STATUS_DOWN, false, HF_DENIED, "wrong password");
    set(HF_NODE_STATUS_CONNECTING, false, HF_DENIED, standing.reason);
    assert_reported(2, HF_NODE_STATUS_CONNECTING, false, HF_DENIED,
                    "wrong password");
}

static void test_long_reason_is_cut(void **state)
{
    char reason[2 * HF_STANDING_REASON_MAX];
    (void)state;
    memset(reason, 'x', sizeof(reason));
    reason[sizeof(reason) - 1] = '\0';
    set(HF_NODE_STATUS_DOWN, false, HF_DENIED, reason);
    assert_int_equal(strlen(seen.reason), HF_STANDING_REASON_MAX - 1);
}

/* The cause answers a request that is not sent, which a quarantine never
 * prevents. */
static void test_cause_is_a_failure(void **state)
{
    const char *reason;
    (void)state;
    assert_int_equal(hf_standing_cause(&standing, &reason), HF_UNAVAILABLE);
    assert_string_equal(reason, "connecting");
    set(HF_NODE_STATUS_VOTING, false, HF_OK, "");
    assert_int_equal(hf_standing_cause(&standing, &reason), HF_UNAVAILABLE);
    assert_string_not_equal(reason, "");
    set(HF_NODE_STATUS_REPAIRING, false, HF_QUARANTINED, "was emptied");
    assert_int_equal(hf_standing_cause(&standing, &reason), HF_UNAVAILABLE);
    assert_string_equal(reason, "was emptied");
    set(HF_NODE_STATUS_DOWN, false, HF_DENIED, "wrong password");
    assert_int_equal(hf_standing_cause(&standing, &reason), HF_DENIED);
    assert_string_equal(reason, "wrong password");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_change_is_reported_once, begin),
        cmocka_unit_test_setup(test_each_loss_is_reported, begin),
        cmocka_unit_test_setup(test_own_reason_is_kept, begin),
        cmocka_unit_test_setup(test_long_reason_is_cut, begin),
        cmocka_unit_test_setup(test_cause_is_a_failure, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
