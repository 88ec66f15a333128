/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=hf_clock_now,--wrap=timerfd_settime */
/* An idle client does not maintain its connections. Whatever happened to them
 * since, its next try depends only on the servers' present state. */
#include "redis_client.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/timerfd.h>

/* Longer than the longest back-off between two connections. */
#define IDLE_MS 2100

/* The clock of the client, which jumps while that is idle. */
static atomic_llong jumped_ns;
struct hf_instant __real_hf_clock_now(void);
struct hf_instant __wrap_hf_clock_now(void);

struct hf_instant __wrap_hf_clock_now(void)
{
    return (struct hf_instant){__real_hf_clock_now().ns +
                               atomic_load(&jumped_ns)};
}

/* The kernel's timers run by its own clock. */
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *old);

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *old)
{
    struct itimerspec at = *when;
    int64_t ns = (int64_t)at.it_value.tv_sec * 1000000000 + at.it_value.tv_nsec;
    if ((flags & TFD_TIMER_ABSTIME) != 0 && ns > 0) {
        ns -= atomic_load(&jumped_ns);
        ns = ns > 0 ? ns : 1; /* 0 would disarm it */
        at.it_value.tv_sec = (time_t)(ns / 1000000000);
        at.it_value.tv_nsec = (long)(ns % 1000000000);
    }
    return __real_timerfd_settime(fd, flags, &at, old);
}

static void jump_ms(int64_t ms)
{
    atomic_fetch_add(&jumped_ns, ms * 1000000);
}

static enum hf_status try_it(struct hf_client *client)
{
    struct hf_request request;
    struct hf_error error;
    struct hf_lock *lock = NULL;
    hf_request_init(&request, "n");
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    if (status == HF_OK) {
        status = hf_lock_release(lock);
    } else {
        printf("# %s: %s\n", hf_status_name(status), error.text);
    }
    return status;
}

/* The next attempt to connect failed, and the one after that was due while the
 * client was idle. */
static void test_server_was_away(enum hf_thread_mode mode)
{
    struct server server;
    server_start(&server, NULL);
    struct hf_client *client = open_at(&server, mode, "connect_timeout=20s");
    ok(try_it(client) == HF_OK, "a lock is had");
    server_kill(&server);
    ok(try_it(client) == HF_UNAVAILABLE, "not while the server is away");
    server_run(&server, NULL);
    jump_ms(IDLE_MS);
    ok(try_it(client) == HF_OK, "the first try after it is back has the lock");
    hf_client_close(client);
    server_remove(&server);
}

/* The server accepted the connection and stopped. Its reply to the handshake
 * came while the client was idle, long after the timeout. */
static void test_server_stood_still(enum hf_thread_mode mode)
{
    struct server server;
    server_start(&server, NULL);
    struct hf_client *client = open_at(&server, mode, "connect_timeout=500ms");
    kill(server.pid, SIGSTOP);
    ok(try_it(client) == HF_UNAVAILABLE, "not while the server stands still");
    kill(server.pid, SIGCONT);
    told(&server, "PING"); /* it has answered all earlier requests */
    enum hf_status status = HF_INTERNAL;
    for (int i = 0; i < 5 && status != HF_OK; i++) {
        jump_ms(IDLE_MS);
        status = try_it(client);
    }
    ok(status == HF_OK, "a try after it goes on has the lock");
    hf_client_close(client);
    server_remove(&server);
}

/* Only the library's thread serves the connection of a holder: it reads the
 * handshake when it arrives, not at its timeout. */
static void test_holder_connects_again(void)
{
    struct server server;
    server_start(&server, NULL);
    struct hf_client *client =
        open_at(&server, HF_THREAD_AUTO, "connect_timeout=60s");
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    struct hf_node *node;
    bool is_up;
    hf_request_init(&request, "n");
    request.ttl_ms = 3600000; /* no renewal is due that could read it */
    ok(hf_lock_acquire(client, &request, &lock, &error) == HF_OK, "held");
    server_kill(&server);
    ok(hf_lock_extend(lock, 0, &error) == HF_UNAVAILABLE, "unreached");
    server_run(&server, NULL);
    int64_t end = hf_clock_now().ns + 20 * INT64_C(1000000000);
    do {
        usleep(20000);
        is_up = hf_client_node(client, 0, &node) == HF_OK &&
                hf_node_health(node) == HF_NODE_UP;
        hf_node_free(node);
    } while (!is_up && hf_clock_now().ns < end);
    ok(is_up, "the server is reached again");
    hf_lock_release(lock);
    hf_client_close(client);
    server_remove(&server);
}

int main(void)
{
    test_server_was_away(HF_THREAD_AUTO);
    test_server_was_away(HF_THREAD_NONE);
    test_server_stood_still(HF_THREAD_AUTO);
    test_server_stood_still(HF_THREAD_NONE);
    test_holder_connects_again();
    return tap_done();
}
