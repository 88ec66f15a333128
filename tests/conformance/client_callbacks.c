/* SPDX-License-Identifier: Apache-2.0 */
/* Calls from callbacks. on_state runs without the client's mutex, at the same
 * time as other threads' calls, even a release of its own lock. A callback of
 * an operation may make blocking calls. Any callback may close the client.
 * Closing runs all pending callbacks. */
#include "client_world.h"

/* ---- on_state ---------------------------------------------------------- */

/* A callback that blocks until it may continue, and then reads the lock. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool is_inside;
    bool is_open;
    bool is_through;
    char name[100];
    size_t name_len;
    size_t count;
    void *user;
    enum hf_state then; /* hf_lock_state() after the release */
    bool is_valid;
};

static void gate_init(struct gate *gate)
{
    memset(gate, 0, sizeof(*gate));
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->cond, NULL);
}

static void await_flag(struct gate *gate, const bool *flag)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&gate->mutex);
    while (!*flag) {
        if (pthread_cond_timedwait(&gate->cond, &gate->mutex, &end) != 0) {
            break;
        }
    }
    bool has_come = *flag;
    pthread_mutex_unlock(&gate->mutex);
    assert_true(has_come);
}

static void raise_flag(struct gate *gate, bool *flag)
{
    pthread_mutex_lock(&gate->mutex);
    *flag = true;
    pthread_cond_broadcast(&gate->cond);
    pthread_mutex_unlock(&gate->mutex);
}

static void on_gate(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct gate *gate = user;
    if (state != HF_STATE_LOST) {
        return;
    }
    raise_flag(gate, &gate->is_inside);
    await_flag(gate, &gate->is_open);
    const char *name = hf_lock_name(lock, &gate->name_len);
    snprintf(gate->name, sizeof(gate->name), "%s", name);
    gate->count = hf_lock_count(lock);
    gate->user = hf_lock_user(lock);
    gate->then = hf_lock_state(lock);
    gate->is_valid = hf_lock_valid_for(lock, 0);
    raise_flag(gate, &gate->is_through);
}

static struct hf_client *open_telling(hf_state_fn *on_state, void *user,
                                      enum hf_thread_mode mode)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    hf_client_options_init(&options);
    options.thread = mode;
    options.on_state = on_state;
    options.state_user = user;
    assert_int_equal(hf_client_open(world_url(), &options, &client, NULL),
                     HF_OK);
    return client;
}

static void break_by_other(const char *name)
{
    struct hf_client *other = open_client();
    break_now(other, name);
    hf_client_close(other);
}

static void on_given(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    (void)error;
    assert_null(lock);
    assert_int_equal(status, HF_LOST);
    ++*(int *)user;
}

/* The library's thread is inside on_state. Another thread releases the lock
 * without waiting; the callback continues to read it. */
static void release_beside(const struct hf_request *request, const char *name,
                           bool is_started)
{
    struct gate gate;
    int given = 0;
    gate_init(&gate);
    struct hf_client *client = open_telling(on_gate, &gate, HF_THREAD_AUTO);
    struct hf_lock *lock = NULL;
    assert_int_equal(hf_lock_acquire(client, request, &lock, NULL), HF_OK);
    break_by_other(name);
    await_flag(&gate, &gate.is_inside);
    if (is_started) {
        hf_op_start_release(lock, on_given, &given);
        run_loop(client, &given, 1, PATIENCE_MS);
        assert_int_equal(given, 1);
    } else {
        assert_int_equal(hf_lock_release(lock), HF_LOST);
    }
    assert_false(gate.is_through);
    raise_flag(&gate, &gate.is_open);
    await_flag(&gate, &gate.is_through);
    assert_string_equal(gate.name, request->name);
    assert_int_equal(gate.name_len, request->name_len);
    assert_int_equal(gate.count, request->n_more + 1);
    assert_ptr_equal(gate.user, request->user);
    assert_true(gate.then == HF_STATE_RELEASED || gate.then == HF_STATE_LOST);
    assert_false(gate.is_valid);
    hf_client_close(client);
}

static void test_release_beside_on_state(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *name = fresh_name();
        struct hf_request request = want(name, 400, PATIENCE_MS);
        request.user = &request;
        release_beside(&request, name, i == 1);
    }
}

static void test_release_of_several_beside_on_state(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *name = fresh_name();
        char second[80];
        snprintf(second, sizeof(second), "%s.second", name);
        struct hf_name more = {second, strlen(second), HF_EXCLUSIVE};
        struct hf_request request = want(name, 400, PATIENCE_MS);
        request.more = &more;
        request.n_more = 1;
        request.user = &more;
        release_beside(&request, second, i == 1);
    }
}

