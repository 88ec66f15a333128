/* SPDX-License-Identifier: Apache-2.0 */
/* ONE EPOLL DESCRIPTOR, AND A LIST OF TIMERS
 *
 * hf_loop_wait() may run without the client's mutex while another thread, with
 * the mutex, watches and unwatches descriptors. So it uses no watch and no
 * timer of a store, only what no function for other threads uses: `found`,
 * `n_found`, `alarm` and `has_pwait2`. And epoll's data is not a pointer, but
 * an index in `watched` and the generation there: dispatch, which has the
 * mutex, checks whether the watch still exists.
 *
 * An alarm among the descriptors ends a long wait (io/alarm.h says for which
 * reason); a short wait uses the timeout of epoll, which saves a system call.
 *
 * Descriptors are edge-triggered: a reply costs no call to disarm or re-arm it,
 * and a handler reads until nothing is left, or asks to be called again.
 *
 * Cost: one epoll_pwait2() for a wait, which returns up to 32 descriptors; a
 * long wait sets the alarm too, if that is not set to an earlier time already.
 * One epoll_ctl() to begin, change or end a watch. Watches and timers are
 * searched one after the other: there are at most 64, and about as many. */
#include "io/loop.h"

#include "base/assert.h"
#include "io/alarm.h"
#include "io/clock.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Redis: two connections for each of nine nodes. Etcd and Consul: one, and
 * those of watches (WATCHES_MAX in store/endpoints/watch.c). And the client's
 * own. hf_loop_watch() aborts if none is free. */
#define WATCHED_MAX 64

/* Events that one wait returns. The kernel keeps further events for the next.
 */
#define FOUND_MAX 32

/* A wait of at least this long uses the alarm. */
#define LONG_WAIT_NS INT64_C(100000000)

/* The data of epoll for the loop's own alarm. */
#define OWN_ALARM UINT64_MAX

struct watched {
    struct hf_watch *watch; /* NULL: free */
    uint32_t generation;
    bool output; /* watched for EPOLLOUT too */
};

struct hf_loop {
    int epoll_fd;
    struct hf_alarm alarm; /* ends a long wait; not open before the first */
    bool has_pwait2;
    int n_found;
    struct epoll_event found[FOUND_MAX];
    struct watched watched[WATCHED_MAX];
    struct hf_timer *timers;
};

struct hf_loop *hf_loop_new(void)
{
    struct hf_loop *loop = calloc(1, sizeof(*loop));
    if (loop == NULL) {
        return NULL;
    }
    loop->epoll_fd = hf_standard_fds_avoid(epoll_create1(EPOLL_CLOEXEC));
    if (loop->epoll_fd < 0) {
        free(loop);
        return NULL;
    }
    loop->alarm = HF_ALARM_CLOSED;
    loop->has_pwait2 = true;
    return loop;
}

void hf_loop_free(struct hf_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    hf_alarm_close(&loop->alarm);
    close(loop->epoll_fd);
    free(loop);
}

int hf_loop_fd(const struct hf_loop *loop)
{
    return loop->epoll_fd;
}

/* ---- Descriptors ------------------------------------------------------- */

static unsigned watched_at(const struct hf_loop *loop,
                           const struct hf_watch *watch)
{
    unsigned at = 0;
    while (at < WATCHED_MAX && loop->watched[at].watch != watch) {
        at++;
    }
    return at;
}

static struct epoll_event interest(const struct hf_loop *loop, unsigned at)
{
    const struct watched *watched = &loop->watched[at];
    uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    return (struct epoll_event){
        .events = watched->output ? events | EPOLLOUT : events,
        .data.u64 = (uint64_t)watched->generation << 32 | at,
    };
}

bool hf_loop_watch(struct hf_loop *loop, struct hf_watch *watch)
{
    HF_ASSERT(watch->fd >= 0 && watch->ready != NULL);
    HF_ASSERT(watched_at(loop, watch) == WATCHED_MAX);
    unsigned at = watched_at(loop, NULL);
    HF_ASSERT(at < WATCHED_MAX);
    struct watched *watched = &loop->watched[at];
    watched->generation++;
    watched->output = false;
    struct epoll_event event = interest(loop, at);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) != 0) {
        return false;
    }
    watched->watch = watch;
    return true;
}

bool hf_loop_watch_also(struct hf_loop *loop, const struct hf_watch *watch,
                        int fd)
{
    unsigned at = watched_at(loop, watch);
    HF_ASSERT(at < WATCHED_MAX);
    struct epoll_event event = interest(loop, at);
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           errno == EEXIST;
}

/* EPOLL_CTL_MOD also reports a descriptor that is ready already. */
static void modify(struct hf_loop *loop, unsigned at)
{
    struct epoll_event event = interest(loop, at);
    int failed = epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD,
                           loop->watched[at].watch->fd, &event);
    HF_ASSERT(failed == 0);
}

