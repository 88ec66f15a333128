/* SPDX-License-Identifier: Apache-2.0 */
/* Each public function while the first, second, third … allocation fails, until
 * none is left to fail. It returns HF_OK or HF_NO_MEMORY, leaks nothing, a held
 * lock stays held, and a free name stays free. Allocations of LMDB and hiredis
 * fail as well; those of jansson, libzookeeper and libmariadb do not. On the
 * store in HF_TEST_URL, or an embedded one.
 *
 * --wrap does not reach a module, so each store that is one has a program of
 * its own, memory_STORE.c, which includes this file once. */
#ifndef CLIENT_MEMORY_H
#define CLIENT_MEMORY_H

#include "client_drawn.h"
#include "client_heap.h"
#include "client_linked.h"
#include "client_world.h"

#define TTL_MS 20000
#define SHORT_MS 300

/* ---- A scene ----------------------------------------------------------- */

enum shape { ONE, SEVERAL, PERMIT, SHAPES };

static const char *const shapes[SHAPES] = {"one name", "several", "a permit"};

struct scene {
    enum shape shape;
    struct hf_client *client;
    struct hf_request request;
    struct hf_name more[2];
    struct hf_lock *lock;
    char owner[HF_OWNER_TEXT_MAX];
    struct hf_error error;
    enum hf_status done; /* of an operation */
    bool is_done;
    bool is_asked; /* by a break */
    bool may_wait; /* the answer of may_wait() */
};
static const char *scene_name; /* of this run */

static void request_init(struct scene *scene)
{
    hf_request_init(&scene->request, scene_name);
    scene->request.ttl_ms = TTL_MS;
    if (scene->shape == SEVERAL) {
        scene->more[0] = (struct hf_name){"second", 6, HF_EXCLUSIVE};
        scene->more[1] = (struct hf_name){"third", 5, HF_SHARED};
        scene->request.more = scene->more;
        scene->request.n_more = 2;
    }
    scene->request.permits = scene->shape == PERMIT ? 2 : 0;
}

static void scene_open(struct scene *scene)
{
    scene->client = open_mode(HF_THREAD_NONE);
}

static void scene_hold(struct scene *scene)
{
    scene_open(scene);
    if (hf_lock_acquire(scene->client, &scene->request, &scene->lock,
                        &scene->error) != HF_OK) {
        fail_msg("%s: %s", scene_name, scene->error.text);
    }
}

static void scene_hold_short(struct scene *scene)
{
    scene->request.ttl_ms = SHORT_MS;
    scene_hold(scene);
}

static void scene_hand_on(struct scene *scene)
{
    scene_hold(scene);
    assert_int_equal(hf_lock_detach(scene->lock, scene->owner), HF_OK);
    scene->lock = NULL;
}

/* ---- The calls --------------------------------------------------------- */

static enum hf_status do_open(struct scene *scene)
{
    struct hf_client_options options;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    return hf_client_open(world_url(), &options, &scene->client, &scene->error);
}

static enum hf_status do_acquire(struct scene *scene)
{
    return hf_lock_acquire(scene->client, &scene->request, &scene->lock,
                           &scene->error);
}

static enum hf_status do_extend(struct scene *scene)
{
    return hf_lock_extend(scene->lock, TTL_MS, &scene->error);
}

static enum hf_status do_add_process(struct scene *scene)
{
    return hf_lock_add_process(scene->lock, getppid());
}

static enum hf_status do_detach(struct scene *scene)
{
    enum hf_status status = hf_lock_detach(scene->lock, scene->owner);
    if (status == HF_OK) {
        scene->lock = NULL;
    }
    return status;
}

static enum hf_status do_adopt(struct scene *scene)
{
    return hf_lock_adopt(scene->client, &scene->request, scene->owner,
                         &scene->lock, &scene->error);
}

static enum hf_status do_owner_release(struct scene *scene)
{
    enum hf_status status =
        hf_owner_release(scene->client, scene_name, strlen(scene_name),
                         scene->owner, &scene->error);
    if (status == HF_OK) {
        scene->owner[0] = '\0';
    }
    return status;
}

