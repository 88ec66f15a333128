/* SPDX-License-Identifier: Apache-2.0 */
/* The asynchronous form of each call: its callback comes once, from
 * hf_client_process(), with the result. */
#include "client_async.h"

/* ---- Each of them ------------------------------------------------------ */

static void test_extend(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_client *client =
            open_mode(i == 0 ? HF_THREAD_NONE : HF_THREAD_AUTO);
        struct seen seen = {0};
        struct seen second = {0};
        struct hf_error error = {0};
        char name[80];
        char other[80];
        snprintf(name, sizeof(name), "%s", fresh_name());
        snprintf(other, sizeof(other), "%s", fresh_name());
        struct hf_name more = {other, strlen(other), HF_EXCLUSIVE};
        struct hf_request request = want(name, 20000, PATIENCE_MS);
        struct hf_lock *lock = NULL;
        request.more = &more;
        request.n_more = (size_t)i; /* of two names, too */
        assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
        assert_int_equal(
            hf_op_start_extend(lock, LEASE_MS, on_done, &seen, NULL, &error),
            HF_OK);
        assert_int_equal(seen.count, 0);
        await(client, &seen, HF_OK);
        assert_null(seen.lock);
        assert_true(hf_lock_remaining_ms(lock) > 30000);
        assert_int_equal(
            hf_op_start_extend(lock, 1, on_done, &second, NULL, &error),
            HF_INVALID);
        assert_int_equal(hf_lock_release(lock), HF_OK);
        assert_free(client, name);
        assert_int_equal(second.count, 0);
        hf_client_close(client);
    }
}

/* The lock is lost: each operation reports it. */
static void test_lost(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct seen extended = {0};
    struct seen detached = {0};
    struct seen adopted = {0};
    struct hf_lock *lock = take(client, name, LEASE_MS);
    char text[HF_OWNER_TEXT_MAX];
    hf_lock_owner(lock, text);
    break_now(other, name);
    assert_int_equal(
        hf_op_start_extend(lock, 0, on_done, &extended, NULL, NULL), HF_OK);
    await(client, &extended, HF_LOST);
    assert_int_equal(
        hf_op_start_extend(lock, 0, on_done, &extended, NULL, NULL), HF_LOST);
    assert_int_equal(hf_op_start_detach(lock, on_text, &detached, NULL, NULL),
                     HF_OK);
    await(client, &detached, HF_LOST);
    struct hf_request request = want(name, LEASE_MS, 0);
    assert_int_equal(hf_op_start_adopt(client, &request, text, on_done,
                                       &adopted, NULL, NULL),
                     HF_OK);
    await(client, &adopted, HF_LOST);
    assert_null(adopted.lock);
    assert_free(other, name);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_detach_and_adopt(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_client *client =
            open_mode(i == 0 ? HF_THREAD_NONE : HF_THREAD_AUTO);
        struct seen detached = {0};
        struct seen adopted = {0};
        const char *name = fresh_name();
        char text[HF_OWNER_TEXT_MAX];
        struct hf_lock *lock = take(client, name, LEASE_MS);
        uint64_t fence = hf_lock_fence(lock);
        assert_int_equal(
            hf_op_start_detach(lock, on_text, &detached, NULL, NULL), HF_OK);
        assert_true(hf_lock_valid_for(lock, 1000)); /* still */
        await(client, &detached, HF_OK);
        struct hf_request request = want(name, 0, 0);
        request.user = &adopted;
        snprintf(text, sizeof(text), "%s", detached.text);
        assert_int_equal(hf_op_start_adopt(client, &request, text, on_done,
                                           &adopted, NULL, NULL),
                         HF_OK);
        memset(text, 'x', sizeof(text)); /* it was copied */
        await(client, &adopted, HF_OK);
        assert_int_equal(hf_lock_fence(adopted.lock), fence);
        assert_ptr_equal(hf_lock_user(adopted.lock), &adopted);
        assert_int_equal(hf_lock_release(adopted.lock), HF_OK);
        assert_free(client, name);
        hf_client_close(client);
    }
}

