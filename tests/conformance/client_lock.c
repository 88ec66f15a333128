/* SPDX-License-Identifier: Apache-2.0 */
/* A lock from acquire to release, as its holder and other clients see it. */
#include "client_world.h"

static void test_take_and_give_back(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, LEASE_MS);
    size_t len = 0;
    assert_memory_equal(hf_lock_name(lock, &len), name, strlen(name));
    assert_int_equal(len, strlen(name));
    assert_true(hf_lock_fence(lock) > 0);
    assert_true(hf_lock_valid_for(lock, 20000));
    assert_false(hf_lock_valid_for(lock, LEASE_MS)); /* minus drift */
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_in_range((unsigned long)hf_lock_remaining_ms(lock), 20000, 59398);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_free(client, name);
    hf_client_close(client);
}

static void test_fences_rise(void **state)
{
    (void)state;
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    const char *name = fresh_name();
    uint64_t last = 0;
    for (int i = 0; i < 200; i++) {
        struct hf_lock *lock = take(i % 2 ? a : b, name, 2000);
        assert_true(hf_lock_fence(lock) > last);
        last = hf_lock_fence(lock);
        let_go(lock);
    }
    hf_client_close(a);
    hf_client_close(b);
}

static void test_busy_says_who(void **state)
{
    (void)state;
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    const char *name = fresh_name();
    struct hf_request request = want(name, 9000, 0);
    struct hf_lock *lock = NULL;
    struct hf_error error;
    char needle[64];
    request.label = "nightly report";
    assert_int_equal(hf_lock_acquire(a, &request, &lock, &error), HF_OK);
    int64_t began_ms = now_ms();
    assert_int_equal(try_take(b, name, &error), HF_BUSY);
    assert_true(now_ms() - began_ms < 6000); /* not until the lease ends */
    assert_int_equal(error.status, HF_BUSY);
    snprintf(needle, sizeof(needle), "pid %d since ", (int)getpid());
    assert_non_null(strstr(error.text, needle));
    assert_non_null(strstr(error.text, "held by "));
    assert_non_null(strstr(error.text, "(nightly report), lease ends in "));
    hf_lock_release(lock);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_wait_ends(void **state)
{
    (void)state;
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    const char *name = fresh_name();
    struct hf_lock *held = take(a, name, LEASE_MS);
    struct hf_request request = want(name, LEASE_MS, 300);
    struct hf_lock *lock = (struct hf_lock *)1;
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_acquire(b, &request, &lock, NULL), HF_BUSY);
    assert_in_range((unsigned long)(now_ms() - began_ms), 300, 6000);
    assert_null(lock);
    hf_lock_release(held);
    assert_free(a, name);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_dead_holder_is_followed(void **state)
{
    (void)state;
    struct hf_client *a = open_mode(HF_THREAD_NONE);
    struct hf_client *b = open_client();
    const char *name = fresh_name();
    int64_t began_ms = now_ms();
    struct hf_lock *held = take(a, name, 400); /* not renewed */
    uint64_t fence = hf_lock_fence(held);
    struct hf_lock *lock = take(b, name, 10000);
    assert_in_range((unsigned long)(now_ms() - began_ms), 390, 6000);
    assert_true(hf_lock_fence(lock) > fence);
    assert_false(hf_lock_valid_for(held, 0));
    assert_int_equal(hf_lock_state(held), HF_STATE_LOST);
    assert_int_equal(hf_lock_remaining_ms(held), 0);
    release_lost(held);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_renewed_beyond_its_ttl(void **state)
{
    (void)state;
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    const char *name = fresh_name();
    int64_t began_ms = now_ms();
    struct hf_lock *lock = take(a, name, 3000);
    int64_t left_ms = INT64_MAX;
    int renewals = 0;
    while (renewals < 2 || now_ms() - began_ms < 3100) {
        assert_int_equal(try_take(b, name, NULL), HF_BUSY);
        assert_true(hf_lock_valid_for(lock, 1));
        assert_int_not_equal(hf_lock_state(lock), HF_STATE_LOST);
        assert_true(now_ms() - began_ms < PATIENCE_MS);
        renewals += was_renewed(lock, &left_ms);
        pause_ms(10);
    }
    enum hf_state news = HF_STATE_HELD;
    while (hf_client_next_event(a, &news) != NULL) { /* on a loaded machine */
        assert_int_not_equal(news, HF_STATE_LOST);
    }
    let_go(lock);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_lost_is_final(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = take(client, fresh_name(), 200);
    enum hf_state news = HF_STATE_HELD;
    while (hf_lock_valid_for(lock, 0)) {
        pause_ms(5);
    }
    assert_int_equal(hf_lock_extend(lock, 0, NULL), HF_LOST);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    hf_client_process(client);
    assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
    assert_ptr_equal(hf_client_next_event(client, &news), lock);
    assert_int_equal(news, HF_STATE_LOST);
    assert_null(hf_client_next_event(client, &news));
    release_lost(lock);
    hf_client_close(client);
}

static void test_extend(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    assert_int_equal(hf_lock_extend(lock, 30000, &error), HF_OK);
    assert_true(hf_lock_remaining_ms(lock) > 20000);
    assert_int_equal(hf_lock_extend(lock, 0, &error), HF_OK);
    assert_int_equal(hf_lock_extend(lock, 9, &error), HF_INVALID);
    assert_non_null(strstr(error.text, "10 ms"));
    assert_int_equal(hf_lock_extend(lock, 60001, &error), HF_INVALID);
    assert_int_equal(hf_lock_extend(NULL, 0, &error), HF_INVALID);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

static void test_names_of_any_bytes(void **state)
{
    (void)state;
    static char longest[HF_NAME_MAX + 1];
    struct hf_client *client = open_client();
    memset(longest, 'x', sizeof(longest));
    const struct {
        const char *bytes;
        size_t len;
    } names[] = {
        {"a\0b", 3},
        {"a\0c", 3},
        {"\n", 1},
        {" two words ", 11},
        {"{}", 2},
        {"a}b", 3},
        {"x{}y", 4},
        {"\xc3\xa4\xe2\x82\xac", 5},
        {"*?[", 3},
        {"\xff\xfe", 2},
        {longest, HF_NAME_MAX},
    };
    enum { N = sizeof(names) / sizeof(names[0]) };
    struct hf_lock *locks[N];
    for (size_t i = 0; i < N; i++) {
        struct hf_request request = want("", LEASE_MS, 0);
        struct hf_error error;
        request.name = names[i].bytes;
        request.name_len = names[i].len;
        if (hf_lock_acquire(client, &request, &locks[i], &error) != HF_OK) {
            fail_msg("name %zu: %s", i, error.text);
        }
        assert_int_equal(
            hf_lock_acquire(client, &request, &(struct hf_lock *){0}, &error),
            HF_BUSY);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(hf_lock_release(locks[i]), HF_OK);
    }
    hf_client_close(client);
}

static void test_bad_requests(void **state)
{
    (void)state;
    static char longer[HF_NAME_MAX + 1];
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_lock *lock = (struct hf_lock *)1;
    memset(longer, 'x', sizeof(longer));
    struct hf_request request = want("", LEASE_MS, 0);
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_INVALID);
    assert_null(lock);
    request.name = longer;
    request.name_len = sizeof(longer);
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_INVALID);
    assert_non_null(strstr(error.text, "1025"));
    const int64_t ttls[] = {-1, 1, 9, 60001, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(ttls) / sizeof(ttls[0]); i++) {
        request = want("a", ttls[i], 0);
        assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                         HF_INVALID);
    }
    assert_non_null(strstr(error.text, "ttl"));
    request = want("a", 1000, -2);
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_INVALID);
    request = want("a", 1000, 0);
    request.size = 4;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_INVALID);
    struct {
        struct hf_request request;
        char tail[8];
    } later = {.request = want("a", LEASE_MS, PATIENCE_MS), .tail = {0}};
    later.request.size = sizeof(later);
    assert_int_equal(hf_lock_acquire(client, &later.request, &lock, &error),
                     HF_OK);
    hf_lock_release(lock);
    later.tail[3] = 1;
    assert_int_equal(hf_lock_acquire(client, &later.request, &lock, &error),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_lock_acquire(NULL, &request, &lock, &error),
                     HF_INVALID);
    assert_int_equal(hf_lock_release(NULL), HF_OK);
    hf_client_close(client);
    hf_client_close(NULL);
}

