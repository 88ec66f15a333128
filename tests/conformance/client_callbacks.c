/* SPDX-License-Identifier: Apache-2.0 */
/* What callbacks may do: on_state runs without the client's mutex, beside
 * whatever other threads do, a release of its own lock included. */
#include "client_world.h"

/* ---- on_state ---------------------------------------------------------- */

/* A callback that stands still until it is let go, and then asks. */
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
    enum hf_state then; /* what hf_lock_state() says after the release */
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

static void break_now(const char *name)
{
    struct hf_client *other = open_client();
    assert_int_equal(
        hf_client_break(other, name, strlen(name), true, NULL, NULL), HF_OK);
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

/* The library's thread is inside on_state; the lock is given back by another
 * that does not wait; the callback goes on to read it. */
static void release_beside(const struct hf_request *request, const char *name,
                           bool is_started)
{
    struct gate gate;
    int given = 0;
    gate_init(&gate);
    struct hf_client *client = open_telling(on_gate, &gate, HF_THREAD_AUTO);
    struct hf_lock *lock = NULL;
    assert_int_equal(hf_lock_acquire(client, request, &lock, NULL), HF_OK);
    break_now(name);
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

/* What a program has around its calls, and in its callback too. */
struct guarded {
    pthread_mutex_t mutex;
    int lost; /* under it */
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
    int64_t end = now_ms() + PATIENCE_MS;
    const char *name = fresh_name();
    struct hf_lock *lock = take(client, name, 400);
    break_now(name);
    for (int lost = 0; lost == 0;) {
        assert_true(now_ms() < end);
        pthread_mutex_lock(&guarded.mutex);
        hf_lock_state(lock);
        let_go(take(client, fresh_name(), LEASE_MS));
        lost = guarded.lost;
        pthread_mutex_unlock(&guarded.mutex);
        pause_ms(1);
    }
    assert_int_equal(hf_lock_release(lock), HF_LOST);
    hf_client_close(client);
}

/* A callback that gives its lock back, and waits for that. */
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
        int64_t end = now_ms() + PATIENCE_MS;
        take(client, name, 400);
        break_now(name);
        while (atomic_load(&giver.told) == 0) {
            assert_true(now_ms() < end);
            if (!has_thread) {
                hf_client_process(client);
            }
            pause_ms(5);
        }
        assert_int_equal(giver.status, HF_LOST);
        hf_client_close(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_beside_on_state),
        cmocka_unit_test(test_release_of_several_beside_on_state),
        cmocka_unit_test(test_release_of_a_permit_beside_on_state),
        cmocka_unit_test(test_own_mutex_in_on_state),
        cmocka_unit_test(test_release_in_on_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
