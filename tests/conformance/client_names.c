/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Several names in one request: all or none, in any order of the request, and
 * no name stays held. */
#include "client_names.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- All of them ------------------------------------------------------- */

static void test_all_free(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *lock =
        take_all(client, names.b, names.c, names.a, LEASE_MS);
    size_t len = 0;
    assert_int_equal(hf_lock_count(lock), 3);
    assert_int_equal(hf_lock_slot(lock), -1);
    assert_string_equal(hf_lock_name(lock, &len), names.b);
    assert_int_equal(len, strlen(names.b));
    assert_string_equal(hf_lock_name_at(lock, 0, NULL), names.b);
    assert_string_equal(hf_lock_name_at(lock, 1, NULL), names.c);
    assert_string_equal(hf_lock_name_at(lock, 2, &len), names.a);
    assert_int_equal(len, strlen(names.a));
    assert_null(hf_lock_name_at(lock, 3, &len));
    assert_int_equal(len, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(hf_lock_fence_at(lock, i) > 0);
    }
    assert_int_equal(hf_lock_fence_at(lock, 0), hf_lock_fence(lock));
    assert_int_equal(hf_lock_fence_at(lock, 3), 0);
    assert_true(hf_lock_valid_for(lock, 4000));
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
    assert_int_equal(try_take(other, names.b, NULL), HF_BUSY);
    assert_int_equal(try_take(other, names.c, NULL), HF_BUSY);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_one_of_one(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    assert_int_equal(hf_lock_count(lock), 1);
    assert_int_equal(hf_lock_slot(lock), -1);
    assert_ptr_equal(hf_lock_name_at(lock, 0, NULL), hf_lock_name(lock, NULL));
    assert_null(hf_lock_name_at(lock, 1, NULL));
    assert_int_equal(hf_lock_count(NULL), 0);
    assert_int_equal(hf_lock_slot(NULL), -1);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* Each node has all of them. */
static bool are_everywhere(struct hf_client *client, const struct trio *names)
{
    const char *each[] = {names->a, names->b, names->c};
    bool are = true;
    for (int k = 0; k < 3; k++) {
        struct hf_info *info = inspect(client, each[k]);
        for (int i = 0; i < hf_info_nodes(info); i++) {
            are &=
                hf_holder_kind(hf_info_node_holder(info, i)) != HF_HOLDER_NONE;
        }
        hf_info_free(info);
    }
    return are;
}

/* A majority is enough for a lock; the others may still be connecting, and a
 * client without a thread goes on with that only in its calls. */
static void connect_to_all(struct hf_client *client)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (int i = 0; i < hf_client_nodes(client);) {
        struct hf_node *node = NULL;
        assert_int_equal(hf_client_node(client, i, &node), HF_OK);
        bool is_up = hf_node_health(node) == HF_NODE_UP;
        hf_node_free(node);
        assert_true(now_ms() < end_ms);
        if (!is_up) {
            poll(&(struct pollfd){.fd = hf_client_fd(client), .events = POLLIN},
                 1, 10);
            hf_client_process(client);
        }
        i += is_up;
    }
}

/* All requests are answered within one read. */
static void test_one_round_trip(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct trio names = fresh_trio();
    struct seen seen = {0};
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    connect_to_all(client);
    hf_lock_release(lock);
    hf_client_process(client);
    start_all(client, &names, LEASE_MS, 0, &seen);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!are_everywhere(other, &names)) {
        assert_true(now_ms() < end_ms);
        pause_ms(2);
    }
    /* A server replies in order: with the reply to this request, all earlier
     * ones have arrived. */
    assert_true(are_everywhere(other, &names));
    assert_int_equal(seen.count, 0);
    hf_client_process(client);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status, HF_OK);
    hf_lock_release(seen.lock);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_as_many_as_may_be(void **state)
{
    (void)state;
    char names[HF_NAMES_MAX][80];
    struct hf_name more[HF_NAMES_MAX];
    const char *prefix = fresh_name();
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_lock *lock = NULL;
    for (int i = 0; i < HF_NAMES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "%s.%d", prefix, i * 37 % 64);
        more[i] = named(names[i]);
    }
    struct hf_request request = want(names[0], LEASE_MS, PATIENCE_MS);
    request.more = more + 1;
    request.n_more = HF_NAMES_MAX - 1;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(hf_lock_count(lock), HF_NAMES_MAX);
    for (size_t i = 0; i < HF_NAMES_MAX; i++) {
        assert_string_equal(hf_lock_name_at(lock, i, NULL), names[i]);
        assert_true(is_taken(client, names[i]));
    }
    assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    for (size_t i = 0; i < HF_NAMES_MAX; i++) {
        assert_free(client, names[i]);
    }
    hf_client_close(client);
}

