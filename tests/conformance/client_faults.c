/* SPDX-License-Identifier: Apache-2.0 */
/* The client on servers that are stopped, dead, or refuse. Started by
 * client_faults.t.sh: HF_ONE_URL and HF_ONE_PID name one server, HF_TEST_URL
 * and HF_PIDS five, HF_SECRET_URL one with a password. */
#include "client_world.h"

static pid_t one_pid(void)
{
    return (pid_t)atoi(getenv("HF_ONE_PID"));
}

static pid_t five_pid(int idx)
{
    const char *at = getenv("HF_PIDS");
    char *end = NULL;
    long pid = 0;
    for (int i = 0; i <= idx; i++) {
        pid = strtol(at, &end, 10);
        at = end;
    }
    assert_true(pid > 1);
    return (pid_t)pid;
}

/* @return the state of a process or thread: 'T' stopped, 'S' asleep. */
static char state_of(const char *path)
{
    char text[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    const char *end = strrchr(text, ')');
    assert_non_null(end);
    return end[2];
}

static bool is_stopped(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return state_of(path) == 'T';
}

/* Until a thread of this process, which sets `tid` before its call, sleeps in
 * that. */
static void await_asleep(const atomic_int *tid)
{
    char path[64] = "";
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (path[0] == '\0' || state_of(path) != 'S') {
        assert_true(now_ms() < end_ms);
        pause_ms(1);
        if (atomic_load(tid) != 0) {
            snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
                     atomic_load(tid));
        }
    }
}

static void stop(pid_t pid)
{
    assert_int_equal(kill(pid, SIGSTOP), 0);
    while (!is_stopped(pid)) {
        pause_ms(1);
    }
}

static void go_on(pid_t pid)
{
    assert_int_equal(kill(pid, SIGCONT), 0);
}

static int go_on_all(void **state)
{
    (void)state;
    go_on(one_pid());
    for (int i = 0; i < 5; i++) {
        go_on(five_pid(i));
    }
    return 0;
}

static struct hf_client *open_at(const char *url, enum hf_thread_mode mode)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = mode;
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        fail_msg("open: %s", error.text);
    }
    return client;
}

static struct hf_client *open_one(void)
{
    return open_at(getenv("HF_ONE_URL"), HF_THREAD_AUTO);
}

/* ---- A holder ---------------------------------------------------------- */

static void await_state(struct hf_lock *lock, enum hf_state state,
                        int64_t for_ms)
{
    int64_t end_ms = now_ms() + for_ms;
    while (hf_lock_state(lock) != state && now_ms() < end_ms) {
        pause_ms(1);
    }
    assert_int_equal(hf_lock_state(lock), state);
}

static void test_at_risk_then_lost(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    struct hf_lock *lock = take(client, fresh_name(), 3000);
    enum hf_state news = HF_STATE_HELD;
    stop(one_pid());
    int64_t began_ms = now_ms();
    await_state(lock, HF_STATE_AT_RISK, PATIENCE_MS);
    assert_true(hf_lock_valid_for(lock, 50));
    assert_non_null(hf_client_next_event(client, &news));
    assert_int_equal(news, HF_STATE_AT_RISK);
    for (int64_t at_ms = now_ms(); hf_lock_valid_for(lock, 0);
         at_ms = now_ms()) {
        assert_true(at_ms - began_ms < 3000); /* never after its end */
    }
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    /* The timer of the library's thread reports it, too. */
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!hf_client_next_event(client, &news) && now_ms() < end_ms) {
        pause_ms(1);
    }
    assert_int_equal(news, HF_STATE_LOST);
    go_on(one_pid());
    /* By then the client has read the server's late replies. */
    assert_int_equal(hf_lock_release(take(client, fresh_name(), LEASE_MS)),
                     HF_OK);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    hf_client_close(client);
}

static void test_at_risk_then_held(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    struct hf_lock *lock = take(client, fresh_name(), 4000);
    stop(one_pid());
    await_state(lock, HF_STATE_AT_RISK, PATIENCE_MS);
    go_on(one_pid());
    await_state(lock, HF_STATE_HELD, PATIENCE_MS);
    let_go(lock);
    hf_client_close(client);
}