/* A ttl of 0 is 30 s for a new lock; an adopted one keeps its own. */
static void test_default_ttl(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX];
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_request request = want(name, 0, 0);
    struct hf_error error;
    struct hf_lock *lock;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error), HF_OK);
    assert_in_range((unsigned long)hf_lock_remaining_ms(lock), 10000, 30000);
    assert_int_equal(hf_lock_extend(lock, LEASE_MS, &error), HF_OK);
    assert_int_equal(hf_lock_detach(lock, owner), HF_OK);
    assert_int_equal(hf_lock_adopt(client, &request, owner, &lock, &error),
                     HF_OK);
    assert_in_range((unsigned long)hf_lock_remaining_ms(lock), 31000, LEASE_MS);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

static void test_given_and_adopted(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX];
    char again[HF_OWNER_TEXT_MAX];
    const char *name = fresh_name();
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    struct hf_request request = want(name, LEASE_MS, 0);
    struct hf_error error;
    struct hf_lock *lock = take(a, name, LEASE_MS);
    uint64_t fence = hf_lock_fence(lock);
    assert_int_equal(hf_client_max_ttl_ms(a), LEASE_MS);
    assert_int_equal(hf_lock_detach(lock, owner), HF_OK);
    hf_client_close(a); /* a detached lock is not released */
    assert_int_equal(try_take(b, name, NULL), HF_BUSY);
    enum hf_status adopted = hf_lock_adopt(b, &request, owner, &lock, &error);
    if (adopted != HF_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(hf_lock_fence(lock), fence);
    hf_lock_owner(lock, again);
    size_t len = strlen(again);
    assert_memory_equal(owner, again, len);
    assert_string_equal(owner + len, "/60000"); /* LEASE_MS */
    assert_true(hf_lock_valid_for(lock, 1000));
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_int_equal(hf_lock_adopt(b, &request, owner, &lock, &error), HF_LOST);
    assert_free(b, name);
    assert_int_equal(hf_lock_adopt(b, &request, "rubbish", &lock, &error),
                     HF_INVALID);
    assert_int_equal(hf_lock_adopt(b, &request, NULL, &lock, &error),
                     HF_INVALID);
    hf_client_close(b);
}

