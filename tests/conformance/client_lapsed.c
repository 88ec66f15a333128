/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that is detached after its deadline, which nothing has noticed yet:
 * its client has no thread, or the process stood still. */
#include "client_world.h"

static void on_text(void *user, const char *text, enum hf_status status,
                    const struct hf_error *error)
{
    (void)error;
    assert_null(text);
    *(enum hf_status *)user = status;
}

/* Its deadline has passed, and the client has run nothing since. */
static struct hf_lock *take_lapsed(struct hf_client *client)
{
    struct hf_lock *lock = take(client, fresh_name(), 400);
    while (hf_lock_valid_for(lock, 0)) {
        pause_ms(1);
    }
    return lock;
}

static void test_detach(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    char owner[HF_OWNER_TEXT_MAX];
    assert_int_equal(hf_lock_detach(take_lapsed(client), owner), HF_LOST);
    assert_string_equal(owner, "");
    hf_client_close(client);
}

static void test_start_detach(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = take_lapsed(client);
    enum hf_status status = HF_OK;
    assert_int_equal(hf_op_start_detach(lock, on_text, &status, NULL, NULL),
                     HF_OK);
    hf_client_process(client);
    assert_int_equal(status, HF_LOST);
    hf_client_close(client);
}

static void count_line(void *user, enum hf_log_level level, const char *text)
{
    (void)text;
    *(int *)user += level == HF_LOG_DEBUG;
}

/* The mark of a lock that is lost would keep its next holder from working. So
 * no node is asked. */
static void test_mark(void **state)
{
    (void)state;
    int requests = 0;
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    options.log = count_line;
    options.log_user = &requests;
    assert_int_equal(hf_client_open(world_url(), &options, &client, &error),
                     HF_OK);
    struct hf_lock *lock = take_lapsed(client);
    assert_true(requests > 0);
    requests = 0;
    assert_int_equal(hf_lock_mark(lock, LEASE_MS, &error), HF_LOST);
    assert_int_equal(error.status, HF_LOST);
    assert_int_equal(requests, 0);
    (void)hf_lock_release(lock);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detach),
        cmocka_unit_test(test_start_detach),
        cmocka_unit_test(test_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
