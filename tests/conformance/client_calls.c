/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* link: -Wl,--wrap=open,--wrap=stat,--wrap=fstat,--wrap=statfs */
/* link: -Wl,--wrap=statvfs,--wrap=ftruncate,--wrap=mkdir,--wrap=flock */
/* link: -Wl,--wrap=fcntl,--wrap=ioctl,--wrap=socket,--wrap=setsockopt */
/* link: -Wl,--wrap=bind,--wrap=connect,--wrap=send,--wrap=sendto */
/* link: -Wl,--wrap=recv,--wrap=getsockopt,--wrap=epoll_create1 */
/* link: -Wl,--wrap=epoll_ctl,--wrap=timerfd_create,--wrap=eventfd */
/* link: -Wl,--wrap=readlink,--wrap=madvise,--wrap=fchmod,--wrap=access */
/* link: -Wl,--wrap=posix_fallocate,--wrap=pthread_create,--wrap=mmap */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup */
/* link: -Wl,--wrap=strndup,--wrap=asprintf */
/* link: -Wl,--wrap=opendir,--wrap=mdb_env_create,--wrap=mdb_env_open */
/* link: -Wl,--wrap=mdb_txn_begin,--wrap=mdb_txn_commit,--wrap=mdb_put */
/* link: -Wl,--wrap=mdb_get,--wrap=mdb_del,--wrap=mdb_dbi_open */
/* link: -Wl,--wrap=mdb_cursor_open,--wrap=mdb_cursor_get */
/* link: -Wl,--wrap=mdb_cursor_del,--wrap=mdb_env_set_mapsize */
/* link: -Wl,--wrap=PQconnectStartParams,--wrap=PQconnectPoll */
/* link: -Wl,--wrap=PQconninfo,--wrap=PQconninfoParse */
/* link: -Wl,--wrap=PQsetnonblocking,--wrap=PQenterPipelineMode */
/* link: -Wl,--wrap=PQexitPipelineMode,--wrap=PQpipelineSync,--wrap=PQflush */
/* link: -Wl,--wrap=PQconsumeInput,--wrap=PQsendQuery,--wrap=PQsendPrepare */
/* link: -Wl,--wrap=PQsendQueryPrepared,--wrap=PQsendQueryParams */
/* link: -Wl,--wrap=dlopen,--wrap=dlsym */
/* library, if built: store-postgres-objects */
/* Calls of the system, of the allocator, of LMDB and of libpq: each fails once,
 * at each place in the code from which it is made. Then a public call returns
 * an error or succeeds, there is no crash, hang or descriptor leak, and
 * afterwards every name can be acquired. On the store in HF_TEST_URL, or an
 * embedded one. */
#include "client_world.h"

#include "client_calls.h"
#include "client_linked.h"

#include <dirent.h>

/* Short: what a failure leaves blocks the next acquisition for so long. */
#define TTL_MS 400

static void tidy(void *user, struct hf_lock *lock, enum hf_status status,
                 const struct hf_error *error)
{
    (void)user;
    (void)status;
    (void)error;
    hf_lock_release(lock);
}

/* ---- Expected results -------------------------------------------------- */

static void check_at(int line, enum hf_status status,
                     const struct hf_error *error)
{
    bool is_expected = status != HF_INVALID && status != HF_INTERNAL &&
                       status != HF_CANCELLED && status <= HF_NO_MEMORY;
    if (!is_expected || (status != HF_OK && error->text[0] == '\0')) {
        fail_msg("%s failed: line %d: %s: %s", calls_failed_name(), line,
                 hf_status_name(status), error->text);
    }
}

#define check(status, error) check_at(__LINE__, status, error)

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* ---- A session --------------------------------------------------------- */

static void request_of(struct hf_request *request, const char *name)
{
    hf_request_init(request, name);
    request->ttl_ms = TTL_MS;
}

static void hand_on(struct hf_client *client, struct hf_request *request,
                    struct hf_lock *lock)
{
    struct hf_error error = {0};
    char owner[HF_OWNER_TEXT_MAX];
    if (hf_lock_detach(lock, owner) != HF_OK) {
        return;
    }
    enum hf_status status =
        hf_lock_adopt(client, request, owner, &lock, &error);
    check(status, &error);
    if (status == HF_OK) {
        hf_lock_release(lock);
        return;
    }
    check(hf_owner_release(client, "calls", 5, owner, &error), &error);
}