/* The text is the lock: to the store, two clients that adopt it are one
 * holder. */
static void test_adopted_twice(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX];
    const char *name = fresh_name();
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    struct hf_request request = want(name, LEASE_MS, 0);
    struct hf_error error;
    struct hf_lock *one, *two;
    assert_int_equal(hf_lock_detach(take(a, name, LEASE_MS), owner), HF_OK);
    assert_int_equal(hf_lock_adopt(a, &request, owner, &one, &error), HF_OK);
    assert_int_equal(hf_lock_adopt(b, &request, owner, &two, &error), HF_OK);
    assert_int_equal(hf_lock_state(one), HF_STATE_HELD);
    assert_int_equal(hf_lock_state(two), HF_STATE_HELD);
    assert_true(hf_lock_fence(one) == hf_lock_fence(two));
    /* Each may extend. The first release frees the lock for a third client; the
     * other client holds it until its next renewal. */
    assert_int_equal(hf_lock_extend(one, 0, &error), HF_OK);
    assert_int_equal(hf_lock_extend(two, 0, &error), HF_OK);
    assert_int_equal(hf_lock_release(one), HF_OK);
    struct hf_lock *third = take(a, name, LEASE_MS);
    assert_true(hf_lock_fence(third) > hf_lock_fence(two));
    assert_int_equal(hf_lock_state(two), HF_STATE_HELD);
    /* Nodes that have not executed the release yet answer "yours" to the old
     * holder. No client has a majority, and the extend is repeated. */
    enum hf_status status = HF_UNAVAILABLE;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (status == HF_UNAVAILABLE && now_ms() < end_ms) {
        status = hf_lock_extend(two, 0, &error);
    }
    assert_int_equal(status, HF_LOST);
    assert_int_equal(hf_lock_release(two), HF_LOST);
    assert_int_equal(hf_lock_state(third), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(third), HF_OK);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_released_by_its_owner(void **state)
{
    (void)state;
    char owner[HF_OWNER_TEXT_MAX];
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_lock *lock = take(client, name, LEASE_MS);
    assert_int_equal(hf_lock_detach(lock, owner), HF_OK);
    assert_int_equal(
        hf_owner_release(client, name, strlen(name), owner, &error), HF_OK);
    assert_free(client, name);
    lock = take(client, name, LEASE_MS);
    assert_int_equal(
        hf_owner_release(client, name, strlen(name), owner, &error), HF_LOST);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_int_equal(hf_owner_release(client, name, strlen(name), "x", &error),
                     HF_INVALID);
    hf_client_close(client);
}