static void test_extend_unconfirmed(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    struct hf_error error;
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    stop(one_pid());
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_extend(lock, 0, &error), HF_UNAVAILABLE);
    assert_true(now_ms() - began_ms < 8000); /* not until the lease ends */
    assert_non_null(strstr(error.text, "no answer in"));
    assert_true(hf_lock_valid_for(lock, 8000));
    go_on(one_pid());
    assert_int_equal(hf_lock_extend(lock, 0, &error), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

static void test_release_unconfirmed(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_one();
    struct hf_client *other = open_one();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    stop(one_pid());
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_release(lock), HF_UNKNOWN);
    assert_true(now_ms() - began_ms < 8000); /* not until the lease ends */
    go_on(one_pid());
    assert_free(other, name); /* finished in the background */
    hf_client_close(client);
    hf_client_close(other);
}

static void test_close_is_bounded(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    for (int i = 0; i < 100; i++) {
        take(client, fresh_name(), LEASE_MS);
    }
    stop(one_pid());
    int64_t began_ms = now_ms();
    hf_client_close(client);
    assert_true(now_ms() - began_ms < 8000); /* not until the leases end */
    go_on(one_pid());
}

/* Lost while the call waited for a server that never replied. */
static void test_given_too_late(void **state)
{
    (void)state;
    stop(five_pid(4));
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, fresh_name(), 900);
    char owner[HF_OWNER_TEXT_MAX];
    for (int i = 0; i < 4; i++) {
        stop(five_pid(i));
    }
    while (hf_lock_remaining_ms(lock) > 20) {
        pause_ms(1);
    }
    assert_int_equal(hf_lock_detach(lock, owner), HF_LOST);
    assert_string_equal(owner, "");
    go_on_all(NULL);
    hf_client_close(client);
}

/* ---- Acquiring --------------------------------------------------------- */

static bool is_up(struct hf_client *client, int idx)
{
    struct hf_node *node = NULL;
    assert_int_equal(hf_client_node(client, idx, &node), HF_OK);
    bool up = hf_node_health(node) == HF_NODE_UP;
    hf_node_free(node);
    return up;
}

/* Three of five nodes suffice for a lock, so the client may still be connecting
 * to the others. It goes on connecting as long as it holds a lock. */
static void await_all_up(struct hf_client *client)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    for (int i = 0; i < hf_client_nodes(client); i++) {
        while (!is_up(client, i) && now_ms() < end_ms) {
            pause_ms(1);
        }
        assert_true(is_up(client, i));
    }
    assert_int_equal(hf_lock_release(lock), HF_OK);
}

/* A node that had no script when ACQUIRE arrived, and executes it after the
 * RELEASE, never has the lock; and two of five nodes do not confirm a
 * release. */
static void await_everywhere(struct hf_client *client, const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int holders = 0;
    while (holders < hf_client_nodes(client) && now_ms() < end_ms) {
        struct hf_info *info = inspect(client, name);
        holders = 0;
        for (int i = 0; i < hf_info_nodes(info); i++) {
            holders += hf_holder_kind(hf_info_node_holder(info, i)) ==
                       HF_HOLDER_HOLDFAST;
        }
        hf_info_free(info);
    }
    assert_int_equal(holders, hf_client_nodes(client));
}

static void test_minority_is_silent(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    await_all_up(client);
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    await_everywhere(client, name);
    stop(five_pid(1));
    stop(five_pid(3));
    assert_int_equal(hf_lock_release(lock), HF_OK);
    int64_t began_ms = now_ms();
    for (int i = 0; i < 100; i++) {
        lock = take(client, fresh_name(), LEASE_MS);
        assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
        assert_int_equal(hf_lock_release(lock), HF_OK);
    }
    /* No call waited for the two stopped nodes: that would take 200 s. */
    assert_true(now_ms() - began_ms < 20000);
    go_on_all(NULL);
    hf_client_close(client);
}

static void test_silent_from_the_start(void **state)
{
    (void)state;
    stop(five_pid(0));
    stop(five_pid(4));
    struct hf_client *client = open_client();
    int64_t began_ms = now_ms();
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    assert_true(now_ms() - began_ms < 8000); /* not until connect_timeout */
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
    go_on_all(NULL);
}

