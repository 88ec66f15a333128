/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: descriptors, timers, and changes from another thread during a
 * wait. */
#include "io/loop.h"

#include "io/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct end {
    struct hf_watch watch; /* first: the handler casts to it */
    struct hf_loop *loop;
    struct end *victim; /* to be unwatched by the handler */
    unsigned n_ready;
    uint32_t events;
};

struct alarm {
    struct hf_timer timer;
    struct hf_loop *loop;
    unsigned n_fired;
    int64_t again_ns; /* set again after this time; 0: not set */
    struct alarm *victim;
};

static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now)
{
    struct end *end = (struct end *)watch;
    (void)now;
    end->n_ready++;
    end->events = events;
    if (end->victim != NULL) {
        hf_loop_unwatch(end->loop, &end->victim->watch);
    }
}

static void on_alarm(struct hf_timer *timer, struct hf_instant now)
{
    struct alarm *alarm = (struct alarm *)timer;
    alarm->n_fired++;
    if (alarm->again_ns != 0) {
        hf_timer_set(timer,
                     hf_instant_add(now, (struct hf_span){alarm->again_ns}));
    }
    if (alarm->victim != NULL) {
        hf_loop_drop_timer(alarm->loop, &alarm->victim->timer);
    }
}

static struct hf_loop *loop_new(void)
{
    struct hf_loop *loop = hf_loop_new();
    assert_non_null(loop);
    return loop;
}

static void watch(struct hf_loop *loop, struct end *end, int fd)
{
    memset(end, 0, sizeof(*end));
    end->watch = (struct hf_watch){fd, on_ready};
    end->loop = loop;
    assert_true(hf_loop_watch(loop, &end->watch));
    hf_loop_watch_output(loop, &end->watch, true);
}

/* A loop that watches the reading end of a new pipe. */
static struct hf_loop *loop_of_pipe(int line[2], struct end *end)
{
    struct hf_loop *loop = loop_new();
    assert_int_equal(pipe(line), 0);
    watch(loop, end, line[0]);
    return loop;
}

/* The peer reads the sent bytes: then there is room to write, and no new
 * event. */