static void test_kept_taken(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_lock *lock = take(client, name, LEASE_MS);
    uint64_t fence = hf_lock_fence(lock);
    int64_t began_ms = now_ms();
    assert_int_equal(hf_lock_release_reserved(lock, 1500), HF_OK);
    assert_int_equal(try_take(client, name, &error), HF_BUSY);
    assert_non_null(strstr(error.text, "kept taken after its end by "));
    lock = take(client, name, LEASE_MS);
    assert_in_range((unsigned long)(now_ms() - began_ms), 1490, 8000);
    assert_true(hf_lock_fence(lock) > fence);
    assert_int_equal(hf_lock_release_reserved(lock, 0), HF_OK);
    assert_free(client, name);
    hf_client_close(client);
}

static int64_t marked(struct hf_client *client, const char *name)
{
    struct hf_error error = {0};
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t began_ms;
    int64_t left_ms = -1;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = hf_client_marked(client, name, strlen(name), &left_ms, &error);
    } while (is_late(status, began_ms, end_ms));
    if (status != HF_OK) {
        fail_msg("marked: %s", error.text);
    }
    return left_ms;
}

static void test_marks(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    struct hf_error error;
    assert_int_equal(marked(a, name), 0);
    struct hf_lock *lock = take(a, name, LEASE_MS);
    assert_int_equal(hf_lock_mark(lock, 0, &error), HF_INVALID);
    assert_int_equal(hf_lock_mark(lock, HF_PERIOD_MS_MAX + 1, &error),
                     HF_INVALID);
    assert_int_equal(hf_lock_mark(lock, 60000, &error), HF_OK);
    assert_in_range((unsigned long)marked(b, name), 50000, 60000);
    assert_int_equal(hf_lock_mark(lock, 60000, &error), HF_BUSY);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_true(marked(b, name) > 50000);
    lock = take(b, name, LEASE_MS); /* a mark is not a lock */
    assert_int_equal(hf_lock_mark(lock, 120000, &error), HF_BUSY);
    assert_int_equal(hf_lock_unmark(lock, &error), HF_OK); /* of another
                                                              owner */
    assert_in_range((unsigned long)marked(a, name), 50000, 60000);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    assert_int_equal(hf_client_break(a, name, strlen(name), true, NULL, &error),
                     HF_OK);
    assert_int_equal(marked(b, name), 0);
    lock = take(b, name, LEASE_MS);
    assert_int_equal(hf_lock_mark(lock, 60000, &error), HF_OK);
    assert_int_equal(hf_lock_unmark(lock, &error), HF_OK);
    assert_int_equal(marked(a, name), 0);
    assert_int_equal(hf_lock_unmark(lock, &error), HF_OK);
    assert_int_equal(hf_lock_mark(lock, 60000, &error), HF_INVALID);
    assert_non_null(strstr(error.text, "withdrawn"));
    assert_int_equal(marked(a, name), 0);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    lock = take(a, name, LEASE_MS);
    assert_int_equal(hf_lock_mark(lock, 300, &error), HF_OK);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t left_ms = 300;
    while (left_ms > 0 && now_ms() < end_ms) {
        left_ms = marked(b, name);
        pause_ms(2);
    }
    /* not repeated: servers count in whole milliseconds, and the next reply may
     * be about the one before */
    assert_int_equal(left_ms, 0);
    hf_client_close(a);
    hf_client_close(b);
}