static void test_majority_is_silent(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_error error;
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    for (int i = 0; i < 3; i++) {
        stop(five_pid(i));
    }
    int64_t began_ms = now_ms();
    assert_int_equal(try_once(client, name, &error), HF_UNAVAILABLE);
    assert_true(now_ms() - began_ms < 8000); /* not until connect_timeout */
    assert_non_null(strstr(error.text, "no majority (2 of 5 nodes): "));
    int named = 1; /* the error gives the reason of each of the three */
    for (const char *at = error.text; (at = strstr(at, "; ")) != NULL; at++) {
        named++;
    }
    assert_int_equal(named, 3);
    assert_non_null(strstr(error.text, "no answer in"));
    go_on_all(NULL);
    struct hf_client *other = open_client();
    assert_free(other, name);
    hf_client_close(other);
    hf_client_close(client);
}

/* Reached before: it waits through an outage. */
static void *go_on_when_missed(void *client)
{
    while (is_up(client, 0)) {
        pause_ms(1);
    }
    go_on(one_pid());
    return NULL;
}

static void test_waits_through_an_outage(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    stop(one_pid());
    pthread_t thread;
    pthread_create(&thread, NULL, go_on_when_missed, client);
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    pthread_join(thread, NULL);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* Several times: a signal that arrives before the call interrupts nothing. */
struct interrupter {
    struct hf_client *client;
    atomic_bool is_over;
};

static void *interrupt_soon(void *user)
{
    struct interrupter *interrupter = user;
    while (!atomic_load(&interrupter->is_over)) {
        pause_ms(50);
        hf_client_interrupt(interrupter->client);
    }
    return NULL;
}

static void test_interrupted_while_silent(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_one();
    struct hf_client *other = open_one();
    struct hf_request request = want(name, 5000, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    assert_int_equal(try_take(other, fresh_name(), NULL), HF_OK);
    stop(one_pid());
    pthread_t thread;
    struct interrupter interrupter = {.client = client};
    pthread_create(&thread, NULL, interrupt_soon, &interrupter);
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL),
                     HF_CANCELLED);
    atomic_store(&interrupter.is_over, true);
    pthread_join(thread, NULL);
    go_on(one_pid());
    assert_free(other, name);
    hf_client_close(client);
    hf_client_close(other);
}

/* A cancel token, in an outage that began before the call, or during a wait in
 * a queue; also for calls that do not acquire. */
struct outage {
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock;
    atomic_int tid;
    atomic_int step;
    enum hf_status statuses[4];
};

static void *call_through(void *user)
{
    struct outage *outage = user;
    struct hf_client *client = outage->client;
    struct hf_info *info = NULL;
    struct hf_lock *lock = NULL;
    enum hf_status *statuses = outage->statuses;
    atomic_store(&outage->tid, gettid());
    statuses[0] = hf_lock_acquire(client, &outage->request, &lock, NULL);
    atomic_fetch_add(&outage->step, 1);
    statuses[1] = hf_lock_extend(outage->lock, 0, NULL);
    statuses[2] = hf_client_inspect(client, "a", 1, &info, NULL);
    statuses[3] = hf_client_break(client, "a", 1, true, NULL, NULL);
    return NULL;
}

static void cancel_in_outage(bool is_queued)
{
    struct hf_client_options options;
    struct outage outage = {.lock = NULL};
    struct hf_cancel *cancel = NULL;
    struct hf_client *other = open_one();
    struct hf_lock *held = NULL;
    char name[80];
    pthread_t thread;
    snprintf(name, sizeof(name), "%s", fresh_name());
    assert_int_equal(hf_cancel_new(&cancel, NULL), HF_OK);
    hf_client_options_init(&options);
    options.cancel = cancel;
    assert_int_equal(
        hf_client_open(getenv("HF_ONE_URL"), &options, &outage.client, NULL),
        HF_OK);
    outage.lock = take(outage.client, fresh_name(), LEASE_MS);
    outage.request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    if (is_queued) {
        held = take(other, name, LEASE_MS);
    } else {
        stop(one_pid());
    }
    assert_int_equal(pthread_create(&thread, NULL, call_through, &outage), 0);
    for (unsigned waiting = 0; is_queued && waiting == 0; pause_ms(2)) {
        struct hf_info *info = inspect(other, name);
        waiting = hf_info_waiting(info);
        hf_info_free(info);
    }
    if (is_queued) {
        stop(one_pid());
    }
    await_asleep(&outage.tid);
    assert_int_equal(atomic_load(&outage.step), 0);
    int64_t began_ms = now_ms();
    hf_cancel_trigger(cancel);
    pthread_join(thread, NULL);
    assert_true(now_ms() - began_ms < 2500); /* a call alone takes 5 s */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(outage.statuses[i], HF_CANCELLED);
    }
    go_on(one_pid());
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(other, name);
    hf_client_close(outage.client);
    hf_client_close(other);
    hf_cancel_free(cancel);
}

