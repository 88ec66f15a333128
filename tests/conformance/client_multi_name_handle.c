/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* One handle for several names: it is held and lost as a whole. */
#include "client_names.h"

/* ---- One handle -------------------------------------------------------- */

static void test_renewed_and_extended(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    int64_t began_ms = now_ms();
    struct hf_lock *lock = take_all(client, names.c, names.b, names.a, 5000);
    enum hf_state news = HF_STATE_HELD;
    int64_t left_ms = INT64_MAX;
    for (int renewals = 0; renewals < 2;) {
        assert_true(now_ms() - began_ms < PATIENCE_MS);
        renewals += was_renewed(lock, &left_ms);
        assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
        assert_int_equal(try_take(other, names.c, NULL), HF_BUSY);
        assert_true(hf_lock_valid_for(lock, 1));
        assert_int_not_equal(hf_lock_state(lock), HF_STATE_LOST);
        pause_ms(10);
    }
    while (hf_client_next_event(client, &news) != NULL) {
        assert_int_not_equal(news, HF_STATE_LOST); /* the machine is loaded */
    }
    assert_int_equal(hf_lock_extend(lock, 30000, NULL), HF_OK);
    assert_true(hf_lock_valid_for(lock, 20000)); /* that is: each lock */
    assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_OK);
    assert_int_equal(hf_lock_add_process(lock, getppid()), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_kept_taken(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_lock *lock =
        take_all(client, names.c, names.b, names.a, LEASE_MS);
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_release_reserved(lock, 1500), HF_OK);
    assert_int_equal(try_take(client, names.a, NULL), HF_BUSY);
    assert_int_equal(try_take(client, names.b, NULL), HF_BUSY);
    assert_int_equal(try_take(client, names.c, NULL), HF_BUSY);
    lock = take_all(client, names.a, names.b, names.c, LEASE_MS);
    assert_in_range((unsigned long)(now_ms() - began_ms), 1490, 8000);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_all_free(client, &names);
    hf_client_close(client);
}

static void test_not_handed_on(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX];
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_lock *lock =
        take_all(client, names.c, names.b, names.a, LEASE_MS);
    struct hf_lock *adopted = NULL;
    struct wish all;
    hf_lock_owner(lock, owner);
    assert_int_equal(
        hf_lock_adopt(client,
                      wish(&all, names.c, names.b, names.a, LEASE_MS, 0), owner,
                      &adopted, NULL),
        HF_UNSUPPORTED);
    assert_int_equal(hf_lock_detach(lock, owner), HF_UNSUPPORTED);
    assert_string_equal(owner, "");
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD); /* still held */
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_all_free(client, &names);
    hf_client_close(client);
}

/* ---- A part that is lost ----------------------------------------------- */

struct told {
    int count;
    enum hf_state last;
    struct hf_lock *lock;
};

static void on_state(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct told *told = user;
    if (state == HF_STATE_AT_RISK) {
        return; /* the machine is loaded */
    }
    told->count++;
    told->last = state;
    told->lock = lock;
    assert_int_equal(hf_lock_state(lock), state);
}

/* The next event but AT_RISK. */
static struct hf_lock *next_end(struct hf_client *client, enum hf_state *news)
{
    struct hf_lock *lock;
    do {
        lock = hf_client_next_event(client, news);
    } while (lock != NULL && *news == HF_STATE_AT_RISK);
    return lock;
}

static struct hf_client *open_told(struct told *told)
{
    struct hf_client_options options;
    struct hf_client *client;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    options.on_state = on_state;
    options.state_user = told;
    assert_int_equal(hf_client_open(world_url(), &options, &client, NULL),
                     HF_OK);
    return client;
}

/* on_state reports the handle once; the other locks are kept until it is
 * released. */
