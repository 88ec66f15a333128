/* SPDX-License-Identifier: Apache-2.0 */
/* on_state inside a call on the same lock, and for a lock that its caller does
 * not have yet. */
/* link: -Wl,--wrap=clock_gettime,--wrap=hf_store_find */
#include "nested_store.h"

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    (void)user;
    (void)error;
    assert_int_equal(status, HF_OK);
    on.done++;
    on.lock = lock;
    if (lock != NULL) {
        assert_int_equal(on.told, 0);
        assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    }
}

/* ---- No callback before the caller has the handle ----------------------- */

/* The reply is late: when the lock is won, its renewal is overdue. */
static void test_at_risk_in_acquire(void **state)
{
    (void)state;
    on.inner = RELEASE;
    jump_at(HF_VERB_ACQUIRE, AT_RISK_MS, false);
    struct hf_lock *lock = take();
    assert_int_equal(on.told, 0);
    assert_int_equal(hf_lock_state(lock), HF_STATE_AT_RISK);
    node.is_mute = true; /* the renewal is not confirmed yet */
    hf_client_process(on.client);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.last, HF_STATE_AT_RISK);
    assert_int_equal(on.status, HF_OK);
}

/* The handle of two names, in the same way. */
static void test_at_risk_in_acquire_of_two(void **state)
{
    (void)state;
    struct hf_name more = {"second", 6, HF_EXCLUSIVE};
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    request.more = &more;
    request.n_more = 1;
    on.inner = RELEASE;
    jump_at(HF_VERB_ACQUIRE, AT_RISK_MS, false);
    assert_int_equal(hf_lock_acquire(on.client, &request, &lock, NULL), HF_OK);
    assert_int_equal(on.told, 0);
    node.is_mute = true; /* the renewal is not confirmed yet */
    hf_client_process(on.client);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.status, HF_OK);
}

static void test_at_risk_in_adopt(void **state)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    (void)state;
    assert_int_equal(hf_lock_detach(take(), text), HF_OK);
    on.inner = RELEASE;
    jump_at(HF_VERB_CONFIRM, AT_RISK_MS, false);
    assert_int_equal(hf_lock_adopt(on.client, &request, text, &lock, NULL),
                     HF_OK);
    assert_int_equal(on.told, 0);
    node.is_mute = true; /* the renewal is not confirmed yet */
    hf_client_process(on.client);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.status, HF_OK);
}

/* The program runs the client again only after the lease: the lock is won and
 * lost before its callback can run. */
static void lost_before_done(unsigned n_more)
{
    struct hf_name more = {"second", 6, HF_EXCLUSIVE};
    struct hf_request request = want();
    request.more = n_more > 0 ? &more : NULL;
    request.n_more = n_more;
    on.inner = RELEASE;
    assert_int_equal(
        hf_op_start_acquire(on.client, &request, on_done, NULL, NULL, NULL),
        HF_OK);
    /* any call reads the replies and runs timers, but none runs on_done */
    assert_int_equal(hf_lock_release(take()), HF_OK);
    jump_ms(2 * TTL_MS);
    assert_int_equal(hf_lock_release(take()), HF_OK);
    assert_int_equal(on.done, 0);
    assert_int_equal(on.told, 0);
    hf_client_process(on.client);
    assert_int_equal(on.done, 1);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.last, HF_STATE_LOST);
    assert_int_equal(on.status, HF_LOST);
}

static void test_lost_before_done(void **state)
{
    (void)state;
    lost_before_done(0);
}

static void test_two_lost_before_done(void **state)
{
    (void)state;
    lost_before_done(1);
}

/* ---- Calls on the lock of a call that waits ------------------------------ */

static struct hf_lock *take_two(void)
{
    struct hf_name more = {"second", 6, HF_EXCLUSIVE};
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    request.more = &more;
    request.n_more = 1;
    assert_int_equal(hf_lock_acquire(on.client, &request, &lock, NULL), HF_OK);
    return lock;
}

static void test_release_in_extend(void **state)
{
    (void)state;
    assert_int_equal(extend(take(), RELEASE), HF_CANCELLED);
    assert_int_equal(on.status, HF_OK);
}

static void test_start_release_in_extend(void **state)
{
    (void)state;
    assert_int_equal(extend(take(), START_RELEASE), HF_CANCELLED);
}