static enum hf_status do_release(struct scene *scene)
{
    struct hf_lock *lock = scene->lock;
    scene->lock = NULL;
    return hf_lock_release(lock);
}

static enum hf_status do_release_reserved(struct scene *scene)
{
    struct hf_lock *lock = scene->lock;
    scene->lock = NULL;
    return hf_lock_release_reserved(lock, 1);
}

static enum hf_status do_mark(struct scene *scene)
{
    return hf_lock_mark(scene->lock, 1000, &scene->error);
}

static enum hf_status do_unmark(struct scene *scene)
{
    return hf_lock_unmark(scene->lock, &scene->error);
}

static enum hf_status do_marked(struct scene *scene)
{
    int64_t left_ms;
    return hf_client_marked(scene->client, scene_name, strlen(scene_name),
                            &left_ms, &scene->error);
}

static enum hf_status do_inspect(struct scene *scene)
{
    struct hf_info *info = NULL;
    enum hf_status status = hf_client_inspect(
        scene->client, scene_name, strlen(scene_name), &info, &scene->error);
    assert_true((status == HF_OK) == (info != NULL));
    hf_info_free(info);
    return status;
}

static bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    (void)user;
    assert_non_null(hf_queue_entry_holder(entry));
    return true;
}

static enum hf_status do_queue(struct scene *scene)
{
    return hf_client_queue(scene->client, scene_name, strlen(scene_name),
                           on_entry, NULL, &scene->error);
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    bool *is_listed = user;
    *is_listed |= name_len == strlen(scene_name) &&
                  memcmp(name, scene_name, name_len) == 0;
    return info != NULL;
}

static enum hf_status do_list(struct scene *scene)
{
    bool is_listed = false;
    enum hf_status status =
        hf_client_list(scene->client, NULL, on_name, &is_listed, &scene->error);
    assert_true(status != HF_OK || is_listed);
    return status;
}

static enum hf_status do_break(struct scene *scene)
{
    int64_t held_until_ms;
    return hf_client_break(scene->client, scene_name, strlen(scene_name), true,
                           &held_until_ms, &scene->error);
}

/* It waits for the end of a short lease, or its may_wait() refuses. */
static bool agrees(void *user, const struct hf_holder *holder, int64_t wait_ms)
{
    const bool *may_wait = user;
    assert_true(hf_holder_kind(holder) == HF_HOLDER_HOLDFAST && wait_ms > 0);
    return *may_wait;
}

static enum hf_status do_break_wait(struct scene *scene)
{
    bool may_wait = true;
    return hf_client_break_wait(scene->client, scene_name, strlen(scene_name),
                                agrees, &may_wait, &scene->error);
}

static enum hf_status do_break_refused(struct scene *scene)
{
    bool may_wait = false;
    enum hf_status status =
        hf_client_break_wait(scene->client, scene_name, strlen(scene_name),
                             agrees, &may_wait, &scene->error);
    return status == HF_BUSY ? HF_OK : status;
}

static enum hf_status do_node(struct scene *scene)
{
    struct hf_node *node = NULL;
    enum hf_status status = hf_client_node(scene->client, 0, &node);
    assert_true((status == HF_OK) == (node != NULL));
    hf_node_free(node);
    return status;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    (void)user;
    assert_non_null(hf_finding_text(finding));
}

static enum hf_status do_diagnose(struct scene *scene)
{
    return hf_client_diagnose(scene->client, on_finding, NULL, &scene->error);
}

/* HF_BUSY: this client is the holder. HF_UNSUPPORTED: nothing to declare. */
static enum hf_status do_init_nodes(struct scene *scene)
{
    enum hf_status status =
        hf_client_init_nodes(scene->client, 0, on_finding, NULL, &scene->error);
    return status == HF_BUSY || status == HF_UNSUPPORTED ? HF_OK : status;
}

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct scene *scene = user;
    scene->is_done = true;
    scene->done = status;
    scene->lock = lock;
    scene->error = *error;
}

static enum hf_status run_until_done(struct scene *scene)
{
    struct pollfd fd = {hf_client_fd(scene->client), POLLIN, 0};
    int64_t until = now_ms() + PATIENCE_MS;
    if (fd.fd < 0) {
        return HF_NO_MEMORY;
    }
    while (!scene->is_done && now_ms() < until) {
        poll(&fd, 1, 1000);
        hf_client_process(scene->client);
    }
    assert_true(scene->is_done);
    return scene->done;
}

