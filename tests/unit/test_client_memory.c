/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
/* link: -Wl,--wrap=mdb_txn_begin,--wrap=mdb_txn_commit,--wrap=mdb_put */
/* Memory: if any single allocation fails, there is no leak, crash or lock left
 * behind. Releasing and extending allocate nothing. The memory of 20,000 locks
 * is bounded. On the embedded store. */
#include <holdfast/holdfast.h>

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The failing allocator --------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_long n_allocations;
static atomic_long fail_at = -1; /* number of the one that fails; -1: none */

/* Allocations of LMDB in its transactions are not counted. */
static _Thread_local int in_vendor;
static atomic_long n_ours;

int __real_mdb_txn_begin(void *env, void *parent, unsigned flags, void **out);
int __real_mdb_txn_commit(void *txn);
int __real_mdb_put(void *txn, unsigned dbi, void *key, void *data,
                   unsigned flags);
int __wrap_mdb_txn_begin(void *env, void *parent, unsigned flags, void **out);
int __wrap_mdb_txn_commit(void *txn);
int __wrap_mdb_put(void *txn, unsigned dbi, void *key, void *data,
                   unsigned flags);

int __wrap_mdb_txn_begin(void *env, void *parent, unsigned flags, void **out)
{
    in_vendor++;
    int failed = __real_mdb_txn_begin(env, parent, flags, out);
    in_vendor--;
    return failed;
}

int __wrap_mdb_txn_commit(void *txn)
{
    in_vendor++;
    int failed = __real_mdb_txn_commit(txn);
    in_vendor--;
    return failed;
}

int __wrap_mdb_put(void *txn, unsigned dbi, void *key, void *data,
                   unsigned flags)
{
    in_vendor++;
    int failed = __real_mdb_put(txn, dbi, key, data, flags);
    in_vendor--;
    return failed;
}

static bool fails(void)
{
    n_ours += in_vendor == 0;
    long number = atomic_fetch_add(&n_allocations, 1);
    return number == atomic_load(&fail_at);
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static void arm(long number)
{
    atomic_store(&n_allocations, 0);
    atomic_store(&fail_at, number);
}

/* ---- A session --------------------------------------------------------- */

static const char *url(void)
{
    static char text[300];
    static char folder[200];
    if (text[0] == '\0') {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder, sizeof(folder), "%s/hf-memory.XXXXXX",
                 tmp != NULL ? tmp : "/tmp");
        assert_non_null(mkdtemp(folder));
        snprintf(text, sizeof(text), "local://%s", folder);
    }
    return text;
}

static bool is_expected(enum hf_status status)
{
    /* a release for which LMDB had no memory continues in the background */
    return status == HF_OK || status == HF_NO_MEMORY || status == HF_UNKNOWN;
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    (void)user;
    (void)name;
    (void)name_len;
    (void)info;
    return true;
}

/* Several locks in one handle: all or none, also if memory runs out in
 * between. */
static void use_several(struct hf_client *client, struct hf_request *request)
{
    struct hf_error error;
    struct hf_lock *lock = NULL;
    struct hf_op *op = NULL;
    enum hf_status status = hf_lock_acquire(client, request, &lock, &error);
    if (!is_expected(status)) {
        fail_msg("%s: %s", hf_status_name(status), error.text);
    }
    assert_true((status == HF_OK) == (lock != NULL));
    if (status == HF_OK) {
        assert_true(is_expected(hf_lock_extend(lock, 5000, &error)));
        assert_true(is_expected(hf_lock_release(lock)));
    }
    status = hf_op_start_acquire(client, request, (hf_op_fn *)abort, NULL, &op,
                                 &error);
    assert_true(is_expected(status));
    hf_op_cancel(op);
}

static const struct hf_name more[] = {{"second", 6, HF_EXCLUSIVE},
                                      {"third", 5, HF_SHARED}};

/* Consumes the lock. */
static void hand_on(struct hf_client *client, const struct hf_request *request,
                    struct hf_lock *lock)
{
    struct hf_error error;
    char owner[HF_OWNER_TEXT_MAX];
    enum hf_status status = hf_lock_detach(lock, owner);
    assert_true(is_expected(status));
    if (status != HF_OK) {
        assert_true(is_expected(hf_lock_release(lock))); /* still held */
        return;
    }
    status = hf_lock_adopt(client, request, owner, &lock, &error);
    assert_true(is_expected(status));
    if (status == HF_OK) {
        assert_true(is_expected(hf_lock_release(lock)));
    } else {
        assert_true(
            is_expected(hf_owner_release(client, "memory", 6, owner, &error)));
    }
}

