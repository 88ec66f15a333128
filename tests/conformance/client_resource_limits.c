/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=hf_clock_now,--wrap=recv,--wrap=send,--wrap=epoll_wait */
/* link: -Wl,--wrap=epoll_pwait2,--wrap=posix_fallocate */
/* Resources that run out, and a clock that goes backwards: from no free
 * descriptor to enough; a limit on the size of files; calls that are often
 * interrupted or return EAGAIN; a clock that steps back. There is no wrong
 * result, no crash and no lock that stays held. On the store in HF_TEST_URL, or
 * an embedded one. */
#include "client_world.h"

#include "base/time.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Short: what a failure leaves blocks the next acquisition for so long. */
#define TTL_MS 500

/* ---- Faults ------------------------------------------------------------ */

static atomic_int error_now; /* every other call; 0: none fails */
static atomic_uint n_calls;
static atomic_llong clock_offset_ns;

static bool fails(void)
{
    int number = atomic_load(&error_now);
    if (number == 0 || atomic_fetch_add(&n_calls, 1) % 2 == 1) {
        return false;
    }
    errno = number;
    return true;
}

struct hf_instant __real_hf_clock_now(void);
struct hf_instant __wrap_hf_clock_now(void);
ssize_t __real_recv(int fd, void *data, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t len, int flags);
ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
int __real_epoll_wait(int fd, struct epoll_event *events, int max, int limit);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int limit);
int __real_epoll_pwait2(int fd, struct epoll_event *events, int max,
                        const struct timespec *limit, const sigset_t *mask);
int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int max,
                        const struct timespec *limit, const sigset_t *mask);

struct hf_instant __wrap_hf_clock_now(void)
{
    struct hf_instant now = __real_hf_clock_now();
    now.ns += atomic_load(&clock_offset_ns);
    return now;
}

ssize_t __wrap_recv(int fd, void *data, size_t len, int flags)
{
    return fails() ? -1 : __real_recv(fd, data, len, flags);
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
    return fails() ? -1 : __real_send(fd, data, len, flags);
}

/* It fails only with EINTR. */
static bool is_interrupted(void)
{
    return atomic_load(&error_now) == EINTR && fails();
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int limit)
{
    return is_interrupted() ? -1 : __real_epoll_wait(fd, events, max, limit);
}

int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int max,
                        const struct timespec *limit, const sigset_t *mask)
{
    return is_interrupted() ? -1
                            : __real_epoll_pwait2(fd, events, max, limit, mask);
}

/* On some file systems a signal that has a handler interrupts it, and this one
 * arrives all the time. */
int __real_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_posix_fallocate(int fd, off_t at, off_t len);

int __wrap_posix_fallocate(int fd, off_t at, off_t len)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    return sigismember(&blocked, SIGPROF) == 1
               ? __real_posix_fallocate(fd, at, len)
               : EINTR;
}

/* ---- A session --------------------------------------------------------- */

/* @return the status of the acquisition; every lock is released. */
static enum hf_status session(const char *name)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    struct hf_request request = want(name, TTL_MS, 0);
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    enum hf_status status =
        hf_client_open(world_url(), &options, &client, &error);
    if (status == HF_OK) {
        status = hf_lock_acquire(client, &request, &lock, &error);
        assert_true((status == HF_OK) == (lock != NULL));
    }
    if (lock != NULL) {
        assert_true(hf_lock_fence(lock) > 0);
        assert_true(hf_lock_remaining_ms(lock) <= TTL_MS);
        assert_true(hf_lock_extend(lock, TTL_MS, &error) != HF_INVALID);
        hf_lock_release(lock);
    }
    assert_true(status == HF_OK || error.text[0] != '\0');
    hf_client_close(client);
    return status;
}

static void assert_can_be_had(const char *name)
{
    struct hf_client *client = open_client();
    hf_lock_release(take(client, name, TTL_MS));
    hf_client_close(client);
}

/* ---- Tests ------------------------------------------------------------- */

/* The kernel returns the lowest free descriptor: the next one is the number of
 * open ones. */
static rlim_t next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    close(fd);
    return (rlim_t)fd;
}