static void test_release_reserved(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct seen seen = {0};
    struct hf_lock *lock = take(client, name, LEASE_MS);
    assert_int_equal(hf_op_start_release_reserved(lock, -1, on_done, &seen),
                     HF_INVALID);
    assert_int_equal(hf_op_start_release_reserved(lock, HF_RESERVE_MS_MAX + 1,
                                                  on_done, &seen),
                     HF_INVALID);
    assert_true(hf_lock_valid_for(lock, 1000));
    int64_t began_ms = now_ms();
    assert_int_equal(hf_op_start_release_reserved(lock, 1500, on_done, &seen),
                     HF_OK);
    await(client, &seen, HF_OK);
    lock = take(other, name, LEASE_MS);
    assert_true(now_ms() - began_ms >= 1400);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_inspect_and_queue(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    char name[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    struct hf_lock *lock = take(client, name, LEASE_MS);
    struct seen inspected = {0};
    struct seen queued = {0};
    struct seen stopped = {.stops = true};
    start_inspect(client, name, &inspected, NULL);
    start_queue(client, name, &queued, NULL);
    start_queue(client, name, &stopped, NULL);
    await(client, &inspected, HF_OK);
    const struct hf_holder *holder = hf_info_holder(inspected.info);
    assert_int_equal(hf_holder_kind(holder), HF_HOLDER_HOLDFAST);
    assert_int_equal(hf_holder_pid(holder), getpid());
    hf_info_free(inspected.info);
    await(client, &queued, HF_OK);
    assert_int_equal(queued.told, hf_client_nodes(client));
    await(client, &stopped, HF_OK);
    assert_int_equal(stopped.told, 1);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* More operations than are sent at a time; paused, and cancelled, in
 * between. */
enum { NAMES = 70 };

static void test_list(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_lock *locks[NAMES];
    char prefix[80];
    snprintf(prefix, sizeof(prefix), "%s.", fresh_name());
    for (int i = 0; i < NAMES; i++) {
        char name[100];
        snprintf(name, sizeof(name), "%s%d", prefix, i);
        locks[i] = take(client, name, LEASE_MS);
    }
    struct seen all = {0};
    struct seen stopped = {.stops = true};
    struct seen dropped = {0};
    struct seen none = {0};
    start_list(client, prefix, &all, NULL);
    start_list(client, prefix, &stopped, NULL);
    start_list(client, prefix, &dropped, &dropped.op);
    start_list(client, "no such name", &none, NULL);
    await(client, &all, HF_OK);
    assert_int_equal(all.told, NAMES);
    await(client, &stopped, HF_OK);
    assert_int_equal(stopped.told, 1);
    await(client, &none, HF_OK);
    assert_int_equal(none.told, 0);
    assert_int_equal(dropped.told, 1); /* and no callback after it */
    assert_int_equal(dropped.count, 0);
    for (int i = 0; i < NAMES; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    hf_client_close(client);
}

/* A callback that starts the next operation, and makes blocking calls. */
static void on_again(void *user, struct hf_info *info, enum hf_status status,
                     const struct hf_error *error)
{
    struct seen *seen = user;
    struct hf_info *second = NULL;
    note(seen, status, error);
    hf_info_free(info);
    assert_int_equal(hf_client_inspect(seen->client, "again", 5, &second, NULL),
                     HF_OK);
    hf_info_free(second);
    if (seen->count < 5) {
        assert_int_equal(hf_op_start_inspect(seen->client, "again", 5, on_again,
                                             seen, NULL, NULL),
                         HF_OK);
    }
}

static void test_callback_calls_again(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct seen seen = {.client = client};
    assert_int_equal(
        hf_op_start_inspect(client, "again", 5, on_again, &seen, NULL, NULL),
        HF_OK);
    run_loop(client, &seen.count, 5, PATIENCE_MS);
    assert_int_equal(seen.count, 5);
    assert_int_equal(seen.status, HF_OK);
    hf_client_close(client);
}

/* A store that cannot be reached. */
static void test_unavailable(void **state)
{
    (void)state;
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct seen seen[4] = {0};
    struct hf_request request = want("a", 5000, 0);
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    assert_int_equal(
        hf_client_open("redis+unix:///nowhere/at/all", &options, &client, NULL),
        HF_OK);
    start_inspect(client, "a", &seen[0], NULL);
    start_queue(client, "a", &seen[1], NULL);
    start_list(client, "a", &seen[2], NULL);
    assert_int_equal(
        hf_op_start_adopt(client, &request,
                          "00112233445566778899aabbccddeeff:h:1:2@7", on_done,
                          &seen[3], NULL, NULL),
        HF_OK);
    for (int i = 0; i < 4; i++) {
        await(client, &seen[i], HF_UNAVAILABLE);
        assert_non_null(strstr(seen[i].why, "/nowhere/at/all"));
    }
    hf_client_close(client);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    struct hf_request request = want("a", 5000, 0);
    struct hf_op *op = NULL;
    assert_int_equal(hf_op_start_extend(NULL, 0, on_done, NULL, &op, NULL),
                     HF_INVALID);
    assert_int_equal(hf_op_start_extend(lock, 0, NULL, NULL, &op, NULL),
                     HF_INVALID);
    assert_int_equal(hf_op_start_detach(NULL, on_text, NULL, &op, NULL),
                     HF_INVALID);
    assert_int_equal(hf_op_start_detach(lock, NULL, NULL, &op, NULL),
                     HF_INVALID);
    assert_int_equal(
        hf_op_start_adopt(client, &request, "x", on_done, NULL, &op, NULL),
        HF_INVALID);
    assert_int_equal(
        hf_op_start_inspect(client, "", 0, on_info, NULL, &op, NULL),
        HF_INVALID);
    assert_int_equal(hf_op_start_inspect(client, "a", 1, NULL, NULL, &op, NULL),
                     HF_INVALID);
    assert_int_equal(
        hf_op_start_queue(client, "a", 1, NULL, on_done, NULL, &op, NULL),
        HF_INVALID);
    assert_int_equal(
        hf_op_start_list(NULL, "a", on_name, on_done, NULL, &op, NULL),
        HF_INVALID);
    assert_int_equal(
        hf_op_start_list(client, "a", on_name, NULL, NULL, &op, NULL),
        HF_INVALID);
    assert_null(op);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_detach_and_adopt),
        cmocka_unit_test(test_release_reserved),
        cmocka_unit_test(test_inspect_and_queue),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_callback_calls_again),
        cmocka_unit_test(test_unavailable),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
