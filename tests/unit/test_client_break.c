/* SPDX-License-Identifier: Apache-2.0 */
/* A break that runs out of memory after the name is taken: it gives the name
 * back, and frees no name before the lease has expired. The memory that it
 * needs for that is reserved before BREAK. On the embedded store. */
/* link: -Wl,--wrap=hf_op_list */
#include "client/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* 20 s until a condition must hold: for hangs. */
#define PATIENCE_NS INT64_C(20000000000)

/* ---- Out of memory ----------------------------------------------------- */

static bool has_memory = true;

bool __real_hf_op_list(struct hf_op *op);
bool __wrap_hf_op_list(struct hf_op *op);

/* A reserved operation needs no memory. */
bool __wrap_hf_op_list(struct hf_op *op)
{
    return (has_memory || op->is_reserved) && __real_hf_op_list(op);
}

/* ---- The scene --------------------------------------------------------- */

static char url[256];

static int set_up(void **state)
{
    char folder[200];
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof(folder), "%s/hf-break.XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(url, sizeof(url), "local://%s", folder);
    return 0;
}

static struct hf_client *open_client(void)
{
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    if (hf_client_open(url, NULL, &client, &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    return client;
}

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool has_owner(struct hf_client *client, const char *owner)
{
    struct hf_info *info = NULL;
    assert_int_equal(hf_client_inspect(client, "job", 3, &info, NULL), HF_OK);
    const struct hf_holder *holder = hf_info_node_holder(info, 0);
    bool has_it = strncmp(hf_holder_owner(holder), owner, 32) == 0;
    hf_info_free(info);
    return has_it;
}

static bool use_up_memory(void *user, const struct hf_holder *holder,
                          int64_t wait_ms)
{
    int *n_asked = user;
    (void)holder;
    assert_true(wait_ms > 0);
    ++*n_asked;
    has_memory = false;
    return true;
}

static void no_memory_to_wait(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_client *breaker = open_client();
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    char owner[HF_OWNER_TEXT_MAX];
    int n_asked = 0;
    hf_request_init(&request, "job");
    request.ttl_ms = 60000;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    hf_lock_owner(lock, owner);
    assert_int_equal(hf_client_break_wait(breaker, "job", 3, use_up_memory,
                                          &n_asked, &error),
                     HF_NO_MEMORY);
    has_memory = true;
    assert_int_equal(n_asked, 1);
    assert_int_equal(error.status, HF_NO_MEMORY);
    int64_t end_ns = clock_ns() + PATIENCE_NS;
    while (!has_owner(client, owner)) {
        assert_true(clock_ns() < end_ns);
    }
    assert_int_equal(hf_lock_extend(lock, 0, &error), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(breaker);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_memory_to_wait, set_up),
    };
    return cmocka_run_group_tests_name("client_break", tests, NULL, NULL);
}
