/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that sends without end: one event reads a bounded amount, timers run
 * in between, and unread data are reported again. */
#include "io/clock.h"
#include "io/socket.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define READ_BYTES 16384 /* of one read: those of store/redis/connection.c */
/* Bytes: more than a turn reads, less than two. */
#define PLENTY (3 * HF_SOCKET_TURN_BYTES / 2)

struct peer {
    struct hf_socket socket; /* first: the handler casts to it */
    size_t n_read;           /* total of all events */
    unsigned n_events;
};

struct alarm {
    struct hf_timer timer; /* first: the handler casts to it */
    const struct peer *peer;
    size_t n_read; /* when it fired */
};

/* As the store's connections do: read until there is no more, or a short
 * read. */
static void on_socket(struct hf_socket *socket, struct hf_instant now)
{
    struct peer *peer = (struct peer *)(void *)socket;
    char data[READ_BYTES];
    ssize_t n = sizeof(data);
    (void)now;
    peer->n_events++;
    while (socket->state == HF_SOCKET_OPEN && n == sizeof(data)) {
        n = hf_socket_read(socket, data, sizeof(data));
        peer->n_read += n > 0 ? (size_t)n : 0;
    }
}

static void on_alarm(struct hf_timer *timer, struct hf_instant now)
{
    struct alarm *alarm = (struct alarm *)(void *)timer;
    (void)now;
    alarm->n_read = alarm->peer->n_read;
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static int accept_one(int listener)
{
    int size = 4 * PLENTY;
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return fd;
}

static void one_turn(struct hf_loop *loop)
{
    (void)hf_loop_wait(loop, HF_LONG_AGO);
    hf_loop_dispatch(loop, hf_clock_now());
}

static void a_turn_is_bounded(void **state)
{
    static char plenty[PLENTY];
    char dir[] = "/tmp/hf.XXXXXX";
    char path[64];
    struct hf_loop *loop = hf_loop_new();
    struct peer peer = {.n_read = 0};
    struct alarm alarm = {.timer = {.at = HF_NEVER, .fire = on_alarm},
                          .peer = &peer};
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    int listener = listen_at(path);
    hf_socket_init(&peer.socket, loop, on_socket);
    hf_socket_start(&peer.socket,
                    &(struct hf_socket_target){.is_unix = true, .host = path},
                    hf_span_ms(1000), hf_clock_now());
    assert_int_equal(peer.socket.state, HF_SOCKET_OPEN);
    int other = accept_one(listener);
    hf_loop_add_timer(loop, &alarm.timer);
    assert_int_equal(write(other, plenty, sizeof(plenty)), sizeof(plenty));

    hf_timer_set(&alarm.timer, hf_clock_now());
    one_turn(loop);
    assert_int_equal(peer.n_events, 1);
    assert_int_equal(peer.n_read, HF_SOCKET_TURN_BYTES);
    assert_int_equal(alarm.n_read, HF_SOCKET_TURN_BYTES);

    /* Without new data, unread data are still reported, also to a loop around
     * this one. */
    struct pollfd outside = {.fd = hf_loop_fd(loop), .events = POLLIN};
    assert_int_equal(poll(&outside, 1, 0), 1);
    one_turn(loop);
    assert_int_equal(peer.n_read, PLENTY);
    assert_int_equal(poll(&outside, 1, 0), 0);
    one_turn(loop);
    assert_int_equal(peer.n_events, 2);

    hf_socket_close(&peer.socket, false);
    hf_loop_free(loop);
    close(other);
    close(listener);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
