/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Semaphores: at most N at once, each with its own; all agree on N. */
#include "client_crowd.h"
#include "client_seen.h"

static const struct hf_request *permit(struct hf_request *request,
                                       const char *name, uint32_t permits,
                                       int64_t ttl_ms, int64_t wait_ms)
{
    *request = want(name, ttl_ms, wait_ms);
    request->permits = permits;
    return request;
}

static struct hf_lock *take_permit(struct hf_client *client, const char *name,
                                   uint32_t permits, int64_t ttl_ms)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    if (hf_lock_acquire(client,
                        permit(&request, name, permits, ttl_ms, PATIENCE_MS),
                        &lock, &error) != HF_OK) {
        fail_msg("a permit of %s: %s: %s", name, hf_status_name(error.status),
                 error.text);
    }
    return lock;
}

static enum hf_status try_permit(struct hf_client *client, const char *name,
                                 uint32_t permits, struct hf_error *error)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    enum hf_status status = hf_lock_acquire(
        client, permit(&request, name, permits, LEASE_MS, 0), &lock, error);
    if (status == HF_OK) {
        hf_lock_release(lock);
    }
    return status;
}

static void assert_none_left(struct hf_client *client, const char *name, int n)
{
    assert_free(client, name);
    for (int i = 0; i < n; i++) {
        assert_free(client, slot_name(name, i));
    }
}

static void run_until_none_left(struct hf_client *client,
                                struct hf_client *other, const char *name)
{
    run_until_free(client, other, name);
    for (int i = 0; i < N; i++) {
        run_until_free(client, other, slot_name(name, i));
    }
}

/* Number of permits that the store shows as held. */
static int count_taken(struct hf_client *client, const char *name, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        struct hf_info *info = inspect(client, slot_name(name, i));
        count += hf_holder_kind(hf_info_holder(info)) != HF_HOLDER_NONE;
        hf_info_free(info);
    }
    return count;
}

static void run_until_holders(struct hf_client *client, struct hf_client *other,
                              const char *name, uint32_t sharers)
{
    int never = 0;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (;;) {
        struct hf_info *info = inspect(other, name);
        uint32_t found = hf_holder_sharers(hf_info_holder(info));
        hf_info_free(info);
        if (found == sharers) {
            return;
        }
        assert_true(now_ms() < end_ms);
        run_loop(client, &never, 1, 2);
    }
}

