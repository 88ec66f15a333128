/* SPDX-License-Identifier: Apache-2.0 */
/* A watch is kept as long as ZooKeeper's library may call it, and each
 * report of the library has the time of the loop's event, which is the
 * client's. */
/* library: store-zookeeper-objects */
/* link: -Wl,--wrap=zoo_awget_children2,--wrap=zoo_awget */
/* link: -Wl,--wrap=hf_ordered_unwatched,--wrap=hf_ordered_ended */
#include "store/zookeeper/handle.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/watch.h"
#include "store/zookeeper/zookeeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hf_zk zk;
static struct hf_zk_handle handle;
static char base[] = "/lock:";

/* The last request to the library. */
static watcher_fn asked_watcher;
static void *asked_context;
static strings_stat_completion_t asked_completion;
static data_completion_t asked_node;
static const void *asked_data;
static char asked_path[64];

static unsigned n_ended;
static uint64_t ended_number;
static uint64_t ended_revision;
static unsigned n_unwatched;
static struct hf_instant ended_now;

int __wrap_zoo_awget_children2(zhandle_t *library, const char *path,
                               watcher_fn watcher, void *context,
                               strings_stat_completion_t completion,
                               const void *data);
int __wrap_zoo_awget(zhandle_t *library, const char *path, watcher_fn watcher,
                     void *context, data_completion_t completion,
                     const void *data);
void __wrap_hf_ordered_ended(struct hf_ordered *store, void *user,
                             uint64_t number, uint64_t revision,
                             struct hf_instant now);
void __wrap_hf_ordered_unwatched(struct hf_ordered *store, void *user,
                                 struct hf_instant now);

int __wrap_zoo_awget_children2(zhandle_t *library, const char *path,
                               watcher_fn watcher, void *context,
                               strings_stat_completion_t completion,
                               const void *data)
{
    (void)library;
    (void)path;
    asked_watcher = watcher;
    asked_context = context;
    asked_completion = completion;
    asked_data = data;
    return ZOK;
}

int __wrap_zoo_awget(zhandle_t *library, const char *path, watcher_fn watcher,
                     void *context, data_completion_t completion,
                     const void *data)
{
    (void)library;
    (void)snprintf(asked_path, sizeof(asked_path), "%s", path);
    asked_watcher = watcher;
    asked_context = context;
    asked_node = completion;
    asked_data = data;
    return ZOK;
}

void __wrap_hf_ordered_ended(struct hf_ordered *store, void *user,
                             uint64_t number, uint64_t revision,
                             struct hf_instant now)
{
    (void)store;
    (void)user;
    n_ended++;
    ended_number = number;
    ended_revision = revision;
    ended_now = now;
}

void __wrap_hf_ordered_unwatched(struct hf_ordered *store, void *user,
                                 struct hf_instant now)
{
    (void)store;
    (void)user;
    (void)now;
    n_unwatched++;
}

static struct hf_instant at(int64_t ms)
{
    return hf_instant_add((struct hf_instant){0}, hf_span_ms(ms));
}

static int set_up(void **state)
{
    (void)state;
    memset(&zk, 0, sizeof(zk));
    memset(&handle, 0, sizeof(handle));
    zk.base = base;
    zk.phase = HF_ZK_READY;
    zk.main = &handle;
    zk.now = at(5000);
    handle.zk = &zk;
    handle.life = HF_ZK_CONNECTED;
    handle.library = (zhandle_t *)(void *)&handle; /* it is only passed on */
    n_ended = n_unwatched = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_zk_watches_free(&zk, true);
    return 0;
}

static struct hf_wire_watch *begin(const struct hf_wire_watched *scope)
{
    struct hf_wire_watch *out;
    assert_true(
        hf_zk_watch((struct hf_wire *)(void *)&zk, scope, &zk, zk.now, &out));
    return out;
}

static struct hf_wire_watch *watch(void)
{
    struct hf_wire_watched all = {.name = {"job", 3}, .revision = 1};
    return begin(&all);
}

/* Of a text that does not end with its last byte. */
static struct hf_wire_watch *watch_one(void)
{
    struct hf_wire_watched one = {.name = {"job", 3},
                                  .id = {"x-lock-0000000004,", 17},
                                  .number = 9,
                                  .revision = 1};
    return begin(&one);
}

static void answer_node(int rc)
{
    struct Stat stat = {0};
    asked_node(rc, "", 0, rc == ZOK ? &stat : NULL, asked_data);
}

static void happened(int type)
{
    asked_watcher(NULL, type, ZOO_CONNECTED_STATE, asked_path, asked_context);
}

static void answer(int rc)
{
    struct String_vector children = {0};
    struct Stat stat = {.pzxid = 7};
    asked_completion(rc, &children, &stat, asked_data);
}

static void changed(void)
{
    asked_watcher(NULL, ZOO_CHILD_EVENT, ZOO_CONNECTED_STATE, "/lock:job",
                  asked_context);
}

static void drop(struct hf_wire_watch *dropped)
{
    hf_zk_unwatch((struct hf_wire *)(void *)&zk, dropped);
    hf_zk_watches_free(&zk, false);
}