static void hold(struct hf_client *client, struct hf_request *request)
{
    struct hf_error error = {0};
    struct hf_lock *lock = NULL;
    enum hf_status status = hf_lock_acquire(client, request, &lock, &error);
    check(status, &error);
    assert_true((status == HF_OK) == (lock != NULL));
    if (status != HF_OK) {
        return;
    }
    assert_true(hf_lock_fence(lock) > 0);
    check(hf_lock_extend(lock, TTL_MS, &error), &error);
    if (request->n_more == 0 && request->permits == 0) {
        hand_on(client, request, lock);
    } else {
        hf_lock_release(lock);
    }
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    (void)user;
    (void)name;
    (void)name_len;
    return info != NULL;
}

static bool on_place(void *user, const struct hf_queue_entry *place)
{
    (void)user;
    return place != NULL;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    (void)user;
    assert_true(hf_finding_text(finding)[0] != '\0');
}

static void look(struct hf_client *client)
{
    struct hf_error error = {0};
    struct hf_info *info;
    check(hf_client_inspect(client, "calls", 5, &info, &error), &error);
    hf_info_free(info);
    check(hf_client_list(client, NULL, on_name, NULL, &error), &error);
    check(hf_client_queue(client, "calls", 5, on_place, NULL, &error), &error);
    check(hf_client_diagnose(client, on_finding, NULL, &error), &error);
}

static const struct hf_name more[] = {{"second", 6, HF_EXCLUSIVE},
                                      {"third", 5, HF_SHARED}};

/* One client holds; another waits and is granted the lock, or gives up; the
 * lock is broken, too. */
static void queue(struct hf_client *client)
{
    struct hf_request request;
    struct hf_error error = {0};
    struct hf_lock *lock = NULL;
    struct hf_op *op = NULL;
    int64_t until_ms = 0;
    request_of(&request, "queue");
    check(hf_lock_acquire(client, &request, &lock, &error), &error);
    request.wait_ms = 100;
    enum hf_status status =
        hf_op_start_acquire(client, &request, tidy, NULL, &op, &error);
    check(status, &error);
    hf_client_process(client);
    hf_lock_release(lock);
    hf_client_process(client);
    check(hf_client_break(client, "queue", 5, true, &until_ms, &error), &error);
}

static void use(struct hf_client *client)
{
    struct hf_request request;
    request_of(&request, "calls");
    hold(client, &request);
    request.mode = HF_SHARED;
    hold(client, &request);
    look(client);
    request_of(&request, "permits");
    request.permits = 2;
    hold(client, &request);
    request_of(&request, "several");
    request.more = more;
    request.n_more = 2;
    hold(client, &request);
    queue(client);
}

static void session(enum hf_thread_mode mode)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    hf_client_options_init(&options);
    options.thread = mode;
    enum hf_status status =
        hf_client_open(world_url(), &options, &client, &error);
    check(status, &error);
    assert_true((status == HF_OK) == (client != NULL));
    if (mode == HF_THREAD_NONE && client != NULL) {
        use(client);
    } else if (client != NULL) {
        struct hf_request request;
        request_of(&request, "calls");
        hold(client, &request);
    }
    hf_client_close(client);
}

/* The locks of a failed session end with their leases: then all names can be
 * acquired. */
