/* SPDX-License-Identifier: Apache-2.0 */
/* The event-loop form: one descriptor, one function, callbacks only inside
 * it. */
#include "client_seen.h"
#include "client_world.h"

static void start(struct hf_client *client, const char *name, int64_t wait_ms,
                  struct seen *seen, struct hf_op **op)
{
    struct hf_request request = want(name, LEASE_MS, wait_ms);
    struct hf_error error;
    if (hf_op_start_acquire(client, &request, on_done, seen, op, &error) !=
        HF_OK) {
        fail_msg("start: %s", error.text);
    }
}

static void one_cycle(enum hf_thread_mode mode)
{
    struct hf_client *client = open_mode(mode);
    const char *name = fresh_name();
    struct seen taken = {0};
    struct seen given = {0};
    start(client, name, 0, &taken, NULL);
    assert_int_equal(taken.count, 0); /* never from inside the start */
    run_loop(client, &taken.count, 1, PATIENCE_MS);
    assert_int_equal(taken.count, 1);
    if (taken.status != HF_OK) {
        fail_msg("%s", taken.text);
    }
    assert_true(hf_lock_valid_for(taken.lock, 1000));
    hf_op_start_release(taken.lock, on_done, &given);
    assert_int_equal(given.count, 0);
    run_loop(client, &given.count, 1, PATIENCE_MS);
    assert_int_equal(given.count, 1);
    assert_int_equal(given.status, HF_OK);
    assert_null(given.lock);
    assert_free(client, name);
    hf_client_close(client);
}

static void test_cycle_without_thread(void **state)
{
    (void)state;
    one_cycle(HF_THREAD_NONE);
}

static void test_cycle_with_thread(void **state)
{
    (void)state;
    one_cycle(HF_THREAD_AUTO);
}

static void test_busy(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    const char *name = fresh_name();
    struct hf_lock *held = take(client, name, LEASE_MS);
    struct seen seen = {0};
    start(client, name, 0, &seen, NULL);
    run_loop(client, &seen.count, 1, PATIENCE_MS);
    assert_int_equal(seen.status, HF_BUSY);
    assert_null(seen.lock);
    assert_non_null(strstr(seen.text, "held by "));
    hf_lock_release(held);
    hf_client_close(client);
}

/* ---- Many at once ------------------------------------------------------ */

enum { FLIGHTS = 64, ROUNDS = 20 };

struct flight {
    struct hf_client *client;
    char name[80];
    int rounds;
    int *landed;
};

static void on_taken(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error);

static void take_off(struct flight *flight)
{
    /* a wait, not a try, which is over within a second */
    struct hf_request request = want(flight->name, LEASE_MS, PATIENCE_MS);
    assert_int_equal(hf_op_start_acquire(flight->client, &request, on_taken,
                                         flight, NULL, NULL),
                     HF_OK);
}

static void on_given(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    struct flight *flight = user;
    (void)lock;
    (void)error;
    assert_int_equal(status, HF_OK);
    if (--flight->rounds > 0) {
        take_off(flight);
    } else {
        (*flight->landed)++;
    }
}

static void on_taken(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    if (status != HF_OK) {
        fail_msg("%s", error->text);
    }
    hf_op_start_release(lock, on_given, user);
}

static void test_many_in_flight(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    const char *prefix = fresh_name();
    struct flight flights[FLIGHTS];
    int landed = 0;
    for (int i = 0; i < FLIGHTS; i++) {
        flights[i] = (struct flight){client, "", ROUNDS, &landed};
        snprintf(flights[i].name, sizeof(flights[i].name), "%s.%d", prefix, i);
        take_off(&flights[i]);
    }
    run_loop(client, &landed, FLIGHTS, 3 * PATIENCE_MS);
    assert_int_equal(landed, FLIGHTS);
    /* The round trip was measured: without it a distant node could never
     * vote. */
    struct hf_node *node;
    assert_int_equal(hf_client_node(client, 0, &node), HF_OK);
    assert_true(world_is_local() || hf_node_rtt_us(node) > 0);
    hf_node_free(node);
    hf_client_close(client);
}

/* ---- Cancelling -------------------------------------------------------- */

static void test_cancel_leaves_nothing(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct seen seen = {0};
    struct hf_op *op = NULL;
    int never = 0;
    start(client, name, 0, &seen, &op); /* before the reply */
    hf_op_cancel(op);
    run_loop(client, &never, 1, 30);
    struct hf_lock *held = take(client, name, LEASE_MS);
    start(client, name, HF_WAIT_FOREVER, &seen, &op); /* while it waits */
    run_loop(client, &never, 1, 30);
    hf_op_cancel(op);
    hf_op_cancel(NULL);
    assert_int_equal(hf_lock_release(held), HF_OK);
    run_loop(client, &never, 1, 30);
    assert_free(client, name);
    start(client, name, 0, &seen, &op); /* after it was granted */
    await_granted(other, name);
    hf_op_cancel(op);
    run_loop(client, &never, 1, 30);
    assert_free(client, name);
    assert_int_equal(seen.count, 0);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_close_with_operations(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct seen seen = {0};
    take(client, name, LEASE_MS);
    start(client, name, HF_WAIT_FOREVER, &seen, NULL);
    start(client, "elsewhere", HF_WAIT_FOREVER, &seen, NULL);
    hf_client_close(client);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.status, HF_CANCELLED);
    assert_null(seen.lock);
    assert_free(other, name);
    hf_client_close(other);
}

/* A callback cancels another operation with a queued callback. */
struct pair {
    int called;
    struct hf_op *ops[2];
};

