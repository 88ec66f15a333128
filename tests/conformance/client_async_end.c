/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous operations that end early. The callback runs once, with
 * HF_CANCELLED, after a close, a cancel token or a release of the lock; it
 * never runs after hf_op_cancel(). */
#include "client_async.h"

/* ---- Cancelling, closing ----------------------------------------------- */

enum { KINDS = 7 };

/* One operation of each kind, each on its own name. @return those that have an
 * operation. */
static void start_all(struct hf_client *client, struct hf_lock *locks[KINDS],
                      const char *text, const char *handed,
                      struct seen seen[KINDS], struct hf_op *ops[KINDS])
{
    struct hf_request request = want(handed, LEASE_MS, 0);
    const char *name = hf_lock_name(locks[0], NULL);
    assert_int_equal(
        hf_op_start_extend(locks[0], 0, on_done, &seen[0], &ops[0], NULL),
        HF_OK);
    assert_int_equal(
        hf_op_start_detach(locks[1], on_text, &seen[1], &ops[1], NULL), HF_OK);
    assert_int_equal(hf_op_start_adopt(client, &request, text, on_done,
                                       &seen[2], &ops[2], NULL),
                     HF_OK);
    start_inspect(client, name, &seen[3], &ops[3]);
    start_queue(client, name, &seen[4], &ops[4]);
    start_list(client, name, &seen[5], &ops[5]);
    assert_int_equal(
        hf_op_start_release_reserved(locks[2], 1, on_done, &seen[6]), HF_OK);
    ops[6] = NULL;
}

struct all {
    struct hf_client *client;
    struct hf_client *other;
    char names[4][80];
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock *locks[KINDS];
    struct seen seen[KINDS];
    struct hf_op *ops[KINDS];
};

static void all_start(struct all *all, struct hf_cancel *cancel)
{
    memset(all, 0, sizeof(*all));
    all->client = open_with(cancel, HF_THREAD_NONE);
    all->other = open_client();
    for (int i = 0; i < 4; i++) {
        snprintf(all->names[i], sizeof(all->names[i]), "%s", fresh_name());
        all->locks[i] = take(all->client, all->names[i], LEASE_MS);
    }
    assert_int_equal(hf_lock_detach(all->locks[3], all->text), HF_OK);
    start_all(all->client, all->locks, all->text, all->names[3], all->seen,
              all->ops);
}

static void all_are(const struct all *all, int count, enum hf_status status)
{
    for (int i = 0; i < KINDS; i++) {
        if (all->seen[i].count != count) {
            fail_msg("%d: called %d times", i, all->seen[i].count);
        }
        if (count > 0 && all->seen[i].status != status) {
            fail_msg("%d: %s: %s", i, hf_status_name(all->seen[i].status),
                     all->seen[i].why);
        }
        assert_int_equal(all->seen[i].told, 0);
        assert_null(all->seen[i].lock);
        assert_null(all->seen[i].info);
    }
}

/* Until there is a reply to be read; or, of a store that executes what it was
 * sent before that, all of them. */
static void await_replies(struct all *all)
{
    struct pollfd fd = {hf_client_fd(all->client), POLLIN, 0};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    if (world_executes_unread()) {
        /* The release is the last of them. A second look: it is answered */
        assert_free(all->other, all->names[2]);
        assert_free(all->other, all->names[2]);
    }
}

/* Whether or not the replies have arrived. A detached lock stays detached;
 * every other name is free. */
static void test_close_in_flight(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct all all;
        all_start(&all, NULL);
        if (i > 0) {
            await_replies(&all);
        }
        hf_client_close(all.client);
        all_are(&all, 1, HF_CANCELLED);
        for (int k = 0; k < 2; k++) {
            assert_free(all.other, all.names[k]);
        }
        assert_int_equal(try_take(all.other, all.names[3], NULL), HF_BUSY);
        assert_int_equal(hf_owner_release(all.other, all.names[3],
                                          strlen(all.names[3]), all.text, NULL),
                         HF_OK);
        hf_client_close(all.other);
    }
}

/* A cancelled operation never calls back; the locks are still held. */
static void test_cancel_each(void **state)
{
    (void)state;
    struct all all;
    int no = 0;
    all_start(&all, NULL);
    for (int i = 0; i < KINDS; i++) {
        hf_op_cancel(all.ops[i]);
    }
    run_loop(all.client, &all.seen[6].count, 1, PATIENCE_MS);
    assert_int_equal(all.seen[6].status, HF_OK);
    run_loop(all.client, &no, 1, 50);
    all.seen[6].count = 0;
    all_are(&all, 0, HF_OK);
    assert_true(hf_lock_valid_for(all.locks[0], 1000));
    assert_true(hf_lock_valid_for(all.locks[1], 1000));
    assert_int_equal(hf_lock_extend(all.locks[1], 0, NULL), HF_OK);
    assert_int_equal(hf_lock_release(all.locks[0]), HF_OK);
    assert_int_equal(hf_lock_release(all.locks[1]), HF_OK);
    assert_int_equal(hf_owner_release(all.other, all.names[3],
                                      strlen(all.names[3]), all.text, NULL),
                     HF_OK);
    hf_client_close(all.client);
    hf_client_close(all.other);
}