/* ---- The door ---------------------------------------------------------- */

static void refuse(struct hf_client *client, const struct hf_request *request,
                   const char *text)
{
    struct hf_lock *lock = (struct hf_lock *)1;
    struct hf_error error;
    assert_int_equal(hf_lock_acquire(client, request, &lock, &error),
                     HF_INVALID);
    assert_null(lock);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
    }
}

static void test_bad_requests(void **state)
{
    (void)state;
    static char longest[HF_NAME_MAX];
    struct hf_client *client = open_client();
    struct hf_name many[HF_NAMES_MAX] = {{NULL, 0, HF_EXCLUSIVE}};
    struct wish all;
    memset(longest, 'x', sizeof(longest));
    wish(&all, "one", "two", "one", LEASE_MS, 0);
    refuse(client, &all.request, "one is given twice");
    wish(&all, "one", "tw\no", "tw\no", LEASE_MS, 0);
    refuse(client, &all.request, "tw?o is given twice");
    wish(&all, "one", "", "two", LEASE_MS, 0);
    refuse(client, &all.request, "empty");
    wish(&all, "one", "two", NULL, LEASE_MS, 0);
    all.more[0].mode = (enum hf_mode)7;
    refuse(client, &all.request, "no such mode: 7");
    all.request = want("one", LEASE_MS, 0);
    all.request.mode = (enum hf_mode)7;
    refuse(client, &all.request, "no such mode: 7");
    all.request = want("one", LEASE_MS, 0);
    all.request.n_more = 1;
    refuse(client, &all.request, "no further names");
    all.request.more = many;
    all.request.n_more = HF_NAMES_MAX;
    refuse(client, &all.request, "1 and 64 names at once, at most 64");
    all.request.n_more = SIZE_MAX;
    refuse(client, &all.request, "1 and 18446744073709551615 names at once");
    wish(&all, "one", "two", NULL, LEASE_MS, 0);
    all.request.permits = 2;
    refuse(client, &all.request, "one name alone");
    all.request = want("one", LEASE_MS, 0);
    all.request.permits = HF_PERMITS_MAX + 1;
    refuse(client, &all.request, "257 permits, at most 256");
    all.request.permits = 2;
    all.request.mode = HF_SHARED;
    refuse(client, &all.request, "permits or HF_SHARED");
    all.request.mode = HF_EXCLUSIVE;
    all.request.name = longest;
    all.request.name_len = HF_NAME_MAX - 3;
    refuse(client, &all.request, "1021 bytes, at most 1020");
    hf_client_close(client);
}

/* A program that was built with version 0.1.0. */
static void test_shorter_request(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_request request = want(fresh_name(), LEASE_MS, 0);
    struct hf_lock *lock = NULL;
    request.size = offsetof(struct hf_request, mode);
    request.mode = (enum hf_mode)99; /* past its end: must not be read */
    request.permits = 9999;
    request.n_more = 9999;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    assert_int_equal(hf_lock_count(lock), 1);
    hf_lock_release(lock);
    request.size--;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL),
                     HF_INVALID);
    hf_client_close(client);
}

/* ---- One of them taken ------------------------------------------------- */

