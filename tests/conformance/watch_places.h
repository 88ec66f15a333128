/* SPDX-License-Identifier: Apache-2.0 */
/* How many watches a client has at a store that is asked by HTTP
 * (store/endpoints/watch.c), against a real server:
 *
 *     HF_TEST_URL=URL CMOCKA_MESSAGE_OUTPUT=TAP watch_places_etcd
 *
 * At the limit one that is dropped leaves its place at once: a waiter that
 * waits for something else replaces its watch. And each has one connection, or
 * none. */
#ifndef HF_TESTS_CONFORMANCE_WATCH_PLACES_H
#define HF_TESTS_CONFORMANCE_WATCH_PLACES_H

#include "mark_wire.h"

#include <dirent.h>

#define PLACES_MAX 64 /* watches: more than the limit, which the test finds */

/* The loop does not run, so nothing is reported of it. */
static bool places_watch(struct mark_wire *wire, struct hf_wire_watch **out)
{
    struct hf_ordered *store = wire->store;
    struct hf_wire_watched what = {.name = {"watched", 7}, .revision = 1};
    return store->wire_ops->watch(store->wire, &what, NULL, hf_clock_now(),
                                  out);
}

static unsigned places_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    closedir(folder);
    return n;
}

static const struct hf_store_ops *places_ops;

static void a_dropped_watch_leaves_its_place(void **state)
{
    struct mark_wire wire;
    struct hf_wire_watch *watches[PLACES_MAX];
    struct hf_wire_watch *none;
    unsigned n = 0;
    (void)state;
    mark_open(&wire, places_ops);
    struct hf_ordered *store = wire.store;
    while (n < PLACES_MAX && places_watch(&wire, &watches[n])) {
        n++;
    }
    assert_in_range(n, 2, PLACES_MAX - 1);
    unsigned descriptors = places_descriptors();
    for (unsigned i = 0; i < 2 * n; i++) {
        store->wire_ops->unwatch(store->wire, watches[i % n]);
        assert_true(places_watch(&wire, &watches[i % n]));
        assert_false(places_watch(&wire, &none));
        assert_null(none);
        assert_int_equal(places_descriptors(), descriptors);
    }
    mark_close(&wire, places_ops);
}

static inline int watch_places_main(const struct hf_store_ops *ops)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_watch_leaves_its_place),
    };
    (void)mark_wire_main;
    places_ops = ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
