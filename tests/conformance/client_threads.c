/* SPDX-License-Identifier: Apache-2.0 */
/* One client from many threads; interrupts; signals; forks. */
#include "client_world.h"

/* A lease that is renewed soon, and outlasts a machine that stands still for
 * some seconds when it is due. */
#define RENEWED_LEASE_MS 8000

/* ---- Many threads ------------------------------------------------------ */

enum { THREADS = 64, CYCLES = 20 };

struct crowd {
    struct hf_client *client;
    const char *name;
    int inside; /* guarded only by the lock */
    long total;
    uint64_t last;
    atomic_int failures;
};

static void *crowd_member(void *arg)
{
    struct crowd *crowd = arg;
    for (int i = 0; i < CYCLES; i++) {
        struct hf_request request = want(crowd->name, LEASE_MS, 30000);
        struct hf_lock *lock = NULL;
        if (hf_lock_acquire(crowd->client, &request, &lock, NULL) != HF_OK) {
            atomic_fetch_add(&crowd->failures, 1);
            continue;
        }
        /* relaxed atomics: TSan must not see the test's own race as ours */
        int others = __atomic_fetch_add(&crowd->inside, 1, __ATOMIC_RELAXED);
        uint64_t last = __atomic_load_n(&crowd->last, __ATOMIC_RELAXED);
        bool is_wrong = others != 0 || hf_lock_fence(lock) <= last ||
                        !hf_lock_valid_for(lock, 1);
        __atomic_store_n(&crowd->last, hf_lock_fence(lock), __ATOMIC_RELAXED);
        __atomic_fetch_add(&crowd->total, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&crowd->inside, 1, __ATOMIC_RELAXED);
        if (!is_released(lock) || is_wrong) {
            atomic_fetch_add(&crowd->failures, 1);
        }
    }
    return NULL;
}

static void test_crowd_on_one_name(void **state)
{
    (void)state;
    enum { FEW = 8 };
    struct crowd crowd = {.client = open_client(), .name = fresh_name()};
    pthread_t threads[FEW];
    for (int i = 0; i < FEW; i++) {
        pthread_create(&threads[i], NULL, crowd_member, &crowd);
    }
    for (int i = 0; i < FEW; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&crowd.failures), 0);
    assert_int_equal(crowd.total, FEW * CYCLES);
    hf_client_close(crowd.client);
}

static void *own_name_member(void *arg)
{
    struct crowd *crowd = arg;
    char name[80];
    snprintf(name, sizeof(name), "%s.%lu", crowd->name,
             (unsigned long)pthread_self());
    for (int i = 0; i < CYCLES; i++) {
        /* a wait, not a try, which is over within a second */
        struct hf_request request = want(name, LEASE_MS, PATIENCE_MS);
        struct hf_lock *lock = NULL;
        if (hf_lock_acquire(crowd->client, &request, &lock, NULL) != HF_OK ||
            hf_lock_state(lock) != HF_STATE_HELD || !is_released(lock)) {
            atomic_fetch_add(&crowd->failures, 1);
        }
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    struct crowd crowd = {.client = open_client(), .name = fresh_name()};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, own_name_member, &crowd);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&crowd.failures), 0);
    hf_client_close(crowd.client);
}

/* Any thread may read a lock while it is renewed. */
static void *watcher(void *arg)
{
    struct hf_lock *lock = arg;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t left_ms = INT64_MAX;
    while (!was_renewed(lock, &left_ms)) {
        if (now_ms() > end_ms) {
            return lock;
        }
        if (!hf_lock_valid_for(lock, 1) || hf_lock_fence(lock) == 0 ||
            hf_lock_state(lock) != HF_STATE_HELD ||
            hf_lock_remaining_ms(lock) <= 0) {
            return lock;
        }
        pause_ms(1);
    }
    return NULL;
}

static void test_asked_from_threads(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, fresh_name(), RENEWED_LEASE_MS);
    pthread_t threads[2];
    void *failed[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, watcher, lock);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &failed[i]);
    }
    assert_true(failed[0] == NULL && failed[1] == NULL);
    let_go(lock);
    hf_client_close(client);
}

/* ---- Administration ---------------------------------------------------- */

static void count_finding(void *user, const struct hf_finding *finding)
{
    (*(int *)user) += hf_finding_node(finding) == -1;
}

