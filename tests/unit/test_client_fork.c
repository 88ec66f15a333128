/* SPDX-License-Identifier: Apache-2.0 */
/* A callback that forks, and returns in the child: there the call ends, and
 * only the parent sends and reads. */
/* link: -Wl,--wrap=clock_gettime,--wrap=hf_store_find */
#include "nested_store.h"

/* In the child, behind the call in which the callback ran: nothing was asked of
 * the parent's node since, not even by another call. */
static void end_child(bool is_as_expected)
{
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    unsigned n_asked = 0;
    if (!on.closes) {
        is_as_expected =
            is_as_expected &&
            hf_lock_acquire(on.client, &request, &lock, NULL) == HF_INVALID;
        hf_client_close(on.client);
    }
    for (unsigned i = 0; i < sizeof(node.n_asked) / sizeof(node.n_asked[0]);
         i++) {
        n_asked += node.n_asked[i];
    }
    _exit(!is_as_expected ? 1 : n_asked > 0 ? 2 : 0);
}

static void await_child(void)
{
    int status = 0;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
}

static void test_fork_in_extend(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_lock *lock = take();
        on.closes = i == 1;
        on.told = 0;
        enum hf_status status = extend(lock, FORK);
        if (on.is_child) {
            end_child(status == HF_CANCELLED);
        }
        await_child();
        assert_int_equal(status, HF_OK);
        assert_int_equal(hf_lock_release(lock), HF_OK);
    }
}

/* What the call has acquired is the parent's. */
static void test_fork_in_acquire(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_request request = want();
        struct hf_lock *first = take();
        struct hf_lock *lock = NULL;
        on.closes = i == 1;
        on.told = 0;
        on.inner = FORK;
        change_in_call(HF_VERB_ACQUIRE, TTL_MS, true);
        enum hf_status status =
            hf_lock_acquire(on.client, &request, &lock, NULL);
        if (on.is_child) {
            end_child(status == HF_CANCELLED && lock == NULL);
        }
        await_child();
        assert_int_equal(status, HF_OK);
        assert_int_equal(on.told, 1);
        assert_int_equal(hf_lock_release(first), HF_LOST);
        assert_int_equal(hf_lock_release(lock), HF_OK);
    }
}

static void on_taken(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    (void)user;
    (void)status;
    (void)error;
    on.done++;
    on.lock = lock;
}

static void on_fork(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct hf_request request = want();
    (void)user;
    (void)error;
    on.status = status;
    if (lock != NULL) {
        hf_op_start_release(lock, NULL, NULL);
        assert_int_equal(hf_op_start_acquire(on.client, &request, on_taken,
                                             NULL, NULL, NULL),
                         HF_OK);
    }
    fork_here();
}

/* The requests of the callback are sent once, by the parent. */
static void test_fork_in_process(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_request request = want();
        on.closes = i == 1;
        on.done = 0;
        on.status = HF_INTERNAL;
        assert_int_equal(
            hf_op_start_acquire(on.client, &request, on_fork, NULL, NULL, NULL),
            HF_OK);
        while (on.status == HF_INTERNAL) {
            hf_client_process(on.client);
        }
        if (on.is_child) {
            hf_client_process(on.closes ? NULL : on.client);
            end_child(on.done == 0);
        }
        await_child();
        assert_int_equal(on.status, HF_OK);
        while (on.done == 0) {
            hf_client_process(on.client);
        }
        assert_int_equal(hf_lock_release(on.lock), HF_OK);
    }
}

/* The callbacks of hf_client_close(): only the parent releases the lock. */
static void test_fork_in_close(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct hf_request request = want();
        assert_int_equal(i == 0 ? 0 : opens(state), 0);
        take();
        node.is_mute = true;
        assert_int_equal(
            hf_op_start_acquire(on.client, &request, on_fork, NULL, NULL, NULL),
            HF_OK);
        node.is_mute = false;
        on.closes = i == 1;
        hf_client_close(on.client);
        if (on.is_child) {
            on.closes = true;
            end_child(on.status == HF_CANCELLED);
        }
        await_child();
        assert_int_equal(on.status, HF_CANCELLED);
    }
    assert_int_equal(opens(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fork_in_extend, opens, closes),
        cmocka_unit_test_setup_teardown(test_fork_in_acquire, opens, closes),
        cmocka_unit_test_setup_teardown(test_fork_in_process, opens, closes),
        cmocka_unit_test_setup_teardown(test_fork_in_close, opens, closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
