/* SPDX-License-Identifier: Apache-2.0 */
/* hf_op_start_break(): in each case it frees the name or gives it back. */
#include "client_async.h"

/* A holder in a client of its own, which no thread renews, and the break. */
struct scene {
    struct hf_client *holder;
    struct hf_client *client;
    struct hf_client *other;
    char name[80];
    struct hf_lock *held;
    struct seen seen;
    struct hf_op *op;
    int asked;
    int64_t asked_pid;
    int64_t wait_ms;
    int64_t held_until_ms;
    bool may;
    bool cancels; /* when called */
    bool closes;  /* when called */
    bool calls;   /* the library, when may_wait() is called */
    bool again;   /* when done: start another one */
};

static void scene_open(struct scene *scene, enum hf_thread_mode mode,
                       struct hf_cancel *cancel, int64_t ttl_ms)
{
    memset(scene, 0, sizeof(*scene));
    snprintf(scene->name, sizeof(scene->name), "%s", fresh_name());
    scene->holder = open_mode(HF_THREAD_NONE);
    scene->client = open_with(cancel, mode);
    scene->other = open_client();
    scene->may = true;
    scene->held_until_ms = -7;
    if (ttl_ms > 0) {
        scene->held = take(scene->holder, scene->name, ttl_ms);
    }
}

static void scene_close(struct scene *scene)
{
    hf_client_close(scene->client);
    hf_client_close(scene->holder);
    hf_client_close(scene->other);
}

static void start(struct scene *scene, bool now);

static bool may_wait(void *user, const struct hf_holder *holder,
                     int64_t wait_ms)
{
    struct scene *scene = user;
    scene->asked++;
    scene->asked_pid = hf_holder_pid(holder);
    scene->wait_ms = wait_ms;
    if (scene->calls) {
        hf_info_free(inspect(scene->client, scene->name));
    }
    if (scene->cancels) {
        hf_op_cancel(scene->op);
    }
    if (scene->closes) {
        hf_client_close(scene->client);
    }
    return scene->may;
}

static void on_broken(void *user, int64_t held_until_ms, enum hf_status status,
                      const struct hf_error *error)
{
    struct scene *scene = user;
    note(&scene->seen, status, error);
    scene->held_until_ms = held_until_ms;
    if (scene->again) {
        scene->again = false;
        hf_info_free(inspect(scene->client, scene->name));
        start(scene, false);
    }
}

static void start(struct scene *scene, bool now)
{
    struct hf_error error = {0};
    if (hf_op_start_break(scene->client, scene->name, strlen(scene->name), now,
                          may_wait, on_broken, scene, &scene->op,
                          &error) != HF_OK) {
        fail_msg("start: %s", error.text);
    }
    assert_non_null(scene->op);
}

/* Run until the break waits for the lease. */
static void run_until_asked(struct scene *scene)
{
    run_loop(scene->client, &scene->asked, 1, PATIENCE_MS);
    assert_int_equal(scene->asked, 1);
    assert_int_equal(scene->seen.count, 0);
}

/* @return NULL: each node that replies has the holder as owner, or has none:
 * some may never have had a request for the lock. */
static const char *another_owner(const struct scene *scene,
                                 const struct hf_info *info)
{
    char own[HF_OWNER_TEXT_MAX];
    hf_lock_owner(scene->held, own);
    for (int i = 0; i < hf_info_nodes(info); i++) {
        const struct hf_holder *holder = hf_info_node_holder(info, i);
        if (hf_holder_kind(holder) != HF_HOLDER_NONE &&
            strncmp(hf_holder_owner(holder), own, 32) != 0) {
            return hf_holder_owner(holder);
        }
    }
    return NULL;
}

static void await_owner(const struct scene *scene)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (bool is_back = false; !is_back;) {
        struct hf_info *info = inspect(scene->other, scene->name);
        const char *owner = another_owner(scene, info);
        is_back = owner == NULL;
        if (!is_back && now_ms() > end_ms) {
            fail_msg("%s is still held by %s", scene->name, owner);
        }
        hf_info_free(info);
        pause_ms(2);
    }
}

/* The holder is owner again, as soon as the background work is done. It never
 * lost the lock if the server is late: the requests of the break are executed
 * before the next one of its client. */
static void assert_given_back(struct scene *scene)
{
    await_owner(scene);
    if (scene->client != NULL) {
        hf_info_free(inspect(scene->client, scene->name));
        await_owner(scene);
    }
    assert_int_equal(hf_lock_extend(scene->held, 0, NULL), HF_OK);
    assert_int_equal(hf_lock_release(scene->held), HF_OK);
    assert_free(scene->other, scene->name);
}

