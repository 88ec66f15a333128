/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the client. They run on the store in HF_TEST_URL or,
 * without one, on an embedded store in a folder of their own. */
#ifndef CLIENT_WORLD_H
#define CLIENT_WORLD_H

#include "../lib/threads.h"

#include <holdfast/holdfast.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static inline int64_t now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_BOOTTIME, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* Longer than any step takes on a loaded machine: a limit for events that would
 * never come. */
#define PATIENCE_MS 20000

/* The longest lease. A node may take a twentieth of the lease, and
 * node_timeout, to answer before an extend or a release returns HF_UNKNOWN:
 * with a lease of 5 s a server that stops for a quarter of a second is too
 * late. */
#define LEASE_MS 60000

/* The step of a loop that polls a condition. */
static inline void pause_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&span, &span) != 0) { /* sleeps: see its callers */
    }
}

/* fork() beside threads of the library, when they sleep: a child in which a
 * lock of ASan's allocator belongs to a thread that it does not have hangs. The
 * libc's own allocator has no such locks in a child. */
static inline pid_t fork_while_others_sleep(void)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!others_sleep()) {
        assert_true(now_ms() < end_ms);
        pause_ms(1);
    }
    return fork();
}

static inline const char *world_url(void)
{
    static char url[300];
    static char folder[200];
    const char *given = getenv("HF_TEST_URL");
    if (given != NULL) {
        return given;
    }
    if (url[0] == '\0') {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder, sizeof(folder), "%s/hf-client.XXXXXX",
                 tmp != NULL ? tmp : "/tmp");
        assert_non_null(mkdtemp(folder));
        snprintf(url, sizeof(url), "local://%s?node_timeout=3s", folder);
    }
    return url;
}

static inline bool world_is_local(void)
{
    return strncmp(world_url(), "local:", 6) == 0;
}

static inline bool world_is_postgres(void)
{
    return strncmp(world_url(), "postgres:", 9) == 0;
}

static inline bool world_is_ordered(void)
{
    return strncmp(world_url(), "etcd:", 5) == 0 ||
           strncmp(world_url(), "consul:", 7) == 0 ||
           strncmp(world_url(), "zookeeper:", 10) == 0;
}

/* Of these stores, requests that were sent are executed, whether or not the
 * client reads the replies to those before. */
static inline bool world_executes_unread(void)
{
    return world_is_local() || world_is_postgres() ||
           strncmp(world_url(), "redis", 5) == 0;
}

static inline struct hf_client *open_mode(enum hf_thread_mode mode)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    hf_client_options_init(&options);
    options.thread = mode;
    if (hf_client_open(world_url(), &options, &client, &error) != HF_OK) {
        fail_msg("open %s: %s", world_url(), error.text);
    }
    return client;
}

static inline struct hf_client *open_client(void)
{
    return open_mode(HF_THREAD_AUTO);
}

/* A name that no other test of this run uses. */
static inline const char *fresh_name(void)
{
    static char name[64];
    static int count;
    snprintf(name, sizeof(name), "t%d-%d", (int)getpid(), count++);
    return name;
}

static inline struct hf_request want(const char *name, int64_t ttl_ms,
                                     int64_t wait_ms)
{
    struct hf_request request;
    hf_request_init(&request, name);
    request.ttl_ms = ttl_ms;
    request.wait_ms = wait_ms;
    return request;
}

static inline struct hf_lock *take(struct hf_client *client, const char *name,
                                   int64_t ttl_ms)
{
    struct hf_request request = want(name, ttl_ms, PATIENCE_MS);
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        fail_msg("acquire %s: %s: %s", name, hf_status_name(error.status),
                 error.text);
    }
    return lock;
}

/* A try, and a look, end after 0.9 s, whatever the votes. A result that took
 * longer shows that the machine is loaded, not which client should have won. */
#define TRY_LATE_MS 600

static inline bool is_late(enum hf_status status, int64_t began_ms,
                           int64_t end_ms)
{
    int64_t at_ms = now_ms();
    return status == HF_UNAVAILABLE && at_ms - began_ms >= TRY_LATE_MS &&
           at_ms < end_ms;
}

/* The lease is shorter than PATIENCE_MS, so that it ends in time where
 * client_calls makes its release fail. */
static inline enum hf_status try_once(struct hf_client *client,
                                      const char *name, struct hf_error *error)
{
    struct hf_request request = want(name, 5000, 0);
    struct hf_lock *lock = NULL;
    enum hf_status status = hf_lock_acquire(client, &request, &lock, error);
    if (status == HF_OK) {
        hf_lock_release(lock);
    }
    return status;
}

/* The same, and again if the store has not answered in time. */
static inline enum hf_status try_take(struct hf_client *client,
                                      const char *name, struct hf_error *error)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t began_ms;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = try_once(client, name, error);
    } while (is_late(status, began_ms, end_ms));
    return status;
}

/* Breaks a lock, and again if the store has not answered in time. */
static inline void break_now(struct hf_client *client, const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t began_ms;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = hf_client_break(client, name, strlen(name), true, NULL, NULL);
    } while (is_late(status, began_ms, end_ms));
    assert_int_equal(status, HF_OK);
}

/* PgBouncer before 1.21 gives the reply to a client that has gone to the next
 * one. The store refuses it (postgres_crossed.t.sh), and the call fails. */
static inline bool was_crossed(enum hf_status status,
                               const struct hf_error *error)
{
    return status == HF_UNAVAILABLE &&
           strstr(error->text, "the pooler gave us the answer to another") !=
               NULL;
}