static void test_release_of_a_permit_beside_on_state(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *name = fresh_name();
        char permit[80];
        snprintf(permit, sizeof(permit), "%s#0", name);
        struct hf_request request = want(name, 400, PATIENCE_MS);
        request.permits = 1;
        request.user = permit;
        release_beside(&request, permit, i == 1);
    }
}

/* A program's own mutex, held around its calls and in its callback. */
struct guarded {
    pthread_mutex_t mutex;
    int lost; /* while it is held */
};

static void on_guarded(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct guarded *guarded = user;
    (void)lock;
    pthread_mutex_lock(&guarded->mutex);
    guarded->lost += state == HF_STATE_LOST;
    pthread_mutex_unlock(&guarded->mutex);
}

static void test_own_mutex_in_on_state(void **state)
{
    (void)state;
    struct guarded guarded = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct hf_client *client =
        open_telling(on_guarded, &guarded, HF_THREAD_AUTO);
    int64_t end_ms = now_ms() + PATIENCE_MS;
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, 400);
    break_by_other(name);
    for (int lost = 0; lost == 0;) {
        assert_true(now_ms() < end_ms);
        pthread_mutex_lock(&guarded.mutex);
        hf_lock_state(lock);
        let_go(take(client, fresh_name(), LEASE_MS));
        lost = guarded.lost;
        pthread_mutex_unlock(&guarded.mutex);
        pause_ms(1);
    }
    release_lost(lock);
    hf_client_close(client);
}

/* A callback that releases its lock, and waits for the release. */
struct giver {
    atomic_int told;
    enum hf_status status;
};

static void on_give(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct giver *giver = user;
    if (state == HF_STATE_LOST) {
        giver->status = hf_lock_release(lock);
        atomic_fetch_add(&giver->told, 1);
    }
}

static void test_release_in_on_state(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct giver giver = {.status = HF_INTERNAL};
        bool has_thread = i == 0;
        struct hf_client *client = open_telling(
            on_give, &giver, has_thread ? HF_THREAD_AUTO : HF_THREAD_NONE);
        const char *name = fresh_name();
        int64_t end_ms = now_ms() + PATIENCE_MS;
        take(client, name, 400);
        break_by_other(name);
        while (atomic_load(&giver.told) == 0) {
            assert_true(now_ms() < end_ms);
            if (!has_thread) {
                hf_client_process(client);
            }
            pause_ms(5);
        }
        assert_int_equal(giver.status, HF_LOST);
        hf_client_close(client);
    }
}

/* ---- Calls in a callback ----------------------------------------------- */

struct inside {
    struct hf_client *client;
    const char *second;
    int done;
    enum hf_status acquired, extended, inspected, released;
};

static void on_call_more(void *user, struct hf_lock *lock,
                         enum hf_status status, const struct hf_error *error)
{
    struct inside *inside = user;
    struct hf_request request = want(inside->second, LEASE_MS, PATIENCE_MS);
    struct hf_lock *second = NULL;
    struct hf_info *info = NULL;
    assert_int_equal(status, HF_OK);
    assert_string_equal(error->text, "");
    inside->acquired = hf_lock_acquire(inside->client, &request, &second, NULL);
    inside->extended = hf_lock_extend(lock, 0, NULL);
    inside->inspected = hf_client_inspect(inside->client, inside->second,
                                          strlen(inside->second), &info, NULL);
    hf_info_free(info);
    inside->released = hf_lock_release(second);
    hf_client_process(inside->client); /* no effect in a callback */
    hf_op_start_release(lock, NULL, NULL);
    inside->done++;
}

static void calls_in_callback(enum hf_thread_mode mode)
{
    char second[80];
    struct hf_client *client = open_mode(mode);
    const char *name = fresh_name();
    snprintf(second, sizeof(second), "%s.second", name);
    struct inside inside = {.client = client, .second = second};
    struct hf_request request = want(name, LEASE_MS, PATIENCE_MS);
    assert_int_equal(hf_op_start_acquire(client, &request, on_call_more,
                                         &inside, NULL, NULL),
                     HF_OK);
    run_loop(client, &inside.done, 1, PATIENCE_MS);
    assert_int_equal(inside.done, 1);
    assert_int_equal(inside.acquired, HF_OK);
    assert_int_equal(inside.extended, HF_OK);
    assert_int_equal(inside.inspected, HF_OK);
    assert_int_equal(inside.released, HF_OK);
    assert_free(client, name); /* requests that were started in the callback
                                  were sent */
    assert_free(client, second);
    hf_client_close(client);
}

static void test_calls_in_op_callback(void **state)
{
    (void)state;
    calls_in_callback(HF_THREAD_NONE);
    calls_in_callback(HF_THREAD_AUTO);
}

/* ---- Closing ----------------------------------------------------------- */

struct ends {
    struct hf_client *client;
    int called;
    int cancelled;
    struct hf_op *other;
    enum hf_status refused;
};

