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
#include "client_memory_acts.h"
#include "client_world.h"

/* ---- A try ------------------------------------------------------------- */

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

static void assert_all_free(const char *title)
{
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    const struct hf_name names[] = {{"second", 6, HF_EXCLUSIVE},
                                    {"third", 5, HF_EXCLUSIVE}};
    struct hf_request request = want(scene_name, TTL_MS, PATIENCE_MS);
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    int64_t began_ms = now_ms();
    request.more = names;
    request.n_more = 2;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        wrong("%s: not free: %s", title, error.text);
        hf_client_close(client);
        return;
    }
    if (now_ms() - began_ms > TTL_MS / 2) {
        wrong("%s: free after %lld ms", title,
              (long long)(now_ms() - began_ms));
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

static bool is_zookeeper(void)
{
    return strncmp(world_url(), "zookeeper:", 10) == 0;
}

/* Of a module that is asked in several requests, a connection may end for want
 * of memory. On ZooKeeper the second attempt of a call may meet the entry of
 * the first, which is removed by two requests. */
static bool may_return(const struct act *act, enum hf_status status,
                       const struct hf_error *error)
{
    bool says_memory =
        error->text[0] == '\0' || strstr(error->text, "memory") != NULL;
    return status == HF_NO_MEMORY ||
           (act->may_be_unknown && status == HF_UNKNOWN) ||
           (is_module() && status == HF_UNAVAILABLE && says_memory) ||
           (is_module() && status == HF_UNKNOWN && act->run == do_break) ||
           (is_zookeeper() && status == HF_BUSY &&
            (act->run == do_acquire || act->run == do_op_acquire));
}

/* @return false: no allocation was left to fail. */
static bool try_act(const struct act *act, enum shape shape, long number,
                    bool is_repeated)
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
    /* A server on a busy machine is late once; a request that was never sent
     * is without an answer each time. */
    bool is_late = failed && !is_repeated &&
                   strstr(scene.error.text, "no answer in") != NULL;
    if (!is_right && !is_late) {
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
    if (!is_right && is_late) {
        return try_act(act, shape, number, true);
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
    return is_zookeeper() &&
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
            while (try_act(&acts[i], shape, number, false)) {
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