static void test_one_is_lost(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    struct hf_client *other = open_client();
    enum hf_state news = HF_STATE_HELD;
    const char *each[] = {names.a, names.b, names.c};
    for (int i = 0; i < 3; i++) {
        told.count = 0;
        struct hf_lock *lock =
            take_all(client, names.b, names.a, names.c, 5000);
        break_now(other, each[i]);
        /* the next renewal reports it; wait for one of the others, too */
        run_loop(client, &told.count, 1, PATIENCE_MS);
        run_until_renewed(client, other, each[(i + 1) % 3]);
        run_until_renewed(client, other, each[(i + 2) % 3]);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.last, HF_STATE_LOST);
        assert_ptr_equal(told.lock, lock);
        assert_ptr_equal(next_end(client, &news), lock);
        assert_int_equal(news, HF_STATE_LOST);
        assert_null(hf_client_next_event(client, &news));
        assert_false(hf_lock_valid_for(lock, 0));
        assert_int_equal(hf_lock_remaining_ms(lock), 0);
        assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_LOST);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(try_take(other, each[k], NULL),
                             k == i ? HF_OK : HF_BUSY);
        }
        release_lost(lock);
        assert_int_equal(told.count, 1);
        assert_all_free(other, &names);
    }
    hf_client_close(client);
    hf_client_close(other);
}

/* The locks are not renewed: each ends at its deadline, and one callback
 * reports it. */
static void test_all_are_lost(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    enum hf_state news = HF_STATE_HELD;
    struct hf_lock *lock = take_all(client, names.b, names.a, names.c, 300);
    while (hf_lock_valid_for(lock, 0)) {
        pause_ms(5);
    }
    int never = 0;
    run_loop(client, &told.count, 1, PATIENCE_MS);
    run_loop(client, &never, 1, 50); /* all of them */
    assert_int_equal(told.count, 1);
    assert_int_equal(told.last, HF_STATE_LOST);
    assert_ptr_equal(told.lock, lock);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    assert_non_null(next_end(client, &news));
    assert_int_equal(news, HF_STATE_LOST);
    assert_null(hf_client_next_event(client, &news));
    release_lost(lock);
    assert_all_free(client, &names);
    hf_client_close(client);
}

static void test_release_is_told_once(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen given = {0};
    struct hf_lock *lock =
        take_all(client, names.b, names.a, names.c, LEASE_MS);
    hf_op_start_release(lock, on_done, &given);
    run_loop(client, &given.count, 1, PATIENCE_MS);
    run_loop(client, &given.count, 2, 50);
    assert_int_equal(given.count, 1);
    assert_int_equal(given.status, HF_OK);
    assert_all_free(other, &names);
    const char *each[] = {names.a, names.b, names.c};
    for (int i = 0; i < 3; i++) {
        given.count = 0;
        lock = take_all(client, names.b, names.a, names.c, LEASE_MS);
        break_now(other, each[i]);
        hf_op_start_release(lock, on_done, &given);
        run_loop(client, &given.count, 1, PATIENCE_MS);
        run_loop(client, &given.count, 2, 50);
        assert_int_equal(given.count, 1);
        assert_int_equal(given.status, HF_LOST);
        assert_all_free(other, &names);
    }
    lock = take_all(client, names.b, names.a, names.c, LEASE_MS);
    hf_op_start_release(lock, NULL, NULL);
    run_until_all_free(client, other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

/* A name that it held during the wait is lost: it begins again. */
static void test_lost_while_waiting(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.c, LEASE_MS);
    struct seen seen = {0};
    start_all(client, &names, 2000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.b);
    break_now(other, names.a);
    run_until_taken(client, other, names.a);
    assert_int_equal(seen.count, 0);
    assert_int_equal(told.count, 0); /* no handle was returned yet */
    hf_lock_release(held);
    run_loop(client, &seen.count, 1, PATIENCE_MS);
    assert_int_equal(seen.status, HF_OK);
    assert_int_equal(hf_lock_state(seen.lock), HF_STATE_HELD);
    assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
    let_go(seen.lock);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renewed_and_extended),
        cmocka_unit_test(test_kept_taken),
        cmocka_unit_test(test_not_handed_on),
        cmocka_unit_test(test_one_is_lost),
        cmocka_unit_test(test_all_are_lost),
        cmocka_unit_test(test_release_is_told_once),
        cmocka_unit_test(test_lost_while_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
