/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper's library may close its descriptor in any call. Its number may then
 * be that of another one, of another thread, or of another handle: that one is
 * left alone. */
/* library: store-zookeeper-objects */
#include "io/clock.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/zookeeper.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct hf_zk zk;
static struct hf_zk_handle handle;
static unsigned n_ready;

static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now)
{
    (void)watch;
    (void)events;
    (void)now;
    n_ready++;
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    (void)timer;
    (void)now;
}

/* A handle with a connection. @return the other end. */
static int connect_handle(void)
{
    int pair[2];
    struct stat status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(fstat(pair[0], &status), 0);
    zk.ordered.env.loop = hf_loop_new();
    assert_non_null(zk.ordered.env.loop);
    handle = (struct hf_zk_handle){.zk = &zk,
                                   .watch = {.fd = pair[0], .ready = on_ready},
                                   .timer = {.fire = on_timer},
                                   .is_watched = true,
                                   .socket = status.st_ino};
    assert_true(hf_loop_watch(zk.ordered.env.loop, &handle.watch));
    hf_loop_add_timer(zk.ordered.env.loop, &handle.timer);
    return pair[1];
}

static void end_handle(int other_end)
{
    hf_loop_drop_timer(zk.ordered.env.loop, &handle.timer);
    hf_loop_free(zk.ordered.env.loop);
    close(other_end);
}

static void test_a_connection_is_closed(void **state)
{
    char byte;
    (void)state;
    int other_end = connect_handle();
    hf_zk_handle_break(&handle, "by this test");
    assert_false(handle.is_watched);
    assert_int_equal(read(other_end, &byte, 1), 0);
    /* The library may close it. */
    assert_int_equal(close(handle.watch.fd), 0);
    end_handle(other_end);
}

static void test_a_number_of_another_is_left_alone(void **state)
{
    uint64_t count = 1;
    (void)state;
    int other_end = connect_handle();
    assert_int_equal(close(handle.watch.fd), 0); /* as the library does */
    struct hf_watch other = {.fd = eventfd(0, EFD_NONBLOCK), .ready = on_ready};
    assert_int_equal(other.fd, handle.watch.fd);
    assert_true(hf_loop_watch(zk.ordered.env.loop, &other));

    hf_zk_handle_break(&handle, "by this test");
    assert_false(handle.is_watched);
    n_ready = 0;
    assert_int_equal(write(other.fd, &count, sizeof(count)), sizeof(count));
    struct hf_instant end = hf_instant_add(hf_clock_now(), hf_span_ms(5000));
    while (n_ready == 0 && hf_instant_before(hf_clock_now(), end)) {
        (void)hf_loop_wait(zk.ordered.env.loop, end);
        hf_loop_dispatch(zk.ordered.env.loop, hf_clock_now());
    }
    assert_int_equal(n_ready, 1);
    assert_int_equal(read(other.fd, &count, sizeof(count)), sizeof(count));

    hf_loop_unwatch(zk.ordered.env.loop, &other);
    close(other.fd);
    end_handle(other_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_connection_is_closed),
        cmocka_unit_test(test_a_number_of_another_is_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