static struct hf_op *start(struct hf_client *client, const char *name,
                           uint32_t permits, int64_t wait_ms, struct seen *seen)
{
    struct hf_request request;
    struct hf_op *op = NULL;
    struct hf_error error;
    if (hf_op_start_acquire(client,
                            permit(&request, name, permits, LEASE_MS, wait_ms),
                            on_done, seen, &op, &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    return op;
}

/* ---- One after another ------------------------------------------------- */

static void test_each_has_its_own(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *locks[N];
    bool is_used[N] = {false};
    for (int i = 0; i < N; i++) {
        locks[i] = take_permit(i % 2 ? client : other, name, N, LEASE_MS);
        int slot = hf_lock_slot(locks[i]);
        size_t len = 0;
        assert_true(slot >= 0 && slot < N);
        assert_false(is_used[slot]);
        is_used[slot] = true;
        assert_int_equal(hf_lock_count(locks[i]), 1);
        assert_string_equal(hf_lock_name(locks[i], &len), name);
        assert_int_equal(len, strlen(name));
        assert_null(hf_lock_name_at(locks[i], 1, NULL));
        assert_true(hf_lock_fence(locks[i]) > 0);
        assert_int_equal(hf_lock_fence_at(locks[i], 0),
                         hf_lock_fence(locks[i]));
        assert_int_equal(hf_lock_fence_at(locks[i], 1), 0);
        assert_true(hf_lock_valid_for(locks[i], 1000));
        assert_int_equal(hf_lock_state(locks[i]), HF_STATE_HELD);
    }
    struct hf_error error;
    int64_t began_ms = now_ms();
    assert_int_equal(try_permit(client, name, N, &error), HF_BUSY);
    assert_true(now_ms() - began_ms < 4500); /* not until the leases end */
    assert_non_null(
        strstr(error.text, "all 3 permits are taken; one is held by "));
    assert_int_equal(hf_lock_extend(locks[1], 30000, NULL), HF_OK);
    assert_true(hf_lock_valid_for(locks[1], 20000));
    int freed = hf_lock_slot(locks[1]);
    uint64_t fence = hf_lock_fence(locks[1]);
    assert_int_equal(hf_lock_release(locks[1]), HF_OK);
    locks[1] = take_permit(client, name, N, LEASE_MS);
    assert_int_equal(hf_lock_slot(locks[1]), freed);
    assert_true(hf_lock_fence(locks[1]) > fence);
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    assert_none_left(other, name, N);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_all_that_may_be(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client(), *other = open_client();
    static struct hf_lock *locks[HF_PERMITS_MAX];
    for (int i = 0; i < HF_PERMITS_MAX; i++) {
        locks[i] = take_permit(client, name, HF_PERMITS_MAX, LEASE_MS);
    }
    struct hf_error error;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t began_ms;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = try_permit(client, name, HF_PERMITS_MAX, &error);
    } while (is_late(status, began_ms, end_ms));
    if (status == HF_UNAVAILABLE && now_ms() >= end_ms) {
        print_message("too slow for 256 answers in a try: %s\n", error.text);
    } else {
        assert_int_equal(status, HF_BUSY);
        assert_non_null(strstr(error.text, "all 256 permits are taken"));
    }
    for (int i = 0; i < HF_PERMITS_MAX; i++) {
        assert_true(is_released(locks[i]));
    }
    run_until_free(client, other, name);
    run_until_free(client, other, slot_name(name, HF_PERMITS_MAX - 1));
    hf_client_close(client);
    hf_client_close(other);
}

/* ---- Agreement --------------------------------------------------------- */

static void refuse(struct hf_client *client, const char *name, uint32_t permits,
                   int64_t wait_ms, const char *text)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    char line[200];
    int64_t began_ms = now_ms();
    assert_int_equal(
        hf_lock_acquire(client,
                        permit(&request, name, permits, LEASE_MS, wait_ms),
                        &lock, &error),
        HF_INVALID);
    assert_true(now_ms() - began_ms < 10000); /* even with a long wait */
    snprintf(line, sizeof(line), "%s %s", name, text);
    assert_string_equal(error.text, line);
}

static void test_disagreement(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *lock = take_permit(client, name, 3, LEASE_MS);
    refuse(other, name, 5, 0, "is a semaphore of 3 permits, not of 5");
    refuse(other, name, 5, 30000, "is a semaphore of 3 permits, not of 5");
    refuse(other, name, 1, 0, "is a semaphore of 3 permits, not of 1");
    refuse(client, name, 2, HF_WAIT_FOREVER,
           "is a semaphore of 3 permits, not of 2");
    assert_int_equal(try_permit(other, name, 3, NULL), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_none_left(other, name, 5);
    /* Once all are released, a greater or a smaller number is accepted. */
    lock = take_permit(other, name, 5, LEASE_MS);
    refuse(client, name, 3, 0, "is a semaphore of 5 permits, not of 3");
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_none_left(other, name, 5);
    lock = take_permit(other, name, 1, LEASE_MS);
    assert_int_equal(hf_lock_slot(lock), 0);
    assert_int_equal(try_permit(client, name, 1, NULL), HF_BUSY);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_none_left(other, name, 5);
    hf_client_close(client);
    hf_client_close(other);
}

/* The name of a semaphore is busy for exclusive and for shared requests. */
static void test_excludes_other_modes(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *lock = take_permit(client, name, N, LEASE_MS);
    struct hf_lock *reader = NULL;
    struct hf_error error;
    struct hf_request request = want(name, LEASE_MS, 0);
    request.mode = HF_SHARED;
    assert_int_equal(try_take(other, name, NULL), HF_BUSY);
    assert_int_equal(hf_lock_acquire(other, &request, &reader, &error),
                     HF_BUSY);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    lock = take(client, name, LEASE_MS);
    assert_int_equal(try_permit(other, name, N, &error), HF_BUSY);
    assert_null(strstr(error.text, "permits are taken"));
    assert_non_null(strstr(error.text, "held by "));
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_int_equal(hf_lock_acquire(other, &request, &reader, &error), HF_OK);
    assert_int_equal(hf_lock_slot(reader), -1);
    assert_int_equal(try_permit(client, name, N, &error), HF_BUSY);
    assert_int_equal(hf_lock_release(reader), HF_OK);
    assert_none_left(other, name, N);
    hf_client_close(client);
    hf_client_close(other);
}

/* ---- Never more than N ------------------------------------------------- */

static void *crowd_member(void *arg)
{
    struct crowd *crowd = arg;
    struct hf_client *client = open_client();
    for (int i = 0; i < ROUNDS; i++) {
        struct hf_request request;
        struct hf_lock *lock = NULL;
        struct hf_error error;
        permit(&request, crowd->name, N, LEASE_MS, 60000);
        if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
            print_message("%s\n", error.text);
            atomic_fetch_add(&crowd->failures, 1);
            break;
        }
        int slot = hf_lock_slot(lock);
        atomic_fetch_add(&crowd->doubled,
                         !enter(crowd, slot, hf_lock_fence(lock)));
        await_others(crowd);
        pause_ms(i % 2); /* sleeps: other threads get a permit */
        bool is_valid = hf_lock_valid_for(lock, 1);
        leave(crowd, slot);
        atomic_fetch_add(&crowd->failures, !is_released(lock) || !is_valid);
    }
    hf_client_close(client);
    return NULL;
}

static void test_never_more(void **state)
{
    (void)state;
    struct crowd crowd = {.name = fresh_name()};
    pthread_t threads[CROWD];
    struct hf_client *client = open_client();
    for (int i = 0; i < CROWD; i++) {
        pthread_create(&threads[i], NULL, crowd_member, &crowd);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&crowd.doubled), 0);
    assert_int_equal(atomic_load(&crowd.failures), 0);
    assert_int_equal(crowd.most, N); /* and not fewer */
    assert_none_left(client, crowd.name, N);
    hf_client_close(client);
}