static void on_end(void *user, struct hf_lock *lock, enum hf_status status,
                   const struct hf_error *error)
{
    struct ends *ends = user;
    struct hf_request request = want("after-the-end", LEASE_MS, 0);
    assert_null(lock);
    assert_true(error->text[0] != '\0');
    ends->called++;
    ends->cancelled += status == HF_CANCELLED;
    ends->refused =
        hf_op_start_acquire(ends->client, &request, on_end, ends, NULL, NULL);
    hf_client_close(ends->client); /* it is closed already */
}

static void start_one(struct ends *ends, const struct hf_request *request,
                      struct hf_op **op)
{
    assert_int_equal(
        hf_op_start_acquire(ends->client, request, on_end, ends, op, NULL),
        HF_OK);
}

/* Each kind of pending operation: one that waits, for one name, for several or
 * for a permit; one that is done and has its callback queued; a release, of one
 * name and of two. */
static void test_close_calls_all(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_client *other = open_client();
    struct ends ends = {.client = client};
    char names[6][80];
    for (int i = 0; i < 6; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", fresh_name());
    }
    struct hf_lock *held = take(other, names[0], LEASE_MS);
    struct hf_name more = {names[0], strlen(names[0]), HF_EXCLUSIVE};
    struct hf_request request = want(names[0], LEASE_MS, HF_WAIT_FOREVER);
    start_one(&ends, &request, NULL);
    request = want(names[1], LEASE_MS, HF_WAIT_FOREVER);
    request.more = &more;
    request.n_more = 1;
    start_one(&ends, &request, NULL);
    request = want(names[2], LEASE_MS, HF_WAIT_FOREVER);
    request.permits = 2;
    start_one(&ends, &request, NULL);
    request = want(names[3], LEASE_MS, 0);
    start_one(&ends, &request, NULL);
    hf_op_start_release(take(client, names[4], LEASE_MS), on_end, &ends);
    more.name = names[4];
    request = want(names[5], LEASE_MS, PATIENCE_MS);
    request.more = &more;
    request.n_more = 1;
    struct hf_lock *two = NULL;
    assert_int_equal(hf_lock_acquire(client, &request, &two, NULL), HF_OK);
    hf_op_start_release(two, on_end, &ends);
    assert_int_equal(ends.called, 0);
    hf_client_close(client);
    assert_int_equal(ends.called, 6);
    assert_int_equal(ends.cancelled, 6);
    assert_int_equal(ends.refused, HF_INVALID);
    assert_int_equal(hf_lock_release(held), HF_OK);
    for (int i = 0; i < 6; i++) {
        assert_free(other, names[i]);
    }
    hf_client_close(other);
}

static void on_cancel_other(void *user, struct hf_lock *lock,
                            enum hf_status status, const struct hf_error *error)
{
    struct ends *ends = user;
    (void)lock;
    (void)error;
    ends->called++;
    ends->cancelled += status == HF_CANCELLED;
    hf_op_cancel(ends->other);
    ends->other = NULL;
}

static void test_cancel_at_close(void **state)
{
    (void)state;
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct ends ends = {.client = client};
    const char *name = fresh_name();
    take(client, name, LEASE_MS);
    struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    request.unfair = true;
    assert_int_equal(hf_op_start_acquire(client, &request, on_cancel_other,
                                         &ends, NULL, NULL),
                     HF_OK);
    assert_int_equal(hf_op_start_acquire(client, &request, on_cancel_other,
                                         &ends, &ends.other, NULL),
                     HF_OK);
    hf_client_close(client);
    assert_int_equal(ends.called, 1);
    assert_int_equal(ends.cancelled, 1);
}

/* ---- Closing in a callback --------------------------------------------- */

static void on_close(void *user, struct hf_lock *lock, enum hf_status status,
                     const struct hf_error *error)
{
    struct ends *ends = user;
    (void)error;
    if (status == HF_CANCELLED) {
        ends->cancelled++;
        return;
    }
    assert_int_equal(status, HF_OK);
    hf_client_close(ends->client);
    /* the handle exists, and its calls do nothing */
    assert_string_equal(hf_lock_name(lock, NULL), hf_lock_user(lock));
    assert_int_equal(hf_lock_release(lock), HF_INVALID);
    ends->called++;
}

static void close_in_op(enum hf_thread_mode mode)
{
    struct ends ends = {.client = open_mode(mode)};
    struct hf_client *other = open_client();
    char names[3][80];
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", fresh_name());
        struct hf_request request = want(names[i], LEASE_MS, PATIENCE_MS);
        request.user = names[i];
        assert_int_equal(hf_op_start_acquire(ends.client, &request, on_close,
                                             &ends, NULL, NULL),
                         HF_OK);
    }
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int fd = hf_client_fd(ends.client);
    while (ends.called == 0 && now_ms() < end_ms) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        poll(&poll_fd, 1, 1000);
        hf_client_process(ends.client);
    }
    assert_int_equal(ends.called, 1);
    assert_int_equal(ends.cancelled, 2);
    for (int i = 0; i < 3; i++) {
        assert_free(other, names[i]);
    }
    hf_client_close(other);
}

