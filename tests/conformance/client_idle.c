/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=hf_clock_now,--wrap=timerfd_settime */
/* An idle client does not maintain its connections. Whatever happened to them
 * since, its next try depends only on the servers' present state. */
#include "redis_client.h"

#include <poll.h>
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
    struct hf_node *node;
    ok(try_it(client) == HF_OK, "a lock is had");
    enum hf_status status = HF_UNAVAILABLE;
    /* On a busy machine a try may end before the connection is there. */
    for (int left = 5; left > 0 && status != HF_OK; left--) {
        server_kill(&server);
        ok(try_it(client) == HF_UNAVAILABLE, "not while the server is away");
        server_run(&server, NULL);
        /* The library's thread may be planning after an attempt that failed: it
         * must not do so by the time after the jump. */
        ok(hf_client_node(client, 0, &node) == HF_OK,
           "its thread is not at work");
        hf_node_free(node);
        jump_ms(IDLE_MS);
        status = try_it(client);
    }
    ok(status == HF_OK, "the first try after it is back has the lock");
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
    int64_t end_ns = hf_clock_now().ns + 20 * INT64_C(1000000000);
    do {
        usleep(20000);
        is_up = hf_client_node(client, 0, &node) == HF_OK &&
                hf_node_health(node) == HF_NODE_UP;
        hf_node_free(node);
    } while (!is_up && hf_clock_now().ns < end_ns);
    ok(is_up, "the server is reached again");
    hf_lock_release(lock);
    hf_client_close(client);
    server_remove(&server);
}

/* A fresh client's first acquisition fails, and it makes no further call. The
 * server does not have the script of the release that cleans up: it must be
 * sent again, which takes a reader of the reply. The name, free at last, is
 * another client's well before the 30 s of a lease, and the 6 s of a place. */
static void test_failed_try_leaves_nothing(const char *title,
                                           const struct hf_request *held,
                                           const struct hf_request *tried,
                                           const char *wanted, int64_t limit_ms)
{
    struct server server;
    struct hf_error error;
    struct hf_lock *locks[2] = {NULL, NULL};
    struct hf_lock *lock = NULL;
    unsigned n_held = held->permits > 1 ? held->permits : 1;
    server_start(&server, NULL);
    struct hf_client *holder =
        open_at(&server, HF_THREAD_AUTO, "node_timeout=1s");
    struct hf_client *fresh =
        open_at(&server, HF_THREAD_AUTO, "node_timeout=1s");
    for (unsigned i = 0; i < n_held; i++) {
        ok(hf_lock_acquire(holder, held, &locks[i], &error) == HF_OK,
           "%s: held", title);
    }
    told(&server, "SCRIPT FLUSH");
    ok(hf_lock_acquire(fresh, tried, &lock, &error) == HF_BUSY, "%s: busy",
       title);
    for (unsigned i = 0; i < n_held; i++) {
        ok(hf_lock_release(locks[i]) == HF_OK, "%s: released", title);
    }
    struct hf_request request;
    hf_request_init(&request, wanted);
    request.wait_ms = limit_ms;
    enum hf_status status = hf_lock_acquire(holder, &request, &lock, &error);
    ok(status == HF_OK, "%s: then \"%s\" is free: %s", title, wanted,
       status == HF_OK ? "" : error.text);
    if (status == HF_OK) {
        (void)hf_lock_release(lock);
    }
    hf_client_close(holder);
    hf_client_close(fresh);
    server_remove(&server);
}

static void test_failed_tries(void)
{
    static const struct hf_name nb = {"nb", 2, HF_EXCLUSIVE};
    struct hf_request one;
    struct hf_request other;
    hf_request_init(&one, "nb");
    hf_request_init(&other, "na");
    other.more = &nb;
    other.n_more = 1;
    test_failed_try_leaves_nothing("several names", &one, &other, "na", 20000);
    hf_request_init(&other, "nb");
    other.wait_ms = 200;
    test_failed_try_leaves_nothing("a short wait", &one, &other, "nb", 5500);
    one.permits = 2;
    other = one;
    test_failed_try_leaves_nothing("a semaphore", &one, &other, "nb", 20000);
}

/* ---- A query of a server that is silent -------------------------------- */

struct ends {
    unsigned n;
    enum hf_status status;
};

static void end_with(struct ends *ends, enum hf_status status)
{
    ends->n++;
    ends->status = status;
}

static void on_info(void *user, struct hf_info *info, enum hf_status status,
                    const struct hf_error *error)
{
    (void)error;
    hf_info_free(info);
    end_with(user, status);
}

static void on_end(void *user, struct hf_lock *lock, enum hf_status status,
                   const struct hf_error *error)
{
    (void)lock, (void)error;
    end_with(user, status);
}

static bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    (void)user, (void)entry;
    return true;
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    (void)user, (void)name, (void)name_len, (void)info;
    return true;
}

