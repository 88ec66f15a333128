/* SPDX-License-Identifier: Apache-2.0 */
/* The text about a server that hangs has the time that was waited for it.
 * Started by client_unanswered.t.sh: HF_TEST_URL and HF_PID are one server,
 * with a node_timeout longer than any wait here. */
#include "client_world.h"

static void stop(void)
{
    assert_int_equal(kill((pid_t)atoi(getenv("HF_PID")), SIGSTOP), 0);
}

static int go_on(void **state)
{
    (void)state;
    return kill((pid_t)atoi(getenv("HF_PID")), SIGCONT);
}

/* "no answer in N ms". @return N. */
static int64_t waited_ms(const struct hf_error *error)
{
    static const char text[] = "no answer in ";
    const char *at = strstr(error->text, text);
    if (at == NULL) {
        fail_msg("%s", error->text);
    }
    return strtoll(at + sizeof(text) - 1, NULL, 10);
}

/* A look ends after 0.9 s, however long an answer may take. */
static void test_look(void **state)
{
    (void)state;
    struct hf_info *info;
    struct hf_error error;
    struct hf_client *client = open_client();
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop();
    assert_int_equal(hf_client_inspect(client, "a", 1, &info, &error),
                     HF_UNAVAILABLE);
    assert_int_equal(waited_ms(&error), 900);
    assert_int_equal(go_on(state), 0);
    hf_client_close(client);
}

/* A call for a value ends after 5 s. No lease is concerned, so that no share of
 * one limits the wait. */
static void test_value(void **state)
{
    (void)state;
    struct hf_value *value;
    struct hf_error error;
    struct hf_client *client = open_client();
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop();
    int64_t began = now_ms();
    assert_int_equal(hf_value_get(client, "a", 1, &value, &error),
                     HF_UNAVAILABLE);
    assert_in_range(waited_ms(&error), 4500, now_ms() - began + 2);
    assert_int_equal(go_on(state), 0);
    hf_client_close(client);
}

/* A wait ends when its time is over. */
static void test_short_wait(void **state)
{
    (void)state;
    struct hf_error error;
    struct hf_lock *lock = NULL;
    struct hf_client *client = open_client();
    struct hf_request request = want(fresh_name(), 60000, 100);
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop();
    int64_t began = now_ms();
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_UNAVAILABLE);
    int64_t took = now_ms() - began;
    assert_in_range(waited_ms(&error), 100, took + 2);
    assert_int_equal(go_on(state), 0);
    hf_client_close(client);
}

/* So does a wait for two names. Their first attempts had a try's 900 ms. */
#define SHORT_MS 100
#define TRY_MS 900

static struct hf_request want_two(struct hf_name *second)
{
    struct hf_request request = want(fresh_name(), LEASE_MS, SHORT_MS);
    *second = (struct hf_name){"second", 6, HF_EXCLUSIVE};
    request.more = second;
    request.n_more = 1;
    return request;
}

static void test_short_wait_for_two(void **state)
{
    (void)state;
    struct hf_name second;
    struct hf_error error;
    struct hf_lock *lock = NULL;
    struct hf_client *client = open_client();
    struct hf_request request = want_two(&second);
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop();
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_UNAVAILABLE);
    assert_in_range(waited_ms(&error), SHORT_MS, TRY_MS - 1);
    assert_int_equal(go_on(state), 0);
    hf_client_close(client);
}

static void on_end(void *user, struct hf_lock *lock, enum hf_status status,
                   const struct hf_error *error)
{
    assert_null(lock);
    assert_int_equal(status, HF_UNAVAILABLE);
    *(int64_t *)user = waited_ms(error);
}

static void test_short_wait_for_two_in_a_loop(void **state)
{
    (void)state;
    struct hf_name second;
    int64_t waited = 0;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_request request = want_two(&second);
    struct pollfd fd = {hf_client_fd(client), POLLIN, 0};
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop();
    assert_int_equal(
        hf_op_start_acquire(client, &request, on_end, &waited, NULL, NULL),
        HF_OK);
    int64_t end = now_ms() + PATIENCE_MS;
    while (waited == 0) {
        assert_true(now_ms() < end);
        poll(&fd, 1, 1000);
        hf_client_process(client);
    }
    assert_in_range(waited, SHORT_MS, TRY_MS - 1);
    assert_int_equal(go_on(state), 0);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_look, go_on),
        cmocka_unit_test_teardown(test_value, go_on),
        cmocka_unit_test_teardown(test_short_wait, go_on),
        cmocka_unit_test_teardown(test_short_wait_for_two, go_on),
        cmocka_unit_test_teardown(test_short_wait_for_two_in_a_loop, go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