static void on_either(void *user, struct hf_lock *lock, enum hf_status status,
                      const struct hf_error *error)
{
    struct pair *pair = user;
    (void)error;
    assert_int_equal(status, HF_OK);
    pair->called++;
    bool is_first = strcmp(hf_lock_name(lock, NULL), "pair.0") < 0 ||
                    memcmp(hf_lock_name(lock, NULL), "pair.0", 6) == 0;
    hf_op_cancel(pair->ops[is_first ? 1 : 0]);
    hf_op_start_release(lock, NULL, NULL);
}

static void test_callback_cancels(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct pair pair = {0};
    int never = 0;
    const char *names[] = {"pair.0", "pair.1"};
    hf_lock_release(take(client, fresh_name(), LEASE_MS)); /* connected */
    for (int i = 0; i < 2; i++) {
        struct hf_request request = want(names[i], LEASE_MS, 0);
        assert_int_equal(hf_op_start_acquire(client, &request, on_either, &pair,
                                             &pair.ops[i], NULL),
                         HF_OK);
    }
    await_granted(other, names[0]);
    await_granted(other, names[1]); /* both are read at once */
    run_loop(client, &pair.called, 1, PATIENCE_MS);
    run_loop(client, &never, 1, 50);
    assert_int_equal(pair.called, 1);
    assert_free(client, "pair.0");
    assert_free(client, "pair.1");
    hf_client_close(client);
    hf_client_close(other);
}

/* ---- Time -------------------------------------------------------------- */

static void test_loop_renews(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    int64_t began_ms = now_ms();
    struct hf_lock *lock = take(client, name, 3000);
    int64_t left_ms = INT64_MAX;
    int never = 0;
    for (int renewals = 0; renewals < 2;) {
        run_loop(client, &never, 1, 100);
        assert_true(hf_lock_valid_for(lock, 1));
        assert_int_equal(try_take(other, name, NULL), HF_BUSY);
        assert_true(now_ms() - began_ms < PATIENCE_MS);
        renewals += was_renewed(lock, &left_ms);
    }
    let_go(lock);
    hf_client_close(client);
    hf_client_close(other);
}

/* Without work, the descriptor is not readable and the loop sleeps. */
static void test_quiet_while_held(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    int wakes = 0;
    int64_t end_ms = now_ms() + 400;
    while (now_ms() < end_ms) {
        struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
        wakes += poll(&fd, 1, (int)(end_ms - now_ms()));
        hf_client_process(client);
    }
    assert_in_range((unsigned long)wakes, 0, 4);
    hf_lock_release(lock);
    hf_client_close(client);
}

/* ---- Changes ----------------------------------------------------------- */

struct told {
    int count;
    enum hf_state last;
    struct hf_lock *lock;
};

static void on_state(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct told *told = user;
    told->count++;
    told->last = state;
    told->lock = lock;
    assert_int_equal(hf_lock_state(lock), state);
    if (state == HF_STATE_LOST) {
        assert_false(hf_lock_valid_for(lock, 0));
    }
}

static void test_state_callback(void **state)
{
    (void)state;
    struct told told = {0};
    struct hf_client_options options;
    struct hf_client *client;
    enum hf_state news = HF_STATE_HELD;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    options.on_state = on_state;
    options.state_user = &told;
    assert_int_equal(hf_client_open(world_url(), &options, &client, NULL),
                     HF_OK);
    struct hf_lock *lock = take(client, fresh_name(), 400);
    assert_int_equal(told.count, 0);
    struct hf_client *other = open_client();
    const char *name = hf_lock_name(lock, NULL);
    size_t len = 0;
    hf_lock_name(lock, &len);
    assert_int_equal(hf_client_break(other, name, len, true, NULL, NULL),
                     HF_OK);
    /* The next renewal reports it; a late one first that the lease is at
     * risk. */
    for (int n = 1; n <= 2 && told.last != HF_STATE_LOST; n++) {
        run_loop(client, &told.count, n, PATIENCE_MS);
    }
    assert_int_equal(told.last, HF_STATE_LOST);
    assert_ptr_equal(told.lock, lock);
    while (hf_client_next_event(client, &news) != NULL) {
    }
    assert_int_equal(news, HF_STATE_LOST);
    release_lost(lock);
    int before = told.count;
    run_loop(client, &told.count, before + 1, 50);
    assert_int_equal(told.count, before);
    hf_client_close(client);
    hf_client_close(other);
}

/* The library's thread notices the loss; the loop's descriptor becomes
 * readable. */
static void test_event_wakes_the_loop(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, 400);
    struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
    enum hf_state news = HF_STATE_HELD;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    bool found = false;
    assert_int_equal(
        hf_client_break(other, name, strlen(name), true, NULL, NULL), HF_OK);
    while (!found && now_ms() < end_ms) {
        poll(&fd, 1, (int)(end_ms - now_ms()));
        hf_client_process(client);
        /* on a busy machine it is at risk first: a renewal is late */
        found = hf_client_next_event(client, &news) != NULL &&
                news == HF_STATE_LOST;
    }
    assert_true(found);
    release_lost(lock);
    hf_client_close(client);
    hf_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycle_without_thread),
        cmocka_unit_test(test_cycle_with_thread),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_many_in_flight),
        cmocka_unit_test(test_cancel_leaves_nothing),
        cmocka_unit_test(test_close_with_operations),
        cmocka_unit_test(test_callback_cancels),
        cmocka_unit_test(test_loop_renews),
        cmocka_unit_test(test_quiet_while_held),
        cmocka_unit_test(test_state_callback),
        cmocka_unit_test(test_event_wakes_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