static void test_try(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    const char *each[] = {names.a, names.b, names.c};
    for (int i = 0; i < 3; i++) {
        struct hf_error error;
        char text[120];
        struct hf_lock *held = take(other, each[i], LEASE_MS);
        int64_t began_ms = now_ms();
        assert_int_equal(try_all(client, names.c, names.b, names.a, &error),
                         HF_BUSY);
        assert_true(now_ms() - began_ms < 6000); /* not until the lease ends */
        snprintf(text, sizeof(text), "%s is held by ", each[i]);
        assert_non_null(strstr(error.text, text));
        assert_int_equal(hf_lock_release(held), HF_OK);
        assert_all_free(other, &names);
    }
    assert_int_equal(try_all(client, names.c, names.b, names.a, NULL), HF_OK);
    hf_client_close(client);
    hf_client_close(other);
}

/* Names before the missing one are held, names after it are not. */
static void test_wait_for_one(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen seen = {0};
    struct hf_lock *held = take(other, names.b, LEASE_MS);
    struct hf_op *op = start_all(client, &names, 9000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    run_until_renewed(client, other, names.a);
    assert_int_equal(seen.count, 0);
    struct hf_waiting *waiting;
    assert_true(hf_op_waiting(op, &waiting));
    assert_string_equal(hf_waiting_name(waiting, NULL), names.b);
    assert_int_equal(hf_holder_kind(hf_waiting_holder(waiting)),
                     HF_HOLDER_HOLDFAST);
    assert_int_equal(hf_waiting_ahead(waiting), 0);
    hf_waiting_free(waiting);
    assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
    assert_int_equal(try_take(other, names.c, NULL), HF_OK);
    assert_int_equal(hf_lock_release(held), HF_OK);
    run_loop(client, &seen.count, 1, PATIENCE_MS);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status, HF_OK);
    assert_string_equal(hf_lock_name(seen.lock, NULL), names.c);
    assert_int_equal(hf_lock_state(seen.lock), HF_STATE_HELD);
    assert_int_equal(try_take(other, names.c, NULL), HF_BUSY);
    let_go(seen.lock);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

static void test_wait_ends(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.c, LEASE_MS);
    struct wish all;
    struct hf_lock *lock = (struct hf_lock *)1;
    struct hf_error error;
    int64_t began_ms;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = hf_lock_acquire(
            client, wish(&all, names.a, names.c, names.b, LEASE_MS, 400), &lock,
            &error);
    } while (is_late(status, began_ms, end_ms));
    assert_int_equal(status, HF_BUSY);
    assert_in_range((unsigned long)(now_ms() - began_ms), 300, 6000);
    assert_null(lock);
    assert_non_null(strstr(error.text, " is held by "));
    assert_free(other, names.a);
    assert_free(other, names.b);
    hf_lock_release(held);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

/* ---- A server that does not answer ------------------------------------- */

static void assert_unavailable(const char *url, int64_t wait_ms,
                               int64_t least_ms, int64_t most_ms)
{
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    struct wish all;
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_acquire(client,
                                     wish(&all, "a", "b", NULL, 5000, wait_ms),
                                     &lock, &error),
                     HF_UNAVAILABLE);
    assert_in_range((unsigned long)(now_ms() - began_ms),
                    (unsigned long)least_ms, (unsigned long)most_ms);
    assert_non_null(strstr(error.text, "deaf.sock"));
    hf_client_close(client);
}