#define MEETINGS 40 /* rounds of tries: the order of requests differs */

/* A try waits 100 ms for a permit that another try is about to release. Were
 * all others of a meeting done in half of that, and did this one not stand
 * still, the store answered in time. */
#define MEETING_LATE_MS 50

/* As many tries as permits, at the same time: each gets one. */
struct meeting {
    const char *name;
    pthread_barrier_t barrier;
    atomic_int refused, late;      /* late: released in the background */
    atomic_long slowest[MEETINGS]; /* ms, of those that got a permit */
};

static void note_slowest(atomic_long *slowest, int64_t ms)
{
    long seen = atomic_load(slowest);
    while (ms > seen && !atomic_compare_exchange_weak(slowest, &seen, ms)) {
    }
}

static void *meet(void *arg)
{
    struct meeting *meeting = arg;
    struct hf_client *client = open_client();
    for (int i = 0; i < MEETINGS; i++) {
        struct hf_request request;
        struct hf_lock *lock = NULL;
        permit(&request, meeting->name, N, LEASE_MS, 0);
        pthread_barrier_wait(&meeting->barrier);
        int64_t began_ms = now_ms();
        enum hf_status status = hf_lock_acquire(client, &request, &lock, NULL);
        int64_t took_ms = now_ms() - began_ms;
        if (status == HF_OK) {
            note_slowest(&meeting->slowest[i], took_ms);
        }
        pthread_barrier_wait(&meeting->barrier);
        meeting->refused += status != HF_OK && took_ms < TRY_LATE_MS &&
                            !meeting->late &&
                            meeting->slowest[i] < MEETING_LATE_MS;
        meeting->late |= hf_lock_release(lock) != HF_OK || status != HF_OK;
    }
    hf_client_close(client);
    return NULL;
}