static enum hf_status do_op_acquire(struct scene *scene)
{
    struct hf_op *op = NULL;
    enum hf_status status = hf_op_start_acquire(
        scene->client, &scene->request, on_done, scene, &op, &scene->error);
    if (status != HF_OK) {
        return status;
    }
    status = run_until_done(scene);
    if (!scene->is_done) {
        hf_op_cancel(op);
    }
    return status;
}

/* Queued after a holder of the same client, which releases. */
static enum hf_status do_op_wait(struct scene *scene)
{
    struct hf_op *op = NULL;
    struct hf_waiting *waiting = NULL;
    struct hf_lock *held = scene->lock;
    scene->request.wait_ms = PATIENCE_MS;
    enum hf_status status = hf_op_start_acquire(
        scene->client, &scene->request, on_done, scene, &op, &scene->error);
    if (status != HF_OK) {
        return status;
    }
    if (hf_op_waiting(op, &waiting)) {
        hf_waiting_free(waiting);
    }
    scene->lock = NULL;
    hf_lock_release(held);
    status = run_until_done(scene);
    if (!scene->is_done) {
        hf_op_cancel(op);
    }
    return status;
}

static enum hf_status do_op_release(struct scene *scene)
{
    struct hf_lock *lock = scene->lock;
    scene->lock = NULL;
    hf_op_start_release(lock, on_done, scene);
    enum hf_status status = run_until_done(scene);
    if (!scene->is_done) { /* no descriptor for a loop */
        hf_client_close(scene->client);
        scene->client = NULL;
    }
    return status;
}

static void on_broken(void *user, int64_t held_until_ms, enum hf_status status,
                      const struct hf_error *error)
{
    struct scene *scene = user;
    assert_true(held_until_ms >= 0);
    on_done(scene, scene->lock, status, error);
}

static bool agrees_of(void *user, const struct hf_holder *holder,
                      int64_t wait_ms)
{
    struct scene *scene = user;
    scene->is_asked = true;
    return agrees(&scene->may_wait, holder, wait_ms);
}

static enum hf_status op_break(struct scene *scene)
{
    struct hf_op *op = NULL;
    enum hf_status status =
        hf_op_start_break(scene->client, scene_name, strlen(scene_name), false,
                          agrees_of, on_broken, scene, &op, &scene->error);
    if (status == HF_OK) {
        status = run_until_done(scene);
    }
    if (op != NULL && !scene->is_done) {
        hf_op_cancel(op);
    }
    return status;
}

static enum hf_status do_op_break(struct scene *scene)
{
    scene->may_wait = true;
    return op_break(scene);
}

static enum hf_status do_op_break_refused(struct scene *scene)
{
    enum hf_status status = op_break(scene);
    return status == HF_BUSY ? HF_OK : status;
}

/* During the wait, or before it. */
static enum hf_status do_op_break_cancelled(struct scene *scene)
{
    struct hf_op *op = NULL;
    int64_t until = now_ms() + PATIENCE_MS;
    enum hf_status status = HF_NO_MEMORY;
    scene->may_wait = true;
    if (hf_client_fd(scene->client) < 0) {
        return HF_NO_MEMORY;
    }
    status =
        hf_op_start_break(scene->client, scene_name, strlen(scene_name), false,
                          agrees_of, on_broken, scene, &op, &scene->error);
    while (status == HF_OK && !scene->is_done && !scene->is_asked) {
        struct pollfd fd = {hf_client_fd(scene->client), POLLIN, 0};
        assert_true(now_ms() < until);
        poll(&fd, 1, 1000);
        hf_client_process(scene->client);
    }
    if (status == HF_OK && scene->is_done) {
        return scene->done;
    }
    hf_op_cancel(op);
    return status;
}

/* HF_CONFIG: this URL has quarantine off. */
static enum hf_status do_quarantine_node(struct scene *scene)
{
    enum hf_status status = hf_client_quarantine_node(
        scene->client, 0, on_finding, NULL, &scene->error);
    return status == HF_CONFIG || status == HF_UNSUPPORTED ? HF_OK : status;
}

