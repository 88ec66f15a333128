/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of client_memory.h: each with its scene, which is prepared before
 * an allocation fails, and the statuses that it may return. */
#ifndef CLIENT_MEMORY_ACTS_H
#define CLIENT_MEMORY_ACTS_H

#include "client_world.h"

#define TTL_MS 20000 /* longer than a session: no lease ends by itself */
#define SHORT_MS 300 /* of a holder that a break waits for */

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
    bool is_agreed = world_is_ordered() && status == HF_UNSUPPORTED;
    return status == HF_BUSY || is_agreed ? HF_OK : status;
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
    int64_t until_ms = now_ms() + PATIENCE_MS;
    if (fd.fd < 0) {
        return HF_NO_MEMORY;
    }
    while (!scene->is_done && now_ms() < until_ms) {
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
    int64_t until_ms = now_ms() + PATIENCE_MS;
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
        assert_true(now_ms() < until_ms);
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
    unsigned shapes;     /* a bit for each shape that it has */
    bool may_be_unknown; /* a release that was not confirmed */
    bool keeps;          /* the lock is still held in any case */
};

#define ALL ((1U << SHAPES) - 1)                  /* a bit for each shape */
#define EXCLUSIVE ((1U << ONE) | (1U << SEVERAL)) /* locks: no permit */

static void nothing(struct scene *scene)
{
    (void)scene;
}

static const struct act acts[] = {
    {"open", nothing, do_open, 1U << ONE, false, false},
    {"acquire", scene_open, do_acquire, ALL, false, false},
    {"extend", scene_hold, do_extend, ALL, false, true},
    {"add_process", scene_hold, do_add_process, ALL, false, true},
    {"detach", scene_hold, do_detach, 1U << ONE, false, false},
    {"adopt", scene_hand_on, do_adopt, 1U << ONE, false, false},
    {"owner_release", scene_hand_on, do_owner_release, 1U << ONE, true, false},
    {"release", scene_hold, do_release, ALL, true, false},
    {"release_reserved", scene_hold, do_release_reserved,
     (1U << ONE) | (1U << PERMIT), true, false}, /* one of SEVERAL is
                                                           shared */
    {"op_start_release", scene_hold, do_op_release, ALL, true, false},
    {"quarantine_node", scene_hold, do_quarantine_node, 1U << ONE, false, true},
    {"mark", scene_hold, do_mark, 1U << ONE, false, true},
    {"unmark", scene_hold, do_unmark, 1U << ONE, false, true},
    {"marked", scene_open, do_marked, 1U << ONE, false, false},
    {"inspect", scene_hold, do_inspect, 1U << ONE, false, true},
    {"inspect, first", scene_open, do_inspect, 1U << ONE, false, false},
    {"queue", scene_hold, do_queue, ALL, false, true},
    {"list", scene_hold, do_list, EXCLUSIVE, false, true},
    {"break", scene_hold, do_break, 1U << ONE, false, false},
    {"break_wait", scene_hold_short, do_break_wait, 1U << ONE, false, false},
    {"break_wait, refused", scene_hold, do_break_refused, 1U << ONE, false,
     true},
    {"node", scene_hold, do_node, 1U << ONE, false, true},
    {"diagnose", scene_hold, do_diagnose, 1U << ONE, false, true},
    {"init_nodes", scene_hold, do_init_nodes, 1U << ONE, false, true},
    {"op_start_acquire", scene_open, do_op_acquire, ALL, false, false},
    {"op_start_acquire, waits", scene_hold, do_op_wait, 1U << ONE, false,
     false},
    {"op_start_break", scene_hold_short, do_op_break, 1U << ONE, false, false},
    {"op_start_break, refused", scene_hold, do_op_break_refused, 1U << ONE,
     false, true},
    {"op_start_break, cancelled", scene_hold, do_op_break_cancelled, 1U << ONE,
     false, true},
};

#endif