/* The store's state of a name; free it with hf_info_free(). */
static inline struct hf_info *inspect(struct hf_client *client,
                                      const char *name)
{
    struct hf_info *info;
    struct hf_error error = {0};
    int64_t end_ms = now_ms() + PATIENCE_MS;
    int64_t began_ms;
    enum hf_status status;
    do {
        began_ms = now_ms();
        status = hf_client_inspect(client, name, strlen(name), &info, &error);
    } while (is_late(status, began_ms, end_ms) ||
             (was_crossed(status, &error) && now_ms() < end_ms));
    if (status != HF_OK) {
        fail_msg("inspect: %s", error.text);
    }
    return info;
}

/* Whether no node names a holder. Fails the test if one still does at `end`. */
static inline bool is_free_by(int64_t end_ms, struct hf_client *client,
                              const char *name)
{
    struct hf_info *info = inspect(client, name);
    int by = -1;
    for (int i = 0; i < hf_info_nodes(info); i++) {
        const struct hf_holder *holder = hf_info_node_holder(info, i);
        by = hf_holder_kind(holder) != HF_HOLDER_NONE ? i : by;
    }
    if (by >= 0 && now_ms() > end_ms) {
        const struct hf_holder *holder = hf_info_node_holder(info, by);
        fail_msg("%s is still held on node %d by %s, fence %llu", name, by,
                 hf_holder_owner(holder),
                 (unsigned long long)hf_holder_fence(holder));
    }
    hf_info_free(info);
    return by < 0;
}

/* Wait until no node names a holder. A release in flight takes less than a
 * lease. Not of a thread: cmocka ends a test from its own alone. */
static inline void assert_free(struct hf_client *client, const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_free_by(end_ms, client, name)) {
        pause_ms(2);
    }
}

/* Wait until a majority has granted `name` to another client, and has answered
 * that client: a server answers earlier requests at the latest together with
 * this one. So the answers wait there to be read. */
static inline void await_granted(struct hf_client *client, const char *name)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    for (int seen = 0; seen < 2;) {
        struct hf_info *info = inspect(client, name);
        seen += hf_holder_kind(hf_info_holder(info)) != HF_HOLDER_NONE;
        hf_info_free(info);
        assert_true(now_ms() < end_ms);
        pause_ms(2);
    }
}

/* Run a client without a thread until `until_ms` or *flag is set. */
static inline void run_loop(struct hf_client *client, const int *flag,
                            int want_flag, int64_t for_ms)
{
    int64_t end_ms = now_ms() + for_ms;
    while (*flag < want_flag && now_ms() < end_ms) {
        struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
        int64_t left_ms = end_ms - now_ms();
        poll(&fd, 1, left_ms > 0 ? (int)left_ms : 0);
        hf_client_process(client);
    }
}

/* Run `client`, which releases in the background, until `other` finds the name
 * free. */
static inline void run_until_free(struct hf_client *client,
                                  struct hf_client *other, const char *name)
{
    int never = 0;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    do {
        run_loop(client, &never, 1, 20); /* what it has yet to send, too */
    } while (!is_free_by(end_ms, other, name));
}

/* The name that is held with a permit. */
static inline const char *slot_name(const char *name, int slot)
{
    static char text[100];
    snprintf(text, sizeof(text), "%s#%d", name, slot);
    return text;
}

/* Releases a short lease. Without an answer within a twentieth of the lease the
 * release returns HF_UNKNOWN and is finished in the background. */
static inline void let_go(struct hf_lock *lock)
{
    enum hf_status status = hf_lock_release(lock);
    if (status != HF_OK && status != HF_UNKNOWN) {
        fail_msg("release: %s", hf_status_name(status));
    }
}

/* @return whether the release of a lease of LEASE_MS is done, or will be: the
 * store took so long to answer that the release is finished in the background.
 * A release that returns HF_UNKNOWN sooner is wrong. */
static inline bool is_released(struct hf_lock *lock)
{
    int64_t began_ms = now_ms();
    enum hf_status status = hf_lock_release(lock);
    return status == HF_OK ||
           (status == HF_UNKNOWN && now_ms() - began_ms >= TRY_LATE_MS);
}

/* Releases a short lease that was lost, in the same way. */
static inline void release_lost(struct hf_lock *lock)
{
    enum hf_status status = hf_lock_release(lock);
    if (status != HF_LOST && status != HF_UNKNOWN) {
        fail_msg("release: %s", hf_status_name(status));
    }
}

/* A remaining lease grows only by a renewal, and then by more than the delay of
 * a slow node can explain. */
#define RENEWED_MS 100

/* @return whether `lock` was renewed since the call before. Begin with
 * INT64_MAX in *left_ms. */
static inline bool was_renewed(const struct hf_lock *lock, int64_t *left_ms)
{
    int64_t before_ms = *left_ms;
    *left_ms = hf_lock_remaining_ms(lock);
    return *left_ms > 0 && *left_ms - RENEWED_MS > before_ms;
}

/* The same for the store's state of `name`. While that is free, nothing is
 * compared: the try of several names gives back those that it got, before the
 * client waits with them. */
static inline bool is_seen_renewed(struct hf_client *client, const char *name,
                                   int64_t *left_ms)
{
    struct hf_info *info = inspect(client, name);
    const struct hf_holder *holder = hf_info_holder(info);
    bool is_held = hf_holder_kind(holder) == HF_HOLDER_HOLDFAST;
    int64_t before_ms = *left_ms;
    *left_ms = is_held ? hf_holder_remaining_ms(holder) : INT64_MAX;
    hf_info_free(info);
    return is_held && *left_ms - RENEWED_MS > before_ms;
}

#endif