static void test_cancelled_in_an_outage(void **state)
{
    (void)state;
    cancel_in_outage(false);
    cancel_in_outage(true);
}

static void test_no_server_there(void **state)
{
    (void)state;
    struct hf_error error;
    struct hf_client *client =
        open_at("redis+unix:///nowhere/at/all", HF_THREAD_AUTO);
    int64_t began_ms = now_ms();
    assert_int_equal(try_once(client, "a", &error), HF_UNAVAILABLE);
    assert_true(now_ms() - began_ms < 4500); /* less than a wait */
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    struct hf_request request = want("a", 5000, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    began_ms = now_ms();
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_UNAVAILABLE);
    assert_in_range((unsigned long)(now_ms() - began_ms), 4000, PATIENCE_MS);
    struct hf_info *info;
    assert_int_equal(hf_client_inspect(client, "a", 1, &info, &error),
                     HF_UNAVAILABLE);
    assert_null(info);
    hf_client_close(client);
}

static void test_wrong_password(void **state)
{
    (void)state;
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error error;
    struct hf_request request = want("a", 5000, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    hf_client_options_init(&options);
    options.password = "wrong";
    assert_int_equal(
        hf_client_open(getenv("HF_SECRET_URL"), &options, &client, &error),
        HF_OK);
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_DENIED);
    assert_true(now_ms() - began_ms < 4500); /* 4.8 s if never reached */
    assert_null(strstr(error.text, "wrong"));
    hf_client_close(client);
    options.password = "secret";
    assert_int_equal(
        hf_client_open(getenv("HF_SECRET_URL"), &options, &client, &error),
        HF_OK);
    assert_int_equal(try_take(client, "a", &error), HF_OK);
    hf_client_close(client);
}

/* Two clients that do not agree on max_ttl. */
static void test_other_max_ttl(void **state)
{
    (void)state;
    char url[300];
    struct hf_error error;
    struct hf_client *client = open_one();
    assert_int_equal(try_take(client, fresh_name(), NULL), HF_OK);
    hf_client_close(client);
    snprintf(url, sizeof(url), "%s&max_ttl=30s", getenv("HF_ONE_URL"));
    client = open_at(url, HF_THREAD_AUTO);
    struct hf_request request = want("a", 5000, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_CONFIG);
    assert_true(now_ms() - began_ms < 4500); /* 4.8 s if never reached */
    assert_non_null(strstr(error.text, "max_ttl=1m"));
    assert_non_null(strstr(error.text, "says 30s"));
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_at_risk_then_lost, go_on_all),
        cmocka_unit_test_teardown(test_at_risk_then_held, go_on_all),
        cmocka_unit_test_teardown(test_extend_unconfirmed, go_on_all),
        cmocka_unit_test_teardown(test_release_unconfirmed, go_on_all),
        cmocka_unit_test_teardown(test_close_is_bounded, go_on_all),
        cmocka_unit_test_teardown(test_given_too_late, go_on_all),
        cmocka_unit_test_teardown(test_minority_is_silent, go_on_all),
        cmocka_unit_test_teardown(test_silent_from_the_start, go_on_all),
        cmocka_unit_test_teardown(test_majority_is_silent, go_on_all),
        cmocka_unit_test_teardown(test_waits_through_an_outage, go_on_all),
        cmocka_unit_test_teardown(test_interrupted_while_silent, go_on_all),
        cmocka_unit_test_teardown(test_cancelled_in_an_outage, go_on_all),
        cmocka_unit_test(test_no_server_there),
        cmocka_unit_test(test_wrong_password),
        cmocka_unit_test(test_other_max_ttl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