static void use(struct hf_client *client)
{
    struct hf_request request;
    struct hf_error error;
    struct hf_lock *lock = NULL;
    struct hf_op *op = NULL;
    hf_request_init(&request, "memory");
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    assert_true(status == HF_OK || status == HF_NO_MEMORY);
    assert_true((status == HF_OK) == (lock != NULL));
    if (status == HF_OK) {
        assert_true(is_expected(hf_lock_extend(lock, 5000, &error)));
        hand_on(client, &request, lock);
    }
    assert_true(
        is_expected(hf_client_list(client, NULL, on_name, NULL, &error)));
    status = hf_op_start_acquire(client, &request, (hf_op_fn *)abort, NULL, &op,
                                 &error);
    assert_true(is_expected(status));
    hf_op_cancel(op);
    /* Each call has its own name: a name whose release failed stays held for a
     * while. */
    hf_request_init(&request, "permits");
    request.permits = 3;
    use_several(client, &request);
    hf_request_init(&request, "several");
    request.more = more;
    request.n_more = 2;
    use_several(client, &request);
}

static long session(long number)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    arm(number);
    if (hf_client_open(url(), &options, &client, &error) == HF_OK) {
        use(client);
    } else {
        assert_null(client);
        assert_true(error.text[0] != '\0');
    }
    hf_client_close(client);
    long count = atomic_load(&n_allocations);
    arm(-1);
    return count;
}

static void test_every_allocation_fails_once(void **state)
{
    (void)state;
    long count = session(-1);
    assert_true(count > 5);
    for (long i = 0; i < count; i++) {
        session(i);
        /* after every failure, the names and the permits are free */
        struct hf_client *client = NULL;
        struct hf_request request;
        struct hf_lock *lock = NULL;
        struct hf_error error = {0};
        hf_request_init(&request, "memory");
        assert_int_equal(hf_client_open(url(), NULL, &client, NULL), HF_OK);
        if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
            fail_msg("after failure %ld of %ld: %s", i, count, error.text);
        }
        assert_int_equal(hf_lock_release(lock), HF_OK);
        const struct hf_name names[] = {
            {"several", 7, HF_EXCLUSIVE},   {"second", 6, HF_EXCLUSIVE},
            {"third", 5, HF_EXCLUSIVE},     {"permits", 7, HF_EXCLUSIVE},
            {"permits#0", 9, HF_EXCLUSIVE}, {"permits#1", 9, HF_EXCLUSIVE},
            {"permits#2", 9, HF_EXCLUSIVE}};
        request.more = names;
        request.n_more = sizeof(names) / sizeof(names[0]);
        if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
            fail_msg("after failure %ld of %ld: %s", i, count, error.text);
        }
        assert_int_equal(hf_lock_release(lock), HF_OK);
        hf_client_close(client);
    }
}

static void test_no_allocation_to_give_back(void **state)
{
    (void)state;
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    assert_int_equal(hf_client_open(url(), &options, &client, NULL), HF_OK);
    hf_request_init(&request, "memory");
    request.more = more;
    for (int i = 0; i < 6; i++) {
        request.n_more = (size_t)i % 2; /* also for two names in one handle */
        assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
        long before = atomic_load(&n_ours);
        assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_OK);
        hf_client_process(client);
        assert_int_equal(hf_lock_release(lock), HF_OK);
        long after = atomic_load(&n_ours);
        assert_int_equal(after, before);
    }
    hf_client_close(client);
}

/* The embedded store keeps a list of processes with each lock: 40 bytes more
 * than the 256 of a lock on a server. */
static void test_bytes_of_a_lock(void **state)
{
    (void)state;
    enum { N = 20000, NAME = 8, BYTES_MAX = 256 + 40 };
    struct hf_client *client = NULL;
    static struct hf_lock *locks[N];
    char name[NAME + 1];
    struct hf_request request;
    assert_int_equal(hf_client_open(url(), NULL, &client, NULL), HF_OK);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "n%07d", i);
        hf_request_init(&request, name);
        assert_int_equal(hf_lock_acquire(client, &request, &locks[i], NULL),
                         HF_OK);
    }
    struct mallinfo2 after = mallinfo2();
    double each = (double)(after.uordblks + after.hblkhd - before.uordblks -
                           before.hblkhd) /
                      N -
                  NAME;
    print_message("%.1f bytes a lock beside its name\n", each);
    if (before.uordblks != 0) { /* sanitizers have no mallinfo */
        assert_true(each > 100 && each <= BYTES_MAX);
    }
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_no_allocation_to_give_back),
        cmocka_unit_test(test_bytes_of_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