static void all_is_free(void)
{
    const struct hf_name names[] = {
        {"second", 6, HF_EXCLUSIVE},    {"third", 5, HF_EXCLUSIVE},
        {"several", 7, HF_EXCLUSIVE},   {"queue", 5, HF_EXCLUSIVE},
        {"permits#0", 9, HF_EXCLUSIVE}, {"permits#1", 9, HF_EXCLUSIVE}};
    struct hf_client *client = NULL;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    hf_request_init(&request, "calls");
    request.more = names;
    request.n_more = sizeof(names) / sizeof(names[0]);
    request.wait_ms = 20000;
    enum hf_status status = hf_client_open(world_url(), NULL, &client, &error);
    if (status == HF_OK) {
        status = hf_lock_acquire(client, &request, &lock, &error);
    }
    if (status != HF_OK) {
        fail_msg("after %s failed: %s: %s", calls_failed_name(),
                 hf_status_name(status), error.text);
    }
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* ---- The sweeps -------------------------------------------------------- */

static void sweep(enum hf_thread_mode mode, int number)
{
    calls_forget();
    all_is_free();
    do {
        unsigned before = open_descriptors();
        calls_arm(number);
        session(mode);
        calls_disarm();
        all_is_free();
        if (open_descriptors() != before) {
            fail_msg("after %s failed: descriptors are left open",
                     calls_failed_name());
        }
    } while (calls_has_failed());
    print_message("# %u places\n", calls_places());
    assert_true(calls_places() > 20);
    assert_true(linked_is_right(world_url()));
}

static void test_each_fails_for_want_of_room(void **state)
{
    (void)state;
    sweep(HF_THREAD_NONE, ENOSPC);
}

static void test_each_fails_for_no_good_reason(void **state)
{
    (void)state;
    sweep(HF_THREAD_NONE, EIO);
}

static void test_each_fails_beside_a_thread(void **state)
{
    (void)state;
    sweep(HF_THREAD_AUTO, EMFILE);
}

/* ---- The first call of a client ---------------------------------------- */

static void first_acquire(struct hf_client *client)
{
    struct hf_request request;
    request_of(&request, "calls");
    hold(client, &request);
}

static void first_bundle(struct hf_client *client)
{
    struct hf_request request;
    request_of(&request, "several");
    request.more = more;
    request.n_more = 2;
    hold(client, &request);
}

static void first_start(struct hf_client *client)
{
    struct hf_request request;
    struct hf_error error = {0};
    struct hf_op *op = NULL;
    request_of(&request, "calls");
    check(hf_op_start_acquire(client, &request, tidy, NULL, &op, &error),
          &error);
    hf_client_process(client);
}

static void first_inspect(struct hf_client *client)
{
    struct hf_error error = {0};
    struct hf_info *info;
    check(hf_client_inspect(client, "calls", 5, &info, &error), &error);
    hf_info_free(info);
}

static void first_list(struct hf_client *client)
{
    struct hf_error error = {0};
    check(hf_client_list(client, NULL, on_name, NULL, &error), &error);
}

static void first_queue(struct hf_client *client)
{
    struct hf_error error = {0};
    check(hf_client_queue(client, "held", 4, on_place, NULL, &error), &error);
}

static void first_examine(struct hf_client *client)
{
    struct hf_error error = {0};
    check(hf_client_diagnose(client, on_finding, NULL, &error), &error);
}

static void first_break(struct hf_client *client)
{
    struct hf_error error = {0};
    int64_t until_ms = 0;
    check(hf_client_break(client, "calls", 5, true, &until_ms, &error), &error);
    check(hf_client_break(client, "calls", 5, false, &until_ms, &error),
          &error);
}

static void first_release(struct hf_client *client)
{
    struct hf_error error = {0};
    enum hf_status status = hf_owner_release(
        client, "calls", 5, "00112233445566778899aabbccddeeff:h:1:2@7", &error);
    check(status, &error);
}

/* Another client holds a name and a third waits for it, so that listing and
 * inspecting have something to report. Both run without a thread: the calls of
 * a thread would fail, too. */
static void test_each_fails_in_a_first_call(void **state)
{
    (void)state;
    static void (*const firsts[])(struct hf_client *) = {
        first_acquire, first_bundle,  first_start, first_inspect, first_list,
        first_queue,   first_examine, first_break, first_release};
    struct hf_client *holder = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = take(holder, "held", 60000);
    struct hf_request request = want("held", 60000, HF_WAIT_FOREVER);
    struct hf_error error = {0};
    struct hf_op *op = NULL;
    assert_int_equal(
        hf_op_start_acquire(holder, &request, tidy, NULL, &op, &error), HF_OK);
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        calls_forget();
        do {
            struct hf_client *client = open_mode(HF_THREAD_NONE);
            calls_arm(ENOMEM);
            firsts[i](client);
            calls_disarm();
            hf_client_close(client);
        } while (calls_has_failed());
        assert_true(calls_places() > 0);
    }
    hf_op_cancel(op);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(holder);
    all_is_free();
}

/* ---- A store that is not there yet ------------------------------------- */

/* Create the file and use it: then it exists, whatever failed. */
static void use_new_store(const char *url, int number)
{
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    calls_arm(number);
    enum hf_status status = hf_client_open(url, NULL, &client, &error);
    check(status, &error);
    if (status == HF_OK) {
        check(try_once(client, "new", &error), &error);
    }
    hf_client_close(client);
    calls_disarm();
    status = hf_client_open(url, NULL, &client, &error);
    if (status != HF_OK) {
        fail_msg("after %s failed: %s", calls_failed_name(), error.text);
    }
    struct hf_lock *lock = take(client, "new", 5000);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

static void test_each_fails_while_a_store_is_made(void **state)
{
    (void)state;
    static const int numbers[] = {ENOSPC, EIO, EACCES, EROFS, ENOTDIR};
    char folder[200];
    char url[300];
    unsigned n_stores = 0;
    if (!world_is_local()) {
        return; /* servers create their own */
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/hf-new.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        calls_forget();
        do {
            snprintf(url, sizeof(url), "local://%s/%u", folder, n_stores++);
            use_new_store(url, numbers[i]);
        } while (calls_has_failed());
    }
    assert_true(calls_places() > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fails_for_want_of_room),
        cmocka_unit_test(test_each_fails_for_no_good_reason),
        cmocka_unit_test(test_each_fails_beside_a_thread),
        cmocka_unit_test(test_each_fails_in_a_first_call),
        cmocka_unit_test(test_each_fails_while_a_store_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