/* @return NULL, or the client. */
static void *diagnose(void *arg)
{
    struct hf_client *client = arg;
    for (int i = 0; i < CYCLES; i++) {
        int n = 0;
        if (hf_client_diagnose(client, count_finding, &n, NULL) != HF_OK ||
            n != 1) {
            return client;
        }
    }
    return NULL;
}

/* A node does one job at a time, and the others wait. */
static void test_diagnosed_from_threads(void **state)
{
    (void)state;
    enum { FEW = 4 };
    struct hf_client *client = open_client();
    pthread_t threads[FEW];
    void *failed[FEW];
    for (int i = 0; i < FEW; i++) {
        pthread_create(&threads[i], NULL, diagnose, client);
    }
    for (int i = 0; i < FEW; i++) {
        pthread_join(threads[i], &failed[i]);
    }
    for (int i = 0; i < FEW; i++) {
        assert_null(failed[i]);
    }
    hf_client_close(client);
}

/* ---- State changes while other threads ask ------------------------------ */

enum { WATCHED = 24, WATCHERS = 3 };

struct watch {
    struct hf_lock *locks[WATCHED];
    atomic_int told; /* LOST events in on_state */
    atomic_int strange;
};

static void on_lost(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct watch *watch = user;
    size_t len = 0;
    const char *name = hf_lock_name(lock, &len);
    if (state == HF_STATE_LOST && hf_lock_state(lock) == HF_STATE_LOST) {
        atomic_fetch_add(&watch->told, 1);
    }
    if (strlen(name) != len || hf_lock_user(lock) != watch ||
        hf_lock_valid_for(lock, 1) != (state != HF_STATE_LOST)) {
        atomic_fetch_add(&watch->strange, 1);
    }
}

/* Before a deadline they read without a pause. */
#define NEAR_MS 20

/* Until all are LOST. */
static void *ask_all(void *arg)
{
    struct watch *watch = arg;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int lost = 0;
    while (lost < WATCHED && now_ms() < end_ms) {
        int64_t least_ms = PATIENCE_MS;
        lost = 0;
        for (int i = 0; i < WATCHED; i++) {
            struct hf_lock *lock = watch->locks[i];
            lost += hf_lock_state(lock) == HF_STATE_LOST &&
                    hf_lock_fence(lock) != 0 && hf_lock_remaining_ms(lock) == 0;
            int64_t left_ms = hf_lock_remaining_ms(lock);
            least_ms = left_ms < least_ms ? left_ms : least_ms;
        }
        if (least_ms > NEAR_MS) {
            pause_ms(1);
        }
    }
    return lost == WATCHED ? NULL : arg;
}

/* The locks are not renewed. Threads read their state. One of them finds a
 * deadline passed, and on_state is called while the others still read. */
static void test_asked_while_events_come(void **state)
{
    (void)state;
    struct watch watch = {0};
    struct hf_client_options options;
    struct hf_client *client = NULL;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    options.on_state = on_lost;
    options.state_user = &watch;
    assert_int_equal(hf_client_open(world_url(), &options, &client, NULL),
                     HF_OK);
    for (int i = 0; i < WATCHED; i++) {
        struct hf_request request = want(fresh_name(), 400, PATIENCE_MS);
        request.user = &watch;
        assert_int_equal(
            hf_lock_acquire(client, &request, &watch.locks[i], NULL), HF_OK);
    }
    pthread_t threads[WATCHERS];
    void *failed[WATCHERS];
    for (int i = 0; i < WATCHERS; i++) {
        pthread_create(&threads[i], NULL, ask_all, &watch);
    }
    for (int i = 0; i < WATCHERS; i++) {
        pthread_join(threads[i], &failed[i]);
    }
    for (int i = 0; i < WATCHERS; i++) {
        assert_null(failed[i]);
    }
    assert_int_equal(atomic_load(&watch.told), WATCHED);
    assert_int_equal(atomic_load(&watch.strange), 0);
    for (int i = 0; i < WATCHED; i++) {
        hf_lock_release(watch.locks[i]);
    }
    hf_client_close(client);
}

/* ---- Interrupts -------------------------------------------------------- */

struct waiting {
    struct hf_client *client;
    const char *name;
    enum hf_status status;
    struct hf_lock *lock;
    atomic_bool is_over;
    char own_name[80]; /* for work_while_cancelled() */
    enum hf_status own_status;
};