/* A token ends each operation that has no reply yet, except the release. An
 * operation that has its reply may end with its result. */
static void test_token(void **state)
{
    (void)state;
    struct all all;
    struct hf_cancel *cancel = new_token();
    all_start(&all, cancel);
    hf_cancel_trigger(cancel);
    for (int i = 0; i < KINDS; i++) {
        run_loop(all.client, &all.seen[i].count, 1, PATIENCE_MS);
        assert_int_equal(all.seen[i].count, 1);
        assert_true(all.seen[i].status == HF_OK ||
                    (i < 6 && all.seen[i].status == HF_CANCELLED));
        hf_info_free(all.seen[i].info);
    }
    assert_int_equal(
        hf_op_start_extend(all.locks[0], 0, on_done, &all.seen[0], NULL, NULL),
        HF_CANCELLED);
    assert_int_equal(hf_lock_release(all.locks[0]), HF_OK);
    if (all.seen[1].status == HF_OK) {
        assert_int_equal(hf_owner_release(all.other, all.names[1],
                                          strlen(all.names[1]),
                                          all.seen[1].text, NULL),
                         HF_OK);
    }
    if (all.seen[2].status != HF_OK) { /* not adopted: still detached */
        assert_int_equal(hf_owner_release(all.other, all.names[3],
                                          strlen(all.names[3]), all.text, NULL),
                         HF_OK);
    }
    hf_client_close(all.client);
    for (int i = 0; i < 4; i++) {
        assert_free(all.other, all.names[i]);
    }
    hf_client_close(all.other);
    hf_cancel_free(cancel);
}

/* One operation at a time on a lock. A release ends it, and need not wait for
 * it. */
static void test_release_ends_it(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct hf_client *client = open_mode(HF_THREAD_NONE);
        struct hf_client *other = open_client();
        const char *name = fresh_name();
        struct seen seen = {0};
        struct seen second = {0};
        char text[HF_OWNER_TEXT_MAX];
        struct hf_lock *lock = take(client, name, LEASE_MS);
        if (i % 2 == 0) {
            assert_int_equal(
                hf_op_start_extend(lock, 0, on_done, &seen, NULL, NULL), HF_OK);
        } else {
            assert_int_equal(
                hf_op_start_detach(lock, on_text, &seen, NULL, NULL), HF_OK);
        }
        enum hf_status again =
            hf_op_start_detach(lock, on_text, &second, NULL, NULL);
        if (i % 2 == 1) { /* the extension may have succeeded already */
            assert_int_equal(again, HF_INVALID);
            assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_INVALID);
            assert_int_equal(hf_lock_detach(lock, text), HF_INVALID);
            assert_int_equal(hf_lock_add_process(lock, getpid()), HF_INVALID);
        }
        if (i < 2) {
            assert_int_equal(hf_lock_release(lock), HF_OK);
        } else {
            hf_op_start_release(lock, NULL, NULL);
        }
        run_loop(client, &seen.count, 1, PATIENCE_MS);
        assert_int_equal(seen.count, 1);
        assert_true(seen.status == HF_CANCELLED ||
                    (i % 2 == 0 && seen.status == HF_OK));
        assert_string_equal(seen.text, "");
        if (again == HF_OK) {
            await(client, &second, HF_CANCELLED);
        }
        assert_free(other, name);
        hf_client_close(client);
        hf_client_close(other);
    }
}

/* A callback closes the client. */
static void test_close_in_a_result(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hf_client *client = open_mode(HF_THREAD_NONE);
        struct hf_client *other = open_client();
        struct seen seen = {.client = client, .closes = true};
        const char *name = fresh_name();
        take(client, name, LEASE_MS);
        if (i == 0) {
            start_list(client, name, &seen, NULL);
        } else {
            start_queue(client, name, &seen, NULL);
        }
        int fd = hf_client_fd(client);
        for (int64_t end_ms = now_ms() + PATIENCE_MS; seen.count == 0;) {
            struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
            assert_true(now_ms() < end_ms);
            poll(&poll_fd, 1, 1000);
            hf_client_process(client);
        }
        assert_int_equal(seen.told, 1);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.status, HF_CANCELLED);
        assert_free(other, name);
        hf_client_close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_in_flight),
        cmocka_unit_test(test_cancel_each),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_release_ends_it),
        cmocka_unit_test(test_close_in_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