static void test_tries_that_meet(void **state)
{
    (void)state;
    struct meeting meeting = {.name = fresh_name()};
    pthread_t threads[N];
    pthread_barrier_init(&meeting.barrier, NULL, N);
    for (int i = 0; i < N; i++) {
        pthread_create(&threads[i], NULL, meet, &meeting);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&meeting.barrier);
    assert_int_equal(meeting.refused, 0);
}

/* ---- Waiting ----------------------------------------------------------- */

static void test_wait(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct hf_lock *locks[N];
    for (int i = 0; i < N; i++) {
        locks[i] = take_permit(other, name, N, LEASE_MS);
    }
    for (int i = 0; i < N; i++) { /* either of them may be released */
        struct seen seen = {0};
        int never = 0;
        struct hf_waiting *waiting;
        struct hf_op *op = start(client, name, N, HF_WAIT_FOREVER, &seen);
        run_until_holders(client, other, name, N + 1);
        int64_t end_ms = now_ms() + PATIENCE_MS;
        while (!hf_op_waiting(op, &waiting)) {
            assert_true(now_ms() < end_ms);
            run_loop(client, &never, 1, 1);
        }
        assert_string_equal(hf_waiting_name(waiting, NULL), name);
        assert_int_equal(hf_holder_kind(hf_waiting_holder(waiting)),
                         HF_HOLDER_HOLDFAST);
        hf_waiting_free(waiting);
        assert_int_equal(seen.count, 0);
        int slot = hf_lock_slot(locks[i]);
        uint64_t fence = hf_lock_fence(locks[i]);
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
        run_loop(client, &seen.count, 1, PATIENCE_MS);
        if (seen.status != HF_OK) {
            fail_msg("%s", seen.text);
        }
        assert_int_equal(hf_lock_slot(seen.lock), slot);
        assert_true(hf_lock_fence(seen.lock) > fence);
        assert_int_equal(count_taken(other, name, N), N);
        assert_int_equal(hf_lock_release(seen.lock), HF_OK);
        locks[i] = take_permit(other, name, N, LEASE_MS);
    }
    for (int i = 0; i < N; i++) {
        hf_lock_release(locks[i]);
    }
    assert_none_left(other, name, N);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_wait_ends(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_lock *locks[2] = {take_permit(client, name, 2, LEASE_MS),
                                take_permit(client, name, 2, LEASE_MS)};
    struct hf_request request;
    struct hf_lock *lock = (struct hf_lock *)1;
    struct hf_error error;
    int64_t began_ms, end_ms = now_ms() + PATIENCE_MS;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = hf_lock_acquire(
            client, permit(&request, name, 2, LEASE_MS, 400), &lock, &error);
    } while (is_late(status, began_ms, end_ms));
    assert_int_equal(status, HF_BUSY);
    assert_in_range((unsigned long)(now_ms() - began_ms), 300, 6000);
    assert_null(lock);
    assert_non_null(strstr(error.text, "all 2 permits are taken"));
    hf_lock_release(locks[0]);
    hf_lock_release(locks[1]);
    assert_none_left(client, name, 2);
    hf_client_close(client);
}

