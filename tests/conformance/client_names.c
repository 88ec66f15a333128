/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Several names in one request: all or none, whatever order they are given
 * in, and one handle for the whole. */
#include "client_world.h"

#include <sys/socket.h>
#include <sys/un.h>

/* Names that sort as a < b < c, of this test alone. */
struct trio {
    char a[80], b[80], c[80];
};

static struct trio fresh_trio(void)
{
    struct trio trio;
    const char *name = fresh_name();
    snprintf(trio.a, sizeof(trio.a), "%s.a", name);
    snprintf(trio.b, sizeof(trio.b), "%s.b", name);
    snprintf(trio.c, sizeof(trio.c), "%s.c", name);
    return trio;
}

static struct hf_name named(const char *name)
{
    return (struct hf_name){name, strlen(name), HF_EXCLUSIVE};
}

/* A request for up to three names; NULL: no more. */
struct wish {
    struct hf_request request;
    struct hf_name more[2];
};

static const struct hf_request *wish(struct wish *wish, const char *first,
                                     const char *second, const char *third,
                                     int64_t ttl_ms, int64_t wait_ms)
{
    wish->request = want(first, ttl_ms, wait_ms);
    wish->more[0] = named(second);
    wish->more[1] = named(third == NULL ? "" : third);
    wish->request.more = wish->more;
    wish->request.n_more = third == NULL ? 1 : 2;
    return &wish->request;
}

static struct hf_lock *take_all(struct hf_client *client, const char *first,
                                const char *second, const char *third,
                                int64_t ttl_ms)
{
    struct wish all;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    if (hf_lock_acquire(client, wish(&all, first, second, third, ttl_ms, 10000),
                        &lock, &error) != HF_OK) {
        fail_msg("acquire %s, %s: %s", first, second, error.text);
    }
    return lock;
}

static enum hf_status try_all(struct hf_client *client, const char *first,
                              const char *second, const char *third,
                              struct hf_error *error)
{
    struct wish all;
    struct hf_lock *lock = NULL;
    enum hf_status status = hf_lock_acquire(
        client, wish(&all, first, second, third, 5000, 0), &lock, error);
    if (status == HF_OK) {
        hf_lock_release(lock);
    }
    return status;
}

static void assert_all_free(struct hf_client *client, const struct trio *names)
{
    assert_free(client, names->a);
    assert_free(client, names->b);
    assert_free(client, names->c);
}

static bool is_taken(struct hf_client *client, const char *name)
{
    struct hf_info info;
    assert_int_equal(hf_client_inspect(client, name, strlen(name), &info, NULL),
                     HF_OK);
    return info.holder.kind != HF_HOLDER_NONE;
}

/* ---- Asking ------------------------------------------------------------ */

struct seen {
    int count;
    enum hf_status status;
    struct hf_lock *lock;
    char text[1000];
};

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct seen *seen = user;
    seen->count++;
    seen->status = status;
    seen->lock = lock;
    snprintf(seen->text, sizeof(seen->text), "%s", error->text);
}