/* The first name has its reply already. */
static void test_release_in_extend_of_two(void **state)
{
    (void)state;
    struct hf_lock *lock = take_two();
    node.lets = 1;
    assert_int_equal(extend(lock, RELEASE), HF_CANCELLED);
    assert_int_equal(on.status, HF_OK);
}

/* The library's thread releases it while this one waits for the node. */
static void test_release_beside_extend(void **state)
{
    (void)state;
    assert_int_equal(extend(take(), RELEASE), HF_CANCELLED);
}

/* The call that waits goes on. */
static void test_refused_in_extend(void **state)
{
    (void)state;
    const enum inner inner[] = {EXTEND, DETACH, ADD_PROCESS};
    for (int i = 0; i < 3; i++) {
        struct hf_lock *lock = take();
        on.told = 0;
        on.status = HF_INTERNAL;
        assert_int_equal(extend(lock, inner[i]), HF_OK);
        assert_int_equal(on.status, HF_INVALID);
        on.inner = NOTHING;
        assert_int_equal(hf_lock_release(lock), HF_OK);
    }
}

/* `is_done`: the reply has come, and the text is not written yet. */
static void release_in_detach(bool is_done)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock *lock = take();
    on.inner = RELEASE;
    if (is_done) {
        jump_at(HF_VERB_CONFIRM, AT_RISK_MS, false);
    } else {
        change_in_call(HF_VERB_CONFIRM, TTL_MS / 2, true);
    }
    assert_int_equal(hf_lock_detach(lock, text), HF_CANCELLED);
    assert_string_equal(text, "");
    assert_int_equal(on.told, 1);
    assert_int_equal(on.status, HF_OK);
}

static void test_release_in_detach(void **state)
{
    (void)state;
    release_in_detach(false);
    on.told = 0;
    release_in_detach(true);
}

static void test_extend_in_detach(void **state)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock *lock = take();
    (void)state;
    on.inner = EXTEND;
    change_in_call(HF_VERB_CONFIRM, TTL_MS / 2, true);
    assert_int_equal(hf_lock_detach(lock, text), HF_OK);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.status, HF_INVALID);
}

/* The mark is withdrawn: the work must not begin. */
static void test_release_in_mark(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_lock *lock = i == 0 ? take() : take_two();
        struct hf_error error;
        on.told = 0;
        on.inner = RELEASE;
        change_in_call(HF_VERB_MARK, TTL_MS, true);
        assert_int_equal(hf_lock_mark(lock, 1000000, &error), HF_CANCELLED);
        assert_true(error.text[0] != '\0');
        assert_int_equal(on.told, 1);
        assert_int_equal(on.status, HF_LOST);
        assert_int_equal(node.marked, 0);
    }
}

static void test_release_in_unmark(void **state)
{
    (void)state;
    struct hf_lock *lock = take_two();
    on.inner = RELEASE;
    change_in_call(HF_VERB_MARK, TTL_MS, true);
    assert_int_equal(hf_lock_unmark(lock, NULL), HF_OK);
    assert_int_equal(on.told, 1);
    assert_int_equal(on.status, HF_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_release_in_extend, opens, closes),
        cmocka_unit_test_setup_teardown(test_start_release_in_extend, opens,
                                        closes),
        cmocka_unit_test_setup_teardown(test_release_in_extend_of_two, opens,
                                        closes),
        cmocka_unit_test_setup_teardown(test_release_beside_extend, opens_auto,
                                        closes),
        cmocka_unit_test_setup_teardown(test_refused_in_extend, opens, closes),
        cmocka_unit_test_setup_teardown(test_release_in_detach, opens, closes),
        cmocka_unit_test_setup_teardown(test_extend_in_detach, opens, closes),
        cmocka_unit_test_setup_teardown(test_release_in_mark, opens, closes),
        cmocka_unit_test_setup_teardown(test_release_in_unmark, opens, closes),
        cmocka_unit_test_setup_teardown(test_at_risk_in_acquire, opens, closes),
        cmocka_unit_test_setup_teardown(test_at_risk_in_acquire_of_two, opens,
                                        closes),
        cmocka_unit_test_setup_teardown(test_at_risk_in_adopt, opens, closes),
        cmocka_unit_test_setup_teardown(test_lost_before_done, opens, closes),
        cmocka_unit_test_setup_teardown(test_two_lost_before_done, opens,
                                        closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