static enum hf_status start_query(struct hf_client *client, char kind,
                                  struct ends *ends)
{
    struct hf_error error;
    switch (kind) {
    case 'i':
        return hf_op_start_inspect(client, "n", 1, on_info, ends, NULL, &error);
    case 'q':
        return hf_op_start_queue(client, "n", 1, on_entry, on_end, ends, NULL,
                                 &error);
    default:
        return hf_op_start_list(client, NULL, on_name, on_end, ends, NULL,
                                &error);
    }
}

/* A program that waits for hf_client_fd() alone learns of the timeout. */
static void test_silent_server(enum hf_thread_mode mode)
{
    struct server server;
    server_start(&server, NULL);
    kill(server.pid, SIGSTOP);
    for (const char *kind = "iql"; *kind != '\0'; kind++) {
        struct ends ends = {0, HF_OK};
        struct hf_client *client =
            open_at(&server, mode, "connect_timeout=500ms");
        struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
        int64_t end_ns = hf_clock_now().ns + 20 * INT64_C(1000000000);
        ok(start_query(client, *kind, &ends) == HF_OK, "%c begins", *kind);
        while (ends.n == 0 && hf_clock_now().ns < end_ns) {
            if (poll(&fd, 1, 1000) > 0) {
                hf_client_process(client);
            }
        }
        ok(ends.n == 1 && ends.status == HF_UNAVAILABLE,
           "%c ends: %u times, %s", *kind, ends.n, hf_status_name(ends.status));
        hf_client_close(client);
    }
    kill(server.pid, SIGCONT);
    server_remove(&server);
}

/* ---- What the clock or the thread knows already ------------------------- */

/* The lease has ended, and nothing has run that would have noticed. */
static void test_process_of_a_lapsed_lock(void)
{
    struct server server;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    server_start(&server, NULL);
    struct hf_client *client =
        open_at(&server, HF_THREAD_NONE, "node_timeout=1s");
    hf_request_init(&request, "n");
    request.ttl_ms = 10000;
    ok(hf_lock_acquire(client, &request, &lock, &error) == HF_OK, "held");
    ok(hf_lock_add_process(lock, getpid()) == HF_OK, "a process is added");
    jump_ms(11000);
    enum hf_status status = hf_lock_add_process(lock, getpid());
    ok(status == HF_LOST, "not to a lapsed lock: %s", hf_status_name(status));
    hf_lock_release(lock);
    hf_client_close(client);
    server_remove(&server);
}

static bool waits(struct hf_op *op)
{
    struct hf_waiting *waiting = NULL;
    bool does = hf_op_waiting(op, &waiting);
    hf_waiting_free(waiting);
    return does;
}

/* The library's thread has read the grant, and the callback is due. */
static void test_granted_is_not_waiting(void)
{
    struct server server;
    struct hf_request request;
    struct hf_lock *held = NULL;
    struct hf_error error;
    struct hf_op *op = NULL;
    struct ends ends = {0, HF_BUSY};
    server_start(&server, NULL);
    struct hf_client *holder =
        open_at(&server, HF_THREAD_AUTO, "node_timeout=1s");
    struct hf_client *waiter =
        open_at(&server, HF_THREAD_AUTO, "node_timeout=1s");
    hf_request_init(&request, "n");
    ok(hf_lock_acquire(holder, &request, &held, &error) == HF_OK, "held");
    request.wait_ms = HF_WAIT_FOREVER;
    ok(hf_op_start_acquire(waiter, &request, on_end, &ends, &op, &error) ==
           HF_OK,
       "a wait begins");
    int64_t end_ns = hf_clock_now().ns + 20 * INT64_C(1000000000);
    while (!waits(op) && hf_clock_now().ns < end_ns) {
        usleep(1000);
    }
    ok(waits(op), "it waits");
    ok(hf_lock_release(held) == HF_OK, "released");
    while (waits(op) && hf_clock_now().ns < end_ns) {
        usleep(1000);
    }
    ok(!waits(op), "it waits no longer");
    ok(ends.n == 0, "the callback is due");
    hf_client_process(waiter);
    ok(ends.n == 1 && ends.status == HF_OK, "granted");
    hf_client_close(holder);
    hf_client_close(waiter);
    server_remove(&server);
}

int main(void)
{
    test_process_of_a_lapsed_lock();
    test_granted_is_not_waiting();
    test_failed_tries();
    test_silent_server(HF_THREAD_AUTO);
    test_silent_server(HF_THREAD_NONE);
    test_server_was_away(HF_THREAD_AUTO);
    test_server_was_away(HF_THREAD_NONE);
    test_server_stood_still(HF_THREAD_AUTO);
    test_server_stood_still(HF_THREAD_NONE);
    test_holder_connects_again();
    return tap_done();
}