static void room_is_told_only_when_wanted(void **state)
{
    (void)state;
    int pair[2];
    char byte;
    struct end end;
    struct hf_loop *loop = loop_new();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    watch(loop, &end, pair[0]);
    assert_int_equal(hf_loop_wait(loop, HF_LONG_AGO), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    hf_loop_watch_output(loop, &end.watch, false);
    assert_int_equal(write(pair[0], "x", 1), 1);
    assert_int_equal(read(pair[1], &byte, 1), 1);
    assert_int_equal(hf_loop_wait(loop, HF_LONG_AGO), 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_int_equal(hf_loop_wait(loop, HF_LONG_AGO), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(end.events, EPOLLIN);
    hf_loop_watch_output(loop, &end.watch, true);
    assert_int_equal(hf_loop_wait(loop, HF_LONG_AGO), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_true((end.events & EPOLLOUT) != 0);
    hf_loop_unwatch(loop, &end.watch);
    close(pair[0]);
    close(pair[1]);
    hf_loop_free(loop);
}

static void add_alarm(struct hf_loop *loop, struct alarm *alarm, int64_t in_ms)
{
    memset(alarm, 0, sizeof(*alarm));
    alarm->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_alarm};
    alarm->loop = loop;
    hf_loop_add_timer(loop, &alarm->timer);
    hf_timer_set(&alarm->timer,
                 hf_instant_add(hf_clock_now(), hf_span_ms(in_ms)));
}

static struct hf_instant in_ms(int64_t ms)
{
    return hf_instant_add(hf_clock_now(), hf_span_ms(ms));
}

static void clocks_go_on(void **state)
{
    (void)state;
    struct hf_instant a = hf_clock_now();
    struct hf_instant b = hf_clock_now();
    assert_true(a.ns > 0 && b.ns >= a.ns);
    assert_true(hf_clock_wall_s() > 1700000000);
    unsigned char one[40] = {0}, two[40] = {0};
    hf_entropy(one, sizeof(one));
    hf_entropy(two, sizeof(two));
    assert_memory_not_equal(one, two, sizeof(one));
}

static void descriptors(void **state)
{
    (void)state;
    int pair[2];
    struct end end;
    struct hf_loop *loop = loop_new();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    watch(loop, &end, pair[0]);
    assert_int_equal(hf_loop_wait(loop, in_ms(1000)), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(end.n_ready, 1);
    assert_int_equal(end.events, EPOLLOUT);
    assert_int_equal(hf_loop_wait(loop, HF_LONG_AGO), 0); /* edge-triggered */
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_int_equal(hf_loop_wait(loop, HF_NEVER), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(end.n_ready, 2);
    assert_true((end.events & EPOLLIN) != 0);
    hf_loop_dispatch(loop, hf_clock_now()); /* once per edge */
    assert_int_equal(end.n_ready, 2);
    close(pair[1]);
    assert_int_equal(hf_loop_wait(loop, in_ms(1000)), 1);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_true((end.events & EPOLLHUP) != 0);
    hf_loop_unwatch(loop, &end.watch);
    hf_loop_unwatch(loop, &end.watch); /* no effect */
    close(pair[0]);
    hf_loop_free(loop);
}

static void refuses_what_cannot_be_watched(void **state)
{
    (void)state;
    struct hf_loop *loop = loop_new();
    struct end end = {.watch = {-1, on_ready}};
    end.watch.fd = 1000;
    assert_false(hf_loop_watch(loop, &end.watch));
    assert_int_equal(errno, EBADF);
    hf_loop_free(loop);
    hf_loop_free(NULL);
}

/* An event of a descriptor that is unwatched before its turn is not
 * reported. */
static void unwatched_in_between(void **state)
{
    (void)state;
    int a[2], b[2];
    struct end ends[2];
    struct hf_loop *loop = loop_new();
    assert_int_equal(pipe(a) + pipe(b), 0);
    watch(loop, &ends[0], a[1]);
    watch(loop, &ends[1], b[1]);
    ends[0].victim = &ends[1];
    ends[1].victim = &ends[0];
    assert_int_equal(hf_loop_wait(loop, in_ms(1000)), 2);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(ends[0].n_ready + ends[1].n_ready, 1);
    hf_loop_unwatch(loop, &ends[0].watch);
    hf_loop_unwatch(loop, &ends[1].watch);
    /* Nor to the descriptor that reuses its index. */
    watch(loop, &ends[0], a[1]);
    assert_int_equal(hf_loop_wait(loop, in_ms(1000)), 1);
    hf_loop_unwatch(loop, &ends[0].watch);
    watch(loop, &ends[1], b[0]);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(ends[1].n_ready, 0);
    hf_loop_free(loop);
    close(a[0]);
    close(a[1]);
    close(b[0]);
    close(b[1]);
}

static void timers(void **state)
{
    (void)state;
    struct alarm first, second, never;
    struct hf_loop *loop = loop_new();
    assert_int_equal(hf_loop_next_timer(loop).ns, HF_NEVER.ns);
    add_alarm(loop, &second, 30);
    add_alarm(loop, &first, 10);
    add_alarm(loop, &never, 60000);
    assert_int_equal(hf_loop_next_timer(loop).ns, first.timer.at.ns);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(first.n_fired, 0);
    assert_int_equal(hf_loop_wait(loop, hf_loop_next_timer(loop)), 0);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(first.n_fired, 1);
    assert_int_equal(second.n_fired, 0);
    assert_int_equal(first.timer.at.ns, HF_NEVER.ns);
    assert_int_equal(hf_loop_wait(loop, hf_loop_next_timer(loop)), 0);
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(second.n_fired, 1);
    hf_loop_drop_timer(loop, &never.timer);
    hf_loop_drop_timer(loop, &never.timer); /* no effect */
    assert_int_equal(hf_loop_next_timer(loop).ns, HF_NEVER.ns);
    hf_loop_free(loop);
}

static void timers_that_meddle(void **state)
{
    (void)state;
    struct alarm killer, victim, eager;
    struct hf_loop *loop = loop_new();
    add_alarm(loop, &victim, -5);
    add_alarm(loop, &killer, -10);
    add_alarm(loop, &eager, -7);
    killer.victim = &victim;
    eager.again_ns = -1; /* sets itself into the past: runs once per dispatch */
    hf_loop_dispatch(loop, hf_clock_now());
    assert_int_equal(killer.n_fired, 1);
    assert_int_equal(victim.n_fired, 0);
    assert_in_range(eager.n_fired, 1, 3);
    hf_loop_free(loop);
}

static void waits_as_long_as_asked(void **state)
{
    (void)state;
    static const int64_t spans_us[] = {0, 50, 300, 2500, 120000, 150000};
    struct hf_loop *loop = loop_new();
    for (size_t i = 0; i < sizeof(spans_us) / sizeof(spans_us[0]); i++) {
        struct hf_instant began = hf_clock_now();
        struct hf_instant until =
            hf_instant_add(began, hf_span_us(spans_us[i]));
        assert_int_equal(hf_loop_wait(loop, until), 0);
        assert_true(hf_clock_now().ns >= until.ns);
        assert_true(hf_clock_now().ns < until.ns + 10000000000);
    }
    hf_loop_free(loop);
}

/* A long wait leaves the kernel's timer set: it must not affect later waits. */
static void a_long_wait_that_ends_early(void **state)
{
    (void)state;
    int line[2];
    struct end end;
    struct hf_loop *loop = loop_of_pipe(line, &end);
    assert_int_equal(write(line[1], "x", 1), 1);
    assert_int_equal(hf_loop_wait(loop, in_ms(110)), 1);
    struct hf_instant began = hf_clock_now();
    int found = 0;
    while (hf_clock_now().ns < began.ns + 130000000) {
        found += hf_loop_wait(loop, in_ms(20));
    }
    assert_int_equal(found, 0);
    hf_loop_free(loop);
    close(line[0]);
    close(line[1]);
}

/* The timer stays set to the earliest of these ends. A wait for a later one
 * ends by it, whether the timer expires during the wait or before it. */
static void long_waits_one_after_the_other(void **state)
{
    (void)state;
    int line[2];
    struct end end;
    struct hf_loop *loop = loop_of_pipe(line, &end);
    for (int expired = 0; expired <= 1; expired++) {
        assert_int_equal(write(line[1], "x", 1), 1);
        assert_int_equal(hf_loop_wait(loop, in_ms(150)), 1);
        if (expired) {
            (void)poll(NULL, 0, 180); /* sleeps: until the timer has expired */
        }
        struct hf_instant until = in_ms(320);
        unsigned n_waits = 0;
        do {
            assert_int_equal(hf_loop_wait(loop, until), 0);
            n_waits++;
        } while (hf_instant_before(hf_clock_now(), until));
        assert_in_range(n_waits, 1, 3);
    }
    hf_loop_free(loop);
    close(line[0]);
    close(line[1]);
}

static void one_descriptor_for_others(void **state)
{
    (void)state;
    int line[2];
    struct end end;
    struct hf_loop *loop = loop_of_pipe(line, &end);
    struct pollfd outer = {.fd = hf_loop_fd(loop), .events = POLLIN};
    assert_int_equal(poll(&outer, 1, 0), 0);
    assert_int_equal(write(line[1], "x", 1), 1);
    assert_int_equal(poll(&outer, 1, 1000), 1);
    hf_loop_free(loop);
    close(line[0]);
    close(line[1]);
}

struct waiter {
    struct hf_loop *loop;
    atomic_int found;
};

static void *wait_long(void *user)
{
    struct waiter *waiter = user;
    atomic_store(&waiter->found, hf_loop_wait(waiter->loop, in_ms(5000)));
    return NULL;
}

/* While one thread waits, another adds a descriptor that ends the wait. */
static void watched_while_another_waits(void **state)
{
    (void)state;
    int line[2];
    pthread_t thread;
    struct end end;
    struct waiter waiter = {.loop = loop_new()};
    atomic_init(&waiter.found, -1);
    assert_int_equal(pipe(line), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_long, &waiter), 0);
    watch(waiter.loop, &end, line[1]); /* writable at once */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&waiter.found), 1);
    hf_loop_dispatch(waiter.loop, hf_clock_now());
    assert_int_equal(end.n_ready, 1);
    hf_loop_free(waiter.loop);
    close(line[0]);
    close(line[1]);
}

int main(void)
{
    (void)alarm(60); /* a wait without end is a failure, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_go_on),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(room_is_told_only_when_wanted),
        cmocka_unit_test(refuses_what_cannot_be_watched),
        cmocka_unit_test(unwatched_in_between),
        cmocka_unit_test(timers),
        cmocka_unit_test(timers_that_meddle),
        cmocka_unit_test(waits_as_long_as_asked),
        cmocka_unit_test(a_long_wait_that_ends_early),
        cmocka_unit_test(long_waits_one_after_the_other),
        cmocka_unit_test(one_descriptor_for_others),
        cmocka_unit_test(watched_while_another_waits),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