static void no_descriptors(void **state)
{
    (void)state;
    struct rlimit old;
    const char *name = fresh_name();
    unsigned n_refused = 0;
    enum hf_status status = HF_INTERNAL;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    rlim_t first = next_descriptor();
    for (rlim_t more = 0; more < 30; more++) {
        struct rlimit few = {first + more, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        status = session(name);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_true(status == HF_OK || status == HF_UNAVAILABLE ||
                    status == HF_NO_MEMORY || status == HF_UNSUPPORTED);
        assert_true(status == HF_OK || more < 29);
        assert_int_equal(next_descriptor(), first);
        n_refused += status != HF_OK;
    }
    assert_true(n_refused > 0);
    assert_int_equal(status, HF_OK);
    assert_can_be_had(name);
}

static void interrupted_and_told_to_come_later(void **state)
{
    (void)state;
    static const int harmless[] = {EINTR, EAGAIN};
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&error_now, harmless[i]);
        enum hf_status status = session(fresh_name());
        atomic_store(&error_now, 0);
        if (harmless[i] == EINTR) {
            assert_int_equal(status, HF_OK); /* it costs one more call */
        }
    }
}

static void broken_again_and_again(void **state)
{
    (void)state;
    static const int fatal[] = {ECONNRESET, EPIPE, ENOBUFS, ETIMEDOUT};
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        const char *name = fresh_name();
        atomic_store(&error_now, fatal[i]);
        enum hf_status status = session(name);
        atomic_store(&error_now, 0);
        assert_true(status == HF_OK || status == HF_UNAVAILABLE);
        assert_can_be_had(name);
    }
}

/* ---- The size of files ------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* @return the status of the first acquisition that fails; all locks that were
 * acquired are kept. */
static enum hf_status fill(struct hf_client *client, struct hf_error *error)
{
    enum { NAMES_MAX = 20000 };
    enum hf_status status = HF_OK;
    for (int i = 0; status == HF_OK && i < NAMES_MAX; i++) {
        char name[40];
        struct hf_lock *lock = NULL;
        snprintf(name, sizeof(name), "limited-%d", i);
        struct hf_request request = want(name, 60000, 0);
        status = hf_lock_acquire(client, &request, &lock, error);
    }
    return status;
}

static void assert_limited(enum hf_status status, const struct hf_error *error)
{
    assert_int_equal(status, HF_UNAVAILABLE);
    if (strstr(error->text, "ulimit -f") == NULL) {
        fail_msg("the reason is: %s", error->text);
    }
}

/* SIGXFSZ would end the program. */
static void files_are_limited(void **state)
{
    (void)state;
    static const char bytes[HF_VALUE_MAX];
    if (!world_is_local()) {
        return; /* a server's files are its own */
    }
    struct hf_error error = {0};
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    hf_lock_release(take(client, "limited", TTL_MS)); /* the file is there */
    limit_files(65536);
    assert_limited(fill(client, &error), &error);
    assert_limited(
        hf_value_put(client, "v", 1, bytes, sizeof(bytes), 0, NULL, &error),
        &error);
    limit_files(RLIM_INFINITY);
    assert_int_equal(
        hf_value_put(client, "v", 1, bytes, sizeof(bytes), 0, NULL, &error),
        HF_OK);
    hf_lock_release(take(client, "limited", TTL_MS));
    hf_client_close(client); /* releases all */
}

static void new_files_are_limited(void **state)
{
    (void)state;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    const char *base = getenv("TMPDIR");
    char folder[256];
    char url[300];
    snprintf(folder, sizeof(folder), "%s/limited.XXXXXX",
             base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(url, sizeof(url), "local://%s/store", folder);
    limit_files(1024);
    enum hf_status status = hf_client_open(url, NULL, &client, &error);
    limit_files(RLIM_INFINITY);
    assert_null(client);
    assert_limited(status, &error);
    assert_int_equal(hf_client_open(url, NULL, &client, &error), HF_OK);
    hf_client_close(client);
}

/* CLOCK_BOOTTIME never steps back. If it did, a remaining time would seem
 * longer by the step; but all calls work, and all locks are released. */
static void clock_steps_back(void **state)
{
    (void)state;
    const char *name = fresh_name();
    struct hf_client *client = open_mode(HF_THREAD_NONE);
    struct hf_lock *lock = take(client, name, TTL_MS);
    for (int i = 1; i <= 3; i++) {
        atomic_store(&clock_offset_ns, -i * 200 * INT64_C(1000000));
        hf_client_process(client);
        struct hf_error error = {0};
        assert_int_equal(hf_lock_extend(lock, TTL_MS, &error), HF_OK);
    }
    assert_int_equal(hf_lock_release(lock), HF_OK);
    hf_client_close(client);
    atomic_store(&clock_offset_ns, 0);
    assert_can_be_had(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptors),
        cmocka_unit_test(interrupted_and_told_to_come_later),
        cmocka_unit_test(broken_again_and_again),
        cmocka_unit_test(files_are_limited),
        cmocka_unit_test(new_files_are_limited),
        cmocka_unit_test(clock_steps_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