/* ---- It ends well ------------------------------------------------------ */

static void test_what_is_free(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct scene scene;
        scene_open(&scene, i < 2 ? HF_THREAD_NONE : HF_THREAD_AUTO, NULL, 0);
        start(&scene, i % 2 == 0);
        assert_int_equal(scene.seen.count, 0);
        await(scene.client, &scene.seen, HF_OK);
        assert_int_equal(scene.asked, 0);
        assert_int_equal(scene.held_until_ms, 0);
        assert_free(scene.other, scene.name);
        scene_close(&scene);
    }
}

static void test_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        int64_t began_ms = now_ms();
        scene_open(&scene, i == 0 ? HF_THREAD_NONE : HF_THREAD_AUTO, NULL, 700);
        uint64_t fence = hf_lock_fence(scene.held);
        start(&scene, false);
        await(scene.client, &scene.seen, HF_OK);
        assert_true(now_ms() - began_ms >= 690);
        assert_false(hf_lock_valid_for(scene.held, 0)); /* its lease has
                                                           expired */
        assert_int_equal(scene.asked, 1);
        assert_int_equal(scene.asked_pid, getpid());
        assert_in_range((unsigned long)scene.wait_ms, 1, 742);
        assert_int_equal(scene.held_until_ms, 0);
        struct hf_lock *lock = take(scene.other, scene.name, LEASE_MS);
        assert_true(hf_lock_fence(lock) > fence);
        assert_int_equal(hf_lock_release(lock), HF_OK);
        release_lost(scene.held);
        scene_close(&scene);
    }
}

static void test_now(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HF_THREAD_NONE, NULL, 20000);
    start(&scene, true);
    await(scene.client, &scene.seen, HF_OK);
    assert_int_equal(scene.asked, 0);
    assert_in_range((unsigned long)scene.held_until_ms, 1, 20000);
    assert_free(scene.other, scene.name);
    assert_int_equal(hf_lock_release(scene.held), HF_LOST);
    scene_close(&scene);
}

/* The mark of --once is withdrawn. */
static void test_mark(void **state)
{
    (void)state;
    struct scene scene;
    int64_t left_ms = 0;
    scene_open(&scene, HF_THREAD_NONE, NULL, LEASE_MS);
    assert_int_equal(hf_lock_mark(scene.held, 3600000, NULL), HF_OK);
    assert_int_equal(hf_lock_release(scene.held), HF_OK);
    start(&scene, false);
    await(scene.client, &scene.seen, HF_OK);
    assert_int_equal(hf_client_marked(scene.other, scene.name,
                                      strlen(scene.name), &left_ms, NULL),
                     HF_OK);
    assert_int_equal(left_ms, 0);
    scene_close(&scene);
}

/* Both callbacks make blocking calls, and the last one starts another break. */
static void test_callbacks_call(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HF_THREAD_NONE, NULL, 700);
    scene.calls = true;
    scene.again = true;
    start(&scene, false);
    run_loop(scene.client, &scene.seen.count, 2, PATIENCE_MS);
    assert_int_equal(scene.seen.count, 2);
    assert_int_equal(scene.seen.status, HF_OK);
    assert_int_equal(scene.asked, 1); /* the second break finds the name free */
    release_lost(scene.held);
    scene_close(&scene);
}

/* ---- It is given up ---------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HF_THREAD_NONE, NULL, LEASE_MS);
    scene.may = false;
    start(&scene, false);
    await(scene.client, &scene.seen, HF_BUSY);
    assert_true(strstr(scene.seen.why, "held by ") == scene.seen.why);
    assert_int_equal(scene.asked, 1);
    assert_given_back(&scene);
    scene_close(&scene);
}

/* Until the break waits for the lease, or is done, or the client has had
 * something to do `turns` times. @return false: it came to its end before. */
static bool run_turns(struct scene *scene, int turns)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (turns > 0 && scene->asked == 0 && scene->seen.count == 0) {
        struct pollfd fd = {hf_client_fd(scene->client), POLLIN, 0};
        assert_true(now_ms() < end_ms);
        turns -= poll(&fd, 1, 1000) == 1;
        hf_client_process(scene->client);
    }
    return scene->asked == 0 && scene->seen.count == 0;
}

/* Cancelled at each step until it waits. The callback never runs and the name
 * is given back, although no call runs the loop afterwards. @return false:
 * there are not so many steps. */