struct act {
    const char *name;
    void (*prepare)(struct scene *scene); /* no allocation fails in it */
    enum hf_status (*run)(struct scene *scene);
    unsigned shapes;      /* a bit for each status that it may return */
    bool may_be_unknown;  /* a release that was not confirmed */
    bool keeps;           /* the lock is still held in any case */
    bool may_meet_itself; /* it tries again after a reply that was lost */
};

#define ALL ((1U << SHAPES) - 1)
#define EXCLUSIVE ((1U << ONE) | (1U << SEVERAL))

static void nothing(struct scene *scene)
{
    (void)scene;
}

static const struct act acts[] = {
    {"open", nothing, do_open, 1U << ONE, false, false, false},
    {"acquire", scene_open, do_acquire, ALL, false, false, true},
    {"extend", scene_hold, do_extend, ALL, false, true, false},
    {"add_process", scene_hold, do_add_process, ALL, false, true, false},
    {"detach", scene_hold, do_detach, 1U << ONE, false, false, false},
    {"adopt", scene_hand_on, do_adopt, 1U << ONE, false, false, false},
    {"owner_release", scene_hand_on, do_owner_release, 1U << ONE, true, false,
     false},
    {"release", scene_hold, do_release, ALL, true, false, false},
    {"release_reserved", scene_hold, do_release_reserved,
     (1U << ONE) | (1U << PERMIT), true, false, false}, /* one of SEVERAL is
                                                           shared */
    {"op_start_release", scene_hold, do_op_release, ALL, true, false, false},
    {"quarantine_node", scene_hold, do_quarantine_node, 1U << ONE, false, true,
     false},
    {"mark", scene_hold, do_mark, 1U << ONE, false, true, false},
    {"unmark", scene_hold, do_unmark, 1U << ONE, false, true, false},
    {"marked", scene_open, do_marked, 1U << ONE, false, false, false},
    {"inspect", scene_hold, do_inspect, 1U << ONE, false, true, false},
    {"inspect, first", scene_open, do_inspect, 1U << ONE, false, false, false},
    {"queue", scene_hold, do_queue, ALL, false, true, false},
    {"list", scene_hold, do_list, EXCLUSIVE, false, true, false},
    {"break", scene_hold, do_break, 1U << ONE, true, false, false},
    {"break_wait", scene_hold_short, do_break_wait, 1U << ONE, false, false,
     false},
    {"break_wait, refused", scene_hold, do_break_refused, 1U << ONE, false,
     true, false},
    {"node", scene_hold, do_node, 1U << ONE, false, true, false},
    {"diagnose", scene_hold, do_diagnose, 1U << ONE, false, true, false},
    {"init_nodes", scene_hold, do_init_nodes, 1U << ONE, false, true, false},
    {"op_start_acquire", scene_open, do_op_acquire, ALL, false, false, true},
    {"op_start_acquire, waits", scene_hold, do_op_wait, 1U << ONE, false, false,
     true},
    {"op_start_break", scene_hold_short, do_op_break, 1U << ONE, false, false,
     false},
    {"op_start_break, refused", scene_hold, do_op_break_refused, 1U << ONE,
     false, true, false},
    {"op_start_break, cancelled", scene_hold, do_op_break_cancelled, 1U << ONE,
     false, true, false},
};

static int n_wrong;

/* Report all failures before the test fails. */
static void wrong(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    n_wrong++;
}

/* ---- A try ------------------------------------------------------------- */

static void assert_all_free(const char *title)
{
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    const struct hf_name names[] = {{"second", 6, HF_EXCLUSIVE},
                                    {"third", 5, HF_EXCLUSIVE}};
    struct hf_request request = want(scene_name, TTL_MS, PATIENCE_MS);
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    int64_t began = now_ms();
    request.more = names;
    request.n_more = 2;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        wrong("%s: not free: %s", title, error.text);
        hf_client_close(client);
        return;
    }
    if (now_ms() - began > TTL_MS / 2) {
        wrong("%s: free after %lld ms", title, (long long)(now_ms() - began));
    }
    hf_lock_release(lock);
    hf_client_close(client);
}