static void *wait_for_it(void *arg)
{
    struct waiting *waiting = arg;
    struct hf_request request = want(waiting->name, LEASE_MS, HF_WAIT_FOREVER);
    waiting->status =
        hf_lock_acquire(waiting->client, &request, &waiting->lock, NULL);
    atomic_store(&waiting->is_over, true);
    return NULL;
}

static void test_interrupted_by_a_thread(void **state)
{
    (void)state;
    enum { WAITERS = 5 };
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    struct hf_lock *held = take(client, name, LEASE_MS);
    struct waiting waiting[WAITERS];
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = (struct waiting){.client = client, .name = name};
        pthread_create(&threads[i], NULL, wait_for_it, &waiting[i]);
    }
    int64_t began_ms = now_ms();
    for (int i = 0; i < WAITERS; i++) {
        /* Several times: an interrupt before a call interrupts nothing. */
        while (!atomic_load(&waiting[i].is_over)) {
            hf_client_interrupt(client);
            pause_ms(20);
        }
        pthread_join(threads[i], NULL);
        assert_int_equal(waiting[i].status, HF_CANCELLED);
        assert_null(waiting[i].lock);
    }
    assert_true(now_ms() - began_ms < 15000); /* not until the lease ends */
    assert_int_equal(hf_lock_state(held), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(client, name);
    assert_int_equal(try_take(client, name, NULL), HF_OK); /* not affected */
    hf_client_close(client);
}

static struct hf_client *signalled;

static void on_signal(int number)
{
    (void)number;
    hf_client_interrupt(signalled);
}

static void test_interrupted_by_a_signal(void **state)
{
    (void)state;
    signalled = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct hf_lock *held = take(other, name, LEASE_MS);
    struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    struct hf_error error;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    /* Several times: a signal that arrives before the call interrupts
     * nothing. */
    struct itimerval soon = {.it_interval = {.tv_usec = 80000},
                             .it_value = {.tv_usec = 80000}};
    struct itimerval never = {.it_value = {.tv_usec = 0}};
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(hf_lock_acquire(signalled, &request, &lock, &error),
                     HF_CANCELLED);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_int_equal(error.status, HF_CANCELLED);
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(other, name);
    hf_client_close(signalled);
    hf_client_close(other);
}

/* ---- Cancelled threads ------------------------------------------------- */

/* The cancellation is pending during all calls: none of them acts upon it. */
static void *work_while_cancelled(void *arg)
{
    struct waiting *waiting = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_cancel(pthread_self());
    wait_for_it(waiting);
    hf_client_process(waiting->client);
    if (waiting->status == HF_OK && !is_released(waiting->lock)) {
        waiting->status = HF_LOST;
    }
    struct hf_client *own = NULL; /* opened, used and closed by this thread */
    struct hf_client_options options;
    hf_client_options_init(&options);
    enum hf_status status = hf_client_open(world_url(), &options, &own, NULL);
    if (status == HF_OK) {
        status = try_take(own, waiting->own_name, NULL);
    }
    hf_client_close(own);
    waiting->own_status = status;
    pthread_testcancel();
    return NULL;
}

/* The client of a cancelled thread serves the others: it reads their replies,
 * and renews their locks. */
static void test_cancelled_threads(void **state)
{
    (void)state;
    enum { WAITERS = 3 };
    struct hf_client *client = open_client();
    struct hf_lock *kept = take(client, fresh_name(), RENEWED_LEASE_MS);
    const char *name = fresh_name();
    struct hf_lock *held = take(client, name, LEASE_MS);
    struct waiting waiting[WAITERS];
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = (struct waiting){.client = client,
                                      .name = name,
                                      .status = HF_INTERNAL,
                                      .own_status = HF_INTERNAL};
        snprintf(waiting[i].own_name, sizeof(waiting[i].own_name), "%s.%d",
                 name, i);
        pthread_create(&threads[i], NULL, work_while_cancelled, &waiting[i]);
    }
    int64_t left_ms = INT64_MAX;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!was_renewed(kept, &left_ms) && now_ms() < end_ms) {
        pause_ms(20);
    }
    assert_int_equal(hf_lock_state(kept), HF_STATE_HELD);
    let_go(held);
    for (int i = 0; i < WAITERS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_int_equal(waiting[i].status, HF_OK);
        assert_int_equal(waiting[i].own_status, HF_OK);
    }
    let_go(kept);
    assert_free(client, name);
    hf_client_close(client);
}

/* ---- Forks ------------------------------------------------------------- */