void hf_loop_watch_output(struct hf_loop *loop, struct hf_watch *watch, bool on)
{
    unsigned at = watched_at(loop, watch);
    HF_ASSERT(at < WATCHED_MAX);
    loop->watched[at].output = on;
    modify(loop, at);
}

void hf_loop_rearm(struct hf_loop *loop, struct hf_watch *watch)
{
    unsigned at = watched_at(loop, watch);
    HF_ASSERT(at < WATCHED_MAX);
    modify(loop, at);
}

void hf_loop_unwatch(struct hf_loop *loop, struct hf_watch *watch)
{
    unsigned at = watched_at(loop, watch);
    if (at == WATCHED_MAX) {
        return; /* not watched */
    }
    HF_ASSERT(watch->fd >= 0); /* it must not be closed before */
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    loop->watched[at].watch = NULL;
}

void hf_loop_unwatch_closed(struct hf_loop *loop, struct hf_watch *watch)
{
    unsigned at = watched_at(loop, watch);
    HF_ASSERT(at < WATCHED_MAX);
    loop->watched[at].watch = NULL;
}

/* ---- Timers ------------------------------------------------------------ */

void hf_loop_add_timer(struct hf_loop *loop, struct hf_timer *timer)
{
    hf_timers_add(&loop->timers, timer);
}

void hf_loop_drop_timer(struct hf_loop *loop, struct hf_timer *timer)
{
    hf_timers_remove(&loop->timers, timer);
}

struct hf_instant hf_loop_next_timer(const struct hf_loop *loop)
{
    return hf_timers_next(loop->timers);
}

/* ---- Waiting ----------------------------------------------------------- */

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/** Open the loop's own alarm. @return false: it failed, and a long wait needs a
 * timeout. */
static bool open_own_alarm(struct hf_loop *loop)
{
    if (loop->alarm.fd >= 0) {
        return true;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLET,
                                .data.u64 = OWN_ALARM};
    if (hf_alarm_open(&loop->alarm) &&
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->alarm.fd, &event) == 0) {
        return true;
    }
    hf_alarm_close(&loop->alarm);
    return false;
}

/* left_ns negative: no limit. */
static int wait_kernel(struct hf_loop *loop, int64_t left_ns)
{
    if (loop->has_pwait2) {
        struct timespec limit = timespec_of(left_ns < 0 ? 0 : left_ns);
        int n = epoll_pwait2(loop->epoll_fd, loop->found, FOUND_MAX,
                             left_ns < 0 ? NULL : &limit, NULL);
        /* Older seccomp filters return EPERM for unknown system calls.
         * epoll_pwait2() itself never returns it. */
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return n;
        }
        loop->has_pwait2 = false;
    }
    int64_t ms = left_ns < 0 ? -1 : hf_span_ms_ceil((struct hf_span){left_ns});
    return epoll_wait(loop->epoll_fd, loop->found, FOUND_MAX,
                      ms > INT32_MAX ? INT32_MAX : (int)ms);
}

/* The loop's own alarm only wakes it: it is no event of a user. */
static void drop_own_alarm(struct hf_loop *loop)
{
    for (int i = 0; i < loop->n_found; i++) {
        if (loop->found[i].data.u64 == OWN_ALARM) {
            loop->alarm.at = HF_NEVER;
            loop->found[i] = loop->found[--loop->n_found];
            return;
        }
    }
}

int hf_loop_wait(struct hf_loop *loop, struct hf_instant until)
{
    int64_t left_ns = -1;
    if (!hf_instant_is_never(until)) {
        left_ns = 0;
        if (until.ns > 0) {
            left_ns = hf_instant_until(hf_clock_now(), until).ns;
            left_ns = left_ns < 0 ? 0 : left_ns;
        }
        if (left_ns >= LONG_WAIT_NS && open_own_alarm(loop)) {
            hf_alarm_set_earlier(&loop->alarm, until);
            left_ns = -1;
        }
    }
    int n = wait_kernel(loop, left_ns);
    HF_ASSERT(n >= 0 || errno == EINTR);
    loop->n_found = n < 0 ? 0 : n;
    drop_own_alarm(loop);
    return loop->n_found;
}

void hf_loop_dispatch(struct hf_loop *loop, struct hf_instant now)
{
    int n = loop->n_found;
    loop->n_found = 0;
    for (int i = 0; i < n; i++) {
        uint64_t key = loop->found[i].data.u64;
        HF_ASSERT((key & 0xffffffff) < WATCHED_MAX); /* not OWN_ALARM */
        const struct watched *watched = &loop->watched[key & 0xffffffff];
        if (watched->watch != NULL &&
            watched->generation == (uint32_t)(key >> 32)) {
            watched->watch->ready(watched->watch, loop->found[i].events, now);
        }
    }
    hf_timers_fire(&loop->timers, now);
}
