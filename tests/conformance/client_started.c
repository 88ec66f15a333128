/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous operations and a cancel token: the callback runs once, with
 * HF_CANCELLED. */
#include "client_seen.h"
#include "client_tokens.h"

static void started(struct hf_client *client, struct hf_request *request,
                    struct seen *seen)
{
    assert_int_equal(
        hf_op_start_acquire(client, request, on_done, seen, NULL, NULL), HF_OK);
}

/* The loop wakes, and each callback runs once; the others still wait. */
static void cancel_started(enum hf_thread_mode mode)
{
    struct hf_client *client = open_mode(mode);
    struct hf_client *other = open_client();
    struct hf_cancel *cancel = new_token();
    struct seen seen[5] = {0};
    int no = 0;
    char name[80];
    char second[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    snprintf(second, sizeof(second), "%s", fresh_name());
    struct hf_lock *held = take(other, name, LEASE_MS);
    struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    started(client, &request, &seen[0]); /* without a token */
    request.cancel = cancel;
    started(client, &request, &seen[1]);
    struct hf_name more = {name, strlen(name), HF_EXCLUSIVE};
    request = want(second, LEASE_MS, HF_WAIT_FOREVER);
    request.cancel = cancel;
    request.more = &more;
    request.n_more = 1;
    started(client, &request, &seen[2]);
    request = want(fresh_name(), LEASE_MS, PATIENCE_MS); /* its callback runs */
    request.cancel = cancel;
    started(client, &request, &seen[3]);
    run_loop(client, &seen[3].count, 1, PATIENCE_MS);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (count_waiting(other, name) < 3) {
        assert_true(now_ms() < end_ms);
        run_loop(client, &no, 1, 5);
    }
    hf_cancel_trigger(cancel);
    run_loop(client, &seen[2].count, 1, PATIENCE_MS);
    run_loop(client, &seen[1].count, 1, PATIENCE_MS);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(seen[i].count, 1);
        assert_int_equal(seen[i].status, HF_CANCELLED);
        assert_null(seen[i].lock);
        assert_string_equal(seen[i].text, "cancelled");
    }
    assert_int_equal(seen[3].status, HF_OK);
    assert_int_equal(hf_lock_release(seen[3].lock), HF_OK);
    assert_int_equal(seen[0].count, 0);
    assert_int_equal(hf_lock_release(held), HF_OK);
    run_loop(client, &seen[0].count, 1, PATIENCE_MS);
    assert_int_equal(seen[0].status, HF_OK);
    assert_int_equal(hf_lock_release(seen[0].lock), HF_OK);
    assert_int_equal(seen[1].count + seen[2].count, 2);
    assert_free(other, name);
    assert_free(other, second);
    hf_client_close(client);
    hf_client_close(other);
    hf_cancel_free(cancel);
}

static void test_started(void **state)
{
    (void)state;
    cancel_started(HF_THREAD_NONE);
    cancel_started(HF_THREAD_AUTO);
}

/* The client's token ends all of them, except a release. */
static void test_started_on_a_client(void **state)
{
    (void)state;
    struct hf_cancel *cancel = new_token();
    struct hf_client *client = open_with(cancel, HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen seen[3] = {0};
    char name[80];
    char mine[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    snprintf(mine, sizeof(mine), "%s", fresh_name());
    struct hf_lock *held = take(other, name, LEASE_MS);
    struct hf_lock *own = take(client, mine, LEASE_MS);
    struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    started(client, &request, &seen[0]);
    started(client, &request, &seen[1]);
    hf_cancel_trigger(cancel);
    hf_op_start_release(own, on_done, &seen[2]);
    for (int i = 0; i < 3; i++) {
        run_loop(client, &seen[i].count, 1, PATIENCE_MS);
        assert_int_equal(seen[i].count, 1);
        assert_int_equal(seen[i].status, i == 2 ? HF_OK : HF_CANCELLED);
    }
    await_waiting(other, name, 0);
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(other, name);
    assert_free(other, mine);
    hf_client_close(client);
    hf_client_close(other);
    hf_cancel_free(cancel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_started),
        cmocka_unit_test(test_started_on_a_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