static bool is_held(const struct scene *scene)
{
    struct hf_client *other = open_mode(HF_THREAD_NONE);
    struct hf_info *info = inspect(other, scene_name);
    const struct hf_holder *holder = hf_info_holder(info);
    bool is_same = scene->shape == PERMIT ||
                   hf_holder_fence(holder) == hf_lock_fence(scene->lock);
    is_same = is_same && hf_holder_kind(holder) != HF_HOLDER_NONE;
    hf_info_free(info);
    hf_client_close(other);
    return is_same && hf_lock_state(scene->lock) != HF_STATE_LOST;
}

static void end(struct scene *scene)
{
    if (scene->lock != NULL) {
        hf_lock_release(scene->lock);
    } else if (scene->owner[0] != '\0') {
        enum hf_status status =
            hf_owner_release(scene->client, scene_name, strlen(scene_name),
                             scene->owner, &scene->error);
        assert_true(status == HF_OK || status == HF_LOST);
    }
    hf_client_close(scene->client);
}

static bool is_module(void)
{
    return linked_is_used && !world_is_postgres();
}

/* Of a module that is asked in several requests, a connection may end for want
 * of memory, and a try meets what the try before it has created. */
static bool may_return(const struct act *act, enum hf_status status,
                       const struct hf_error *error)
{
    bool says_memory =
        error->text[0] == '\0' || strstr(error->text, "memory") != NULL;
    return status == HF_NO_MEMORY ||
           (act->may_be_unknown && status == HF_UNKNOWN) ||
           (is_module() && status == HF_UNAVAILABLE && says_memory) ||
           (is_module() && status == HF_BUSY && act->may_meet_itself);
}

/* @return false: no allocation was left to fail. */
static bool try_act(const struct act *act, enum shape shape, long number)
{
    char title[100];
    struct scene scene = {.shape = shape};
    scene_name = fresh_name();
    request_init(&scene);
    snprintf(title, sizeof(title), "%s of %s, allocation %ld", act->name,
             shapes[shape], number);
    long n_before = atomic_load(&n_live);
    act->prepare(&scene);
    atomic_store(&has_failed, false);
    atomic_store(&n_until_failure, number);
    enum hf_status status = act->run(&scene);
    atomic_store(&n_until_failure, -1);
    bool failed = atomic_load(&has_failed);
    bool is_right =
        status == HF_OK || (failed && may_return(act, status, &scene.error));
    if (!is_right) {
        wrong("%s: %s: %s", title, hf_status_name(status), scene.error.text);
    }
    if (act->keeps && !is_held(&scene)) {
        wrong("%s: the lock is lost", title);
    }
    end(&scene);
    assert_all_free(title);
    if (atomic_load(&n_live) != n_before) {
        wrong("%s: %ld blocks leak", title, atomic_load(&n_live) - n_before);
    }
    return failed;
}

/* The acts begin apart, else the same few would fail in all of them. */
static long first_of(size_t act, enum shape shape)
{
    return (long)((drawn_first() + 5 * act + shape) % drawn_every());
}

/* The embedded store is never declared, and a lock of ZooKeeper does not leave
 * its session. */
static bool is_lacking(const struct act *act)
{
    if (is_module() && act->prepare == scene_hold_short) {
        return true; /* the wait is the client's; and it has seconds at least */
    }
    if (world_is_local()) {
        return act->run == do_init_nodes;
    }
    return strncmp(world_url(), "zookeeper:", 10) == 0 &&
           (act->run == do_detach || act->run == do_release_reserved ||
            act->prepare == scene_hand_on);
}

static void every_function(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        for (enum shape shape = ONE; shape < SHAPES; shape++) {
            long number = first_of(i, shape);
            if ((acts[i].shapes & (1U << shape)) == 0 || is_lacking(&acts[i])) {
                continue;
            }
            while (try_act(&acts[i], shape, number)) {
                number += (long)drawn_every();
            }
            print_message("%s of %s: %ld allocations\n", acts[i].name,
                          shapes[shape], number);
        }
    }
    assert_int_equal(n_wrong, 0);
    assert_true(linked_is_right(world_url()));
}

static inline int memory_main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
