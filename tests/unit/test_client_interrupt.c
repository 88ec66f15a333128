/* SPDX-License-Identifier: Apache-2.0 */
/* hf_client_interrupt() while a call waits for the client's mutex, which
 * another call has: it may keep it for seconds, at the gate of the embedded
 * store. */
/* link: -Wl,--wrap=clock_gettime,--wrap=hf_store_find */
/* link: -Wl,--wrap=pthread_mutex_lock */
#include "nested_store.h"

#include <pthread.h>

static bool is_due; /* the interrupt: at the mutex of the next call */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (is_due) {
        is_due = false;
        hf_client_interrupt(on.client);
    }
    return __real_pthread_mutex_lock(mutex);
}

static void test_acquire(void **state)
{
    struct hf_request request = want();
    struct hf_lock *lock = NULL;
    (void)state;
    request.wait_ms = HF_WAIT_FOREVER;
    node.is_mute = true;
    is_due = true;
    assert_int_equal(hf_lock_acquire(on.client, &request, &lock, NULL),
                     HF_CANCELLED);
    assert_null(lock);
    speak();
    assert_non_null(take()); /* a later call is not affected */
}

static void test_extend(void **state)
{
    struct hf_lock *lock = take();
    (void)state;
    node.is_mute = true;
    is_due = true;
    assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_CANCELLED);
    speak();
    assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_acquire, opens, closes),
        cmocka_unit_test_setup_teardown(test_extend, opens, closes),
    };
    return cmocka_run_group_tests_name("client_interrupt", tests, NULL, NULL);
}