static void it_is_kept_until_the_library_has_called_it(void **state)
{
    (void)state;
    struct hf_wire_watch *first = watch();
    answer(ZOK);
    drop(first);
    assert_non_null(zk.watches);
    changed();
    hf_zk_watches_free(&zk, false);
    assert_null(zk.watches);
}

/* The list of the second one is lost with its connection, but the library sets
 * the watch of the first one again, at another server. */
static void it_is_kept_when_a_later_list_fails(void **state)
{
    (void)state;
    struct hf_wire_watch *first = watch();
    answer(ZOK);
    drop(first);
    assert_ptr_equal(watch(), first);
    answer(ZCONNECTIONLOSS);
    hf_zk_watches_tell(&zk, zk.now);
    assert_int_equal(n_unwatched, 1);
    hf_zk_watches_free(&zk, false);
    assert_non_null(zk.watches);
    changed();
    hf_zk_watches_free(&zk, false);
    assert_null(zk.watches);
}

static void an_end_has_the_time_of_the_event(void **state)
{
    (void)state;
    (void)watch();
    answer(ZOK); /* its zxid is newer than the list's */
    assert_int_equal(n_ended, 1);
    assert_int_equal(ended_now.ns, zk.now.ns);
}

static void the_end_of_one_node_is_reported_once(void **state)
{
    (void)state;
    struct hf_wire_watch *one = watch_one();
    assert_string_equal(asked_path, "/lock:job/x-lock-0000000004");
    answer_node(ZOK);
    assert_int_equal(n_ended, 0);
    happened(ZOO_DELETED_EVENT);
    assert_int_equal(n_ended, 1);
    assert_int_equal(ended_number, 9);
    assert_int_equal(ended_revision, 0);
    drop(one);
    assert_null(zk.watches);
}

/* It has ended between the list and the watch. */
static void a_node_that_is_gone_has_ended(void **state)
{
    (void)state;
    struct hf_wire_watch *one = watch_one();
    answer_node(ZNONODE);
    assert_int_equal(n_ended, 1);
    assert_int_equal(ended_number, 9);
    assert_int_equal(n_unwatched, 0);
    drop(one);
    assert_null(zk.watches);
}

/* A note: the server has forgotten the watch, and it is set again. */
static void a_node_that_has_changed_is_watched_again(void **state)
{
    (void)state;
    (void)watch_one();
    answer_node(ZOK);
    asked_node = NULL;
    happened(ZOO_CHANGED_EVENT);
    assert_non_null(asked_node);
    assert_int_equal(n_ended, 0);
    answer_node(ZNONODE);
    assert_int_equal(n_ended, 1);
}

static void list_of(size_t n, char *const *nodes, int64_t pzxid)
{
    struct String_vector children = {(int32_t)n, (char **)(uintptr_t)nodes};
    struct Stat stat = {.czxid = 10, .pzxid = pzxid};
    asked_completion(ZOK, &children, &stat, asked_data);
}

/* Ours, and one that another program has named itself. */
static void one_of_two_with_one_sequence_ends(void **state)
{
    static char ours[] = "x-lock-0000000002";
    static char theirs[] = "odd-lock-0000000002";
    static char later[] = "y-lock-0000000003";
    (void)state;
    (void)watch();
    list_of(3, (char *[]){ours, theirs, later}, 1);
    assert_int_equal(n_ended, 0);
    changed();
    list_of(2, (char *[]){later, ours}, 2);
    assert_int_equal(n_ended, 1);
    assert_int_equal(ended_number, 13);
    changed();
    list_of(3, (char *[]){ours, theirs, later}, 3);
    assert_int_equal(n_ended, 1);
    changed();
    list_of(1, (char *[]){later}, 4);
    assert_int_equal(n_ended, 3);
    assert_int_equal(ended_number, 13);
}

static struct hf_instant step_now;

static void step(struct hf_zk_op *op, struct hf_instant now)
{
    (void)op;
    step_now = now;
}

static void a_step_has_the_time_of_the_event(void **state)
{
    (void)state;
    struct hf_zk_op op = {
        .zk = &zk, .handle = &handle, .reply.sent = at(4000), .pending = 1};
    assert_true(hf_zk_op_begin(&op, step));
    hf_zk_op_answered(&op, ZOK);
    assert_int_equal(step_now.ns, zk.now.ns);
}

static void a_step_is_not_before_its_request(void **state)
{
    (void)state;
    struct hf_zk_op op = {
        .zk = &zk, .handle = &handle, .reply.sent = at(6000), .pending = 1};
    assert_true(hf_zk_op_begin(&op, step));
    hf_zk_op_answered(&op, ZCLOSING);
    assert_int_equal(step_now.ns, at(6000).ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            it_is_kept_until_the_library_has_called_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_kept_when_a_later_list_fails,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_has_the_time_of_the_event,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_one_node_is_reported_once,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_is_gone_has_ended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_node_that_has_changed_is_watched_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_two_with_one_sequence_ends,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_has_the_time_of_the_event,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_is_not_before_its_request,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