/* In another order than they are given in, and what is borrowed is gone. */
static struct hf_op *start_all(struct hf_client *client,
                               const struct trio *names, int64_t ttl_ms,
                               int64_t wait_ms, struct seen *seen)
{
    struct trio copy = *names;
    struct wish all;
    struct hf_op *op = NULL;
    struct hf_error error;
    if (hf_op_start_acquire(client,
                            wish(&all, copy.c, copy.a, copy.b, ttl_ms, wait_ms),
                            on_done, seen, &op, &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    memset(&copy, 'X', sizeof(copy));
    memset(&all, 0, sizeof(all));
    return op;
}

/* Until `name` is taken, with `client` at work. */
static void run_until_taken(struct hf_client *client, struct hf_client *other,
                            const char *name)
{
    int never = 0;
    int64_t end = now_ms() + 5000;
    while (!is_taken(other, name)) {
        assert_true(now_ms() < end);
        run_loop(client, &never, 1, 2);
    }
}

/* ---- All of them ------------------------------------------------------- */

static void test_all_free(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *lock = take_all(client, names.b, names.c, names.a, 5000);
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
    assert_true(hf_lock_covers(lock, 4000));
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
    struct hf_lock *lock = take(client, fresh_name(), 5000);
    assert_int_equal(hf_lock_count(lock), 1);
    assert_int_equal(hf_lock_slot(lock), -1);
    assert_ptr_equal(hf_lock_name_at(lock, 0, NULL), hf_lock_name(lock, NULL));
    assert_null(hf_lock_name_at(lock, 1, NULL));
    assert_int_equal(hf_lock_count(NULL), 0);
    assert_int_equal(hf_lock_slot(NULL), -1);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* All that was asked is answered in what is read at once. */
static void test_one_round_trip(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct trio names = fresh_trio();
    struct seen seen = {0};
    hf_lock_release(take(client, fresh_name(), 5000)); /* connected */
    hf_client_process(client);
    start_all(client, &names, 5000, 0, &seen);
    int64_t end = now_ms() + 5000;
    while (!is_taken(other, names.a) || !is_taken(other, names.b) ||
           !is_taken(other, names.c)) {
        assert_true(now_ms() < end);
    }
    pause_ms(20); /* for the last answer's way back */
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
    struct hf_request request = want(names[0], 20000, 5000);
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
    wish(&all, "one", "two", "one", 5000, 0);
    refuse(client, &all.request, "one is given twice");
    wish(&all, "one", "tw\no", "tw\no", 5000, 0);
    refuse(client, &all.request, "tw?o is given twice");
    wish(&all, "one", "", "two", 5000, 0);
    refuse(client, &all.request, "empty");
    wish(&all, "one", "two", NULL, 5000, 0);
    all.more[0].mode = (enum hf_mode)7;
    refuse(client, &all.request, "no such mode: 7");
    all.request = want("one", 5000, 0);
    all.request.mode = (enum hf_mode)7;
    refuse(client, &all.request, "no such mode: 7");
    all.request = want("one", 5000, 0);
    all.request.n_more = 1;
    refuse(client, &all.request, "no further names");
    all.request.more = many;
    all.request.n_more = HF_NAMES_MAX;
    refuse(client, &all.request, "65 names");
    wish(&all, "one", "two", NULL, 5000, 0);
    all.request.permits = 2;
    refuse(client, &all.request, "one name alone");
    all.request = want("one", 5000, 0);
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

/* As a program was built with version 0.1.0. */
static void test_shorter_request(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_request request = want(fresh_name(), 5000, 0);
    struct hf_lock *lock = NULL;
    request.size = offsetof(struct hf_request, mode);
    request.mode = (enum hf_mode)99; /* beyond its end: not ours to read */
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
        struct hf_lock *held = take(other, each[i], 5000);
        int64_t began = now_ms();
        assert_int_equal(try_all(client, names.c, names.b, names.a, &error),
                         HF_BUSY);
        assert_true(now_ms() - began < 1000);
        snprintf(text, sizeof(text), "%s is held by ", each[i]);
        assert_non_null(strstr(error.text, text));
        assert_int_equal(hf_lock_release(held), HF_OK);
        assert_all_free(other, &names);
    }
    assert_int_equal(try_all(client, names.c, names.b, names.a, NULL), HF_OK);
    hf_client_close(client);
    hf_client_close(other);
}

/* What sorts before the one that is missing is held, what sorts behind is
 * not. */
static void test_wait_for_one(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct seen seen = {0};
    struct hf_lock *held = take(other, names.b, 5000);
    struct hf_op *op = start_all(client, &names, 1000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    int never = 0;
    run_loop(client, &never, 1, 1500); /* and is renewed */
    assert_int_equal(seen.count, 0);
    struct hf_waiting waiting = {0};
    assert_true(hf_op_waiting(op, &waiting));
    assert_int_equal(waiting.name_len, strlen(names.b));
    assert_memory_equal(waiting.name, names.b, strlen(names.b));
    assert_int_equal(waiting.holder.kind, HF_HOLDER_OURS);
    assert_int_equal(waiting.ahead, 0);
    assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
    assert_int_equal(try_take(other, names.c, NULL), HF_OK);
    assert_int_equal(hf_lock_release(held), HF_OK);
    run_loop(client, &seen.count, 1, 5000);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status, HF_OK);
    assert_string_equal(hf_lock_name(seen.lock, NULL), names.c);
    assert_int_equal(hf_lock_state(seen.lock), HF_STATE_HELD);
    assert_int_equal(try_take(other, names.c, NULL), HF_BUSY);
    assert_int_equal(hf_lock_release(seen.lock), HF_OK);
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
    struct hf_lock *held = take(other, names.c, 5000);
    struct wish all;
    struct hf_lock *lock = (struct hf_lock *)1;
    struct hf_error error;
    int64_t began = now_ms();
    assert_int_equal(
        hf_lock_acquire(client,
                        wish(&all, names.a, names.c, names.b, 5000, 400), &lock,
                        &error),
        HF_BUSY);
    assert_in_range((unsigned long)(now_ms() - began), 300, 1000);
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

static void assert_unavailable(const char *url, int64_t wait_ms, int64_t least,
                               int64_t most)
{
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    struct wish all;
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    int64_t began = now_ms();
    assert_int_equal(hf_lock_acquire(client,
                                     wish(&all, "a", "b", NULL, 5000, wait_ms),
                                     &lock, &error),
                     HF_UNAVAILABLE);
    assert_in_range((unsigned long)(now_ms() - began), (unsigned long)least,
                    (unsigned long)most);
    assert_non_null(strstr(error.text, "deaf.sock"));
    hf_client_close(client);
}

/* It is said as soon as of a single name. */
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
    assert_unavailable(url, 0, 100, 1300);
    assert_unavailable(url, 250, 150, 800);
    assert_unavailable(url, 1500, 1300, 2000);
    assert_unavailable(url, HF_WAIT_FOREVER, 3000, 5300);
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
    int never = 0;
    struct hf_op *op = start_all(client, &names, 5000, 0, &seen);
    hf_op_cancel(op); /* before it is answered */
    run_loop(client, &never, 1, 20);
    assert_all_free(other, &names);
    op = start_all(client, &names, 5000, 0, &seen);
    run_until_taken(client, other, names.a);
    if (seen.count == 0) {
        hf_op_cancel(op);
    } else {
        hf_lock_release(seen.lock);
    }
    run_loop(client, &never, 1, 20);
    assert_all_free(other, &names);
    seen.count = 0;
    struct hf_lock *held = take(other, names.b, 5000);
    op = start_all(client, &names, 5000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    hf_op_cancel(op); /* while it waits */
    run_loop(client, &never, 1, 20);
    assert_free(other, names.a);
    hf_lock_release(held);
    assert_all_free(other, &names);
    op = start_all(client, &names, 5000, 0, &seen);
    run_until_taken(other, other, names.c);
    pause_ms(20);
    hf_op_cancel(op); /* when all is granted, and nobody has read it */
    run_loop(client, &never, 1, 20);
    assert_all_free(other, &names);
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
                             caller->names.a, 5000, HF_WAIT_FOREVER),
                        &lock, NULL);
    atomic_store(&caller->is_over, true);
    return NULL;
}

static void test_interrupt(void **state)
{
    (void)state;
    struct caller caller = {.client = open_client(), .names = fresh_trio()};
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, caller.names.b, 5000);
    pthread_t thread;
    pthread_create(&thread, NULL, call_for_all, &caller);
    int64_t end = now_ms() + 5000;
    while (!is_taken(other, caller.names.a) && now_ms() < end) {
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
    struct hf_lock *held = take(other, names.b, 5000);
    struct seen seen = {0};
    take_all(client, more.b, more.a, more.c, 5000);
    start_all(client, &names, 5000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    hf_client_close(client);
    assert_int_equal(seen.count, 0);
    assert_free(other, names.a);
    assert_all_free(other, &more);
    hf_lock_release(held);
    assert_all_free(other, &names);
    hf_client_close(other);
}

/* A child frees its copy, and says nothing to anybody. */
static void test_fork(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct trio more = fresh_trio();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.b, 5000);
    struct seen seen = {0};
    struct hf_lock *lock = take_all(client, more.b, more.a, more.c, 5000);
    start_all(client, &names, 5000, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.a);
    pid_t child = fork();
    if (child == 0) {
        bool is_wrong =
            hf_lock_covers(lock, 0) || hf_lock_state(lock) != HF_STATE_LOST;
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
    run_loop(client, &seen.count, 1, 5000);
    assert_int_equal(seen.status, HF_OK);
    hf_client_close(client);
    assert_all_free(other, &names);
    hf_client_close(other);
}

/* ---- No deadlock ------------------------------------------------------- */

enum { PHILOSOPHERS = 5 };

struct table {
    char forks[PHILOSOPHERS][80];
    int in_use[PHILOSOPHERS]; /* guarded by nothing but the locks */
    uint64_t fences[PHILOSOPHERS];
    int n_forks;
    int rounds;
    atomic_int failures;
};

struct seat {
    struct table *table;
    int first, second;
};

static bool is_in_order(struct table *table, int fork, uint64_t fence)
{
    bool is_alone =
        __atomic_fetch_add(&table->in_use[fork], 1, __ATOMIC_RELAXED) == 0;
    uint64_t last =
        __atomic_exchange_n(&table->fences[fork], fence, __ATOMIC_RELAXED);
    return is_alone && fence > last;
}

static void *dine(void *arg)
{
    struct seat *seat = arg;
    struct table *table = seat->table;
    struct hf_client *client = open_client();
    for (int i = 0; i < table->rounds; i++) {
        struct wish all;
        struct hf_lock *lock = NULL;
        struct hf_error error;
        wish(&all, table->forks[seat->first], table->forks[seat->second], NULL,
             20000, 60000);
        if (hf_lock_acquire(client, &all.request, &lock, &error) != HF_OK) {
            print_message("%s\n", error.text);
            atomic_fetch_add(&table->failures, 1);
            break;
        }
        bool is_right =
            is_in_order(table, seat->first, hf_lock_fence_at(lock, 0));
        is_right &= is_in_order(table, seat->second, hf_lock_fence_at(lock, 1));
        is_right &= hf_lock_covers(lock, 1);
        __atomic_fetch_sub(&table->in_use[seat->first], 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&table->in_use[seat->second], 1, __ATOMIC_RELAXED);
        if (hf_lock_release(lock) != HF_OK || !is_right) {
            atomic_fetch_add(&table->failures, 1);
        }
    }
    hf_client_close(client);
    return NULL;
}

static void dine_all(struct table *table, struct seat *seats, int n)
{
    pthread_t threads[PHILOSOPHERS];
    const char *prefix = fresh_name();
    for (int i = 0; i < table->n_forks; i++) {
        snprintf(table->forks[i], sizeof(table->forks[i]), "%s.%d", prefix, i);
    }
    for (int i = 0; i < n; i++) {
        seats[i].table = table;
        pthread_create(&threads[i], NULL, dine, &seats[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&table->failures), 0);
    struct hf_client *client = open_client();
    for (int i = 0; i < table->n_forks; i++) {
        assert_free(client, table->forks[i]);
    }
    hf_client_close(client);
}

static void test_opposite_orders(void **state)
{
    (void)state;
    struct table table = {.n_forks = 2, .rounds = 1000};
    struct seat seats[] = {{.first = 0, .second = 1},
                           {.first = 1, .second = 0}};
    dine_all(&table, seats, 2);
}

static void test_philosophers(void **state)
{
    (void)state;
    struct table table = {.n_forks = PHILOSOPHERS, .rounds = 60};
    struct seat seats[PHILOSOPHERS];
    for (int i = 0; i < PHILOSOPHERS; i++) {
        seats[i] = (struct seat){.first = i, .second = (i + 1) % PHILOSOPHERS};
    }
    dine_all(&table, seats, PHILOSOPHERS);
}

/* ---- Tries that meet: not all of them stand back ----------------------- */

enum { RIVALS = 3, MEETINGS = 60 };

struct meeting {
    struct trio names;
    pthread_barrier_t barrier;
    atomic_int winners;
    atomic_int wrong; /* rounds without exactly one, counted by number 0 */
};

struct rival {
    struct meeting *meeting;
    int number;
};

static void *meet(void *arg)
{
    struct rival *rival = arg;
    struct meeting *meeting = rival->meeting;
    struct trio *names = &meeting->names;
    struct hf_client *client = open_client();
    const char *orders[][3] = {{names->a, names->b, names->c},
                               {names->c, names->a, names->b},
                               {names->b, names->c, names->a}};
    const char **order = orders[rival->number];
    for (int i = 0; i < MEETINGS; i++) {
        struct wish all;
        struct hf_lock *lock = NULL;
        wish(&all, order[0], order[1], order[2], 20000, 0);
        pthread_barrier_wait(&meeting->barrier);
        if (hf_lock_acquire(client, &all.request, &lock, NULL) == HF_OK) {
            atomic_fetch_add(&meeting->winners, 1);
        }
        pthread_barrier_wait(&meeting->barrier);
        hf_lock_release(lock);
        if (rival->number == 0 && atomic_exchange(&meeting->winners, 0) != 1) {
            atomic_fetch_add(&meeting->wrong, 1);
        }
    }
    hf_client_close(client);
    return NULL;
}

static void test_tries_that_meet(void **state)
{
    (void)state;
    struct meeting meeting = {.names = fresh_trio()};
    struct rival rivals[RIVALS];
    pthread_t threads[RIVALS];
    pthread_barrier_init(&meeting.barrier, NULL, RIVALS);
    for (int i = 0; i < RIVALS; i++) {
        rivals[i] = (struct rival){&meeting, i};
        pthread_create(&threads[i], NULL, meet, &rivals[i]);
    }
    for (int i = 0; i < RIVALS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&meeting.barrier);
    assert_int_equal(atomic_load(&meeting.wrong), 0);
}

/* ---- One handle -------------------------------------------------------- */

static void test_renewed_and_extended(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    struct hf_lock *lock = take_all(client, names.c, names.b, names.a, 800);
    struct hf_lock_event event;
    int64_t end = now_ms() + 2000;
    while (now_ms() < end) {
        assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
        assert_int_equal(try_take(other, names.c, NULL), HF_BUSY);
        assert_true(hf_lock_covers(lock, 1));
        assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
        pause_ms(10);
    }
    assert_false(hf_client_next_event(client, &event));
    assert_int_equal(hf_lock_extend(lock, 9000, NULL), HF_OK);
    assert_true(hf_lock_covers(lock, 8000)); /* that is: each of them */
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
    struct hf_lock *lock = take_all(client, names.c, names.b, names.a, 5000);
    int64_t began = now_ms();
    assert_int_equal(hf_lock_release_keeping(lock, 600), HF_OK);
    assert_int_equal(try_take(client, names.a, NULL), HF_BUSY);
    assert_int_equal(try_take(client, names.b, NULL), HF_BUSY);
    assert_int_equal(try_take(client, names.c, NULL), HF_BUSY);
    lock = take_all(client, names.a, names.b, names.c, 5000);
    assert_in_range((unsigned long)(now_ms() - began), 590, 3000);
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
    struct hf_lock *lock = take_all(client, names.c, names.b, names.a, 5000);
    struct hf_lock *adopted = NULL;
    struct wish all;
    hf_lock_owner(lock, owner);
    assert_int_equal(
        hf_lock_adopt(client, wish(&all, names.c, names.b, names.a, 5000, 0),
                      owner, &adopted, NULL),
        HF_UNSUPPORTED);
    assert_int_equal(hf_lock_give(lock, owner), HF_UNSUPPORTED);
    assert_string_equal(owner, "");
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD); /* still ours */
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_all_free(client, &names);
    hf_client_close(client);
}

/* ---- A part that is lost ----------------------------------------------- */

struct told {
    int count;
    enum hf_lock_state last;
    struct hf_lock *lock;
};

static void on_state(void *user, struct hf_lock *lock, enum hf_lock_state state)
{
    struct told *told = user;
    told->count++;
    told->last = state;
    told->lock = lock;
    assert_int_equal(hf_lock_state(lock), state);
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

static void break_now(struct hf_client *client, const char *name)
{
    assert_int_equal(
        hf_client_break(client, name, strlen(name), true, NULL, NULL), HF_OK);
}

/* It is told of the handle, once; the others are kept until it is given up. */
static void test_one_is_lost(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    struct hf_client *other = open_client();
    struct hf_lock_event event = {0};
    const char *each[] = {names.a, names.b, names.c};
    for (int i = 0; i < 3; i++) {
        told.count = 0;
        struct hf_lock *lock = take_all(client, names.b, names.a, names.c, 600);
        break_now(other, each[i]);
        run_loop(client, &told.count, 1, 2000); /* the next renewal tells */
        int never = 0;
        run_loop(client, &never, 1, 800); /* longer than a lease */
        assert_int_equal(told.count, 1);
        assert_int_equal(told.last, HF_STATE_LOST);
        assert_ptr_equal(told.lock, lock);
        assert_true(hf_client_next_event(client, &event));
        assert_ptr_equal(event.lock, lock);
        assert_int_equal(event.state, HF_STATE_LOST);
        assert_false(hf_client_next_event(client, &event));
        assert_false(hf_lock_covers(lock, 0));
        assert_int_equal(hf_lock_remaining_ms(lock), 0);
        assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_LOST);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(try_take(other, each[k], NULL),
                             k == i ? HF_OK : HF_BUSY);
        }
        assert_int_equal(hf_lock_release(lock), HF_LOST);
        assert_int_equal(told.count, 1);
        assert_all_free(other, &names);
    }
    hf_client_close(client);
    hf_client_close(other);
}

/* Nobody renewed them: each is over by the clock, and it is told once. */
static void test_all_are_lost(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    struct hf_lock_event event = {0};
    struct hf_lock *lock = take_all(client, names.b, names.a, names.c, 300);
    while (hf_lock_covers(lock, 0)) {
        pause_ms(5);
    }
    int never = 0;
    run_loop(client, &never, 1, 50); /* all of them */
    assert_int_equal(told.count, 1);
    assert_int_equal(told.last, HF_STATE_LOST);
    assert_ptr_equal(told.lock, lock);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    assert_true(hf_client_next_event(client, &event));
    assert_int_equal(event.state, HF_STATE_LOST);
    assert_false(hf_client_next_event(client, &event));
    assert_int_equal(hf_lock_release(lock), HF_LOST);
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
    struct hf_lock *lock = take_all(client, names.b, names.a, names.c, 5000);
    hf_op_start_release(lock, on_done, &given);
    run_loop(client, &given.count, 2, 200);
    assert_int_equal(given.count, 1);
    assert_int_equal(given.status, HF_OK);
    assert_all_free(other, &names);
    const char *each[] = {names.a, names.b, names.c};
    for (int i = 0; i < 3; i++) {
        given.count = 0;
        lock = take_all(client, names.b, names.a, names.c, 5000);
        break_now(other, each[i]);
        hf_op_start_release(lock, on_done, &given);
        run_loop(client, &given.count, 2, 200);
        assert_int_equal(given.count, 1);
        assert_int_equal(given.status, HF_LOST);
        assert_all_free(other, &names);
    }
    lock = take_all(client, names.b, names.a, names.c, 5000);
    hf_op_start_release(lock, NULL, NULL);
    int never = 0;
    run_loop(client, &never, 1, 20);
    assert_all_free(other, &names);
    hf_client_close(client);
    hf_client_close(other);
}

/* What it held while it waited is gone: it begins again. */
static void test_lost_while_waiting(void **state)
{
    (void)state;
    struct trio names = fresh_trio();
    struct told told = {0};
    struct hf_client *client = open_told(&told);
    struct hf_client *other = open_client();
    struct hf_lock *held = take(other, names.c, 5000);
    struct seen seen = {0};
    start_all(client, &names, 600, HF_WAIT_FOREVER, &seen);
    run_until_taken(client, other, names.b);
    break_now(other, names.a);
    run_until_taken(client, other, names.a);
    assert_int_equal(seen.count, 0);
    assert_int_equal(told.count, 0); /* nobody has a handle yet */
    hf_lock_release(held);
    run_loop(client, &seen.count, 1, 5000);
    assert_int_equal(seen.status, HF_OK);
    assert_int_equal(hf_lock_state(seen.lock), HF_STATE_HELD);
    assert_int_equal(try_take(other, names.a, NULL), HF_BUSY);
    assert_int_equal(hf_lock_release(seen.lock), HF_OK);
    assert_all_free(other, &names);
    hf_client_close(client);
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
        cmocka_unit_test(test_opposite_orders),
        cmocka_unit_test(test_philosophers),
        cmocka_unit_test(test_tries_that_meet),
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
