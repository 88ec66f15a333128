/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy with a delay: forwards bytes in both directions a fixed time after it
 * received them. It prints "port=N", its port on 127.0.0.1.
 *
 *   delay --to ADDRESS [--us 500]
 *
 * Every byte has the same delay, so bytes are due in order of arrival: one
 * queue for all connections, one timer for its head. */
#include "measure.h"
#include "wire.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#define CHUNK_MAX (64U << 10)
#define EVENTS_MAX 64

/* One direction of a connection. The connection is freed when both have ended.
 */
struct way {
    int from;
    int to;
    bool ended;
    struct way *back;
};

struct chunk {
    struct chunk *next;
    struct way *way;
    int64_t due_ns;
    size_t len; /* 0: the end */
    char data[];
};

struct proxy {
    const char *address;
    int epoll;
    int timer;
    int door;
    int64_t delay_ns;
    struct chunk *first;
    struct chunk **last;
};

static void watch(const struct proxy *p, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        die("epoll_ctl");
    }
}

static void timer_set(const struct proxy *p)
{
    struct itimerspec at = {0};
    if (p->first != NULL) {
        at.it_value.tv_sec = p->first->due_ns / 1000000000;
        at.it_value.tv_nsec = p->first->due_ns % 1000000000;
    }
    if (timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &at, NULL) != 0) {
        die("timerfd_settime");
    }
}

static void chunk_push(struct proxy *p, struct way *way, const char *data,
                       size_t len)
{
    struct chunk *chunk = must_alloc(1, sizeof(*chunk) + len);
    bool was_empty = p->first == NULL;
    chunk->way = way;
    chunk->due_ns = now_ns() + p->delay_ns;
    chunk->len = len;
    memcpy(chunk->data, data, len);
    *p->last = chunk;
    p->last = &chunk->next;
    if (was_empty) {
        timer_set(p);
    }
}

static void way_end(struct way *way)
{
    way->ended = true;
    (void)shutdown(way->to, SHUT_WR);
    if (way->back->ended) {
        (void)close(way->from);
        (void)close(way->to);
        free(way->back);
        free(way);
    }
}

/* The sockets block: if a peer does not read, its bytes wait here, as they
 * would in a network. */
static void chunk_pass(struct chunk *chunk)
{
    size_t at = 0;
    if (chunk->len == 0) {
        way_end(chunk->way);
        return;
    }
    while (at < chunk->len) {
        ssize_t n = send(chunk->way->to, chunk->data + at, chunk->len - at,
                         MSG_NOSIGNAL);
        if (n <= 0) {
            return; /* the peer has closed; its end of file follows */
        }
        at += (size_t)n;
    }
}

static void pass_due(struct proxy *p)
{
    uint64_t times;
    if (read(p->timer, &times, sizeof(times)) < 0 && errno != EAGAIN) {
        die("timerfd");
    }
    while (p->first != NULL && p->first->due_ns <= now_ns()) {
        struct chunk *chunk = p->first;
        p->first = chunk->next;
        if (p->first == NULL) {
            p->last = &p->first;
        }
        chunk_pass(chunk);
        free(chunk);
    }
    timer_set(p);
}

static void way_read(struct proxy *p, struct way *way)
{
    static char data[CHUNK_MAX];
    ssize_t n = recv(way->from, data, sizeof(data), 0);
    if (n <= 0) {
        (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, way->from, NULL);
    }
    chunk_push(p, way, data, n > 0 ? (size_t)n : 0);
}

static void let_in(struct proxy *p)
{
    int on = 1;
    int near = accept4(p->door, NULL, NULL, SOCK_CLOEXEC);
    if (near < 0) {
        die("accept");
    }
    (void)setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    int far = p->address[0] == '/' ? wire_connect_unix(p->address)
                                   : wire_connect_tcp(p->address);
    struct way *up = must_alloc(1, sizeof(*up));
    struct way *down = must_alloc(1, sizeof(*down));
    *up = (struct way){.from = near, .to = far, .back = down};
    *down = (struct way){.from = far, .to = near, .back = up};
    watch(p, near, up);
    watch(p, far, down);
}

static void open_door(struct proxy *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->door < 0 || bind(p->door, (struct sockaddr *)&at, len) != 0 ||
        listen(p->door, 512) != 0 ||
        getsockname(p->door, (struct sockaddr *)&at, &len) != 0) {
        die("listen");
    }
    (void)printf("port=%d\n", ntohs(at.sin_port));
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct proxy p = {.address = arg_text(argc, argv, "--to", NULL)};
    struct epoll_event events[EVENTS_MAX];
    if (p.address == NULL) {
        die_text("usage", "delay --to ADDRESS [--us 500]");
    }
    p.last = &p.first;
    p.delay_ns = (int64_t)arg_int(argc, argv, "--us", 500) * 1000;
    p.epoll = epoll_create1(EPOLL_CLOEXEC);
    p.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    open_door(&p);
    watch(&p, p.timer, &p.timer);
    watch(&p, p.door, &p.door);
    for (;;) {
        int n = epoll_wait(p.epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            void *what = events[i].data.ptr;
            if (what == &p.timer) {
                pass_due(&p);
            } else if (what == &p.door) {
                let_in(&p);
            } else {
                way_read(&p, what);
            }
        }
    }
}