static void test_cancel(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen seen = {0};
    int never = 0;
    hf_op_cancel(start(client, name, N, 0, &seen)); /* no reply yet */
    run_until_none_left(client, other, name);
    struct hf_lock *locks[N];
    for (int i = 0; i < N; i++) {
        locks[i] = take_permit(other, name, N, LEASE_MS);
    }
    struct hf_op *op = start(client, name, N, HF_WAIT_FOREVER, &seen);
    run_until_holders(client, other, name, N + 1);
    run_loop(client, &never, 1, 20);
    hf_op_cancel(op); /* while it waits */
    run_until_holders(client, other, name, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    run_until_none_left(client, other, name);
    for (int i = 0; i < N; i++) {
        locks[i] = take_permit(other, name, N, LEASE_MS);
    }
    start(client, name, N, HF_WAIT_FOREVER, &seen);
    run_until_holders(client, other, name, N + 1);
    hf_client_close(client); /* while one waits */
    for (int i = 0; i < N; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    assert_none_left(other, name, N);
    assert_int_equal(seen.status, HF_CANCELLED);
    hf_client_close(other);
}

/* ---- Losing ------------------------------------------------------------ */

static void test_dead_holder_is_followed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *dead = open_mode(HF_THREAD_NONE);
    struct hf_client *client = open_client();
    int64_t began_ms = now_ms();
    struct hf_lock *held = take_permit(dead, name, 1, 400);
    struct hf_lock *lock = take_permit(client, name, 1, LEASE_MS);
    assert_in_range((unsigned long)(now_ms() - began_ms), 390, 6000);
    assert_int_equal(hf_lock_state(held), HF_STATE_LOST);
    release_lost(held);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_none_left(client, name, 1);
    hf_client_close(dead);
    hf_client_close(client);
}

/* A broken permit and a broken semaphore both end the handle. */
static void test_broken(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    for (int i = 0; i < 2; i++) {
        struct hf_lock *lock = take_permit(client, name, 2, 600);
        const char *broken =
            i == 0 ? slot_name(name, hf_lock_slot(lock)) : name;
        assert_int_equal(
            hf_client_break(other, broken, strlen(broken), true, NULL, NULL),
            HF_OK);
        enum hf_state news = HF_STATE_HELD;
        int64_t end_ms = now_ms() + PATIENCE_MS;
        struct hf_lock *changed;
        while ((changed = hf_client_next_event(client, &news)) == NULL ||
               news == HF_STATE_AT_RISK) { /* a loaded machine */
            assert_true(now_ms() < end_ms);
            run_loop(client, &(int){0}, 1, 5);
        }
        assert_ptr_equal(changed, lock);
        assert_int_equal(news, HF_STATE_LOST);
        assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
        release_lost(lock);
        assert_null(hf_client_next_event(client, &news));
        assert_none_left(other, name, 2);
    }
    hf_client_close(client);
    hf_client_close(other);
}

static void test_renewed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    int64_t began_ms = now_ms();
    struct hf_lock *locks[2] = {take_permit(client, name, 2, 3000),
                                take_permit(client, name, 2, 3000)};
    int64_t left_ms = INT64_MAX;
    for (int renewals = 0; renewals < 2;) {
        assert_true(now_ms() - began_ms < PATIENCE_MS);
        renewals += was_renewed(locks[0], &left_ms);
        assert_int_equal(try_permit(other, name, 2, NULL), HF_BUSY);
        assert_int_equal(try_take(other, name, NULL), HF_BUSY);
        assert_true(hf_lock_valid_for(locks[0], 1));
        assert_int_not_equal(hf_lock_state(locks[1]), HF_STATE_LOST);
    }
    assert_int_equal(hf_lock_add_process(locks[0], getppid()), HF_OK);
    assert_int_equal(hf_lock_extend(locks[0], LEASE_MS, NULL), HF_OK);
    assert_int_equal(hf_lock_release_reserved(locks[0], 1500), HF_OK);
    assert_int_equal(try_permit(other, name, 2, NULL), HF_BUSY);
    let_go(locks[1]);
    assert_int_equal(try_permit(other, name, 2, NULL), HF_OK);
    assert_none_left(client, name, 2);
    hf_client_close(client);
    hf_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_its_own),
        cmocka_unit_test(test_all_that_may_be),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_excludes_other_modes),
        cmocka_unit_test(test_never_more),
        cmocka_unit_test(test_tries_that_meet),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_wait_ends),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_dead_holder_is_followed),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
