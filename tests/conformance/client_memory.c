/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup */
/* link: -Wl,--wrap=posix_memalign,--wrap=open_memstream,--wrap=free */
/* link: -Wl,--wrap=strndup,--wrap=asprintf,--wrap=dlopen,--wrap=dlsym */
/* library, if built: store-postgres-objects */
/* Allocations that fail: client_memory.h. And locks that are released together
 * while each allocation fails, more than a connection has room for. */
#include "client_memory.h"

enum { LOCKS = 64 }; /* the most names that one request may have */

struct releases {
    unsigned n_done;
    unsigned n_unconfirmed;
};

static void on_released(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct releases *releases = user;
    (void)error;
    assert_null(lock);
    assert_true(status == HF_OK || status == HF_UNKNOWN);
    releases->n_done++;
    releases->n_unconfirmed += status != HF_OK;
}

static void process_without_memory(struct hf_client *client)
{
    atomic_store(&all_fail, true);
    hf_client_process(client);
    atomic_store(&all_fail, false);
}

/* Another client gets all of them, long before a lease would end. */
static void await_free(struct hf_client *releasing,
                       const struct hf_request *request)
{
    struct hf_client *other = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (hf_lock_acquire(other, request, &lock, &error) != HF_OK) {
        if (now_ms() > end_ms) {
            fail_msg("%s", error.text);
        }
        process_without_memory(releasing);
    }
    hf_lock_release(lock);
    hf_client_close(other);
}

/* Acquired one after the other, so that no more were ever in flight. */
static void test_many_releases(void **state)
{
    static char texts[LOCKS][64];
    struct hf_name names[LOCKS];
    struct hf_lock *locks[LOCKS];
    struct releases releases = {0};
    struct hf_request request;
    (void)state;
    if (world_is_local()) {
        return; /* LMDB allocates in its transactions */
    }
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%s", fresh_name());
        names[i] = (struct hf_name){texts[i], strlen(texts[i]), HF_EXCLUSIVE};
        request = want(texts[i], LEASE_MS, 0);
        assert_int_equal(hf_lock_acquire(client, &request, &locks[i], NULL),
                         HF_OK);
    }
    atomic_store(&all_fail, true);
    for (unsigned i = 0; i < LOCKS; i++) {
        hf_op_start_release(locks[i], on_released, &releases);
    }
    atomic_store(&all_fail, false);
    for (int64_t end_ms = now_ms() + PATIENCE_MS; releases.n_done < LOCKS;) {
        struct pollfd fd = {hf_client_fd(client), POLLIN, 0};
        assert_true(now_ms() < end_ms);
        poll(&fd, 1, 1000);
        process_without_memory(client);
    }
    print_message("%u of %d not confirmed at once\n", releases.n_unconfirmed,
                  LOCKS);
    request = want(texts[0], LEASE_MS, 0);
    request.more = names + 1;
    request.n_more = LOCKS - 1;
    await_free(client, &request);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function),
        cmocka_unit_test(test_many_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