static int child_uses(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_request request = want("child", LEASE_MS, 0);
    struct hf_lock *mine = NULL;
    struct hf_error error;
    enum hf_state news = HF_STATE_HELD;
    struct hf_info *info;
    char owner[HF_OWNER_TEXT_MAX];
    bool ok = hf_lock_acquire(client, &request, &mine, &error) == HF_INVALID &&
              strstr(error.text, "fork") != NULL &&
              hf_lock_extend(lock, 0, NULL) == HF_INVALID &&
              hf_lock_detach(lock, owner) == HF_INVALID &&
              hf_lock_release(lock) == HF_INVALID &&
              !hf_lock_valid_for(lock, 0) &&
              hf_lock_state(lock) == HF_STATE_LOST &&
              hf_client_inspect(client, "a", 1, &info, NULL) == HF_INVALID &&
              !hf_client_next_event(client, &news) && hf_client_fd(client) < 0;
    hf_client_process(client);
    hf_client_interrupt(client);
    hf_client_close(client);
    /* a client of the child works; TSan does not support threads after a
     * fork */
    struct hf_client_options options;
    struct hf_client *own = NULL;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    ok = ok && hf_client_open(world_url(), &options, &own, NULL) == HF_OK &&
         hf_lock_acquire(own, &request, &mine, NULL) == HF_OK &&
         hf_lock_release(mine) == HF_OK;
    hf_client_close(own);
    return ok ? 0 : 1;
}

/* A step of the loop that a client without a thread needs, also while the child
 * runs. */
static void keep_held(struct hf_client *client, struct hf_lock *lock,
                      int64_t end_ms)
{
    assert_true(now_ms() < end_ms);
    hf_client_process(client);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
}

static void fork_with(enum hf_thread_mode mode)
{
    struct hf_client *client = open_mode(mode);
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, RENEWED_LEASE_MS);
    pid_t child = fork_while_others_sleep();
    if (child == 0) {
        _exit(child_uses(client, lock));
    }
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int status = -1;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        keep_held(client, lock, end_ms);
        pause_ms(20);
    }
    assert_int_equal(ended, child);
    assert_int_equal(status, 0);
    /* the parent's connections are unaffected */
    int64_t left_ms = INT64_MAX;
    end_ms = now_ms() + PATIENCE_MS;
    while (!was_renewed(lock, &left_ms)) {
        keep_held(client, lock, end_ms);
        pause_ms(20);
    }
    assert_int_equal(try_take(other, name, NULL), HF_BUSY);
    let_go(lock);
    assert_free(other, name);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_fork_with_thread(void **state)
{
    (void)state;
    fork_with(HF_THREAD_AUTO);
}

static void test_fork_without_thread(void **state)
{
    (void)state;
    fork_with(HF_THREAD_NONE);
}

/* A blocking call and an event loop at the same time. */
static void on_counted(void *user, struct hf_lock *lock, enum hf_status status,
                       const struct hf_error *error)
{
    (void)error;
    assert_int_equal(status, HF_OK);
    hf_op_start_release(lock, NULL, NULL);
    (*(int *)user)++;
}

static void test_loop_beside_blocking(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    struct hf_lock *held = take(client, name, LEASE_MS);
    struct waiting waiting = {.client = client, .name = name};
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, &waiting);
    for (int i = 0; i < 50; i++) {
        char other[80];
        int called = 0;
        snprintf(other, sizeof(other), "%s.%d", name, i);
        struct hf_request request = want(other, LEASE_MS, 0);
        assert_int_equal(hf_op_start_acquire(client, &request, on_counted,
                                             &called, NULL, NULL),
                         HF_OK);
        run_loop(client, &called, 1, PATIENCE_MS);
        assert_int_equal(called, 1);
    }
    assert_int_equal(hf_lock_release(held), HF_OK);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.status, HF_OK);
    assert_int_equal(hf_lock_release(waiting.lock), HF_OK);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crowd_on_one_name),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_asked_from_threads),
        cmocka_unit_test(test_diagnosed_from_threads),
        cmocka_unit_test(test_asked_while_events_come),
        cmocka_unit_test(test_interrupted_by_a_thread),
        cmocka_unit_test(test_interrupted_by_a_signal),
        cmocka_unit_test(test_cancelled_threads),
        cmocka_unit_test(test_fork_with_thread),
        cmocka_unit_test(test_fork_without_thread),
        cmocka_unit_test(test_loop_beside_blocking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