static bool cancel_after(int turns, bool now)
{
    struct scene scene;
    scene_open(&scene, HF_THREAD_AUTO, NULL, LEASE_MS);
    start(&scene, now);
    bool is_amid = run_turns(&scene, turns);
    if (scene.seen.count == 0) {
        hf_op_cancel(scene.op);
    }
    if (now) { /* the break may have freed it */
        hf_lock_release(scene.held);
        assert_free(scene.other, scene.name);
    } else {
        /* A break may be several requests: one that was cancelled between two
         * of them may take the name after this look, and give it back. When its
         * client is closed, it has. */
        if (!world_executes_unread()) {
            await_owner(&scene);
            hf_client_close(scene.client);
            scene.client = NULL;
        }
        assert_given_back(&scene);
    }
    assert_true(now || scene.seen.count == 0);
    scene_close(&scene);
    return is_amid;
}

static void test_cancelled(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int turns = 0;
        while (cancel_after(turns, i == 1)) {
            turns++;
        }
    }
}

static void test_cancelled_when_asked(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HF_THREAD_AUTO, NULL, LEASE_MS);
    scene.cancels = true;
    start(&scene, false);
    run_until_asked(&scene);
    assert_given_back(&scene);
    assert_int_equal(scene.seen.count, 0);
    scene_close(&scene);
}

static void test_token(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        struct hf_cancel *cancel = new_token();
        scene_open(&scene, HF_THREAD_NONE, cancel, LEASE_MS);
        start(&scene, false);
        if (i == 0) {
            run_until_asked(&scene);
        }
        hf_cancel_trigger(cancel);
        await(scene.client, &scene.seen, HF_CANCELLED);
        assert_int_equal(hf_op_start_break(scene.client, "a", 1, true, NULL,
                                           on_broken, &scene, NULL, NULL),
                         HF_CANCELLED);
        hf_client_close(scene.client); /* its loop no longer runs */
        scene.client = NULL;
        assert_given_back(&scene);
        scene_close(&scene);
        hf_cancel_free(cancel);
    }
}

/* Closed at each step: one callback, and the name is given back. */
static void test_closed(void **state)
{
    (void)state;
    for (int i = -2; i < 6; i++) {
        struct scene scene;
        int no = 0;
        scene_open(&scene, HF_THREAD_NONE, NULL, LEASE_MS);
        scene.closes = i == -2;
        start(&scene, false);
        if (i < 0) {
            struct pollfd fd = {hf_client_fd(scene.client), POLLIN, 0};
            for (int64_t end_ms = now_ms() + PATIENCE_MS; scene.asked == 0;) {
                assert_true(now_ms() < end_ms);
                poll(&fd, 1, 1000);
                hf_client_process(scene.client);
            }
        } else {
            run_loop(scene.client, &no, 1, i);
        }
        if (!scene.closes) {
            hf_client_close(scene.client);
        }
        scene.client = NULL;
        assert_int_equal(scene.seen.count, 1);
        assert_int_equal(scene.seen.status, HF_CANCELLED);
        assert_string_equal(scene.seen.why, "the client was closed");
        assert_given_back(&scene);
        scene_close(&scene);
    }
}

/* A forked child frees its copy, and sends nothing. */
static void test_forked(void **state)
{
    (void)state;
    struct scene scene;
    int status = 0;
    scene_open(&scene, HF_THREAD_NONE, NULL, 2000);
    start(&scene, false);
    run_until_asked(&scene);
    pid_t child = fork();
    if (child == 0) {
        hf_client_close(scene.client);
        _exit(scene.seen.count);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hf_lock_extend(scene.held, 0, NULL), HF_LOST);
    await(scene.client, &scene.seen, HF_OK);
    assert_free(scene.other, scene.name);
    hf_lock_release(scene.held);
    scene_close(&scene);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct hf_client *client = open_client();
    struct hf_error error = {0};
    struct hf_op *op = NULL;
    assert_int_equal(hf_op_start_break(NULL, "a", 1, true, NULL, on_broken,
                                       NULL, &op, &error),
                     HF_INVALID);
    assert_int_equal(hf_op_start_break(client, "", 0, true, NULL, on_broken,
                                       NULL, &op, &error),
                     HF_INVALID);
    assert_int_equal(
        hf_op_start_break(client, "a", 1, true, NULL, NULL, NULL, &op, &error),
        HF_INVALID);
    assert_string_equal(error.text, "no callback for the end");
    assert_null(op);
    hf_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_free),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_now),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_callbacks_call),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cancelled_when_asked),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_forked),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