static void test_shared_is_not_marked(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_error error;
    struct hf_request request;
    struct hf_lock *lock;
    hf_request_init(&request, fresh_name());
    request.mode = HF_SHARED;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error), HF_OK);
    assert_int_equal(hf_lock_mark(lock, 60000, &error), HF_INVALID);
    assert_non_null(strstr(error.text, "shared"));
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* @return false: of a store that answers nothing for node_timeout, 3 s, or not
 * all within 5 s, close left locks to their leases. */
static bool close_frees_all(void)
{
    enum { N = 1200 }; /* more than are in flight at a time */
    char name[96];
    const char *prefix = fresh_name();
    struct hf_client *a = open_client();
    struct hf_client *b = open_client();
    bool is_free = true;
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%s.%d", prefix, i);
        take(a, name, LEASE_MS);
    }
    int64_t began_ms = now_ms();
    hf_client_close(a);
    bool is_late = now_ms() - began_ms >= 3000;
    for (int i = 0; i < N && is_free; i += 37) {
        snprintf(name, sizeof(name), "%s.%d", prefix, i);
        is_free = try_take(b, name, NULL) == HF_OK;
        assert_true(is_free || is_late);
    }
    hf_client_close(b);
    return is_free;
}

/* A store on a busy machine is late now and then; close would be always. */
static void test_close_gives_back(void **state)
{
    (void)state;
    assert_true(close_frees_all() || close_frees_all() || close_frees_all());
}

static void test_added_processes(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_lock *lock = take(client, fresh_name(), LEASE_MS);
    assert_int_equal(hf_lock_add_process(lock, getppid()), HF_OK);
    assert_int_equal(hf_lock_add_process(lock, -getpgrp()), HF_OK);
    assert_int_equal(hf_lock_add_process(lock, 0), HF_INVALID);
    assert_int_equal(hf_lock_add_process(lock, 1LL << 40), HF_INVALID);
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(hf_lock_add_process(lock, child), HF_INVALID);
    assert_int_equal(hf_lock_state(lock), HF_STATE_HELD);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

/* Only the end of its lease frees it, whatever processes were added. */
static void test_added_to_a_lasting_lock(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_client();
    struct hf_request request = want(name, LEASE_MS, PATIENCE_MS);
    struct hf_lock *lock = NULL;
    request.liveness = HF_LIVENESS_LEASE;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, NULL), HF_OK);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(pause());
        }
        assert_int_equal(hf_lock_add_process(lock, child), HF_OK);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(try_take(client, name, NULL), HF_BUSY);
    }
    assert_int_equal(hf_lock_add_process(lock, 0), HF_INVALID);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(hf_status_name(HF_OK), "HF_OK");
    assert_string_equal(hf_status_name(HF_INTERNAL), "HF_INTERNAL");
    assert_string_equal(hf_status_name((enum hf_status)99), "HF_?");
    assert_string_equal(hf_status_text(HF_BUSY), "held by another owner");
    assert_string_equal(hf_version(), HF_VERSION_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_take_and_give_back),
        cmocka_unit_test(test_fences_rise),
        cmocka_unit_test(test_busy_says_who),
        cmocka_unit_test(test_wait_ends),
        cmocka_unit_test(test_dead_holder_is_followed),
        cmocka_unit_test(test_renewed_beyond_its_ttl),
        cmocka_unit_test(test_lost_is_final),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_names_of_any_bytes),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_default_ttl),
        cmocka_unit_test(test_given_and_adopted),
        cmocka_unit_test(test_adopted_twice),
        cmocka_unit_test(test_released_by_its_owner),
        cmocka_unit_test(test_kept_taken),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_shared_is_not_marked),
        cmocka_unit_test(test_close_gives_back),
        cmocka_unit_test(test_added_processes),
        cmocka_unit_test(test_added_to_a_lasting_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