/* Reported as soon as for a single name. */
static void test_deaf_server(void **state)
{
    (void)state;
    char folder[100];
    char url[200];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/hf-deaf.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    int written = snprintf(address.sun_path, sizeof(address.sun_path),
                           "%s/deaf.sock", folder);
    assert_true((size_t)written < sizeof(address.sun_path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    snprintf(url, sizeof(url), "redis+unix://%s?quarantine=off",
             address.sun_path);
    /* A loaded machine may take 3 s longer than promised. */
    assert_unavailable(url, 0, 100, 4300);
    assert_unavailable(url, 250, 150, 3800);
    assert_unavailable(url, 1500, 1300, 5000);
    assert_unavailable(url, HF_WAIT_FOREVER, 3000, 8300);
    close(fd);
    unlink(address.sun_path);
    rmdir(folder);
}

/* ---- Giving up --------------------------------------------------------- */

static void test_cancel(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen seen = {0};
    struct hf_op *op = start_all(client, &names, LEASE_MS, 0, &seen);
    hf_op_cancel(op); /* before the reply */
    run_until_all_free(client, other, &names);
    op = start_all(client, &names, LEASE_MS, 0, &seen);
    run_until_taken(client, other, names.a);
    if (seen.count == 0) {
        hf_op_cancel(op);
    } else {
        hf_lock_release(seen.lock);
    }
    run_until_all_free(client, other, &names);
    seen.count = 0;
    struct hf_lock *held = take(other, names.b, LEASE_MS);
    op = start_all(client, &names, LEASE_MS, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    hf_op_cancel(op); /* while it waits */
    run_until_free(client, other, names.a);
    hf_lock_release(held);
    assert_all_free(other, &names);
    op = start_all(client, &names, LEASE_MS, 0, &seen);
    await_granted(other, names.a);
    await_granted(other, names.b);
    await_granted(other, names.c);
    hf_op_cancel(op); /* the client has not read the grants */
    run_until_all_free(client, other, &names);
    assert_int_equal(seen.count, 0);
    hf_client_close(client);
    hf_client_close(other);
}

struct caller {
    struct hf_client *client;
    struct trio names;
    atomic_bool is_over;
    enum hf_status status;
};

static void *call_for_all(void *arg)
{
    struct caller *caller = arg;
    struct wish all;
    struct hf_lock *lock = NULL;
    caller->status =
        hf_lock_acquire(caller->client,
                        wish(&all, caller->names.c, caller->names.b,
                             caller->names.a, LEASE_MS, HF_WAIT_FOREVER),
                        &lock, NULL);
    atomic_store(&caller->is_over, true);
    return NULL;
}

static void test_interrupt(void **state)
{
    (void)state;
    struct caller caller = {.client = open_client(), .names = fresh_trio()};
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, caller.names.b, LEASE_MS);
    pthread_t thread;
    pthread_create(&thread, NULL, call_for_all, &caller);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_taken(other, caller.names.a) && now_ms() < end_ms) {
        pause_ms(1);
    }
    assert_false(atomic_load(&caller.is_over));
    hf_client_interrupt(caller.client);
    pthread_join(thread, NULL);
    assert_int_equal(caller.status, HF_CANCELLED);
    assert_free(other, caller.names.a);
    hf_lock_release(held);
    assert_all_free(other, &caller.names);
    hf_client_close(caller.client);
    hf_client_close(other);
}

static void test_close(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct trio more = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.b, LEASE_MS);
    struct seen seen = {0};
    take_all(client, more.b, more.a, more.c, LEASE_MS);
    start_all(client, &names, LEASE_MS, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    hf_client_close(client);
    assert_int_equal(seen.count, 1);
    assert_free(other, names.a);
    assert_all_free(other, &more);
    hf_lock_release(held);
    assert_all_free(other, &names);
    hf_client_close(other);
}

/* A forked child frees its copy, and sends nothing. */
static void test_fork(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct trio more = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.b, LEASE_MS);
    struct seen seen = {0};
    struct hf_lock *lock = take_all(client, more.b, more.a, more.c, LEASE_MS);
    start_all(client, &names, LEASE_MS, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    pid_t child = fork();
    if (child == 0) {
        bool is_wrong =
            hf_lock_valid_for(lock, 0) || hf_lock_state(lock) != HF_STATE_LOST;
        hf_client_close(client);
        _exit(is_wrong ? 1 : 0);
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_true(is_taken(other, names.a));
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_lock_release(held);
    run_loop(client, &seen.count, 1, PATIENCE_MS);
    assert_int_equal(seen.status, HF_OK);
    hf_client_close(client);
    assert_all_free(other, &names);
    hf_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_free),
        cmocka_unit_test(test_one_of_one),
        cmocka_unit_test(test_one_round_trip),
        cmocka_unit_test(test_as_many_as_may_be),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_shorter_request),
        cmocka_unit_test(test_try),
        cmocka_unit_test(test_wait_for_one),
        cmocka_unit_test(test_wait_ends),
        cmocka_unit_test(test_deaf_server),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