static void test_close_in_op_callback(void **state)
{
    (void)state;
    close_in_op(HF_THREAD_NONE);
    close_in_op(HF_THREAD_AUTO);
}

struct closer {
    struct hf_client *client;
    atomic_int told;
};

static void on_lost_close(void *user, struct hf_lock *lock, enum hf_state state)
{
    struct closer *closer = user;
    if (state == HF_STATE_LOST) {
        hf_client_close(closer->client);
        assert_int_equal(hf_lock_state(lock), HF_STATE_LOST);
        atomic_fetch_add(&closer->told, 1);
    }
}

/* The library's thread closes the client, and so ends itself. */
static void test_close_in_on_state(void **state)
{
    (void)state;
    struct closer closer = {0};
    struct hf_client *client =
        open_telling(on_lost_close, &closer, HF_THREAD_AUTO);
    struct hf_client *other = open_client();
    closer.client = client;
    char kept[80];
    snprintf(kept, sizeof(kept), "%s", fresh_name());
    const char *name = fresh_name();
    take(client, kept, LEASE_MS);
    take(client, name, 400);
    break_by_other(name);
    assert_free(other, kept);
    assert_int_equal(atomic_load(&closer.told), 1);
    hf_client_close(other);
}

/* A callback within a blocking call: the call ends, and so does the client. */
static void test_close_in_on_state_of_a_call(void **state)
{
    (void)state;
    struct closer closer = {0};
    struct hf_client *client =
        open_telling(on_lost_close, &closer, HF_THREAD_NONE);
    struct hf_client *other = open_client();
    closer.client = client;
    char name[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    struct hf_lock *held = take(other, name, LEASE_MS);
    const char *lost = fresh_name();
    take(client, lost, 400);
    break_by_other(lost);
    struct hf_request request = want(name, LEASE_MS, HF_WAIT_FOREVER);
    struct hf_lock *lock = NULL;
    struct hf_error error;
    assert_int_equal(hf_lock_acquire(client, &request, &lock, &error),
                     HF_CANCELLED);
    assert_null(lock);
    assert_int_equal(atomic_load(&closer.told), 1);
    assert_int_equal(hf_lock_release(held), HF_OK);
    assert_free(other, name);
    hf_client_close(other);
}

static bool on_listed(void *user, const void *name, size_t name_len,
                      const struct hf_info *info)
{
    struct closer *closer = user;
    (void)name;
    (void)name_len;
    (void)info;
    atomic_fetch_add(&closer->told, 1);
    hf_client_close(closer->client);
    return true;
}

static bool on_holder(void *user, const struct hf_queue_entry *entry)
{
    (void)entry;
    return on_listed(user, NULL, 0, NULL);
}

static void test_close_in_a_listing(void **state)
{
    (void)state;
    struct closer closer = {.client = open_client()};
    struct hf_client *other = open_client();
    char name[80];
    snprintf(name, sizeof(name), "%s", fresh_name());
    take(closer.client, name, LEASE_MS);
    take(closer.client, fresh_name(), LEASE_MS);
    struct hf_error error;
    assert_int_equal(
        hf_client_list(closer.client, NULL, on_listed, &closer, &error),
        HF_CANCELLED);
    assert_int_equal(error.status, HF_CANCELLED);
    assert_int_equal(atomic_load(&closer.told), 1);
    assert_free(other, name);
    closer.client = open_client();
    take(closer.client, name, LEASE_MS);
    assert_int_equal(hf_client_queue(closer.client, name, strlen(name),
                                     on_holder, &closer, &error),
                     HF_CANCELLED);
    assert_int_equal(error.status, HF_CANCELLED);
    assert_int_equal(atomic_load(&closer.told), 2);
    assert_free(other, name);
    hf_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_beside_on_state),
        cmocka_unit_test(test_release_of_several_beside_on_state),
        cmocka_unit_test(test_release_of_a_permit_beside_on_state),
        cmocka_unit_test(test_own_mutex_in_on_state),
        cmocka_unit_test(test_release_in_on_state),
        cmocka_unit_test(test_calls_in_op_callback),
        cmocka_unit_test(test_close_calls_all),
        cmocka_unit_test(test_cancel_at_close),
        cmocka_unit_test(test_close_in_op_callback),
        cmocka_unit_test(test_close_in_on_state),
        cmocka_unit_test(test_close_in_on_state_of_a_call),
        cmocka_unit_test(test_close_in_a_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
